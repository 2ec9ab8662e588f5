"""Reading a table: plain data plus the line that every part of it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

TABLES = (
    "eiattr",
    "relocations",
    "sections",
    "symbols",
    "compat",
    "arch",
    "toolkits",
    "elf_header",
    "notes",
    "fatbin",
    "constants",
    "sass",
)
"""Tables in the order in which they are checked and documented."""

DataPath = tuple[str | int, ...]
"""Keys and indices that lead to a place in a table."""


class TableError(Exception):
    """Tables are wrong. ``problems`` holds one ``file:line: sentence`` per fault."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True)
class Table:
    """One loaded table; two of the same text are equal.

    Attributes:
        name: the file name without its ending.
        file: path relative to the root of the project.
        text: the file as it is.
        data: the file as plain data.
        lines: line number (from 1) of every node, by its path in ``data``.
    """

    name: str
    file: Path
    text: str
    data: dict[str, Any] = field(compare=False)
    lines: Mapping[DataPath, int] = field(compare=False, repr=False)

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of the file."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def at(self, *path: str | int) -> str:
        """``file:line`` of a place in the data, or of its closest known ancestor."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.file.as_posix()}:{self.lines.get(path, 1)}"


Tables = dict[str, Table]


def _key(node: yaml.Node) -> str | int:
    """A mapping key as the YAML loader would give it; tables use integers and strings."""
    value = str(node.value)
    return int(value, 0) if node.tag == "tag:yaml.org,2002:int" else value


def _record_lines(node: yaml.Node, path: DataPath, file: Path, lines: dict[DataPath, int]) -> None:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _record_lines(item, (*path, index), file, lines)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            place = (*path, _key(key))
            if place in lines:
                line = key.start_mark.line + 1
                raise TableError([f"{file.as_posix()}:{line}: key {_key(key)!r} occurs twice"])
            _record_lines(value, place, file, lines)


def load_table(root: Path, name: str) -> Table:
    """Reads one table without checking it.

    Raises:
        TableError: the file is no YAML mapping, or a key occurs twice.
    """
    file = Path("ksy") / "tables" / f"{name}.yaml"
    return _table(name, file, (root / file).read_text(encoding="utf-8"))


@lru_cache(maxsize=2 * len(TABLES))
def _table(name: str, file: Path, text: str) -> Table:
    """A table, which nobody changes; most are read often and change seldom."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.SafeLoader("").construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise TableError([f"{file.as_posix()}:{line}: {error.problem}"]) from error
    if node is None or not isinstance(data, dict):
        raise TableError([f"{file.as_posix()}:1: a table is a mapping"])
    lines: dict[DataPath, int] = {}
    _record_lines(node, (), file, lines)
    return Table(name, file, text, data, lines)
