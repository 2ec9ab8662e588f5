"""Targets that can be built, and the records that every function of a target has.

The values stand in ``ksy/tables/arch.yaml`` and ``ksy/tables/toolkits.yaml``.
"""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec.format import targets
from cubinspec.format.targets import Target
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
