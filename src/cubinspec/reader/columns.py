"""Columns of a table as rows.

A big cubin has tens of thousands of section headers, symbols and relocations. As rows of integers
they take ten times the memory of their bytes; a column (``packing.split``) holds the numbers of one
field packed, and has the length, items and slices of a list.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Rows:
    """Columns as a sequence of rows, each made when it is asked for."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Sequence[int]]) -> None:
        self.columns: Sequence[Sequence[int]] = columns

    @classmethod
    def of(cls, rows: Sequence[tuple[int, ...]]) -> Rows:
        """The columns of rows."""
        return cls([*zip(*rows, strict=True)] or [()])

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return zip(*self.columns, strict=True)

    def take(self, places: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The rows at some places, made one by one but faster than each is by itself."""
        return zip(*[map(column.__getitem__, places) for column in self.columns], strict=True)

    def __getitem__(self, at: int) -> tuple[int, ...]:
        return tuple([column[at] for column in self.columns])
