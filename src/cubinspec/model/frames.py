"""Tables of model objects, for data frames and notebooks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

#: Columns of a table of functions: name and type.
FUNCTION_COLUMNS = (
    ("file", "string"),
    ("path", "string"),
    ("name", "string"),
    ("demangled", "string"),
    ("kind", "string"),
    ("arch", "string"),
    ("registers", "int64"),
    ("stack", "int64"),
    ("frame_size", "int64"),
    ("min_stack_size", "int64"),
    ("max_stack_size", "int64"),
    ("shared", "int64"),
    ("local", "int64"),
    ("const0", "int64"),
    ("barriers", "int64"),
    ("mbarriers", "int64"),
    ("max_threads", "int64"),
    ("max_cluster_rank", "int64"),
    ("max_registers", "int64"),
    ("num_params", "int64"),
    ("param_size", "int64"),
    ("param_offset", "int64"),
    ("code_size", "int64"),
)
SECTION_COLUMNS = (
    ("index", "int64"),
    ("name", "string"),
    ("kind", "string"),
    ("type_name", "string"),
    ("sh_type", "int64"),
    ("sh_flags", "uint64"),
    ("sh_addr", "uint64"),
    ("sh_offset", "uint64"),
    ("sh_size", "uint64"),
    ("sh_link", "int64"),
    ("sh_info", "int64"),
    ("sh_addralign", "uint64"),
    ("sh_entsize", "uint64"),
    ("is_mercury", "bool"),
)
SYMBOL_COLUMNS = (
    ("index", "int64"),
    ("name", "string"),
    ("type_name", "string"),
    ("bind_name", "string"),
    ("st_info", "int64"),
    ("st_other", "int64"),
    ("st_shndx", "int64"),
    ("st_value", "uint64"),
    ("st_size", "uint64"),
    ("is_entry", "bool"),
)

Columns = tuple[tuple[str, str], ...]


def flat_rows(objects: Iterable[object], columns: Columns) -> list[dict[str, Any]]:
    """One flat dictionary per object: the attributes that the columns name."""
    names = [name for name, _ in columns]
    return [{name: getattr(item, name) for name in names} for item in objects]


def arrow_table(objects: Iterable[object], columns: Columns) -> Any:
    """The same as a ``pyarrow.Table``, where an absent integer is null and no float.

    Raises:
        MissingPackageError: pyarrow is not installed.
    """
    pyarrow = _pyarrow()
    types: dict[str, Callable[[], Any]] = {
        "string": pyarrow.string,
        "int64": pyarrow.int64,
        "uint64": pyarrow.uint64,
        "bool": pyarrow.bool_,
    }
    schema = pyarrow.schema([(name, types[kind]()) for name, kind in columns])
    return pyarrow.Table.from_pylist(flat_rows(objects, columns), schema=schema)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        from cubinspec.errors import MissingPackageError

        raise MissingPackageError(
            "the Python package pyarrow is needed for Arrow tables and is not installed",
            expected="pip install pyarrow",
        ) from error
    return pyarrow


def escaped(text: str) -> str:
    """Text for HTML; what cannot be shown is written as an escape."""
    safe = text.encode("utf-8", "backslashreplace").decode()
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        safe = safe.replace(char, entity)
    return safe


def html_table(caption: str, head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table for notebooks; ``None`` becomes an empty cell, a number stands at the right."""
    lines = ["<table>", f"<caption>{escaped(caption)}</caption>"]
    cells = "".join(f"<th>{escaped(word)}</th>" for word in head)
    if cells:
        lines.append(f"<tr>{cells}</tr>")
    for row in rows:
        lines.append(f"<tr>{''.join(map(_cell, row))}</tr>")
    return "\n".join([*lines, "</table>"])


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="text-align:right">{value}</td>'
    return f"<td>{'' if value is None else escaped(str(value))}</td>"
