"""Unified functions and data: one slot for what has one identifier, in every program.

A unified function or variable has a row in `.nv.uft.entry` or `.nv.udt.entry`: its symbol, flags,
its offset, and the 128-bit identifier by which all programs of a process mean the same thing. A
unified function has a stub, too (`.nv.uft.rel.F`), unified variables lie in `.nv.udt`; `-r` merges
these like code and data and joins the tables.

An executable has all stubs in one table (`.nv.uft`). The index file (`--uidx-file`) says where in
the two tables each identifier has its place; a copy of it is linked as `.nv.uidx`. Without unified
names it is only checked and copied. Its form is that of `ksy/uidx.ksy`, which follows public notes;
all of it was seen to hold by links of made files (cases unified_*).
"""

from __future__ import annotations

from operator import attrgetter
from struct import Struct

from cubinspec.errors import BadStructureError

from .diagnostics import UnsupportedLinkError
from .model import (
    HVAL,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHT_CUDA_INFO,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT,
    SHT_CUDA_UFT_ENTRY,
    SHT_CUDA_UIDX,
    InputObject,
    InSection,
    OutSection,
    Symbol,
    UnifiedRow,
    info_record,
)
from .plain import NamedTuple
from .state import LinkState
from .takeover import SPARSE_MMA_MASK
from .uidx import Identifier, Window

_ROW = Struct("<IIQQQ")
#: Flags that a link adds to a row.
_LINKED = 6
ENTRY_TYPES = (SHT_CUDA_UFT_ENTRY, SHT_CUDA_UDT_ENTRY)
_FUNCTION_ROWS, _DATA_ROWS = ".nv.uft.entry", ".nv.udt.entry"
FUNCTIONS, DATA = ".nv.uft", ".nv.udt"
_STUB = "__cuda_uf_stub_"
_SLOT = 128

#: What nvlink adds to the attributes of all stubs.
_NO_MASK = info_record(HVAL, SPARSE_MMA_MASK, 0)


def is_entries(sh_type: int) -> bool:
    """Whether a section is one of the two tables of identifiers."""
    return sh_type in ENTRY_TYPES


def create_function_rows(state: LinkState) -> None:
    """The rows of functions come in front of `.nv.info` where there is a table of functions."""
    if state.index is None or state.options.relocatable:
        return
    if any(obj.of_types((SHT_CUDA_UFT,)) for obj in state.objects):
        state.create_section(_FUNCTION_ROWS, SHT_CUDA_UFT_ENTRY, 0, 32, entsize=_ROW.size)


def copy_index(state: LinkState) -> None:
    """Link the index file itself."""
    if state.index is not None:
        section = state.create_section(".nv.uidx", SHT_CUDA_UIDX, 0, 1)
        section.content = state.index.data


def merge_stub(
    state: LinkState, obj: InputObject, stub: Symbol, source: InSection, info: InSection | None
) -> None:
    """Append the stub of a unified function, and its attributes, to those of the table."""
    section = state.find(FUNCTIONS)
    if section is None:
        flags = SHF_ALLOC | SHF_EXECINSTR
        section = state.create_section(FUNCTIONS, SHT_CUDA_UFT, flags, _SLOT, entsize=_SLOT)
    state.stubs[stub] = stub.value = section.append(source.data, source.size, source.align)
    stub.section = section
    obj.placed[source.index] = (section, stub.value)
    if info is None:
        return
    name = ".nv.info." + FUNCTIONS
    attributes = state.find(name)
    if attributes is None:
        attributes = state.create_section(
            name, SHT_CUDA_INFO, SHF_INFO_LINK, info.align, with_symbol=False
        )
        attributes.info_section, attributes.records = section, []
    attributes.records += obj.records(info.index)
    obj.placed[info.index] = (attributes, 0)


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
    stubs = {s.name: s for s in obj.called.values() if s in state.stubs}
    rows = state.unified.setdefault(section, [])
    for index, flags, _, first, second in _ROW.iter_unpack(source.data):
        symbol = obj.bound[index] if index < len(obj.bound) else None
        if symbol is None:
            raise BadStructureError(
                f"row names symbol {index} of {len(obj.symbols)}", file=obj.name, field=source.name
            )
        stub = stubs.get(_STUB + symbol.name)
        rows.append(UnifiedRow(symbol, flags | _LINKED, (first, second), stub))


def arrange(state: LinkState) -> str | None:
    """Give stubs and variables the places that the index says.

    Returns:
        What is wrong, in nvlink's words where it has some; it is told after what is undefined.
    """
    if state.options.relocatable:
        return None
    try:
        _arrange(state)
    except _MismatchError as error:
        return str(error)
    return None


class _MismatchError(Exception):
    """The index is not that of this program."""


def _arrange(state: LinkState) -> None:
    if state.index is None:
        if any(s.size for obj in state.objects for s in obj.of_types(ENTRY_TYPES)):
            raise _MismatchError("Unified symbols found but index file not specified.")
        return
    functions, data = state.find(FUNCTIONS), state.find(DATA)
    if functions is not None:
        _arrange_functions(state, functions, state.index.functions)
    if data is not None:
        _arrange_data(state, data, state.index.variables)


def _arrange_functions(state: LinkState, table: OutSection, window: Window) -> None:
    rows = _rows(state, _FUNCTION_ROWS)
    if not rows:
        raise _MismatchError("Internal error: missing nv.uft.entry")
    if table.size // _SLOT != len(rows):
        raise _MismatchError(
            "Internal error: Number of .nv.uft jump slots != Number of entries in .nv.uft.entry"
        )
    if table.size != window.size:
        raise _MismatchError("Internal error: size of uidx window != nv.uft")
    places = _places(rows, window)
    if len({stub.name for stub in state.stubs}) != len(state.stubs):
        # nvlink moves the second function itself in place of its stub.
        raise UnsupportedLinkError("several unified functions of one name")
    moves: list[_Move] = []
    for row, offset in places.items():
        if row.stub is None:
            raise _MismatchError(f"Unified function '{row.symbol.name}' has no stub")
        moves.append(_Move(row.symbol, row.stub.value, _SLOT, offset))
        row.stub.value = offset
    end = max((move.new + _SLOT for move in moves), default=0)
    if any(row.stub and row.stub.value >= end for row in rows if row not in places):
        raise _MismatchError("Internal error: relocation is past end of offset")
    _check_all_placed(rows, places)
    _move(table, moves)
    moved = {move.old: move.new for move in moves}
    for is_rela in (False, True):
        relocs = state.reloc_sections.get((table, is_rela))
        if relocs is not None:
            relocs.relocs = [
                reloc._replace(offset=moved[reloc.offset - at] + at)
                for reloc in relocs.relocs
                for at in (reloc.offset % _SLOT,)
            ]


def _arrange_data(state: LinkState, table: OutSection, window: Window) -> None:
    rows = _rows(state, _DATA_ROWS)
    if not rows:
        raise _MismatchError("Internal error: missing nv.udt.entry")
    places = _places(rows, window)
    moves: list[_Move] = []
    for row, offset in places.items():
        moves.append(_Move(row.symbol, row.symbol.value, row.symbol.size, offset))
        row.symbol.value = offset
    if max((move.new + move.size for move in moves), default=0) != window.size:
        raise _MismatchError("Internal error: size of uidx window != nv.udt")
    _check_all_placed(rows, places)
    _move(table, moves)


def _rows(state: LinkState, name: str) -> list[UnifiedRow]:
    section = state.find(name)
    return state.unified.get(section, []) if section is not None else []


def _places(rows: list[UnifiedRow], window: Window) -> dict[UnifiedRow, int]:
    """The offset of every row that the index names, in its order."""
    # nvlink looks rows up by this key; it tells by it which of two messages it gives.
    by_key: dict[int, UnifiedRow] = {}
    others: dict[Identifier, UnifiedRow] = {}
    for row in rows:
        first, second = row.identifier
        if first ^ second not in by_key:
            by_key[first ^ second] = row
        elif row.identifier in others:
            raise _MismatchError("Internal error: duplicate ids in uft.entry")
        else:
            others[row.identifier] = row
    places: dict[UnifiedRow, int] = {}
    for identifier, offset in window.offsets:
        found = others.get(identifier) or by_key.get(identifier[0] ^ identifier[1])
        if found is None:
            raise _MismatchError("Internal error: uuid not found")
        if found.identifier != identifier:
            raise _MismatchError("Internal error: matching uuid not found")
        if found in places:
            raise _MismatchError("Internal error: entry was already found?")
        places[found] = offset
    return places


def _check_all_placed(rows: list[UnifiedRow], places: dict[UnifiedRow, int]) -> None:
    """nvlink writes anything into the place of what the index does not name."""
    for row in rows:
        if row not in places:
            raise _MismatchError(f"The index file does not name '{row.symbol.name}'")


class _Move(NamedTuple):
    """Where the bytes of a symbol lie in a table, and where the index wants them."""

    symbol: Symbol
    old: int
    size: int
    new: int


def _move(table: OutSection, moves: list[_Move]) -> None:
    """Put the bytes of a table where the index says; 0 in between, where nvlink leaves anything."""
    old = bytes(table.content)
    data = bytearray(len(old))
    end = 0
    for move in sorted(moves, key=_NEW_PLACE):
        if move.new < end or move.new + move.size > len(old):
            # nvlink writes over a neighbour, or over its own memory.
            raise _MismatchError(
                f"The index file has no room for '{move.symbol.name}' at {move.new:#x} "
                f"of '{table.name}'"
            )
        end = move.new + move.size
        data[move.new : end] = old[move.old : move.old + move.size]
    table.content = data[:end]


_NEW_PLACE = attrgetter("new")


def fill(state: LinkState) -> None:
    """Write the tables; symbols are numbered and have their place."""
    for section, rows in state.unified.items():
        section.data += b"".join(
            _ROW.pack(
                row.symbol.index,
                row.flags,
                (row.stub or row.symbol).value,
                *row.identifier,
            )
            for row in rows
        )
    table, attributes = state.find(FUNCTIONS), state.find(".nv.info." + FUNCTIONS)
    if table is not None and state.stubs:
        table.info_value = next(iter(state.stubs)).index
    if attributes is not None:
        attributes.content = b"".join(reversed(attributes.records)) + _NO_MASK
