"""Tables of PTX registers: where they are, and of what types."""

from __future__ import annotations

from typing import Any

from cubinspec.format.debug_registers import (
    REGISTER_TYPES,
    register_name,
    register_number,
    register_places,
    register_types,
)
from cubinspec_writer.yaml_form.debug.cursor import (
    name_in,
    number_bytes,
    refuse,
    text_bytes,
)
from cubinspec_writer.yaml_form.text import Flow, Hex, quote_name

_WORD = 4
#: Values of a row: part, name, register, start and end.
_PLACE_VALUES = 5


def shown_register(number: int) -> str | int:
    """A register by its name, or by its number."""
    return register_name(number) or Hex(number)


def register_of(value: str | int, *path: str | int) -> int:
    """The inverse of :func:`shown_register`."""
    if isinstance(value, int):
        return value
    number = register_number(value)
    if number is None:
        refuse(f"no register is called {value[:80]}", *path)
    return number


def places(data: bytes) -> list[dict[str, Any]]:
    """``.nv_debug_info_reg_sass``."""
    return [
        {
            "function": quote_name(name),
            "places": [
                Flow([part, quote_name(ptx), shown_register(number), Hex(start), Hex(end)])
                for part, ptx, number, start, end in rows
            ],
        }
        for name, rows in register_places(data, 0, "", "")
    ]


def places_bytes(value: Any) -> bytes:
    found = bytearray()
    for at, table in enumerate(value):
        rows = table["places"]
        found += text_bytes(table["function"], at, "function")
        found += number_bytes(len(rows), _WORD, at, "places")
        for index, row in enumerate(rows):
            path = (at, "places", index)
            if len(row) != _PLACE_VALUES:
                refuse("a place is part, PTX register, register, start and end", *path)
            part, ptx, register, start, end = row
            found += number_bytes(part, _WORD, *path, 0)
            found += text_bytes(ptx, *path, 1)
            numbers = (register_of(register, *path, 2), start, end)
            for offset, number in enumerate(numbers, 2):
                found += number_bytes(number, _WORD, *path, offset)
    return bytes(found)


def types(data: bytes) -> list[dict[str, Any]]:
    """``.nv_debug_info_reg_type``."""
    return [
        {
            "function": quote_name(name),
            "types": Flow([REGISTER_TYPES.get(code, code) for code in codes]),
        }
        for name, codes in register_types(data, 0, "", "")
    ]


def types_bytes(value: Any) -> bytes:
    found = bytearray()
    for at, table in enumerate(value):
        codes = table["types"]
        found += text_bytes(table["function"], at, "function")
        found += number_bytes(len(codes), _WORD, at, "types")
        for index, code in enumerate(codes):
            path = (at, "types", index)
            found += number_bytes(name_in(REGISTER_TYPES, code, *path), 1, *path)
    return bytes(found)
