"""Starts and measures processes for the bench; a process of its own, and as small as it can be.

A child's peak resident set, as the kernel reports it, is never below the size of the process that
started it. So the one that starts them must be smaller than anything measured: no imports beyond
the built-in ones, run with `-S -E`.

Reads one command per line, its words separated by NUL; answers `status wall cpu peak` with seconds
and bytes.
"""

import os
import sys
import time

NULL = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]

for line in sys.stdin:
    argv = line.rstrip("\n").split("\0")
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=NULL)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    cpu = usage.ru_utime + usage.ru_stime
    print(os.waitstatus_to_exitcode(status), wall, cpu, usage.ru_maxrss * 1024, flush=True)
