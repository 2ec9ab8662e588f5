"""What stays of a debug table when entries of functions that are not linked are left out."""

from __future__ import annotations

from bisect import bisect_right

from cubinspec_writer.plain import dataclass, field


@dataclass(slots=True)
class Kept:
    """The entries that stay.

    Attributes:
        data: their bytes.
        moved: (first byte, end, new first byte) of every entry that stayed, in order.
        pointers: (place in `data`, offset in `data` that it has to name).
    """

    data: bytearray = field(default_factory=bytearray)
    moved: list[tuple[int, int, int]] = field(default_factory=list)
    pointers: list[tuple[int, int]] = field(default_factory=list)

    def copy(self, data: bytes, first: int, end: int) -> int:
        """Keep the bytes from `first` to `end` of the old table; returns where they are now."""
        new = len(self.data)
        self.data += data[first:end]
        self.moved.append((first, end, new))
        return new

    def put(self, first: int, end: int, data: bytes) -> int:
        """Keep other bytes in place of the old ones; returns where they are."""
        new = len(self.data)
        self.data += data
        self.moved.append((first, end, new))
        return new

    def new_offset(self, offset: int) -> int | None:
        """Where a byte of the old table is now; None when its entry is gone."""
        at = bisect_right(self.moved, offset, key=lambda entry: entry[0]) - 1
        if at < 0:
            return None
        first, end, new = self.moved[at]
        return new + offset - first if offset < end else None
