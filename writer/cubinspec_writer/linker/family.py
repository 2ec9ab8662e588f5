"""What differs between architectures and kinds of output, as data.

Three families share every rule but these: sm_75 to sm_89, sm_90, and sm_100 up (which carry a
Mercury half beside the SASS code). Values were observed in outputs of nvlink 13.0.88.
"""

from __future__ import annotations

from cubinspec_generated.codes import STT_CUDA_SAMPLER, STT_CUDA_SURFACE, STT_CUDA_TEXTURE
from cubinspec_writer.plain import dataclass, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Family:
    """The rules of one family.

    Attributes:
        compat_section: a `.nv.compat` section exists.
        has_rel_action: executables carry `.nv.rel.action`.
        constant0_companion: creating a parameter bank also names its `.rel` section.
        registers_in_sh_info: `sh_info` of code holds the register count in its top byte.
        always_rela: relocations are kept with addends only.
        reserved_shared: bytes of shared memory that precede a kernel's own.
        capsule: the cubin carries a Mercury half.
        flags_kind: low byte of `e_flags`.
        cuinfo_flags: `sh_flags` of `.note.nv.cuinfo`.
        constant0_deferred: parameter banks are made by the finalizer, after everything else.
        reserved_start: where variables in reserved shared memory begin.
        keeps_symbols: kinds and spaces of symbols stay as in the inputs (Mercury symbols).
        keeps_aligned_shared: empty shared sections with more than that alignment of arrays of
            dynamic size stay, too.
        names_dynamic: `--preserve-relocs` keeps names of arrays of dynamic size with the pool.
        drops_dead_frames: frame and line tables lose the entries of dead functions.
        handle_relocs: kind of reference -> relocation type that writes its header index.
        slot_align: alignment of the slots of references behind the parameters.
    """

    compat_section: bool
    has_rel_action: bool
    constant0_companion: bool
    registers_in_sh_info: bool
    always_rela: bool
    reserved_shared: int
    capsule: bool
    flags_kind: int
    cuinfo_flags: int
    constant0_deferred: bool
    handle_relocs: Mapping[int, int]
    slot_align: int = 4
    reserved_start: int = 0
    keeps_symbols: bool = False
    drops_dead_frames: bool = False
    keeps_aligned_shared: bool = False
    names_dynamic: bool = False


def _handles(texture: int, sampler: int, surface: int) -> Mapping[int, int]:
    return {STT_CUDA_TEXTURE: texture, STT_CUDA_SAMPLER: sampler, STT_CUDA_SURFACE: surface}


_OLD = Family(
    compat_section=False,
    has_rel_action=True,
    constant0_companion=True,
    registers_in_sh_info=True,
    always_rela=False,
    reserved_shared=0,
    capsule=False,
    flags_kind=4,
    cuinfo_flags=0x1000000,
    constant0_deferred=False,
    handle_relocs=_handles(6, 7, 52),
)
_HOPPER = Family(
    compat_section=True,
    has_rel_action=True,
    constant0_companion=True,
    registers_in_sh_info=False,
    always_rela=True,
    reserved_shared=0x400,
    capsule=False,
    flags_kind=4,
    cuinfo_flags=0x1000040,
    constant0_deferred=False,
    handle_relocs=_handles(6, 7, 52),
    keeps_aligned_shared=True,
    names_dynamic=True,
)
_BLACKWELL = Family(
    compat_section=True,
    has_rel_action=False,
    constant0_companion=False,
    registers_in_sh_info=False,
    always_rela=True,
    reserved_shared=0x400,
    capsule=True,
    flags_kind=2,
    cuinfo_flags=0x1000040,
    constant0_deferred=True,
    handle_relocs=_handles(6, 101, 52),
    slot_align=16,
    reserved_start=0x40,
    drops_dead_frames=True,
)
#: The Mercury half of a program beside its SASS half.
MERCURY_HALF = replace(
    _BLACKWELL,
    reserved_start=0,
    keeps_symbols=True,
    drops_dead_frames=False,
    handle_relocs=_handles(0x1000B, 0x1000C, 0x1000D),
)
#: First sm number of each family, highest first.
_FAMILIES = ((100, _BLACKWELL), (90, _HOPPER), (0, _OLD))


def family_of(sm: int) -> Family:
    """The family that an sm number belongs to."""
    return next(p for first, p in _FAMILIES if sm >= first)
