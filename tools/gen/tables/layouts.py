"""Payload layouts of attribute records: sizes, ``struct`` formats and the generated form."""

from __future__ import annotations

from collections.abc import Mapping
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


def python_layout(layout: Mapping[str, Any]) -> str:
    """A layout as the literal ``(kind, format, names, references, tail)``."""
    heads = [f for f in layout.get("fields", ()) if "repeat" not in f]
    tails = [f for f in layout.get("fields", ()) if "repeat" in f]
    code = "<" + "".join(STRUCT_CODES[f["type"]] for f in heads) if heads else ""
    tail: tuple[str, ...] = ()
    if tails:
        count = "" if tails[0]["repeat"] == "eos" else tails[0]["repeat"]
        tail = (count, tails[0]["name"], "<" + STRUCT_CODES[tails[0]["type"]], reference(tails[0]))
    names = tuple(f["name"] for f in heads)
    return repr((layout["kind"], code, names, tuple(reference(f) for f in heads), tail))
