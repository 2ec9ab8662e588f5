"""Tables of fixed-size records, field by field, without an object for each number.

A big cubin has tens of thousands of section headers, symbols and relocations. As rows of integers
they take ten times the memory of their bytes; a column holds the numbers of one field packed, and
has the length, items and slices of a list.
"""

from __future__ import annotations

from struct import Struct, calcsize, pack, unpack_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LITTLE = unpack_from("=H", b"\1\0")[0] == 1


def split(record: Struct, table: bytes) -> list[Sequence[int]]:
    """The columns of a table, one for each field of the record, in its order.

    Args:
        record: little-endian integers, each of which is aligned.
        table: whole records.
    """
    if not _LITTLE:
        columns = [*zip(*record.iter_unpack(table), strict=True)]
        return [*columns] or [()] * (len(record.format) - 1)
    views = _views(record, memoryview(table))
    return [_cast(memoryview(view.tobytes()), view.format) for view in views]


def join(record: Struct, columns: Sequence[Sequence[int]]) -> bytearray:
    """The table that has these columns; the inverse of :func:`split`.

    Raises:
        struct.error: a number does not fit its field.
    """
    count = len(columns[0])
    table = bytearray(count * record.size)
    if not _LITTLE:
        for at, row in enumerate(zip(*columns, strict=True)):
            record.pack_into(table, at * record.size, *row)
        return table
    for view, column in zip(_views(record, memoryview(table)), columns, strict=True):
        if not isinstance(column, memoryview):
            column = _cast(memoryview(pack(f"={count}{view.format}", *column)), view.format)
        view[:] = column
    return table


def _cast(table: memoryview, code: str) -> memoryview:
    return table.cast(code)  # type: ignore[call-overload,no-any-return]


def _views(record: Struct, table: memoryview) -> Iterator[memoryview]:
    at = 0
    for code in record.format.lstrip("<"):
        width = calcsize(f"={code}")
        yield _cast(table, code)[at // width :: record.size // width]
        at += width


class Rows:
    """Columns as a sequence of rows, each made when it is asked for."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Sequence[int]]) -> None:
        self.columns: Sequence[Sequence[int]] = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return zip(*self.columns, strict=True)

    def take(self, places: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The rows at some places, made one by one but faster than each is by itself."""
        return zip(*[map(column.__getitem__, places) for column in self.columns], strict=True)

    def __getitem__(self, at: int) -> tuple[int, ...]:
        return tuple([column[at] for column in self.columns])
