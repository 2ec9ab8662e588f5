"""``cubinspec kernels``: what each kernel needs to be launched."""

from __future__ import annotations

from cubinspec.cli.options import JSON, Arguments, Option, UsageError
from cubinspec.cli.output import for_each_file, print_table, printable, write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function

    #: One line of the table, unformatted: the columns of ``_HEAD`` with the mangled name last.
    Row = tuple[Any, ...]

SUMMARY = "registers, stack, shared memory, constants, barriers and parameters of every kernel"
USAGE = "FILE... [--arch SM] [--match PATTERN] [--sort COLUMN] [--all] [--json|--csv]"
OPTIONS = (
    Option("--all", help="device functions too"),
    Option("--arch", value="SM", help="only images of this target (sm_90, 90a, …)"),
    Option("--match", value="PATTERN", help="only functions whose name has or matches PATTERN"),
    Option("--sort", value="COLUMN", help="one table in this order, largest first (not for name)"),
    Option("--mangled", help="names as they are in the file"),
    Option("-j", "--jobs", value="N", help="processes for a large library (default: all cores)"),
    Option("--csv", help="comma-separated values instead of text"),
    JSON,
)

_HEAD: tuple[str, ...] = (
    *("kind", "arch", "reg", "stack", "shared", "local", "const0", "bar", "threads"),
    *("params", "name"),
)
_CSV_HEAD = (
    *("kind", "arch", "registers", "stack", "shared", "local", "const0", "barriers"),
    *("max_threads", "params", "param_size", "name", "path"),
)
#: What ``--sort`` takes: the table's words and those of JSON and CSV.
_COLUMNS = {
    **{word: column for column, word in enumerate(_CSV_HEAD[:12])},
    "reg": 2,
    "bar": 7,
    "threads": 8,
}
_LEFT_WORDS = frozenset(("kind", "arch", "name", "image"))
_NAME = 11
_NONE = "-"


def run(arguments: Arguments) -> int:
    """Print the table, the CSV or the JSON list."""
    files = arguments.files()
    if arguments.flag("--json"):
        return _json(arguments, files)
    table = _Table(arguments, titled=len(files) > 1)
    status = _for_each(arguments, files, rows_of, table.add)
    table.finish()
    return status


def _for_each(
    arguments: Arguments,
    files: list[str],
    read: Callable[[Cubin, bool], list[Any]],
    take: Callable[[str, str, list[Any]], None],
) -> int:
    """Read every cubin in the files; ``take`` gets the file, the way to the image, the rows.

    A plain cubin is opened without loading the code for containers.
    """
    every = arguments.flag("--all")
    matches = _matcher(arguments)
    architecture = _architecture(arguments)
    jobs = arguments.integer("--jobs")

    def plain(file: str) -> bool:
        from cubinspec.errors import NotCubinError
        from cubinspec.model.cubin import Cubin

        try:
            cubin = Cubin.open(file)
        except NotCubinError:
            return False
        except IsADirectoryError:
            return False
        with cubin:
            if architecture is None or cubin.arch in architecture:
                take(file, file, _kept(read(cubin, every), matches))
        return True

    failed = 0

    def one(file: str) -> None:
        nonlocal failed
        import os

        if os.path.isdir(file) or not plain(file):
            from cubinspec.cli.kernels_in import read_container

            failed += read_container(
                file,
                read,
                every,
                architecture,
                jobs,
                lambda path, rows: take(file, path, _kept(rows, matches)),
            )

    status = for_each_file(files, one)
    return 1 if failed else status


def _kept(rows: list[Any], matches: Callable[[str], bool] | None) -> list[Any]:
    if matches is None:
        return rows
    return [row for row in rows if matches(row["name"] if type(row) is dict else row[_NAME])]


def _matcher(arguments: Arguments) -> Callable[[str], bool] | None:
    pattern = arguments.value("--match")
    if pattern is None:
        return None
    from cubinspec.report.names import matcher

    return matcher(pattern)


def _architecture(arguments: Arguments) -> frozenset[str] | None:
    names = [name for text in arguments.values("--arch") for name in text.split(",") if name]
    for name in names:
        if not name.removeprefix("sm_").rstrip("af").isdigit():
            raise UsageError(f"--arch needs a target such as sm_90a, not {name!r}")
    return frozenset("sm_" + name.removeprefix("sm_") for name in names) or None


def _json(arguments: Arguments, files: list[str]) -> int:
    from cubinspec.report.names import readable

    records: list[dict[str, Any]] = []

    def take(file: str, path: str, found: list[dict[str, Any]]) -> None:
        for record in found:
            # "file" stays first; the way through containers and the readable name come with it
            records.append(
                {
                    "file": file,
                    "path": path,
                    "name": record.pop("name"),
                    "demangled": "",
                    **{key: value for key, value in record.items() if key != "file"},
                }
            )
            records[-1]["demangled"] = readable(records[-1]["name"])

    status = _for_each(arguments, files, records_of, take)
    key = arguments.value("--sort")
    if key is not None:
        _column(key)
        word = {"reg": "registers", "bar": "barriers", "threads": "max_threads"}.get(key, key)
        records.sort(
            key=lambda record: _order(_sortable(record, word)), reverse=word not in _LEFT_WORDS
        )
    write_json(records)
    return status


def _sortable(record: dict[str, Any], word: str) -> Any:
    if word == "const0":
        return record["constant"].get("0")
    value = record.get(word)
    return len(value) if isinstance(value, list) else value


def _order(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)


def _column(word: str) -> int:
    if word not in _COLUMNS:
        raise UsageError(f"--sort takes one of {', '.join(_COLUMNS)}, not {word!r}")
    return _COLUMNS[word]


class _Table:
    """Prints as the images come; with ``--sort`` or ``--csv`` all of it at the end."""

    def __init__(self, arguments: Arguments, *, titled: bool) -> None:
        key = arguments.value("--sort")
        self._sort = None if key is None else _column(key)
        self._csv = arguments.flag("--csv")
        self._titled = titled
        self._kinds = arguments.flag("--all")
        self._mangled = arguments.flag("--mangled")
        self._kept: list[tuple[str, Row]] = []

    def add(self, file: str, path: str, rows: list[Row]) -> None:
        if self._csv or self._sort is not None:
            self._kept.extend((path, row) for row in rows)
            return
        if self._titled or path != file:
            if not rows:
                return
            print(f"{printable(path)}:")
        rows.sort(key=lambda row: row[_NAME])
        self._print([self._cells(row) for row in rows])

    def finish(self) -> None:
        column = self._sort
        if column is not None:
            self._kept.sort(
                key=lambda item: _order(item[1][column]), reverse=column not in (0, 1, _NAME)
            )
        if self._csv:
            from cubinspec.cli.walking import write_csv

            name = self._name()
            write_csv(
                _CSV_HEAD, [(*row[:_NAME], name(row[_NAME]), path) for path, row in self._kept]
            )
        elif column is not None:
            paths = len({path for path, _ in self._kept}) > 1
            self._print(
                [
                    (*self._cells(row), *((printable(path),) if paths else ()))
                    for path, row in self._kept
                ],
                ("image",) if paths else (),
            )

    def _name(self) -> Callable[[str], str]:
        if self._mangled:
            return str
        from cubinspec.report.names import readable

        return readable

    def _cells(self, row: Row) -> tuple[str, ...]:
        kind, arch, *numbers, params, param_size, name = row
        cells = [_NONE if number is None else str(number) for number in numbers]
        block = f"{params}:{param_size or 0}" if params else "0"
        if not self._mangled and name.startswith(("_Z", "_R")):
            name = self._name()(name)
        kinds = (kind,) if self._kinds else ()
        return (*kinds, arch, *cells, block, printable(name))

    def _print(self, rows: list[tuple[str, ...]], more: tuple[str, ...] = ()) -> None:
        head = (*(_HEAD if self._kinds else _HEAD[1:]), *more)
        left = frozenset(i for i, word in enumerate(head) if word in _LEFT_WORDS)
        print_table(head, rows, left)


def rows_of(cubin: Cubin, every: bool) -> list[Row]:
    """The unformatted table rows of a cubin."""
    arch = cubin.arch
    return [_row(arch, function) for function in (cubin.functions if every else cubin.kernels)]


def records_of(cubin: Cubin, every: bool) -> list[dict[str, Any]]:
    """The JSON records of a cubin."""
    from cubinspec.report.kernels import kernel_records

    return kernel_records(cubin, every_function=every)


def _row(arch: str, function: Function) -> Row:
    return (
        function.kind,
        arch,
        function.registers,
        function.stack,
        function.shared,
        function.local,
        function.constant_size(0),
        function.barriers,
        function.max_threads,
        function.num_params,
        function.param_size,
        function.name,
    )
