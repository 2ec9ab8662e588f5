"""Drawings of the calls below each function that calls anything, as places of boxes and lines.

The page turns them into SVG. It could not make them itself without a second copy of the layout.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cubinspec.report.callgraph import Node
from cubinspec.report.callgraph_text import boxes_and_arrows
from cubinspec.report.layered import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cubinspec.report.callgraph import JoinedCalls

#: Functions in one drawing; nobody reads a larger one.
MOST_DRAWN = 60
#: Functions in all drawings of one image.
MOST_DRAWN_IN_IMAGE = 3000


@dataclass(slots=True)
class Drawing:
    """The calls below one function.

    Attributes:
        root: number of the node.
        nodes: numbers of all nodes, the root first.
        places: middle and width of each box.
        lines: from, to (numbers in ``nodes``), style, and the bends between.
        width, height: of the drawing.
    """

    root: int
    nodes: list[int]
    places: list[tuple[int, int, int]]
    lines: list[tuple[int, int, str, list[tuple[int, int]]]]
    width: int
    height: int


@dataclass(slots=True)
class Drawings:
    """The call graph of an image: the functions that call or are called.

    Attributes:
        names: the mangled name of each.
        functions: its number among the functions of the image; -1: it is not defined there.
        kinds: ``kernel``, ``function``, ``external`` or ``system``.
        facts: registers, stack and barriers in words.
        edges: caller, callee, kind of the edge.
        drawn: one for each function that calls anything, as far as they are not too large.
    """

    names: list[str] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    edges: list[tuple[int, int, str]] = field(default_factory=list)
    drawn: list[Drawing] = field(default_factory=list)


def drawings_of(calls: JoinedCalls, names: Sequence[str]) -> Drawings | None:
    """The call graph of one image; ``None`` when nothing calls anything.

    Args:
        names: of its functions, in the order of the file.
    """
    from cubinspec.report.callgraph_text import facts

    ends = {n: None for node in calls.nodes for n in (node, *_neighbours(node)) if node.edges}
    if not ends:
        return None
    places: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        places.setdefault(name, []).append(number)
    found = Drawings()
    numbers: dict[Node, int] = {}
    for node in calls.nodes:
        # local functions of one name stand in the same order in both lists
        same = places.get(node.name)
        place = same.pop(0) if same else -1
        if node in ends:
            numbers[node] = len(found.names)
            found.names.append(node.name)
            found.functions.append(place)
            found.kinds.append(node.kind)
            found.facts.append(facts(calls, node))
    for node, number in numbers.items():
        for kind, others in node.edges.items():
            found.edges += [(number, numbers[other], kind) for other in others]
    room = MOST_DRAWN_IN_IMAGE
    for node in numbers:
        below = _below(node) if node.edges else []
        if below and len(below) <= room:
            found.drawn.append(_drawing(calls, below, numbers))
            room -= len(below)
    return found


def _neighbours(node: Node) -> Iterator[Node]:
    for others in node.edges.values():
        yield from others


def _below(root: Node) -> list[Node]:
    """A function and all that it reaches; nothing when that is too much for a drawing."""
    reached = {root: None}
    todo = [root]
    while todo:
        for other in _neighbours(todo.pop()):
            if other not in reached:
                reached[other] = None
                todo.append(other)
        if len(reached) > MOST_DRAWN:
            return []
    return list(reached)


def _drawing(calls: JoinedCalls, nodes: list[Node], numbers: dict[Node, int]) -> Drawing:
    boxes, arrows = boxes_and_arrows(calls, nodes)
    layout = Layout(boxes, arrows)
    return Drawing(
        numbers[nodes[0]],
        [numbers[node] for node in nodes],
        [
            (round(x), round(y), round(width))
            for (x, y), width in zip(layout.places, layout.widths, strict=False)
        ],
        [
            (
                arrow.source,
                arrow.target,
                arrow.style,
                [(round(x), round(y)) for x, y in bends],
            )
            for arrow, bends in zip(arrows, layout.bends, strict=True)
        ],
        round(layout.width),
        round(layout.height),
    )
