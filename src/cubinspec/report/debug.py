"""NVIDIA's debug sections and line tables as plain data."""

from __future__ import annotations

from cubinspec.errors import CubinError
from cubinspec.format.debug_registers import (
    REGISTER_TYPES,
    register_name,
    register_places,
    register_types,
)
from cubinspec.format.line_tables import line_units
from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec.model.debug import (
    LINES,
    PTX_LINES,
    PTX_REGISTERS,
    PTX_TEXT,
    PTX_TYPES,
    ptx_lines,
    symbols_placed_in,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.section import Section

    Record = dict[str, Any]


def debug_content(cubin: Cubin, section: Section) -> Record:
    """The decoded body of a section of body ``nv_debug``: one key that says what it is.

    ``bytes`` (hex) for a section of another name; beside it ``reason`` when it cannot be read.
    """
    name = section.name.removeprefix(MERCURY_PREFIX)
    place = (section.sh_offset, cubin.name, f"sections[{section.index}]")
    data = section.data
    try:
        if name == PTX_TEXT or name.startswith(PTX_TEXT + "."):
            return {"ptx": ptx_lines(section)}
        if name in (LINES, PTX_LINES):
            return {"line_tables": _line_tables(cubin, section)}
        if name == PTX_REGISTERS:
            return {
                "register_places": [
                    {"function": function, "places": [_place(*item) for item in places]}
                    for function, places in register_places(data, *place)
                ]
            }
        if name == PTX_TYPES:
            return {
                "register_types": [
                    {
                        "function": function,
                        "types": [REGISTER_TYPES.get(code, code) for code in codes],
                    }
                    for function, codes in register_types(data, *place)
                ]
            }
    except CubinError as error:
        return {"bytes": data.hex(), "reason": error.reason}
    return {"bytes": data.hex()}


def _line_tables(cubin: Cubin, section: Section) -> list[Record]:
    symbols = symbols_placed_in(cubin, section)
    units = line_units(section.data, section.sh_offset, cubin.name, f"sections[{section.index}]")
    return [
        {
            "offset": unit.offset,
            "version": unit.version,
            "folders": unit.folders,
            "files": [{"folder": folder, "name": name} for folder, name in unit.files],
            "ofs_names": unit.ofs_names,
            "sequences": [
                {
                    "symbol": symbols.get(-1 if at is None else at),
                    "rows": [_row(*row) for row in sequence.rows],
                }
                for sequence in unit.sequences
                for at in (sequence.ofs_address,)
            ],
        }
        for unit in units
    ]


def _row(address: int, file: int, line: int, column: int, context: int, ofs_name: int) -> Record:
    row = {"address": address, "file": file, "line": line}
    if column:
        row["column"] = column
    if context:
        row |= {"context": context, "ofs_name": ofs_name}
    return row


def _place(part: int, ptx: str, number: int, start: int, end: int) -> Record:
    return {
        "ptx": ptx,
        "part": part,
        "register": register_name(number),
        "number": number,
        "start": start,
        "end": end,
    }
