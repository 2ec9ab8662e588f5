"""Our commands of this checkout beside those of another one, in interleaved pairs.

    python -m tools.bench.against CHECKOUT [--seconds N] [--match TEXT]

CHECKOUT is a folder with another version of this repo (`git worktree add`). Both run with the
Python of this call; ratios above 1 mean that this checkout needs more.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.bench.comparisons import COMPARISONS, PEAK_LIMITS, UNSYNCED, Command
from tools.bench.here import NotHere, resolve
from tools.bench.inputs import ROOT
from tools.bench.measure import CommandFailed, Stopwatch

_SOURCES = ("src", "writer", "generated/python")


def ours() -> list[Command]:
    """Every command of ours that the page measures, once."""
    commands = [comparison.ours for comparison in COMPARISONS]
    commands += [limit.ours for limit in PEAK_LIMITS]
    return list(dict.fromkeys(commands))


def in_checkout(words: list[str], checkout: Path) -> list[str]:
    """The words of a command, run with the modules and scripts of a checkout."""
    path = ":".join(str(checkout / folder) for folder in _SOURCES)
    moved = [word.replace(str(ROOT / "tools"), str(checkout / "tools"), 1) for word in words]
    writing = "".join(
        file.read_text(encoding="utf-8") for file in checkout.glob("src/cubinspec/*files.py")
    )
    if "def set_sync" not in writing:
        moved = [word for word in moved if word != UNSYNCED]  # older ones never wait for the disk
    return ["env", "-u", "PYTHONDONTWRITEBYTECODE", f"PYTHONPATH={path}", *moved]


def main() -> int:
    """Measure and print one line for each command."""
    parser = argparse.ArgumentParser(description="Compare this checkout with another one.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each command")
    parser.add_argument("--match", default="", help="only commands with this text")
    options = parser.parse_args()
    other = options.checkout.resolve()
    stopwatch = Stopwatch()
    print(f"{'wall':>6} {'CPU':>6} {'peak':>6}  rounds  command")
    for command in ours():
        if options.match not in command.label:
            continue
        try:
            words = resolve(command)
            pair = stopwatch.pair(
                in_checkout(words, ROOT), in_checkout(words, other), options.seconds
            )
        except (NotHere, CommandFailed) as error:
            print(f"{'':20}  not measured: {command.label}: {error}")
            continue
        mine, theirs = pair.ours, pair.theirs
        print(
            f"{mine.wall / theirs.wall:6.3f} {mine.cpu / theirs.cpu:6.3f}"
            f" {mine.peak / theirs.peak:6.3f}  {pair.rounds:6}  {command.label}",
            flush=True,
        )
    stopwatch.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
