"""`python -m tools.fuzz --minutes N`: damage samples until something unexpected comes out.

Every run is reproducible: `--seed S --first I --runs 1` repeats run I of seed S. A damaged file
that raises anything but a `CubinError`, takes too long or yields too much is stored with its story.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import FrameType

from cubinspec import Cubin, CubinError
from cubinspec.cli import main as cubinspec
from tools.corpus import samples
from tools.fuzz.mutate import Mutator
from tools.fuzz.walk import MAX_PRODUCED, walk_everything

COMMANDS = (["kernels", "--all"], ["dump"], ["tree"], ["coverage"], ["kernels", "--json"])
SECONDS_PER_RUN = 20
LARGEST_SAMPLE = 30_000
"""Bytes; larger samples say little more and slow every run down."""

STORE = Path(__file__).resolve().parents[2] / ".cache" / "fuzz"


class TooSlowError(Exception):
    """One run took longer than `SECONDS_PER_RUN`."""


class TooMuchError(Exception):
    """One run yielded more than `MAX_PRODUCED` times its file."""


class BadExitError(Exception):
    """A command ended with a status that does not fit what it said."""


def run_one(data: bytes, place: Path) -> None:
    """Look at everything in one damaged file, and run every command on it.

    Args:
        place: where to write the file for the commands.

    Raises:
        Exception: what must not come out of it.
    """
    place.write_bytes(data)
    for command in COMMANDS:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cubinspec([*command, str(place)])
        if status != bool(err.getvalue()):
            raise BadExitError(f"{' '.join(command)}: status {status}, {err.getvalue()!r}")
    try:
        walk = walk_everything(Cubin.parse(data, "fuzz.cubin"))
    except CubinError:
        return
    if walk.produced > MAX_PRODUCED * len(data):
        raise TooMuchError(f"{walk.produced} from {len(data)} bytes")


def _too_slow(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlowError(f"more than {SECONDS_PER_RUN} s")


def store(data: bytes, story: str, fault: BaseException, folder: Path) -> Path:
    """Keep a file that broke something, and beside it how it was made and what happened."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:12]}.cubin"
    path.write_bytes(data)
    trace = "".join(traceback.format_exception(fault))
    path.with_suffix(".txt").write_text(f"{story}\n\n{trace}", encoding="utf-8")
    return path


def signature(fault: BaseException) -> tuple[str, str, int]:
    """What makes two faults the same: kind, file and line of the innermost cause."""
    while fault.__cause__ is not None:
        fault = fault.__cause__
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return type(fault).__name__, frame.filename, frame.lineno or 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--runs", type=int, help="stop after so many runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--folder", type=Path, default=samples.CUBINS, help="files to damage")
    parser.add_argument("--out", type=Path, default=STORE, help="where findings are kept")
    options = parser.parse_args()

    files = [f for f in sorted(options.folder.glob("*.cubin")) if f.stat().st_size < LARGEST_SAMPLE]
    if not files:
        parser.error(f"no cubins in {options.folder}")
    mutators: dict[Path, Mutator] = {}
    found: dict[tuple[str, str, int], Path] = {}
    signal.signal(signal.SIGALRM, _too_slow)
    end = time.monotonic() + 60 * options.minutes
    number = options.first
    scratch = tempfile.TemporaryDirectory()
    place = Path(scratch.name) / "fuzz.cubin"
    while time.monotonic() < end and number - options.first != options.runs:
        chance = random.Random(f"{options.seed}:{number}")
        file = chance.choice(files)
        if file not in mutators:
            mutators[file] = Mutator(file.read_bytes())
        data, story = mutators[file].mutate(chance)
        signal.alarm(SECONDS_PER_RUN)
        try:
            run_one(data, place)
        except Exception as fault:
            signal.alarm(0)
            key = signature(fault)
            if key not in found:
                told = f"{file.name}, seed {options.seed}, run {number}: {story}"
                found[key] = store(data, told, fault, options.out)
                print(f"{found[key]}: {told}\n  {fault}", flush=True)
        finally:
            signal.alarm(0)
        number += 1
    scratch.cleanup()
    print(f"{number - options.first} runs, {len(found)} different findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
