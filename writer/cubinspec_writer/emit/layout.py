"""Phase one: everything about a file that follows from its description.

How the writers work, as far as their output shows it (profiles.py names them):

*Order.* A writer makes sections and symbols one after the other and remembers the order. Section
indices are a stable sort of that order into groups (:func:`group`). ``.symtab`` holds the section
symbols and the local and weak symbols in the order in which they were made, then the globals.

*Names.* ``.shstrtab`` and ``.strtab`` get each name when it is first used, once, without sharing
of suffixes; names of what was dropped later stay. ``.strtab`` also holds the section names, in the
same order, and the names of the globals last. One irregularity: the name of a relocation section
of ``.nv.constant0.<k>`` enters ``.strtab`` before that of the section, ``.shstrtab`` after it.

*Offsets.* Sections stand in index order from the end of the ELF header on, aligned; sections
without bytes are aligned too and move the position by their padding. Section headers follow at
the next multiple of 8, program headers right after them.

*Sharing.* A Mercury section whose bytes equal those of its plain twin has the twin's offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import error as StructError
from typing import TYPE_CHECKING, NoReturn

from cubinspec.errors import BadStructureError, CubinError
from cubinspec.reader import elf
from cubinspec_generated import records
from cubinspec_writer.emit import bodies
from cubinspec_writer.emit.model import (
    SHN_LORESERVE,
    SHN_XINDEX,
    Description,
    Dropped,
    Section,
    Symbol,
)
from cubinspec_writer.emit.profiles import CAPMERC_TEXT, PROFILES, mercury_name, twin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cubinspec_writer.emit.profiles import Profile

STT_FUNC, STT_SECTION = 2, 3
STB_GLOBAL = 1
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
PT_LOAD, PT_PHDR = 1, 6
PF_X, PF_W, PF_R = 1, 2, 4
_R_CUDA_32 = 1
P_ALIGN, P_ALIGN_32 = 8, 4
#: Largest section index that fits into bits 24-31 of e_flags; readers accept 0xff as "not said".
MAX_NOTE_INDEX = 0xFF

#: Jump slots of unified functions (code), and unified data.
SHT_CUDA_UFT, SHT_CUDA_UDT = 0x7000000E, 0x70000012
UFT_REL = ".nv.uft.rel."
_STUB = "__cuda_uf_stub_"

_LINK_TO_SYMTAB = frozenset(
    (
        bodies.SHT_CUDA_INFO,
        bodies.SHT_CUDA_CALLGRAPH,
        bodies.SHT_CUDA_PROTOTYPE,
        bodies.SHT_CUDA_RESOLVED_RELA,
        bodies.SHT_CUDA_UFT_ENTRY,
        bodies.SHT_CUDA_UDT_ENTRY,
        elf.SHT_REL,
        elf.SHT_RELA,
        SHT_CUDA_UFT,
    )
)
_LINK_TO_MERC_SYMTAB = frozenset(
    (
        bodies.SHT_CUDA_CAPMERC,
        bodies.SHT_CUDA_MERC_RELA,
        bodies.SHT_CUDA_MERC_INFO,
        bodies.SHT_CUDA_MERC_CALLGRAPH,
        bodies.SHT_CUDA_MERC_PROTOTYPE,
        bodies.SHT_CUDA_MERC_RESOLVED_RELA,
    )
)
#: Kinds of sections for which no section symbol is made.
_NO_SYMBOL = (
    frozenset((elf.SHT_STRTAB, elf.SHT_SYMTAB, elf.SHT_SYMTAB_SHNDX, bodies.SHT_CUDA_COMPAT))
    | frozenset((bodies.SHT_CUDA_INFO, bodies.SHT_CUDA_UFT_ENTRY, bodies.SHT_CUDA_UDT_ENTRY))
    | bodies.RELOCATION_TYPES
)
#: Mercury kinds that never share bytes with a plain section.
_NEVER_SHARED = (
    _LINK_TO_MERC_SYMTAB
    | frozenset((bodies.SHT_CUDA_MERC_SYMTAB, elf.SHT_CUDA_RESERVED_SHARED, SHT_CUDA_UDT))
    | bodies.UFT_TYPES
    | bodies.INFO_TYPES
)


def group(section: Section, profile: Profile) -> int:
    """Rank of a section in the index order."""
    name, kind = section.name, section.sh_type
    if profile.table_first:
        return 0
    if section.sh_flags & elf.SHF_CUDA_MERCURY:
        return _mercury_group(name, kind, profile)
    fixed = {".shstrtab": 0, ".strtab": 1, ".symtab": 2, ".symtab_shndx": 2, ".nv.info": 5}
    if name in fixed:
        return fixed[name]
    if kind == bodies.SHT_CUDA_COMPAT or name == ".nv.compat":
        return 7 if profile.compat_with_info else 6
    if kind == elf.SHT_PROGBITS and name.startswith((".debug_", ".nv_debug")):
        return 3
    by_kind = {
        elf.SHT_NOTE: 4,
        bodies.SHT_CUDA_INFO: 7,
        bodies.SHT_CUDA_UFT_ENTRY: 7,
        bodies.SHT_CUDA_UDT_ENTRY: 7,
        bodies.SHT_CUDA_CALLGRAPH: 8,
        bodies.SHT_CUDA_PROTOTYPE: 9,
        bodies.SHT_CUDA_RELOCINFO: 10,
    }
    if kind in by_kind:
        return by_kind[kind]
    if kind in bodies.RELOCATION_TYPES:
        return 11
    if name.startswith(".nv.constant0.") and is_late(section, profile):
        return 17
    if name.startswith(".nv.constant"):
        return 12
    if name.startswith(".text") or kind == SHT_CUDA_UFT:
        return 14
    if name.startswith(".nv.global.init") or kind == SHT_CUDA_UDT:
        return 15
    return 16


def is_late(section: Section, profile: Profile) -> bool:
    """Whether a section was made after the global symbols were named."""
    if section.late is not None:
        return section.late
    if not profile.late_constant0:
        return False
    return bool(section.sh_flags & elf.SHF_CUDA_MERCURY) or (
        section.name.startswith(".nv.constant0.") and section.made_as is None
    )


def _mercury_group(name: str, kind: int, profile: Profile) -> int:
    if name.startswith((".nv.merc.debug_", ".nv.merc.nv_debug")):
        return 31
    if name == ".nv.merc.nv.info":
        return 32
    if profile.capsules_last and kind == bodies.SHT_CUDA_CAPMERC:
        return 37
    if profile.capsules_last and kind == bodies.SHT_CUDA_MERC_SYMTAB:
        return 30
    ranks = {
        bodies.SHT_CUDA_CAPMERC: 30,
        bodies.SHT_CUDA_MERC_INFO: 33,
        bodies.SHT_CUDA_UFT_ENTRY: 33,
        bodies.SHT_CUDA_UDT_ENTRY: 33,
        bodies.SHT_CUDA_MERC_CALLGRAPH: 34,
        bodies.SHT_CUDA_MERC_PROTOTYPE: 35,
        bodies.SHT_CUDA_MERC_RELA: 36,
        bodies.SHT_CUDA_MERC_RESOLVED_RELA: 36,
        0x70000079: 38,
        0x7000007C: 38,
        0x7000007D: 38,
        0x70000084: 38,
        bodies.SHT_CUDA_MERC_SYMTAB: 40,
    }
    return ranks.get(kind, 39)


def index_order(sections: list[Section], profile: Profile) -> list[int]:
    """Positions in creation order, in section index order (without the null section)."""
    return sorted(range(len(sections)), key=lambda at: group(sections[at], profile))


class _Names:
    """A string table under construction."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self.offsets: dict[str, int] = {"": 0}

    def erase(self, count: int) -> None:
        """Append the NUL bytes of an overwritten name."""
        self.data += bytes(count)

    def append(self, name: str) -> int:
        """Append a name even if it is there already; its offset."""
        at = len(self.data)
        self.offsets.setdefault(name, at)
        self.data += name.encode("utf-8", "surrogateescape") + b"\0"
        return at

    def add(self, name: str, room: int = 0) -> None:
        """Append a name that is not there yet, with space for at least ``room`` bytes."""
        if name not in self.offsets:
            self.offsets[name] = len(self.data)
            raw = name.encode("utf-8", "surrogateescape")
            self.data += raw + bytes(max(room - len(raw), 0) + 1)


def made_as(section: Section, profile: Profile) -> str:
    """The name under which a section was made."""
    if section.made_as is not None:
        return section.made_as
    return (mercury_name(section.name) or section.name) if profile.mercury_names else section.name


def _length(name: str) -> int:
    return len(name.encode("utf-8", "surrogateescape"))


def section_names(description: Description, profile: Profile) -> tuple[bytes, dict[int, int]]:
    """``.shstrtab``, and the offset of the name of every section by ``id``."""
    table = _Names()
    places: dict[int, int] = {}
    if profile.names_by_index:
        sections = description.sections
        for at in index_order(sections, profile):
            places[id(sections[at])] = table.append(sections[at].name)
        table.erase(_shstrtab_hole(sections, profile))
        return bytes(table.data), places
    entries: list[Section | Symbol | Dropped] = (
        [*_table_first_order(description)] if profile.table_first else description.history
    )
    for entry in entries:
        if isinstance(entry, Section):
            if entry.sh_flags & elf.SHF_CUDA_MERCURY and profile.late_constant0:
                places[id(entry)] = table.append(entry.name)
            else:
                table.add(entry.name, _length(made_as(entry, profile)))
                places[id(entry)] = table.offsets[entry.name]
        elif isinstance(entry, Dropped) and entry.in_shstrtab and not entry.erased:
            table.add(entry.name, _length(entry.made_as or entry.name))
    return bytes(table.data), places


#: How the second writer orders its names: by these prefixes, the rest behind them, then the
#: tables. The second row is that of files with ``.note.nv.cuinfo`` (CUDA 13).
_TABLE_FIRST_RANKS = (
    (".debug_", ".note.nv.cu", ".nv.info", ".nv.info.", ".nv.constant", ".text"),
    (".text", ".note.nv.cu", ".note.nv.tkinfo", ".nv.compat", ".nv.info."),
)


#: The order in which the assembler names what belongs to one kernel.
_KERNEL_PREFIXES = (".text.", ".nv.info.", ".nv.shared.", "", ".nv.constant0.")
_ONCE = (".nv.callgraph", ".nv.info")


def _assembler_order(sections: list[Section], position: dict[str, int]) -> list[Section]:
    """Names of the assembler behind cuBLAS and cuDNN: kernel by kernel, module-wide ones once."""
    code = [at for name, at in position.items() if name.startswith(".text.")]
    first, last = min(code, default=0), len(sections)

    def rank(section: Section) -> tuple[int, int, int]:
        name = section.name
        if section.sh_type in (elf.SHT_SYMTAB, elf.SHT_STRTAB):
            return (last + 1, 0, 0)
        if name in _ONCE:
            return (first, _KERNEL_PREFIXES.index(""), _ONCE.index(name))
        for at, prefix in enumerate(_KERNEL_PREFIXES):
            if prefix and name.startswith(prefix):
                kernel = name[len(prefix) :]
                shared = position.get(".nv.shared." + kernel, -1)
                # the bank is named where it stands: before or behind the shared memory
                early = prefix == ".nv.constant0." and position[name] < shared
                return (position.get(".text." + kernel, last), 0 if early else at, int(early))
        return (last, position[name], 0)

    return sorted(sections, key=rank)


def _table_first_order(description: Description) -> list[Section]:
    sections = description.sections
    position = {section.name: at for at, section in enumerate(sections)}
    if any(name.startswith(".nv.shared.") for name in position):
        return _assembler_order(sections, position)
    prefixes = _TABLE_FIRST_RANKS[".note.nv.cuinfo" in position]

    def rank(section: Section) -> tuple[int, int]:
        name = section.name
        if section.sh_type in (elf.SHT_SYMTAB, elf.SHT_STRTAB):
            return (len(prefixes) + 1, 0)
        if name.startswith(".nv.info."):
            owner = position.get(".text." + name[len(".nv.info.") :], 0)
            return (prefixes.index(".nv.info."), owner)
        for at, prefix in enumerate(prefixes):
            if name.startswith(prefix):
                return (at, position[name])
        return (len(prefixes), position[name])

    return sorted(sections, key=rank)


def symbol_names(description: Description, profile: Profile) -> bytes:
    """``.strtab``."""
    table = _Names()
    if profile.table_first:
        for entry in (*description.history, *description.symbols):
            if isinstance(entry, Symbol):
                table.add(entry.name)
        return bytes(table.data)
    if profile.names_by_index:
        return _names_by_index(description, profile)
    renamed: list[str] = []
    late: list[str] = []
    pending: tuple[str, int, str] | None = None
    for entry in description.history:
        room = 0
        name = made = entry.name
        if isinstance(entry, Section):
            if is_late(entry, profile):
                if not entry.sh_flags & elf.SHF_CUDA_MERCURY:
                    late.append(name)
                continue
            name = made = made_as(entry, profile)
            if name != entry.name and not entry.name.startswith(".rel"):
                if profile.names_patched:
                    room, name = _length(name), entry.name
                else:
                    renamed.append(entry.name)
        elif isinstance(entry, Dropped) and entry.made_as:
            name = entry.made_as
        if pending is not None:
            # the name of the relocation section precedes that of its .nv.constant0
            first = profile.bank_relocations_first
            if first and name in (".rel" + pending[2], ".rela" + pending[2]):
                table.add(name, room)
            table.add(pending[0], pending[1])
            pending = None
        if isinstance(entry, Dropped) and entry.erased:
            table.erase(entry.erased)
        elif isinstance(entry, Section) and name.startswith(_NAMED_BEHIND_RELOCATIONS):
            pending = (name, room, made)
        else:
            table.add(name, room)
    if pending is not None:
        table.add(pending[0], pending[1])
    for symbol in description.symbols:
        if isinstance(symbol, Dropped) and symbol.erased:
            table.erase(symbol.erased)
        else:
            table.add(symbol.name)
    for name in (*renamed, *late):
        table.add(name)
    return bytes(table.data)


def _names_by_index(description: Description, profile: Profile) -> bytes:
    table = _Names()
    late: list[str] = []
    dropped: list[str] = []
    mercury: list[str] = []
    for entry in (*description.history, *description.symbols):
        if isinstance(entry, Dropped):
            dropped.append(entry.name)
        elif isinstance(entry, Symbol):
            table.add(entry.name)
        elif isinstance(entry.body, bodies.MercurySymbols):
            mercury.extend(symbol.name for symbol in entry.body.symbols)
        elif has_symbol(entry) if entry.has_symbol is None else entry.has_symbol:
            if is_late(entry, profile):
                late.append(entry.name)
            else:
                table.add(entry.name)
    for name in (*late, *mercury, *dropped):
        table.add(name)
    return bytes(table.data)


_NAMED_BEHIND_RELOCATIONS = (".nv.constant0.", ".nv.constant.entry_image_header_indices.")


def has_symbol(section: Section) -> bool:
    """Whether the writers make a section symbol for it."""
    if section.sh_type in _NO_SYMBOL or section.sh_flags & elf.SHF_CUDA_MERCURY:
        return False
    return not section.name.startswith(".nv.shared.reserved.")


def _only_addresses(by_name: dict[str, Section]) -> bool:
    """Whether ``.debug_info`` has no references to other debug sections (R_CUDA_32).

    They are what keeps its Mercury twin apart; 22 of 22 files of ptxas and nvlink 13.0 and 13.2.
    """
    section = by_name.get(".rela.debug_info")
    if section is None or not isinstance(section.body, bodies.Relocations):
        return True
    return all(kind != _R_CUDA_32 for _, _, kind, _ in section.body.rows())


def shared_twin(section: Section, by_name: dict[str, Section]) -> Section | None:
    """The section whose bytes a Mercury section uses instead of its own."""
    if isinstance(section.shares, Section):
        return section.shares
    if section.shares is False or not section.sh_flags & elf.SHF_CUDA_MERCURY:
        return None
    if section.sh_type in _NEVER_SHARED:
        return None
    if section.name == ".nv.merc.debug_info" and not _only_addresses(by_name):
        return None
    twin = by_name.get(twin_of(section.name))
    if twin is None or not isinstance(twin.body, bodies.Blob):
        return None
    body = section.body
    return twin if isinstance(body, bodies.Blob) and body.data == twin.body.data else None


@dataclass(slots=True)
class Plan:
    """A file laid out: all numbers are known, no body is written yet.

    Attributes:
        sections: in index order; index 0 is ``None``.
        section_rows: the section headers, ELF64 field order.
        offsets: where the bytes of each section stand.
        tables_at: where the section headers and the program headers stand.
        symbol_rows: ``.symtab``, with real section indices.
        tables: bytes of the computed tables by kind.
        ehdr: the fields behind ``e_ident``.
        segment_rows: program headers, ELF64 field order.
        size: length of the file.
    """

    sections: list[Section | None]
    section_rows: list[tuple[int, ...]]
    offsets: list[int]
    tables_at: tuple[int, int]
    symbol_rows: list[tuple[int, int, int, int, int, int]]
    tables: dict[str, bytes]
    ehdr: tuple[int, ...]
    segment_rows: list[tuple[int, ...]]
    size: int
    is_64: bool
    context: Planner


def _refuse(reason: str, field: str) -> NoReturn:
    raise BadStructureError(reason, field=field)


def string_offsets(table: bytes) -> dict[str, int]:
    """Offset of the first occurrence of every string of a table."""
    offsets: dict[str, int] = {}
    at = 0
    for raw in table.split(b"\0")[:-1]:
        offsets.setdefault(raw.decode("utf-8", "surrogateescape"), at)
        at += len(raw) + 1
    offsets[""] = 0
    return offsets


def _shstrtab_hole(sections: list[Section], profile: Profile) -> int:
    """Bytes of the names that the finalizer counts and does not write."""
    hole = profile.shstrtab_hole
    if profile.hole_per_function:
        hole += sum(
            len(".nv.capmerc") + _length(section.name) + 1
            for section in sections
            if section.name.startswith((".text.", UFT_REL))
        )
    return hole


class Planner:
    """The steps of :func:`plan` over shared state."""

    def __init__(self, description: Description) -> None:
        self.description = description
        profile = PROFILES.get(description.profile)
        if profile is None:
            _refuse(f"unknown profile {description.profile!r}", "profile")
        self.profile: Profile = profile
        self.is_64 = description.header.ei_class == elf.ELFCLASS64
        pins = description.pins
        creation = description.sections
        order = pins.index_order
        if order is None:
            order = index_order(creation, profile)
        self.sections = [creation[at] for at in order]
        self.indices = {id(section): at for at, section in enumerate(self.sections, 1)}
        self.by_name: dict[str, Section] = {}
        for section in self.sections:
            self.by_name.setdefault(section.name, section)
        self.shstrtab = b""
        self.name_places: dict[int, int] = {}
        if pins.shstrtab is None:
            self.shstrtab, self.name_places = section_names(description, profile)
        else:
            self.shstrtab = pins.shstrtab
            first = string_offsets(self.shstrtab)
            for section in self.sections:
                if section.name in first:
                    self.name_places[id(section)] = first[section.name]
        self.strtab = symbol_names(description, profile) if pins.strtab is None else pins.strtab
        self.strtab_offsets = string_offsets(self.strtab)
        self.function_symbols: dict[int, dict[str, int]] = {}
        self.symbol_rows: list[tuple[int, int, int, int, int, int]] = []
        #: What stands at each index of ``.symtab``: a section for its symbol, ``None`` at 0.
        self.symbol_entries: list[Section | Symbol | None] = []
        self.tables = {"shstrtab": self.shstrtab, "strtab": self.strtab}
        self.capsule_symbols: dict[int, int] = {}
        self.drops_uft: bool | None = None
        self.sizes: dict[int, int] = {}
        self.num_local = 0
        self.num_tail = 0

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
        index = self.indices.get(id(section))
        if index is None:
            _refuse(f"section {section.name} is referred to but not part of the file", "symbols")
        return index

    def symbols(self) -> list[tuple[int, int, int, int, int, int]]:
        """``.symtab``."""
        rows: list[tuple[int, int, int, int, int, int]] = [(0, 0, 0, 0, 0, 0)]
        entries: list[Section | Symbol | None] = [None]
        names = self.strtab_offsets
        functions = self.function_symbols
        tail: list[Section] = []
        named_early: list[Symbol] = []

        def section_symbol(section: Section) -> None:
            rows.append((name_of(section.name), STT_SECTION, 0, self.indices[id(section)], 0, 0))
            entries.append(section)

        def name_of(name: str) -> int:
            offset = names.get(name)
            if offset is None:
                _refuse(f"the name {name!r} is missing from .strtab", "symbols")
            return offset

        def add(symbol: Symbol) -> None:
            index = self._index(symbol.section)
            pinned = symbol.pins.get("st_name")
            if symbol.st_info & 15 == STT_FUNC:
                functions.setdefault(index, {}).setdefault(symbol.name, len(rows))
            rows.append(
                (
                    name_of(symbol.name) if pinned is None else pinned,
                    symbol.st_info,
                    symbol.st_other,
                    index,
                    symbol.st_value,
                    symbol.st_size,
                )
            )
            entries.append(symbol)

        for entry in self.description.history:
            if isinstance(entry, Symbol):
                wanted = entry.in_globals
                if entry.st_info >> 4 == STB_GLOBAL if wanted is None else wanted:
                    named_early.append(entry)
                else:
                    add(entry)
            elif isinstance(entry, Section):
                wanted = entry.has_symbol
                if (
                    (has_symbol(entry) and not self.profile.table_first)
                    if wanted is None
                    else wanted
                ):
                    if is_late(entry, self.profile):
                        tail.append(entry)
                    else:
                        section_symbol(entry)
        self.num_local = len(rows)
        for symbol in (*named_early, *self.description.symbols):
            if isinstance(symbol, Symbol):
                add(symbol)
        for section in tail:
            section_symbol(section)
        self.num_tail = len(tail)
        order = self.description.pins.symbol_order
        if order is not None:
            rows = [rows[at] for at in order]
            entries = [entries[at] for at in order]
        self.symbol_entries = entries
        return rows

    # -- sections --------------------------------------------------------------------------------

    def computed_link(self, section: Section) -> int:
        kind = section.sh_type
        target: str | None = None
        if kind in (elf.SHT_SYMTAB, bodies.SHT_CUDA_MERC_SYMTAB):
            target = ".strtab"
        elif section.name in (".note.nv.cuinfo", ".note.nv.cuver"):
            target = ".note.nv.tkinfo"
        elif self.profile.table_first:
            unlinked = section.name in (".nv.info", ".nv.callgraph")
            target = ".symtab" if kind in _LINK_TO_SYMTAB and not unlinked else None
            if section.name.startswith((".text", ".nv.constant0", ".nv.shared")):
                target = ".symtab"
        elif kind in _LINK_TO_MERC_SYMTAB:
            target = ".nv.merc.symtab"
        elif kind in _LINK_TO_SYMTAB or section.name.startswith(".text"):
            mercury = section.sh_flags & elf.SHF_CUDA_MERCURY
            target = ".nv.merc.symtab" if mercury else ".symtab"
        elif kind == elf.SHT_SYMTAB_SHNDX:
            target = ".symtab"
        if target == ".symtab" and self.profile.stale_link and self._drops_uft():
            return self.profile.stale_link
        found = None if target is None else self.by_name.get(target)
        return 0 if found is None else self.indices[id(found)]

    def _drops_uft(self) -> bool:
        if self.drops_uft is None:
            self.drops_uft = any(
                isinstance(entry, Dropped) and entry.name == ".nv.uft.entry"
                for entry in self.description.history
            )
        return self.drops_uft

    def computed_info(self, section: Section) -> int:
        name, kind = section.name, section.sh_type
        if kind == elf.SHT_SYMTAB:
            if self.profile.info_is_total and self.num_tail:
                return len(self.symbol_rows)
            return self.num_local - self.profile.info_is_last_local
        if isinstance(section.body, bodies.MercurySymbols):
            return self.num_local
        if kind == bodies.SHT_CUDA_CAPMERC:
            return self._capsule_symbol(section)
        if name.startswith(".text") or kind == SHT_CUDA_UFT:
            function = _STUB + name[len(UFT_REL) :] if kind == SHT_CUDA_UFT else name[6:]
            named = self.function_symbols.get(self.indices[id(section)], {})
            symbol = named.get(function, 0) if self.profile.text_symbols else 0
            return symbol | section.registers << 24
        target = info_target_of(name, kind)
        found = None if target is None else self.by_name.get(target)
        return 0 if found is None else self.indices[id(found)]

    def _capsule_symbol(self, section: Section) -> int:
        table = self.by_name.get(".nv.merc.symtab")
        if table is None or not isinstance(table.body, bodies.MercurySymbols):
            return 0
        if not self.capsule_symbols:
            for at, symbol in enumerate(table.body.symbols, 1):
                if symbol.st_info & 15 == STT_FUNC and isinstance(symbol.section, Section):
                    name = symbol.section.name
                    if name.endswith("." + symbol.name.removeprefix(_STUB)):
                        self.capsule_symbols.setdefault(id(symbol.section), at)
        return self.capsule_symbols.get(id(section), 0)

    def size(self, section: Section) -> int:
        """``sh_size`` of a section; asked for several times, and slow for long streams."""
        size = self.sizes.get(id(section))
        if size is None:
            size = self.sizes[id(section)] = self._size(section)
        return size

    def _size(self, section: Section) -> int:
        body = section.body
        if not isinstance(body, bodies.Computed):
            return body.size
        table = self.tables.get(body.kind)
        if table is None:
            _refuse(f"no table of kind {body.kind!r} is computed", section.name)
        return len(table)

    def _holes(self) -> tuple[int, int]:
        """Free bytes behind ``.shstrtab`` and ``.strtab``."""
        profile = self.profile
        first = 0 if profile.names_by_index else _shstrtab_hole(self.sections, profile)
        second = 0
        if profile.strtab_hole:
            for section in self.sections:
                made = made_as(section, profile)
                if made != section.name:
                    second += _length(made)
                    if section.sh_type not in bodies.RELOCATION_TYPES:
                        second -= _length(section.name) + 1
        return first, second

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
        holes = self._holes()
        result: list[int] = []
        previous: Section | None = None
        for section in self.sections:
            if previous is not None and previous.name == ".shstrtab":
                at += holes[0]
            elif previous is not None and previous.name == ".strtab":
                at += holes[1]
            previous = section
            align = section.sh_addralign
            pinned = section.pins.get("sh_offset")
            twin = shared_twin(section, self.by_name)
            if pinned is None and twin is not None:
                shared = self.indices.get(id(twin), 0)
                if 0 < shared <= len(result):
                    offset = result[shared - 1]
                    if actual is None or actual[len(result)] == offset:
                        result.append(offset)
                        continue
                    section.shares = False
            offset = _align(at, align)
            if profile.table_first and section.sh_type == elf.SHT_STRTAB:
                offset = _align(offset, 8)
            if actual is not None and actual[len(result)] != offset:
                if self._pin_offset(section, actual[len(result)], result):
                    continue
                offset = actual[len(result)]
            elif pinned is not None:
                offset = pinned
            result.append(offset)
            at = offset
            no_bytes = isinstance(section.body, bodies.NoBytes)
            if elf.occupies_file(section.sh_type, section.sh_flags) and not no_bytes:
                at += self.size(section)
            if profile.table_first and section.sh_type == elf.SHT_STRTAB:
                at = _align(at, 8)
        return result, at

    def _pin_offset(self, section: Section, offset: int, before: list[int]) -> bool:
        """Keep an offset that the rule does not give; whether it is that of an equal twin."""
        twin = self.by_name.get(twin_of(section.name))
        index = 0 if twin is None or twin is section else self.indices[id(twin)]
        if (
            twin is not None
            and section.sh_flags & elf.SHF_CUDA_MERCURY
            and 0 < index <= len(before)
            and before[index - 1] == offset
            and self.size(section) == self.size(twin)
        ):
            section.shares = twin
            before.append(offset)
            return True
        section.pins["sh_offset"] = offset
        return False

    # -- the whole -------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the tables whose sizes the offsets depend on."""
        if not self._by_kind("symtab"):
            return
        self.symbol_rows = self.symbols()
        self.tables["symtab"] = _stored_symbols(self.symbol_rows, self.is_64)
        self.tables["symtab_shndx"] = _extended_indices(self.symbol_rows)

    def run(self) -> Plan:
        """Everything."""
        self.prepare()
        return self.finish(*self.offsets())

    def finish(self, offsets: list[int], end: int) -> Plan:
        """Headers and program headers, once the sections have their places."""
        header, pins = self.description.header, self.description.pins
        rows: list[tuple[int, ...]] = []
        for section, offset in zip(self.sections, offsets, strict=True):
            rows.append(self._section_row(section, offset))
        count = len(rows) + 1
        ehsize, shentsize, phentsize = (64, 64, 56) if self.is_64 else (52, 40, 32)
        word = 8 if self.is_64 else 4
        shoff = ehsize if self.profile.table_first else (end + word - 1) // word * word
        shoff = header.pins.get("e_shoff", shoff)
        after_sections = shoff + count * shentsize
        style = SEGMENT_STYLES[self.profile.segments]
        segments = pins.segments
        if segments is None:
            wanted = header.e_type == 2 and count > 1
            segments = style(self.sections, rows, after_sections, phentsize) if wanted else []
            if not self.is_64:
                segments = [(*row[:-1], P_ALIGN_32) for row in segments]
        phoff = header.pins.get("e_phoff", after_sections if segments else 0)
        shstrndx = self._by_kind("shstrtab")
        # gABI extended numbering, in section header 0
        null = (
            0, 0, 0, 0, 0,
            count if count >= SHN_LORESERVE else 0,
            shstrndx if shstrndx >= SHN_LORESERVE else 0,
            0, 0, 0,
        )  # fmt: skip
        for at, section in enumerate(self.sections):
            if section.overrides:
                rows[at] = _overridden(rows[at], section.overrides)
        rows.insert(0, null if pins.null_section is None else pins.null_section)
        fields = {
            "e_type": header.e_type,
            "e_machine": elf.EM_CUDA,
            "e_version": header.e_version,
            "e_entry": header.e_entry,
            "e_phoff": phoff,
            "e_shoff": shoff,
            "e_flags": self._flags(),
            "e_ehsize": ehsize,
            "e_phentsize": phentsize if segments else self._idle_phentsize(phentsize),
            "e_phnum": len(segments),
            "e_shentsize": shentsize,
            "e_shnum": 0 if count >= SHN_LORESERVE else count,
            "e_shstrndx": SHN_XINDEX if shstrndx >= SHN_LORESERVE else shstrndx,
        }
        fields.update(header.pins)
        ehdr = tuple([header.overrides.get(name, value) for name, value in fields.items()])
        size = max(
            end if self.profile.table_first else 0,
            after_sections,
            phoff + len(segments) * phentsize if segments else 0,
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
            segments,
            size if pins.file_size is None else pins.file_size,
            self.is_64,
            self,
        )

    def _idle_phentsize(self, phentsize: int) -> int:
        return phentsize if self.profile.phentsize_when_none else 0

    def _by_kind(self, kind: str) -> int:
        for at, section in enumerate(self.sections, 1):
            if isinstance(section.body, bodies.Computed) and section.body.kind == kind:
                return at
        return 0

    def _flags(self) -> int:
        header = self.description.header
        if header.ei_osabi != 0x41:
            return header.e_flags
        for name in (".note.nv.cuinfo", ".note.nv.cuver"):
            note = self.by_name.get(name)
            if note is not None:
                return header.e_flags | min(self.indices[id(note)], MAX_NOTE_INDEX) << 24
        return header.e_flags

    def _section_row(self, section: Section, offset: int) -> tuple[int, ...]:
        pinned = section.pins.get
        name = pinned("sh_name")
        if name is None:
            name = self.name_places.get(id(section))
            if name is None:
                _refuse(f"the name {section.name!r} is missing from .shstrtab", "sections")
        link, info = section.link, section.info
        return (
            name,
            section.sh_type,
            section.sh_flags,
            section.sh_addr,
            offset,
            pinned("sh_size", self.size(section)),
            self.computed_link(section) if link is None else self._index(link),
            self.computed_info(section) if info is None else self._index(info),
            section.sh_addralign,
            section.sh_entsize,
        )


def _overridden(row: tuple[int, ...], overrides: dict[str, int]) -> tuple[int, ...]:
    fields = zip(records.SECTION_HEADER_64_FIELDS, row, strict=True)
    return tuple([overrides.get(name, value) for name, value in fields])


def info_target_of(name: str, kind: int) -> str | None:
    """Name of the section that ``sh_info`` of section ``name`` stands for."""
    if name in (".note.nv.cuinfo", ".note.nv.cuver"):
        return ".nv.compat"
    if kind in bodies.RELOCATION_TYPES:
        mercury = name.startswith(".nv.merc.")
        rest = name.removeprefix(".nv.merc")
        for prefix in (".nv.resolvedrela", ".rela", ".rel"):
            if rest.startswith(prefix):
                rest = rest[len(prefix) :]
                break
        if not mercury:
            return rest
        return (
            ".nv.capmerc" + rest
            if rest.startswith((".text.", ".nv.uft.rel."))
            else ".nv.merc" + rest
        )
    for prefix, target in _OWNED:
        if name.startswith(prefix):
            function = name[len(prefix) :]
            if function.startswith(_STUB):
                target = target.replace(".text.", UFT_REL)
                function = function[len(_STUB) :]
            return target + function
    if name.startswith(".nv.constant") and not name.startswith(".nv.constant."):
        _, dot, function = name.removeprefix(".nv.constant").partition(".")
        return f".text.{function}" if dot else None
    return None


def info_target(section: Section) -> str | None:
    """Name of the section that ``sh_info`` stands for; ``None`` when it is no section."""
    return info_target_of(section.name, section.sh_type)


def info_is_section(section: Section) -> bool:
    """Whether ``sh_info`` of this kind is a section index."""
    return info_target(section) is not None


_OWNED = (
    (".nv.info.", ".text."),
    (".nv.merc.nv.info.", CAPMERC_TEXT),
    (".nv.merc.nv.constant.optimizer.", CAPMERC_TEXT),
    (".nv.merc.nv.constant.entry_image_header_indices.", CAPMERC_TEXT),
    (".nv.shared.", ".text."),
    (".nv.local.", ".text."),
)


def _stored_symbols(rows: list[tuple[int, int, int, int, int, int]], is_64: bool) -> bytes:
    if any(row[3] > SHN_XINDEX for row in rows):
        rows = [
            (*row[:3], SHN_XINDEX if row[3] >= SHN_LORESERVE else row[3], *row[4:]) for row in rows
        ]
    return bodies.encode_symbols(rows, is_64)


def _extended_indices(rows: list[tuple[int, int, int, int, int, int]]) -> bytes:
    word = bodies.WORD.pack
    return b"".join([word(row[3] if row[3] >= SHN_LORESERVE else 0) for row in rows])


# -- program headers -------------------------------------------------------------------------------


#: Size of a section header by that of a program header.
_SECTION_HEADER_BYTES = {56: 64, 32: 40}


def _runs(
    sections: Iterable[Section], rows: list[tuple[int, ...]], split: bool
) -> list[tuple[int, list[tuple[int, ...]]]]:
    """Neighbouring loadable sections with the same permissions, and those permissions."""
    runs: list[tuple[int, list[tuple[int, ...]]]] = []
    for section, row in zip(sections, rows, strict=True):
        flags = section.sh_flags
        if not flags & SHF_ALLOC or flags & elf.SHF_CUDA_MERCURY:
            continue
        if flags & SHF_WRITE:
            access = PF_R | PF_W
        else:
            access = PF_R | PF_X if flags & SHF_EXECINSTR or not split else PF_R
        if runs and runs[-1][0] == access:
            runs[-1][1].append(row)
        else:
            runs.append((access, [row]))
    return runs


def _align(value: int, alignment: int) -> int:
    return value if alignment < 2 else (value + alignment - 1) // alignment * alignment


def _load(access: int, rows: list[tuple[int, ...]]) -> tuple[int, ...]:
    """One PT_LOAD: the file span of its sections, then the memory of those without bytes."""
    start = end = rows[0][4]
    reserved = 0
    for row in rows:
        if row[1] == elf.SHT_NOBITS:
            end = max(end, row[4])
            reserved = _align(reserved, row[8]) + row[5]
        else:
            end = row[4] + row[5]
    return (PT_LOAD, access, start, 0, 0, end - start, end - start + reserved, P_ALIGN)


def _table(access: int, kind: int, at: int, count: int, entry: int) -> tuple[int, ...]:
    return (kind, access, at, 0, 0, count * entry, count * entry, P_ALIGN)


def _classic(
    sections: list[Section], rows: list[tuple[int, ...]], at: int, entry: int
) -> list[tuple[int, ...]]:
    """PT_PHDR, constants with code, data, the table itself."""
    loads = [_load(*run) for run in _runs(sections, rows, split=False)]
    count = len(loads) + 2
    access = PF_R | PF_X
    return [
        _table(access, PT_PHDR, at, count, entry),
        *loads,
        _table(access, PT_LOAD, at, count, entry),
    ]


def _split(
    sections: list[Section], rows: list[tuple[int, ...]], at: int, entry: int
) -> list[tuple[int, ...]]:
    """PT_PHDR, the table itself, then one segment for each run of equal permissions."""
    loads = [_load(*run) for run in _runs(sections, rows, split=True)]
    count = len(loads) + 2
    return [
        _table(PF_R, PT_PHDR, at, count, entry),
        _table(PF_R, PT_LOAD, at, count, entry),
        *loads,
    ]


def _old_loads(
    sections: list[Section], rows: list[tuple[int, ...]], end: int
) -> dict[int, tuple[int, ...]]:
    """CUDA 8 to 11.0: sizes are sums without padding, reserved memory is the largest section.

    The file part of the data segment reaches up to the section headers.
    """
    loads: dict[int, tuple[int, ...]] = {}
    for access, run in _runs(sections, rows, split=False):
        start = run[0][4]
        stored = sum(row[5] for row in run if row[1] != elf.SHT_NOBITS)
        reserved = max((row[5] for row in run if row[1] == elf.SHT_NOBITS), default=0)
        in_file = end - start if access & PF_W else stored
        loads[access] = (PT_LOAD, access, start, 0, 0, in_file, stored + reserved, P_ALIGN)
    return loads


def _classic_10(
    sections: list[Section], rows: list[tuple[int, ...]], at: int, entry: int
) -> list[tuple[int, ...]]:
    """PT_PHDR, code, data; a segment without sections is all zero."""
    loads = _old_loads(sections, rows, at - (len(rows) + 1) * _SECTION_HEADER_BYTES[entry])
    result = [_table(PF_R | PF_X, PT_PHDR, at, 3, entry)]
    for access in (PF_R | PF_X, PF_R | PF_W):
        result.append(loads.get(access, (PT_LOAD, access, 0, 0, 0, 0, 0, P_ALIGN)))
    return result


def _classic_11(
    sections: list[Section], rows: list[tuple[int, ...]], at: int, entry: int
) -> list[tuple[int, ...]]:
    """PT_PHDR, code, data, but not the table itself (CUDA 11.1)."""
    loads = [_load(*run) for run in _runs(sections, rows, split=False)]
    return [_table(PF_R | PF_X, PT_PHDR, at, len(loads) + 1, entry), *loads]


def _none(
    sections: list[Section], rows: list[tuple[int, ...]], at: int, entry: int
) -> list[tuple[int, ...]]:
    return []


SEGMENT_STYLES: dict[
    str,
    Callable[[list[Section], list[tuple[int, ...]], int, int], list[tuple[int, ...]]],
] = {
    "classic": _classic,
    "classic_10": _classic_10,
    "classic_11": _classic_11,
    "split": _split,
    "none": _none,
}
"""How program headers are made from the sections."""


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
