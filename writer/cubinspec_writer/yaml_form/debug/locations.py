"""Lists of places: where variables are, by address."""

from __future__ import annotations

from typing import Any

from cubinspec_writer.yaml_form.debug.cursor import (
    Cursor,
    hex_bytes,
    number_bytes,
    refuse,
)
from cubinspec_writer.yaml_form.text import Flow, Hex

_HALF = 2
#: Values of a row: start, end and, if it is neither the end of a list nor a base, an expression.
_SHORT_ROW, _ROW = 2, 3


def rows(data: bytes, word: int) -> list[Flow]:
    """``.debug_loc``: start, end and expression; ``[0, 0]`` ends a list.

    Args:
        word: bytes of an address.
    """
    cursor = Cursor(data)
    found = []
    while not cursor.is_done:
        start, end = cursor.number(word), cursor.number(word)
        row: list[Any] = [Hex(start), Hex(end)]
        if not _is_short(start, end, word):
            row.append(cursor.take(cursor.number(_HALF)))
        found.append(Flow(row))
    return found


def _is_short(start: Any, end: Any, word: int) -> bool:
    """Whether a row is the end of a list, or sets the base of those that follow."""
    return bool(start == end == 0 or start == (1 << 8 * word) - 1)


def rows_bytes(value: Any, word: int) -> bytes:
    found = bytearray()
    for at, row in enumerate(value):
        start, end, *expression = row
        if len(row) != (_SHORT_ROW if _is_short(start, end, word) else _ROW):
            refuse("start, end and expression; [0, 0]; or the highest number and a base", at)
        found += number_bytes(start, word, at, 0) + number_bytes(end, word, at, 1)
        for text in expression:
            block = hex_bytes(text, at, 2)
            found += number_bytes(len(block), _HALF, at, 2) + block
    return bytes(found)
