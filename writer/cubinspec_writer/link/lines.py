"""Line tables of the SASS half: sequences of functions that are not linked are left out.

`.debug_line` and `.nv_debug_line_sass` are rows of units in the 32-bit DWARF 2 form: length,
version, length of the header, header, program. In a program every function is one sequence, from
the operation that sets its address to the one that ends a sequence. Units stay, even without any
sequence.
"""

from __future__ import annotations

from .kept import Kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH, _FIXED = 4, 10
#: Header fields behind the fixed part: number of the first special operation, operand counts.
_OPCODE_BASE = _FIXED + 4
_EXTENDED, _END_SEQUENCE, _SET_ADDRESS = 0, 1, 2
_FIXED_ADVANCE = 9


def keep_lines(data: bytes, is_linked: Callable[[int], bool]) -> Kept | None:
    """Drop the sequences of functions that are not linked; None when the form is another one.

    Args:
        is_linked: told the offset of the address that a sequence starts with.
    """
    kept = Kept()
    at = 0
    try:
        while at < len(data):
            end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "little")
            start = at + _FIXED + int.from_bytes(data[at + 6 : at + _FIXED], "little")
            if not at + _OPCODE_BASE < start <= end <= len(data):
                return None
            unit = kept.copy(data, at, start)
            for first, last, address in _sequences(data[:end], at, start):
                if address is None or is_linked(address):
                    kept.copy(data, first, last)
            size = len(kept.data) - unit - _LENGTH
            kept.data[unit : unit + _LENGTH] = size.to_bytes(_LENGTH, "little")
            at = end
    except IndexError:
        return None
    return kept


def _sequences(data: bytes, unit: int, at: int) -> list[tuple[int, int, int | None]]:
    """(first byte, end, place of the address) of every sequence of a program.

    Raises:
        IndexError: an operation does not end before the unit.
    """
    base = data[unit + _OPCODE_BASE]
    operands = data[unit + _OPCODE_BASE + 1 : unit + _OPCODE_BASE + base]
    found = []
    first, address = at, None
    while at < len(data):
        code = data[at]
        at += 1
        if code == _EXTENDED:
            size, at = _uleb(data, at)
            kind = data[at]
            if kind == _SET_ADDRESS:
                address = at + 1
            at += size
            if kind == _END_SEQUENCE:
                found.append((first, at, address))
                first, address = at, None
        elif code == _FIXED_ADVANCE:
            at += 2
        elif code < base:
            for _ in range(operands[code - 1]):
                _, at = _uleb(data, at)
    if first < at:
        found.append((first, at, address))
    return found


def _uleb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
