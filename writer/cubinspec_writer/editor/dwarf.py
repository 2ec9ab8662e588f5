"""Another name for a symbol in ``.debug_info``.

The name is the linkage name of an entry, or, for ``extern "C"``, its name. Strings stand between
numbers there: when the new name has another length, everything behind it moves, and sizes of units,
references between entries and relocations have to be corrected. Compilers for CUDA write DWARF 2 to
4.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, NoReturn

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec_generated.codes import SHF_CUDA_MERCURY, ST_TYPE_MASK, STT_SECTION
from cubinspec_generated.codes_dwarf import (
    DW_AT_EXTERNAL,
    DW_AT_LINKAGE_NAME,
    DW_AT_MIPS_LINKAGE_NAME,
    DW_AT_NAME,
    DW_FORM_ADDR,
    DW_FORM_BLOCK,
    DW_FORM_BLOCK1,
    DW_FORM_BLOCK2,
    DW_FORM_BLOCK4,
    DW_FORM_DATA1,
    DW_FORM_DATA2,
    DW_FORM_DATA4,
    DW_FORM_DATA8,
    DW_FORM_EXPRLOC,
    DW_FORM_FLAG,
    DW_FORM_FLAG_PRESENT,
    DW_FORM_REF1,
    DW_FORM_REF2,
    DW_FORM_REF4,
    DW_FORM_REF8,
    DW_FORM_REF_ADDR,
    DW_FORM_REF_SIG8,
    DW_FORM_SDATA,
    DW_FORM_SEC_OFFSET,
    DW_FORM_STRING,
    DW_FORM_STRP,
    DW_FORM_UDATA,
    DW_TAG_SUBPROGRAM,
    DW_TAG_VARIABLE,
)
from cubinspec_writer.editor.references import SymbolTables
from cubinspec_writer.emitter import bodies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.emitter.model import Description, Section

#: Sections that hold offsets of entries in .debug_info.
_INDICES = (".debug_pubnames", ".debug_pubtypes", ".debug_aranges", ".debug_types")
_BYTE, _HALF, _WORD, _LONG = Struct("<B"), Struct("<H"), Struct("<I"), Struct("<Q")
_VERSIONS = range(2, 5)
#: Head of a unit: its length, the version, the offset of its abbreviations, the size of an address.
_VERSION_AT = _WORD.size
_ABBREVIATIONS_AT = _VERSION_AT + _HALF.size
_ADDRESS_SIZE_AT = _ABBREVIATIONS_AT + _WORD.size
_LEN_UNIT_HEAD = _ADDRESS_SIZE_AT + 1

#: Form of a reference to an entry of the same unit -> how it is stored.
_REFERENCES = {
    DW_FORM_REF1: _BYTE,
    DW_FORM_REF2: _HALF,
    DW_FORM_REF4: _WORD,
    DW_FORM_REF8: _LONG,
}
#: Form -> bytes of a value.
_FIXED = {
    DW_FORM_DATA1: 1,
    DW_FORM_DATA2: 2,
    DW_FORM_DATA4: 4,
    DW_FORM_DATA8: 8,
    DW_FORM_FLAG: 1,
    DW_FORM_FLAG_PRESENT: 0,
    DW_FORM_STRP: 4,
    DW_FORM_SEC_OFFSET: 4,
    DW_FORM_REF_ADDR: 4,
    DW_FORM_REF_SIG8: 8,
    **{form: reference.size for form, reference in _REFERENCES.items()},
}
_LEB128 = frozenset((DW_FORM_SDATA, DW_FORM_UDATA))
#: Form of a block -> how its length is stored.
_BLOCKS = {DW_FORM_BLOCK1: _BYTE, DW_FORM_BLOCK2: _HALF, DW_FORM_BLOCK4: _WORD}
_LEB128_BLOCKS = frozenset((DW_FORM_BLOCK, DW_FORM_EXPRLOC))


def rename(description: Description, section: Section, data: bytes, old: bytes, new: bytes) -> None:
    """Replace a symbol's name in ``.debug_info`` or its Mercury twin.

    Raises:
        CubinError: the section cannot be read, or an offset no longer fits.
    """
    _DebugInfo(description, section, data).rename(old, new)


def text_end(section: Section, data: bytes, at: int) -> int:
    """Offset of the NUL that ends a text.

    Raises:
        CubinError: there is none.
    """
    end = data.find(b"\0", at)
    if end < 0:
        refuse(section, at, "a name does not end")
    return end


def refuse(section: Section, at: int, reason: str) -> NoReturn:
    """Say at which offset of a section a name cannot be changed."""
    raise BadStructureError(
        f"the name cannot be changed here: {reason}",
        field=f"{section.name} offset {at:#x}",
        expected="a file without debug data: strip --debug first",
    )


#: Abbreviation code -> tag of the entry, and (attribute, form) of its values.
_Abbreviations = dict[int, tuple[int, list[tuple[int, int]]]]


@dataclass(slots=True)
class _Entry:
    """One debugging information entry.

    Attributes:
        linkage, name: offsets of its linkage names and its name.
        is_external: whether other units see it.
    """

    tag: int
    linkage: list[int] = field(default_factory=list)
    name: int | None = None
    is_external: bool = False

    def take_text(self, attribute: int, at: int) -> None:
        """Note where an attribute that is a text stands."""
        if attribute == DW_AT_NAME:
            self.name = at
        elif attribute in (DW_AT_LINKAGE_NAME, DW_AT_MIPS_LINKAGE_NAME):
            self.linkage.append(at)


class _DebugInfo:
    """``.debug_info`` of one half of the file.

    Attributes:
        addends: place in the section -> addend of the relocation there.
        units: first and last byte of every unit.
        references: place, form, and start of the unit that a reference counts from.
        edits: offsets of the names to be replaced, ascending.
        delta: by how much the new name is longer.
    """

    def __init__(self, description: Description, section: Section, data: bytes) -> None:
        self.description = description
        self.section = section
        self.data = data
        self.is_mercury = bool(section.sh_flags & SHF_CUDA_MERCURY)
        self.prefix = MERCURY_PREFIX if self.is_mercury else ""
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
        self.units: list[tuple[int, int]] = []
        self.references: list[tuple[int, Struct, int]] = []
        self.edits: list[int] = []
        self.delta = 0

    def rename(self, old: bytes, new: bytes) -> None:
        """Replace the names of all entries that name the symbol."""
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
        pieces = bytearray(self.data)
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
        """Correct sizes, references and relocations; the names are replaced afterwards."""
        for start, end in self.units:
            length = self._place(end) - self._place(start) - _WORD.size
            _WORD.pack_into(pieces, start, length)
        for at, form, unit in self.references:
            (value,) = form.unpack_from(self.data, at)
            new = self._place(unit + value) - self._place(unit)
            if new >> 8 * form.size:
                refuse(self.section, at, "a reference does not fit any more")
            form.pack_into(pieces, at, new)
        tables = SymbolTables(self.description)
        itself = {
            at
            for at, entry in enumerate(tables.mercury if self.is_mercury else tables.entries)
            if entry is self.section
            or (
                isinstance(entry, bodies.MercurySymbol)
                and entry.section is self.section
                and entry.st_info & ST_TYPE_MASK == STT_SECTION
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
                    refuse(section, offset, "an offset into .debug_info stands in another section")
                addend = self._place(addend)
            rows.append((self._place(offset) if is_own else offset, symbol, kind, addend))
        section.body = bodies.Relocations.from_rows(rows, body.rela, body.is_64)

    def _is_of(self, relocations: Section, section: Section) -> bool:
        """Whether a relocation section is the one of a section, by their names."""
        name = section.name.removeprefix(self.prefix)
        return relocations.name in (self.prefix + ".rela" + name, self.prefix + ".rel" + name)

    # -- reading ---------------------------------------------------------------------------------

    def _text(self, at: int) -> bytes:
        return self.data[at : text_end(self.section, self.data, at)]

    def _entries(self) -> Iterator[_Entry]:
        data, at = self.data, 0
        while at < len(data):
            if len(data) - at < _LEN_UNIT_HEAD:
                refuse(self.section, at, "a unit is cut off")
            (length,) = _WORD.unpack_from(data, at)
            end = at + _WORD.size + length
            (version,) = _HALF.unpack_from(data, at + _VERSION_AT)
            if end > len(data):
                refuse(self.section, at, "a unit is cut off")
            if version not in _VERSIONS:
                refuse(self.section, at, f"DWARF {version} is not understood")
            self.units.append((at, end))
            yield from self._unit(at, end)
            at = end

    def _unit(self, start: int, end: int) -> Iterator[_Entry]:
        """The functions and variables of a unit."""
        data = self.data
        place = self.addends.get(start + _ABBREVIATIONS_AT)
        (stored,) = _WORD.unpack_from(data, start + _ABBREVIATIONS_AT)
        abbreviations = self._abbreviations(stored if place is None else place)
        address_size = data[start + _ADDRESS_SIZE_AT]
        at = start + _LEN_UNIT_HEAD
        while at < end:
            code, at = self._leb128(at, end)
            if not code:
                continue
            if code not in abbreviations:
                refuse(self.section, at, f"abbreviation {code} is not defined")
            tag, attributes = abbreviations[code]
            entry = _Entry(tag)
            for attribute, form in attributes:
                if form == DW_FORM_STRING:
                    entry.take_text(attribute, at)
                elif attribute == DW_AT_EXTERNAL:
                    entry.is_external = True
                elif form in _REFERENCES:
                    self.references.append((at, _REFERENCES[form], start))
                elif form == DW_FORM_REF_ADDR:
                    self.references.append((at, _WORD, 0))
                at = self._value_end(at, form, address_size, end)
            if tag in (DW_TAG_SUBPROGRAM, DW_TAG_VARIABLE):
                yield entry

    def _value_end(self, at: int, form: int, address_size: int, end: int) -> int:
        """End of a value; it must be inside the unit."""
        data = self.data
        if form in _FIXED:
            at += _FIXED[form]
        elif form == DW_FORM_ADDR:
            at += address_size
        elif form == DW_FORM_STRING:
            at = text_end(self.section, data, at) + 1
        elif form in _LEB128:
            _, at = self._leb128(at, end)
        elif form in _LEB128_BLOCKS:
            length, at = self._leb128(at, end)
            at += length
        elif form in _BLOCKS and at + _BLOCKS[form].size <= end:
            (length,) = _BLOCKS[form].unpack_from(data, at)
            at += _BLOCKS[form].size + length
        else:
            refuse(self.section, at, f"form {form:#x} is not understood")
        if at > end:
            refuse(self.section, at, "an entry is cut off")
        return at

    def _leb128(self, at: int, end: int) -> tuple[int, int]:
        value = _read_leb128(self.data, at, end)
        if value is None:
            refuse(self.section, at, "a number does not end")
        return value

    def _abbreviations(self, at: int) -> _Abbreviations:
        section = self.description.section(self.prefix + ".debug_abbrev")
        if section is None or not isinstance(section.body, bodies.Blob):
            refuse(self.section, 0, "there is no .debug_abbrev")
        data = section.body.data
        found: _Abbreviations = {}

        def number() -> int:
            nonlocal at
            value = _read_leb128(data, at, len(data))
            if value is None:
                refuse(section, at, "a number does not end")
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
