"""Payload layouts of attribute records: sizes, ``struct`` formats and the generated form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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


def python_layout(layout: Mapping[str, Any]) -> str:
    """A layout as the literal ``(kind, format, names, references, tail)``.

    A tagged layout has no such form; it is given as opaque and in full in ``TAGGED``.
    """
    if layout["kind"] == "tagged":
        return repr(("opaque", "", (), (), ()))
    heads, tails = _split(layout.get("fields", ()))
    tail: tuple[str, ...] = ()
    if tails:
        count = "" if tails[0]["repeat"] == "eos" else tails[0]["repeat"]
        tail = (count, tails[0]["name"], struct_format(tails), reference(tails[0]))
    names = tuple(f["name"] for f in heads)
    references = tuple(reference(f) for f in heads)
    return repr((layout["kind"], struct_format(heads), names, references, tail))


def python_tagged(layout: Mapping[str, Any]) -> str:
    """A tagged layout as ``(tag, enum, align, {tag: (format, names, references, text, size)})``."""
    cases = {}
    for value, fields in layout["cases"].items():
        fixed = [f for f in fields if f["type"] != "str"]
        text = next((f for f in fields if f["type"] == "str"), None)
        cases[value] = (
            struct_format(fixed),
            tuple(f["name"] for f in fixed),
            tuple(reference(f) for f in fixed),
            text["name"] if text else "",
            text["size"] if text else "",
        )
    tag = layout["tag"]
    return repr((tag["name"], tag["enum"], layout["align"], cases))


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
