"""All functions of a cubin, and the list of them that users get."""

from __future__ import annotations

from cubinspec.model.function import Function
from cubinspec.model.function_table import FunctionTable, defined_functions
from cubinspec_generated.codes import STO_CUDA_ENTRY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.model.function_owner import FunctionOwner
    from cubinspec.model.symbol import SymbolList
    from cubinspec.reader.elf import SymbolRow


class FunctionRows:
    """Functions, one after the other, that can be had as a table."""

    __slots__ = ()

    def rows(self: Iterable[Function]) -> list[dict[str, Any]]:
        """One flat dictionary per function: integers, text, or ``None``."""
        from cubinspec.model.frames import FUNCTION_COLUMNS, flat_rows

        return flat_rows(self, FUNCTION_COLUMNS)

    def to_arrow(self: Iterable[Function]) -> Any:
        """A ``pyarrow.Table``, one row per function; absent integers are null.

        Raises:
            MissingPackageError: pyarrow is not installed.
        """
        from cubinspec.model.frames import FUNCTION_COLUMNS, arrow_table

        return arrow_table(self, FUNCTION_COLUMNS)


class FunctionList(list[Function], FunctionRows):
    """Functions of a cubin: a list that notebooks show as a table and Arrow takes as one."""

    __slots__ = ()

    @property
    def names(self) -> list[str]:
        """Their mangled names."""
        if not self:
            return []
        # all are of one half of one file
        return self[0].table.symbols.strings.get_many([function.row[0] for function in self])

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table

        head = (
            *("arch", "registers", "stack", "shared", "local", "const0", "barriers"),
            *("max_threads", "num_params", "demangled"),
        )
        rows = [[getattr(function, name) for name in head] for function in self]
        return html_table(f"{len(self)} functions", head, rows)


def read_functions(file: FunctionOwner, *, only_kernels: bool = False) -> FunctionList:
    """All functions (or kernels) defined in the file, in symbol order.

    The SASS half is read; when no function symbol lies in a SASS section, the Mercury half.
    """
    return _read_half(file, only_kernels, mercury=False) or _read_half(
        file, only_kernels, mercury=True
    )


def function_symbols(file: FunctionOwner) -> tuple[SymbolList | None, list[SymbolRow]]:
    """The symbols of what :func:`read_functions` finds, and the table that they are in.

    Nothing else of the functions is read.
    """
    for mercury in (False, True):
        symbols, defined = defined_functions(file, 0, mercury)
        if defined:
            return symbols, [row for _, row in defined]
    return None, []


def _read_half(file: FunctionOwner, only_kernels: bool, *, mercury: bool) -> FunctionList:
    symbols, defined = defined_functions(file, STO_CUDA_ENTRY if only_kernels else 0, mercury)
    if symbols is None or not defined:
        return FunctionList()
    table = FunctionTable(file, symbols, mercury=mercury)
    return FunctionList([Function(table, number, row) for number, row in defined])
