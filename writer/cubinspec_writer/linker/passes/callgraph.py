"""Pass 5: one call graph of all inputs; sections `.nv.callgraph` and `.nv.prototype`.

The four lists of the inputs (direct calls, address-taken functions with their signature, indirect
calls with the signature called, references to functions) are joined. In the output callers come in
registration order and the callees of one caller in reverse input order.

Fixed from here on: who calls whom, which later passes need for registers, stack and shared memory.
"""

from __future__ import annotations

from cubinspec_writer.linker.model import (
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_PROTOTYPE,
    InputObject,
    OutSection,
    Symbol,
)
from cubinspec_writer.linker.passes.liveness import accepted_here, function_at, takes_address
from cubinspec_writer.linker.state import LinkState
from cubinspec_writer.plain import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(slots=True)
class Graph:
    """The joined call graph; lists keep input order."""

    calls: dict[Symbol, list[Symbol]] = field(default_factory=dict)
    address_taken: dict[Symbol, list[str]] = field(default_factory=dict)
    indirect: dict[Symbol, list[str]] = field(default_factory=dict)
    references: dict[Symbol, list[Symbol]] = field(default_factory=dict)
    #: External functions of any input's `.nv.prototype`, with their signature.
    prototypes: dict[Symbol, str] = field(default_factory=dict)

    #: Callees of every function that was asked for.
    known: dict[Symbol, list[Symbol]] = field(default_factory=dict)
    #: Address-taken functions by signature, made at the first indirect call.
    by_signature: dict[str, list[Symbol]] | None = None

    def callees(self, function: Symbol) -> list[Symbol]:
        """Everything a function may call: direct callees and all address-taken functions of a
        signature that it calls indirectly."""
        found = self.known.get(function)
        if found is None:
            found = self.calls.get(function) or []
            wanted = self.indirect.get(function)
            if wanted:
                found = found + self._taken(wanted)
            self.known[function] = found
        return found

    def edges(self, function: Symbol) -> list[Symbol]:
        """As `callees`, but what several indirect calls may reach is there for each of them."""
        found = list(self.callees(function))
        wanted = self.indirect.get(function, [])
        if len(wanted) > 1:
            found = list(self.calls.get(function, []))
            for signature in wanted:
                found += self._taken([signature])
        return found

    def _taken(self, signatures: list[str]) -> list[Symbol]:
        if self.by_signature is None:
            self.by_signature = {}
            for function, texts in self.address_taken.items():
                for text in dict.fromkeys(texts):
                    self.by_signature.setdefault(text, []).append(function)
        lists = [self.by_signature.get(text, []) for text in dict.fromkeys(signatures)]
        if len(lists) == 1:
            return lists[0]
        chosen = {function for functions in lists for function in functions}
        return [function for function in self.address_taken if function in chosen]

    def reachable(self, function: Symbol) -> list[Symbol]:
        """The function itself and everything below it, each once."""
        seen = {function: None}
        work = [function]
        while work:
            for callee in self.callees(work.pop()):
                if callee not in seen:
                    seen[callee] = None
                    work.append(callee)
        return list(seen)

    def components(self, roots: Iterable[Symbol]) -> list[list[Symbol]]:
        """All functions at and below the roots, callees first.

        Functions that call each other in a circle are in one list (Tarjan's strongly connected
        components), so whatever a function takes over from those below it needs one look at each.
        """
        found: list[list[Symbol]] = []
        number: dict[Symbol, int] = {}
        low: dict[Symbol, int] = {}
        open_: dict[Symbol, None] = {}
        for root in roots:
            if root in number:
                continue
            callees = self.callees(root)
            if not (callees and any(map(self.callees, callees))):
                # The most frequent case: what it calls, if anything, calls nothing.
                for callee in callees:
                    if callee not in number:
                        number[callee] = len(number)
                        found.append([callee])
                number[root] = len(number)
                found.append([root])
                continue
            number[root] = low[root] = len(number)
            open_[root] = None
            work = [(root, iter(self.callees(root)))]
            while work:
                node, rest = work[-1]
                for child in rest:
                    if child not in number:
                        number[child] = len(number)
                        callees = self.callees(child)
                        if not callees:
                            found.append([child])
                            continue
                        low[child] = number[child]
                        open_[child] = None
                        work.append((child, iter(callees)))
                        break
                    if child in open_:
                        low[node] = min(low[node], number[child])
                else:
                    work.pop()
                    if work:
                        above = work[-1][0]
                        low[above] = min(low[above], low[node])
                    if low[node] == number[node]:
                        members: list[Symbol] = []
                        while not members or members[-1] is not node:
                            members.append(open_.popitem()[0])
                        found.append(members)
        return found


class Below:
    """What every kernel reaches; found for those kernels that are asked about.

    Kernels that are not wanted but stay are only asked about themselves (kernels_preserved).
    """

    def __init__(self, graph: Graph, state: LinkState) -> None:
        self.graph = graph
        self.kernels = [f for f in state.functions if f.is_entry and f.section is not None]
        self.is_wanted = state.is_kernel
        self._found: dict[Symbol, list[Symbol]] = {}
        self._reaching: dict[Symbol, list[Symbol]] | None = None

    def __getitem__(self, kernel: Symbol) -> list[Symbol]:
        """The kernel itself and all functions below it."""
        found = self._found.get(kernel)
        if found is None:
            reached = self.graph.reachable(kernel) if self.is_wanted(kernel) else [kernel]
            found = self._found[kernel] = reached
        return found

    def reaching(self, function: Symbol) -> list[Symbol]:
        """The kernels that reach a function, in their order."""
        if self._reaching is None:
            self._reaching = {}
            for kernel in self.kernels:
                for reached in self[kernel]:
                    self._reaching.setdefault(reached, []).append(kernel)
        return self._reaching.get(function, [])


def join_callgraphs(state: LinkState) -> Graph:
    """Join the call graphs of all inputs over live functions and collect the signatures."""
    graph = Graph()
    for obj in state.objects:
        live = {index: symbol for index, symbol in obj.called.items() if symbol.live}
        _add_edges(state, graph.calls, obj, obj.callgraph.calls, live)
        for a, b in obj.callgraph.address_taken:
            _add_signature(state, graph.address_taken, obj, a, b)
        for a, b in obj.callgraph.indirect:
            _add_signature(state, graph.indirect, obj, a, b, of_call=True)
        _add_edges(state, graph.references, obj, obj.callgraph.references, live)
        for a, b in obj.prototypes:
            symbol, text = function_at(obj, a), obj.string(b)
            state.signatures.setdefault(text)
            if symbol is not None and symbol.live:
                graph.prototypes.setdefault(symbol, text)
    return graph


def _add_edges(
    state: LinkState,
    edges: dict[Symbol, list[Symbol]],
    obj: InputObject,
    pairs: list[tuple[int, int]],
    live: dict[int, Symbol],
) -> None:
    """Add the edges between live functions whose caller's copy here was linked for a time."""
    known: dict[Symbol, set[Symbol]] = {}
    for a, b in pairs:
        source, target = live.get(a), live.get(b)
        if source is None or target is None or not accepted_here(obj, a):
            continue
        # Two copies of a caller list a common callee twice (case weak_replaced), but not with `-r`.
        seen = known.get(source)
        if seen is None:
            before = edges.get(source, ()) if state.options.relocatable else ()
            seen = known[source] = set(before)
        if target not in seen:
            seen.add(target)
            edges.setdefault(source, []).append(target)


def _add_signature(
    state: LinkState,
    table: dict[Symbol, list[str]],
    obj: InputObject,
    a: int,
    b: int,
    *,
    of_call: bool = False,
) -> None:
    symbol, text = function_at(obj, a), obj.string(b)
    state.signatures.setdefault(text)
    if symbol is None or not symbol.live:
        return
    if not (accepted_here(obj, a) if of_call else takes_address(obj, a)):
        return
    texts = table.setdefault(symbol, [])
    # Calls of one signature are listed one by one, functions once per signature (virtual_call).
    if of_call or text not in texts:
        texts.append(text)


def create_sections(state: LinkState, graph: Graph) -> tuple[OutSection, OutSection]:
    """Create `.nv.callgraph` and `.nv.prototype` (which is left out when it would be empty)."""
    callgraph = state.create_section(".nv.callgraph", SHT_CUDA_CALLGRAPH, 0, 4, entsize=8)
    prototype = state.create_section(".nv.prototype", SHT_CUDA_PROTOTYPE, 0, 4, entsize=8)
    prototype.emitted = any(f not in graph.address_taken for f in graph.prototypes)
    return callgraph, prototype
