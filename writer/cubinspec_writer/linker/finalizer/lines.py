"""Line tables of the SASS half: sequences of functions that are not linked are removed.

`.debug_line` and `.nv_debug_line_sass` consist of units in 32-bit DWARF 2: length, version, length
of the header, header, line program. A line program has one sequence per function, from the opcode
that sets its address to the one that ends the sequence. A unit stays even when all its sequences
are removed (rule D3).
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    DW_LNE_END_SEQUENCE,
    DW_LNE_SET_ADDRESS,
    DW_LNS_EXTENDED_OP,
    DW_LNS_FIXED_ADVANCE_PC,
)
from cubinspec_writer.linker.finalizer.kept import Kept
from cubinspec_writer.linker.model import LINE_TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec_writer.linker.model import OutSection
    from cubinspec_writer.linker.state import LinkState

    #: (first byte, end, offset of the address; None: it has none).
    Sequence = tuple[int, int, int | None]

_LENGTH, _FIXED = 4, 10
#: Offset of the number of the first special opcode; the operand counts follow.
_OPCODE_BASE = _FIXED + 4


def keep_lines(data: bytes, is_linked: Callable[[int], bool]) -> Kept | None:
    """Remove the sequences of functions that are not linked; None for a table of another form.

    Args:
        is_linked: whether to keep a sequence, by the offset of the address that it starts with.
    """
    units = _units(data)
    if units is None:
        return None
    kept = Kept()
    for at, start, sequences in units:
        unit = kept.copy(data, at, start)
        for first, last, address in sequences:
            if address is None or is_linked(address):
                kept.copy(data, first, last)
        size = len(kept.data) - unit - _LENGTH
        kept.data[unit : unit + _LENGTH] = size.to_bytes(_LENGTH, "little")
    return kept


READS = "relocations.sections section.name symbol.index"
WRITES = "section.content section.relocs"
FREEZES = "section.relocs"


def run(state: LinkState) -> None:
    """Sort the sequences of all line tables."""
    for (target, _), relocs in state.relocations.sections.items():
        if target.name in LINE_TABLES:
            _sort_sequences(target, relocs)


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
    units = _units(data)
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


def _units(data: bytes) -> list[tuple[int, int, list[Sequence]]] | None:
    """(first byte, start of the line program, sequences) of every unit; None: another form."""
    found = []
    at = 0
    try:
        while at < len(data):
            end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "little")
            start = at + _FIXED + int.from_bytes(data[at + 6 : at + _FIXED], "little")
            if not at + _OPCODE_BASE < start <= end <= len(data):
                return None
            found.append((at, start, _sequences(data[:end], at, start)))
            at = end
    except IndexError:
        return None
    return found


def _sequences(data: bytes, unit: int, at: int) -> list[Sequence]:
    """The sequences of the line program from `at` to the end of the data.

    Raises:
        IndexError: an opcode does not end before the unit.
    """
    base = data[unit + _OPCODE_BASE]
    operands = data[unit + _OPCODE_BASE + 1 : unit + _OPCODE_BASE + base]
    found = []
    first, address = at, None
    while at < len(data):
        code = data[at]
        at += 1
        if code == DW_LNS_EXTENDED_OP:
            size, at = _uleb(data, at)
            kind = data[at]
            if kind == DW_LNE_SET_ADDRESS:
                address = at + 1
            at += size
            if kind == DW_LNE_END_SEQUENCE:
                found.append((first, at, address))
                first, address = at, None
        elif code == DW_LNS_FIXED_ADVANCE_PC:
            at += 2
        elif code < base:
            for _ in range(operands[code - 1]):
                _, at = _uleb(data, at)
    if first < at:
        found.append((first, at, address))
    return found


def _uleb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
