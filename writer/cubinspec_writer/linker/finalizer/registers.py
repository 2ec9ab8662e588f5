"""Register tables for debuggers in the SASS half: places in code that is not linked become empty.

`.nv_debug_info_reg_sass` has for every function its name, a count and so many places: a number, the
name of a PTX register, the register that holds it, start and end of the range of code.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_WORD, _RANGE = 4, 8


def clear_places(data: bytes, is_linked: Callable[[str], bool]) -> bytes:
    """The table with empty ranges for functions that are not linked.

    What does not have the form of a table is left as it is.

    Args:
        is_linked: told the name of a function.
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
