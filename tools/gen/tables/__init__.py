"""Checks ``ksy/tables/*.yaml`` and writes everything that follows from them.

Two calls are all that the generator needs: :func:`check_and_load` validates each table against
its JSON Schema and then against the others, and :func:`emit` turns them into frozen Python data,
JSON, the Kaitai enums of ``ksy/cuda_codes.ksy`` and one reference page per table.
"""

from __future__ import annotations

from pathlib import Path

from .check import check
from .emit_columns import emit_columns
from .emit_json import emit_json
from .emit_kaitai import emit_kaitai
from .emit_pages import emit_pages
from .emit_python import emit_python
from .load import TABLES, Table, TableError, Tables, load_table
from .rows import emit_rows

__all__ = ["TABLES", "Table", "TableError", "Tables", "check_and_load", "emit", "load_table"]


def check_and_load(root: Path) -> Tables:
    """Loads all tables of the project at ``root``.

    Raises:
        TableError: some table is wrong; lists every fault with file and line.
    """
    tables = {name: load_table(root, name) for name in TABLES}
    problems = check(root, tables)
    if problems:
        raise TableError(problems)
    return tables


def emit(tables: Tables) -> dict[Path, str]:
    """Every generated file that follows from the tables alone, by its path in the project."""
    files = emit_rows()
    for emitter in (emit_python, emit_columns, emit_json, emit_kaitai, emit_pages):
        files.update(emitter(tables))
    return files
