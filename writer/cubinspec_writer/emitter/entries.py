"""Entries: what the history of a draft lists, as numbers.

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
    from typing import NewType

    Entry = NewType("Entry", int)
    #: The fields of a ``Dropped``: name, in_shstrtab, made_as, erased.
    DroppedRow = tuple[str, bool, str | None, int]
else:
    Entry = int


def of_symbol(number: int) -> Entry:
    """The entry of a symbol."""
    return Entry(~number)


def is_symbol(entry: Entry) -> bool:
    """Whether an entry is a symbol; loops over many entries ask ``entry < 0``."""
    return entry < 0


def symbol_number(entry: Entry) -> int:
    """The number of the symbol that an entry is."""
    return ~entry


#: What is kept of a dropped name beside the name, nearly always.
_OF_SECTION = (True, None, 0)


class DroppedNames:
    """The rows of dropped names; of most of them only the name has to be kept."""

    __slots__ = ("_names", "_others")

    def __init__(self) -> None:
        self._names: list[str] = []
        #: The rest of the rows that are not like most.
        self._others: dict[int, tuple[bool, str | None, int]] = {}

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, at: int) -> DroppedRow:
        return (self._names[at], *self._others.get(at, _OF_SECTION))

    def __iter__(self) -> Iterator[DroppedRow]:
        others = self._others
        for at, name in enumerate(self._names):
            yield (name, *others[at]) if at in others else (name, True, None, 0)

    def append(self, dropped: DroppedRow) -> None:
        """Add one."""
        name, *others = dropped
        if tuple(others) != _OF_SECTION:
            self._others[len(self._names)] = dropped[1:]
        self._names.append(name)

    def add_sections(self, names: Iterable[str]) -> None:
        """Add the names of sections that were made under these names."""
        self._names += names
