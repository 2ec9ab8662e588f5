"""The floors of the house: the table of CONTRIBUTING.md, read and held against the imports.

Each row names modules in backquotes. A module belongs to the row with its longest prefix; it may
import modules of its own row and of the rows above it in the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.structure.graph import ROOT, Graph

_ROW = re.compile(r"^\| (?P<modules>`cubinspec[^|]*) \| (?P<holds>[^|]*) \|$")


@dataclass(frozen=True)
class Floor:
    """One row: the lowest floor has level 0."""

    level: int
    modules: tuple[str, ...]
    holds: str


def floors(page: Path = ROOT / "CONTRIBUTING.md") -> list[Floor]:
    """The rows of the table, the lowest first."""
    rows = [match for line in page.read_text("utf-8").splitlines() if (match := _ROW.match(line))]
    return [
        Floor(level, tuple(re.findall(r"`([\w.]+)`", row["modules"])), row["holds"].strip())
        for level, row in enumerate(rows)
    ]


def floor_of(module: str, rows: list[Floor]) -> Floor | None:
    """The floor that a module belongs to; None: no row names it."""
    best, found = -1, None
    for floor in rows:
        for prefix in floor.modules:
            fits = module == prefix or module.startswith(f"{prefix}.")
            if fits and len(prefix) > best:
                best, found = len(prefix), floor
    return found


def upward(graph: Graph, rows: list[Floor]) -> Iterator[str]:
    """A sentence for every import that points up, and for every module without a floor."""
    for module, targets in sorted(graph.items()):
        floor = floor_of(module, rows)
        if floor is None:
            yield f"{module} is on no floor"
            continue
        for target in sorted(targets):
            below = floor_of(target, rows)
            if below is not None and below.level > floor.level:
                yield f"{module} imports {target}, which is above it"


def arrows(graph: Graph, rows: list[Floor]) -> dict[tuple[int, int], int]:
    """How many imports go from one floor to another, by the two levels."""
    counted: dict[tuple[int, int], int] = {}
    for module, targets in graph.items():
        for target in targets:
            here, there = floor_of(module, rows), floor_of(target, rows)
            if here is not None and there is not None and here != there:
                key = here.level, there.level
                counted[key] = counted.get(key, 0) + 1
    return counted
