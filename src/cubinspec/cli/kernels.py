"""``cubinspec kernels``: what each kernel needs to be launched."""

from __future__ import annotations

from cubinspec.cli.options import JSON, Arguments, Option
from cubinspec.cli.output import for_each_cubin, print_table, printable, write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function

SUMMARY = "registers, stack, shared memory, constants, barriers and parameters of every kernel"
USAGE = "FILE... [--all] [--json]"
OPTIONS = (Option("--all", help="device functions too"), JSON)

_HEAD: tuple[str, ...] = (
    *("arch", "reg", "stack", "shared", "local", "const0", "bar", "threads", "params"),
    "name",
)
_LEFT = frozenset((0, 9))
_NONE = "-"


def run(arguments: Arguments) -> int:
    """Print the table or the JSON list."""
    every = arguments.flag("--all")
    if arguments.flag("--json"):
        from cubinspec.report.kernels import kernel_records

        records: list[dict[str, Any]] = []
        status = for_each_cubin(
            arguments.files(),
            lambda cubin: records.extend(kernel_records(cubin, every_function=every)),
        )
        write_json(records)
        return status
    files = arguments.files()
    return for_each_cubin(files, lambda cubin: _print(cubin, every, titled=len(files) > 1))


def _print(cubin: Cubin, every: bool, *, titled: bool) -> None:
    functions = cubin.functions if every else cubin.kernels
    rows = [_row(cubin.arch, function) for function in functions]
    rows.sort(key=lambda row: row[-1])
    if titled:
        print(f"{printable(cubin.name)}:")
    head = _HEAD
    if every:
        head = ("kind", *_HEAD)
        kinds = {function.name: function.kind for function in functions}
        rows = [(kinds[row[-1]], *row) for row in rows]
    left = frozenset((0, 1, 10)) if every else _LEFT
    print_table(head, [(*row[:-1], printable(row[-1])) for row in rows], left)


def _row(arch: str, function: Function) -> tuple[str, ...]:
    params = function.num_params
    return (
        arch,
        _cell(function.registers),
        _cell(function.stack),
        str(function.shared),
        str(function.local),
        _cell(function.constant_size(0)),
        _cell(function.barriers),
        _cell(function.max_threads),
        f"{params}:{function.param_size or 0}" if params else "0",
        function.name,
    )


def _cell(value: int | None) -> str:
    return _NONE if value is None else str(value)
