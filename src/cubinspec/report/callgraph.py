"""Who calls whom in a cubin, or in several as if they were linked, and what that costs.

Edges are those of ``.nv.callgraph``: direct calls, calls through a pointer (a function that calls a
signature may reach every function of that signature whose address is taken), and mere references.
A program that was compiled as a whole lists no calls; there the copies of functions that lie in the
code of a kernel are shown as part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cubinspec.report import stack
from cubinspec_generated.codes import ST_BIND_SHIFT, STB_LOCAL, STB_WEAK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.model.callgraph import CallGraph, Edge
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function
    from cubinspec.model.symbol import SymbolList
    from cubinspec.report.stack import Reason

#: Kinds of edges.
CALLS = "calls"
MAY_CALL = "may call"
HOLDS = "holds"
REFERS = "refers to"
#: Edges to what runs below a function, in the order in which they are shown.
RUNNING = (CALLS, MAY_CALL, HOLDS)
#: Kinds of nodes.
KERNEL, FUNCTION, EXTERNAL, SYSTEM = "kernel", "function", "external", "system"


@dataclass(slots=True, eq=False)
class Node:
    """A function in a call graph.

    Attributes:
        name: the mangled name.
        kind: ``kernel``, ``function``, ``external`` for one that no input defines, or ``system``
            for one that the driver adds to a linked image.
        file: where its code is; empty for an external function.
        registers, barriers: of the function; ``None``: not told.
        frame: bytes of its own stack frame; ``None``: not told.
        stated: bytes of stack for the whole call tree as the linker stated them; ``None``: it did
            not, or said that nobody knows.
        signatures: signatures that it calls through pointers.
        edges: kind -> the functions, each once, in the order of the file.
    """

    name: str
    kind: str
    file: str = ""
    registers: int | None = None
    barriers: int | None = None
    frame: int | None = None
    stated: int | None = None
    signatures: list[str] = field(default_factory=list)
    edges: dict[str, dict[Node, None]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Node {self.kind} {self.name}>"

    def link(self, kind: str, other: Node) -> None:
        """Add an edge."""
        self.edges.setdefault(kind, {})[other] = None

    def callees(self) -> dict[Node, str]:
        """Everything that runs below it, and how it is reached."""
        return {other: kind for kind in reversed(RUNNING) for other in self.edges.get(kind, ())}

    def called(self) -> dict[Node, None]:
        """The functions whose frames lie below its own; one that it holds is part of its own."""
        return {**self.edges.get(CALLS, {}), **self.edges.get(MAY_CALL, {})}


@dataclass(frozen=True, slots=True)
class Depth:
    """What the deepest path from a function takes.

    Attributes:
        stack: bytes of stack along the path, as far as they are told.
        below: the next function of the path.
        barriers: most barriers that any function on any path states.
        open: why the stack is not known; ``None`` when it is.
    """

    stack: int
    below: Node | None
    barriers: int
    open: Reason | None


class JoinedCalls:
    """A call graph of one or several cubins.

    Attributes:
        nodes: all functions, in the order of the files.
    """

    __slots__ = ("_depths", "nodes")

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes: list[Node] = nodes
        self._depths: dict[Node, Depth] = {}

    def __repr__(self) -> str:
        return f"<JoinedCalls of {len(self.nodes)} functions>"

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table
        from cubinspec.report.names import readable

        rows = []
        for node in self.nodes:
            depth = self.depth(node)
            stack_size = node.stated if node.stated is not None else depth.stack
            known = None if node.stated is None and depth.open is not None else stack_size
            called = ", ".join(readable(other.name) for other in node.callees())
            needs = (node.registers, node.frame, known, depth.barriers)
            rows.append((readable(node.name), node.kind, *needs, called))
        head = ("function", "kind", "registers", "frame", "stack", "barriers", "calls")
        return html_table(f"{len(rows)} functions", head, rows)

    @property
    def roots(self) -> list[Node]:
        """Kernels, and functions that nothing calls."""
        called = {other for node in self.nodes for other in node.callees() if other is not node}
        defined = (KERNEL, FUNCTION)
        return [
            n for n in self.nodes if n.kind in defined and (n.kind == KERNEL or n not in called)
        ]

    def below(self, roots: list[Node]) -> JoinedCalls:
        """The part of the graph that some functions reach."""
        reached = dict.fromkeys(roots)
        todo = [*roots]
        while todo:
            node = todo.pop()
            for others in node.edges.values():
                todo += [other for other in others if other not in reached]
                reached.update(others)
        return JoinedCalls([node for node in self.nodes if node in reached])

    def depth(self, node: Node) -> Depth:
        """What the deepest path from a function takes."""
        if node not in self._depths:
            self._measure(node)
        return self._depths[node]

    def path(self, node: Node) -> list[Node]:
        """The functions of the deepest path from a function, itself first."""
        found: dict[Node, None] = {}
        at: Node | None = node
        while at is not None and at not in found:
            found[at] = None
            at = self.depth(at).below
        return list(found)

    def _measure(self, start: Node) -> None:
        """Walk everything below a function, callees first; no recursion, paths may be long."""
        path: dict[Node, None] = {}
        circles: dict[Node, Reason] = {}
        todo: list[tuple[Node, bool]] = [(start, True)]
        while todo:
            node, entering = todo.pop()
            if not entering:
                del path[node]
                self._depths[node] = self._sum(node, circles.get(node))
            elif node in path:
                members = list(path)
                ring = members[members.index(node) :]
                reason = stack.RECURSION, tuple(member.name for member in (*ring, node))
                for member in ring:
                    circles.setdefault(member, reason)
            elif node not in self._depths:
                path[node] = None
                todo.append((node, False))
                todo += [(callee, True) for callee in reversed(node.called())]

    def _sum(self, node: Node, circle: Reason | None) -> Depth:
        below = {c: self._depths[c] for c in node.called() if c in self._depths}
        deepest = max(below, key=lambda callee: below[callee].stack, default=None)
        barriers = max([node.barriers or 0, *(depth.barriers for depth in below.values())])
        reason = circle or next((depth.open for depth in below.values() if depth.open), None)
        if node.kind == EXTERNAL:
            reason = stack.EXTERNAL, (node.name,)
        elif node.signatures and not node.edges.get(MAY_CALL):
            reason = reason or (stack.INDIRECT, (node.name,))
        own = (node.frame if node.frame is not None else node.stated) or 0
        under = 0 if deepest is None else below[deepest].stack
        return Depth(own + under, deepest, barriers, reason)


def call_graph(cubins: Iterable[Cubin]) -> JoinedCalls:
    """The call graph of some cubins, joined as a device link would join them.

    Global functions of one name are one function; the first definition counts, and a strong one
    before a weak one. Local functions stay apart. The address of a function that is taken in one
    file can be called in all.
    """
    joined = _Joined()
    for cubin in cubins:
        joined.add(cubin)
    return joined.finish()


class _Joined:
    """Collects nodes and edges of several cubins.

    Attributes:
        nodes: all functions.
        globals: those that other files can name.
        owners: function -> the cubin whose copy of it counts.
    """

    def __init__(self) -> None:
        self.nodes: dict[Node, None] = {}
        self.globals: dict[str, Node] = {}
        self.owners: dict[Node, _Part] = {}
        self._parts: list[tuple[Cubin, _Part]] = []
        self._taken: dict[str, dict[Node, None]] = {}
        self._indirect: list[tuple[Node, str]] = []

    def add(self, cubin: Cubin) -> None:
        """Add the functions of a cubin."""
        functions = cubin.functions
        symbols = functions[0].table.symbols if functions else None
        part = _Part(self, symbols, EXTERNAL if cubin.header.is_relocatable else SYSTEM)
        for function in functions:
            part.define(function)
        self._parts.append((cubin, part))

    def finish(self) -> JoinedCalls:
        """Add the calls, now that it is known which copy of each function counts."""
        for cubin, part in self._parts:
            _hold(cubin.functions, part)
            if cubin.callgraph is not None:
                self._add_calls(cubin.callgraph, part)
        for node, signature in self._indirect:
            for callee in self._taken.get(signature, ()):
                node.link(MAY_CALL, callee)
        return JoinedCalls(list(self.nodes))

    def _add_calls(self, graph: CallGraph, part: _Part) -> None:
        def link(kind: str, edges: list[Edge]) -> None:
            for edge in edges:
                caller = part.node(edge.symbols, edge.caller_index)
                part.link(caller, kind, part.node(edge.symbols, edge.callee_index))

        link(CALLS, graph.calls)
        link(REFERS, graph.references)
        for taken in graph.address_taken:
            node = part.node(taken.symbols, taken.symbol_index)
            self._taken.setdefault(taken.signature, {})[node] = None
        for call in graph.indirect_calls:
            node = part.node(call.symbols, call.symbol_index)
            if part.counts(node):
                if call.signature not in node.signatures:
                    node.signatures.append(call.signature)
                self._indirect.append((node, call.signature))


class _Part:
    """One of the cubins: finds the nodes of its symbols."""

    def __init__(self, joined: _Joined, symbols: SymbolList | None, missing: str) -> None:
        self._missing = missing
        self._joined = joined
        self._symbols = symbols
        self._by_index: dict[int, Node] = {}
        #: Functions that another file may define again, and then that definition counts.
        self._weak: set[Node] = set()

    def define(self, function: Function) -> None:
        """Make the node of a function, or complete one that others have named before."""
        _, info, _, _, _, _ = function.row
        joined, binding = self._joined, info >> ST_BIND_SHIFT
        node = None if binding == STB_LOCAL else joined.globals.get(function.name)
        if node is None:
            node = Node(function.name, function.kind)
            joined.nodes[node] = None
            if binding != STB_LOCAL:
                joined.globals[function.name] = node
        self._by_index[function.symbol_index] = node
        owner = joined.owners.get(node)
        if owner is not None and (binding == STB_WEAK or node not in owner._weak):
            return
        if binding == STB_WEAK:
            self._weak.add(node)
        joined.owners[node] = self
        node.kind, node.file = function.kind, function.file
        node.registers, node.barriers = function.registers, function.barriers
        node.frame = function.frame_size
        node.stated = None if function.min_stack_size is None else function.stack

    def counts(self, node: Node) -> bool:
        """Whether no other cubin has the copy of a function that counts."""
        return self._joined.owners.get(node, self) is self

    def link(self, node: Node, kind: str, other: Node) -> None:
        """Add an edge; what a copy calls that does not count, nobody calls."""
        if self.counts(node):
            node.link(kind, other)

    def node(self, symbols: SymbolList, index: int) -> Node:
        """The node of a symbol; one that is no function of the file is external."""
        same = self._symbols is None or symbols.section_index == self._symbols.section_index
        found = self._by_index.get(index) if same else None
        if found is not None:
            return found
        name = symbols.name_of(index)
        if name is None:
            name = f"symbol {index}"
        joined = self._joined
        node = joined.globals.get(name)
        if node is None:
            node = joined.globals[name] = Node(name, self._missing)
            joined.nodes[node] = None
        if same:
            self._by_index[index] = node
        return node


def _hold(functions: Iterable[Function], part: _Part) -> None:
    """Functions that lie in the code of another one: ptxas puts the copies of callees there."""
    owners: dict[int, Function] = {}
    inner: list[Function] = []
    for function in functions:
        if function.info_rows or function.is_kernel:
            owners[function.symbol.st_shndx] = function
        else:
            inner.append(function)
    for function in inner:
        owner = owners.get(function.symbol.st_shndx)
        # one at the same place is an alias, whose calls the file lists
        if owner is not None and owner.code_offset != function.code_offset:
            symbols = function.table.symbols
            holder = part.node(symbols, owner.symbol_index)
            part.link(holder, HOLDS, part.node(symbols, function.symbol_index))


def graph_record(calls: JoinedCalls) -> dict[str, Any]:
    """The graph as JSON knows it (``callgraph.schema.json``)."""
    numbers = {node: number for number, node in enumerate(calls.nodes)}
    return {
        "functions": [_node_record(calls, node, numbers) for node in calls.nodes],
        "edges": [
            {"kind": kind, "from": numbers[node], "to": numbers[other]}
            for node in calls.nodes
            for kind, others in node.edges.items()
            for other in others
        ],
    }


def _node_record(calls: JoinedCalls, node: Node, numbers: dict[Node, int]) -> dict[str, Any]:
    from cubinspec.report.names import readable

    depth = calls.depth(node)
    return {
        "name": node.name,
        "demangled": readable(node.name),
        "kind": node.kind,
        "registers": node.registers,
        "barriers": node.barriers,
        "frame": node.frame,
        "stated_stack": node.stated,
        "path_stack": None if depth.open else depth.stack,
        "path_barriers": depth.barriers,
        "path_next": None if depth.below is None else numbers[depth.below],
        "stack_unknown": None if depth.open is None else stack.reason_record(depth.open),
        "indirect_signatures": node.signatures,
    }
