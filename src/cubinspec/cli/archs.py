"""``cubinspec archs``: which GPUs a file runs on, and why."""

from __future__ import annotations

import sys

from cubinspec.cli.options import JSON, WIDE, Arguments, Option, UsageError
from cubinspec.cli.output import print_table, table_width, write_json
from cubinspec.cli.walking import CSV, for_each_image, require_arch, shown, write_csv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers import Image
    from cubinspec.report.archs import Device

USAGE = "FILE... [--require SM [--partly]] [--all] [--json|--csv]"
OPTIONS = (
    Option("--require", value="SM", help="exit with 1 unless every file runs on these GPUs"),
    Option("--partly", help="with --require: a GPU that some of the fatbins serve is enough"),
    Option("--all", help="GPUs that it does not run on, too"),
    WIDE,
    CSV,
    JSON,
)

_HEAD = ("gpu", "generation", "runs", "by", "why")
_CSV_HEAD = ("file", "gpu", "generation", "runs", "units", "served", "rules", "targets")


def run(arguments: Arguments) -> int:
    """Print a table per file, the CSV or the JSON list; check what is required."""
    from cubinspec.report.archs import Facts, device_record, units

    facts = Facts()
    required = _required(arguments, facts.devices)
    accepted = ("yes", "partly") if arguments.flag("--partly") else ("yes",)
    reports: list[dict[str, Any]] = []
    status = 0
    for file in arguments.files():
        found, file_status = _images_of(file)
        status |= file_status
        grouped = units(found)
        targets = sorted({arch for unit in grouped for _, arch in unit.targets})
        if not grouped:
            continue
        reports.append(
            {
                "file": file,
                "units": len(grouped),
                "targets": targets,
                "gpus": [
                    device_record(device, grouped, facts) for device in facts.devices.values()
                ],
            }
        )
    if arguments.flag("--json"):
        write_json(reports)
    elif arguments.flag("--csv"):
        write_csv(_CSV_HEAD, _csv_rows(reports))
    else:
        for report in reports:
            _print(report, required, arguments)
    return 1 if _missing(reports, required, accepted) or (required and not reports) else status


def _images_of(file: str) -> tuple[list[Image], int]:
    """The images of a file whose targets are known, and the exit status."""
    found: list[Image] = []

    def visit(image: Image) -> None:
        require_arch(image)
        found.append(image)

    status = for_each_image([file], visit)
    return found, status


def _required(arguments: Arguments, devices: dict[int, Device]) -> list[str]:
    names = [name for text in arguments.values("--require") for name in text.split(",") if name]
    for name in names:
        number = name.removeprefix("sm_")
        if not number.isdigit() or int(number) not in devices:
            raise UsageError(f"--require needs a GPU such as sm_90, not {name!r}")
    return [f"sm_{name.removeprefix('sm_')}" for name in names]


def _missing(reports: list[dict[str, Any]], required: list[str], accepted: tuple[str, ...]) -> bool:
    """Say on stderr which requirements are not met."""
    failed = False
    for report in reports:
        for record in report["gpus"]:
            if record["gpu"] in required and record["runs"] not in accepted:
                failed = True
                reasons = "; ".join(entry["because"] for entry in record["without"])
                sys.stdout.flush()
                print(
                    f"cubinspec: {shown(report['file'])}: does not run on {record['gpu']} "
                    f"({record['served']} of {record['units']} fatbins do): {reasons}",
                    file=sys.stderr,
                )
    return failed


def _csv_rows(reports: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [
        (
            report["file"],
            *(record[key] for key in ("gpu", "generation", "runs", "units", "served")),
            " ".join(entry["rule"] for entry in record["by"] or record["without"]),
            " ".join(entry["target"] for entry in record["by"]),
        )
        for report in reports
        for record in report["gpus"]
    ]


def _print(report: dict[str, Any], required: list[str], arguments: Arguments) -> None:
    everything = arguments.flag("--all")
    units = report["units"]
    print(f"{shown(report['file'])}: {units} fatbin{'' if units == 1 else 's'} or bare images")
    print(f"  targets: {' '.join(report['targets'])}")
    rows = []
    for record in report["gpus"]:
        if record["runs"] == "no" and not everything and record["gpu"] not in required:
            continue
        ways = record["by"] or record["without"]
        for index, entry in enumerate(ways):
            count = "" if entry["units"] == units else f" ({entry['units']} of {units})"
            head = (record["gpu"], record["generation"], record["runs"])
            rows.append(
                (
                    *(head if index == 0 else ("", "", "")),
                    f"{entry.get('target', '')}{count}",
                    entry["because"],
                )
            )
        if record["runs"] == "partly":
            for entry in record["without"]:
                rows.append(("", "", "", f"none ({entry['units']} of {units})", entry["because"]))
    print_table(_HEAD, rows, frozenset(range(5)), table_width(arguments))
