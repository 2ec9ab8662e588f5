"""Moves unified functions and data to the places that the index file says.

The rules were seen in links of made files (cases unified_*).
"""

from __future__ import annotations

from cubinspec_generated.codes_sass import SASS_STUB_BYTES
from cubinspec_generated.columns import CLEARING
from cubinspec_writer.linker.diagnostics import PAST_END, UnsupportedLinkError
from cubinspec_writer.linker.finalizer.stubs import slots_of
from cubinspec_writer.linker.model import (
    FRAMES,
    UDT,
    UDT_ENTRY,
    UFT,
    UFT_ENTRY,
    OutSection,
    Symbol,
    UnifiedRow,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.inputs.uidx import Identifier, Window
    from cubinspec_writer.linker.state import Job, Relocations, Sections, Unified

_MISSING_INDEX: Final = "Unified symbols found but index file not specified."

READS = (
    "relocations.sections row.identifier row.stub row.symbol sections.unowned symbol.name "
    "unified.rows unified.stubs"
)
WRITES = (
    "object.placed row.offset section.content section.relocs symbol.size symbol.value "
    "unified.mismatch"
)
FREEZES = "object.placed row.offset symbol.value unified.mismatch"


def run(job: Job, sections: Sections, relocations: Relocations, unified: Unified) -> None:
    """Give stubs and variables the places that the index says.

    What is wrong is told after what is undefined, but that there is no index, in place of it.

    Rule U1.
    """
    index = job.index
    if index is None:
        unified.mismatch = _MISSING_INDEX
        return
    functions, data = sections.find(UFT), sections.find(UDT)
    try:
        if functions is not None:
            _arrange_functions(job, sections, relocations, unified, functions, index.functions)
        if data is not None:
            _arrange_data(sections, relocations, unified, data, index.variables)
    except _MismatchError as error:
        unified.mismatch = str(error)


class _MismatchError(Exception):
    """The index is not that of this program."""


def _arrange_functions(
    job: Job,
    sections: Sections,
    relocations: Relocations,
    unified: Unified,
    table: OutSection,
    window: Window,
) -> None:
    """Put the stubs into the slots that the index gives them (rule U5)."""
    rows, stubs = _rows(sections, unified, UFT_ENTRY), unified.stubs
    if len(stubs) != len(rows):
        raise _MismatchError(
            "Internal error: Number of .nv.uft jump slots != Number of entries in .nv.uft.entry"
        )
    if SASS_STUB_BYTES * len(stubs) != window.size:
        raise _MismatchError("Internal error: size of uidx window != nv.uft")
    places = _places(rows, window)
    if len({stub.name for stub in stubs}) != len(stubs):
        # nvlink moves the second function itself in place of its stub.
        raise UnsupportedLinkError("several unified functions of one name")
    end = max(places.values(), default=-SASS_STUB_BYTES) + SASS_STUB_BYTES
    left = [row.stub.value for row in rows if row.stub and row not in places]
    if not job.family.capsule and left and max(left) >= end:
        raise _MismatchError(PAST_END)
    _check_all_placed(rows, places)
    merged = {stub.value: stub for stub in stubs}
    slots: dict[int, Symbol] = {}
    for row, offset in places.items():
        if row.stub is None:
            raise _MismatchError(f"Unified function '{row.symbol.name}' has no stub")
        if offset % SASS_STUB_BYTES or offset in slots or offset >= window.size:
            raise _no_room(row.symbol, offset, table)
        slots[offset] = row.stub
        row.offset = row.stub.value = offset
    scale = SASS_STUB_BYTES
    if job.family.keeps_symbols:
        scale = slots_of(job).mercury_bytes
    elif job.family.capsule:
        scale = slots_of(job).sass_bytes
    for is_rela in (False, True):
        relocs = relocations.sections.get((table, is_rela))
        if relocs is not None:
            relocs.relocs = [
                reloc.at(
                    merged[reloc.offset // SASS_STUB_BYTES * SASS_STUB_BYTES].value
                    // SASS_STUB_BYTES
                    * scale
                )
                for reloc in relocs.relocs
            ]
    _fill_table(
        job, sections, relocations, unified, table, [slots[offset] for offset in sorted(slots)]
    )


def _fill_table(
    job: Job,
    sections: Sections,
    relocations: Relocations,
    unified: Unified,
    table: OutSection,
    stubs: list[Symbol],
) -> None:
    """Write the code of the stubs in the order of their slots."""
    from cubinspec_writer.linker.finalizer.frames import set_length
    from cubinspec_writer.linker.finalizer.stubs import capsule, finalize_symbols, finalized

    code: list[bytes] = []
    slots = slots_of(job)
    for stub in stubs:
        obj, source = unified.stubs[stub]
        code.append(source.data)
        obj.placed[source.index] = (table, stub.value)
    if job.family.keeps_symbols:
        table.content = capsule(code, slots)
    elif job.family.capsule:
        table.content = finalized(code, slots)
        length = finalize_symbols(stubs, len(table.content), slots)
        frames = sections.find(FRAMES)
        relocs = relocations.sections.get((frames, True)) if frames is not None else None
        for reloc in relocs.relocs if relocs is not None else ():
            if reloc.symbol is stubs[0] and frames is not None and reloc.r_type not in CLEARING:
                set_length(frames, reloc.offset, length)
    else:
        table.content = b"".join(code)


def _arrange_data(
    sections: Sections,
    relocations: Relocations,
    unified: Unified,
    table: OutSection,
    window: Window,
) -> None:
    """Move unified variables to their places (rules U4, U5)."""
    rows = _rows(sections, unified, UDT_ENTRY)
    places = _places(rows, window)
    if max((at + row.symbol.size for row, at in places.items()), default=0) != window.size:
        raise _MismatchError("Internal error: size of uidx window != nv.udt")
    _check_all_placed(rows, places)
    _check_relocations(relocations, table, places)
    old = bytes(table.content)
    # Between variables stands 0, where nvlink leaves what its memory held.
    data = bytearray(min(window.size, len(old)))
    end = 0
    for row, offset in sorted(places.items(), key=lambda item: item[1]):
        symbol = row.symbol
        if offset < end or offset + symbol.size > len(old):
            # nvlink writes over a neighbour, or over memory that is not the table's.
            raise _no_room(symbol, offset, table)
        end = offset + symbol.size
        data[offset:end] = old[symbol.value : symbol.value + symbol.size]
        row.offset = symbol.value = offset
    table.content = data


def _check_relocations(
    relocations: Relocations, table: OutSection, places: dict[UnifiedRow, int]
) -> None:
    """Refuse to move variables with relocations: nvlink leaves the relocations where they were."""
    moved = [row.symbol for row, offset in places.items() if row.symbol.value != offset]
    for is_rela in (False, True):
        relocs = relocations.sections.get((table, is_rela))
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


def _rows(sections: Sections, unified: Unified, name: str) -> list[UnifiedRow]:
    section = sections.find(name)
    return unified.rows.get(section, []) if section is not None else []


def _places(rows: list[UnifiedRow], window: Window) -> dict[UnifiedRow, int]:
    """The offset of every row that the index names, in its order (rule U7)."""
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
    """Refuse an index that lacks a row: nvlink writes arbitrary bytes there."""
    for row in rows:
        if row not in places:
            raise _MismatchError(f"The index file does not name '{row.symbol.name}'")
