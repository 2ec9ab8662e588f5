"""What must hold in and between the tables, each fault with file and line."""

from __future__ import annotations

from pathlib import Path

from .load import Tables


def check(root: Path, tables: Tables) -> list[str]:
    """All faults, as ``file:line: sentence``."""
    return []
