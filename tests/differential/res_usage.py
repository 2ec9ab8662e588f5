"""`cuobjdump -res-usage` as a view, and the same view from `Cubin.functions`."""

from __future__ import annotations

import re

from cubinspec import Cubin
from cubinspec_generated.codes import STACK_SIZE_UNKNOWN
from tests.differential.rows import Row, View

FUNCTION = re.compile(r"^ Function (.*):$")
COLUMN = re.compile(r"([A-Z]+(?:\[\d+\])?):(\S+)")
ABSENT = ("TEXTURE", "SURFACE", "SAMPLER")
"""Columns that are 0 in every file seen, textures in use or not: nothing to compare."""


def theirs(text: str) -> View:
    """The view in cuobjdump's output. Sizes in bytes; `CONSTANT[n]` only where the bank exists."""
    rows: dict[tuple[object, ...], Row] = {}
    name = None
    counts: dict[str, int] = {}
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            name = match[1]
        elif name is not None:
            counts[name] = counts.get(name, 0) + 1
            rows[name, counts[name]] = {
                column: int(value) if value.isdigit() else value
                for column, value in COLUMN.findall(line)
                if column not in ABSENT
            }
            name = None
    return {"usage": rows}


def ours(cubin: Cubin) -> View:
    """The view of a cubin."""
    rows: dict[tuple[object, ...], Row] = {}
    counts: dict[str, int] = {}
    for function in cubin.functions:
        name = function.name
        counts[name] = counts.get(name, 0) + 1
        rows[name, counts[name]] = {
            "REG": function.registers or 0,
            "STACK": "UNKNOWN"
            if function.min_stack_size == STACK_SIZE_UNKNOWN
            else function.stack or 0,
            "_kind": function.kind,
            "_type": cubin.header.type_name,
            "SHARED": function.shared,
            "LOCAL": function.local,
            **{f"CONSTANT[{bank}]": size for bank, size in function.constant.items()},
        }
    return {"usage": rows}
