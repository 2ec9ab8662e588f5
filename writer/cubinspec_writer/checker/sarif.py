"""Findings as SARIF 2.1.0, for code scanning services and editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cubinspec.report.sarif import file_uri, sarif_log
from cubinspec_writer.checker.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.errors import CubinError
    from cubinspec_writer.checker import Finding


def to_sarif(
    findings: Iterable[Finding], version: str, errors: Iterable[CubinError] = ()
) -> dict[str, Any]:
    """One run with all rules and the findings.

    Args:
        version: version of this package.
        errors: why files could not be checked at all.
    """
    notifications = [{"level": "error", "message": {"text": str(error)}} for error in errors]
    index = {rule.id: at for at, rule in enumerate(RULES)}
    rules = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.sentence},
            "fullDescription": {"text": f"Evidence: {rule.evidence}."},
            "help": {"text": rule.fix},
            "defaultConfiguration": {"level": "error"},
        }
        for rule in RULES
    ]
    invocation = {
        "executionSuccessful": not notifications,
        "toolExecutionNotifications": notifications,
    }
    results = [_result(finding, index) for finding in findings]
    return sarif_log(version, rules, results, invocations=[invocation])


def _result(finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": file_uri(finding.file)}}
    if finding.offset is not None:
        location["region"] = {"byteOffset": finding.offset}
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": index[finding.rule.id],
        "level": "error",
        "message": {"text": f"{finding.field}: {finding.message}"},
        "locations": [
            {
                "physicalLocation": location,
                "logicalLocations": [{"fullyQualifiedName": finding.field}],
            }
        ],
    }
