"""Line tables: their sequences, which are kept, and where their rows are after code moved.

`.debug_line` and `.nv_debug_line_sass` consist of units in 32-bit DWARF 2 (3 from CUDA 13.5 on):
length, version, length of the header, header, line program. A line program has one sequence per
function, from the opcode that sets its address to the one that ends the sequence. A unit stays even
when all its sequences are removed (rule D3).
"""

from __future__ import annotations

from cubinspec.format.leb128 import sleb, uleb
from cubinspec_generated.codes_dwarf import (
    DW_LNE_END_SEQUENCE,
    DW_LNE_MERCURY_MARK,
    DW_LNE_SET_ADDRESS,
    DW_LNS_ADVANCE_LINE,
    DW_LNS_ADVANCE_PC,
    DW_LNS_CONST_ADD_PC,
    DW_LNS_COPY,
    DW_LNS_EPILOGUE_BEGIN,
    DW_LNS_EXTENDED_OP,
    DW_LNS_FIXED_ADVANCE_PC,
    DW_LNS_PROLOGUE_END,
)
from cubinspec_generated.codes_sass import SASS_BYTES
from cubinspec_writer.linker.finalizer.kept import Kept
from cubinspec_writer.linker.finalizer.moved import UnknownCodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec_writer.linker.finalizer.moved import MovedPart

    #: (first byte, end, offset of the address; None: it has none).
    Sequence = tuple[int, int, int | None]

_LENGTH, _FIXED = 4, 10
#: Offset of the number of the first special opcode; the operand counts follow.
_OPCODE_BASE = _FIXED + 4
#: The end of a sequence.
END_OF_SEQUENCE = bytes((DW_LNS_EXTENDED_OP, 1, DW_LNE_END_SEQUENCE))
#: Operations that say something about one row; ptxas writes them from CUDA 13.5 on.
_FLAGS = (DW_LNS_PROLOGUE_END, DW_LNS_EPILOGUE_BEGIN)


def move_lines(data: bytes, moved: Callable[[int], MovedPart | None]) -> Kept:
    """The table with the new places of functions whose code moved.

    Rule F12.

    Args:
        moved: where the places of a function went, by the offset of the address in the table.

    Raises:
        UnknownCodeError: the table has another form.
    """
    units = units_of(data)
    if units is None:
        raise UnknownCodeError("a line table of another form")
    kept = Kept()
    for at, start, sequences in units:
        unit = kept.copy(data, at, start)
        for first, last, address in sequences:
            new = moved(address) if address is not None else None
            if new is None:
                kept.copy(data, first, last)
            else:
                kept.put(first, last, _Mover(data, at, new).sequence(first, last))
        size = len(kept.data) - unit - _LENGTH
        kept.data[unit : unit + _LENGTH] = size.to_bytes(_LENGTH, "little")
    return kept


def with_heads(data: bytes, mercury: bytes) -> bytes:
    """The table of the SASS half with the heads of units as the Mercury half has them (rule D3).

    A head says where in `.debug_str` the names of inlined functions begin, and only the Mercury
    half has relocations for it.
    """
    units, twins = units_of(data), units_of(mercury)
    if not units or not twins or len(units) != len(twins):
        return data
    table = bytearray(data)
    for (at, start, _), (from_, end, _) in zip(units, twins, strict=True):
        if start - at == end - from_:
            table[at + _LENGTH : start] = mercury[from_ + _LENGTH : end]
    return bytes(table)


class Row:
    """The operations of one row of a sequence, or of its end.

    Attributes:
        start, end: in the table.
        address, line: how far they advance.
        others: operations that neither advance nor end a row.
        flags: those of them that stand right in front of the end.
        last: the operation that ends the sequence; empty for a row.
        is_address_first: all of the address advances in front of the line (rule D3).
        is_marked: it has a mark of Mercury code.
    """

    __slots__ = (
        "address",
        "end",
        "flags",
        "is_address_first",
        "is_marked",
        "last",
        "line",
        "others",
        "start",
    )

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.address: int = 0
        self.line: int = 0
        self.others: list[bytes] = []
        self.flags: list[bytes] = []
        self.last: bytes = b""
        self.is_address_first: bool = False
        self.is_marked: bool = False


class Writer:
    """Writes one sequence anew.

    A row takes its special operation when it is one instruction further on, and otherwise an
    advance of the line, an advance of the address and a copy, each of them only where it is needed.
    Advances of the address are written as numbers with a sign, too, which can take a byte more.
    """

    def __init__(self, data: bytes, unit: int) -> None:
        self._data = data
        #: Bytes of the smallest step, first line step and number of them, first special operation.
        self._step = data[unit + _OPCODE_BASE - 4]
        self._line_base = (data[unit + _OPCODE_BASE - 2] ^ 0x80) - 0x80
        self._range = data[unit + _OPCODE_BASE - 1]
        self._base = data[unit + _OPCODE_BASE]
        self._operands = data[unit + _OPCODE_BASE + 1 : unit + _OPCODE_BASE + self._base]

    def sequence(self, at: int, end: int) -> bytes:
        data, out = self._data, bytearray()
        first = at
        for row in self._rows(at, end):
            advance = self._advance(row.address, is_end=bool(row.last))
            if advance is None:
                out += data[row.start : row.end]
            else:
                out += b"".join(row.others) + self._row(row, advance)
            first = row.end
        return bytes(out + data[first:end])

    def _rows(self, at: int, end: int) -> Iterator[Row]:
        """The rows of a sequence, and its end.

        Raises:
            UnknownCodeError: an operation is not known.
        """
        data, row = self._data, Row(at)
        while at < end:
            first, code = at, data[at]
            at += 1
            if code >= self._base:
                row.address += (code - self._base) // self._range * self._step
                row.line += self._line_base + (code - self._base) % self._range
            elif code == DW_LNS_ADVANCE_PC:
                value, at = uleb(data, at)
                row.is_address_first = False
                row.address += value * self._step
                continue
            elif code == DW_LNS_ADVANCE_LINE:
                value, at = sleb(data, at)
                row.is_address_first = row.address != 0
                row.line += value
                continue
            elif code in (DW_LNS_CONST_ADD_PC, DW_LNS_FIXED_ADVANCE_PC):
                raise UnknownCodeError("a line table with other operations")
            elif code == DW_LNS_EXTENDED_OP:
                size, place = uleb(data, at)
                at = place + size
                if data[place] != DW_LNE_END_SEQUENCE:
                    if data[place] == DW_LNE_MERCURY_MARK:
                        row.is_marked = True
                    else:
                        row.others.append(data[first:at])
                    continue
                row.last = data[first:at]
            elif code != DW_LNS_COPY:
                for _ in range(self._operands[code - 1]):
                    _, at = uleb(data, at)
                (row.flags if code in _FLAGS else row.others).append(data[first:at])
                continue
            row.end = at
            yield row
            row = Row(at)

    def _advance(self, old: int, *, is_end: bool) -> int | None:
        """The new step of the address; None: the row stays as it is."""
        raise NotImplementedError

    def _row(self, row: Row, address: int) -> bytes:
        """The operations of one row, or of the end of the sequence."""
        line = row.line
        special = line - self._line_base
        if address == SASS_BYTES and 0 <= special < self._range and not row.last:
            code = self._base + SASS_BYTES // self._step * self._range + special
            return b"".join((*row.flags, bytes((code,))))
        is_still = not address and not row.last
        steps = [
            bytes((DW_LNS_ADVANCE_LINE,)) + sleb_bytes(line) if line or is_still else b"",
            bytes((DW_LNS_ADVANCE_PC,)) + sleb_bytes(address // self._step) if address else b"",
        ]
        if row.is_address_first:
            steps.reverse()
        return b"".join((*steps, *row.flags, row.last or bytes((DW_LNS_COPY,))))


class _Mover(Writer):
    """Writes a sequence with other places."""

    def __init__(self, data: bytes, unit: int, moved: MovedPart) -> None:
        super().__init__(data, unit)
        self._moved = moved
        self._old = self._new = 0

    def _advance(self, old: int, *, is_end: bool) -> int | None:
        self._old += old
        new = self._moved.start(self._old)
        if new < self._new or (new - self._new) % self._step:
            raise UnknownCodeError("a line table that goes back")
        step, self._new = new - self._new, new
        return None if step == old else step


def units_of(data: bytes) -> list[tuple[int, int, list[Sequence]]] | None:
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
            size, at = uleb(data, at)
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
                _, at = uleb(data, at)
    if first < at:
        found.append((first, at, address))
    return found


def uleb_bytes(value: int) -> bytes:
    """A number in groups of seven bits."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def sleb_bytes(value: int) -> bytes:
    """The same for a number with a sign."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)
