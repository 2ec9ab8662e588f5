"""Columns of tables as plain literals, for programs that have to start fast.

Making the rows of a large table takes longer than a small link, which needs a few of their fields.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .layouts import symbol_offsets
from .load import Tables

FILE = Path("generated/python/cubinspec_generated/columns.py")
_HEAD = '''\
# Generated from {sources} by tools.gen; do not edit.
"""Columns of the tables of attributes and relocation types, by number.

They say what the rows in ``tables`` say, as literals: the linker imports them at start-up.
"""

'''


def emit_columns(tables: Tables) -> dict[Path, str]:
    """The one module."""
    sources = " and ".join(
        f"{tables[name].file.as_posix()} (sha256 {tables[name].digest})"
        for name in ("eiattr", "relocations")
    )
    relocations = tables["relocations"].data
    types = relocations["relocations"]
    kept = {rule["name"]: tuple(rule.get("targets", ())) for rule in relocations["keep_rules"]}
    numbers = {entry["name"]: entry["type"] for entry in types}
    parts = [
        _mapping(
            "SYMBOL_FIELDS",
            "tuple[int, ...]",
            {
                entry["code"]: offsets
                for entry in tables["eiattr"].data["attributes"]
                if (offsets := symbol_offsets(entry["layout"]))
            },
            "Offsets of symbol indices inside a payload (inside each element of an array).",
        ),
        _mapping(
            "ACTIONS",
            "tuple[tuple[str, int, int, str, int], ...]",
            {
                entry["type"]: tuple(
                    (a["kind"], a["bit"], a["width"], a["value"], a["shift"])
                    for a in entry["actions"]
                )
                for entry in types
            },
            "What applying a type does: kind, first bit, width, value and right shift in order.",
        ),
        _mapping(
            "KEEP",
            "tuple[str, ...]",
            {entry["type"]: kept[entry["keep"]] for entry in types if kept[entry["keep"]]},
            "Kinds of targets for which a final link leaves the entry in the executable.",
        ),
        _mapping(
            "RETYPE",
            "int",
            {entry["type"]: numbers[entry["retype"]] for entry in types if "retype" in entry},
            "The type that a kept entry gets, where it is another one.",
        ),
        _mapping(
            "APPLY",
            "str",
            {entry["type"]: entry["apply"] for entry in types if "apply" in entry},
            "The rule by which the actions run, where it is not: always.",
        ),
    ]
    return {FILE: _HEAD.format(sources=sources) + "\n".join(parts)}


def _mapping(name: str, kind: str, items: dict[int, Any], doc: str) -> str:
    body = "".join(f"    {key:#x}: {value!r},\n" for key, value in items.items())
    return f'{name}: dict[int, {kind}] = {{\n{body}}}\n"""{doc}"""\n'
