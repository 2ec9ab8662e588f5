"""``cubinspec scan``: an inventory of many files as one table."""

from __future__ import annotations

import sys

from cubinspec.cli.options import JSON_OPTIONS, Arguments, Option, UsageError
from cubinspec.cli.output import complain, report
from cubinspec.cli.progress import Progress
from cubinspec.cli.walking import CSV
from cubinspec.errors import CubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

USAGE = "PATH... -o OUT.parquet | PATH... --json|--jsonl|--csv [--jobs N | --dask ADDRESS]"
OPTIONS = (
    Option("-o", "--output", value="FILE", help="write parquet (needs pyarrow)"),
    Option("-j", "--jobs", value="N", help="processes (default: all cores)"),
    Option("--dask", value="ADDRESS", help="scan on the Dask cluster with this scheduler"),
    Option("--relocatable", help="kernels of inputs of a device link, too"),
    Option("--schema", help="print the columns and stop"),
    CSV,
    *JSON_OPTIONS,
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
    text = arguments.wants_json or arguments.flag("--csv")
    if (output is None) == (not text):
        raise UsageError("say one of -o FILE, --json, --jsonl and --csv")
    jobs = arguments.integer("--jobs")
    dask = arguments.value("--dask")
    if jobs is not None and (jobs < 1 or dask is not None):
        raise UsageError("--jobs needs a positive number, and not --dask")
    try:
        tally = _Tally(paths)
        batches = _batches(arguments, jobs, dask, tally)
        if output is not None:
            return _to_parquet(batches, output, tally)
        if arguments.wants_json:
            return _to_json(batches, tally, arguments)
        return _to_csv(batches, tally)
    except CubinError as error:
        report(error)
        return 1


def _batches(
    arguments: Arguments, jobs: int | None, dask: str | None, tally: _Tally
) -> Iterator[list[Any]]:
    from cubinspec.scan.parallel import usable_cores
    from cubinspec.scan.run import scan, scan_on_dask

    paths, relocatable = arguments.files(), arguments.flag("--relocatable")
    if dask is not None:
        return scan_on_dask(paths, dask, step=tally.step, relocatable=relocatable)
    cores = usable_cores() if jobs is None else jobs
    return scan(paths, jobs=cores, step=tally.step, relocatable=relocatable)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


class _Tally:
    """Counts what comes and reports the faults."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths
        self.images = 0
        self.kernels = 0
        self.faults = 0
        self._files: set[str] = set()
        self._progress = Progress("images")

    def step(self, rows: list[dict[str, Any]]) -> None:
        """Show that a file was read; the rows of another one may be written first."""
        if rows:
            self._progress.step(rows[0]["file"], sum(row["record"] == "image" for row in rows))

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Count rows, in their order."""
        for row in rows:
            self._files.add(row["file"])
            if row["record"] == "image":
                self.images += 1
            elif row["record"] == "kernel":
                self.kernels += 1
            else:
                self.faults += 1
                self._progress.clear()
                complain(row["error"])

    def finish(self) -> int:
        """Say what was found, and in which of the paths nothing was; the exit status."""
        self._progress.clear()
        summary = (
            f"cubinspec: {_counted(self.images, 'image')} with {_counted(self.kernels, 'kernel')}"
        )
        if self.faults:
            summary += f"; {self.faults} could not be read"
        print(summary, file=sys.stderr)
        return 1 if self._report_empty() or self.faults else 0

    def _report_empty(self) -> bool:
        """Say which paths held nothing; whether there was one."""
        import os

        from cubinspec.cli.walking import nothing_in
        from cubinspec.errors import NotCubinError

        empty = False
        for path in self._paths:
            below = os.path.join(path, "")
            if any(file == path or file.startswith(below) for file in self._files):
                continue
            empty = True
            if "://" in path:
                report(NotCubinError("no device code was found in it", file=path))
            else:
                report(nothing_in(path, "device code"))
        return empty


def _to_parquet(batches: Iterator[list[Any]], output: str, tally: _Tally) -> int:
    from cubinspec.scan.run import ParquetFile

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


def _to_json(batches: Iterator[list[Any]], tally: _Tally, arguments: Arguments) -> int:
    from cubinspec.cli.json_output import Records
    from cubinspec.scan.rows import json_row
    from cubinspec.scan.run import clean

    with Records("scan", arguments) as out:
        for rows in map(clean, batches):
            tally.add(rows)
            for row in rows:
                out.add(json_row(row))
    return tally.finish()


def _to_csv(batches: Iterator[list[Any]], tally: _Tally) -> int:
    from cubinspec.cli.walking import write_csv
    from cubinspec.scan.run import clean
    from cubinspec.scan.schema import NAMES

    def lines() -> Iterator[list[object]]:
        for rows in map(clean, batches):
            tally.add(rows)
            for row in rows:
                yield [row.get(name) for name in NAMES]

    write_csv(NAMES, lines())
    return tally.finish()
