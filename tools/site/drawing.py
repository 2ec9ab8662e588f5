"""The bytes of a record as a picture: boxes of fields, eight or sixteen bytes to a row."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

#: Measures in units of the picture.
_BYTE, _ROW, _LEFT, _TOP = 44, 40, 58, 18
#: A letter takes about so much.
_LETTER = 7.2
#: Rows of one field that are drawn; a longer one is cut.
_MOST_ROWS = 2


class Box(NamedTuple):
    """A field in the picture: its name, place and size in bytes; size 0 is one that varies."""

    name: str
    offset: int
    size: int


def svg(boxes: Sequence[Box], title: str) -> str:
    """The picture as one line of SVG, in the colours of the page.

    Args:
        boxes: the fields in order; only the last one may vary.
    """
    end = max((box.offset + box.size for box in boxes), default=0)
    width = 8 if end <= 32 else 16
    parts: list[str] = []
    row, top = -1, _TOP - _ROW
    for box in boxes:
        for start, count in _pieces(box, width):
            if start // width != row:
                row, top = start // width, top + _ROW
                parts.append(_label(start - start % width, top))
            parts.append(_piece(box, start % width, count, top))
    heads = (
        f'<text class="n" x="{_LEFT + (n + 0.5) * _BYTE}" y="{_TOP - 5}">{n:x}</text>'
        for n in range(width)
    )
    size = f"0 0 {_LEFT + width * _BYTE + 2} {top + _ROW + 2}"
    return (
        f'<svg class="bytes" viewBox="{size}" role="img" aria-label="{escape(title, quote=True)}"'
        f' style="max-width:{_LEFT + width * _BYTE + 2}px">{"".join((*heads, *parts))}</svg>'
    )


def _pieces(box: Box, width: int) -> list[tuple[int, int]]:
    """First byte and number of bytes of the rows that a field has."""
    if not box.size:
        return [(box.offset, width - box.offset % width)]
    pieces: list[tuple[int, int]] = []
    start, end = box.offset, box.offset + box.size
    while start < end and len(pieces) < _MOST_ROWS:
        stop = min(end, start - start % width + width)
        pieces.append((start, stop - start))
        start = stop
    return pieces


def _label(offset: int, top: int) -> str:
    return f'<text class="o" x="{_LEFT - 8}" y="{top + _ROW / 2 + 4}">{offset:#04x}</text>'


def _piece(box: Box, column: int, count: int, top: int) -> str:
    x, wide = _LEFT + column * _BYTE, count * _BYTE
    kind = "v" if not box.size else "f"
    room = int((wide - 6) / _LETTER)
    name = box.name if len(box.name) <= room else box.name[: max(1, room - 1)] + "…"
    return (
        f'<g><title>{escape(box.name)}</title><rect class="{kind}" x="{x}" y="{top}"'
        f' width="{wide}" height="{_ROW - 4}"/>'
        f'<text x="{x + wide / 2}" y="{top + _ROW / 2 + 2}">{escape(name)}</text></g>'
    )
