"""``cubinspec kernels`` on what is not a plain cubin: libraries, wheels, folders, …"""

from __future__ import annotations

import functools
import sys

from cubinspec.cli.output import report
from cubinspec.cli.progress import Progress
from cubinspec.cli.walking import nothing_in
from cubinspec.scan.parallel import MIN_PARALLEL_BYTES, usable_cores, work_on_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cubinspec.containers import Image
    from cubinspec.containers.arena import Arena
    from cubinspec.model.cubin import Cubin


def read_container(
    file: str,
    read: Callable[[Cubin, bool], list[Any]],
    every: bool,
    architecture: frozenset[str] | None,
    jobs: int | None,
    take: Callable[[str, list[Any]], None],
) -> int:
    """Read every cubin in a file or folder; faults are reported and the others go on.

    Returns:
        How many images could not be read; 1 when there was no cubin at all.

    Raises:
        FileAccessError: the file cannot be opened.
    """
    import os

    if jobs is None:
        large = not os.path.isdir(file) and os.path.getsize(file) >= MIN_PARALLEL_BYTES
        jobs = usable_cores() if large else 1
    faults = total = cubins = 0
    work = functools.partial(_work, read, every, architecture)
    with Progress("images") as progress:
        for _, result, error in work_on_file(file, work, jobs):
            total += 1
            if error is not None:
                progress.clear()
                report(error)
                faults += 1
            elif type(result) is tuple:
                path, is_cubin, rows = result
                progress.step(path)
                cubins += is_cubin
                if rows is not None:
                    progress.clear()
                    take(path, rows)
    if faults and total > 1:
        sys.stdout.flush()
        print(f"cubinspec: {faults} of {total} images could not be read", file=sys.stderr)
    if not cubins and not faults:
        report(nothing_in(file, "cubin"))
        return 1
    return faults


def _work(
    read: Callable[[Cubin, bool], list[Any]],
    every: bool,
    architecture: frozenset[str] | None,
    image: Image,
    arena: Arena,
) -> tuple[str, bool, list[Any] | None]:
    """Way to the image, whether it is a cubin, and its rows if it is wanted."""
    path = str(image)
    if image.kind != "cubin":
        return path, False, None
    if architecture is not None and image.entry is not None and image.arch not in architecture:
        return path, True, None
    with image.cubin(arena) as cubin:
        if architecture is not None and image.entry is None and cubin.arch not in architecture:
            return path, True, None
        rows = read(cubin, every)
    if image.entry is not None and image.entry.variant == "f":  # a cubin does not say so itself
        rows = [_with_arch(row, image.arch) for row in rows]
    return path, True, rows


def _with_arch(row: Any, arch: str) -> Any:
    return {**row, "arch": arch} if type(row) is dict else (row[0], arch, *row[2:])
