"""``cubinspec scan``: an inventory of many files as one table."""

from __future__ import annotations

import sys

from cubinspec.cli.options import JSON, Arguments, Option, UsageError
from cubinspec.cli.output import report
from cubinspec.cli.progress import Progress
from cubinspec.cli.walking import CSV, shown
from cubinspec.errors import CubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

USAGE = "PATH... -o OUT.parquet [--jobs N | --dask ADDRESS] | PATH... --json|--csv"
OPTIONS = (
    Option("-o", "--output", value="FILE", help="write parquet (needs pyarrow)"),
    Option("-j", "--jobs", value="N", help="processes (default: all cores)"),
    Option("--dask", value="ADDRESS", help="scan on the Dask cluster with this scheduler"),
    Option("--schema", help="print the columns and stop"),
    CSV,
    JSON,
)


def run(arguments: Arguments) -> int:
    """Scan and write."""
    if arguments.flag("--schema"):
        from cubinspec.scan.schema import COLUMNS

        for name, kind, meaning in COLUMNS:
            print(f"{name:<14} {kind:<7} {meaning}")
        return 0
    paths = arguments.files()
    output = arguments.value("--output")
    text = arguments.flag("--json") or arguments.flag("--csv")
    if (output is None) == (not text):
        raise UsageError("say one of -o FILE, --json and --csv")
    jobs = arguments.integer("--jobs")
    dask = arguments.value("--dask")
    if jobs is not None and (jobs < 1 or dask is not None):
        raise UsageError("--jobs needs a positive number, and not --dask")
    try:
        batches = _batches(paths, jobs, dask)
        if output is not None:
            return _to_parquet(batches, output)
        return _to_text(batches, as_json=arguments.flag("--json"))
    except CubinError as error:
        report(error)
        return 1


def _batches(paths: list[str], jobs: int | None, dask: str | None) -> Iterator[list[Any]]:
    from cubinspec.scan.parallel import usable_cores
    from cubinspec.scan.run import clean, scan, scan_on_dask

    if dask is not None:
        found = scan_on_dask(paths, dask)
    else:
        found = scan(paths, jobs=usable_cores() if jobs is None else jobs)
    return map(clean, found)


class _Tally:
    """Counts what comes and reports the faults."""

    def __init__(self) -> None:
        self.images = 0
        self.kernels = 0
        self.faults = 0
        self._progress = Progress("images")

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Count rows."""
        for row in rows:
            if row["record"] == "image":
                self.images += 1
                self._progress.step(row["file"])
            elif row["record"] == "kernel":
                self.kernels += 1
            else:
                self.faults += 1
                self._progress.clear()
                print(f"cubinspec: {shown(row['error'])}", file=sys.stderr)

    def finish(self) -> int:
        """Say what was found; the exit status."""
        self._progress.clear()
        summary = f"cubinspec: {self.images} images with {self.kernels} kernels"
        if self.faults:
            summary += f"; {self.faults} could not be read"
        print(summary, file=sys.stderr)
        return 1 if self.faults else 0


def _to_parquet(batches: Iterator[list[Any]], output: str) -> int:
    from cubinspec.scan.run import ParquetFile

    tally = _Tally()
    file = ParquetFile(output)
    try:
        for rows in batches:
            tally.add(rows)
            file.write(rows)
        file.close()
    except BaseException:
        file.discard()
        raise
    return tally.finish()


def _to_text(batches: Iterator[list[Any]], *, as_json: bool) -> int:
    from cubinspec.scan.schema import NAMES

    tally = _Tally()
    rows: list[dict[str, Any]] = []
    for batch in batches:
        tally.add(batch)
        rows.extend(batch)
    # tasks end in any order; a text that people compare should not
    rows.sort(key=lambda row: (row["file"], row.get("image") or 0, row["record"]))
    if as_json:
        from cubinspec.cli.output import write_json

        write_json([{name: row.get(name) for name in NAMES} for row in rows])
    else:
        from cubinspec.cli.walking import write_csv

        write_csv(NAMES, [[row.get(name) for name in NAMES] for row in rows])
    return tally.finish()
