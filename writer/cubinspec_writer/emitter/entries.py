"""Entries: what the history of a draft lists, as numbers; and their positions in it.

The history of a big file lists hundreds of thousands of sections, dropped names and symbols, in the
order in which they were made. Each of them is an :data:`Entry`:

* the number of a section, from 0 on;
* the numbers behind the last section are dropped names;
* ``~number`` of a symbol, which is negative.

So an entry is also an index into a list with a value for each section, then for each dropped name,
then for each symbol from the last to the first.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    #: Offset of a name in ``.strtab``, and how many steps behind it.
    Position = tuple[int, int]
    #: The fields of a ``Dropped``: name, in_shstrtab, made_as, erased.
    DroppedRow = tuple[str, bool, str | None, int]

Entry = int


def of_symbol(number: int) -> Entry:
    """The entry of a symbol."""
    return Entry(~number)


def symbol_entries(count: int) -> list[Entry]:
    """The entries of all symbols."""
    return [*map(Entry, range(-1, ~count, -1))]


def is_symbol(entry: Entry) -> bool:
    """Whether an entry is a symbol; loops over many entries ask ``entry < 0``."""
    return entry < 0


def symbol_number(entry: Entry) -> int:
    """The number of the symbol that an entry is."""
    return ~entry


#: What is kept of a dropped name beside the name, nearly always.
_OF_SECTION = (True, None, 0)


class DroppedNames:
    """The rows of dropped names; of most of them only the name has to be kept.

    Attributes:
        names: of all.
        others: the rest of the rows that are not like most.
    """

    __slots__ = ("names", "others")

    def __init__(self) -> None:
        self.names: list[str] = []
        self.others: dict[int, tuple[bool, str | None, int]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, at: int) -> DroppedRow:
        return (self.names[at], *self.others.get(at, _OF_SECTION))

    def __iter__(self) -> Iterator[DroppedRow]:
        return map(self.__getitem__, range(len(self.names)))

    def append(self, dropped: DroppedRow) -> None:
        """Add one."""
        name, in_shstrtab, made_as, erased = dropped
        if made_as is not None or erased or not in_shstrtab:
            self.others[len(self.names)] = in_shstrtab, made_as, erased
        self.names.append(name)

    def add_sections(self, names: Iterable[str]) -> None:
        """Add the names of sections that were made under these names."""
        self.names += names


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
    symbols: list[int]

    def __init__(self, offsets: list[int | None], num_symbols: int) -> None:
        self.offsets: list[int | None] = offsets
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
