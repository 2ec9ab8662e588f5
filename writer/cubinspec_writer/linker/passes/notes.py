"""Writes the notes about tools and targets.

The tool note lists the linker first, then the notes of all inputs unchanged. By default the
linker's entry names this project. The entry of an existing cubin can be taken instead, because its
length moves every later offset.
"""

from __future__ import annotations

from cubinspec.format.notes import frame
from cubinspec.format.targets import WRITTEN
from cubinspec_generated.codes import NT_NV_CUINFO, SHT_NOTE
from cubinspec_generated.records import CUINFO
from cubinspec_writer.linker.library.notes import own_tkinfo, virtual_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.state import LinkState

READS = "sections.fixed"
WRITES = "section.content"
FREEZES = ""


def run(state: LinkState) -> None:
    """Write both notes."""
    fixed = state.sections.fixed
    fixed[".note.nv.tkinfo"].content = _tool_notes(state)
    fixed[".note.nv.cuinfo"].content = _cuda_note(state)


def _tool_notes(state: LinkState) -> bytes:
    """Contents of `.note.nv.tkinfo`."""
    first = state.options.tkinfo or own_tkinfo(state.options.arguments)
    inputs = [] if state.options.relocatable else state.objects
    rest = (s.data for o in inputs for s in o.of_types((SHT_NOTE,)) if s.name == ".note.nv.tkinfo")
    return first + b"".join(rest)


def _cuda_note(state: LinkState) -> bytes:
    """Contents of `.note.nv.cuinfo`: the lowest virtual target of the inputs (rule I1)."""
    found = [virtual for obj in state.objects if (virtual := virtual_target(obj)) is not None]
    virtual = min(found, default=state.target.sm)
    return frame(NT_NV_CUINFO, CUINFO.pack(2, virtual, WRITTEN.number, 0))
