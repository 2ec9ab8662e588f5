"""Scanning many files: the tasks, the processes or cluster that do them, the result file."""

from __future__ import annotations

from contextlib import suppress

from cubinspec.containers.sniff import HOSTS, SNIFF_BYTES, sniff
from cubinspec.containers.walk import files_below
from cubinspec.errors import CubinError, FileAccessError, MissingPackageError
from cubinspec.output_files import NewFile
from cubinspec.scan.parallel import MIN_PARALLEL_BYTES, Workers
from cubinspec.scan.rows import (
    Task,
    fault_row,
    import_fsspec,
    open_source,
    rows_by_image,
    scan_task,
)
from cubinspec.scan.schema import COLUMNS
from cubinspec.values import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from cubinspec.scan.rows import Row
    from cubinspec.values import PathName

#: How often a task is tried; after that its file is blamed for the death of the workers.
MAX_ATTEMPTS = 3
#: Time in which a Dask scheduler must answer.
DASK_TIMEOUT = "30s"
#: Rows gathered before they are written as a parquet row group; as Python objects they take tens of
#: megabytes.
ROWS_PER_GROUP = 20_000
#: Rows that are handed on at once.
_ROWS_AT_ONCE = 5_000


def tasks_for(paths: PathName | Iterable[PathName], *, relocatable: bool = False) -> Iterator[Task]:
    """Tasks for files, folders and URLs; a large library becomes several.

    Args:
        relocatable: kernels of superseded images too.
    """
    for task in _tasks_for(paths):
        task.relocatable = relocatable
        yield task


def _tasks_for(paths: PathName | Iterable[PathName]) -> Iterator[Task]:
    import os

    for path in listed(paths):
        if "://" in path:
            yield from _url_tasks(path)
        elif os.path.isdir(path):
            for file in files_below(path):
                yield from _file_tasks(file)
        else:
            yield from _file_tasks(path)


def _url_tasks(url: str) -> Iterator[Task]:
    fsspec = import_fsspec(url)
    try:
        system, path = fsspec.core.url_to_fs(url)
        if system.isdir(path):
            for file in sorted(system.find(path)):
                yield Task(system.unstrip_protocol(file))
            return
    except Exception as error:  # each file system has errors of its own
        raise FileAccessError(f"cannot be listed: {error}", file=url) from error
    yield Task(url)


def _file_tasks(path: str) -> Iterator[Task]:
    """One task, or shares of a large file whose images can be reached without unpacking it."""
    shares = 1
    try:
        source = open_source(path)
        if source.size > MIN_PARALLEL_BYTES and sniff(source.read(0, SNIFF_BYTES)) in (
            HOSTS | {"fatbin"}
        ):
            shares = -(-source.size // MIN_PARALLEL_BYTES)
        source.close()
    except CubinError:
        pass  # the task will report it
    for share in range(shares):
        yield Task(path, share, shares)


def scan(
    paths: PathName | Iterable[PathName],
    *,
    jobs: int = 1,
    step: Callable[[list[Row]], None] | None = None,
    relocatable: bool = False,
) -> Iterator[list[Row]]:
    """Rows of all images below paths, in the order of files and images.

    Args:
        jobs: processes; a process that dies loses nothing, its tasks are done again.
        step: gets rows as they are found, for progress.
        relocatable: kernels of superseded images too.

    Raises:
        FileAccessError: a URL cannot be listed.
    """
    tasks = list(tasks_for(paths, relocatable=relocatable))
    if jobs <= 1 or len(tasks) == 1:
        return _here(tasks, step)
    return _in_order(tasks, _ended(tasks, jobs), step)


def _here(tasks: list[Task], step: Callable[[list[Row]], None] | None) -> Iterator[list[Row]]:
    """Rows of tasks that are done in this process; nothing is shared, so files are read whole."""
    for task in tasks:
        if task.share:
            continue
        batch: list[Row] = []
        for rows in rows_by_image(Task(task.path, relocatable=task.relocatable)):
            if step is not None:
                step(rows)
            batch += rows
            if len(batch) >= _ROWS_AT_ONCE:
                yield batch
                batch = []
        yield batch


def _in_order(
    tasks: list[Task],
    ended: Iterable[tuple[int, list[Row]]],
    step: Callable[[list[Row]], None] | None,
) -> Iterator[list[Row]]:
    """Rows of tasks that end in any order: file by file in the order of the tasks."""
    found: dict[int, list[Row]] = {}
    begin = 0
    for number, rows in ended:
        if step is not None:
            step(rows)
        found[number] = rows
        while begin in found and all(
            number in found for number in range(begin, begin + tasks[begin].shares)
        ):
            stop = begin + tasks[begin].shares
            together = [row for number in range(begin, stop) for row in found.pop(number)]
            if stop - begin > 1:
                together.sort(key=_image_number)
            while together:
                yield together[:_ROWS_AT_ONCE]
                del together[:_ROWS_AT_ONCE]
            begin = stop


def _image_number(row: Row) -> int:
    number: int | None = row.get("image")
    return -1 if number is None else number


def _ended(tasks: list[Task], jobs: int) -> Iterator[tuple[int, list[Row]]]:
    """Number and rows of each task, as they end."""
    from concurrent.futures import FIRST_COMPLETED, Future, wait
    from concurrent.futures.process import BrokenProcessPool

    attempts = dict.fromkeys(range(len(tasks)), 0)
    waiting = list(range(len(tasks)))
    while waiting:
        # When a process dies, its pool is useless: a new one takes the tasks that did not end. The
        # last attempt of each task is made alone, so that no other task dies with it.
        alone = min(attempts[number] for number in waiting) >= MAX_ATTEMPTS - 1
        with Workers(1 if alone else jobs) as workers:
            running: dict[Future[list[Row]], int] = {}
            queue = waiting[:1] if alone else waiting
            rest = waiting[1:] if alone else []
            for number in queue:
                attempts[number] += 1
                running[workers.pool.submit(scan_task, tasks[number])] = number
            waiting = rest
            while running:
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    number = running.pop(future)
                    try:
                        rows = future.result()
                    except BrokenProcessPool:
                        if attempts[number] >= MAX_ATTEMPTS:
                            yield number, [_killer(tasks[number])]
                        else:
                            waiting.append(number)
                        continue
                    yield number, rows


def _killer(task: Task) -> Row:
    error = CubinError(f"the process reading it died {MAX_ATTEMPTS} times", file=task.path)
    return fault_row(task.path, task.path, None, error)


def scan_on_dask(
    paths: PathName | Iterable[PathName],
    address: str,
    *,
    step: Callable[[list[Row]], None] | None = None,
    relocatable: bool = False,
) -> Iterator[list[Row]]:
    """:func:`scan` on a Dask cluster; its workers need this package and the same paths.

    Args:
        address: of the scheduler, such as ``tcp://host:8786``.
        relocatable: kernels of superseded images too.

    Raises:
        FileAccessError: Dask is not installed, or the scheduler does not answer.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingPackageError.of("dask[distributed]", "--dask") from error
    try:
        client = Client(address, timeout=DASK_TIMEOUT)
    except (OSError, TimeoutError, ValueError) as error:
        raise FileAccessError(f"no Dask scheduler answers: {error}", file=address) from error
    with client:
        tasks = list(tasks_for(paths, relocatable=relocatable))
        futures = client.map(scan_task, tasks, pure=False, retries=MAX_ATTEMPTS)
        number_of = {future.key: number for number, future in enumerate(futures)}

        def ended() -> Iterator[tuple[int, list[Row]]]:
            for future in as_completed(futures):
                number = number_of[future.key]
                try:
                    rows = future.result()
                except Exception as error:  # a task that killed its workers ends as KilledWorker
                    lost = FileAccessError(f"not scanned: {error}", file=tasks[number].path)
                    rows = [fault_row(tasks[number].path, tasks[number].path, None, lost)]
                future.release()
                yield number, rows

        yield from _in_order(tasks, ended(), step)


def clean(rows: list[Row]) -> list[Row]:
    """Rows whose text can be written as UTF-8: stray bytes of names become escapes."""
    for row in rows:
        unusual = [v for v in row.values() if type(v) is str and not v.isascii()]
        if not unusual:
            continue
        try:
            "".join(unusual).encode()
        except UnicodeEncodeError:
            for key, value in row.items():
                if type(value) is str:
                    row[key] = value.encode("utf-8", "backslashreplace").decode()
    return rows


class ParquetFile:
    """A parquet file that appears under its name when it is complete.

    Raises:
        FileAccessError: it cannot be written, or pyarrow is not installed.
    """

    def __init__(self, path: str) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise MissingPackageError.of("pyarrow", "parquet", file=path) from error
        self._arrow: Any = pyarrow
        self._path = path
        self._file = NewFile(path)
        types = {"string": pyarrow.string(), "int64": pyarrow.int64(), "bool": pyarrow.bool_()}
        self._schema = pyarrow.schema(
            [
                pyarrow.field(name, types[kind], metadata={"description": meaning})
                for name, kind, meaning in COLUMNS
            ]
        )
        self._rows: list[Row] = []
        try:
            self._writer: Any = pyarrow.parquet.ParquetWriter(
                self._file.stream, self._schema, compression="zstd"
            )
        except OSError as error:
            self._file.discard()
            raise FileAccessError(f"cannot be written: {error}", file=path) from error

    def write(self, rows: list[Row]) -> None:
        """Add rows."""
        self._rows.extend(rows)
        if len(self._rows) >= ROWS_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            make = self._arrow.Table.from_pylist
            try:
                table = make(self._rows, schema=self._schema)
            except UnicodeEncodeError:  # few files have such names
                table = make(clean(self._rows), schema=self._schema)
            self._rows = []
            try:
                self._writer.write_table(table)
            except OSError as error:
                raise FileAccessError(f"cannot be written: {error}", file=self._path) from error

    def close(self) -> None:
        """Finish the file and give it its name."""
        self._flush()
        try:
            self._writer.close()
        except OSError as error:
            raise FileAccessError(f"cannot be written: {error}", file=self._path) from error
        self._file.finish()

    def discard(self) -> None:
        """Leave nothing behind."""
        with suppress(OSError):
            self._writer.close()
        self._file.discard()
