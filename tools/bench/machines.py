"""A scan on several workers: ``python -m tools.bench.machines`` measures it for docs/growth.md.

    python -m tools.bench.machines [FILE] [--rounds N]

`cubinspec scan --dask` reads a library on a cluster of 1, 2 and 4 processes of this machine, in
turn, and once more while one of two is killed in the middle of a task. Each time the rows must be
those of `cubinspec scan --jobs 1`. A log of the workers tells which tasks were begun again.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from cubinspec.output_files import write_file
from cubinspec.scan.run import tasks_for
from tools.bench.comparisons import UNSYNCED
from tools.bench.inputs import INPUTS
from tools.bench.modes import PURE

STORED = Path(__file__).with_name("machines.yaml")
_HEAD = "# What `python -m tools.bench.machines` measured.\n"
WORKERS = (1, 2, 4)
#: Of these one is killed.
WORKERS_KILLED = 2
_BEGUN, _DONE = "executing", "memory"


class WrongRows(Exception):
    """A scan failed, or found other rows than one process does."""


@dataclass
class Run:
    """One scan.

    Attributes:
        wall: seconds from the start of the command to its end.
        cpu: seconds of all workers; of a killed one nothing is known.
        repeated: tasks that were begun more than once.
    """

    wall: float
    cpu: float
    repeated: int


def scan_words(file: str, out: Path, *options: str) -> list[str]:
    """The command that writes the rows of a file."""
    return [str(PURE.cubinspec), "scan", *options, UNSYNCED, "-o", str(out), file]


def scan_on(workers: int, file: str, *, kill: bool = False) -> tuple[Run, Any]:
    """Scan on a new cluster; returns what it took, and the table of rows.

    Args:
        kill: one of the workers, when half of the tasks are done.
    """
    from distributed import Client, LocalCluster

    with (
        TemporaryDirectory() as scratch,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster,
        Client(cluster) as client,
    ):
        log, out = Path(scratch, "log"), Path(scratch, "rows.parquet")
        log.touch()
        client.register_plugin(_log_keeper(str(log)))
        before = sum(client.run(time.process_time).values())
        start = time.perf_counter()
        words = scan_words(file, out, "--dask", cluster.scheduler_address)
        with subprocess.Popen(words) as process:
            if kill:
                _kill_when_half_is_done(log, file, process)
            code = process.wait()
        wall = time.perf_counter() - start
        cpu = sum(client.run(time.process_time).values()) - before
        if code:
            raise WrongRows(f"{' '.join(words)}: exit status {code}")
        begun = Counter(key for _, key, state in _lines(log) if state == _BEGUN)
        repeated = sum(count > 1 for count in begun.values())
        return Run(round(wall, 2), 0 if kill else round(cpu, 2), repeated), table(out)


def _log_keeper(path: str) -> Any:
    """Has every worker append a line when it begins a task, and when it has done one."""
    from distributed import WorkerPlugin

    class Keeper(WorkerPlugin):  # type: ignore[misc]
        def transition(self, key: str, start: str, finish: str, **_: Any) -> None:
            if finish in (_BEGUN, _DONE):
                with open(path, "a") as file:
                    file.write(f"{os.getpid()} {key} {finish}\n")

    return Keeper()


def _lines(log: Path) -> Iterator[tuple[int, str, str]]:
    """Process, task and state of what the workers logged, as far as lines are complete."""
    for line in log.read_text().split("\n")[:-1]:
        number, key, state = line.split()
        yield int(number), key, state


def _kill_when_half_is_done(log: Path, file: str, process: subprocess.Popen[bytes]) -> None:
    """Kill the worker that began a task last."""
    half = len(list(tasks_for(file))) // 2
    while process.poll() is None:
        lines = list(_lines(log))
        if sum(state == _DONE for _, _, state in lines) >= half and lines:
            worker, _, state = lines[-1]
            if state == _BEGUN:
                os.kill(worker, signal.SIGKILL)
                return
        time.sleep(0.002)


def table(out: Path) -> Any:
    """The rows of a parquet file."""
    import pyarrow.parquet

    return pyarrow.parquet.read_table(out)


def measure(file: str, rounds: int) -> dict[str, Any]:
    """All figures of a file.

    Raises:
        WrongRows: a scan failed, or the rows are not equal.
    """
    with TemporaryDirectory() as scratch:
        out = Path(scratch, "rows.parquet")
        start = time.perf_counter()
        subprocess.run(scan_words(file, out, "--jobs", "1"), check=True)
        alone = time.perf_counter() - start
        expected = table(out)
    kinds: list[tuple[str, int, bool]] = [(f"{count}", count, False) for count in WORKERS]
    kinds.append((f"{WORKERS_KILLED}, one killed", WORKERS_KILLED, True))
    found: dict[str, list[Run]] = {label: [] for label, *_ in kinds}
    for _ in range(rounds):
        for label, count, kill in kinds:
            run, rows = scan_on(count, file, kill=kill)
            if not rows.equals(expected):
                raise WrongRows(f"{label} workers find other rows than one process")
            found[label].append(run)
    return {
        "rounds": rounds,
        "bytes": os.stat(file).st_size,
        "tasks": len(list(tasks_for(file))),
        "rows": expected.num_rows,
        "alone": round(alone, 2),
        "workers": {label: asdict(_medians(runs)) for label, runs in found.items()},
    }


def _medians(runs: list[Run]) -> Run:
    """Medians of times; of repeated tasks the most."""
    return Run(
        statistics.median(run.wall for run in runs),
        statistics.median(run.cpu for run in runs),
        max(run.repeated for run in runs),
    )


def section(found: dict[str, Any]) -> str:
    """The part of docs/growth.md about workers."""
    first = found["workers"][f"{WORKERS[0]}"]["wall"]
    lines = [
        f"`cubinspec scan --dask` of {found['bytes']:,} bytes (`library` of the page about "
        f"performance): {found['tasks']} tasks, {found['rows']:,} rows. The rows were equal to "
        f"those of `--jobs 1` each time, which takes {found['alone']} s. "
        f"Rounds: {found['rounds']}.",
        "",
        "| workers | wall time | CPU time of the workers | speed-up | tasks begun twice |",
        "|---|---|---|---|---|",
    ]
    for label, run in found["workers"].items():
        cpu = f"{run['cpu']} s" if run["cpu"] else "not known"
        speed = f"{first / run['wall']:.2f}"
        lines.append(f"| {label} | {run['wall']} s | {cpu} | {speed} | {run['repeated']} |")
    return "\n".join(lines) + "\n"


def load() -> dict[str, Any] | None:
    """What was measured last."""
    if not STORED.exists():
        return None
    stored: dict[str, Any] = yaml.safe_load(STORED.read_text("utf-8"))
    return stored


def main() -> int:
    """Measure, keep what was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.machines", description=__doc__)
    parser.add_argument("file", nargs="?", help="a library (default: the one of the bench)")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = measure(options.file or str(INPUTS["library"].make()), options.rounds)
    print(section(found))
    if options.file is None:
        text = yaml.safe_dump(found, sort_keys=False)
        write_file(STORED, (_HEAD + text).encode())
        print("python -m tools.bench.curves --page writes it into docs/growth.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
