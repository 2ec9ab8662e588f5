"""Reading all cubins of a library, wheel, folder, … for ``cubinspec kernels``."""

from __future__ import annotations

import functools

from cubinspec.cli.output import complain, report
from cubinspec.cli.progress import Progress
from cubinspec.cli.walking import nothing_in
from cubinspec.scan.parallel import MIN_PARALLEL_BYTES, usable_cores, work_on_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from cubinspec.containers import Image, Step
    from cubinspec.containers.arena import Arena
    from cubinspec.model.cubin import Cubin

    class Choice(Protocol):
        """Which images are read; see `cubinspec.cli.kernels.Choice`."""

        met: set[str]
        relocatable: bool

        def wants(self, arch: str) -> bool: ...

    #: Reads a cubin of a file for a target; it is sent to other processes, so it is picklable.
    Reading = Callable[[str, Cubin, str, tuple[Step, ...]], Any]


def read_container(
    file: str,
    reading: Reading,
    choice: Choice,
    jobs: int | None,
    take: Callable[[str, Any], None],
) -> int:
    """Read every cubin in a file or folder; faults are reported and the others go on.

    Args:
        reading: what to read of a cubin.
        choice: which images; it is told which targets were met.
        jobs: processes; by default all cores for a large file.
        take: gets the path to each cubin and what was read of it, in file order.

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
    work = functools.partial(_work, file, reading, choice)
    with Progress("images") as progress:
        for _, result, error in work_on_file(file, work, jobs, _cost, progress.step):
            total += 1
            if error is not None:
                progress.clear()
                report(error)
                faults += 1
            elif type(result) is tuple:
                path, arch, found = result
                if arch:
                    cubins += 1
                    choice.met.add(arch)
                if found is not None:
                    progress.clear()
                    take(path, found)
    if faults and total > 1:
        complain(f"{faults} of {total} images could not be read")
    if not cubins and not faults:
        report(nothing_in(file, "cubin"))
        return 1
    return faults


def _cost(image: Image) -> int:
    return image.stored_size if image.kind == "cubin" else 0


def _work(
    file: str, reading: Reading, choice: Choice, image: Image, arena: Arena
) -> tuple[str, str, Any]:
    """Path to the image, its target if it is a cubin, and what was read of it if it is wanted."""
    path = str(image)
    if image.kind != "cubin":
        return path, "", None
    if image.entry is not None and not choice.wants(image.arch):
        return path, image.arch, None
    if not choice.relocatable and image.superseded:
        return path, image.arch, None
    with image.cubin(arena) as cubin:
        # only the fatbin entry says that a cubin is for a family
        family = image.entry is not None and image.entry.variant == "f"
        arch = image.arch if family else cubin.arch
        if image.entry is None and not choice.wants(arch):
            return path, arch, None
        return path, arch, reading(file, cubin, arch, image.provenance)
