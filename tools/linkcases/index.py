"""Index files of unified functions and data (`ksy/uidx.ksy`), for `nvlink --uidx-file`."""

from __future__ import annotations

from cubinspec_generated import records

MAGIC = b"\x7fUFTINDX"
#: Size of a jump slot, and of what follows for every function from version 2 on.
SLOT, _EXTRA = 128, 16

#: Identifier (two words) and offset.
Place = tuple[int, int, int]


def index_file(
    functions: list[Place],
    variables: list[Place],
    window: int | None = None,
    data_window: int = 0,
    version: int = 1,
) -> bytes:
    """An index file.

    Args:
        functions: places in the table of functions.
        variables: places in the table of variables.
        window: size of the table of functions; None: one slot for every function.
        data_window: size of the table of variables.
    """
    window = SLOT * len(functions) if window is None else window
    sizes = (window, len(functions), data_window, len(variables))
    rows = b"".join(records.UIDX_ENTRY.pack(*row) for row in (*functions, *variables))
    extra = bytes(_EXTRA * len(functions) if version > 1 else 0)
    return records.UIDX_HEADER.pack(MAGIC, version, 0, *sizes) + rows + extra
