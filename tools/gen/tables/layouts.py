"""Payload layouts of attribute records: sizes, ``struct`` formats and the generated form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .rows import (
    BIT_FIELD,
    LAYOUT,
    TAGGED,
    TAGGED_CASE,
    TAIL,
    Literal,
    mapping_literal,
    row,
    rows_literal,
)

FIELD_SIZES = {"u1": 1, "u2": 2, "u4": 4, "u8": 8, "f8": 8}
"""Sizes in bytes of the field types that layouts may use."""

STRUCT_CODES = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "f8": "d"}
"""``struct`` codes of the field types."""

FORMAT_CODES = {"NVAL": 1, "BVAL": 2, "HVAL": 3, "SVAL": 4}
"""Format bytes by the short names that tables use."""


def reference(item: Mapping[str, Any]) -> str:
    """What the value of a field means: ``symbol``, ``code``, ``enum:<name>`` or nothing."""
    return f"enum:{item['enum']}" if "enum" in item else str(item.get("ref", ""))


def _split(fields: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[Any]]:
    heads = [f for f in fields if "repeat" not in f]
    return heads, [f for f in fields if "repeat" in f]


def struct_format(fields: Iterable[Mapping[str, Any]]) -> str:
    """The little-endian ``struct`` format of fixed-size fields."""
    code = "".join(STRUCT_CODES[f["type"]] for f in fields)
    return f"<{code}" if code else ""


def layout_row(layout: Mapping[str, Any]) -> Literal:
    """A layout as a row; a tagged one, which needs more, as opaque (see :func:`tagged_row`)."""
    if layout["kind"] == "tagged":
        return row(LAYOUT, "opaque", "", (), (), None, ())
    heads, tails = _split(layout.get("fields", ()))
    tail = None
    if tails:
        count = "" if tails[0]["repeat"] == "eos" else tails[0]["repeat"]
        tail = row(TAIL, count, tails[0]["name"], struct_format(tails), reference(tails[0]))
    bits = tuple(
        (
            f["name"],
            rows_literal(
                row(BIT_FIELD, b["name"], b["bit"], b["width"], b.get("enum", ""))
                for b in f["bits"]
            ),
        )
        for f in heads
        if "bits" in f
    )
    return row(
        LAYOUT,
        layout["kind"],
        struct_format(heads),
        tuple(f["name"] for f in heads),
        tuple(reference(f) for f in heads),
        tail,
        bits,
    )


def tagged_row(layout: Mapping[str, Any]) -> Literal:
    """A tagged layout as a row."""
    cases = []
    for value, fields in layout["cases"].items():
        fixed = [f for f in fields if f["type"] != "str"]
        text = next((f for f in fields if f["type"] == "str"), None)
        case = row(
            TAGGED_CASE,
            struct_format(fixed),
            tuple(f["name"] for f in fixed),
            tuple(reference(f) for f in fixed),
            text["name"] if text else "",
            text["size"] if text else "",
        )
        cases.append((value, case))
    tag = layout["tag"]
    return row(TAGGED, tag["name"], tag["enum"], layout["align"], mapping_literal(cases))


def symbol_offsets(layout: Mapping[str, Any]) -> tuple[int, ...]:
    """Byte offsets of symbol indices in a payload, or in each element of an array."""
    offset = 0
    result = []
    for item in layout.get("fields", ()):
        if "repeat" in item:
            break
        if item.get("ref") == "symbol":
            result.append(offset)
        offset += FIELD_SIZES[item["type"]]
    return tuple(result)
