"""Writes budgets: a new one, or one whose pins, new and gone kernels follow the files."""

from __future__ import annotations

import re

from cubinspec.compare.budget import GONE, NEW, amount_of, copies_of, kernels_of
from cubinspec.compare.budget_file import parse_budget, refused
from cubinspec.report.names import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.compare.budget import Finding, Placed
    from cubinspec.compare.budget_file import Budget, Entry
    from cubinspec.compare.facts import ImageFacts

#: Properties that a new entry pins.
PINNED = ("registers", "stack", "shared", "local", "barriers")


def init_budget(images: Iterable[ImageFacts]) -> str:
    """A budget that pins what kernels take now."""
    head = "# Kernels and what they may take; see `cubinspec budget --help`.\n"
    entries = [new_entry(copies) for _, copies in sorted(copies_of(kernels_of(images)).items())]
    return head + "".join(f"\n{entry}" for entry in entries)


def new_entry(copies: list[Placed]) -> str:
    """The text of an entry that pins what a kernel takes now, of several copies the largest."""
    image, kernel = copies[0]
    lines = ["[[kernel]]", f"# {_comment(readable(kernel.name))}"]
    lines += [f"name = {_quoted(kernel.name)}", f"arch = {_quoted(image.arch)}"]
    for word in PINNED:
        values = [kernel[word] for _, kernel in copies]
        most = max(map(amount_of, values))
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
        targets: as for :func:`cubinspec.compare.budget.check_budget`; a pin that counts for other
            targets, too, does not become less.

    Raises:
        BudgetError: something is written in a way that nothing here can change.
    """
    pins: dict[int, dict[str, int]] = {}
    gone: set[int] = set()
    new: set[tuple[str, str]] = set()
    entries = {entry.line: entry for entry in budget.entries}
    for finding in findings:
        if finding.kind == GONE:
            gone.add(finding.line)
        elif finding.kind == NEW:
            new.add((finding.arch, finding.name))
        elif finding.found is not None and finding.line in entries:
            entry, word = entries[finding.line], finding.property
            pin = entry.pins.get(word)
            if pin is not None:
                least = 0 if targets is None or entry.arch else pin
                wanted = pins.setdefault(finding.line, {})
                wanted[word] = max(wanted.get(word, least), finding.found)
    text = _changed(budget, pins, gone)
    for copies in copies_of(kernels_of(images)).values():
        if any((image.arch, kernel.name) in new for image, kernel in copies):
            text += f"\n{new_entry(copies)}"
    parse_budget(text, budget.file)  # raises where an entry could not be cut out
    return text


def _changed(budget: Budget, pins: dict[int, dict[str, int]], gone: set[int]) -> str:
    """The text of a budget with other pins, and without some entries, both by their lines."""
    lines = budget.text.split("\n")
    kept: list[str] = []
    at = 0
    for entry in budget.entries:
        kept += lines[at : entry.line - 1]
        at = entry.end
        if entry.line in gone:
            while at < len(lines) and not lines[at].strip():
                at += 1
            continue
        body = lines[entry.line - 1 : at]
        for word, value in pins.get(entry.line, {}).items():
            _pin(body, word, value, budget, entry)
        kept += body
    return "\n".join([*kept, *lines[at:]]).rstrip("\n") + "\n"


def _pin(body: list[str], word: str, value: int, budget: Budget, entry: Entry) -> None:
    """Write another number into the lines of an entry."""
    pin = re.compile(rf"^(\s*[\"']?{word}[\"']?\s*=\s*)\+?\d\w*")
    for at, line in enumerate(body):
        if pin.match(line):
            body[at] = pin.sub(rf"\g<1>{value}", line)
            return
    reason = f"{word}: it is {entry.pins[word]} and should be {value}, but not on a line of its own"
    raise refused(budget.file, entry.line, 1, reason, f"{word} = {value}")
