"""``cubinspec budget``: what kernels may take, as a reviewed file."""

from __future__ import annotations

from cubinspec.cli.options import (
    JSON_OPTIONS,
    Arguments,
    Option,
    UsageError,
    cubin_targets,
    files_of,
    keep_inputs,
)
from cubinspec.cli.output import report, write_output
from cubinspec.cli.walking import CUBIN_ARCH, RELOCATABLE, nothing_in, shown
from cubinspec.compare.budget import (
    KINDS,
    LINT,
    UNREAD,
    Finding,
    check_budget,
    exit_status,
    with_unread,
)
from cubinspec.compare.budget_edit import init_budget, update_budget
from cubinspec.compare.budget_file import Budget, BudgetError, budget_text, parse_budget
from cubinspec.compare.findings import github_lines, junit, message, sarif
from cubinspec.compare.read import read_facts
from cubinspec.errors import CubinError, FileAccessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.compare.facts import ImageFacts

USAGE = (
    "init|check|update FILE... --budget KERNELS.TOML [--allow KINDS] [--arch SM]"
    " [--sarif-out OUT] [--junit-out OUT] [--github] [--json|--jsonl]"
)
OPTIONS = (
    Option("--budget", value="TOML", help="the budget (default: kernels.toml)"),
    Option("--allow", value="KINDS", help=f"findings that are no fault: {', '.join(KINDS)}"),
    Option("--sarif-out", value="OUT", help="write SARIF 2.1.0 for code scanning"),
    Option("--junit-out", value="OUT", help="write JUnit XML"),
    Option("--github", help="annotations for GitHub in place of text"),
    CUBIN_ARCH,
    RELOCATABLE,
    *JSON_OPTIONS,
)
_ACTIONS = ("init", "check", "update")
_NOT_USABLE = 2
#: 1 says that a kernel got worse.
FAULT_STATUS = _NOT_USABLE


def run(arguments: Arguments) -> int:
    """Make, check or renew a budget."""
    words = arguments.positional
    if not words or words[0] not in _ACTIONS:
        raise UsageError(f"say one of {', '.join(_ACTIONS)} first")
    action, paths = words[0], files_of(words[1:])
    if not paths:
        raise UsageError("no FILE given")
    allowed = frozenset(w for t in arguments.values("--allow") for w in t.split(",") if w)
    for word in allowed - set(KINDS):
        raise UsageError(f"--allow takes {', '.join(KINDS)}, not {word!r}")
    file = arguments.value("--budget") or "kernels.toml"
    keep_inputs(arguments, ("--sarif-out", "--junit-out"), [*paths, file])
    targets = cubin_targets(arguments)
    images, faults = images_of(paths, targets, relocatable=arguments.flag("--relocatable"))
    for fault in faults:
        report(fault)
    if faults and action != "check":
        return _NOT_USABLE  # a budget of some files would say that the others have no kernels
    if action == "init":
        return _init(file, images)
    try:
        budget = parse_budget(budget_text(file), file)
    except CubinError as error:
        report(error)
        return _NOT_USABLE
    import datetime

    findings = check_budget(budget, images, datetime.date.today(), targets)
    findings = with_unread(findings, faults)
    if action == "update":
        try:
            text = update_budget(budget, findings, images, targets)
        except BudgetError as error:
            report(error)
            return _NOT_USABLE
        write_output(file, text.encode())
        print(f"{shown(file)}: {_counts(findings)}")
        return 0
    _show(arguments, budget, findings, images, allowed)
    return exit_status(findings, allowed)


def _init(file: str, images: list[ImageFacts]) -> int:
    import os

    if file != "-" and os.path.lexists(file):
        report(FileAccessError("the budget is there already; say update", file=file))
        return _NOT_USABLE
    write_output(file, init_budget(images).encode())
    return 0


def images_of(
    paths: list[str], targets: frozenset[str] | None = None, *, relocatable: bool = False
) -> tuple[list[ImageFacts], list[CubinError]]:
    """The cubins of all files, and what could not be read; a file without any is a fault.

    Args:
        targets, relocatable: see :func:`cubinspec.compare.read.read_facts`.
    """
    images: list[ImageFacts] = []
    faults: list[CubinError] = []
    for path in paths:
        try:
            facts = read_facts(path, archs=targets, relocatable=relocatable)
            if not facts.images and not facts.faults:
                raise nothing_in(path, "cubin", chosen=targets is not None)
        except CubinError as error:
            faults.append(error)
            continue
        faults += facts.faults
        images += facts.images
    return images, faults


def _show(
    arguments: Arguments,
    budget: Budget,
    findings: list[Finding],
    images: list[ImageFacts],
    allowed: frozenset[str],
) -> None:
    out = arguments.value("--sarif-out")
    if out is not None:
        import json

        from cubinspec import __version__

        log = sarif(findings, budget, __version__, allowed)
        text = json.dumps(log, indent=2, ensure_ascii=False)
        write_output(out, text.encode("utf-8", "backslashreplace") + b"\n")
    out = arguments.value("--junit-out")
    if out is not None:
        kernels = sum(len(image.kernels) for image in images)
        text = junit(findings, budget, kernels, allowed)
        write_output(out, text.encode("utf-8", "backslashreplace"))
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        with Records("budget", arguments) as records:
            for finding in findings:
                records.add({"budget": budget.file, **finding.as_dict()})
    elif arguments.flag("--github"):
        print("\n".join(map(shown, github_lines(findings, budget, allowed))))
    elif not arguments.streams:
        for finding in sorted(findings, key=lambda f: (UNREAD, *KINDS).index(f.kind)):
            rule = f"  [{finding.property}]" if finding.kind == LINT else ""
            place = f"{shown(budget.file)}:{finding.line}"
            print(f"{finding.kind:<8} {place}  {shown(message(finding))}{rule}")
        print(_counts(findings))


def _counts(findings: list[Finding]) -> str:
    counts = {kind: sum(f.kind == kind for f in findings) for kind in (UNREAD, *KINDS)}
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "as budgeted"
