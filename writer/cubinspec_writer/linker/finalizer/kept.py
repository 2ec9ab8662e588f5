"""A debug table from which the entries of functions that are not linked were removed."""

from __future__ import annotations

from bisect import bisect_right


class Kept:
    """The entries that remain, and where they moved.

    Attributes:
        data: the bytes of the new table.
        moved: (first byte, end, new first byte) of every entry that remains, in order.
        pointers: (offset of a pointer in `data`, offset in `data` that it has to name).
    """

    __slots__ = ("data", "moved", "pointers")
    data: bytearray

    def __init__(self) -> None:
        self.data = bytearray()
        self.moved: list[tuple[int, int, int]] = []
        self.pointers: list[tuple[int, int]] = []

    def copy(self, data: bytes, first: int, end: int) -> int:
        """Keep the bytes from `first` to `end` of the old table; returns their new offset."""
        return self.put(first, end, data[first:end])

    def put(self, first: int, end: int, data: bytes) -> int:
        """Put other bytes in place of those from `first` to `end`; returns their offset."""
        new = len(self.data)
        self.data += data
        self.moved.append((first, end, new))
        return new

    def new_offset(self, offset: int) -> int | None:
        """The new offset of a byte of the old table; None when its entry was removed."""
        at = bisect_right(self.moved, offset, key=lambda entry: entry[0]) - 1
        if at < 0:
            return None
        first, end, new = self.moved[at]
        return new + offset - first if offset < end else None
