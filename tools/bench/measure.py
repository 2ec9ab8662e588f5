"""Whole processes, measured in interleaved pairs: wall time, CPU time, peak memory."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_FOLDERS = re.compile(r"(?<![^\s:'\"(=])/(?:[^\s/:]+/)*")
LEAST_ROUNDS, MOST_ROUNDS = 5, 101


class CommandFailed(Exception):
    """A measured command did not exit with 0."""


@dataclass(frozen=True)
class Run:
    """One process from start to end."""

    wall: float
    """Seconds."""
    cpu: float
    """User plus system seconds."""
    peak: int
    """Largest resident set, bytes."""


@dataclass(frozen=True)
class Pair:
    """Medians of both sides of a comparison over the same rounds."""

    ours: Run
    theirs: Run
    rounds: int


def _reason(argv: Sequence[str]) -> str:
    """What a command that failed says when it is run again.

    Pages show it, and name no folder of the machine that wrote them.
    """
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    if not done.returncode:
        return "run again it does not fail"
    last = done.stderr.strip().splitlines()[-1:] or ["it says nothing"]
    return _FOLDERS.sub("", last[0])


class Stopwatch:
    """Runs commands through the small process of spawn.py."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("spawn.py")
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End the small process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def run(self, argv: Sequence[str]) -> Run:
        """Run a command with its output thrown away.

        Raises:
            CommandFailed: it did not exit with 0.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\0".join(argv) + "\n")
        self._process.stdin.flush()
        code, wall, cpu, peak = self._process.stdout.readline().split()
        if int(code):
            words = " ".join(map(os.path.basename, argv))
            raise CommandFailed(f"{words}: exit status {code}; {_reason(argv)}")
        return Run(float(wall), float(cpu), int(peak))

    def pair(self, ours: Sequence[str], theirs: Sequence[str], seconds: float) -> Pair:
        """Run both in turn until `seconds` have passed; see `in_turn`."""
        (mine, other), rounds = self.in_turn((ours, theirs), seconds)
        return Pair(mine, other, rounds)

    def in_turn(
        self, commands: Sequence[Sequence[str]], seconds: float, least: int = LEAST_ROUNDS
    ) -> tuple[list[Run], int]:
        """Run commands in turn until `seconds` have passed; their medians, and the rounds.

        A round before the first fills the caches and is not counted. Every other round goes through
        them backwards.

        Args:
            least: fewest rounds, however long they take.
        """
        runs: list[list[Run]] = [[] for _ in commands]
        for command in commands:
            self.run(command)
        end = time.perf_counter() + seconds
        rounds = 0
        while rounds < least or (time.perf_counter() < end and rounds < MOST_ROUNDS):
            order = range(len(commands))
            for side in order if rounds % 2 == 0 else order[::-1]:
                runs[side].append(self.run(commands[side]))
            rounds += 1
        return [median(of_one) for of_one in runs], rounds


def median(runs: Sequence[Run]) -> Run:
    """The median of each figure by itself."""
    return Run(
        statistics.median(run.wall for run in runs),
        statistics.median(run.cpu for run in runs),
        int(statistics.median(run.peak for run in runs)),
    )
