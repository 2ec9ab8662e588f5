"""Bytes to rows: fixed-size records go through the generated scanners, unread and unjudged."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.reader.kaitai import walk as walk

__all__ = ["walk"]


def __getattr__(name: str) -> Any:
    if name != "walk":  # its module imports the Kaitai classes
        raise AttributeError(f"module 'cubinspec.reader' has no attribute {name!r}")
    from cubinspec.reader.kaitai import walk

    return walk
