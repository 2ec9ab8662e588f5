"""What NVIDIA's public ``cuda_occupancy.h`` answers, kept for the tests.

``python -m tools.oracle.occupancy`` fetches the header (CUDA 13.5), compiles a small program around
it with the C++ compiler of the machine, asks it about every architecture of ``arch.yaml`` that it
knows, and writes the answers to ``tests/data/occupancy.xz``. The properties of a device are those
of the table; what the header decides by itself (units, parts, most blocks, barriers) is compared.
"""

from __future__ import annotations

import lzma
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from cubinspec_generated.tables.arch import LIMITS
from tools.oracle import OracleError
from tools.oracle.toolchains import path

ANSWERS = Path(__file__).resolve().parents[2] / "tests" / "data" / "occupancy.xz"
#: What the header answers for an architecture that it does not know.
UNKNOWN = 0xFFFF
Query = tuple[int, int, int, int]

_PROGRAM = r"""
#include <climits>
#include <cstdio>
#include <cstring>
#include "cuda_occupancy.h"
int main() {
  int sm, threads, perSm, regsBlock, regsSm, shBlock, shSm, shOptin, reserved, blocks, n;
  while (scanf("%d %d %d %d %d %d %d %d %d %d", &sm, &threads, &perSm, &regsBlock, &regsSm,
               &shBlock, &shSm, &shOptin, &reserved, &n) == 10) {
    cudaOccDeviceProp p;
    p.computeMajor = sm / 10; p.computeMinor = sm % 10; p.maxThreadsPerBlock = threads;
    p.maxThreadsPerMultiprocessor = perSm; p.regsPerBlock = regsBlock;
    p.regsPerMultiprocessor = regsSm; p.warpSize = 32; p.sharedMemPerBlock = shBlock;
    p.sharedMemPerMultiprocessor = shSm; p.numSms = 1; p.sharedMemPerBlockOptin = shOptin;
    p.reservedSharedMemPerBlock = reserved;
    while (n--) {
      int block, regs, shared, barriers;
      if (scanf("%d %d %d %d", &block, &regs, &shared, &barriers) != 4) return 1;
      cudaOccFuncAttributes a; memset(&a, 0, sizeof a);
      a.maxThreadsPerBlock = threads; a.numRegs = regs; a.numBlockBarriers = barriers;
      a.maxDynamicSharedSizeBytes = shared; a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      cudaOccDeviceState s; memset(&s, 0, sizeof s); s.carveoutConfig = -1;
      cudaOccResult r; memset(&r, 0, sizeof r);
      int status = cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, block, shared);
      printf("%d\n", status ? 0xffff : r.activeBlocksPerMultiprocessor);
    }
  }
}
"""


def queries(sm: int) -> list[Query]:
    """Block size, registers, shared memory and barriers of every question about an architecture."""
    limits = LIMITS[sm]
    most = limits["max_threads_per_block"]
    found: dict[Query, None] = {}
    for block, registers in product(range(32, most + 1, 32), range(257)):
        found[block, registers, 0, 0] = None
    for block, shared in product((1, 33, 64, 250, 256, 512, 1024), _shared_sizes(limits)):
        found[block, 32, shared, 0] = None
    for block, registers, barriers in product((32, 64, 128, 1000), (16, 64, 128), range(17)):
        found[block, registers, 4096, barriers] = None
    return list(found)


def _shared_sizes(limits: dict[str, int]) -> Iterator[int]:
    top = max(limits["max_shared_per_block"], limits["max_shared_per_block_optin"])
    yield from range(0, top + 4096, 97 * 8)
    for edge in (limits["max_shared_per_block"], limits["max_shared_per_block_optin"]):
        yield from range(max(0, edge - 1280), edge + 1281, 64)
        yield from (edge - 1, edge + 1)


def _asked(sm: int) -> str:
    limits, rows = LIMITS[sm], queries(sm)
    head = (
        sm,
        *(limits[name] for name in ("max_threads_per_block", "max_threads_per_sm")),
        *(limits[name] for name in ("max_registers_per_block", "registers_per_sm")),
        *(limits[name] for name in ("max_shared_per_block", "shared_per_sm")),
        *(limits[name] for name in ("max_shared_per_block_optin", "reserved_shared_per_block")),
        len(rows),
    )
    return "\n".join(" ".join(map(str, row)) for row in (head, *rows)) + "\n"


def answers() -> list[list[int]]:
    """The stored answers: a list per architecture of the table, in the order of the questions."""
    data = lzma.decompress(ANSWERS.read_bytes())
    values = [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)]
    found, at = [], 0
    for sm in LIMITS:
        count = len(queries(sm))
        found.append(values[at : at + count])
        at += count
    assert at == len(values), "the questions changed; run python -m tools.oracle.occupancy"
    return found


def ask() -> list[int]:
    """Compile the program and ask it everything.

    Raises:
        OracleError: there is no C++ compiler, or the program could not be made.
    """
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        raise OracleError("no C++ compiler is on this machine")
    header = path("occupancy-13.5.37", "include")
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "ask.cpp"), Path(folder, "ask")
        source.write_text(_PROGRAM, encoding="utf-8")
        command = [compiler, "-O1", "-I", str(header.parent), str(source), "-o", str(program)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise OracleError(made.stderr)
        asked = "".join(map(_asked, LIMITS))
        done = subprocess.run(
            [str(program)], input=asked, capture_output=True, text=True, check=True
        )
    return list(map(int, done.stdout.split()))


def main() -> None:
    """Ask, and write the answers."""
    values = ask()
    assert len(values) == sum(len(queries(sm)) for sm in LIMITS)
    data = b"".join(value.to_bytes(2, "little") for value in values)
    ANSWERS.write_bytes(lzma.compress(data, preset=9))
    print(f"{len(values):,} answers, {ANSWERS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
