"""The tables as plain JSON, for programs in any language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .expand import expand_architectures
from .load import Tables
from .patterns import expand_kinds

FOLDER = Path("generated/python/cubinspec_generated/json")


def plain(value: Any) -> Any:
    """The same data with text keys only, as JSON wants it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def emit_json(tables: Tables) -> dict[Path, str]:
    """One ``<table>.json`` per table: its data, with where it came from in front.

    Section kinds are expanded: ``<n>`` stands for no number any more. Architectures have the
    layout facts of their family.
    """
    files = {}
    for name, table in tables.items():
        source = {"generated_from": table.file.as_posix(), "sha256": table.digest}
        data = dict(table.data)
        if name == "sections":
            data["kinds"] = expand_kinds(data["kinds"])
        if name == "arch":
            data["architectures"] = expand_architectures(data)
        text = json.dumps({**source, **plain(data)}, indent=1, ensure_ascii=False)
        files[FOLDER / f"{name}.json"] = text + "\n"
    return files
