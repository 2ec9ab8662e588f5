"""Where the code of a function comes from, as plain data."""

from __future__ import annotations

from cubinspec.model.debug import code_ranges, ptx_lines, ptx_sections, registers_of
from cubinspec.report.inlined import with_inlined_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.debug import RegisterPlace, SourceLine
    from cubinspec.model.function import Function


def lines_record(cubin: Cubin, function: Function, pc: int | None = None) -> dict[str, Any]:
    """The lines and registers of one function (schema ``lines.schema.json``).

    Args:
        pc: an offset in its code; only what holds there is told.

    Raises:
        CubinError: debug data cannot be read.
    """
    ranges = with_inlined_calls(cubin, function, code_ranges(cubin, function))
    places = registers_of(cubin, function)
    if pc is not None:
        ranges = [item for item in ranges if item.start <= pc < item.end]
        places = [item for item in places if item.start <= pc < item.end]
    texts = _PtxTexts(cubin)
    return {
        "file": cubin.name,
        "function": function.name,
        "demangled": function.demangled,
        "size": function.code_size,
        "pc": pc,
        "ranges": [
            {
                "start": item.start,
                "end": item.end,
                "source": [_line(line) | {"function": line.function} for line in item.source],
                "ptx": None
                if item.ptx is None
                else _line(item.ptx) | {"text": texts.line(item.ptx)},
            }
            for item in ranges
        ],
        "registers": [_place(place) for place in places],
    }


def _line(line: SourceLine) -> dict[str, Any]:
    return {"file": line.file, "line": line.line, "column": line.column}


def _place(place: RegisterPlace) -> dict[str, Any]:
    return {
        "ptx": place.ptx,
        "part": place.part,
        "register": place.register,
        "number": place.number,
        "start": place.start,
        "end": place.end,
    }


class _PtxTexts:
    """The lines of the PTX in a cubin, by the section that holds it."""

    def __init__(self, cubin: Cubin) -> None:
        self._texts = {section.name: ptx_lines(section) for section in ptx_sections(cubin)}

    def line(self, place: SourceLine) -> str | None:
        """The text of a line; ``None`` when the file does not have it."""
        lines = self._texts.get(place.file, [])
        return lines[place.line - 1] if 0 < place.line <= len(lines) else None
