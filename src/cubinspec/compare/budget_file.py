"""The file of a budget: TOML that people review.

An entry ``[[kernel]]`` names kernels of a target and what is expected of them: a number is a pin,
which must hold exactly, ``{max = 40}`` a limit. It may have a ``reason``, and a date after which it
has to be looked at again. A table ``[lint]`` asks for rules that hold for the whole library.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field

from cubinspec.compare.lint import LINT_RULES, Lint
from cubinspec.errors import BadStructureError, CubinError, FileAccessError
from cubinspec.files import read_file
from cubinspec.report.names import matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable
    from typing import Any

#: Properties that a budget can limit.
PROPERTIES = (
    *("registers", "stack", "frame", "shared", "local", "barriers", "code_size", "param_size"),
)
_KEYS = frozenset(("name", "arch", "reason", "expires", *PROPERTIES))
_HEADER = re.compile(r"^\s*\[\[\s*kernel\s*\]\]\s*(#.*)?$")
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")


class BudgetError(BadStructureError):
    """The budget file is not one."""


@dataclass(slots=True)
class Entry:
    """One ``[[kernel]]``.

    Attributes:
        name: a mangled or demangled name, or a pattern as ``--match`` takes it.
        arch: the target; empty for all.
        line, end: its lines, from that of its header on, counted from 1; what stands behind them
            (empty lines, comments) belongs to what follows.
        pins: property -> the number it must be.
        limits: property -> the most it may be.
        reason: why it is so.
        expires: the last day on which the entry counts.
    """

    name: str
    arch: str
    line: int
    end: int
    pins: dict[str, int] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    reason: str = ""
    expires: datetime.date | None = None


@dataclass(slots=True)
class Budget:
    """A budget file.

    Attributes:
        file: its name.
        text: what stands in it.
        entries: in order.
        lint: what is asked of the whole library.
    """

    file: str
    text: str
    entries: list[Entry]
    lint: Lint | None = None


def budget_text(file: str) -> str:
    """The text of a budget.

    Raises:
        FileAccessError: it cannot be read, or is no text.
    """
    try:
        return read_file(file).decode().replace("\r\n", "\n")
    except (CubinError, ValueError) as error:
        reason = error.reason if isinstance(error, CubinError) else error
        text = f"the budget cannot be read: {reason}"
        raise FileAccessError(text, file=file, expected="a TOML file") from error


def refused(file: str, line: int, column: int, reason: str, expected: str) -> BudgetError:
    """An error at a place in a budget."""
    return BudgetError(f"line {line}, column {column}: {reason}", file=file, expected=expected)


def parse_budget(text: str, file: str) -> Budget:
    """Read a budget.

    Raises:
        BudgetError: it is no TOML, or says something that is not known; with line and column.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line, column = (int(place[1]), int(place[2])) if place else (text.count("\n") + 1, 1)
        reason = str(error).partition(" (at ")[0]
        raise refused(file, line, column, reason, "TOML") from None
    return _Parser(text, file).budget(document)


class _Parser:
    """Takes the tables of a budget, and tells where something stands that it does not know."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._lines = text.split("\n")

    def budget(self, document: dict[str, Any]) -> Budget:
        """The budget that a document is."""
        for key in document:
            if key not in ("kernel", "lint"):
                raise self._refused(f"{key!r} is not known", "[[kernel]] entries, and [lint]", key)
        tables = document.get("kernel", [])
        starts = [number for number, line in enumerate(self._lines, 1) if _HEADER.match(line)]
        if not isinstance(tables, list) or len(starts) != len(tables):
            raise self._refused("kernels are no list of tables", "[[kernel]]", "kernel")
        lint = self._lint(document.get("lint"))
        stops = [*starts[1:], len(self._lines) + 1]
        if lint is not None:
            stops = [
                lint.line if start < lint.line < stop else stop
                for start, stop in zip(starts, stops, strict=False)
            ]
        entries = [
            self._entry(table, start, self._end(stop))
            for table, start, stop in zip(tables, starts, stops, strict=False)
        ]
        return Budget(self._file, self._text, entries, lint)

    def _end(self, stop: int) -> int:
        """The last line before another one that has more than a comment."""
        while not _has_more_than_a_comment(self._lines[stop - 2]):
            stop -= 1
        return stop - 1

    def _refused(
        self, reason: str, expected: str, key: str, start: int = 1, stop: int | None = None
    ) -> BudgetError:
        """An error where a key stands in some lines; at the first of them if none has it."""
        line = self._line_of(key, start, stop)
        text = self._lines[line - 1]
        column = len(text) - len(text.lstrip()) + 1
        return refused(self._file, line, column, reason, expected)

    def _line_of(self, key: str, start: int = 1, stop: int | None = None) -> int:
        wanted = re.compile(rf"\s*\[*\s*[\"']?{re.escape(key)}\b")
        lines = enumerate(self._lines[start - 1 : stop], start)
        return next((number for number, line in lines if wanted.match(line)), start)

    def _lint(self, table: Any) -> Lint | None:
        if table is None:
            return None
        line = self._line_of("lint")
        if not isinstance(table, dict):
            raise self._refused("lint is no table", "[lint]", "lint")
        words: dict[str, tuple[str, ...]] = {"rules": (), "targets": ()}
        for key, value in table.items():
            if key not in words:
                raise self._refused(f"{key!r} is not known", "rules, targets", key, line)
            if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
                reason = f"{key} is no list of texts"
                raise self._refused(reason, "a list of texts", key, line)
            words[key] = tuple(value)
        for rule in words["rules"]:
            if rule not in LINT_RULES:
                reason = f"rule {rule!r} is not known"
                raise self._refused(reason, ", ".join(LINT_RULES), "rules", line)
        return Lint(line, words["rules"], words["targets"])

    def _entry(self, table: dict[str, Any], line: int, end: int) -> Entry:
        def refuse(key: str, reason: str, expected: str) -> BudgetError:
            return self._refused(f"{key}: {reason}", expected, key, line, end)

        import datetime

        name, arch, reason = table.get("name"), table.get("arch", ""), table.get("reason", "")
        if not isinstance(name, str) or not name:
            raise refuse("name", "it is missing or no text", "the name of a kernel, or a pattern")
        for key, value in (("arch", arch), ("reason", reason)):
            if not isinstance(value, str):
                raise refuse(key, "it is no text", "a text")
        entry = Entry(name, arch, line, end, reason=reason)
        expires = table.get("expires")
        if expires is not None:
            if isinstance(expires, datetime.datetime) or not isinstance(expires, datetime.date):
                raise refuse("expires", "it is no date", "a date such as 2027-01-31")
            entry.expires = expires
        for key in table:
            if key not in _KEYS:
                raise refuse(key, "it is not known", ", ".join(sorted(_KEYS)))
        for word in PROPERTIES:
            if word in table:
                _read_limit(entry, word, table[word], refuse)
        try:
            matcher(name)
        except CubinError as error:
            reason = error.reason.removeprefix(f"--match {name}: ")
            raise refuse("name", reason, "a regular expression after re:") from None
        return entry


def _has_more_than_a_comment(line: str) -> bool:
    """Whether a line says something; one that ends a long text may look like a comment."""
    return bool(line.partition("#")[0].strip()) or '"""' in line or "'''" in line


def _read_limit(entry: Entry, word: str, value: Any, refuse: Callable[..., BudgetError]) -> None:
    expected = "a number, or {max = NUMBER}"
    if isinstance(value, dict):
        if list(value) != ["max"]:
            raise refuse(word, "it has other keys than max", expected)
        value, home = value["max"], entry.limits
    else:
        home = entry.pins
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise refuse(word, f"{value!r} is no size", expected)
    home[word] = value
