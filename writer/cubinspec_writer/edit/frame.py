"""Taking functions out of ``.debug_frame``, the one debug section that every cubin has.

The section is a run of DWARF call frame entries: a CIE for each group of functions, an FDE for each
function. An FDE names its function by a relocation on its initial location and its CIE by the
offset of the CIE in the section, in relocatable files through another relocation.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec_writer.emit import bodies

if TYPE_CHECKING:
    from cubinspec_writer.emit.model import Section

    Row = tuple[int, int, int, int | None]

_WORD, _LONG = Struct("<I"), Struct("<Q")
_DWARF64_MARK = 0xFFFFFFFF


@dataclass(slots=True)
class _Entry:
    """One CIE or FDE: its place, and for an FDE the offset of its CIE."""

    start: int
    end: int
    pointer_at: int
    pointer: Struct
    cie: int | None

    @property
    def location_at(self) -> int:
        """Offset of the initial location of an FDE."""
        return self.pointer_at + self.pointer.size


def remove_functions(
    frame: Section, relocations: list[Section], gone: set[int], itself: int | None
) -> None:
    """Drop the entries of functions and what relocates them.

    Args:
        frame: the section.
        relocations: its relocation sections.
        gone: symbol indices of the functions.
        itself: index of the section symbol of ``frame``, to which CIE offsets are relative.

    Raises:
        CubinError: the section is malformed, or an entry that stays refers to a function.
    """
    if not isinstance(frame.body, bodies.Blob):
        raise BadStructureError("it is no frame data", field=frame.name)
    data = frame.body.data
    rows = {id(section): _rows(section) for section in relocations}
    located = {
        offset: symbol for some in rows.values() for offset, symbol, _, _ in some if symbol in gone
    }
    if not located:
        return
    addends = {
        offset: addend
        for some in rows.values()
        for offset, symbol, _, addend in some
        if symbol == itself and addend is not None
    }
    entries = _entries(frame, data)
    fdes = [entry for entry in entries if entry.cie is not None]
    dropped = {entry.start for entry in fdes if entry.location_at in located}
    cie_of = {entry.start: addends.get(entry.pointer_at, entry.cie) for entry in fdes}
    still_used = {cie for start, cie in cie_of.items() if start not in dropped}
    orphans = {cie for start, cie in cie_of.items() if start in dropped} - still_used
    new_start: dict[int, int] = {}
    at = 0
    for entry in entries:
        if entry.start not in dropped and entry.start not in orphans:
            new_start[entry.start] = at
            at += entry.end - entry.start
    parts = bytearray()
    for entry in entries:
        if entry.start not in new_start:
            continue
        raw = bytearray(data[entry.start : entry.end])
        # the stored offset counts where no addend replaces it
        if entry.cie is not None and entry.pointer_at not in addends and entry.cie in new_start:
            entry.pointer.pack_into(raw, entry.pointer_at - entry.start, new_start[entry.cie])
        parts += raw
    frame.body = bodies.Blob(bytes(parts))
    kept = [entry for entry in entries if entry.start in new_start]
    for section in relocations:
        moved = _move(rows[id(section)], kept, new_start, itself)
        body = section.body
        assert isinstance(body, bodies.Relocations)
        section.body = bodies.Relocations.from_rows(moved, body.rela, body.is_64)


def _rows(section: Section) -> list[Row]:
    if not isinstance(section.body, bodies.Relocations):
        raise BadStructureError("its relocations are malformed", field=section.name)
    return section.body.rows()


def _entries(frame: Section, data: bytes) -> list[_Entry]:
    entries = []
    at, size = 0, len(data)
    while at + _WORD.size <= size:
        (length,) = _WORD.unpack_from(data, at)
        field, head = _WORD, at + _WORD.size
        if length == _DWARF64_MARK and head + _LONG.size <= size:
            (length,) = _LONG.unpack_from(data, head)
            field, head = _LONG, head + _LONG.size
        end = head + length
        if end > size or length < field.size:
            raise BadStructureError(f"malformed frame entry at {at:#x}", field=frame.name)
        (pointer,) = field.unpack_from(data, head)
        is_cie = pointer == (1 << 8 * field.size) - 1
        entries.append(_Entry(at, end, head, field, None if is_cie else pointer))
        at = end
    if at != size:
        raise BadStructureError(f"malformed frame entry at {at:#x}", field=frame.name)
    return entries


def _move(
    rows: list[Row], kept: list[_Entry], new_start: dict[int, int], itself: int | None
) -> list[Row]:
    """The relocations of the entries that stay, at their new places."""
    result: list[Row] = []
    for offset, symbol, kind, addend in rows:
        for entry in kept:
            if entry.start <= offset < entry.end:
                if symbol == itself and addend is not None:
                    addend = new_start.get(addend, addend)
                moved = offset - entry.start + new_start[entry.start]
                result.append((moved, symbol, kind, addend))
                break
    return result
