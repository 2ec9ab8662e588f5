"""Pass 5: one call graph of all inputs; sections `.nv.callgraph` and `.nv.prototype`.

The four lists of the inputs (direct calls, address-taken functions with their signature, indirect
calls with the signature called, references to functions) are joined. In the output callers come in
registration order and the callees of one caller in reverse input order.

Fixed from here on: who calls whom, which later passes need for registers, stack and shared memory.
"""

from __future__ import annotations

from .liveness import defined_here, function_at
from .model import SHT_CUDA_CALLGRAPH, SHT_CUDA_PROTOTYPE, InputObject, OutSection, Symbol
from .plain import dataclass, field
from .state import LinkState


@dataclass(slots=True)
class Graph:
    """The joined call graph; lists keep input order."""

    calls: dict[Symbol, list[Symbol]] = field(default_factory=dict)
    address_taken: dict[Symbol, list[str]] = field(default_factory=dict)
    indirect: dict[Symbol, list[str]] = field(default_factory=dict)
    references: dict[Symbol, list[Symbol]] = field(default_factory=dict)
    #: External functions of any input's `.nv.prototype`, with their signature.
    prototypes: dict[Symbol, str] = field(default_factory=dict)

    def callees(self, function: Symbol) -> list[Symbol]:
        """Everything a function may call: direct callees and all address-taken functions of a
        signature that it calls indirectly."""
        found = list(self.calls.get(function, ()))
        wanted = self.indirect.get(function)
        if wanted:
            found += [f for f, protos in self.address_taken.items() if set(protos) & set(wanted)]
        return found

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


def join_callgraphs(state: LinkState) -> Graph:
    """Join the call graphs of all inputs over live functions and collect the signatures."""
    graph = Graph()
    for obj in state.objects:
        for a, b in obj.callgraph.calls:
            _add_edge(graph.calls, obj, a, b)
        for a, b in obj.callgraph.address_taken:
            _add_signature(state, graph.address_taken, obj, a, b)
        for a, b in obj.callgraph.indirect:
            _add_signature(state, graph.indirect, obj, a, b)
        for a, b in obj.callgraph.references:
            _add_edge(graph.references, obj, a, b)
        for a, b in obj.prototypes:
            symbol, text = function_at(obj, a), obj.string(b)
            state.signatures.setdefault(text)
            if symbol is not None and symbol.live:
                graph.prototypes.setdefault(symbol, text)
    return graph


def _add_edge(edges: dict[Symbol, list[Symbol]], obj: InputObject, a: int, b: int) -> None:
    source, target = function_at(obj, a), function_at(obj, b)
    if source is None or target is None or not source.live or not target.live:
        return
    if defined_here(obj, a):
        targets = edges.setdefault(source, [])
        if target not in targets:
            targets.append(target)


def _add_signature(
    state: LinkState, table: dict[Symbol, list[str]], obj: InputObject, a: int, b: int
) -> None:
    symbol, text = function_at(obj, a), obj.string(b)
    state.signatures.setdefault(text)
    if symbol is None or not symbol.live:
        return
    table.setdefault(symbol, []).append(text)


def create_sections(state: LinkState, graph: Graph) -> tuple[OutSection, OutSection]:
    """Create `.nv.callgraph` and `.nv.prototype` (which is left out when it would be empty)."""
    callgraph = state.create_section(".nv.callgraph", SHT_CUDA_CALLGRAPH, 0, 4, entsize=8)
    prototype = state.create_section(".nv.prototype", SHT_CUDA_PROTOTYPE, 0, 4, entsize=8)
    prototype.emitted = any(f not in graph.address_taken for f in graph.prototypes)
    return callgraph, prototype
