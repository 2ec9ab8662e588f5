"""`make bench`: measure every comparison and write docs/performance.md."""

from __future__ import annotations

import argparse
import compileall
import os
import subprocess
import sys
from dataclasses import dataclass

from tools import oracle
from tools.bench.comparisons import (
    COMPARISONS,
    INSIDE,
    PEAK_LIMITS,
    Command,
    Comparison,
    Inside,
    PeakLimit,
)
from tools.bench.here import NotHere, empty_scratch, machine, resolve
from tools.bench.inputs import INPUTS, ROOT
from tools.bench.measure import LEAST_ROUNDS, CommandFailed, Run, Stopwatch
from tools.bench.modes import COMPILED, PACKAGES, PURE, Mode, modes, output

PAGE = ROOT / "docs" / "performance.md"
#: `--quick` takes no input that commands need seconds for, and fewer rounds.
NOT_QUICK = frozenset(("library", "library_before", "big", "sections_66k", "sections_200k"))
QUICK_ROUNDS = 3


@dataclass
class Row:
    """One line of the page."""

    group: str
    cells: tuple[str, ...]
    met: bool | None


def compare(
    stopwatch: Stopwatch, comparison: Comparison, seconds: float, least: int = LEAST_ROUNDS
) -> list[Row]:
    """Measure one comparison; one row for each mode of ours, measured in the same rounds."""
    group, theirs = comparison.group, comparison.theirs
    limits = {PURE: comparison.limit, COMPILED: comparison.compiled or comparison.limit}
    load = os.getloadavg()[0]
    empty_scratch()
    try:
        chosen = modes()
        commands = [resolve(comparison.ours, mode) for mode in chosen]
        peers = [resolve(theirs, mode if theirs.has_modes else PURE) for mode in chosen]
        written = {output(command) for command in commands} if len(chosen) > 1 else set()
        # A peer without modes is run once per round.
        every = [*commands, *(peers if theirs.has_modes else peers[:1])]
        medians, rounds = stopwatch.in_turn(every, seconds, least)
    except (NotHere, CommandFailed) as error:
        failed = (comparison.ours.label, theirs.label, "", "", "", f"not measured: {error}")
        return [Row(group, (*failed, _limit(comparison.limit), "", ""), None)]
    rows = []
    for at, mode in enumerate(chosen):
        mine, peer = medians[at], medians[len(chosen) + at * theirs.has_modes]
        limit = limits[mode]
        ratio = mine.wall / peer.wall
        met = limit is None or ratio <= limit
        cell = f"{'' if met else '**'}{ratio:.2f}{'' if met else '**'} ({_cpu_ratio(mine, peer)})"
        if len(written) > 1:
            met, cell = False, "**the modes write different bytes**"
        sides = (mode.label, _side(mine), _side(peer))
        labels = (comparison.ours.label, theirs.label)
        cells = (*labels, *sides, cell, _limit(limit), str(rounds), f"{load:.1f}")
        rows.append(Row(group, cells, met))
    return rows


def _limit(limit: float | None) -> str:
    return "" if limit is None else f"≤ {limit:g}"


def _side(run: Run) -> str:
    return f"{_seconds(run.wall)}, {_seconds(run.cpu)}, {run.peak / 2**20:.0f} MiB"


def _seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def _cpu_ratio(ours: Run, theirs: Run) -> str:
    return f"{ours.cpu / theirs.cpu:.2f}" if theirs.cpu else "-"


def peak(stopwatch: Stopwatch, limit: PeakLimit, mode: Mode = PURE) -> Row:
    """Measure one limit on memory."""
    try:
        argv = resolve(limit.ours, mode)
        stopwatch.run(argv)
        found = stopwatch.run(argv).peak
        bare = stopwatch.run([sys.executable, "-c", "pass"]).peak
        if limit.times_file is not None:
            factor, name = limit.times_file
            INPUTS[name].make()
            allowed = int(factor * (INPUTS[name].size or 0))
            text = f"≤ {factor:g} × the file = {allowed / 2**20:.1f} MiB"
        elif limit.times_peer is not None:
            times, peer = limit.times_peer
            allowed = int(times * stopwatch.run(resolve(peer)).peak)
            text = f"≤ {times:g} × {peer.label} = {allowed / 2**20:.1f} MiB"
        else:
            assert limit.bytes is not None
            allowed = limit.bytes
            text = f"≤ {allowed / 2**20:.0f} MiB"
    except (NotHere, CommandFailed) as error:
        return Row(limit.group, (limit.ours.label, "", f"not measured: {error}", ""), None)
    return Row(
        limit.group,
        (
            limit.ours.label,
            mode.label,
            f"{found / 2**20:.1f} MiB (bare Python {bare / 2**20:.1f} MiB)",
            text,
        ),
        found <= allowed,
    )


def inside(wanted: Inside, seconds: float, mode: Mode = PURE) -> Row:
    """Measure two functions in one process: their ratio, and ours alone where that has a limit."""
    labels = (f"link {wanted.name}, in-process", f"nvJitLink {wanted.name}, in-process")
    bound = wanted.compiled or wanted.limit if mode is COMPILED else wanted.limit
    limit, load = _limit(bound), os.getloadavg()[0]
    try:
        files = resolve(Command("", (f"{{{wanted.name}}}",)))
        home = str(oracle.cuda_home())
        command = [str(mode.python), "-m", "tools.bench.inside", home, str(seconds), *files]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            raise CommandFailed(" ".join(last))
    except (NotHere, CommandFailed) as error:
        cells = (*labels, mode.label, "", "", f"not measured: {error}", limit, "", "")
        return Row(wanted.group, cells, None)
    ours, theirs, rounds = done.stdout.split()
    ratio = float(ours) / float(theirs)
    met = bound is None or ratio <= bound
    if wanted.seconds is not None:
        met = met and float(ours) <= wanted.seconds
        limit = f"{limit} ours ≤ {_seconds(wanted.seconds)}".strip()
    cell = f"{'' if met else '**'}{ratio:.2f}{'' if met else '**'}"
    sides = (mode.label, _precise(float(ours)), _precise(float(theirs)))
    return Row(wanted.group, (*labels, *sides, cell, limit, rounds, f"{load:.1f}"), met)


def _precise(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else _seconds(seconds)


def page(rows: list[Row], peaks: list[Row], about: list[str]) -> str:
    """docs/performance.md."""
    missed = sum(row.met is False for row in (*rows, *peaks))
    absent = sum(row.met is None for row in (*rows, *peaks))
    out = [
        "# Performance",
        "",
        "Written by `make bench`; do not edit. Whole processes are measured, output thrown away,",
        "in interleaved pairs in one call; figures are medians. A cell reads wall time, CPU time",
        "(user and system), peak resident memory. The ratio is ours to the peer's wall time, in",
        "parentheses that of CPU time; a ratio in bold misses its limit. What of ours writes files",
        "runs with `--no-fsync`, as no peer waits for the disk.",
        "",
        "Mode `pure` is the checkout, `compiled` an installed wheel with those modules compiled",
        "that pyproject.toml lists (`make test-compiled`), in the same rounds. What commands write",
        "and print is compared byte for byte between the two. Beside the mode stands the version",
        "of Python, in the last column the load average when the row began. How cost grows with",
        "size is on [a page of its own](growth.md), with pictures.",
        "",
        *(f"- {line}" for line in about),
        f"- {len(rows) + len(peaks)} promises: {missed} missed, {absent} not measured",
        "",
        "Inputs, made by `ptxas` from generated PTX, `library` from a public wheel:",
        "",
    ]
    for entry in INPUTS.values():
        size = "not made" if entry.size is None else f"{entry.size:,} bytes"
        out.append(f"- `{entry.name}`: {entry.about}; {size}")
    for group in dict.fromkeys(row.group for row in (*rows, *peaks)):
        out += ["", f"## {group}", ""]
        chosen = [row for row in rows if row.group == group]
        if chosen:
            out += [
                "| ours | peer | mode | ours: wall, CPU, peak | peer: wall, CPU, peak "
                "| ratio (CPU) | limit | rounds | load |",
                "|---|---|---|---|---|---|---|---|---|",
            ]
            out += ["| " + " | ".join(row.cells) + " |" for row in chosen]
        chosen = [row for row in peaks if row.group == group]
        if chosen:
            out += ["", "| ours | mode | peak memory | limit |", "|---|---|---|---|"]
            for row in chosen:
                label, mode, value, limit = row.cells
                shown = value if row.met else f"**{value}**"
                out.append(f"| {label} | {mode} | {shown} | {limit} |")
    return "\n".join(out) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=20, help="time for one comparison (default 20)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="commands that have TEXT")
    parser.add_argument(
        "--print", action="store_true", help="print the page instead of writing docs/"
    )
    parser.add_argument(
        "--quick", action="store_true", help="some rounds of what needs no large input"
    )
    options = parser.parse_args()

    # As pip leaves an installation; without it every start of ours would compile what was edited.
    for folder in PACKAGES:
        compileall.compile_dir(str(folder), quiet=2)
    about = machine()
    stopwatch = Stopwatch()
    rows, peaks = measured(stopwatch, options.seconds, options.only, options.quick)
    stopwatch.close()
    text = page(rows, peaks, about)
    if options.print or options.only or options.quick:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 1 if any(row.met is False for row in (*rows, *peaks)) else 0


def measured(
    stopwatch: Stopwatch, seconds: float, only: str, is_quick: bool
) -> tuple[list[Row], list[Row]]:
    """The rows of times and those of memory, as far as they are wanted."""

    def is_wanted(label: str, *commands: Command) -> bool:
        words = {word.strip("{}") for command in commands for word in command.argv}
        return only in label and not (is_quick and words & NOT_QUICK)

    rows: list[Row] = []
    for comparison in COMPARISONS:
        label = f"{comparison.ours.label} | {comparison.theirs.label}"
        if not is_wanted(label, comparison.ours, comparison.theirs):
            continue
        least = QUICK_ROUNDS if is_quick else LEAST_ROUNDS
        for row in compare(stopwatch, comparison, seconds, least):
            rows.append(row)
            print(f"{label} | {row.cells[2]} | {row.cells[5]} {row.cells[6]}", file=sys.stderr)
    for wanted in INSIDE:
        if not is_wanted(f"link {wanted.name}, in-process"):
            continue
        for mode in modes():
            rows.append(inside(wanted, seconds, mode))
            cells = rows[-1].cells
            print(f"{cells[0]} | {cells[2]} | {cells[5]} {cells[6]}", file=sys.stderr)
    peaks = [
        peak(stopwatch, limit, mode)
        for limit in PEAK_LIMITS
        if is_wanted(limit.ours.label, limit.ours)
        for mode in modes()
    ]
    return rows, peaks


if __name__ == "__main__":
    sys.exit(main())
