"""Building cubins from scratch; ``docs/building.md`` shows how."""

from __future__ import annotations

from cubinspec_writer.builder.builder import CubinBuilder
from cubinspec_writer.builder.parts import (
    Capsule,
    DebugSection,
    Frame,
    Function,
    ImageSlot,
    Inner,
    Parameter,
    Relocation,
    ReservedVariable,
    Sampler,
    SharedVariable,
    Tool,
    Variable,
)

__all__ = [
    "Capsule",
    "CubinBuilder",
    "DebugSection",
    "Frame",
    "Function",
    "ImageSlot",
    "Inner",
    "Parameter",
    "Relocation",
    "ReservedVariable",
    "Sampler",
    "SharedVariable",
    "Tool",
    "Variable",
]
