"""Another name for a symbol in debug data.

The name stands in the PTX text, in the two register tables of ``ptxas -g``, and in ``.debug_info``
as linkage name (or, for ``extern "C"``, as plain name) of an entry. The first three are runs of
texts and counts that nothing refers into by offset. In ``.debug_info`` strings stand between
numbers: with another length everything behind them moves, which sizes of units, references between
entries and relocations have to follow. DWARF 2 to 4 is what compilers for CUDA write.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, NoReturn

from cubinspec.errors import BadStructureError
from cubinspec_generated.codes import SHF_CUDA_MERCURY
from cubinspec_writer.editor.references import SymbolTables
from cubinspec_writer.emitter import bodies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.emitter.model import Description, Section

STT_SECTION = 3
_PTX_TEXT = ".nv_debug_ptx_txt"
_REGISTER_PLACES, _REGISTER_TYPES = ".nv_debug_info_reg_sass", ".nv_debug_info_reg_type"
#: Sections that hold offsets of entries in .debug_info.
_INDICES = (".debug_pubnames", ".debug_pubtypes", ".debug_aranges", ".debug_types")
_WORD, _HALF, _LONG = Struct("<I"), Struct("<H"), Struct("<Q")
_VERSIONS = range(2, 5)
#: Numbers behind the name of a PTX register: register, first and last instruction.
_LEN_PLACE = 12

DW_TAG_SUBPROGRAM, DW_TAG_VARIABLE = 0x2E, 0x34
DW_AT_NAME, DW_AT_EXTERNAL, DW_AT_LINKAGE_NAME, DW_AT_MIPS_LINKAGE_NAME = 0x03, 0x3F, 0x6E, 0x2007
DW_FORM_ADDR, DW_FORM_STRING, DW_FORM_REF_ADDR = 0x01, 0x08, 0x10
#: DW_FORM_ref1, ref2, ref4, ref8.
_REFERENCES = {0x11: Struct("<B"), 0x12: _HALF, 0x13: _WORD, 0x14: _LONG}
#: data1, data2, data4, data8, flag, strp, sec_offset, flag_present, ref_sig8, and the references.
_FIXED = {
    0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x0C: 1, 0x0E: 4, 0x17: 4, 0x19: 0, 0x20: 8,
    0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8,
}  # fmt: skip
_LEB128 = frozenset((0x0D, 0x0F))
_BLOCKS = {0x0A: Struct("<B"), 0x03: _HALF, 0x04: _WORD}
_LEB128_BLOCKS = frozenset((0x09, 0x18))


def rename(description: Description, old: str, new: str) -> None:
    """Replace a symbol's name in all debug sections.

    Raises:
        CubinError: a section that holds the name cannot be read, or an offset no longer fits.
    """
    before, after = (name.encode("utf-8", "surrogateescape") for name in (old, new))
    for section in description.sections:
        plain = section.name.removeprefix(".nv.merc")
        if not isinstance(section.body, bodies.Blob) or before not in section.body.data:
            continue
        data = section.body.data
        if plain == _PTX_TEXT or plain.startswith(_PTX_TEXT + "."):
            section.body = bodies.Blob(_in_ptx(data, before, after))
        elif plain in (_REGISTER_PLACES, _REGISTER_TYPES):
            section.body = bodies.Blob(_in_registers(section, data, before, after))
        elif plain == ".debug_info":
            _Dwarf(description, section, data).rename(before, after)


def _in_ptx(data: bytes, old: bytes, new: bytes) -> bytes:
    """PTX names are letters, digits, ``_`` and ``$``; ``%r`` is a register, ``.x`` a directive."""
    word = re.compile(rb"(?<![\w$%.])" + re.escape(old) + rb"(?![\w$])")
    return word.sub(lambda _: new, data)


def _in_registers(section: Section, data: bytes, old: bytes, new: bytes) -> bytes:
    """Per function its name and a count; then types of one byte, or named places."""
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        end = _text_end(section, data, at)
        name = data[at:end]
        start = end + 1
        if start + _WORD.size > len(data):
            _refuse(section, at, "the table of a function is cut off")
        (count,) = _WORD.unpack_from(data, start)
        at = start + _WORD.size
        if section.name.endswith(_REGISTER_TYPES):
            at += count
        else:
            for _ in range(count):
                at = _text_end(section, data, at + _WORD.size) + 1 + _LEN_PLACE
                if at > len(data):
                    break
        if at > len(data):
            _refuse(section, start, "the table of a function is cut off")
        parts += [new if name == old else name, b"\0", data[start:at]]
    return b"".join(parts)


def _text_end(section: Section, data: bytes, at: int) -> int:
    end = data.find(b"\0", at)
    if end < 0:
        _refuse(section, at, "a name does not end")
    return end


def _refuse(section: Section, at: int, reason: str) -> NoReturn:
    raise BadStructureError(
        f"the name cannot be changed here: {reason}",
        field=f"{section.name} offset {at:#x}",
        expected="a file without debug data: strip --debug first",
    )


#: tag and (attribute, form) of each abbreviation code
_Abbreviations = dict[int, tuple[int, list[tuple[int, int]]]]


@dataclass(slots=True)
class _Entry:
    """One debugging information entry: where its names stand, and whether others see it."""

    tag: int
    linkage: list[int] = field(default_factory=list)
    name: int | None = None
    is_external: bool = False


class _Dwarf:
    """``.debug_info`` of one half of the file."""

    def __init__(self, description: Description, section: Section, data: bytes) -> None:
        self.description = description
        self.section = section
        self.data = data
        self.is_mercury = bool(section.sh_flags & SHF_CUDA_MERCURY)
        self.prefix = ".nv.merc" if self.is_mercury else ""
        self.relocations = [
            s for s in description.sections if isinstance(s.body, bodies.Relocations)
        ]
        self.addends = {
            offset: addend
            for relocations in self.relocations
            if relocations.info is section or self._is_of(relocations, section)
            for offset, _, _, addend in _rows(relocations)
            if addend is not None
        }
        #: First and last byte of every unit, and the references: place, form, start of the unit.
        self.units: list[tuple[int, int]] = []
        self.references: list[tuple[int, Struct, int]] = []
        self.edits: list[int] = []
        self.moved: list[int] = []
        self.delta = 0

    def rename(self, old: bytes, new: bytes) -> None:
        data = self.data
        for entry in self._entries():
            names = entry.linkage
            if entry.name is not None and (entry.linkage or entry.is_external):
                names = [*names, entry.name]
            stated = entry.linkage or names
            if any(self._text(at) == old for at in stated):
                self.edits += [at for at in names if self._text(at) == old]
        self.edits.sort()
        self.delta = len(new) - len(old)
        if not self.edits:
            return
        pieces = bytearray(data)
        if self.delta:
            self._refuse_indices()
            self._move(pieces)
        for at in reversed(self.edits):
            pieces[at : at + len(old)] = new
        self.section.body = bodies.Blob(bytes(pieces))

    # -- moving ----------------------------------------------------------------------------------

    def _place(self, offset: int) -> int:
        """Where the byte at ``offset`` stands afterwards."""
        return offset + self.delta * bisect_left(self.edits, offset)

    def _refuse_indices(self) -> None:
        for section in self.description.sections:
            if section.name.removeprefix(self.prefix) in _INDICES:
                raise BadStructureError(
                    "it holds offsets into .debug_info, which would move",
                    field=section.name,
                    expected="a name of the same length, or strip --debug first",
                )

    def _move(self, pieces: bytearray) -> None:
        """Sizes, references and relocations for the new places; the bytes do not move yet."""
        for start, end in self.units:
            length = self._place(end) - self._place(start) - _WORD.size
            _WORD.pack_into(pieces, start, length)
        for at, form, unit in self.references:
            (value,) = form.unpack_from(self.data, at)
            new = self._place(unit + value) - self._place(unit)
            if new >> 8 * form.size:
                _refuse(self.section, at, "a reference does not fit any more")
            form.pack_into(pieces, at, new)
        tables = SymbolTables(self.description)
        itself = {
            at
            for at, entry in enumerate(tables.mercury if self.is_mercury else tables.entries)
            if entry is self.section
            or (
                isinstance(entry, bodies.MercurySymbol)
                and entry.section is self.section
                and entry.st_info & 0xF == STT_SECTION
            )
        }
        for section in self.relocations:
            if bool(section.sh_flags & SHF_CUDA_MERCURY) == self.is_mercury:
                self._move_relocations(section, itself)

    def _move_relocations(self, section: Section, itself: set[int]) -> None:
        body = section.body
        assert isinstance(body, bodies.Relocations)
        is_own = self._is_of(section, self.section)
        rows = []
        for offset, symbol, kind, addend in body.rows():
            if symbol in itself:
                if addend is None:
                    _refuse(section, offset, "an offset into .debug_info stands in another section")
                addend = self._place(addend)
            rows.append((self._place(offset) if is_own else offset, symbol, kind, addend))
        section.body = bodies.Relocations.from_rows(rows, body.rela, body.is_64)

    def _is_of(self, relocations: Section, section: Section) -> bool:
        plain = section.name.removeprefix(self.prefix)
        return relocations.name in (self.prefix + ".rela" + plain, self.prefix + ".rel" + plain)

    # -- reading ---------------------------------------------------------------------------------

    def _text(self, at: int) -> bytes:
        return self.data[at : _text_end(self.section, self.data, at)]

    def _entries(self) -> Iterator[_Entry]:
        data, at = self.data, 0
        while at < len(data):
            if len(data) - at < _WORD.size + _HALF.size + _WORD.size + 1:
                _refuse(self.section, at, "a unit is cut off")
            (length,) = _WORD.unpack_from(data, at)
            end = at + _WORD.size + length
            (version,) = _HALF.unpack_from(data, at + 4)
            if end > len(data):
                _refuse(self.section, at, "a unit is cut off")
            if version not in _VERSIONS:
                _refuse(self.section, at, f"DWARF {version} is not understood")
            self.units.append((at, end))
            yield from self._unit(at, end)
            at = end

    def _unit(self, start: int, end: int) -> Iterator[_Entry]:
        data = self.data
        place = self.addends.get(start + 6)
        (stored,) = _WORD.unpack_from(data, start + 6)
        abbreviations = self._abbreviations(stored if place is None else place)
        width = data[start + 10]
        at = start + 11
        while at < end:
            code, at = self._leb128(at, end)
            if not code:
                continue
            if code not in abbreviations:
                _refuse(self.section, at, f"abbreviation {code} is not defined")
            tag, attributes = abbreviations[code]
            entry = _Entry(tag)
            for attribute, form in attributes:
                if form == DW_FORM_STRING:
                    if attribute == DW_AT_NAME:
                        entry.name = at
                    elif attribute in (DW_AT_LINKAGE_NAME, DW_AT_MIPS_LINKAGE_NAME):
                        entry.linkage.append(at)
                elif attribute == DW_AT_EXTERNAL:
                    entry.is_external = True
                elif form in _REFERENCES:
                    self.references.append((at, _REFERENCES[form], start))
                elif form == DW_FORM_REF_ADDR:
                    self.references.append((at, _WORD, 0))
                at = self._behind(at, form, width, end)
            if tag in (DW_TAG_SUBPROGRAM, DW_TAG_VARIABLE):
                yield entry

    def _behind(self, at: int, form: int, width: int, end: int) -> int:
        """End of a value; it must be inside the unit."""
        data = self.data
        if form in _FIXED:
            at += _FIXED[form]
        elif form == DW_FORM_ADDR:
            at += width
        elif form == DW_FORM_REF_ADDR:
            at += _WORD.size
        elif form == DW_FORM_STRING:
            at = _text_end(self.section, data, at) + 1
        elif form in _LEB128:
            _, at = self._leb128(at, end)
        elif form in _LEB128_BLOCKS:
            length, at = self._leb128(at, end)
            at += length
        elif form in _BLOCKS and at + _BLOCKS[form].size <= end:
            (length,) = _BLOCKS[form].unpack_from(data, at)
            at += _BLOCKS[form].size + length
        else:
            _refuse(self.section, at, f"form {form:#x} is not understood")
        if at > end:
            _refuse(self.section, at, "an entry is cut off")
        return at

    def _leb128(self, at: int, end: int) -> tuple[int, int]:
        value = _read_leb128(self.data, at, end)
        if value is None:
            _refuse(self.section, at, "a number does not end")
        return value

    def _abbreviations(self, at: int) -> _Abbreviations:
        section = self.description.section(self.prefix + ".debug_abbrev")
        if section is None or not isinstance(section.body, bodies.Blob):
            _refuse(self.section, 0, "there is no .debug_abbrev")
        data = section.body.data
        found: _Abbreviations = {}

        def number() -> int:
            nonlocal at
            value = _read_leb128(data, at, len(data))
            if value is None:
                _refuse(section, at, "a number does not end")
            at = value[1]
            return value[0]

        while code := number():
            tag = number()
            at += 1  # whether it has children
            attributes = []
            while (pair := (number(), number())) != (0, 0):
                attributes.append(pair)
            found[code] = (tag, attributes)
        return found


def _rows(section: Section) -> list[tuple[int, int, int, int | None]]:
    assert isinstance(section.body, bodies.Relocations)
    return section.body.rows()


def _read_leb128(data: bytes, at: int, end: int) -> tuple[int, int] | None:
    """An unsigned number and the offset behind it; ``None`` when it does not end."""
    value = shift = 0
    for place in range(at, min(end, at + 10)):
        value |= (data[place] & 0x7F) << shift
        shift += 7
        if data[place] < 0x80:
            return value, place + 1
    return None
