"""A call graph as a tree of text, as DOT for Graphviz, and as a drawing."""

from __future__ import annotations

from cubinspec.report.callgraph import (
    EXTERNAL,
    HOLDS,
    KERNEL,
    MAY_CALL,
    REFERS,
    RUNNING,
    SYSTEM,
    JoinedCalls,
    Node,
)
from cubinspec.report.layered import Arrow, Box, stacked
from cubinspec.report.names import escaped, readable
from cubinspec.report.stack import reason_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    NameOf = Callable[[str], str]

_DOT_STYLES = {MAY_CALL: " [style=dashed]", REFERS: " [style=dotted]", HOLDS: " [arrowhead=odot]"}
_DRAWN = {MAY_CALL: "may", REFERS: "refers"}
_LONGEST_TITLE = 60
#: Levels of a tree that are written out.
_DEEPEST = 100


def tree_lines(calls: JoinedCalls, roots: list[Node], name_of: NameOf = readable) -> Iterator[str]:
    """The lines of a tree for every root; what stands above is not written out again."""
    shown: set[Node] = set()
    for root in roots:
        # (node, indent for its children, its own line, those above it)
        todo: list[tuple[Node, str, str, tuple[Node, ...]]] = [(root, "", "", ())]
        while todo:
            node, indent, head, above = todo.pop()
            line = head + _line(calls, node, name_of)
            callees = node.callees()
            if node in above:
                yield f"{line}  (recursion)"
                continue
            if len(above) == _DEEPEST and callees:
                yield f"{line}  (deeper levels are left out; choose a function with --match)"
                continue
            if node in shown and callees:
                yield f"{line}  (see above)"
                continue
            shown.add(node)
            yield line
            last = len(callees) - 1
            children = []
            for number, (callee, kind) in enumerate(sorted(callees.items(), key=_by_kind)):
                word = "" if kind == RUNNING[0] else f"[{kind}] "
                branch, deeper = ("└─ ", "   ") if number == last else ("├─ ", "│  ")
                children.append(
                    (callee, indent + deeper, f"{indent}{branch}{word}", (*above, node))
                )
            todo += reversed(children)


def _by_kind(item: tuple[Node, str]) -> int:
    return RUNNING.index(item[1])


def _line(calls: JoinedCalls, node: Node, name_of: NameOf) -> str:
    said = facts(calls, node, mangled=name_of is str)
    return f"{name_of(node.name)}  {said}".rstrip()


def facts(calls: JoinedCalls, node: Node, *, mangled: bool = False) -> str:
    """Registers, stack and barriers of a function in words."""
    if node.kind in (EXTERNAL, SYSTEM):
        return node.kind
    depth = calls.depth(node)
    words = [] if node.kind != KERNEL else [KERNEL]
    if node.registers is not None:
        words.append(f"{node.registers} registers")
    if node.frame is not None:
        words.append(f"frame {node.frame}")
    if node.stated is not None:
        words.append(f"stack {node.stated}")
    elif depth.open is not None:
        words.append(f"stack unknown ({reason_text(depth.open, mangled=mangled)})")
    elif node.frame is not None or depth.stack:
        words.append(f"stack {depth.stack}")
    if depth.barriers:
        words.append(f"{depth.barriers} barrier{'s' if depth.barriers > 1 else ''}")
    return ", ".join(words)


def dot_text(graphs: list[tuple[str, JoinedCalls]]) -> str:
    """DOT text: kernels have a double outline, external functions none.

    Args:
        graphs: each behind its title; each of several is a cluster.
    """
    lines = ['digraph "callgraph" {', "  node [shape=box, fontname=monospace];"]
    first = 0
    for number, (title, calls) in enumerate(graphs):
        if len(graphs) > 1:
            lines.append(f"  subgraph cluster_{number} {{ label={_quoted(title)};")
        lines += _dot_lines(calls, first)
        if len(graphs) > 1:
            lines.append("  }")
        first += len(calls.nodes)
    return "\n".join([*lines, "}"]) + "\n"


def _dot_lines(calls: JoinedCalls, first: int) -> Iterator[str]:
    """The nodes and edges of a graph; ``first`` is the number of its first node."""
    numbers = {node: number for number, node in enumerate(calls.nodes, first)}
    for node, number in numbers.items():
        label = f"{escaped(readable(node.name))}\n{escaped(facts(calls, node))}"
        shape = ", peripheries=2" if node.kind == KERNEL else ""
        shape += ", shape=plaintext" if node.kind in (EXTERNAL, SYSTEM) else ""
        tip = _quoted(escaped(node.name))
        yield f"  f{number} [label={_quoted(label)}, tooltip={tip}{shape}];"
    for node, number in numbers.items():
        for kind, others in node.edges.items():
            style = _DOT_STYLES.get(kind, "")
            yield from (f"  f{number} -> f{numbers[other]}{style};" for other in others)


def _quoted(text: str) -> str:
    safe = text.encode("utf-8", "replace").decode("utf-8")
    safe = safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{safe}"'


def drawing(graphs: list[tuple[str, JoinedCalls]]) -> str:
    """Graphs, each behind its title, as one SVG; a single one has no title."""
    return stacked(
        [
            (title if len(graphs) > 1 else "", *boxes_and_arrows(calls, calls.nodes))
            for title, calls in graphs
        ]
    )


def boxes_and_arrows(calls: JoinedCalls, nodes: list[Node]) -> tuple[list[Box], list[Arrow]]:
    """What is drawn of some functions of a graph, which call none but each other."""
    numbers = {node: number for number, node in enumerate(nodes)}
    boxes = [
        Box(short_name(escaped(readable(node.name))), facts(calls, node), node.name, node.kind)
        for node in nodes
    ]
    arrows = [
        Arrow(numbers[node], numbers[other], _DRAWN.get(kind, ""))
        for node in nodes
        for kind, others in node.edges.items()
        for other in others
    ]
    return boxes, arrows


def short_name(name: str) -> str:
    """A name with as much of both ends as a box has room for."""
    if len(name) <= _LONGEST_TITLE:
        return name
    half = _LONGEST_TITLE // 2 - 1
    return f"{name[:half]}…{name[-half:]}"
