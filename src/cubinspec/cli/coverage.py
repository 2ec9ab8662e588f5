"""``cubinspec coverage``: how much of a file the spec explains."""

from __future__ import annotations

from cubinspec.cli.options import JSON_OPTIONS, WIDE, Arguments, Option
from cubinspec.cli.output import print_table, printable, table_width, title
from cubinspec.cli.picking import PICK, for_each_picked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USAGE = "FILE... [--sum] [--json|--jsonl]"
OPTIONS = (
    *PICK,
    Option("--sum", help="one table for all files together, with shares"),
    WIDE,
    *JSON_OPTIONS,
)


def run(arguments: Arguments) -> int:
    """Print the sums."""
    from cubinspec.report.coverage import coverage_record

    if arguments.wants_json:
        from cubinspec.cli.json_output import Records, with_way

        with Records("coverage", arguments) as out:
            return for_each_picked(
                arguments,
                arguments.files(),
                lambda cubin, steps: out.add(with_way(coverage_record(cubin), steps)),
            )
    records: list[dict[str, Any]] = []
    status = for_each_picked(
        arguments, arguments.files(), lambda cubin, _: records.append(coverage_record(cubin))
    )
    if records and arguments.flag("--sum"):
        _print_sum(records)
    elif records:
        _print(records, table_width(arguments))
    return status


def _print(records: list[dict[str, Any]], width: int | None) -> None:
    kinds = sorted({kind for record in records for kind in record["opaque"]})
    rows, counts = [], []
    for record in records:
        numbers = [record["size"], record["named"]]
        numbers += [record["opaque"].get(kind, 0) for kind in kinds]
        numbers += [record["padding"], record["unclaimed"]]
        counts.append(numbers)
        rows.append((*map(_grouped, numbers), printable(record["file"])))
    if len(rows) > 1:
        sums = map(sum, zip(*counts, strict=True))
        rows.append((*map(_grouped, sums), f"all {len(rows)} files"))
    words = ("size", "named", *kinds, "padding", "unclaimed")
    numbers_width = sum(
        max(map(len, (word, *cells))) + 2
        for word, cells in zip(words, zip(*rows, strict=True), strict=False)
    )
    if width is not None and numbers_width > width:
        for row in rows:
            print(title(row[-1], width))
            print_table(("bytes", "of"), list(zip(row, words, strict=False)), frozenset((1,)))
        return
    print_table((*words, "file"), rows, frozenset((len(words),)), width)


def _grouped(number: int) -> str:
    return f"{number:,}"


def _print_sum(records: list[dict[str, Any]]) -> None:
    size = sum(record["size"] for record in records)
    kinds = sorted({kind for record in records for kind in record["opaque"]})
    parts = [
        ("named fields", sum(record["named"] for record in records)),
        *(
            (f"opaque: {kind}", sum(record["opaque"].get(kind, 0) for record in records))
            for kind in kinds
        ),
        ("zero padding", sum(record["padding"] for record in records)),
        ("unclaimed", sum(record["unclaimed"] for record in records)),
        (f"all of {len(records)} files", size),
    ]
    rows = [(name, f"{count:,}", f"{100 * count / size:.2f} %") for name, count in parts]
    print_table(("bytes of", "count", "share"), rows, frozenset((0,)))
