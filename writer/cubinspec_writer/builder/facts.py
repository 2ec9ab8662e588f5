"""What ptxas 13.0 writes into every file of an architecture, whatever the code does.

Read off its output for all 23 targets. Everything else of an architecture (parameter base, limits,
instruction size) stands in ``ksy/tables/arch.yaml``.
"""

from __future__ import annotations

from dataclasses import dataclass

from cubinspec.errors import BadStructureError
from cubinspec.model.info import CODE
from cubinspec_generated.tables import arch
from cubinspec_writer.builder import attributes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.emitter.bodies import AttributeRecord

#: From here on: finalizer layout, .nv.compat, RELA only, reserved shared memory.
FINALIZER_SM = 90
#: From here on: a Mercury capsule beside the code.
CAPSULE_SM = 100
#: Oldest target of CUDA 13, whose files the builder writes.
OLDEST_SM = 75

#: Bytes that the driver reserves in front of the shared memory of a block, sm_90 and up.
RESERVED_SHARED = 1024

_SW_WAR, _SW2861232_WAR = CODE["EIATTR_SW_WAR"], CODE["EIATTR_SW2861232_WAR"]
#: Bits of EIATTR_SW_WAR by architecture; absent: no record.
_SW_WAR_BITS = {75: 1, 87: 2, 90: 8, 100: 8, 103: 8, 110: 8, 120: 0, 121: 0}
_SW2861232_SMS = frozenset((80, 86, 87, 88))
#: Value of EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE; 0 for all others.
_FASTPATH = {100: 0x09, 120: 0x50}


@dataclass(frozen=True, slots=True)
class Target:
    """One architecture.

    Attributes:
        name: such as ``sm_90a``.
        sm: 90.
        variant: empty, ``a`` or ``f``.
        param_base: offset of the first parameter in constant bank 0.
    """

    name: str
    sm: int
    variant: str
    param_base: int

    @property
    def finalizer(self) -> bool:
        """Whether ptxas writes this target through its finalizer (sm_90 and up)."""
        return self.sm >= FINALIZER_SM


def target(name: str) -> Target:
    """The target of that name.

    Raises:
        CubinError: no such architecture, or one that CUDA 13 does not write.
    """
    known = arch.ARCHES.get(name)
    if known is None or known[0] < OLDEST_SM or known[0] not in _WRITTEN:
        raise BadStructureError(
            f"no cubin can be built for {name!r}", expected=", ".join(_written_names())
        )
    sm, variant = known
    return Target(name, sm, variant, arch.PARAM_BASE[sm])


_WRITTEN = frozenset((75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121))


def _written_names() -> list[str]:
    return [name for name, (sm, _) in arch.ARCHES.items() if sm in _WRITTEN]


def workarounds(sm: int) -> list[AttributeRecord]:
    """The work-around records that every function of an architecture has."""
    records = []
    if sm in _SW_WAR_BITS:
        records.append(attributes.sized(_SW_WAR, _SW_WAR_BITS[sm].to_bytes(4, "little")))
    if sm in _SW2861232_SMS:
        records.append(attributes.flag(_SW2861232_WAR))
    return records


def compat_records(goal: Target) -> list[AttributeRecord]:
    """The contents of ``.nv.compat`` (EICOMPAT codes, order as written)."""
    fastpath = _FASTPATH.get(goal.sm, 0)
    return [
        attributes.byte(9, int(goal.variant == "a")),  # CUDA_ACCELERATOR_TARGET
        attributes.byte(2, 1),  # ISA_CLASS
        attributes.byte(5, 5),  # INST_TCGEN05_MMA
        attributes.half(7, 0x0101),  # MERCURY_ISA_MAJOR_MINOR_VERSION
        attributes.byte(3, 0),  # INST_TENSORMAP_V1
        attributes.byte(6, 1),  # ENABLE_OPPORTUNISTIC_FINALIZATION
        attributes.sized(11, fastpath.to_bytes(8, "little")),  # CAN_FASTPATH_FINALIZE
    ]
