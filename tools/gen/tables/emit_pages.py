"""One reference page per table, for people."""

from __future__ import annotations

from pathlib import Path

from .load import Tables

FOLDER = Path("docs/reference")


def emit_pages(tables: Tables) -> dict[Path, str]:
    """``docs/reference/<table>.md``."""
    return {}
