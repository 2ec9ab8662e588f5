"""Joins the call graphs of all inputs; creates `.nv.callgraph` and `.nv.prototype`.

An input has four lists: direct calls, address-taken functions with their signature, indirect calls
with the signature called, references to functions. In the output callers come in registration
order, and the callees of one caller in reverse input order.
"""

from __future__ import annotations

from cubinspec_generated.codes import SHT_CUDA_CALLGRAPH, SHT_CUDA_PROTOTYPE
from cubinspec_writer.linker.library.copies import accepted_here, function_at, takes_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.graph import Graph
    from cubinspec_writer.linker.model import InputObject, Symbol
    from cubinspec_writer.linker.state import Job, Maker, Names, Sections

READS = "object.bound object.called symbol.definition symbol.kind symbol.live symbol.replaced"
WRITES = (
    "graph.address_taken graph.calls graph.indirect graph.prototypes graph.references "
    "names.entries names.signatures section.emitted sections.by_type sections.callgraph "
    "sections.made sections.prototype sections.unowned"
)
FREEZES = (
    "graph.address_taken graph.calls graph.indirect graph.prototypes graph.references "
    "names.signatures sections.callgraph sections.prototype"
)


def run(
    job: Job,
    objects: list[InputObject],
    names: Names,
    sections: Sections,
    graph: Graph,
    maker: Maker,
) -> None:
    """Join the call graphs of all inputs, and make the sections that tell the joined one."""
    _join(job, objects, names, graph)
    _create_sections(sections, graph, maker)


def _join(job: Job, objects: list[InputObject], names: Names, graph: Graph) -> None:
    """Join the call graphs of all inputs over live functions and collect the signatures."""
    for obj in objects:
        live = {index: symbol for index, symbol in obj.called.items() if symbol.live}
        _add_edges(job, graph.calls, obj, obj.callgraph.calls, live)
        for a, b in obj.callgraph.address_taken:
            _add_signature(names, graph.address_taken, obj, a, b)
        for a, b in obj.callgraph.indirect:
            _add_signature(names, graph.indirect, obj, a, b, of_call=True)
        _add_edges(job, graph.references, obj, obj.callgraph.references, live)
        for a, b in obj.prototypes:
            symbol, text = function_at(obj, a), obj.string(b)
            names.signatures.setdefault(text)
            if symbol is not None and symbol.live:
                graph.prototypes.setdefault(symbol, text)


def _add_edges(
    job: Job,
    edges: dict[Symbol, list[Symbol]],
    obj: InputObject,
    pairs: list[tuple[int, int]],
    live: dict[int, Symbol],
) -> None:
    """Add the edges between live functions whose caller's copy here was linked for a time."""
    callees: dict[Symbol, set[Symbol]] = {}
    for a, b in pairs:
        source, target = live.get(a), live.get(b)
        if source is None or target is None or not accepted_here(obj, a):
            continue
        # Two copies of a caller list a common callee twice (rule W2), but not with `-r` (rule R11).
        seen = callees.get(source)
        if seen is None:
            before = edges.get(source, ()) if job.options.relocatable else ()
            seen = callees[source] = set(before)
        if target not in seen:
            seen.add(target)
            edges.setdefault(source, []).append(target)


def _add_signature(
    names: Names,
    table: dict[Symbol, list[str]],
    obj: InputObject,
    a: int,
    b: int,
    *,
    of_call: bool = False,
) -> None:
    symbol, text = function_at(obj, a), obj.string(b)
    names.signatures.setdefault(text)
    if symbol is None or not symbol.live:
        return
    if not (accepted_here(obj, a) if of_call else takes_address(obj, a)):
        return
    texts = table.setdefault(symbol, [])
    # Calls of one signature are listed one by one, functions once per signature (rule I9).
    if of_call or text not in texts:
        texts.append(text)


def _create_sections(sections: Sections, graph: Graph, maker: Maker) -> None:
    """Create `.nv.callgraph` and `.nv.prototype` (which is left out when it would be empty)."""
    callgraph = maker.create_section(".nv.callgraph", SHT_CUDA_CALLGRAPH, 0, 4, entsize=8)
    prototype = maker.create_section(".nv.prototype", SHT_CUDA_PROTOTYPE, 0, 4, entsize=8)
    prototype.emitted = any(f not in graph.address_taken for f in graph.prototypes)
    sections.callgraph, sections.prototype = callgraph, prototype
