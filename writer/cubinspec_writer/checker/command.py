"""``cubinspec check``: does a file follow the spec."""

from __future__ import annotations

from cubinspec import __version__
from cubinspec.cli.options import JSON_OPTIONS, Arguments, Option, UsageError
from cubinspec.cli.output import printable, write_json
from cubinspec.cli.picking import PICK, for_each_picked_data
from cubinspec.errors import CubinError
from cubinspec_writer.checker import RULES, Finding, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.cli.picking import Steps
    from cubinspec.reader.elf import Buffer

USAGE = "--rules | FILE... [--no-fields] [--json|--jsonl|--sarif]"
OPTIONS = (
    *PICK,
    *JSON_OPTIONS,
    Option("--sarif", help="SARIF 2.1.0 instead of text"),
    Option("--no-fields", help="do not read every field with the generated reader (faster)"),
    Option("--rules", help="list the rules, what they rest on, and what to do"),
)


def run(arguments: Arguments) -> int:
    """Print the findings; status 1 when there is one."""
    if arguments.flag("--rules"):
        for rule in RULES:
            print(f"{rule.id}: {rule.sentence}")
            print(f"  evidence: {rule.evidence}")
            print(f"  fix: {rule.fix}")
        return 0
    if arguments.wants_json and arguments.flag("--sarif"):
        raise UsageError("say --json or --sarif")
    as_text = not (arguments.wants_json or arguments.flag("--sarif"))
    out = None
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        out = Records("check", arguments)
    spec_read = not arguments.flag("--no-fields")
    findings: list[Finding] = []
    errors: list[CubinError] = []

    def check_one(data: Buffer, file: str, steps: Steps) -> None:
        try:
            found = _check(bytes(data), file, spec_read, as_text)
            findings.extend(found)
            if out is not None:
                for finding in found:
                    out.add(_record(finding, steps))
        except CubinError as error:
            errors.append(error)
            raise

    status = for_each_picked_data(arguments, arguments.files(), check_one, errors=errors)
    if out is not None:
        out.close()
    elif arguments.flag("--sarif"):
        from cubinspec_writer.checker.sarif import to_sarif

        write_json(to_sarif(findings, __version__, errors))
    return status or int(bool(findings))


def _check(data: bytes, file: str, spec_read: bool, as_text: bool) -> list[Finding]:
    findings = check(data, file, spec_read=spec_read)
    if as_text:
        for finding in findings:
            print(printable(str(finding)))
            print(f"  rule: {finding.rule.sentence}")
            print(f"  fix: {finding.rule.fix}")
        if not findings:
            print(f"{printable(file)}: good")
    return findings


def _record(finding: Finding, steps: Steps) -> dict[str, object]:
    return {
        "file": steps[0]["name"],
        "provenance": steps,
        "rule": finding.rule.id,
        "sentence": finding.rule.sentence,
        "evidence": finding.rule.evidence,
        "fix": finding.rule.fix,
        "offset": finding.offset,
        "field": finding.field,
        "message": finding.message,
    }
