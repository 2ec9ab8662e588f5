"""Our linker and nvJitLink as functions in one process: no start-up, no files.

    python -m tools.bench.inside TOOLKIT SECONDS CUBIN ...

TOOLKIT is the folder with NVIDIA's library, as the Python with compiled modules has none.

Prints the medians of both in seconds and the number of rounds; the two take turns.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cubinspec_writer.linker import LinkOptions, Named, link
from tools.oracle import nvjitlink

_LIBRARY = "lib/libnvJitLink.so.13"
_ARCH = "sm_90"
_MOST_ROUNDS = 101


def measure(library: Path, paths: list[Path], seconds: float) -> tuple[float, float, int]:
    """Medians of ours and of nvJitLink, and the number of rounds."""
    inputs = [Named(str(path), path.read_bytes()) for path in paths]
    blobs = [named.data for named in inputs]
    sides: tuple[Callable[[], object], Callable[[], object]] = (
        lambda: link(inputs, LinkOptions(_ARCH)),
        lambda: nvjitlink.link_bytes(library, [f"-arch={_ARCH}"], blobs),
    )
    times: tuple[list[float], list[float]] = ([], [])
    for side in sides:
        side()
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or (time.perf_counter() < end and rounds < _MOST_ROUNDS):
        order = list(zip(sides, times, strict=True))
        for side, taken in order if rounds % 2 == 0 else order[::-1]:
            start = time.perf_counter()
            side()
            taken.append(time.perf_counter() - start)
        rounds += 1
    return statistics.median(times[0]), statistics.median(times[1]), rounds


if __name__ == "__main__":
    toolkit, duration, *words = sys.argv[1:]
    print(*measure(Path(toolkit, _LIBRARY), [Path(word) for word in words], float(duration)))
