"""Reads the index file of unified functions and data (`--uidx-file`).

For every identifier it gives the offset in the tables of an executable. `ksy/uidx.ksy` describes
the format.
"""

from __future__ import annotations

from cubinspec_generated import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.diagnostics import Diagnostics

_MAGIC = b"\x7fUFTINDX"
#: From version 2 on, the file ends with 16 more bytes for every function (rule U6).
_LEN_EXTRA, _FIRST_WITH_EXTRA = 16, 2
#: The two words of an identifier.
Identifier = tuple[int, int]


class Window:
    """What an index says about one table.

    Attributes:
        size: of the table, in bytes.
        offsets: every identifier and its offset in the table.
    """

    __slots__ = ("offsets", "size")

    def __init__(self, size: int, offsets: list[tuple[Identifier, int]]) -> None:
        self.size: int = size
        self.offsets: list[tuple[Identifier, int]] = offsets


class Index:
    """An index file.

    Attributes:
        data: the whole file.
        functions, variables: its two tables.
    """

    __slots__ = ("data", "functions", "variables")

    def __init__(self, data: bytes, functions: Window, variables: Window) -> None:
        self.data: bytes = data
        self.functions: Window = functions
        self.variables: Window = variables


def read_index(data: bytes, diagnostics: Diagnostics) -> Index:
    """Read an index file.

    Rule U16.

    Raises:
        LinkError: it is not an index file, or its size is not the one that its header gives.
    """
    if data[: len(_MAGIC)] != _MAGIC:
        raise diagnostics.fatal("Internal error: not uidx input")
    malformed = "Internal error: malformed uidx input"
    if len(data) < records.UIDX_HEADER.size:
        raise diagnostics.fatal(malformed)
    _, version, _, *sizes = records.UIDX_HEADER.unpack_from(data)
    function_size, num_functions, data_size, num_data = sizes
    num_rows = num_functions + num_data
    extra = _LEN_EXTRA * num_functions if version >= _FIRST_WITH_EXTRA else 0
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
