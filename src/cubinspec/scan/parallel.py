"""Work on the images of one large file in several processes.

Every process lists the file, which is cheap, and takes every n-th image; nothing but results
travels between them.
"""

from __future__ import annotations

from cubinspec.errors import CubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec.containers import Image
    from cubinspec.containers.arena import Arena

    #: What is done with an image; a function of a module, so that processes can share it.
    Work = Callable[["Image", "Arena"], object]
    #: Number of the image in the file, its result or what was wrong.
    Result = tuple[int, object, CubinError | None]

#: Below this size a second process costs more than it brings.
MIN_PARALLEL_BYTES = 32 << 20


def usable_cores() -> int:
    """Processors that this process may run on."""
    import os

    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def images_of_share(path: str, share: int, shares: int) -> Iterator[tuple[int, Image]]:
    """Every ``shares``-th image of a file, beginning with number ``share``."""
    from cubinspec.containers import images

    for number, image in enumerate(images(path)):
        if number % shares == share:
            yield number, image


def work_on_share(path: str, share: int, shares: int, work: Work) -> list[Result]:
    """Results for a share of the images of a file, in order."""
    from cubinspec.containers.arena import Arena

    arena = Arena()
    results: list[Result] = []
    for number, image in images_of_share(path, share, shares):
        try:
            if image.error is not None:
                raise image.error
            results.append((number, work(image, arena), None))
        except CubinError as error:
            results.append((number, None, error))
    return results


def work_on_file(path: str, work: Work, jobs: int) -> Iterator[Result]:
    """Results for all images of a file, in file order.

    Args:
        work: a function of a module; what it returns is sent between processes.
        jobs: processes to use, this one included.

    Raises:
        FileAccessError: the file cannot be opened.
    """
    if jobs <= 1:
        yield from work_on_share(path, 0, 1, work)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from heapq import merge

    with ProcessPoolExecutor(jobs - 1) as pool:
        futures = [pool.submit(work_on_share, path, share, jobs, work) for share in range(1, jobs)]
        shares = [work_on_share(path, 0, jobs, work)]
        for share, future in enumerate(futures, 1):
            try:
                shares.append(future.result())
            except BrokenProcessPool:  # killed, for want of memory most likely: do it here
                shares.append(work_on_share(path, share, jobs, work))
    yield from merge(*shares, key=lambda result: result[0])
