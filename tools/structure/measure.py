"""Sizes of the code: long functions, large files, hand-written constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.structure.graph import ROOT

HAND_WRITTEN = ("src", "writer")
_BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.IfExp, ast.Match, ast.comprehension)


@dataclass(frozen=True)
class FunctionSize:
    """How large one function is.

    Attributes:
        lines: from ``def`` to the last statement, without the docstring.
        branches: statements and expressions that choose or repeat.
    """

    path: Path
    line: int
    name: str
    lines: int
    branches: int


def files(root: Path = ROOT) -> Iterator[Path]:
    """The hand-written modules that are installed."""
    for folder in HAND_WRITTEN:
        yield from sorted((root / folder).rglob("*.py"))


def functions(path: Path) -> Iterator[FunctionSize]:
    """Every function of a module; what is nested in a function counts for both."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            branches = sum(isinstance(part, _BRANCHES) for part in ast.walk(node))
            yield FunctionSize(path, node.lineno, node.name, lines, branches)


def constants(path: Path) -> Iterator[str]:
    """Module-level names in capitals that are assigned whole numbers by literal."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _capital_numbers(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _capital_numbers(node.target, node.value)


def _capital_numbers(target: ast.expr, value: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=False):
            yield from _capital_numbers(one, part)
    elif isinstance(target, ast.Name) and target.id.isupper() and _is_number(value):
        yield target.id


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    return isinstance(value, ast.Constant) and type(value.value) is int
