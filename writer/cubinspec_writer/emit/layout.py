"""Phase one: everything about a file that follows from its description.

How the writers work, as far as their output shows it (profiles.py names them, kinds.py has the
rules for single sections, strings.py those of the string tables, segments.py program headers):

*Order.* A writer makes sections and symbols one after the other and remembers the order. Section
indices are a stable sort of that order into groups (:func:`kinds.group`). ``.symtab`` holds the
section symbols and the local and weak symbols in the order in which they were made, then the
globals.

*Offsets.* Sections stand in index order from the end of the ELF header on, aligned; sections
without bytes are aligned too and move the position by their padding. Section headers follow at
the next multiple of 8, program headers right after them.

*Sharing.* A Mercury section whose bytes equal those of its plain twin has the twin's offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import error as StructError
from struct import pack
from types import MappingProxyType

from cubinspec.errors import BadStructureError, CubinError
from cubinspec.reader import elf
from cubinspec_generated import records
from cubinspec_writer.emit import bodies, segments
from cubinspec_writer.emit.kinds import (
    CAPMERC_UFT,
    LINK_TO_MERC_SYMTAB,
    SHT_CUDA_UDT,
    SHT_CUDA_UFT,
    SHT_CUDA_UIDX,
    STUB,
    UFT,
    UFT_REL,
    Kinds,
    info_target,
)
from cubinspec_writer.emit.model import (
    SHN_COMMON,
    SHN_LORESERVE,
    SHN_XINDEX,
    Description,
    Dropped,
    Section,
    Symbol,
)
from cubinspec_writer.emit.profiles import PROFILES, twin_of
from cubinspec_writer.emit.strings import (
    section_names,
    shstrtab_hole,
    string_offsets,
    strtab_hole,
    symbol_names,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from cubinspec_writer.emit.profiles import Profile

    SymbolRow = tuple[int, int, int, int, int, int]

STT_FUNC, STT_SECTION = 2, 3
_TEXT = ".text."
STB_GLOBAL = 1
_R_CUDA_32 = 1
#: Largest section index that fits into bits 24-31 of e_flags; readers accept 0xff as "not said".
MAX_NOTE_INDEX = 0xFF

#: Attribute streams with more records than this are those of whole modules.
_MANY_RECORDS = 256

#: Mercury kinds that never share bytes with a plain section.
_NEVER_SHARED = (
    LINK_TO_MERC_SYMTAB
    | frozenset((bodies.SHT_CUDA_MERC_SYMTAB, elf.SHT_CUDA_RESERVED_SHARED))
    | frozenset((SHT_CUDA_UDT, SHT_CUDA_UIDX))
    | bodies.UFT_TYPES
    | bodies.INFO_TYPES
)


@dataclass(slots=True)
class Plan:
    """A file laid out: all numbers are known, no body is written yet.

    Attributes:
        sections: in index order; index 0 is ``None``.
        section_rows: the section headers, ELF64 field order.
        offsets: where the bytes of each section stand.
        tables_at: where the section headers and the program headers stand.
        symbol_rows: ``.symtab``, with real section indices.
        tables: bytes of both string tables, and of other computed tables once they are written.
        ehdr: the fields behind ``e_ident``.
        segment_rows: program headers, ELF64 field order.
        size: length of the file.
    """

    sections: list[Section | None]
    section_rows: list[tuple[int, ...]]
    offsets: list[int]
    tables_at: tuple[int, int]
    symbol_rows: list[SymbolRow]
    tables: dict[str, bytes]
    ehdr: tuple[int, ...]
    segment_rows: list[tuple[int, ...]]
    size: int
    is_64: bool
    context: Planner


def _refuse(reason: str, field: str) -> NoReturn:
    raise BadStructureError(reason, field=field)


def _no_symbol(key: tuple[int, str], default: int) -> int:
    return default


def _align(value: int, alignment: int) -> int:
    return value if alignment < 2 else (value + alignment - 1) // alignment * alignment


class Planner:
    """The steps of :func:`plan` over shared state.

    Args:
        kinds: of the sections of the description, where they are known.
        known: string tables that may come out, with the place of every name.
    """

    def __init__(
        self,
        description: Description,
        kinds: Kinds | None = None,
        known: Mapping[bytes, dict[str, int]] = MappingProxyType({}),
    ) -> None:
        self.description = description
        creation = description.sections
        if kinds is None:
            profile = PROFILES.get(description.profile)
            if profile is None:
                _refuse(f"unknown profile {description.profile!r}", "profile")
            kinds = Kinds(profile, creation)
        self.kinds = kinds
        self.profile: Profile = kinds.profile
        self.is_64 = description.header.ei_class == elf.ELFCLASS64
        pins = description.pins
        order = pins.index_order
        if order is None:
            order = kinds.index_order(creation)
        #: In index order, and what else is known of each, in the same order.
        self.sections = [creation[at] for at in order]
        self.names = [section.name for section in self.sections]
        self.kind_of_each = [kinds.found[section] for section in self.sections]
        count = len(self.sections)
        self.indices = dict(zip(self.sections, range(1, count + 1), strict=True))
        #: Index of the first section of each name.
        self.index_of_name = dict(zip(reversed(self.names), range(count, 0, -1), strict=True))
        #: Index of the first computed table of each kind.
        self._computed: dict[str, int] = {}
        for section in self.sections:
            if isinstance(section.body, bodies.Computed):
                self._computed.setdefault(section.body.kind, self.indices[section])
        repeated: dict[Section, int] = {}
        if pins.shstrtab is None:
            self.shstrtab, first, repeated = section_names(description, kinds, known)
        else:
            self.shstrtab, first = pins.shstrtab, string_offsets(pins.shstrtab)
        #: Where the name of each section stands; ``None``: nowhere.
        self.name_places: list[int | None] = [*map(first.get, self.names)]
        for section, place in repeated.items():
            self.name_places[self.indices[section] - 1] = place
        if pins.strtab is None:
            self.strtab, self.strtab_offsets = symbol_names(description, kinds, known)
        else:
            self.strtab, self.strtab_offsets = pins.strtab, string_offsets(pins.strtab)
        #: Index in ``.symtab`` of the first symbol of a function by section index and name.
        self.function_symbols: dict[tuple[int, str], int] = {}
        self.symbol_rows: list[SymbolRow] = []
        #: What stands at each index of ``.symtab``: a section for its symbol, ``None`` at 0.
        self.symbol_entries: list[Section | Symbol | None] = []
        #: Bytes of the computed tables by kind, as far as they were asked for.
        self.tables = {"shstrtab": self.shstrtab, "strtab": self.strtab}
        #: Bytes of bodies that are written as soon as their size is asked for.
        self.encoded: dict[Section, bytes] = {}
        self._info_writer = bodies.InfoWriter()
        self._sizes: list[int] = []
        self.capsule_symbols: dict[Section, int] | None = None
        self.num_local = 0
        self.num_tail = 0

    def named(self, name: str) -> Section | None:
        """The first section of a name."""
        index = self.index_of_name.get(name)
        return None if index is None else self.sections[index - 1]

    # -- what bodies may ask for -----------------------------------------------------------------

    def string_offset(self, text: str) -> int:
        """Offset of a string in ``.strtab``."""
        offset = self.strtab_offsets.get(text)
        if offset is None:
            _refuse(f"the string {text!r} is in no symbol name table", ".strtab")
        return offset

    def signature_offset(self, text: str) -> int:
        """Offset of a signature; an empty one has a place of its own in ``.strtab``."""
        if text:
            return self.string_offset(text)
        return max(self.strtab.find(b"\0\0"), 0) + 1

    def section_index(self, section: Section) -> int:
        """Index of a section of the description."""
        return self._index(section)

    # -- symbols ---------------------------------------------------------------------------------

    def _index(self, section: Section | int) -> int:
        if isinstance(section, int):
            return section
        index = self.indices.get(section)
        if index is None:
            _refuse(f"section {section.name} is referred to but not part of the file", "symbols")
        return index

    def symbols(self) -> list[SymbolRow]:
        """``.symtab``."""
        entries: list[Section | Symbol | None] = [None]
        tail: list[Section] = []
        named_early: list[Symbol] = []
        kinds = self.kinds
        found = kinds.found
        for entry in self.description.history:
            if isinstance(entry, Section):
                kind = found[entry]
                wanted = entry.has_symbol
                if kind.has_symbol if wanted is None else wanted:
                    is_late = (kind.is_late or entry.late) and kinds.is_late(entry)
                    (tail if is_late else entries).append(entry)
            elif isinstance(entry, Symbol):
                wanted = entry.in_globals
                is_global = entry.st_info >> 4 == STB_GLOBAL if wanted is None else wanted
                (named_early if is_global else entries).append(entry)
        self.num_local = len(entries)
        entries += named_early
        entries += [entry for entry in self.description.symbols if isinstance(entry, Symbol)]
        entries += tail
        self.num_tail = len(tail)
        rows = self._symbol_rows(entries)
        order = self.description.pins.symbol_order
        if order is not None:
            if sorted(order) != list(range(len(rows))):
                _refuse("not every symbol stands there once", "symbol_order")
            rows = [rows[at] for at in order]
            entries = [entries[at] for at in order]
        self.symbol_entries = entries
        return rows

    def _symbol_rows(self, entries: list[Section | Symbol | None]) -> list[SymbolRow]:
        rows: list[SymbolRow] = []
        places, indices = self.strtab_offsets, self.indices
        functions = self.function_symbols = {}
        for entry in entries:
            if isinstance(entry, Section):
                place = places.get(entry.name)
                if place is None:
                    self._refuse_name(entry.name)
                rows.append((place, STT_SECTION, 0, indices[entry], 0, 0))
            elif entry is None:
                rows.append((0, 0, 0, 0, self.description.null_value, 0))
            else:
                section, name, info = entry.section, entry.name, entry.st_info
                # every index is above 0; `_index` says which section is not there
                index = section if isinstance(section, int) else indices.get(section, 0)
                index = index or self._index(section)
                place = places.get(name) if entry.exceptions is None else self._pinned_place(entry)
                if place is None:
                    self._refuse_name(name)
                if info & 15 == STT_FUNC:
                    functions.setdefault((index, name), len(rows))
                rows.append((place, info, entry.st_other, index, entry.st_value, entry.st_size))
        return rows

    def _pinned_place(self, symbol: Symbol) -> int | None:
        return symbol.pins.get("st_name", self.strtab_offsets.get(symbol.name))

    @staticmethod
    def _refuse_name(name: str) -> NoReturn:
        _refuse(f"the name {name!r} is missing from .strtab", "symbols")

    # -- sections --------------------------------------------------------------------------------

    def links(self) -> list[int]:
        """``sh_link`` of every section as the rules give it, in index order."""
        stale = self.profile.stale_link
        targets: dict[str | None, int] = {None: 0}
        for name in {kind.link for kind in self.kind_of_each}:
            if name is not None:
                is_stale = name == ".symtab" and stale and self._drops_uft()
                targets[name] = stale if is_stale else self.index_of_name.get(name, 0)
        return [targets[kind.link] for kind in self.kind_of_each]

    def _drops_uft(self) -> bool:
        return any(
            isinstance(entry, Dropped) and entry.name == ".nv.uft.entry"
            for entry in self.description.history
        )

    def infos(self) -> list[int]:
        """``sh_info`` of every section as the rules give it, in index order."""
        result: list[int] = []
        symbol_of = self.function_symbols.get if self.profile.text_symbols else _no_symbol
        index_of = self.index_of_name.get
        for at, (name, kind) in enumerate(zip(self.names, self.kind_of_each, strict=True)):
            if kind.is_code:
                section = self.sections[at]
                if name == UFT:
                    function = self._first_stub(at + 1)
                elif section.sh_type == SHT_CUDA_UFT:
                    function = STUB + name[len(UFT_REL) :]
                else:
                    function = name[len(_TEXT) :]
                result.append(symbol_of((at + 1, function), 0) | section.registers << 24)
            elif kind.info is not None:
                # a kind without functions has the whole name of its target
                result.append(index_of(kind.info + name[kind.cut :], 0))
            else:
                result.append(self._table_info(self.sections[at]))
        return result

    def _first_stub(self, index: int) -> str:
        """Name of the first stub in the table of stubs, which is section number ``index``."""
        names = (name for at, name in self.function_symbols if at == index)
        return next((name for name in names if name.startswith(STUB)), "")

    def _table_info(self, section: Section) -> int:
        """``sh_info`` of what belongs to no function."""
        sh_type = section.sh_type
        if sh_type == elf.SHT_SYMTAB:
            if self.profile.info_is_total and self.num_tail:
                return len(self.symbol_rows)
            return self.num_local - self.profile.info_is_last_local
        if isinstance(section.body, bodies.MercurySymbols):
            return self.num_local
        if sh_type == bodies.SHT_CUDA_CAPMERC:
            if self.capsule_symbols is None:
                self.capsule_symbols = self._capsule_symbols()
            return self.capsule_symbols.get(section, 0)
        target = info_target(section)
        return 0 if target is None else self.index_of_name.get(target, 0)

    def _capsule_symbols(self) -> dict[Section, int]:
        """Index in ``.nv.merc.symtab`` of the function of each capsule."""
        symbols: dict[Section, int] = {}
        table = self.named(".nv.merc.symtab")
        if table is not None and isinstance(table.body, bodies.MercurySymbols):
            for at, symbol in enumerate(table.body.symbols, 1):
                if symbol.st_info & 15 == STT_FUNC and isinstance(symbol.section, Section):
                    name = symbol.section.name
                    function = symbol.name.removeprefix(STUB)
                    if name.endswith("." + function) or name == CAPMERC_UFT:
                        symbols.setdefault(symbol.section, at)
        return symbols

    def size(self, section: Section) -> int:
        """``sh_size`` of a section."""
        return self.sizes()[self.indices[section] - 1]

    def sizes(self) -> list[int]:
        """``sh_size`` of every section, in index order."""
        if not self._sizes:
            self._sizes = [
                len(section.body.data)
                if isinstance(section.body, bodies.Blob)
                else self._size(section)
                for section in self.sections
            ]
        return self._sizes

    def know_sizes(self, sizes: list[int]) -> None:
        """Say what :meth:`sizes` would find out."""
        self._sizes = sizes

    def _size(self, section: Section) -> int:
        body = section.body
        if isinstance(body, bodies.InfoRecords):
            # counting their bytes takes as long as writing them
            is_long = len(body.records) > _MANY_RECORDS  # mostly different ones
            data = body.encode(self) if is_long else self._info_writer.write(body.records)
            self.encoded[section] = data
            return len(data)
        if isinstance(body, bodies.Computed):
            return len(self.table(body.kind, section.name))
        return body.size

    def table(self, kind: str, field: str) -> bytes:
        """The bytes of a computed table, which ``field`` stands for."""
        table = self.tables.get(kind)
        if table is None:
            if kind not in ("symtab", "symtab_shndx") or not self._by_kind("symtab"):
                _refuse(f"no table of kind {kind!r} is computed", field)
            rows = self.symbol_rows
            words: list[int] = []
            if self._by_kind("symtab_shndx"):
                rows, words = self._extended()
                words = self.description.pins.symbol_words or words
            self.tables["symtab"] = bodies.encode_symbols(rows, self.is_64)
            self.tables["symtab_shndx"] = pack(f"<{len(words)}I", *words)
            table = self.tables[kind]
        return table

    def _holes(self) -> tuple[int, int]:
        """Free bytes behind ``.shstrtab`` and ``.strtab``."""
        profile = self.profile
        first = 0 if profile.names_by_index else shstrtab_hole(self.sections, profile)
        return first, strtab_hole(self.sections, self.kinds)

    def offsets(self, actual: list[int] | None = None) -> tuple[list[int], int]:
        """Offset of every section, and the end of the last one.

        Args:
            actual: offsets that the file has. Where the rule gives another one, the section is
                pinned and the rule goes on from there.
        """
        profile = self.profile
        header = 64 if self.is_64 else 52
        entry = 64 if self.is_64 else 40
        at = header
        if profile.table_first:
            at += entry * (len(self.sections) + 1)
        holes = dict(zip((".shstrtab", ".strtab"), self._holes(), strict=True))
        result: list[int] = []
        table_first = profile.table_first
        hole = 0
        rows = zip(self.sections, self.kind_of_each, self.sizes(), strict=True)
        is_usual = actual is None and not table_first
        for section, kind, size in rows:
            at += hole
            hole = 0
            alignment = section.sh_addralign
            offset = at if alignment < 2 else at + -at % alignment
            if is_usual and kind.is_plain and section.exceptions is None and not section.shares:
                result.append(offset)
                at = offset if isinstance(section.body, bodies.NoBytes) else offset + size
                continue
            pinned = None if section.exceptions is None else section.pins.get("sh_offset")
            if pinned is None and (kind.is_mercury or section.shares):
                twin = self._shared_twin(section)
                shared = 0 if twin is None else self.indices.get(twin, 0)
                if 0 < shared <= len(result):
                    place = result[shared - 1]
                    if actual is None or actual[len(result)] == place:
                        result.append(place)
                        continue
                    section.shares = False
            is_strings = section.sh_type == elf.SHT_STRTAB
            if is_strings and table_first:
                offset = _align(offset, 8)
            if actual is not None and actual[len(result)] != offset:
                if self._pin_offset(section, actual[len(result)], result):
                    continue
                offset = actual[len(result)]
            elif pinned is not None:
                offset = pinned
            result.append(offset)
            at = offset
            if kind.is_stored and not isinstance(section.body, bodies.NoBytes):
                at += size
            if is_strings:
                if table_first:
                    at = _align(at, 8)
                hole = holes.get(section.name, 0)
        return result, at

    def _shared_twin(self, section: Section) -> Section | None:
        """The section whose bytes a Mercury section uses instead of its own."""
        if isinstance(section.shares, Section):
            return section.shares
        if section.shares is False or not section.sh_flags & elf.SHF_CUDA_MERCURY:
            return None
        if section.sh_type in _NEVER_SHARED:
            return None
        if section.name == ".nv.merc.debug_info" and not self._only_addresses():
            return None
        twin = self.named(twin_of(section.name))
        if twin is None or not isinstance(twin.body, bodies.Blob):
            return None
        body = section.body
        return twin if isinstance(body, bodies.Blob) and body.data == twin.body.data else None

    def _only_addresses(self) -> bool:
        """Whether ``.debug_info`` has no references to other debug sections (R_CUDA_32).

        They are what keeps its Mercury twin apart; 22 of 22 files of ptxas and nvlink 13.0 and
        13.2.
        """
        section = self.named(".rela.debug_info")
        if section is None or not isinstance(section.body, bodies.Relocations):
            return True
        return all(kind != _R_CUDA_32 for _, _, kind, _ in section.body.rows())

    def _pin_offset(self, section: Section, offset: int, before: list[int]) -> bool:
        """Keep an offset that the rule does not give; whether it is that of an equal twin."""
        twin = self.named(twin_of(section.name))
        index = 0 if twin is None or twin is section else self.indices[twin]
        if (
            twin is not None
            and section.sh_flags & elf.SHF_CUDA_MERCURY
            and 0 < index <= len(before)
            and before[index - 1] == offset
            and self.size(section) == self.size(twin)
        ):
            section.shares = twin
            section.pins.pop("sh_offset", None)
            before.append(offset)
            return True
        section.pins["sh_offset"] = offset
        return False

    # -- the whole -------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Number the symbols, which the sizes depend on."""
        if self._by_kind("symtab"):
            self.symbol_rows = self.symbols()

    def _extended(self) -> tuple[list[SymbolRow], list[int]]:
        """``.symtab`` as it is stored beside ``.symtab_shndx``, and the words of that.

        A symbol gets its word when it is made: the number of its section so far. Later the real
        index replaces the word only where it needs it. Symbols of late sections are made with
        their final index (files of ptxas 13.0 with 66,000 sections: sm_80, sm_90, sm_100).
        """
        made = self._numbers_when_made()
        stored = list(self.symbol_rows)
        words = []
        late = len(stored) - self.num_tail
        for at, (row, entry) in enumerate(zip(self.symbol_rows, self.symbol_entries, strict=True)):
            section = entry.section if isinstance(entry, Symbol) else entry
            index = row[3]
            word = 0
            if isinstance(section, Section):
                is_late = isinstance(entry, Section) and at >= late
                if is_late:
                    is_far = index > SHN_LORESERVE
                else:
                    word = made.get(section, 0)
                    # a real section 0xfff2 is taken for common symbols
                    is_far = index >= SHN_LORESERVE and index != SHN_COMMON
                if is_far:
                    word = index
                    stored[at] = (*row[:3], SHN_XINDEX, *row[4:])
            elif index > SHN_XINDEX:
                word = index
                stored[at] = (*row[:3], SHN_XINDEX, *row[4:])
            words.append(word)
        return stored, words

    def _numbers_when_made(self) -> dict[Section, int]:
        """The number of each section at the time it was made, when dropped ones were still there.

        ``.nv.rel.action`` and, of the finalizer, a kernel's parameter bank were there from an
        earlier time on than their names say.
        """
        numbers: dict[Section, int] = {}
        count = 0
        bank = False
        for entry in self.description.history:
            if isinstance(entry, Symbol) or (isinstance(entry, Dropped) and not entry.in_shstrtab):
                continue
            if isinstance(entry, Section) and self.kinds.is_late(entry):
                continue
            name = entry.name
            if name.startswith((".text.", ".debug_frame")):
                count += bank
                kernel = name.removeprefix(".text.")
                bank = (
                    self.profile.late_constant0 and f".nv.constant0.{kernel}" in self.index_of_name
                )
            count += 1
            if isinstance(entry, Section):
                numbers[entry] = count
            if name == ".nv.info" and ".nv.rel.action" in self.index_of_name:
                count += 1
        return numbers

    def run(self) -> Plan:
        """Everything."""
        self.prepare()
        return self.finish(*self.offsets())

    def finish(
        self, offsets: list[int], end: int, rows: Sequence[tuple[int, ...]] | None = None
    ) -> Plan:
        """Headers and program headers, once the sections have their places.

        Args:
            rows: the section headers without the null one, where they are known.
        """
        header, pins = self.description.header, self.description.pins
        if rows is None:
            rows = self._section_rows(offsets)
        count = len(rows) + 1
        ehsize, shentsize, phentsize = (64, 64, 56) if self.is_64 else (52, 40, 32)
        word = 8 if self.is_64 else 4
        shoff = ehsize if self.profile.table_first else (end + word - 1) // word * word
        shoff = header.pins.get("e_shoff", shoff)
        after_sections = shoff + count * shentsize
        style = segments.SEGMENT_STYLES[self.profile.segments]
        headers = pins.segments
        if headers is None:
            wanted = header.e_type == 2 and count > 1
            headers = style(rows, after_sections, phentsize) if wanted else []
            if not self.is_64:
                headers = [(*row[:-1], segments.P_ALIGN_32) for row in headers]
        phoff = header.pins.get("e_phoff", after_sections if headers else 0)
        shstrndx = self._by_kind("shstrtab")
        # gABI extended numbering, in section header 0
        null = (
            0, 0, 0, 0, 0,
            count if count >= SHN_LORESERVE else 0,
            shstrndx if shstrndx >= SHN_LORESERVE else 0,
            0, 0, 0,
        )  # fmt: skip
        rows = [null if pins.null_section is None else pins.null_section, *rows]
        for at, section in enumerate(self.sections, 1):
            if section.exceptions is not None:
                rows[at] = _overridden(rows[at], section.overrides)
        fields = {
            "e_type": header.e_type,
            "e_machine": elf.EM_CUDA,
            "e_version": header.e_version,
            "e_entry": header.e_entry,
            "e_phoff": phoff,
            "e_shoff": shoff,
            "e_flags": self._flags(),
            "e_ehsize": ehsize,
            "e_phentsize": phentsize if headers else self._idle_phentsize(phentsize),
            "e_phnum": len(headers),
            "e_shentsize": shentsize,
            "e_shnum": 0 if count >= SHN_LORESERVE else count,
            "e_shstrndx": SHN_XINDEX if shstrndx >= SHN_LORESERVE else shstrndx,
        }
        fields.update(header.pins)
        ehdr = tuple([header.overrides.get(name, value) for name, value in fields.items()])
        size = max(
            end if self.profile.table_first else 0,
            after_sections,
            phoff + len(headers) * phentsize if headers else 0,
            end,
        )
        return Plan(
            [None, *self.sections],
            rows,
            [0, *offsets],
            (shoff, phoff),
            self.symbol_rows,
            self.tables,
            ehdr,
            headers,
            size if pins.file_size is None else pins.file_size,
            self.is_64,
            self,
        )

    def _idle_phentsize(self, phentsize: int) -> int:
        return phentsize if self.profile.phentsize_when_none else 0

    def _by_kind(self, kind: str) -> int:
        return self._computed.get(kind, 0)

    def _flags(self) -> int:
        header = self.description.header
        if header.ei_osabi != 0x41:
            return header.e_flags
        for name in (".note.nv.cuinfo", ".note.nv.cuver"):
            note = self.index_of_name.get(name)
            if note is not None:
                return header.e_flags | min(note, MAX_NOTE_INDEX) << 24
        return header.e_flags

    def _section_rows(self, offsets: list[int]) -> list[tuple[int, ...]]:
        sections, places, sizes = self.sections, self.name_places, self.sizes()
        if None in places or any(section.exceptions is not None for section in sections):
            places, sizes = [*places], [*sizes]
            for at, section in enumerate(sections):
                places[at], sizes[at] = self._pinned(section, places[at], sizes[at])
        index = self._index
        return list(
            zip(
                places,
                [section.sh_type for section in sections],
                [section.sh_flags for section in sections],
                [section.sh_addr for section in sections],
                offsets,
                sizes,
                [
                    link if section.link is None else index(section.link)
                    for section, link in zip(sections, self.links(), strict=True)
                ],
                [
                    info if section.info is None else index(section.info)
                    for section, info in zip(sections, self.infos(), strict=True)
                ],
                [section.sh_addralign for section in sections],
                [section.sh_entsize for section in sections],
                strict=True,
            )
        )

    @staticmethod
    def _pinned(section: Section, place: int | None, size: int) -> tuple[int, int]:
        """Where the name of a section stands, and its size, after what is pinned."""
        if section.exceptions is not None:
            pins = section.exceptions.pins
            place = pins.get("sh_name", section.exceptions.overrides.get("sh_name", place))
            size = pins.get("sh_size", size)
        if place is None:
            _refuse(f"the name {section.name!r} is missing from .shstrtab", section.name)
        return place, size


def _overridden(row: tuple[int, ...], overrides: dict[str, int]) -> tuple[int, ...]:
    fields = zip(records.SECTION_HEADER_64_FIELDS, row, strict=True)
    return tuple([overrides.get(name, value) for name, value in fields])


def plan(description: Description) -> Plan:
    """Lay out a description.

    Raises:
        CubinError: the description contradicts itself (a name or section that is not there).
    """
    try:
        return Planner(description).run()
    except StructError as error:
        raise BadStructureError(f"a number does not fit its field: {error}") from error
    except (IndexError, OverflowError) as error:
        raise CubinError(f"the description cannot be laid out: {error}") from error
