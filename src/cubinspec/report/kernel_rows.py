"""The rows of the table of kernels: what each function needs, as numbers and text in a tuple."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function_table import FunctionTable
    from cubinspec.model.functions import FunctionList

    #: The values of :data:`COLUMNS`.
    Row = tuple[Any, ...]

COLUMNS: tuple[str, ...] = (
    *("kind", "arch", "type", "registers", "stack", "shared", "local", "const0", "barriers"),
    *("max_threads", "params", "param_size", "stack_unknown", "name"),
)
_STACK: Final = 4
_UNKNOWN: Final = 12


def rows_of(cubin: Cubin, functions: FunctionList, arch: str, *, every: bool) -> list[Row]:
    """The rows of functions of a cubin for the target ``arch``, in their order.

    Args:
        every: they are all functions, not only kernels.
    """
    header = cubin.header
    rows = _rows(functions, "" if every else "kernel", arch, header.type_word)
    # before the device link, more stacks can be unknown than those that the file calls unknown
    is_open = header.is_relocatable and not cubin.knows_all_stacks()
    if is_open or None in [row[_STACK] for row in rows]:
        from cubinspec.report.stack import reasons_of

        for place, reason in reasons_of(cubin, functions).items():
            row = rows[place]
            rows[place] = (*row[:_UNKNOWN], reason, *row[_UNKNOWN + 1 :])
    return rows


def _rows(functions: FunctionList, kind: str, arch: str, word: str) -> list[Row]:
    """The rows of functions, all of them of one kind or of any (empty)."""
    rows: list[Row] = []
    if not functions:
        return rows
    table: FunctionTable = functions[0].table  # all are of one half of one file
    for function, name in zip(functions, functions.names, strict=True):
        said = table.summary(function.symbol_index, function.owned_code)
        rows.append((kind or function.kind, arch, word, *said, None, name))
    return rows
