"""Taking functions out of ``.debug_frame``, the one debug section that every cubin has.

The section is a run of DWARF call frame entries: a CIE for each group of functions, an FDE for each
function. An FDE names its function by a relocation on its initial location and its CIE by the
offset of the CIE in the section, in relocatable files through another relocation.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec_writer.emitter import bodies

if TYPE_CHECKING:
    from cubinspec_writer.emitter.model import Section

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
    stated = {entry.start: addends.get(entry.pointer_at, entry.cie) or 0 for entry in fdes}
    cie_of = _cies(entries, stated)
    still_used = {cie for start, cie in cie_of.items() if start not in dropped}
    orphans = {cie for start, cie in cie_of.items() if start in dropped} - still_used
    new_start: dict[int, int] = {}
    at = 0
    for entry in entries:
        if entry.start not in dropped and entry.start not in orphans:
            new_start[entry.start] = at
            at += entry.end - entry.start
    if cie_of == stated:
        moved = {old: new_start[old] for old in still_used}
    else:
        moved = _shifted(stated, dropped)
    parts = bytearray()
    for entry in entries:
        if entry.start not in new_start:
            continue
        raw = bytearray(data[entry.start : entry.end])
        # beside an addend the stored offset is unused: zero, or with the finalizer a copy
        if entry.cie is not None and entry.cie == stated[entry.start]:
            pointer = moved[stated[entry.start]]
            entry.pointer.pack_into(raw, entry.pointer_at - entry.start, pointer)
        parts += raw
    frame.body = bodies.Blob(bytes(parts))
    kept = [entry for entry in entries if entry.start in new_start]
    left = {key: _move(some, kept, new_start, (itself, moved)) for key, some in rows.items()}
    _drop_zero_addends(relocations, left, itself, parts)
    for section in relocations:
        body = section.body
        assert isinstance(body, bodies.Relocations)
        section.body = bodies.Relocations.from_rows(left[id(section)], body.rela, body.is_64)


def _drop_zero_addends(
    relocations: list[Section], left: dict[int, list[Row]], itself: int | None, data: bytearray
) -> None:
    """Files with both kinds of relocations (up to sm_89) have those without addend in ``.rel``.

    The CIE that moved to the start of the section is such a one.
    """
    rel = [s for s in relocations if isinstance(s.body, bodies.Relocations) and not s.body.rela]
    if len(rel) != 1:
        return
    without = left[id(rel[0])]
    descending = len(without) < 2 or without[0][0] > without[-1][0]
    for section in relocations:
        if section is rel[0]:
            continue
        rows = left[id(section)]
        zero = [
            row
            for row in rows
            if row[1] == itself and row[3] == 0 and not any(data[row[0] : row[0] + _WORD.size])
        ]
        if zero:
            left[id(section)] = [row for row in rows if row not in zero]
            without += [(offset, symbol, kind, None) for offset, symbol, kind, _ in zero]
            without.sort(key=lambda row: row[0], reverse=descending)


def _cies(entries: list[_Entry], stated: dict[int, int]) -> dict[int, int]:
    """FDE start -> start of its CIE.

    The finalizer (sm_90 and up, relocatable) shortens entries and leaves the offsets of their CIEs
    as they were before; then the CIE in front of an FDE is its own.
    """
    cies = {entry.start for entry in entries if entry.cie is None}
    if all(cie in cies for cie in stated.values()):
        return stated
    result: dict[int, int] = {}
    last = 0
    for entry in entries:
        if entry.cie is None:
            last = entry.start
        else:
            result[entry.start] = last
    return result


def _shifted(stated: dict[int, int], dropped: set[int]) -> dict[int, int]:
    """New values for stated offsets that are no places in the section: the gaps close up."""
    offsets = sorted(set(stated.values()))
    used = {offset for start, offset in stated.items() if start not in dropped}
    moved: dict[int, int] = {}
    closed = 0
    for offset, following in zip(offsets, [*offsets[1:], offsets[-1]], strict=True):
        if offset in used:
            moved[offset] = offset - closed
        else:
            closed += following - offset
    return moved


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
    rows: list[Row],
    kept: list[_Entry],
    new_start: dict[int, int],
    pointers: tuple[int | None, dict[int, int]],
) -> list[Row]:
    """The relocations of the entries that stay, at their new places."""
    itself, moved = pointers
    starts = [entry.start for entry in kept]
    result: list[Row] = []
    for offset, symbol, kind, addend in rows:
        at = bisect_right(starts, offset) - 1
        if at < 0 or offset >= kept[at].end:
            continue
        if symbol == itself and addend is not None:
            addend = moved.get(addend, addend)
        start = kept[at].start
        result.append((offset - start + new_start[start], symbol, kind, addend))
    return result
