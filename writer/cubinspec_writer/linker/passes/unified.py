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

from cubinspec.errors import BadStructureError
from cubinspec_generated import records
from cubinspec_writer.linker.model import (
    HVAL,
    SHF_INFO_LINK,
    SHT_CUDA_INFO,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT_ENTRY,
    SHT_CUDA_UIDX,
    SLOT,
    UFT_ENTRY,
    InfoRecord,
    InputObject,
    InSection,
    Symbol,
    UnifiedRow,
    info_record,
)
from cubinspec_writer.linker.passes.takeover import SPARSE_MMA_MASK, Taker
from cubinspec_writer.linker.state import LinkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.linker.inputs.uidx import Identifier

#: Flags that a link adds to a row.
_LINKED = 6
ENTRY_TYPES = (SHT_CUDA_UFT_ENTRY, SHT_CUDA_UDT_ENTRY)
FUNCTIONS, DATA = ".nv.uft", ".nv.udt"
_ATTRIBUTES = ".nv.info." + FUNCTIONS
_STUB = "__cuda_uf_stub_"
_STUB_CODE = ".nv.uft.rel."

MISSING_INDEX = "Unified symbols found but index file not specified."
#: What nvlink adds to the attributes of all stubs.
_NO_MASK = info_record(HVAL, SPARSE_MMA_MASK, 0)


def is_entries(sh_type: int) -> bool:
    """Whether a section is one of the two tables of identifiers."""
    return sh_type in ENTRY_TYPES


def has_rows(state: LinkState) -> bool:
    """Whether the inputs have unified functions or data."""
    return any(s.size for obj in state.objects for s in obj.of_types(ENTRY_TYPES))


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
    section = state.sections.find(FUNCTIONS)
    if section is None:
        section = state.create_section(
            FUNCTIONS, source.sh_type, source.flags, source.align, entsize=SLOT
        )
    stub.section, stub.value = section, SLOT * len(state.unified.stubs)
    state.unified.stubs[stub] = obj, source
    obj.placed[source.index] = (section, stub.value)
    if info is None:
        return
    attributes = state.sections.find(_ATTRIBUTES)
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
    return {s for s in obj.called.values() if s in state.unified.stubs and s.name not in names}


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
    section = state.sections.find(source.name) or state.create_section(
        source.name, source.sh_type, source.flags, source.align, entsize=source.entsize
    )
    stubs = {s.name: s for s in obj.called.values() if s in state.unified.stubs}
    state.unified.rows.setdefault(section, []).extend(
        UnifiedRow(symbol, flags | _LINKED, identifier, stubs.get(_STUB + symbol.name))
        for symbol, flags, identifier in _rows_of(obj, source)
    )


class Attributes:
    """The attributes of all stubs, which share one section.

    Unlike with kernels, each function in turn gives each of its records to all stubs that reach it,
    the last one first. The section counts as that of the first stub: what the others take finds no
    record there and is added (unified_barriers).

    Attributes:
        records: for every stub, those that count as its own, with what it takes behind them.
    """

    def __init__(self, state: LinkState) -> None:
        self.section = state.sections.find(_ATTRIBUTES)
        own = self.section.records if self.section is not None else []
        self.records = {
            stub: [] if number else own[:] for number, stub in enumerate(state.unified.stubs)
        }
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
        twin = mercury.sections.find(_ATTRIBUTES) if mercury is not None else None
        known = {record[1] for record in (twin or self.section).records}
        own = [record for record in every if record[1] in known]
        # What the finalizer says of all stubs it says once.
        added = dict.fromkeys(record for record in every if record[1] not in known)
        self.section.content = b"".join((*own, *taken, _NO_MASK, *added))


def fill(state: LinkState) -> None:
    """Write the tables; symbols are numbered and have their place."""
    for section, rows in state.unified.rows.items():
        section.data += b"".join(
            records.UFT_ENTRY.pack(
                row.symbol.index,
                row.flags,
                row.symbol.value if row.offset is None else row.offset,
                *row.identifier,
            )
            for row in rows
        )
    table = state.sections.find(FUNCTIONS)
    if table is not None and state.unified.stubs:
        table.info_value = next(iter(state.unified.stubs)).index
