"""`.debug_frame` of the SASS half: entries of functions that are not linked are left out.

The table is a row of entries in the 64-bit DWARF form: 0xffffffff, length (8 bytes), then a CIE
(id all ones) or an FDE (offset of its CIE, start of its code, size). ptxas writes one CIE for every
FDE, in front of it; both go together.
"""

from __future__ import annotations

from .kept import Kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_ESCAPE = 0xFFFFFFFF
_CIE_ID = (1 << 64) - 1
_ID, _START = 12, 20


def keep_frames(data: bytes, is_linked: Callable[[int], bool]) -> Kept | None:
    """Drop the entries of functions that are not linked; None when the form is another one.

    Args:
        is_linked: told the offset of an FDE's start address.
    """
    kept = Kept()
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
                cie_at = kept.copy(data, *cie)
            new = kept.copy(data, at, end)
            if cie_at is not None:
                kept.pointers.append((new + _ID, cie_at))
        at = end
    return kept
