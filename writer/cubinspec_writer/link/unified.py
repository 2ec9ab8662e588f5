"""Unified functions and data: tables of identifiers that a later step resolves.

A unified function or variable has a row in `.nv.uft.entry` or `.nv.udt.entry`: its symbol, flags,
its offset, and the 128-bit identifier by which all programs of a process mean the same thing. A
unified function has a stub, too (`.nv.uft.rel.F`), unified variables lie in `.nv.udt`; these merge
like code and data. The slots of the tables come from an index file (`--uidx-file`), for which no
tool is public, so an executable with unified names cannot be linked; `-r` joins the tables.
"""

from __future__ import annotations

from struct import Struct

from cubinspec.errors import BadStructureError

from .diagnostics import Diagnostics, UnsupportedLinkError
from .model import SHT_CUDA_UDT_ENTRY, SHT_CUDA_UFT_ENTRY, InputObject, InSection, Symbol
from .state import LinkState

_ROW = Struct("<IIQQQ")
#: Flags that a link adds to a row.
_LINKED = 6
ENTRY_TYPES = (SHT_CUDA_UFT_ENTRY, SHT_CUDA_UDT_ENTRY)
_INDEX = b".nv.uidx\0"

Row = tuple[Symbol, int, int, int]


def is_entries(sh_type: int) -> bool:
    """Whether a section is one of the two tables of identifiers."""
    return sh_type in ENTRY_TYPES


def check(objects: list[InputObject], diagnostics: Diagnostics) -> None:
    """End an executable link of unified names, as nvlink does.

    Raises:
        LinkError: an input has unified functions or data.
    """
    if any(s.size for obj in objects for s in obj.of_types(ENTRY_TYPES)):
        raise diagnostics.fatal("Unified symbols found but index file not specified.")


def check_index(path: str, data: bytes, diagnostics: Diagnostics) -> None:
    """Say what is wrong with an index file.

    Raises:
        LinkError: always; files that may be right are not supported.
    """
    if not data:
        raise diagnostics.fatal(f"Could not read file '{path}'")
    if _INDEX not in data:
        raise diagnostics.fatal("Internal error: not uidx input")
    raise UnsupportedLinkError(f"index of unified tables ('{path}')")


def merge_entries(state: LinkState, obj: InputObject, source: InSection) -> None:
    """Append one input's rows to the table of the same name.

    Raises:
        CubinError: a row names a symbol that the input does not have.
    """
    section = state.find(source.name) or state.create_section(
        source.name, source.sh_type, source.flags, source.align, entsize=source.entsize
    )
    if len(source.data) % _ROW.size:
        raise BadStructureError(
            f"{len(source.data)} bytes of rows",
            file=obj.name,
            field=source.name,
            expected=f"a multiple of {_ROW.size}",
        )
    rows = state.unified.setdefault(section, [])
    for index, flags, _, low, high in _ROW.iter_unpack(source.data):
        symbol = obj.bound[index] if index < len(obj.bound) else None
        if symbol is None:
            raise BadStructureError(
                f"row names symbol {index} of {len(obj.symbols)}", file=obj.name, field=source.name
            )
        rows.append((symbol, flags | _LINKED, low, high))


def fill(state: LinkState) -> None:
    """Write the tables; symbols are numbered and have their place."""
    for section, rows in state.unified.items():
        section.data += b"".join(
            _ROW.pack(symbol.index, flags, symbol.value, low, high)
            for symbol, flags, low, high in rows
        )
