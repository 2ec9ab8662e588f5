"""Runs of one target: a seeded mutant, what came out of it, where a finding is kept."""

from __future__ import annotations

import hashlib
import resource
import signal
import time
import traceback
from pathlib import Path
from random import Random
from types import FrameType

from tools.fuzz.seeds import seeds
from tools.fuzz.targets import TARGETS, Target

SECONDS_PER_RUN = 20
#: What a process of the campaign may hold; a run that asks for more is a finding.
_MOST_MEMORY = 4 << 30
STORE = Path(__file__).resolve().parents[2] / ".cache" / "fuzz"

#: Kind, file and line of a fault.
Signature = tuple[str, str, int]


class TooSlowError(BaseException):
    """One run took longer than `SECONDS_PER_RUN` of the processor.

    Readers turn every `Exception` of a library into a fault of a member; this is none of those.
    """


def too_slow(_signal: int, _frame: FrameType | None) -> None:
    """Handles the timer that ends a run."""
    raise TooSlowError(f"more than {SECONDS_PER_RUN} s")


def limit_memory() -> None:
    """Let an allocation that no input deserves fail in this process."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, hard))


def signature(fault: BaseException) -> Signature:
    """What makes two faults the same: kind, file and line of the innermost cause."""
    while fault.__cause__ is not None:
        fault = fault.__cause__
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return type(fault).__name__, frame.filename, frame.lineno or 0


def store(data: bytes, story: str, fault: BaseException, folder: Path) -> Path:
    """Keep a file that broke something, and beside it how it was made and what happened."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:12]}.bin"
    path.write_bytes(data)
    trace = "".join(traceback.format_exception(fault))
    path.with_suffix(".txt").write_text(
        f"{story}\n\n{trace}", encoding="utf-8", errors="backslashreplace"
    )
    return path


def shrunk(name: str, data: bytes) -> bytes:
    """A smaller file with the same finding: pieces are left out, then made zeros.

    Raises:
        ValueError: the file shows no finding.
    """
    target = TARGETS[name]
    wanted = _finding(target, data)
    if wanted is None:
        raise ValueError(f"{name} has no finding in this file")
    for filler in (b"", b"\0"):
        size = len(data) // 2
        while size:
            at = 0
            while at < len(data):
                piece = data[at : at + size]
                tried = data[:at] + filler * len(piece) + data[at + size :]
                if tried != data and _finding(target, tried) == wanted:
                    data = tried
                    at += len(piece) * len(filler)
                else:
                    at += size
            size //= 2
    return data


def _finding(target: Target, data: bytes) -> Signature | None:
    try:
        target(data)
    except (Exception, TooSlowError) as fault:
        return signature(fault)
    return None


def mutants(
    name: str, seed: int, first: int, runs: int | None, seconds: float, folder: Path | None
) -> tuple[int, dict[Signature, Path]]:
    """Damage the seeds of a target until the time or the number of runs is spent.

    Run N of a seed is the same on every machine.

    Returns:
        the number of runs, and the different findings with the files that show them.
    """
    target, sources = TARGETS[name], seeds(name, folder)
    found: dict[Signature, Path] = {}
    signal.signal(signal.SIGPROF, too_slow)
    end = time.monotonic() + seconds
    number = first
    while time.monotonic() < end and number - first != runs:
        chance = Random(f"{name}:{seed}:{number}")
        data, story = chance.choice(sources).mutate(chance)
        signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_RUN)
        try:
            target(data)
        except (Exception, TooSlowError) as fault:
            signal.setitimer(signal.ITIMER_PROF, 0)
            key = signature(fault)
            if key not in found:
                told = f"{name}, seed {seed}, run {number}: {story}"
                found[key] = store(data, told, fault, STORE / name)
                print(f"{found[key]}: {told}\n  {type(fault).__name__}: {fault}", flush=True)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        number += 1
    return number - first, found
