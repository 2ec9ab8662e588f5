"""``cubinspec archs``: which GPUs a file runs on, and why."""

from __future__ import annotations

import sys

from cubinspec.cli.options import JSON_OPTIONS, WIDE, Arguments, Option, UsageError
from cubinspec.cli.output import complain, print_table, table_width, title
from cubinspec.cli.walking import CSV, for_each_image, shown, write_csv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.report.archs import Device, Inventory

USAGE = "FILE... [--require SM [--partly]] [--why] [--all] [--json|--jsonl|--csv]"
OPTIONS = (
    Option("--require", value="SM", help="exit with 1 unless every kernel has code for these GPUs"),
    Option("--partly", help="with --require: a GPU that some of the kernels have is enough"),
    Option("--why", help="name everything that has no code for the GPUs required, or for any"),
    Option("--all", help="GPUs that it does not run on, too"),
    WIDE,
    CSV,
    *JSON_OPTIONS,
)

_HEAD = ("gpu", "generation", "runs", "by", "why")
_CSV_HEAD = ("file", "gpu", "generation", "runs", "items", "served", "rules", "targets")
#: How many names the complaint about a GPU has without ``--why``.
_NAMED = 3
_NAME_WIDTH = 80
#: Kinds of steps that are files.
_HOLDERS = ("file", "member", "compressed")
#: Lines are not made shorter than this, however narrow the terminal is.
_LEAST_LINE = 20


def run(arguments: Arguments) -> int:
    """Print a table per file, the CSV or the JSON list; check what is required."""
    from cubinspec.report.archs import Facts, archs_record

    facts = Facts()
    required = _required(arguments, facts.devices)
    accepted = ("yes", "partly") if arguments.flag("--partly") else ("yes",)
    why = arguments.flag("--why")
    named = required or ([device.name for device in facts.devices.values()] if why else [])
    reports: list[dict[str, Any]] = []
    status = 0
    for file in arguments.files():
        inventory, file_status = _inventory_of(file)
        status |= file_status
        if inventory.fatbins:
            reports.append(archs_record(file, inventory, facts, named))
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        with Records("archs", arguments) as out:
            for report in reports:
                out.add(report)
    elif arguments.flag("--csv"):
        write_csv(_CSV_HEAD, _csv_rows(reports))
    else:
        for report in reports:
            _print(report, required, arguments)
            if why:
                _print_missing(report, table_width(arguments))
    unmet = _missing(reports, required, accepted)
    return 1 if unmet or (required and not reports) else status


def _inventory_of(file: str) -> tuple[Inventory, int]:
    """The kernels of a file and their targets, and the exit status."""
    from cubinspec.containers.arena import Arena
    from cubinspec.report.archs import Inventory

    arena = Arena()
    inventory = Inventory()
    status = for_each_image(
        [file], lambda image: inventory.add(image, arena), visit=inventory.visit
    )
    return inventory, status


def _required(arguments: Arguments, devices: dict[int, Device]) -> list[str]:
    names = [name for text in arguments.values("--require") for name in text.split(",") if name]
    for name in names:
        number = name.removeprefix("sm_")
        if not number.isdecimal():
            raise UsageError(f"--require needs a GPU such as sm_90, not {name!r}")
        if int(number) not in devices:
            known = " ".join(f"sm_{sm}" for sm in sorted(devices))
            raise UsageError(f"--require: the spec knows no GPU {name!r}; it knows {known}")
    return [f"sm_{int(name.removeprefix('sm_'))}" for name in names]


def _missing(reports: list[dict[str, Any]], required: list[str], accepted: tuple[str, ...]) -> bool:
    """Say on stderr which requirements are not met."""
    failed = False
    for report in reports:
        for record in report["gpus"]:
            if record["gpu"] in required and record["runs"] not in accepted:
                failed = True
                complain(_complaint(report, record))
    return failed


def _complaint(report: dict[str, Any], record: dict[str, Any]) -> str:
    """What one GPU lacks, with the first names."""
    missing = record["missing"]
    names = ", ".join(_short(shown(_name_of(entry))) for entry in missing[:_NAMED])
    if len(missing) > _NAMED:
        names += f" and {len(missing) - _NAMED} more (--why names all)"
    reasons = "; ".join(entry["because"] for entry in record["without"])
    return (
        f"{shown(report['file'])}: does not run on {record['gpu']}: no code for it in "
        f"{len(missing)} of {record['items']} {_what(report)}: {names}: {reasons}"
    )


def _short(name: str) -> str:
    """A name of at most ``_NAME_WIDTH`` characters, without its middle."""
    half = _NAME_WIDTH // 2
    return name if len(name) <= _NAME_WIDTH else f"{name[: half - 1]}…{name[-half:]}"


def _name_of(entry: dict[str, Any]) -> str:
    """The name of a kernel, or the way to a fatbin."""
    if entry["name"] is None:
        return _way([step["name"] for step in entry["provenance"]])
    from cubinspec.report.names import readable

    return readable(entry["name"])


def _way(names: list[str]) -> str:
    return " → ".join(names)


def _what(report: dict[str, Any]) -> str:
    """What is counted, in words."""
    if not report["others"]:
        return "kernels"
    return "kernels and fatbins without kernels" if report["kernels"] else "fatbins"


def _csv_rows(reports: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [
        (
            report["file"],
            *(record[key] for key in ("gpu", "generation", "runs", "items", "served")),
            " ".join(entry["rule"] for entry in record["by"] or record["without"]),
            " ".join(entry["target"] for entry in record["by"]),
        )
        for report in reports
        for record in report["gpus"]
    ]


def _print(report: dict[str, Any], required: list[str], arguments: Arguments) -> None:
    everything = arguments.flag("--all")
    total = report["kernels"] + report["others"]
    width = table_width(arguments)
    print(title(report["file"], width))
    without = f", {report['others']} of them without kernels" if report["others"] else ""
    count = f"{report['kernels']} kernel{_plural(report['kernels'])}"
    many = _plural(report["fatbins"])
    print(f"  {count} in {report['fatbins']} fatbin{many} or file{many} of bare images{without}")
    for line in _lines(["targets:", *report["targets"]], width):
        print(f"  {line}")
    rows = []
    for record in report["gpus"]:
        if record["runs"] == "no" and not everything and record["gpu"] not in required:
            continue
        ways = record["by"] or record["without"]
        for index, entry in enumerate(ways):
            count = "" if entry["items"] == total else f" ({entry['items']} of {total})"
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
                rows.append(("", "", "", f"none ({entry['items']} of {total})", entry["because"]))
    print_table(_HEAD, rows, frozenset(range(5)), width)


def _plural(count: int) -> str:
    return "" if count == 1 else "s"


def _lines(words: list[str], width: int | None) -> list[str]:
    """Words in lines that fit the terminal, each indented by two."""
    if width is None:
        return [" ".join(words)]
    from textwrap import wrap

    return wrap(" ".join(words), max(width - 2, _LEAST_LINE), break_long_words=False)


def _print_missing(report: dict[str, Any], width: int | None) -> None:
    """Every kernel and fatbin that has no code for a GPU, with the targets that it has."""
    lines = []
    for record in report["gpus"]:
        for entry in record["missing"]:
            holder = _way([s["name"] for s in entry["provenance"] if s["kind"] in _HOLDERS])
            is_inside = entry["name"] is not None and holder != report["file"]
            where = f", in {shown(holder)}" if is_inside else ""
            lines.append(
                f"no code for {record['gpu']}: {entry['kind']} {shown(_name_of(entry))}: "
                f"it has {' '.join(entry['targets'])} ({entry['rule']}){where}"
            )
    if width is not None:
        from cubinspec.cli.fit import fit

        lines = fit(lines, width)
    sys.stdout.writelines(f"{line}\n" for line in lines)
