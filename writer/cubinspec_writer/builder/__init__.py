"""Building cubins from scratch; ``docs/building.md`` shows how."""

from __future__ import annotations

from cubinspec_writer.builder.builder import CubinBuilder
from cubinspec_writer.builder.parts import (
    Capsule,
    Frame,
    Function,
    Inner,
    Parameter,
    Relocation,
    SharedVariable,
    Tool,
    Variable,
)

__all__ = [
    "Capsule",
    "CubinBuilder",
    "Frame",
    "Function",
    "Inner",
    "Parameter",
    "Relocation",
    "SharedVariable",
    "Tool",
    "Variable",
]
