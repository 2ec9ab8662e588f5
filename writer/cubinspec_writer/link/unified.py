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

from operator import itemgetter

from cubinspec.errors import BadStructureError
from cubinspec_generated import records

from .diagnostics import UnsupportedLinkError
from .model import (
    FRAMES,
    HVAL,
    SHF_INFO_LINK,
    SHT_CUDA_INFO,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT_ENTRY,
    SHT_CUDA_UIDX,
    SLOT,
    UDT_ENTRY,
    UFT_ENTRY,
    InfoRecord,
    InputObject,
    InSection,
    OutSection,
    Symbol,
    UnifiedRow,
    info_record,
)
from .relocate import is_clear
from .state import LinkState
from .takeover import SPARSE_MMA_MASK, Taker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .uidx import Identifier, Window

#: Flags that a link adds to a row.
_LINKED = 6
ENTRY_TYPES = (SHT_CUDA_UFT_ENTRY, SHT_CUDA_UDT_ENTRY)
FUNCTIONS, DATA = ".nv.uft", ".nv.udt"
_ATTRIBUTES = ".nv.info." + FUNCTIONS
_STUB = "__cuda_uf_stub_"
_STUB_CODE = ".nv.uft.rel."

#: What nvlink adds to the attributes of all stubs.
_NO_MASK = info_record(HVAL, SPARSE_MMA_MASK, 0)


def is_entries(sh_type: int) -> bool:
    """Whether a section is one of the two tables of identifiers."""
    return sh_type in ENTRY_TYPES


def create_function_rows(state: LinkState) -> None:
    """The rows of functions come in front of `.nv.info` where there is a table of functions."""
    if state.index is None or state.options.relocatable:
        return
    if any(is_stub(s) for obj in state.objects for s in obj.sections):
        state.create_section(UFT_ENTRY, SHT_CUDA_UFT_ENTRY, 0, 32, entsize=records.UFT_ENTRY.size)


def copy_index(state: LinkState) -> None:
    """Link the index file itself."""
    if state.index is not None:
        section = state.create_section(".nv.uidx", SHT_CUDA_UIDX, 0, 1)
        section.content = state.index.data


def is_stub(section: InSection) -> bool:
    """Whether a section holds the stub of a unified function, as SASS or Mercury code."""
    return section.name.startswith(_STUB_CODE)


def linked_stubs(state: LinkState) -> list[Symbol]:
    """The stubs of unified functions."""
    return [
        symbol
        for obj in state.objects
        for row in obj.functions
        if (symbol := obj.bound[row.index]) is not None
        and row.shndx < len(obj.sections)
        and is_stub(obj.sections[row.shndx])
    ]


def merge_stub(
    state: LinkState, obj: InputObject, stub: Symbol, source: InSection, info: InSection | None
) -> None:
    """Enter the stub of a unified function, and its attributes, into those of the table."""
    section = state.find(FUNCTIONS)
    if section is None:
        section = state.create_section(
            FUNCTIONS, source.sh_type, source.flags, source.align, entsize=SLOT
        )
    stub.section, stub.value = section, SLOT * len(state.stubs)
    state.stubs[stub] = obj, source
    obj.placed[source.index] = (section, stub.value)
    if info is None:
        return
    attributes = state.find(_ATTRIBUTES)
    if attributes is None:
        attributes = state.create_section(
            _ATTRIBUTES, SHT_CUDA_INFO, SHF_INFO_LINK, info.align, with_symbol=False
        )
        attributes.info_section, attributes.records = section, []
    attributes.records += obj.records(info.index)
    obj.placed[info.index] = (attributes, 0)


def later_stubs(state: LinkState, obj: InputObject) -> set[Symbol]:
    """The stubs of an input that are not the first one of the table.

    The finalizer looks for the frame of code that begins where its section does.
    """
    if state.index is None or state.options.relocatable:
        return set()
    first = {identifier for identifier, at in state.index.functions.offsets if at == 0}
    names = {
        _STUB + symbol.name
        for source in obj.of_types((SHT_CUDA_UFT_ENTRY,))
        for symbol, _, identifier in _rows_of(obj, source)
        if identifier in first
    }
    return {s for s in obj.called.values() if s in state.stubs and s.name not in names}


def _rows_of(obj: InputObject, source: InSection) -> Iterator[tuple[Symbol, int, Identifier]]:
    """Symbol, flags and identifier of the rows of one input."""
    if len(source.data) % records.UFT_ENTRY.size:
        raise BadStructureError(
            f"{len(source.data)} bytes of rows",
            file=obj.name,
            field=source.name,
            expected=f"a multiple of {records.UFT_ENTRY.size}",
        )
    for index, flags, _, first, second in records.UFT_ENTRY.iter_unpack(source.data):
        symbol = obj.bound[index] if index < len(obj.bound) else None
        if symbol is None:
            raise BadStructureError(
                f"row names symbol {index} of {len(obj.symbols)}", file=obj.name, field=source.name
            )
        yield symbol, flags, (first, second)


def merge_entries(state: LinkState, obj: InputObject, source: InSection) -> None:
    """Append one input's rows to the table of the same name.

    Raises:
        CubinError: a row names a symbol that the input does not have.
    """
    section = state.find(source.name) or state.create_section(
        source.name, source.sh_type, source.flags, source.align, entsize=source.entsize
    )
    stubs = {s.name: s for s in obj.called.values() if s in state.stubs}
    state.unified.setdefault(section, []).extend(
        UnifiedRow(symbol, flags | _LINKED, identifier, stubs.get(_STUB + symbol.name))
        for symbol, flags, identifier in _rows_of(obj, source)
    )


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
    from .stubs import MERCURY_SLOT  # with an index only

    rows, stubs = _rows(state, UFT_ENTRY), state.stubs
    if len(stubs) != len(rows):
        raise _MismatchError(
            "Internal error: Number of .nv.uft jump slots != Number of entries in .nv.uft.entry"
        )
    if SLOT * len(stubs) != window.size:
        raise _MismatchError("Internal error: size of uidx window != nv.uft")
    places = _places(rows, window)
    if len({stub.name for stub in stubs}) != len(stubs):
        # nvlink moves the second function itself in place of its stub.
        raise UnsupportedLinkError("several unified functions of one name")
    end = max(places.values(), default=-SLOT) + SLOT
    left = [row.stub.value for row in rows if row.stub and row not in places]
    if not state.profile.mercury and left and max(left) >= end:
        raise _MismatchError("Internal error: relocation is past end of offset")
    _check_all_placed(rows, places)
    merged = {stub.value: stub for stub in stubs}
    slots: dict[int, Symbol] = {}
    for row, offset in places.items():
        if row.stub is None:
            raise _MismatchError(f"Unified function '{row.symbol.name}' has no stub")
        if offset % SLOT or offset in slots or offset >= window.size:
            raise _no_room(row.symbol, offset, table)
        slots[offset] = row.stub
        row.offset = row.stub.value = offset
    scale = MERCURY_SLOT if state.profile.keeps_symbols else SLOT
    for is_rela in (False, True):
        relocs = state.reloc_sections.get((table, is_rela))
        if relocs is not None:
            relocs.relocs = [
                reloc._replace(offset=merged[reloc.offset // SLOT * SLOT].value // SLOT * scale)
                for reloc in relocs.relocs
            ]
    _fill_table(state, table, [slots[offset] for offset in sorted(slots)])


def _fill_table(state: LinkState, table: OutSection, stubs: list[Symbol]) -> None:
    """Write the code of the stubs in the order of their slots."""
    from .frames import set_length
    from .stubs import capsule, finalize_symbols, finalized

    code: list[bytes] = []
    for stub in stubs:
        obj, source = state.stubs[stub]
        code.append(source.data)
        obj.placed[source.index] = (table, stub.value)
    if state.profile.keeps_symbols:
        table.content = capsule(code)
    elif state.profile.mercury:
        table.content = finalized(code)
        length = finalize_symbols(stubs, len(table.content))
        frames = state.find(FRAMES)
        relocs = state.reloc_sections.get((frames, True)) if frames is not None else None
        for reloc in relocs.relocs if relocs is not None else ():
            if reloc.symbol is stubs[0] and frames is not None and not is_clear(reloc.r_type):
                set_length(frames, reloc.offset, length)
    else:
        table.content = b"".join(code)


def _arrange_data(state: LinkState, table: OutSection, window: Window) -> None:
    rows = _rows(state, UDT_ENTRY)
    places = _places(rows, window)
    if max((at + row.symbol.size for row, at in places.items()), default=0) != window.size:
        raise _MismatchError("Internal error: size of uidx window != nv.udt")
    _check_all_placed(rows, places)
    _check_relocations(state, table, places)
    old = bytes(table.content)
    # 0 in between, where nvlink leaves what its memory held.
    data = bytearray(min(window.size, len(old)))
    end = 0
    for row, offset in sorted(places.items(), key=_OFFSET):
        symbol = row.symbol
        if offset < end or offset + symbol.size > len(old):
            # nvlink writes over a neighbour, or over memory that is not the table's.
            raise _no_room(symbol, offset, table)
        end = offset + symbol.size
        data[offset:end] = old[symbol.value : symbol.value + symbol.size]
        row.offset = symbol.value = offset
    table.content = data


def _check_relocations(state: LinkState, table: OutSection, places: dict[UnifiedRow, int]) -> None:
    """nvlink leaves relocations where they were, and writes addresses into other variables."""
    moved = [row.symbol for row, offset in places.items() if row.symbol.value != offset]
    for is_rela in (False, True):
        relocs = state.reloc_sections.get((table, is_rela))
        offsets = [reloc.offset for reloc in relocs.relocs] if relocs is not None else []
        for symbol in moved:
            if any(symbol.value <= offset < symbol.value + symbol.size for offset in offsets):
                raise UnsupportedLinkError(
                    f"an index that moves '{symbol.name}', which has addresses"
                )


def _no_room(symbol: Symbol, offset: int, table: OutSection) -> _MismatchError:
    return _MismatchError(
        f"The index file has no room for '{symbol.name}' at {offset:#x} of '{table.name}'"
    )


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


_OFFSET = itemgetter(1)


class Attributes:
    """The attributes of all stubs, which share one section.

    Unlike with kernels, each function in turn gives each of its records to all stubs that reach it,
    the last one first. The section counts as that of the first stub: what the others take finds no
    record there and is added (unified_barriers).

    Attributes:
        records: for every stub, those that count as its own, with what it takes behind them.
    """

    def __init__(self, state: LinkState) -> None:
        self.section = state.find(_ATTRIBUTES)
        own = self.section.records if self.section is not None else []
        self.records = {stub: [] if number else own[:] for number, stub in enumerate(state.stubs)}
        self.taken: list[tuple[Symbol, int]] = []

    def take(self, state: LinkState, stub: Symbol, record: InfoRecord) -> None:
        """Let a stub take over a record."""
        records = self.records[stub]
        num_known = len(records)
        Taker(state, stub, records).take(record)
        self.taken += [(stub, record[1]) for record in records[num_known:]]

    def fill(self, mercury: LinkState | None) -> None:
        """Write the section.

        Args:
            mercury: the Mercury half of the same program, when this is its SASS half.
        """
        if self.section is None:
            return
        taken = [
            record
            for stub, code in self.taken
            for record in self.records[stub]
            if record[1] == code
        ]
        first = next(iter(self.records.values()), [])
        every = first[len(self.section.records) - 1 :: -1]
        twin = mercury.find(_ATTRIBUTES) if mercury is not None else None
        known = {record[1] for record in (twin or self.section).records}
        own = [record for record in every if record[1] in known]
        # What the finalizer says of all stubs it says once.
        added = dict.fromkeys(record for record in every if record[1] not in known)
        self.section.content = b"".join((*own, *taken, _NO_MASK, *added))


def fill(state: LinkState) -> None:
    """Write the tables; symbols are numbered and have their place."""
    for section, rows in state.unified.items():
        section.data += b"".join(
            records.UFT_ENTRY.pack(
                row.symbol.index,
                row.flags,
                row.symbol.value if row.offset is None else row.offset,
                *row.identifier,
            )
            for row in rows
        )
    table = state.find(FUNCTIONS)
    if table is not None and state.stubs:
        table.info_value = next(iter(state.stubs)).index
