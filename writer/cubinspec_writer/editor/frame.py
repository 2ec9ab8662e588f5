"""Taking functions out of ``.debug_frame``, the one debug section that every cubin has.

The section is a run of DWARF call frame entries: a common entry (CIE) for each group of functions,
an entry (FDE) for each function. An FDE names its function by a relocation on its initial location.
It names its CIE by the offset of the CIE in the section, in relocatable files through another
relocation.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec_generated.codes_dwarf import DWARF64_MARK
from cubinspec_writer.emitter import bodies

if TYPE_CHECKING:
    from cubinspec_writer.emitter.model import Section

    #: r_offset, symbol, r_type, addend
    Row = tuple[int, int, int, int | None]

_WORD, _LONG = Struct("<I"), Struct("<Q")


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
    located = {offset for some in rows.values() for offset, symbol, _, _ in some if symbol in gone}
    if not located:
        return
    addends = {
        offset: addend
        for some in rows.values()
        for offset, symbol, _, addend in some
        if symbol == itself and addend is not None
    }
    cut = _Cut(_entries(frame, data), located, addends)
    new_data = cut.apply(data)
    frame.body = bodies.Blob(new_data)
    left = {key: cut.move(some, itself) for key, some in rows.items()}
    _drop_zero_addends(relocations, left, itself, new_data)
    for section in relocations:
        body = section.body
        assert isinstance(body, bodies.Relocations)
        section.body = bodies.Relocations.from_rows(left[id(section)], body.rela, body.is_64)


class _Cut:
    """Which entries stay, and where they go.

    Attributes:
        kept: the entries that stay: an FDE unless its function goes, a CIE unless all its FDEs go.
        new_start: start of an entry that stays -> its start afterwards.
        stated: start of an FDE -> the offset of its CIE, as the file states it.
        new_cie: stated offset of a CIE -> what is to be stated afterwards.
    """

    def __init__(self, entries: list[_Entry], located: set[int], addends: dict[int, int]) -> None:
        """Decide.

        Args:
            located: places of the initial locations of functions that go.
            addends: place of a relocation to the section itself -> its addend.
        """
        fdes = [entry for entry in entries if entry.cie is not None]
        dropped = {entry.start for entry in fdes if entry.location_at in located}
        self.stated = {entry.start: addends.get(entry.pointer_at, entry.cie) or 0 for entry in fdes}
        cie_of = _cies(entries, self.stated)
        still_used = {cie for start, cie in cie_of.items() if start not in dropped}
        orphans = {cie for start, cie in cie_of.items() if start in dropped} - still_used
        gone = dropped | orphans
        self.kept = [entry for entry in entries if entry.start not in gone]
        self.new_start: dict[int, int] = {}
        at = 0
        for entry in self.kept:
            self.new_start[entry.start] = at
            at += entry.end - entry.start
        if cie_of == self.stated:
            self.new_cie = {old: self.new_start[old] for old in still_used}
        else:
            self.new_cie = _shifted(self.stated, dropped)

    def apply(self, data: bytes) -> bytes:
        """The entries that stay, with new offsets of their CIEs."""
        parts = bytearray()
        for entry in self.kept:
            raw = bytearray(data[entry.start : entry.end])
            # beside an addend the stored offset is unused: zero, or with the finalizer a copy
            if entry.cie is not None and entry.cie == self.stated[entry.start]:
                pointer = self.new_cie[self.stated[entry.start]]
                entry.pointer.pack_into(raw, entry.pointer_at - entry.start, pointer)
            parts += raw
        return bytes(parts)

    def move(self, rows: list[Row], itself: int | None) -> list[Row]:
        """The relocations of the entries that stay, at their new places."""
        starts = [entry.start for entry in self.kept]
        result: list[Row] = []
        for offset, symbol, kind, addend in rows:
            at = bisect_right(starts, offset) - 1
            if at < 0 or offset >= self.kept[at].end:
                continue
            if symbol == itself and addend is not None:
                addend = self.new_cie.get(addend, addend)
            start = self.kept[at].start
            result.append((offset - start + self.new_start[start], symbol, kind, addend))
        return result


def _drop_zero_addends(
    relocations: list[Section], left: dict[int, list[Row]], itself: int | None, data: bytes
) -> None:
    """Move relocations whose addend became 0 into ``.rel``.

    Files with both kinds of sections (up to sm_89) state relocations without addend there. A CIE
    that moved to the start of the section is referred to by such relocations.
    """
    rel = [s for s in relocations if isinstance(s.body, bodies.Relocations) and not s.body.rela]
    if len(rel) != 1:
        return
    without = left[id(rel[0])]
    descending = len(without) < 2 or _offset(without[0]) > _offset(without[-1])
    for section in relocations:
        if section is rel[0]:
            continue
        rows = left[id(section)]
        zero = [
            (offset, symbol, kind, addend)
            for offset, symbol, kind, addend in rows
            if symbol == itself and addend == 0 and not any(data[offset : offset + _WORD.size])
        ]
        if zero:
            left[id(section)] = [row for row in rows if row not in zero]
            without += [(offset, symbol, kind, None) for offset, symbol, kind, _ in zero]
            without.sort(key=_offset, reverse=descending)


def _offset(row: Row) -> int:
    offset, _, _, _ = row
    return offset


def _cies(entries: list[_Entry], stated: dict[int, int]) -> dict[int, int]:
    """Start of each FDE -> start of its CIE.

    The finalizer (relocatable files of sm_90 and later) shortens entries without correcting the
    stated offsets. In such a file the nearest CIE in front of an FDE is its own.
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
    """New values for stated offsets that are no places in the section.

    The distances between offsets that are still used stay as they are.
    """
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
        if length == DWARF64_MARK and head + _LONG.size <= size:
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
