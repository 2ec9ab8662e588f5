"""docs/rules.md: every rule that a log of findings names, made of the rules themselves."""

from __future__ import annotations

from cubinspec.compare.findings import rule_texts
from cubinspec.report.sarif import anchor
from cubinspec_writer.checker.rules import RULES

_HEAD = """# Rules

Made of the rules by `make bless`; do not edit. Logs in the form of SARIF point here from each rule.
`cubinspec check` finds the first kind in cubins, `cubinspec budget check` the others in libraries
and their budgets; see [editing](editing.md) and [budget](budget.md).
"""


def page() -> str:
    """The text of the page."""
    parts = [_HEAD, "## Cubins\n"]
    for rule in RULES:
        text = f"{rule.sentence}\n\nEvidence: {rule.evidence}.\n\nWhat to do: {rule.fix}"
        parts.append(_entry(rule.id, text))
    for title, kind in (("Budgets", "budget/"), ("Libraries", "lint/")):
        parts.append(f"## {title}\n")
        texts = rule_texts().items()
        parts += [_entry(rule, text) for rule, text in texts if rule.startswith(kind)]
    return "\n".join(parts)


def _entry(rule: str, text: str) -> str:
    return f'<a id="{anchor(rule)}"></a>\n\n### {rule}\n\n{text}\n'
