"""`.debug_frame` of the SASS half: entries of functions that are not linked are left out.

The table is a row of entries in the 64-bit DWARF form: 0xffffffff, length (8 bytes), then a CIE
(id all ones) or an FDE (offset of its CIE, start of its code, size). ptxas writes one CIE for every
FDE, in front of it; both go together.
"""

from __future__ import annotations

from collections.abc import Callable

from .plain import dataclass

_ESCAPE = 0xFFFFFFFF
_CIE_ID = (1 << 64) - 1
_ID, _START = 12, 20


@dataclass(slots=True)
class Frames:
    """The entries that stay.

    Attributes:
        data: their bytes, offsets of CIEs relative to this block.
        moved: (first byte, end, new first byte) of every entry that stayed.
        pointers: where in `data` the FDEs point at their CIE.
    """

    data: bytearray
    moved: list[tuple[int, int, int]]
    pointers: list[tuple[int, int]]

    def new_offset(self, offset: int) -> int | None:
        """Where a byte of the old table is now; None when its entry is gone."""
        for first, end, new in self.moved:
            if first <= offset < end:
                return new + offset - first
        return None


def keep_frames(data: bytes, is_linked: Callable[[int], bool]) -> Frames | None:
    """Drop the entries of functions that are not linked; None when the form is another one.

    Args:
        is_linked: told the offset of an FDE's start address.
    """
    kept = Frames(bytearray(), [], [])
    at = 0
    cie: tuple[int, int] | None = None
    cie_at: int | None = None
    while at + _START <= len(data):
        if int.from_bytes(data[at : at + 4], "little") != _ESCAPE:
            return None
        end = at + _ID + int.from_bytes(data[at + 4 : at + 12], "little")
        if end > len(data):
            return None
        if int.from_bytes(data[at + _ID : at + _START], "little") == _CIE_ID:
            cie, cie_at = (at, end), None
        elif is_linked(at + _START):
            if cie is not None and cie_at is None:
                cie_at = _copy(kept, data, *cie)
            new = _copy(kept, data, at, end)
            if cie_at is not None:
                kept.pointers.append((new + _ID, cie_at))
        at = end
    return kept


def _copy(kept: Frames, data: bytes, first: int, end: int) -> int:
    new = len(kept.data)
    kept.data += data[first:end]
    kept.moved.append((first, end, new))
    return new
