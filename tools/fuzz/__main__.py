"""`python -m tools.fuzz`: damage files until something unexpected comes out of the package.

    python -m tools.fuzz --minutes 2                  every target, the same mutants each time
    python -m tools.fuzz --hours 8 --guided           also by coverage, with a kept corpus
    python -m tools.fuzz --target cubin --seed 3 --first 12 --runs 1      one run again
    python -m tools.fuzz --target cubin --shrink FILE     as little of a finding as still shows it
    python -m tools.fuzz --minimise        keep of the corpora what reaches something new
    python -m tools.fuzz --page                       docs/robustness.md out of what was counted

A damaged file that raises anything but a `CubinError`, breaks a promise or takes too long is stored
in `.cache/fuzz` with its story. `--count` adds what was run to `tools/fuzz/campaign.yaml`, out of
which the page is written. `--minimise` also writes `tools/fuzz/corpus.tar.xz`, with which guided
runs begin where there is no corpus yet.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.fuzz import corpus, report
from tools.fuzz.run import STORE, limit_memory, mutants, shrunk
from tools.fuzz.targets import TARGETS

_UNITS = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_EDGES = re.compile(r"cov: (\d+)")
#: Code that tells which branches it takes is slow.
_GUIDED_SECONDS_PER_RUN = 120
#: Bytes of a guided input; files of a folder may be larger.
_LARGEST_INPUT = 1 << 16


def guided(name: str, seconds: int, folder: Path | None) -> report.Count:
    """Runs of a target in a process of their own, guided by coverage; the corpus is kept."""
    grown = corpus.grown(name)
    sizes = [path.stat().st_size for path in folder.iterdir()] if folder else []
    options = [f"-max_total_time={seconds}", "-print_final_stats=1"]
    options.append(f"-max_len={max(_LARGEST_INPUT, *sizes, 0)}")
    options.append(f"-timeout={_GUIDED_SECONDS_PER_RUN}")
    begun = _cpu_seconds()
    done = _run_guided(name, grown, options, folder)
    units, edges = _UNITS.search(done.stderr), _EDGES.findall(done.stderr)
    findings = [line for line in done.stdout.splitlines() if str(STORE) in line]
    for line in findings:
        print(line, flush=True)
    if units is None or done.returncode:
        print(f"{name}: {done.stderr[-2000:]}", file=sys.stderr)
        return report.Count(findings=1)
    return report.Count(
        guided_runs=int(units[1]),
        guided_seconds=round(_cpu_seconds() - begun),
        edges=max(map(int, edges), default=0),
        findings=len(findings),
    )


def minimise(name: str) -> tuple[int, int]:
    """Keep of a target's corpus the fewest and smallest files that reach the same branches.

    Returns:
        how many files there were, and how many are left.

    Raises:
        RuntimeError: libFuzzer did not end its merge; the corpus is as it was.
    """
    grown = corpus.grown(name)
    small = grown.with_name(f"{name}.small")
    shutil.rmtree(small, ignore_errors=True)
    small.mkdir(parents=True)
    before = len(list(grown.iterdir()))
    done = _run_guided(name, small, [str(grown), "-merge=1"], None)
    after = len(list(small.iterdir()))
    if done.returncode or not after:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    shutil.rmtree(grown)
    small.rename(grown)
    return before, after


def _run_guided(
    name: str, files: Path, options: list[str], folder: Path | None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.fuzz.guided", name, str(files), *options]
    environment = os.environ | ({"SEEDS": str(folder)} if folder else {})
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def _cpu_seconds() -> float:
    """Of all processes that were waited for. Time in which a campaign stood still is not work."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seeded(name: str, options: argparse.Namespace, seconds: float) -> report.Count:
    """Runs of a target in this process."""
    begun = time.process_time()
    runs, found = mutants(name, options.seed, options.first, options.runs, seconds, options.folder)
    return report.Count(runs=runs, seconds=round(time.process_time() - begun), findings=len(found))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="for all targets together")
    parser.add_argument("--hours", type=float, help="the same in hours")
    parser.add_argument("--runs", type=int, help="stop each target after so many runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--target", choices=TARGETS, action="append", help="only these targets")
    parser.add_argument("--folder", type=Path, help="more files to damage: wheels, libraries")
    parser.add_argument("--shrink", type=Path, help="write FILE.small, as small as it can be")
    parser.add_argument("--guided", action="store_true", help="half of the time with atheris")
    parser.add_argument("--count", action="store_true", help="add what was run to campaign.yaml")
    parser.add_argument("--minimise", action="store_true", help="the kept corpus, and stop")
    parser.add_argument("--page", action="store_true", help="write docs/robustness.md and stop")
    options = parser.parse_args()
    if options.page:
        report.write_page()
        return 0
    limit_memory()
    names = options.target or list(TARGETS)
    if options.minimise:
        for name in filter(lambda name: corpus.grown(name).is_dir(), names):
            before, after = minimise(name)
            print(f"{name}: {before} files, {after} of them kept", flush=True)
        print(f"{corpus.keep()} files are in {corpus.ARCHIVE.name}")
        return 0
    if options.shrink:
        small = shrunk(names[0], options.shrink.read_bytes())
        options.shrink.with_suffix(".small").write_bytes(small)
        print(f"{len(small)} bytes show it, too")
        return 0
    seconds = 60 * (60 * options.hours if options.hours else options.minutes) / len(names)
    findings = 0
    for name in names:
        counts = [seeded(name, options, seconds / 2 if options.guided else seconds)]
        if options.guided:
            counts.append(guided(name, max(int(seconds / 2), 1), options.folder))
        for count in counts:
            findings += count.findings
            if options.count:
                report.add(name, count)
        told = ", ".join(f"{count.runs or count.guided_runs} runs" for count in counts)
        print(f"{name}: {told}", flush=True)
    print(f"{findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
