"""Joins the call graphs of all inputs; creates `.nv.callgraph` and `.nv.prototype`.

An input has four lists: direct calls, address-taken functions with their signature, indirect calls
with the signature called, references to functions. In the output callers come in registration
order, and the callees of one caller in reverse input order.
"""

from __future__ import annotations

from cubinspec.format.strings import build, empty_name, length
from cubinspec_generated.codes import (
    EMFMT_STRING,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_METADATA,
    SHT_CUDA_PROTOTYPE,
)
from cubinspec_generated.records import METADATA_NODE, METADATA_VALUE
from cubinspec_writer.linker.library.copies import (
    accepted_here,
    add_edges,
    function_at,
    states_signature,
    takes_address,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.graph import Graph
    from cubinspec_writer.linker.inputs.rows import InSection
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import Job, Maker, Names, Sections

READS = (
    "object.bound object.called object.placed object.repeats symbol.definition symbol.kind "
    "symbol.live symbol.replaced"
)
WRITES = (
    "graph.address_taken graph.calls graph.indirect graph.prototypes graph.references "
    "names.entries names.kept names.signatures section.content section.emitted sections.by_type "
    "sections.callgraph sections.made sections.prototype sections.unowned"
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
    texts = _FirstTexts(names)
    for obj in objects:
        for source in obj.of_type(SHT_CUDA_METADATA):
            _place_texts(obj, source, texts)
        live = {index: symbol for index, symbol in obj.called.items() if symbol.live}
        add_edges(job, graph.calls, obj, obj.callgraph.calls, live, live)
        for a, b in obj.callgraph.address_taken:
            _take_address(names, graph, obj, a, obj.string(b))
        for a, b in obj.callgraph.indirect:
            symbol, text = function_at(obj, a), obj.string(b)
            if symbol is None or not accepted_here(obj, a):
                continue
            names.signatures.setdefault(text)
            if symbol.live:
                graph.indirect.setdefault(symbol, []).append(text)
        add_edges(job, graph.references, obj, obj.callgraph.references, live, live)
        for a, b in obj.prototypes:
            symbol, text = function_at(obj, a), obj.string(b)
            names.signatures.setdefault(text)
            if symbol is not None and symbol.live:
                graph.prototypes[symbol] = text  # the last one counts (rule I15)
    if len(graph.address_taken) > 1:
        # An indirect call meets them in the order in which inputs name them (rule M9).
        taken = graph.address_taken
        named = dict.fromkeys(f for obj in objects for f in obj.called.values())
        graph.address_taken = {f: taken[f] for f in named if f in taken}


def _take_address(names: Names, graph: Graph, obj: InputObject, index: int, text: str) -> None:
    """Note the signature under which the address of a function is taken (rule I9)."""
    symbol = function_at(obj, index)
    stated: str | None = text
    if symbol is None or states_signature(obj, index):
        names.signatures.setdefault(text)
    else:  # a duplicate, which may be all that is taken (rule W9)
        stated = graph.address_taken.get(symbol)
        if stated is None:
            stated = graph.prototypes.get(symbol)
    if symbol is not None and symbol.live and takes_address(obj, index):
        graph.address_taken[symbol] = stated


class _FirstTexts:
    """Texts that ``.strtab`` begins with, and where they stand.

    Nothing is entered in front of them, so that a place is final at once.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._places: dict[str, int] = {}
        self._end = 1
        if names.kept is not None:  # merging has entered them (rule K16)
            table, self._places = build([*names.kept.strings])
            self._places[""] = empty_name(table)

    def enter(self, text: str) -> int:
        """Enter a text; returns its offset."""
        if self._names.kept is not None:
            return self._places[text]
        self._names.signatures.setdefault(text)
        for entered in [*self._names.signatures][len(self._places) :]:
            self._places[entered] = self._end
            self._end += length(entered) + 1
        return self._places[text]


def _place_texts(obj: InputObject, source: InSection, texts: _FirstTexts) -> None:
    """Let nodes of metadata, which are merged, name their texts at their new places (rule E6)."""
    placed = obj.placed[source.index]
    if placed is None:
        return
    section, base = placed
    data = section.data
    from cubinspec.format.metadata import metadata_rows  # few inputs have any

    for number, ofs_name, values, at in metadata_rows(source.data):
        start = base + at + METADATA_NODE.size
        for index, (form, value) in enumerate(values):
            if form == EMFMT_STRING:
                pair = form, texts.enter(obj.string(value))
                METADATA_VALUE.pack_into(data, start + METADATA_VALUE.size * index, *pair)
        name = texts.enter(obj.string(ofs_name))
        METADATA_NODE.pack_into(data, base + at, number, name, len(values))


def _create_sections(sections: Sections, graph: Graph, maker: Maker) -> None:
    """Create `.nv.callgraph` and `.nv.prototype` (which is left out when it would be empty)."""
    callgraph = maker.create_section(".nv.callgraph", SHT_CUDA_CALLGRAPH, 0, 4, entsize=8)
    prototype = maker.create_section(".nv.prototype", SHT_CUDA_PROTOTYPE, 0, 4, entsize=8)
    prototype.emitted = any(f not in graph.address_taken for f in graph.prototypes)
    sections.callgraph, sections.prototype = callgraph, prototype
