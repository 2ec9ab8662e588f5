"""Writes the notes about tools and targets.

The tool note lists the linker first, then the notes of all inputs unchanged. By default the
linker's entry names this project. The entry of an existing cubin can be taken instead, because its
length moves every later offset.
"""

from __future__ import annotations

from cubinspec.format.notes import frame, tool_note
from cubinspec_generated.codes import NT_NV_CUINFO, SHT_NOTE
from cubinspec_generated.records import CUINFO
from cubinspec_writer.linker.inputs.options import TOOL_VERSION
from cubinspec_writer.linker.model import lowest_virtual

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import Job, Sections

READS = "sections.fixed sections.unowned"
WRITES = "content.notes section.info_section"
FREEZES = "content.notes"


def run(job: Job, objects: list[InputObject], sections: Sections) -> None:
    """Write both notes."""
    fixed = sections.fixed
    fixed[".note.nv.tkinfo"].content = _tool_notes(job, objects)
    note = fixed[".note.nv.cuinfo"]
    note.content = _cuda_note(job, objects)
    compat = sections.find(".nv.compat")
    if note.info_section is None and compat is not None:
        # One of an input, in a program that needs none.
        note.info_section = compat


def _tool_notes(job: Job, objects: list[InputObject]) -> bytes:
    """Contents of `.note.nv.tkinfo`."""
    first = job.options.tkinfo or tool_note("cubinspec", TOOL_VERSION, job.options.arguments)
    inputs = [] if job.options.relocatable else objects
    rest = (s.data for o in inputs for s in o.of_type(SHT_NOTE) if s.name == ".note.nv.tkinfo")
    return first + b"".join(rest)


def _cuda_note(job: Job, objects: list[InputObject]) -> bytes:
    """Contents of `.note.nv.cuinfo`: the lowest virtual target of the inputs (rules I1, K1)."""
    virtual = lowest_virtual(objects, job.target.sm)
    return frame(NT_NV_CUINFO, CUINFO.pack(2, virtual, job.toolkit.number, 0))
