"""Records that ptxas writes into every file of a target, whatever the code does.

The values stand in ``ksy/tables/arch.yaml`` and ``ksy/tables/toolkits.yaml``.
"""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec.format import targets
from cubinspec.format.targets import WRITTEN, Target
from cubinspec_generated.tables import compat
from cubinspec_writer.builder import attributes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.emitter.bodies import AttributeRecord


def target(name: str) -> Target:
    """The target of that name.

    Raises:
        CubinError: no such architecture, or one that the toolkit does not write.
    """
    found, written = targets.target(name), targets.written_targets()
    if found is None or found not in written:
        names = ", ".join(one.name for one in written)
        raise BadStructureError(f"no cubin can be built for {name!r}", expected=names)
    return found


def workarounds(goal: Target) -> list[AttributeRecord]:
    """The work-around records that every function of an architecture has."""
    return [
        attributes.flag(code)
        if value is None
        else attributes.sized(code, value.to_bytes(4, "little"))
        for code, value in goal.architecture.workarounds
    ]


def compat_records(goal: Target) -> list[AttributeRecord]:
    """The contents of ``.nv.compat``, in the order in which ptxas writes it."""
    records = []
    for code, value in WRITTEN.compat:
        # a word says that the target decides; where it says nothing, ptxas writes 0
        number = value if isinstance(value, int) else goal.compat_value(code) or 0
        layout = compat.ATTRIBUTES[code].layout
        if layout.kind == "struct":
            records.append(attributes.sized(code, number.to_bytes(8, "little")))
        elif layout.format == "<B":
            records.append(attributes.byte(code, number))
        else:
            records.append(attributes.half(code, number))
    return records
