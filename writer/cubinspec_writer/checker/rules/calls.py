"""Rules about the call graph, the signatures of functions and metadata."""

from __future__ import annotations

from cubinspec.format.metadata import metadata_rows, metadata_size
from cubinspec.format.sections import CALLGRAPH_TYPES
from cubinspec_generated.codes import (
    EMFMT_STRING,
    METADATA_END,
    SHT_CUDA_METADATA,
    SHT_CUDA_PROTOTYPE,
    STT_FUNC,
)
from cubinspec_generated.codes_sizes import (
    SIZEOF_CALLGRAPH_ENTRY,
    SIZEOF_METADATA_NODE,
    SIZEOF_METADATA_VALUE,
    SIZEOF_PROTOTYPE_ENTRY,
)
from cubinspec_generated.tables.sections import METADATA_FORMATS
from cubinspec_writer.checker.rules.base import CENSUS, rule
from cubinspec_writer.emitter.bodies import CALLGRAPH_MARKERS, SIGNATURE_MARKERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.checker.rules.base import Found
    from cubinspec_writer.checker.view import View

#: Bytes of the symbol number in front of a signature.
_WORD = 4


@rule(
    "CUB014",
    "A call graph has its four lists in order, of functions of the file and, in the second and "
    "third, their signatures.",
    CENSUS + " (up to CUDA 11.0 the first three lists, in CUDA 8 once per input)",
    "Write the markers <0,-1> <0,-2> <0,-3> <0,-4>, also for empty lists.",
)
def _callgraph(view: View) -> Iterator[Found]:
    for index in view.of_type(*CALLGRAPH_TYPES):
        pairs = view.pairs(index)
        markers = [second for first, second in pairs if _is_marker(first, second)]
        lists = 4 if CALLGRAPH_MARKERS[3] in markers else 3
        expected = [*CALLGRAPH_MARKERS[:lists]] * max(len(markers) // lists, 1)
        if pairs and markers != expected:
            found = ", ".join(f"{marker:#x}" for marker in markers)
            yield view.sections[index].sh_offset, view.path(index), f"markers {found or 'missing'}"
        yield from _edges(view, index, pairs)


def _is_marker(first: int, second: int) -> bool:
    return first == 0 and second in CALLGRAPH_MARKERS


def _edges(view: View, index: int, pairs: list[tuple[int, int]]) -> Iterator[Found]:
    symbols = view.symbols_for(index)
    has_signature = False
    for number, (first, second) in enumerate(pairs):
        if _is_marker(first, second):
            has_signature = second in SIGNATURE_MARKERS
            continue
        where = view.sections[index].sh_offset + SIZEOF_CALLGRAPH_ENTRY * number
        path = f"{view.path(index)}[{number}]"
        for symbol in (first,) if has_signature else (first, second):
            if symbol >= len(symbols):
                yield where, path, f"symbol {symbol} of {len(symbols)}"
            elif symbols[symbol].st_type != STT_FUNC:
                yield where, path, f"symbol {symbol} is no function"
        if has_signature and not _is_signature(view, second):
            yield where + _WORD, path, f"no signature at {second:#x}"


def _is_signature(view: View, offset: int) -> bool:
    text = view.string(offset)
    return text is not None and (not text or text.startswith("#"))


@rule(
    "CUB015",
    "Prototypes are pairs of a function and a signature, a string that starts with '#'.",
    CENSUS,
    "The second word is the offset of the signature in .strtab.",
)
def _prototypes(view: View) -> Iterator[Found]:
    for index in view.of_type(SHT_CUDA_PROTOTYPE):
        for number, (symbol, ofs_signature) in enumerate(view.pairs(index)):
            where = view.sections[index].sh_offset + SIZEOF_PROTOTYPE_ENTRY * number
            path = f"{view.path(index)}[{number}]"
            if symbol >= len(view.symbols) or view.symbols[symbol].st_type != STT_FUNC:
                yield where, path, f"symbol {symbol} is no function"
            if not _is_signature(view, ofs_signature):
                yield where + _WORD, path, f"no signature at {ofs_signature:#x}"


@rule(
    "CUB035",
    "Nodes of metadata are whole, have known formats, texts that are in .strtab, and a last node.",
    "ptxas 11.8 to 13.5 and nvlink 13.0, of PTX with .metadata_section",
    "End .nv.metadata with the node 0xffffffff, which has an empty name and no values.",
)
def _metadata(view: View) -> Iterator[Found]:
    for index in view.of_type(SHT_CUDA_METADATA):
        data, start, path = view.body(index), view.sections[index].sh_offset, view.path(index)
        end, last = metadata_size(data), None
        for number, ofs_name, values, at in metadata_rows(data):
            last = number
            place = f"{path}.nodes[{number:#x}]"
            texts = [(ofs_name, at)]
            for count, (form, value) in enumerate(values):
                where = at + SIZEOF_METADATA_NODE + SIZEOF_METADATA_VALUE * count
                if form not in METADATA_FORMATS:
                    yield start + where, place, f"format {form:#x}"
                elif form == EMFMT_STRING:
                    texts.append((value, where))
            for offset, where in texts:
                if view.string(offset) is None:
                    yield start + where, place, f"no text at {offset:#x}"
        if end != len(data):
            yield start + end, path, f"{len(data) - end} bytes behind the last whole node"
        elif last != METADATA_END:
            yield start + end, path, "the last node is missing"
