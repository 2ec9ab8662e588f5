"""Inlined calls by ``.debug_info``, for code of ``-G``, whose line tables do not tell them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from cubinspec.format.line_tables import line_units
from cubinspec.model.debug import LINES, CodeRange, SourceLine, addends_in, places_in
from cubinspec.report.dwarf import dwarf_info, entries_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function

_INFO = ".debug_info"
_INLINED = "DW_TAG_inlined_subroutine"


@dataclass(frozen=True, slots=True)
class InlinedCall:
    """A call that was replaced by the code of the function.

    Attributes:
        start, end: byte offsets in the function around it.
        depth: how deep it stands in the tree of entries.
        name: symbol name of the inlined function; its name in the source when it has no other.
        caller: the line that calls it.
    """

    start: int
    end: int
    depth: int
    name: str
    caller: SourceLine


def with_inlined_calls(
    cubin: Cubin, function: Function, ranges: list[CodeRange]
) -> list[CodeRange]:
    """The ranges with the lines that call inlined code, cut where such code starts and ends."""
    calls = inlined_calls(cubin, function)
    if not calls:
        return ranges
    found = []
    edges = {edge for call in calls for edge in (call.start, call.end)}
    for item in ranges:
        inside = {edge for edge in edges if item.start < edge < item.end}
        for start, end in pairwise(sorted({item.start, item.end, *inside})):
            around = [call for call in calls if call.start <= start < call.end]
            around.sort(key=lambda call: -call.depth)
            source = item.source
            if around and len(source) == 1:
                (line,) = source
                names = [*(call.name for call in around), ""]
                lines = [line, *(call.caller for call in around)]
                source = tuple(
                    SourceLine(place.file, place.line, place.column, name)
                    for place, name in zip(lines, names, strict=True)
                )
            found.append(CodeRange(start, end, source, item.ptx))
    return found


def inlined_calls(cubin: Cubin, function: Function) -> list[InlinedCall]:
    """The inlined calls in the code of a function; none when the entries cannot be read."""
    section = cubin.sections.get(_INFO)
    if section is None or not section.sh_size:
        return []
    places, addends = places_in(cubin, section), addends_in(cubin, section)
    lines = cubin.sections.get(LINES)
    units = []
    if lines is not None:
        units = line_units(lines.data, lines.sh_offset, cubin.name, f"sections[{lines.index}]")
    paths = {unit.offset: unit for unit in units}
    found = []

    def address(value: Any) -> tuple[int, int]:
        code, start = places.get(value.offset, (0, 0))
        return code, start if value.offset in addends else start + value.value

    try:
        for unit in dwarf_info(cubin, section).iter_CUs():
            names: dict[int, str] = {}
            table = None
            for depth, entry in entries_of(unit):
                values = entry.attributes
                names[entry.offset - unit.cu_offset] = _name(values)
                if "DW_AT_stmt_list" in values:
                    table = paths.get(address(values["DW_AT_stmt_list"])[1])
                if entry.tag != _INLINED or not {"DW_AT_low_pc", "DW_AT_high_pc"} <= values.keys():
                    continue
                code, start = address(values["DW_AT_low_pc"])
                _, end = address(values["DW_AT_high_pc"])
                if code != function.section.index:
                    continue
                file = _number(values, "DW_AT_call_file")
                caller = SourceLine(
                    table.path(file) if table is not None else "",
                    _number(values, "DW_AT_call_line"),
                    _number(values, "DW_AT_call_column"),
                )
                first = function.code_offset
                name = names.get(_number(values, "DW_AT_abstract_origin"), "")
                found.append(InlinedCall(start - first, end - first, depth, name, caller))
    # pyelftools raises its own errors, those of its parser and of Python for the same faults
    except Exception:
        return []
    return found


def _name(values: dict[str, Any]) -> str:
    for key in ("DW_AT_MIPS_linkage_name", "DW_AT_linkage_name", "DW_AT_name"):
        if key in values and isinstance(values[key].value, bytes):
            text: bytes = values[key].value
            return text.decode("utf-8", "surrogateescape")
    return ""


def _number(values: dict[str, Any], key: str) -> int:
    found = values.get(key)
    return found.value if found is not None and isinstance(found.value, int) else 0
