"""A budget for kernels: a reviewed TOML file that says what each may take, as a two-way ratchet.

An entry names kernels of a target and what is expected of them: a number is a pin, which must hold
exactly, ``{max = 40}`` a limit. A kernel that takes more is *worse*, one that takes less than its
pin is *better*, which asks for a new pin; kernels without an entry are *new*, entries without a
kernel *gone*. An entry may have a ``reason``, and a date after which it has to be looked at again.
A table ``[lint]`` asks for rules that hold for the whole library.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, field

from cubinspec.compare.lint import LINT_RULES, Lint, lint
from cubinspec.compare.names import stable_name
from cubinspec.errors import BadStructureError, CubinError, FileAccessError
from cubinspec.files import read_file
from cubinspec.report.names import matcher, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.compare.facts import FunctionFacts, ImageFacts

    #: A kernel and the image that it is in.
    Placed = tuple[ImageFacts, FunctionFacts]

#: Properties that a budget can limit.
PROPERTIES = (
    *("registers", "stack", "frame", "shared", "local", "barriers", "code_size", "param_size"),
)
#: Properties that a new entry pins.
PINNED = ("registers", "stack", "shared", "local", "barriers")
_KEYS = frozenset(("name", "arch", "reason", "expires", *PROPERTIES))
_HEADER = re.compile(r"^\s*\[\[\s*kernel\s*\]\]\s*(#.*)?$")
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")

#: What a finding says, in the order in which they decide the exit status.
WORSE, LINT, GONE, NEW = "worse", "lint", "gone", "new"
EXPIRED, BETTER = "expired", "better"
KINDS = (WORSE, LINT, GONE, NEW, EXPIRED, BETTER)
#: What could not be read, and so was not checked; nobody can allow it.
UNREAD = "unread"
#: Exit status of each; 1 is that of the worst, 2 says that something could not be used.
STATUSES = {UNREAD: 2, WORSE: 1, GONE: 3, NEW: 4, EXPIRED: 5, BETTER: 6, LINT: 7}


class BudgetError(BadStructureError):
    """The budget file is not one."""


@dataclass(slots=True)
class Entry:
    """One ``[[kernel]]``.

    Attributes:
        name: a mangled or demangled name, or a pattern as ``--match`` takes it.
        arch: the target; empty for all.
        line: of its header, from 1.
        pins: property -> the number it must be.
        limits: property -> the most it may be.
        reason: why it is so.
        expires: the last day on which the entry counts.
    """

    name: str
    arch: str
    line: int
    pins: dict[str, int] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    reason: str = ""
    expires: datetime.date | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not fit the budget.

    Attributes:
        kind: worse, lint, gone, new, expired, better or unread.
        line: of the entry in the budget; the last one for a kernel without an entry.
        name: mangled name of the kernel, or the name in the entry.
        arch: the target.
        path: where the kernel is; empty when it is gone.
        text: what it is about.
        property: what is worse or better, or the rule; empty for others.
        expected, found: the numbers.
    """

    kind: str
    line: int
    name: str
    arch: str
    path: str
    text: str
    property: str = ""
    expected: int | None = None
    found: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The finding as JSON knows it."""
        return {
            "kind": self.kind,
            "line": self.line,
            "name": self.name,
            "demangled": readable(self.name),
            "arch": self.arch,
            "path": self.path,
            "text": self.text,
            "property": self.property or None,
            "expected": self.expected,
            "found": self.found,
        }


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


def parse_budget(text: str, file: str) -> Budget:
    """Read a budget.

    Raises:
        BudgetError: it is no TOML, or says something that is not known; with line and column.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _refused(str(error), file, text, *_place_of(str(error), text)) from None
    for key in document:
        if key not in ("kernel", "lint"):
            line = _line_of(text, key)
            expected = "[[kernel]] entries, and [lint]"
            raise _refused(f"{key!r} is not known", file, text, line, 1, expected)
    tables = document.get("kernel", [])
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _HEADER.match(line)]
    if not isinstance(tables, list) or len(lines) != len(tables):
        line = _line_of(text, "kernel")
        raise _refused("kernels are no list of tables", file, text, line, 1, "[[kernel]]")
    pairs = zip(tables, lines, strict=True)
    entries = [_entry(table, line, file, text) for table, line in pairs]
    return Budget(file, text, entries, _read_lint(document.get("lint"), file, text))


def _read_lint(table: Any, file: str, text: str) -> Lint | None:
    if table is None:
        return None
    line = _line_of(text, "lint")
    if not isinstance(table, dict):
        raise _refused("lint is no table", file, text, line, 1, "[lint]")
    words: dict[str, tuple[str, ...]] = {"rules": (), "targets": ()}
    for key, value in table.items():
        place = _line_of(text, key, line)
        if key not in words:
            raise _refused(f"{key!r} is not known", file, text, place, 1, "rules, targets")
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise _refused(f"{key} is no list of texts", file, text, place, 1, "a list of texts")
        words[key] = tuple(value)
    for rule in words["rules"]:
        if rule not in LINT_RULES:
            place = _line_of(text, "rules", line)
            expected = ", ".join(LINT_RULES)
            raise _refused(f"rule {rule!r} is not known", file, text, place, 1, expected)
    return Lint(line, words["rules"], words["targets"])


def _place_of(message: str, text: str) -> tuple[int, int]:
    place = _PLACE.search(message)
    return (int(place[1]), int(place[2])) if place else (text.count("\n") + 1, 1)


def _line_of(text: str, key: str, start: int = 1) -> int:
    """The first line from ``start`` on that has a key; that line where none is found."""
    for number, line in enumerate(text.splitlines(), 1):
        if number >= start and re.match(rf"\s*\[*\s*[\"']?{re.escape(key)}\b", line):
            return number
    return start


def _refused(
    reason: str, file: str, text: str, line: int, column: int, expected: str = "TOML"
) -> BudgetError:
    lines = text.splitlines(keepends=True)
    offset = len("".join(lines[: line - 1]).encode()) + column - 1
    return BudgetError(
        f"line {line}, column {column}: {reason}", file=file, offset=offset, expected=expected
    )


def _entry(table: dict[str, Any], line: int, file: str, text: str) -> Entry:
    def refuse(key: str, reason: str, expected: str) -> BudgetError:
        return _refused(f"{key}: {reason}", file, text, _line_of(text, key, line), 1, expected)

    import datetime

    name, arch, reason = table.get("name"), table.get("arch", ""), table.get("reason", "")
    if not isinstance(name, str) or not name:
        raise refuse("name", "it is missing or no text", "the name of a kernel, or a pattern")
    if not isinstance(arch, str) or not isinstance(reason, str):
        raise refuse("arch" if not isinstance(arch, str) else "reason", "it is no text", "a text")
    entry = Entry(name, arch, line, reason=reason)
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
        raise refuse("name", error.reason, "a regular expression after re:") from None
    return entry


def _read_limit(entry: Entry, word: str, value: Any, refuse: Any) -> None:
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


def check_budget(
    budget: Budget,
    images: Iterable[ImageFacts],
    today: datetime.date,
    targets: frozenset[str] | None = None,
) -> list[Finding]:
    """Compare kernels with their budget; the findings are in the order of the file.

    Args:
        targets: those that the images are for, where others were left out; nothing is said of
            entries for these.
    """
    images = list(images)
    kernels = _kernels(images)
    findings: list[Finding] = []
    covered: set[int] = set()
    for entry, matched in matching(budget, kernels):
        covered.update(id(kernel) for _, kernel in matched)
        if not matched and targets is not None and entry.arch not in targets:
            continue
        if not matched:
            text = "no kernel has this name any more"
            findings.append(Finding(GONE, entry.line, entry.name, entry.arch, "", text))
        if entry.expires is not None and today > entry.expires:
            text = f"the entry counted until {entry.expires}"
            findings.append(Finding(EXPIRED, entry.line, entry.name, entry.arch, "", text))
        for copies in _copies(matched).values():
            findings += _compared(entry, copies)
    end = max(1, len(budget.text.splitlines()))
    if budget.lint is not None:
        findings += [
            Finding(LINT, budget.lint.line, name, arch, path, text, rule)
            for rule, name, arch, path, text in lint(images, budget.lint.among(targets))
        ]
    for image, kernel in kernels:
        if id(kernel) not in covered:
            text = "this kernel has no budget"
            findings.append(Finding(NEW, end, kernel.name, image.arch, image.path, text))
    return findings


def matching(budget: Budget, kernels: list[Placed]) -> list[tuple[Entry, list[Placed]]]:
    """The kernels of every entry: those of exactly that name, else those that fit the pattern."""
    by_name: dict[str, list[Placed]] = {}
    for placed in kernels:
        by_name.setdefault(stable_name(placed[1].name), []).append(placed)
    found = []
    for entry in budget.entries:
        exact = by_name.get(stable_name(entry.name))
        if exact is None:
            fits = matcher(entry.name)
            exact = [placed for placed in kernels if _fits(entry, placed, fits)]
        found.append((entry, [p for p in exact if entry.arch in ("", p[0].arch)]))
    return found


def _fits(entry: Entry, placed: Placed, fits: Any) -> bool:
    name = placed[1].name
    return readable(name) == entry.name or (_is_pattern(entry.name) and bool(fits(name)))


def _is_pattern(name: str) -> bool:
    return name.startswith("re:") or any(character in name for character in "*?")


def _copies(placed: Iterable[Placed]) -> dict[tuple[str, str], list[Placed]]:
    """Kernels by target and name; a library may have the same in several images."""
    found: dict[tuple[str, str], list[Placed]] = {}
    for image, kernel in placed:
        found.setdefault((image.arch, stable_name(kernel.name)), []).append((image, kernel))
    return found


def _compared(entry: Entry, copies: list[Placed]) -> list[Finding]:
    """What does not fit: each copy of a kernel that is worse; the largest, if all are better."""
    found = []
    for word, expected in {**entry.limits, **entry.pins}.items():
        pinned = word in entry.pins
        amounts = [_amount(kernel[word]) for _, kernel in copies]
        most = max(amounts)
        kind, unfit = WORSE, [place for place, amount in enumerate(amounts) if amount > expected]
        if pinned and most < expected:
            kind, unfit = BETTER, [amounts.index(most)]
        for image, kernel in map(copies.__getitem__, unfit):
            value = kernel[word]
            number = value if isinstance(value, int) else None
            shown = "not known" if number is None else str(number)
            text = f"{word} {shown}, {'expected' if pinned else 'at most'} {expected}"
            where = (entry.line, kernel.name, image.arch, image.path)
            found.append(Finding(kind, *where, text, word, expected, number))
    return found


def _amount(value: int | str | None) -> float:
    """What the file does not state takes nothing; what nobody can know is more than any limit."""
    if value is None:
        return 0
    return value if isinstance(value, int) else math.inf


def init_budget(images: Iterable[ImageFacts]) -> str:
    """A budget that pins what kernels take now."""
    head = "# Kernels and what they may take; see `cubinspec budget --help`.\n"
    entries = [new_entry(copies) for _, copies in sorted(_copies(_kernels(images)).items())]
    return head + "".join(f"\n{entry}" for entry in entries)


def _kernels(images: Iterable[ImageFacts]) -> list[Placed]:
    return [(image, kernel) for image in images for kernel in image.kernels]


def new_entry(copies: list[Placed]) -> str:
    """The text of an entry that pins what a kernel takes now, of several copies the largest."""
    image, kernel = copies[0]
    lines = ["[[kernel]]", f"# {_comment(readable(kernel.name))}"]
    lines += [f"name = {_quoted(kernel.name)}", f"arch = {_quoted(image.arch)}"]
    for word in PINNED:
        values = [kernel[word] for _, kernel in copies]
        most = max(map(_amount, values))
        if most in values:  # not where nobody states it, or nobody can know it
            lines.append(f"{word} = {most}")
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def _quoted(text: str) -> str:
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
    parts = []
    for character in safe:
        if character in '"\\':
            parts.append(f"\\{character}")
        elif character.isprintable():
            parts.append(character)
        else:
            parts.append(f"\\U{ord(character):08x}")
    return f'"{"".join(parts)}"'


def update_budget(
    budget: Budget,
    findings: Iterable[Finding],
    images: Iterable[ImageFacts],
    targets: frozenset[str] | None = None,
) -> str:
    """The text of a budget with new pins, without entries that are gone, with new kernels.

    Comments, reasons, limits and the order of entries stay. Limits that do not hold are not
    changed: these are for people to decide.

    Args:
        targets: as for :func:`check_budget`; a pin that counts for other targets, too, does not
            become less.
    """
    lines = budget.text.splitlines()
    starts = [entry.line for entry in budget.entries]
    entries = {entry.line: entry for entry in budget.entries}
    wanted: dict[tuple[int, str], int] = {}
    dropped: set[int] = set()
    new: set[tuple[str, str]] = set()
    for finding in findings:
        if finding.kind == GONE:
            dropped.add(finding.line)
        elif finding.kind == NEW:
            new.add((finding.arch, finding.name))
        elif finding.found is not None and finding.line in entries:
            key, entry = (finding.line, finding.property), entries[finding.line]
            pin = entry.pins.get(finding.property)
            if pin is not None:
                least = 0 if targets is None or entry.arch else pin
                wanted[key] = max(wanted.get(key, least), finding.found)
    kept: list[str] = []
    for number, line in enumerate(lines, 1):
        start = max((s for s in starts if s <= number), default=0)
        if start in dropped:
            continue
        for (at, word), value in wanted.items():
            if at == start:
                line = re.sub(rf"^(\s*{word}\s*=\s*)\d\w*", rf"\g<1>{value}", line)
        kept.append(line)
    text = "\n".join(kept).rstrip("\n") + "\n"
    for copies in _copies(_kernels(images)).values():
        if any((image.arch, kernel.name) in new for image, kernel in copies):
            text += f"\n{new_entry(copies)}"
    return text


def exit_status(findings: Iterable[Finding], allowed: frozenset[str]) -> int:
    """0, or the status of the first kind of finding that is not allowed."""
    kinds = {finding.kind for finding in findings} - allowed
    return next((STATUSES[kind] for kind in (UNREAD, *KINDS) if kind in kinds), 0)


def with_unread(findings: Iterable[Finding], faults: Iterable[CubinError]) -> list[Finding]:
    """Findings of what could be read, behind what could not.

    A kernel that seems to be gone may be in a file that was not read.
    """
    unread = []
    for fault in faults:
        file = fault.file or ""
        unread.append(Finding(UNREAD, 1, file, "", "", str(fault).removeprefix(f"{file}:").strip()))
    return unread + [one for one in findings if not (unread and one.kind == GONE)]
