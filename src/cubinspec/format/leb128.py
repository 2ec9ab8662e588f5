"""Numbers of DWARF in groups of seven bits, the lowest first."""

from __future__ import annotations

#: Groups that 64 bits take; more of them would let one number be as long as the file.
_MOST_GROUPS = 10


def uleb(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number and the offset behind it.

    Raises:
        IndexError: it does not end before the data does, or has more than 64 bits.
    """
    value = 0
    for group in range(_MOST_GROUPS):
        byte = data[at + group]
        value |= (byte & 0x7F) << 7 * group
        if byte < 0x80:
            return value, at + group + 1
    raise IndexError(at)


def sleb(data: bytes, at: int) -> tuple[int, int]:
    """A signed number and the offset behind it.

    Raises:
        IndexError: as :func:`uleb`.
    """
    value, end = uleb(data, at)
    bits = 7 * (end - at)
    return value - (value >> bits - 1 << bits), end
