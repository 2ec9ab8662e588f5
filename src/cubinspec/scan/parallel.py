"""Work on the images of large files in several processes.

Every process lists the images, which is cheap, and works on its share of them, so that only
results are sent between processes.
"""

from __future__ import annotations

import functools

from cubinspec.allowance import set_limits
from cubinspec.errors import CubinError
from cubinspec.limits import GIVEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.connection import Connection
    from typing import Any, TypeVar

    from cubinspec.containers import Image
    from cubinspec.containers.arena import Arena

    Item = TypeVar("Item")
    #: What is done with an image; a function of a module, so that it can be sent to processes.
    Work = Callable[["Image", "Arena"], object]
    #: How long that takes, in any unit; a function of a module too.
    Cost = Callable[["Image"], int]
    #: Number of the image in the file, its result or what was wrong.
    Result = tuple[int, object, CubinError | None]
    #: Where items come from, what is done with each, and how long that takes.
    Task = tuple[Callable[[], Iterable[Any]], Callable[[Any, Arena], object], Callable[[Any], int]]

#: Below this size a second process costs more than it brings.
MIN_PARALLEL_BYTES = 32 << 20
#: Results that another process sends at once.
_BATCH = 16
#: Bytes of results that wait for being received; a process without rights may have no more.
_PIPE_BYTES = 1 << 20


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
            number, initializer=_begin_work, initargs=(dict(GIVEN),)
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
    items: Iterable[Item], share: int, shares: int, cost: Callable[[Item], int]
) -> Iterator[tuple[int, Item]]:
    """One of ``shares`` shares of about equal cost, with the numbers of the items.

    Each item goes to the share with the lowest cost so far. Every process finds the same shares
    while it walks, so that none needs the whole list before it begins.
    """
    loads = [0] * shares
    for number, item in enumerate(items):
        least = loads.index(min(loads))
        loads[least] += cost(item) + 1
        if least == share:
            yield number, item


def _results(task: Task, share: int, shares: int) -> Iterator[Result]:
    """Results for a share of the items, in order."""
    from cubinspec.containers.arena import Arena

    items, work, cost = task
    arena = Arena()
    for number, item in share_of(items(), share, shares, cost):
        try:
            yield number, work(item, arena), None
        except CubinError as error:
            yield number, None, error


class _Share:
    """A process that works on a share of the items and sends results while it goes on.

    Args:
        task: see :func:`work_on`.
        share, shares: which share, of how many.

    Attributes:
        connection: where results come from.
        is_done: whether all have come.
    """

    def __init__(self, task: Task, share: int, shares: int) -> None:
        from multiprocessing import Pipe, Process

        self._task = (task, share, shares)
        self.connection, sending = Pipe(duplex=False)
        _widen(sending)
        arguments = (sending, dict(GIVEN), *self._task)
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


def _widen(connection: Connection) -> None:
    """Let many results wait in a pipe, so that who sends them can go on with its work."""
    try:
        from fcntl import F_SETPIPE_SZ, fcntl

        fcntl(connection.fileno(), F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, OSError):
        pass  # not Linux, or not allowed: it holds less


def _send_results(
    connection: Connection, limits: dict[str, int], task: Task, share: int, shares: int
) -> None:
    """In a process of its own: send results in batches, at the end an empty one."""
    _begin_work(limits)
    batch: list[Result] = []
    for result in _results(task, share, shares):
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
    return work_on_images(functools.partial(_images, path), work, jobs, cost, step)


def work_on_images(
    listing: Callable[[], Iterable[Image]],
    work: Work,
    jobs: int,
    cost: Cost = stored_size,
    step: Callable[[str, int], None] = lambda text, count: None,
) -> Iterator[Result]:
    """As :func:`work_on_file`.

    Args:
        listing: lists the images; it is sent between processes.
    """
    return work_on((listing, functools.partial(_unless_faulty, work), cost), jobs, step)


def _images(path: str) -> Iterator[Image]:
    from cubinspec.containers import images

    return images(path)


def _unless_faulty(work: Work, image: Image, arena: Arena) -> object:
    if image.error is not None:
        raise image.error
    return work(image, arena)


def work_on(
    task: Task, jobs: int, step: Callable[[str, int], None] = lambda text, count: None
) -> Iterator[Result]:
    """Results for all items of a task, in their order.

    Args:
        task: where items come from, what is done with each, how long that takes: functions of
            modules, as they are sent to processes.
        jobs, step: see :func:`work_on_file`.
    """
    shares: list[_Share] = []
    try:
        shares += [_Share(task, share, jobs) for share in range(1, jobs)]
        early: dict[int, Result] = {}
        due = 0
        for batch in _batches(_results(task, 0, jobs), shares, step):
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
