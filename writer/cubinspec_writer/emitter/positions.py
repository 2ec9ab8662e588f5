"""Positions of entries in the history of a file, while it is being found."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.emitter.entries import Entry

    #: Offset of a name in ``.strtab``, and how many steps behind it.
    Position = tuple[int, int]

#: The offset in front of all names.
BEFORE_ALL = -1
#: Behind all offsets of ``.strtab``: sections that were made after the global symbols.
DEFERRED = 1 << 32


class Positions:
    """Where each entry stands: at the offset of its name in ``.strtab``, or behind another entry.

    An entry without a name of its own stands one step behind that other one.

    Attributes:
        offsets: of sections and dropped names; ``None``: not known.
        symbols: offsets of symbols, from the last to the first.
        steps: of the entries that have some.
    """

    __slots__ = ("offsets", "steps", "symbols")

    def __init__(self, offsets: list[int | None], num_symbols: int) -> None:
        self.offsets = offsets
        self.symbols = [BEFORE_ALL] * num_symbols
        self.steps: dict[Entry, int] = {}

    def of(self, entry: Entry) -> Position:
        """The position of an entry; before all others, if it is not known."""
        offset = self.symbols[entry] if entry < 0 else self.offsets[entry]
        return (BEFORE_ALL, 0) if offset is None else (offset, self.steps.get(entry, 0))

    def put(self, entry: Entry, position: Position) -> None:
        """Have an entry stand at a position."""
        offset, steps = position
        if entry < 0:
            self.symbols[entry] = offset
        else:
            self.offsets[entry] = offset
        if steps:
            self.steps[entry] = steps

    def sort(self, entries: list[Entry]) -> None:
        """Sort entries by position; those with the same position keep their order."""
        offsets = [*self.offsets, *self.symbols]
        if self.steps:
            steps = self.steps
            entries.sort(key=lambda entry: steps.get(entry, 0))
        entries.sort(key=offsets.__getitem__)  # type: ignore[arg-type]


def behind(position: Position) -> Position:
    """The next position for something without a name of its own."""
    offset, steps = position
    return offset, steps + 1
