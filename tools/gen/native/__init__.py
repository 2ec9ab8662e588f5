"""The spec for programs without Kaitai: C header, Rust crate, JSON document, patterns of ImHex.

The first three say the same: they are written from :class:`tools.gen.native.facts.Facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tools.gen.native import c_header, hexpat, json_document, rust_crate
from tools.gen.native.facts import facts_of
from tools.gen.spec import Spec
from tools.gen.tables import Tables

__all__ = ["FOLDERS", "emit"]

#: Folders in which every file is written here.
FOLDERS = (c_header.FOLDER, rust_crate.FOLDER, json_document.FOLDER, hexpat.FOLDER)


def emit(tables: Tables, specs: Mapping[str, Spec]) -> dict[Path, str]:
    """Every file of this package, by its path in the project."""
    facts = facts_of(tables, specs)
    files = {**c_header.emit(facts), **rust_crate.emit(facts), **json_document.emit(facts)}
    return files | hexpat.emit(specs)
