"""Work on the images of one large file in several processes.

Every process lists the images of the file, which is cheap, and works on its share of them, so that
only results are sent between processes.
"""

from __future__ import annotations

from cubinspec.errors import CubinError
from cubinspec.limits import given_limits, set_limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.connection import Connection

    from cubinspec.containers import Image
    from cubinspec.containers.arena import Arena

    #: What is done with an image; a function of a module, so that it can be sent to processes.
    Work = Callable[["Image", "Arena"], object]
    #: How long that takes, in any unit; a function of a module too.
    Cost = Callable[["Image"], int]
    #: Number of the image in the file, its result or what was wrong.
    Result = tuple[int, object, CubinError | None]

#: Below this size a second process costs more than it brings.
MIN_PARALLEL_BYTES = 32 << 20
#: Results that another process sends at once.
_BATCH = 16


class Workers:
    """A pool of processes that ends at once when this process is interrupted.

    A plain pool waits for all work that was begun, and its processes print tracebacks.

    Attributes:
        pool: takes the work.
    """

    def __init__(self, number: int) -> None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import active_children

        self._others = set(active_children())
        self.pool: ProcessPoolExecutor = ProcessPoolExecutor(
            number, initializer=_begin_work, initargs=(given_limits(),)
        )

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or issubclass(kind, Exception):
            self.pool.shutdown()
            return
        from multiprocessing import active_children

        for process in set(active_children()) - self._others:
            process.kill()
        self.pool.shutdown(wait=False, cancel_futures=True)


def _begin_work(limits: dict[str, int]) -> None:
    """In a worker: what ends the process does so without a traceback; the user's limits hold."""
    from signal import SIG_DFL, SIGINT, SIGTERM, signal

    for number in (SIGINT, SIGTERM):
        signal(number, SIG_DFL)
    set_limits(limits)


def usable_cores() -> int:
    """Processors that this process may run on."""
    import os

    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def stored_size(image: Image) -> int:
    """The cost of an image where all of it is read."""
    return image.stored_size


def share_of(
    images: Iterable[Image], share: int, shares: int, cost: Cost = stored_size
) -> Iterator[tuple[int, Image]]:
    """One of ``shares`` shares of about equal cost, with the numbers of the images.

    Each image goes to the share with the lowest cost so far. Every process finds the same shares
    while it walks, so that none needs the whole list before it begins.
    """
    loads = [0] * shares
    for number, image in enumerate(images):
        least = loads.index(min(loads))
        loads[least] += cost(image) + 1
        if least == share:
            yield number, image


def _results(path: str, share: int, shares: int, work: Work, cost: Cost) -> Iterator[Result]:
    """Results for a share of the images of a file, in order."""
    from cubinspec.containers import images
    from cubinspec.containers.arena import Arena

    arena = Arena()
    for number, image in share_of(images(path), share, shares, cost):
        try:
            if image.error is not None:
                raise image.error
            yield number, work(image, arena), None
        except CubinError as error:
            yield number, None, error


class _Share:
    """A process that works on a share of a file and sends results while it goes on.

    Args:
        path, share, shares, work, cost: see :func:`work_on_file`.

    Attributes:
        connection: where results come from.
        is_done: whether all have come.
    """

    def __init__(self, path: str, share: int, shares: int, work: Work, cost: Cost) -> None:
        from multiprocessing import Pipe, Process

        self._task = (path, share, shares, work, cost)
        self.connection, sending = Pipe(duplex=False)
        arguments = (sending, given_limits(), *self._task)
        self._process = Process(target=_send_results, args=arguments, daemon=True)
        self._process.start()
        sending.close()
        self._last = -1
        self.is_done = False

    def receive(self) -> list[Result]:
        """Results that have come, or the first that will."""
        try:
            found: list[Result] = self.connection.recv()
        except (EOFError, OSError):  # it was killed, probably because memory ran out: do it here
            found = [result for result in _results(*self._task) if _number_of(result) > self._last]
            self.is_done = True
            return found
        if found:
            self._last = _number_of(found[-1])
        else:
            self.is_done = True
        return found

    def end(self) -> None:
        """End the process, which may be at work."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _send_results(
    connection: Connection,
    limits: dict[str, int],
    path: str,
    share: int,
    shares: int,
    work: Work,
    cost: Cost,
) -> None:
    """In a process of its own: send results in batches, at the end an empty one."""
    _begin_work(limits)
    batch: list[Result] = []
    for result in _results(path, share, shares, work, cost):
        batch.append(result)
        if len(batch) == _BATCH:
            connection.send(batch)
            batch = []
    if batch:
        connection.send(batch)
    connection.send([])


def work_on_file(
    path: str,
    work: Work,
    jobs: int,
    cost: Cost = stored_size,
    step: Callable[[str, int], None] = lambda text, count: None,
) -> Iterator[Result]:
    """Results for all images of a file, in file order, each as soon as those before it are there.

    Args:
        work: a function of a module; what it returns is sent between processes.
        jobs: processes to use, this one included.
        cost: how long the work on an image takes.
        step: told how many images are done, for progress; the other processes' are estimated.

    Raises:
        FileAccessError: the file cannot be opened.
    """
    shares: list[_Share] = []
    try:
        shares += [_Share(path, share, jobs, work, cost) for share in range(1, jobs)]
        early: dict[int, Result] = {}
        due = 0
        for batch in _batches(_results(path, 0, jobs, work, cost), shares, step):
            early.update(zip(map(_number_of, batch), batch, strict=True))
            while due in early:
                yield early.pop(due)
                due += 1
    finally:
        for each in shares:
            each.end()


def _batches(
    own: Iterator[Result], shares: list[_Share], step: Callable[[str, int], None]
) -> Iterator[list[Result]]:
    """Results of this process and of the others, as they come."""
    for result in own:
        step("", 1 + len(shares))
        yield [result]
        for share in shares:
            while not share.is_done and share.connection.poll():
                yield share.receive()
    if shares:
        from multiprocessing.connection import wait

        while waiting := [share for share in shares if not share.is_done]:
            ready = wait([share.connection for share in waiting])
            for share in waiting:
                if share.connection in ready:
                    yield share.receive()


def _number_of(result: Result) -> int:
    number, _, _ = result
    return number
