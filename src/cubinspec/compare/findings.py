"""Findings of a budget for other programs: SARIF, JUnit XML, annotations of GitHub."""

from __future__ import annotations

from xml.etree import ElementTree

from cubinspec.compare.budget import BETTER, EXPIRED, GONE, KINDS, LINT, NEW, UNREAD, WORSE
from cubinspec.compare.digest import digest
from cubinspec.compare.lint import LINT_RULES
from cubinspec.compare.names import stable_name
from cubinspec.format.escapes import escaped
from cubinspec.report.names import readable
from cubinspec.report.sarif import RULE_PAGE, file_uri, sarif_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.compare.budget import Finding
    from cubinspec.compare.budget_file import Budget

#: What each kind of finding means.
MEANINGS = {
    UNREAD: "A file could not be read, and so was not checked.",
    WORSE: "A kernel takes more than its budget allows.",
    LINT: "A library breaks a rule that its budget asks for.",
    GONE: "An entry of the budget names no kernel.",
    NEW: "A kernel has no entry in the budget.",
    EXPIRED: "An entry of the budget has to be looked at again.",
    BETTER: "A kernel takes less than its pin; a new pin keeps it so.",
}
#: How grave they are, in the words of SARIF, where they are no errors.
_LEVELS = {BETTER: "note", NEW: "warning", EXPIRED: "warning"}


def rule_of(finding: Finding) -> str:
    """The rule that a finding belongs to: ``budget/worse``, ``lint/weak-kernel``."""
    if finding.kind == LINT:
        return f"lint/{finding.property}"
    return f"budget/{finding.kind}"


def message(finding: Finding) -> str:
    """A finding in one line."""
    name = f"{readable(finding.name)}: " if finding.name else ""
    where = " ".join(filter(None, (finding.arch, finding.path)))
    return escaped(f"{name}{finding.text}" + (f" ({where})" if where else ""))


def rule_texts() -> dict[str, str]:
    """Every rule, and what it means that one is broken."""
    texts = {f"budget/{kind}": MEANINGS[kind] for kind in (UNREAD, *KINDS) if kind != LINT}
    return texts | {
        f"lint/{rule}": f"Rule of a library: {why}." for rule, why in LINT_RULES.items()
    }


def _level(finding: Finding, allowed: frozenset[str]) -> str:
    """How grave a finding is, in the words of SARIF; one that is allowed fails nothing."""
    if finding.kind in allowed:
        return "note"
    return _LEVELS.get(finding.kind, "error")


def sarif(
    findings: Iterable[Finding],
    budget: Budget,
    version: str,
    allowed: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """SARIF 2.1.0; every result points into the budget file, with a line.

    Args:
        allowed: kinds of findings that are no fault.
    """
    texts = rule_texts()
    index = {rule: number for number, rule in enumerate(texts)}
    rules = [
        {
            "id": rule,
            "shortDescription": {"text": text},
            "help": {"text": f"{text} See `cubinspec budget --help` and {RULE_PAGE}."},
        }
        for rule, text in texts.items()
    ]
    uri = file_uri(budget.file)
    results = [
        {
            "ruleId": rule_of(finding),
            "ruleIndex": index[rule_of(finding)],
            "level": _level(finding, allowed),
            "message": {"text": message(finding)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": uri},
                        "region": {"startLine": finding.line},
                    },
                    "logicalLocations": [{"fullyQualifiedName": escaped(finding.name or "-")}],
                }
            ],
            "partialFingerprints": {"cubinspecBudget/v1": _identity(finding)},
        }
        for finding in findings
    ]
    return sarif_log(version, rules, results)


def _identity(finding: Finding) -> str:
    """What a finding is about, whatever its line, its numbers and hashes of a build in its name."""
    words = (rule_of(finding), stable_name(finding.name), finding.arch, finding.property)
    return digest("\0".join(words).encode("utf-8", "surrogateescape"))


def junit(
    findings: Iterable[Finding],
    budget: Budget,
    kernels: int,
    allowed: frozenset[str] = frozenset(),
) -> str:
    """JUnit XML: one failed test per finding, one that passes when there is none.

    Args:
        kernels: how many were checked.
        allowed: kinds of findings that are no fault; their tests are skipped.
    """
    items = list(findings)
    suite = ElementTree.Element("testsuite", name=f"cubinspec budget {escaped(budget.file)}")
    suite.set("tests", str(max(1, len(items))))
    words = [_outcome(finding, allowed) for finding in items]
    suite.set("failures", str(words.count("failure")))
    suite.set("errors", str(words.count("error")))
    suite.set("skipped", str(words.count("skipped")))
    for finding, word in zip(items, words, strict=True):
        name = f"{rule_of(finding)} {escaped(finding.name)} {finding.arch} {finding.property}"
        case = ElementTree.SubElement(suite, "testcase", classname="budget", name=name.strip())
        fault = ElementTree.SubElement(case, word, message=message(finding))
        if word != "skipped":
            fault.set("type", finding.kind)
        fault.text = f"{escaped(budget.file)}:{finding.line}"
    if not items:
        name = f"{kernels} kernels are as budgeted"
        ElementTree.SubElement(suite, "testcase", classname="budget", name=name)
    ElementTree.indent(suite)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, "unicode") + "\n"
    )


def _outcome(finding: Finding, allowed: frozenset[str]) -> str:
    """What JUnit calls a finding."""
    if finding.kind == UNREAD:
        return "error"
    return "skipped" if finding.kind in allowed else "failure"


def github_lines(
    findings: Iterable[Finding], budget: Budget, allowed: frozenset[str] = frozenset()
) -> list[str]:
    """Lines that GitHub shows beside the budget file in a pull request.

    Args:
        allowed: kinds of findings that are no fault.
    """
    words = {"error": "error", "warning": "warning", "note": "notice"}
    return [
        f"::{words[_level(finding, allowed)]} file={_property(budget.file)},"
        f"line={finding.line},title={_property(rule_of(finding))}::{_data(message(finding))}"
        for finding in findings
    ]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(escaped(text)).replace(":", "%3A").replace(",", "%2C")
