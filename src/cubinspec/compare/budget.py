"""A budget for kernels: a reviewed file that says what each may take, as a two-way ratchet.

A kernel that takes more than its entry allows is *worse*, one that takes less than its pin is
*better*, which asks for a new pin; kernels without an entry are *new*, entries without a kernel
*gone*. What an entry says is in :mod:`cubinspec.compare.budget_file`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cubinspec.compare.lint import lint
from cubinspec.compare.names import stable_name
from cubinspec.errors import CubinError
from cubinspec.report.names import matcher, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.compare.budget_file import Budget, Entry
    from cubinspec.compare.facts import FunctionFacts, ImageFacts

    #: A kernel and the image that it is in.
    Placed = tuple[ImageFacts, FunctionFacts]

#: What a finding says, in the order in which they decide the exit status.
WORSE, LINT, GONE, NEW = "worse", "lint", "gone", "new"
EXPIRED, BETTER = "expired", "better"
KINDS = (WORSE, LINT, GONE, NEW, EXPIRED, BETTER)
#: What could not be read, and so was not checked; nobody can allow it.
UNREAD = "unread"
#: Exit status of each; 1 is that of the worst, 2 says that something could not be used.
STATUSES = {UNREAD: 2, WORSE: 1, GONE: 3, NEW: 4, EXPIRED: 5, BETTER: 6, LINT: 7}


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
    kernels = kernels_of(images)
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
        for copies in copies_of(matched).values():
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
    by_readable: dict[str, list[Placed]] = {}
    for placed in kernels:
        name = placed[1].name
        by_name.setdefault(stable_name(name), []).append(placed)
        by_readable.setdefault(readable(name), []).append(placed)
    found = []
    for entry in budget.entries:
        named = by_name.get(stable_name(entry.name))
        if named is None and _is_pattern(entry.name):
            fits = matcher(entry.name)
            named = [p for p in kernels if readable(p[1].name) == entry.name or fits(p[1].name)]
        elif named is None:
            named = by_readable.get(entry.name, [])
        found.append((entry, [p for p in named if entry.arch in ("", p[0].arch)]))
    return found


def _is_pattern(name: str) -> bool:
    return name.startswith("re:") or any(character in name for character in "*?")


def copies_of(placed: Iterable[Placed]) -> dict[tuple[str, str], list[Placed]]:
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
        amounts = [amount_of(kernel[word]) for _, kernel in copies]
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


def amount_of(value: int | str | None) -> float:
    """What the file does not state takes nothing; what nobody can know is more than any limit."""
    if value is None:
        return 0
    return value if isinstance(value, int) else math.inf


def kernels_of(images: Iterable[ImageFacts]) -> list[Placed]:
    """All kernels, and the images that they are in."""
    return [(image, kernel) for image in images for kernel in image.kernels]


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
