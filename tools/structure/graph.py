"""Who imports whom, read from the source text.

Every ``import`` counts: at the top, inside a function, and under ``TYPE_CHECKING``. A type that is
only named still ties two modules together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Folder that a package is imported from.
SOURCES = {
    "cubinspec": "src",
    "cubinspec_writer": "writer",
    "cubinspec_generated": "generated/python",
}

#: Module name -> the modules that it imports.
Graph = dict[str, set[str]]


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module of the three packages, by its dotted name."""
    found = {}
    for package, folder in SOURCES.items():
        base = root / folder
        for path in sorted((base / package).rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = path
    return found


def imports(name: str, path: Path, names: Mapping[str, object]) -> Iterator[str]:
    """The modules among ``names`` that one module imports."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                above = ".".join(parts[: len(parts) - node.level + 1])
                base = f"{above}.{base}" if base else above
            submodules = [f"{base}.{alias.name}" for alias in node.names]
            yield from (sub for sub in submodules if sub in names)
            if base in names and not all(sub in names for sub in submodules):
                yield base


def import_graph(root: Path = ROOT) -> Graph:
    """The whole graph."""
    known = modules(root)
    return {name: set(imports(name, path, known)) - {name} for name, path in known.items()}


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """One import circle as a path that ends where it begins; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []
