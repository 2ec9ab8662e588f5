"""`.nv_debug_info_reg_sass` of the SASS half: ranges of functions that are not linked become empty.

The table has for every function its name, a count and so many rows: a number, the name of a PTX
register, the register that holds its value, start and end of the code where it does (rule
D5).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_WORD, _RANGE = 4, 8


def clear_places(data: bytes, is_linked: Callable[[str], bool]) -> bytes:
    """The table with empty ranges for functions that are not linked.

    From the first byte on that does not fit the form, the table stays as it is.

    Args:
        is_linked: whether a function of a name is linked.
    """
    table = bytearray(data)
    at = 0
    while at < len(table):
        end = table.find(0, at)
        if end < 0 or end + 1 + _WORD > len(table):
            break
        linked = is_linked(table[at:end].decode("utf-8", "surrogateescape"))
        count = int.from_bytes(table[end + 1 : end + 1 + _WORD], "little")
        at = end + 1 + _WORD
        for _ in range(count):
            place = table.find(0, at + _WORD) + 1 + _WORD
            if place <= _WORD or place + _RANGE > len(table):
                return bytes(table)
            if not linked:
                table[place : place + _RANGE] = bytes(_RANGE)
            at = place + _RANGE
    return bytes(table)
