"""Line tables of inputs, without the sequences of functions that are not linked."""

from __future__ import annotations

from cubinspec.format.leb128 import uleb
from cubinspec_generated.codes_dwarf import (
    DW_LNE_NVIDIA_INLINED_CALL,
    DW_LNS_ADVANCE_PC,
    DW_LNS_COPY,
    DW_LNS_EXTENDED_OP,
)
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer.kept import Kept
from cubinspec_writer.linker.finalizer.line_tables import (
    Row,
    Writer,
    sleb_bytes,
    uleb_bytes,
    units_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH = 4
#: What `_kind` says of inlined calls, and the operation that rows are of none.
_CALL = bytes((DW_LNS_EXTENDED_OP, DW_LNE_NVIDIA_INLINED_CALL))
_NO_CALL = bytes((DW_LNS_EXTENDED_OP, 3, DW_LNE_NVIDIA_INLINED_CALL, 0, 0))
#: How many rows may say nothing new behind a mark.
_IDLE = 2


class MercuryLines:
    """The line table of the Mercury half of an input.

    Its sequences may be in another order than those of the SASS half, so the function tells which
    of a unit is meant (rule D9).
    """

    def __init__(self, data: bytes, functions: dict[int, int]) -> None:
        """Take the table.

        Args:
            functions: the function of a sequence, as the SASS half numbers it, by the offset of
                the address that it starts with.
        """
        self.data = data
        self._units = [
            (at, {functions[a]: (first, last) for first, last, a in sequences if a in functions})
            for at, _, sequences in units_of(data) or ()
        ]

    def find(self, unit: int, function: int | None) -> tuple[int, int, int] | None:
        """(start of a unit, start and end of the sequence of a function in it), by its number."""
        if function is None or unit >= len(self._units):
            return None
        at, sequences = self._units[unit]
        return (at, *sequences[function]) if function in sequences else None


def keep_lines(
    data: bytes,
    functions: dict[int, int],
    is_linked: Callable[[int], bool],
    mercury: MercuryLines | None = None,
    has_mercury: Callable[[int], bool] | None = None,
    winners: dict[int, tuple[dict[int, int], int]] | None = None,
    *,
    empty: bytes = b"",
) -> Kept | None:
    """Remove the sequences of functions that are not linked; None for a table of another form.

    Args:
        functions: the function of a sequence by the offset of the address that it starts with.
        is_linked: whether to keep a sequence, by that offset.
        mercury: the table of the Mercury half, for the next two.
        has_mercury: whether a function has the places of that table (rule A4).
        winners: of a replaced copy, where the SASS of the winning copy's Mercury instructions is,
            and the size of its code (rule D9).
        empty: what a unit has that loses all its sequences.
    """
    units = units_of(data)
    if units is None:
        return None
    kept = Kept()
    for number, (at, start, sequences) in enumerate(units):
        unit = kept.copy(data, at, start)
        for first, last, address in sequences:
            if address is not None and not is_linked(address):
                continue
            function = functions.get(address) if address is not None else None
            found = mercury.find(number, function) if mercury is not None else None
            won = winners.get(function) if winners and function is not None else None
            in_mercury = has_mercury is not None and function is not None and has_mercury(function)
            if mercury is not None and found is not None and (won or in_mercury):
                other, *place = found
                table = mercury.data
                writer = _Found(table, other, *won) if won else _Places(table, other)
                kept.put(first, last, writer.sequence(*place))
            else:
                kept.copy(data, first, last)
        if len(kept.data) - unit == start - at:
            kept.data += empty
        size = len(kept.data) - unit - _LENGTH
        kept.data[unit : unit + _LENGTH] = size.to_bytes(_LENGTH, "little")
    return kept


class _Places(Writer):
    """Writes a sequence of the Mercury half for the SASS half: its end is the last row."""

    def _advance(self, old: int, *, is_end: bool) -> int | None:
        return 0 if is_end else old


class _Found(Writer):
    """Writes a sequence of a replaced copy with the places of the winning copy (rule D9).

    Every instruction of the winning copy has the line and the call of the last row that is not
    behind its Mercury place; there is a row where these are others. A function that is inlined has
    the row of its call in front of its first one, and the operation tells the number of that row.
    """

    def __init__(self, data: bytes, unit: int, places: dict[int, int], size: int) -> None:
        super().__init__(data, unit)
        self._places = sorted(places.items())
        self._size = size
        self._out = bytearray()
        #: The last operation of every other kind, and the last one that was written.
        self._heard: dict[bytes, bytes] = {}
        self._said: dict[bytes, bytes] = {}
        #: Line and call of every row of the replaced copy; calls are operations, empty for none.
        self._known: list[tuple[int, bytes]] = []
        #: The numbers of rows of calls, and how many rows are written.
        self._calls: dict[bytes, int] = {}
        self._num_rows = 0
        #: The last row that was written.
        self._place = self._line = 0
        self._call = b""
        #: How many rows more may say nothing new (`_repeat`).
        self._idle = 0
        #: What stands in front of the end of the next row.
        self._flags: list[bytes] = []

    def sequence(self, at: int, end: int) -> bytes:
        """Write the sequence.

        Raises:
            UnsupportedLinkError: a call has a row that is not in front of it.
        """
        *rows, last = self._rows(at, end)
        place = line = number = 0
        call = b""
        for start, sass in self._places:
            first = number
            while number < len(rows) and place + rows[number].address <= start:
                row = rows[number]
                place, line, number = place + row.address, line + row.line, number + 1
                for operation in row.others:
                    if _kind(operation) != _CALL:
                        self._heard[_kind(operation)] = operation
                        continue
                    call = operation if _number_of(operation) else b""
                    if _number_of(operation) > len(self._known):
                        raise UnsupportedLinkError("a line table with a call of a later row")
                self._known.append((line, call))
            if number > first:
                self._put(rows[first:number], sass, line, call)
        last.line = 0
        return bytes(self._out + self._row(last, self._size - self._place))

    def _put(self, rows: list[Row], sass: int, line: int, call: bytes) -> None:
        """Write what becomes of the rows that are new at an instruction.

        Args:
            line, call: of the last of them, which count for all.
        """
        marks = sum(row.is_marked for row in rows)
        self._flags += [flag for row in rows for flag in row.flags]
        news = b"".join(x for kind, x in self._heard.items() if self._said.get(kind) != x)
        self._said |= self._heard
        self._out += news
        is_new = bool(news) or call != self._call or not self._num_rows
        self._enter(call, sass)
        if line != self._line or (is_new and (sass != self._place or not self._num_rows)):
            for _ in range(max(marks, 1)):
                self._idle = _IDLE if marks else self._idle
                self._write(line, sass)
            if len(rows) > max(marks, 1):
                self._idle = 0
        elif sass != self._place and (self._idle or marks):
            self._idle = _IDLE if marks else self._idle
            self._repeat(sass, is_one=len(rows) == 1)

    def _repeat(self, sass: int, *, is_one: bool) -> None:
        """What nvlink writes for a row that says nothing new, soon behind a mark (rule D10).

        That is until two rows behind the mark took more than a special operation.

        Args:
            is_one: the replaced copy has one row for it; the first such row only advances.
        """
        if is_one and self._idle == _IDLE:
            self._out += self._advanced(sass)
            self._idle -= 1
        else:
            self._write(self._line, sass)
            self._idle = 0

    def _enter(self, call: bytes, sass: int) -> None:
        """Say which call the next rows are of; calls that are new get their rows first."""
        new = []
        outer = call
        while outer and outer not in self._calls:
            new.append(outer)
            _, outer = self._known[_number_of(outer) - 1]
        for inner in reversed(new):
            line, outer = self._known[_number_of(inner) - 1]
            self._switch(outer)
            self._write(line, sass)
            self._calls[inner] = self._num_rows
        self._switch(call)

    def _switch(self, call: bytes) -> None:
        """The operation that rows are of a call, which has a row."""
        if call != self._call:
            self._out += _renumbered(call, self._calls[call]) if call else _NO_CALL
        self._call = call

    def _write(self, line: int, sass: int) -> None:
        """Write a row."""
        size = len(self._out)
        if line == self._line and sass != self._place:
            self._out += b"".join((self._advanced(sass), *self._flags, bytes((DW_LNS_COPY,))))
        else:
            row = Row(0)
            row.line, row.flags = line - self._line, self._flags
            self._out += self._row(row, sass - self._place)
        self._flags = []
        self._line, self._place, self._num_rows = line, sass, self._num_rows + 1
        is_special = len(self._out) == size + 1
        if self._idle and not (is_special and self._idle == _IDLE):
            self._idle -= 1

    def _advanced(self, sass: int) -> bytes:
        """The operation that advances to a place."""
        step = (sass - self._place) // self._step
        self._place = sass
        return bytes((DW_LNS_ADVANCE_PC,)) + sleb_bytes(step)


def _kind(operation: bytes) -> bytes:
    """What an operation is about: its code, of an extended one that behind its length."""
    if operation[0] != DW_LNS_EXTENDED_OP:
        return operation[:1]
    _, at = uleb(operation, 1)
    return bytes((DW_LNS_EXTENDED_OP, operation[at]))


def _number_of(call: bytes) -> int:
    """The number of the row of a call; 0: none."""
    _, at = uleb(call, 1)
    return uleb(call, at + 1)[0]


def _renumbered(call: bytes, number: int) -> bytes:
    """The operation of a call with another number."""
    _, at = uleb(call, 1)
    _, end = uleb(call, at + 1)
    body = call[at : at + 1] + uleb_bytes(number) + call[end:]
    return call[:1] + uleb_bytes(len(body)) + body
