"""The index file of unified functions and data (`--uidx-file`).

It says where in the tables of an executable every identifier has its place. Its form is that of
`ksy/uidx.ksy`.
"""

from __future__ import annotations

from cubinspec_generated import records
from cubinspec_writer.linker.diagnostics import Diagnostics
from cubinspec_writer.plain import dataclass

_MAGIC = b"\x7fUFTINDX"
#: From version 2 on a row of a function has further bytes at the end of the file.
_EXTRA, _FIRST_WITH_EXTRA = 16, 2
#: The two words of an identifier.
Identifier = tuple[int, int]


@dataclass(slots=True)
class Window:
    """What an index says about one table: its size, and the offset of every identifier."""

    size: int
    offsets: list[tuple[Identifier, int]]


@dataclass(slots=True)
class Index:
    """An index file."""

    data: bytes
    functions: Window
    variables: Window


def read_index(data: bytes, diagnostics: Diagnostics) -> Index:
    """Take an index file apart.

    Raises:
        LinkError: it is none, or its size is not what its header says.
    """
    if data[: len(_MAGIC)] != _MAGIC:
        raise diagnostics.fatal("Internal error: not uidx input")
    malformed = "Internal error: malformed uidx input"
    if len(data) < records.UIDX_HEADER.size:
        raise diagnostics.fatal(malformed)
    _, version, _, *sizes = records.UIDX_HEADER.unpack_from(data)
    function_size, num_functions, data_size, num_data = sizes
    num_rows = num_functions + num_data
    extra = _EXTRA * num_functions if version >= _FIRST_WITH_EXTRA else 0
    end = records.UIDX_HEADER.size + num_rows * records.UIDX_ENTRY.size
    if len(data) != end + extra:
        raise diagnostics.fatal(malformed)
    rows = [
        ((first, second), offset)
        for first, second, offset in records.UIDX_ENTRY.iter_unpack(
            data[records.UIDX_HEADER.size : end]
        )
    ]
    return Index(
        data,
        Window(function_size, rows[:num_functions]),
        Window(data_size, rows[num_functions:]),
    )
