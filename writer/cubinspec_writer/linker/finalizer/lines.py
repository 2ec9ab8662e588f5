"""Debug tables that the finalizer writes anew: the order of line tables, and frames."""

from __future__ import annotations

from cubinspec_writer.linker.finalizer.frames import forget_heads
from cubinspec_writer.linker.finalizer.line_tables import units_of
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.model import FRAMES, LINE_TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import OutSection
    from cubinspec_writer.linker.state import Job, Relocations

READS = "relocations.sections section.name symbol.index"
WRITES = "section.content section.relocs"
FREEZES = ""


def run(job: Job, relocations: Relocations) -> None:
    """Sort the sequences of all line tables, and forget places in the heads of frames."""
    is_final = not (job.options.relocatable or debugger_sees(job.options))
    for (target, _), relocs in relocations.sections.items():
        if target.name in LINE_TABLES:
            _sort_sequences(target, relocs)
        elif target.name == FRAMES and not is_final:
            forget_heads(target, relocs)


def _sort_sequences(lines: OutSection, relocs: OutSection) -> None:
    """Sort the sequences of every unit by the symbol numbers of their functions.

    The finalizer writes them anew in that order (rule D4).

    Args:
        relocs: the relocations of the table, which tell the functions. They move with the
            sequences and are in descending order afterwards, which the file has reversed.
    """
    rows = {reloc.offset: reloc for reloc in relocs.relocs}
    data = bytes(lines.content)
    done = bytearray()
    moved: dict[int, int] = {}
    units = units_of(data)
    if units is None:
        return
    for at, start, sequences in units:
        done += data[at:start]
        order = [rows[a].symbol.index if a in rows else 0 for _, _, a in sequences]
        for number in sorted(range(len(order)), key=order.__getitem__):
            first, last, address = sequences[number]
            if address in rows:
                assert address is not None
                moved[address] = address + len(done) - first
            done += data[first:last]
    lines.data = done
    found = [reloc.at(moved.get(reloc.offset, reloc.offset)) for reloc in relocs.relocs]
    relocs.relocs = sorted(found, key=lambda reloc: -reloc.offset)
