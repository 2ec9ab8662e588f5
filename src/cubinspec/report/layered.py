"""A layered drawing of a graph: boxes in rows, arrows downwards. No external program draws it.

Nodes come in rows by the longest path from a root (Sugiyama's method): edges that close a circle
are turned for the layout only, long edges bend through every row that they cross, and each row is
ordered by the middle of its neighbours, a few times down and up.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from cubinspec.format.escapes import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Rounds of ordering rows by their neighbours; more change little.
_ROUNDS = 6
_CHARACTER, _BOX, _ROW, _GAP, _MARGIN, _TITLE = 7.2, 34, 84, 24, 16, 28
_STYLE = (
    "text{font:12px monospace;fill:#222;text-anchor:middle}rect{fill:#fff;stroke:#666}"
    ".kernel rect{stroke:#1f6feb;stroke-width:2.5}"
    ".external rect,.system rect{stroke-dasharray:4 3;fill:none}"
    "path{fill:none;stroke:#666}.may{stroke-dasharray:6 4}.refers{stroke-dasharray:2 4}"
    ".small{font-size:10px}.title{text-anchor:start;font-weight:bold}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#222;stroke:#999}path{stroke:#999}}"
)


@dataclass(frozen=True, slots=True)
class Box:
    """A node to draw.

    Attributes:
        title: the first line.
        note: the second line, in small type.
        tooltip: shown when the pointer rests on it.
        kind: class of the style sheet: ``kernel``, ``function``, ``external`` or ``system``.
    """

    title: str
    note: str = ""
    tooltip: str = ""
    kind: str = "function"


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge to draw, from one box to another by their numbers.

    Attributes:
        style: class of the style sheet: empty, ``may`` or ``refers``.
    """

    source: int
    target: int
    style: str = ""


def rows_of(count: int, edges: Sequence[tuple[int, int]]) -> tuple[list[int], set[int]]:
    """The row of every node, and the numbers of the edges that were turned to break circles."""
    below: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, (source, target) in enumerate(edges):
        below[source].append((target, number))
    turned: set[int] = set()
    order: list[int] = []
    state = bytearray(count)  # 0 not met, 1 on the path, 2 done
    called = {target for source, target in edges if source != target}
    for root in sorted(range(count), key=lambda node: node in called):
        todo = [(root, -1)]
        while todo:
            node, at = todo.pop()
            if at < 0:
                if state[node]:
                    continue
                state[node] = 1
                at = 0
            if at == len(below[node]):
                state[node] = 2
                order.append(node)
                continue
            todo.append((node, at + 1))
            target, number = below[node][at]
            if state[target] == 1:
                turned.add(number)
            elif not state[target]:
                todo.append((target, -1))
    rows = [0] * count
    for node in reversed(order):
        for target, number in below[node]:
            if number not in turned:
                rows[target] = max(rows[target], rows[node] + 1)
    return rows, turned


class Layout:
    """Places for boxes and the bends of arrows.

    Attributes:
        places: middle of each box.
        widths: of each box.
        bends: points of each arrow between its boxes.
        width, height: of the drawing.
    """

    def __init__(self, boxes: Sequence[Box], arrows: Sequence[Arrow]) -> None:
        count = len(boxes)
        edges = [(arrow.source, arrow.target) for arrow in arrows]
        rows, turned = rows_of(count, edges)
        self.widths: list[float] = [
            max(len(box.title), 0.85 * len(box.note)) * _CHARACTER + 16 for box in boxes
        ]
        self._rows = rows[:]
        self._links: list[tuple[int, int]] = []
        chains: list[list[int]] = []
        for number, (source, target) in enumerate(edges):
            first, last = (target, source) if number in turned else (source, target)
            chain = self._chain(first, last)
            chains.append(chain[::-1] if number in turned else chain)
        ranks = self._ordered()
        x = self._placed(ranks)
        y = [_MARGIN + _BOX / 2 + _ROW * row for row in self._rows]
        points = list(zip(x, y, strict=True))
        self.places: list[tuple[float, float]] = points[:count]
        self.bends: list[list[tuple[float, float]]] = [
            [points[node] for node in chain] for chain in chains
        ]
        right = [at + width / 2 for at, width in zip(x, self.widths, strict=True)]
        self.width: float = max(right, default=0) + _MARGIN
        self.height: float = max(y, default=0) + _BOX / 2 + _MARGIN

    def _chain(self, first: int, last: int) -> list[int]:
        """Bends in the rows between two nodes; they are nodes of no width for the layout."""
        if first == last:
            return []
        chain, before = [], first
        for row in range(self._rows[first] + 1, self._rows[last]):
            bend = len(self._rows)
            self._rows.append(row)
            self.widths.append(0.0)
            self._links.append((before, bend))
            chain.append(bend)
            before = bend
        self._links.append((before, last))
        return chain

    def _ordered(self) -> list[list[int]]:
        """The nodes of each row from left to right."""
        ranks: list[list[int]] = [[] for _ in range(max(self._rows, default=-1) + 1)]
        for node, row in enumerate(self._rows):
            ranks[row].append(node)
        above: list[list[int]] = [[] for _ in self._rows]
        below: list[list[int]] = [[] for _ in self._rows]
        for source, target in self._links:
            below[source].append(target)
            above[target].append(source)
        for turn in range(_ROUNDS):
            near = below if turn % 2 else above
            place = {node: at for rank in ranks for at, node in enumerate(rank)}
            for rank in reversed(ranks) if turn % 2 else ranks:
                middle = {
                    node: sum(place[n] for n in near[node]) / len(near[node])
                    if near[node]
                    else place[node]
                    for node in rank
                }
                rank.sort(key=middle.__getitem__)
                place.update({node: at for at, node in enumerate(rank)})
        return ranks

    def _placed(self, ranks: list[list[int]]) -> list[float]:
        """The middle of every node; rows are centred."""
        x = [0.0] * len(self._rows)
        spans = []
        for rank in ranks:
            at = 0.0
            for node in rank:
                x[node] = at + self.widths[node] / 2
                at += self.widths[node] + _GAP
            spans.append(at - _GAP)
        widest = max(spans, default=0)
        for rank, span in zip(ranks, spans, strict=True):
            for node in rank:
                x[node] += _MARGIN + (widest - span) / 2
        return x


def svg(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> str:
    """The drawing as a self-contained SVG."""
    return stacked([("", boxes, arrows)])


def stacked(drawings: Sequence[tuple[str, Sequence[Box], Sequence[Arrow]]]) -> str:
    """Drawings one below the other as a self-contained SVG, each below its title."""
    body: list[str] = []
    width = height = 0.0
    for title, boxes, arrows in drawings:
        layout = Layout(boxes, arrows)
        if title:
            height += _TITLE
            body.append(f'<text class="title" x="{_MARGIN}" y="{height:.0f}">{_text(title)}</text>')
            width = max(width, len(title) * _CHARACTER + 2 * _MARGIN)
        if height:
            body.append(f'<g transform="translate(0 {height:.0f})">')
        body += [
            _arrow(layout, arrow, bends) for arrow, bends in zip(arrows, layout.bends, strict=True)
        ]
        for box, (x, y), wide in zip(boxes, layout.places, layout.widths, strict=False):
            body.append(_box(box, x, y, wide))
        if height:
            body.append("</g>")
        width, height = max(width, layout.width), height + layout.height
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img"><style>{_STYLE}</style><defs><marker id="a" viewBox="0 0 8 8" refX="8" '
        'refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#666;stroke:none"/></marker></defs>'
    )
    return head + "".join(body) + "</svg>\n"


def _arrow(layout: Layout, arrow: Arrow, bends: list[tuple[float, float]]) -> str:
    x, y = layout.places[arrow.source]
    to_x, to_y = layout.places[arrow.target]
    style = f' class="{arrow.style}"' if arrow.style else ""
    if arrow.source == arrow.target:
        side = x + layout.widths[arrow.source] / 2
        line = f"M{side:.1f} {y - 6:.1f}c26 -14 26 26 0 12"
    else:
        half = _BOX / 2 if to_y > y else -_BOX / 2
        points = [(x, y + half), *bends, (to_x, to_y - half)]
        line = "M" + "L".join(f"{at:.1f} {down:.1f}" for at, down in points)
    return f'<path{style} d="{line}" marker-end="url(#a)"/>'


def _box(box: Box, x: float, y: float, width: float) -> str:
    lines = f'<text x="{x:.1f}" y="{y + (-2 if box.note else 4):.1f}">{_text(box.title)}</text>'
    if box.note:
        lines += f'<text class="small" x="{x:.1f}" y="{y + 11:.1f}">{_text(box.note)}</text>'
    return (
        f'<g class="{box.kind}"><title>{_text(box.tooltip or box.title)}</title>'
        f'<rect x="{x - width / 2:.1f}" y="{y - _BOX / 2:.1f}" width="{width:.1f}" '
        f'height="{_BOX}" rx="4"/>{lines}</g>'
    )


def _text(text: str) -> str:
    """Text for XML, which cannot hold all characters that names can."""
    return escape(escaped(text))
