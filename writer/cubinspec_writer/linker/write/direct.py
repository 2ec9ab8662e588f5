"""Writes a program of one half: its sections and symbols straight to bytes.

This is the writer that has to be fast (targets below sm_100). Names, numbers, offsets and rows are
made in one loop each, for all sections or symbols at once, with no description in between. What the
fields mean is read from `cubinspec.format`, as the emitter does for its producer `classic`.
"""

from __future__ import annotations

from _struct import Struct
from _struct import error as StructError  # type: ignore[attr-defined]

from cubinspec.errors import BadStructureError, LimitError
from cubinspec.format.layout import (
    RANK_OF_BANK,
    RANK_OF_TEXT,
    RANK_OF_UFT_ENTRY_WITH_TABLE,
    index_rank,
)
from cubinspec.format.layout import classic as classic_segments
from cubinspec.format.packing import abi_7_flags, abi_8_flags, align_up, join, with_note
from cubinspec.format.sections import (
    CONSTANT_BANK_TYPES,
    LINK_TO_SYMTAB,
    SASS_RELOCATION_TYPES,
    SHNDX,
    info_target,
    link_target,
    occupies_file,
)
from cubinspec.format.strings import build_columns, empty_name
from cubinspec_generated import records
from cubinspec_generated.codes import (
    ABI_7,
    ABI_8,
    EI_NIDENT,
    ELFCLASS64,
    ELFDATA2LSB,
    ELFOSABI_CUDA,
    ELFOSABI_CUDA_V2,
    EM_CUDA,
    ET_EXEC,
    ET_REL,
    EV_CURRENT,
    SHF_ALLOC,
    SHF_BARRIERS_SHIFT,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHN_COMMON,
    SHN_LORESERVE,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_INFO,
    SHT_CUDA_LOCAL,
    SHT_CUDA_PROTOTYPE,
    SHT_CUDA_RELOCINFO,
    SHT_CUDA_RESOLVED_RELA,
    SHT_CUDA_SHARED,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT,
    SHT_CUDA_UFT_ENTRY,
    SHT_CUDA_UIDX,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_NULL,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    ST_BIND_SHIFT,
    STT_FUNC,
    STT_SECTION,
)
from cubinspec_generated.columns import RANK_OF_NAME, RANK_OF_OTHERS, RANK_OF_TYPE
from cubinspec_writer.linker.library.outsymbols import (
    bits_of_functions,
    is_nameless,
    symbol_fields,
)
from cubinspec_writer.linker.model import UFT, UFT_ENTRY, OutSection, Symbol, lowest_virtual
from cubinspec_writer.linker.state import OWNED_BANKS
from cubinspec_writer.linker.write.contents import (
    callgraph_bytes,
    made_sections,
    output_type,
    prototype_bytes,
    reloc_record,
    reloc_table,
    reloc_tables,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from cubinspec.format.layout import Loaded
    from cubinspec_writer.linker.diagnostics import LinkError
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import Job, LinkState

#: No real file comes near; inputs that ask for more are broken.
_LARGEST_FILE: Final = 1 << 32
_TEXT: Final = ".text"
_SYMBOLS: Final = ".symtab"
#: How many sections older nvlinks number in front of the symbols and then drop.
_NUM_DROPPED: Final = len((SHNDX, UFT_ENTRY))
_BANK: Final = ".nv.constant0."
#: An executable has the rows of its table of unified functions behind the notes.
_EXECUTABLE_RANKS: Final = {**RANK_OF_TYPE, SHT_CUDA_UFT_ENTRY: RANK_OF_UFT_ENTRY_WITH_TABLE}
#: Types of sections that a function owns, which another section names.
_OWNED_TYPES: Final = CONSTANT_BANK_TYPES | {SHT_CUDA_LOCAL, SHT_CUDA_SHARED, SHT_NOBITS}
#: Types of sections that a function may own and that nvlink treats as if none did.
_ANY_OWNER: Final[tuple[int, ...]] = (SHT_PROGBITS, SHT_NOTE, SHT_CUDA_UIDX)
_ASKED: Final = ".rel."
#: Types of sections that link to the symbols when the link made their rows.
_LINKED_WITH_ROWS: Final[tuple[int, ...]] = (SHT_CUDA_RESOLVED_RELA, SHT_REL, SHT_RELA)
#: Types of sections that a link makes; those of inputs stand elsewhere (rule E3).
_LINKERS_OWN: Final = frozenset((SHT_NOTE, SHT_CUDA_COMPAT_INFO, SHT_CUDA_RELOCINFO))
_RANK_OF_INFO: Final = RANK_OF_TYPE[SHT_CUDA_INFO]
_RANK_OF_NOTES: Final = RANK_OF_TYPE[SHT_NOTE]
_LINK_TO_SYMTAB: Final = LINK_TO_SYMTAB | {SHT_SYMTAB_SHNDX}
_TABLE_TYPES: Final[tuple[int, ...]] = (SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX)
#: Types whose contents are made here.
_MADE_TYPES: Final = frozenset((*_TABLE_TYPES, SHT_CUDA_CALLGRAPH, SHT_CUDA_PROTOTYPE))
#: How many sections are handled at a time, so that repeated loops find them in the processor's
#: cache.
_RUN: Final = 256
#: From how many section headers on their fields are joined.
_MOST_FIELDS: Final = 1 << 11


def write(state: LinkState) -> list[bytes | bytearray]:
    """The cubin of one program, in parts that follow each other.

    Raises:
        CubinError: a number does not fit its field, or the file would be too large.
    """
    try:
        return _DirectWriter(state).run()
    except StructError as error:
        raise BadStructureError(f"a number does not fit its field: {error}") from error


class _Bodies:
    """What lies between the ELF header and the section headers.

    Attributes:
        headers: section headers, in index order.
        columns: the fields of those that follow, each a list.
        loaded: sections that segments load; neighbours of one type and flags count as one.
        parts: the bytes, with padding.
        end: offset behind the last one.
    """

    __slots__ = ("columns", "end", "headers", "loaded", "parts")

    def __init__(self) -> None:
        self.headers: list[bytes | bytearray] = []
        self.columns: list[list[int]] = [[] for _ in records.SECTION_HEADER_64.format[1:]]
        self.loaded: list[Loaded] = []
        self.parts: list[bytes | bytearray] = []
        self.end = EI_NIDENT + records.ELF_HEADER_64.size

    def add_headers(self, fields: Sequence[list[int]]) -> None:
        """Add section headers, of which the fields are given."""
        for column, more in zip(self.columns, fields, strict=True):
            column += more
        if len(self.columns[0]) > _MOST_FIELDS:
            self.flush()

    def flush(self) -> None:
        """Turn the fields into headers, which take a third of the memory."""
        self.headers.append(join(records.SECTION_HEADER_64, self.columns))
        for column in self.columns:
            column.clear()


class _DirectWriter:
    """Writes one file.

    Attributes:
        sections: in index order, from 1 on.
        far_table: `.symtab_shndx`, if there are more sections than fit into 16 bits.
        section_names: offsets of the names of sections in `.shstrtab`, in their order.
        symbol_names: offsets of the names of symbols in `.strtab`, by number.
        signatures: signature -> its offset there.
        tables: contents of the tables that are made here, by section name.
        num_asked: how many relocation sections were asked for by name and never made; nvlink
            numbers sections that nobody expects before it drops these (rule E3).
    """

    def __init__(self, state: LinkState) -> None:
        self.state = state
        self.sections: list[OutSection] = []
        self.far_table: OutSection | None = None
        self.section_names: list[int] = []
        self.symbol_names: list[int] = [0]
        self.signatures: dict[str, int] = {}
        self.tables: dict[str, bytes | bytearray] = {}
        asked = {name for name in state.names.loose if name.startswith(_ASKED)}
        if asked:
            asked.difference_update([s.name for s in state.sections.made if s.emitted])
        self.num_asked = len(asked)
        self._by_name: dict[str, int] = {}

    def run(self) -> list[bytes | bytearray]:
        self._order()
        self._name()
        num_local = self._symbols()
        return self._finish(self._place(num_local))

    # -- order and names ---------------------------------------------------------------------------

    def _order(self) -> None:
        """Number the sections: a stable sort of their order of creation by rank."""
        state = self.state
        ranked: list[list[OutSection]] = [[] for _ in range(RANK_OF_OTHERS + 1)]
        ranks = RANK_OF_TYPE if state.job.options.relocatable else _EXECUTABLE_RANKS
        for entry in state.names.entries:
            if type(entry) is not OutSection or not entry.emitted:
                continue
            sh_type = entry.sh_type
            rank = ranks.get(sh_type)
            if rank is None:
                if entry.name.startswith(_TEXT):
                    rank = RANK_OF_TEXT
                elif sh_type == SHT_CUDA_CONSTANT_B0 and entry.name.startswith(_BANK):
                    rank = RANK_OF_BANK
                elif sh_type == SHT_SYMTAB_SHNDX:
                    rank = _RANK_OF_NOTES  # that of an input, with a symbol in it
                else:
                    rank = index_rank(entry.name, output_type(state.job, sh_type), entry.flags)
            elif rank == _RANK_OF_INFO:
                rank = RANK_OF_NAME.get(entry.name, rank)
            elif sh_type in _LINKERS_OWN and not self._is_own(entry):
                rank = _RANK_OF_INFO
            ranked[rank].append(entry)
        if sum(map(len, ranked)) + 1 >= SHN_LORESERVE:
            self.far_table = OutSection(SHNDX, SHT_SYMTAB_SHNDX, 0, 4, 4)
            ranked[RANK_OF_NAME[SHNDX]].append(self.far_table)
        for group in ranked:
            self.sections += group
        for index, section in enumerate(self.sections, 1):
            section.index = index

    def _is_own(self, section: OutSection) -> bool:
        """Whether the link made a section itself."""
        sections = self.state.sections
        if section.sh_type == SHT_CUDA_RELOCINFO:
            return not self.state.job.options.relocatable and sections.made[-1] is section
        return sections.fixed.get(section.name) is section

    def _name(self) -> None:
        """Make both string tables; a name stands where it comes first.

        `.shstrtab` has every section name in the order of creation, also of sections left out.
        `.strtab` has signatures, then sections and symbols as they were made, globals last.
        """
        names, numbered = self.state.names, self.state.symbols.numbered
        if names.kept is not None:
            sections, strings = [*names.kept.sections], [*names.kept.strings]
        else:
            sections, strings = self._entered_names()
        wanted = [section.name for section in self.sections]
        self.tables[".shstrtab"], self.section_names = build_columns(sections, wanted)
        wanted = [*names.signatures, *[item.name for item in numbered]]
        self.tables[".strtab"], places = build_columns(strings, wanted)
        self.symbol_names += places[len(names.signatures) :]
        self.signatures = dict(zip(names.signatures, places, strict=False))

    def _entered_names(self) -> tuple[list[str], list[str]]:
        """The names for `.shstrtab` and `.strtab`."""
        state = self.state
        sections: list[str] = []
        strings = [*state.names.signatures]
        #: A parameter bank whose name comes behind that of its relocation section.
        bank: str | None = None
        for entry in state.names.entries:
            waiting: str | None = None
            if type(entry) is OutSection:
                name = entry.name
                sections.append(name)
                if entry.sh_type in OWNED_BANKS and entry.emitted:
                    waiting = name if entry.owner else None
            elif type(entry) is str:
                name = entry
                sections.append(name)
            elif type(entry) is Symbol and (
                entry.index or not is_nameless(state.job, state.shared, entry)
            ):
                name = entry.name
            else:
                continue
            if bank is not None:
                if name.startswith(".rel") and name in (".rel" + bank, ".rela" + bank):
                    strings.append(name)
                strings.append(bank)
            bank = waiting
            if waiting is None:
                strings.append(name)
        if bank is not None:
            strings.append(bank)
        strings += [
            symbol.name
            for symbol in state.symbols.globals
            if symbol.index or not is_nameless(state.job, state.shared, symbol)
        ]
        return sections, strings

    def _index_of(self, name: str | None) -> int:
        """The first section of a name; 0: there is none."""
        if name is None:
            return 0
        if not self._by_name:
            self._by_name = {section.name: section.index for section in reversed(self.sections)}
        return self._by_name.get(name, 0)

    def _fixed(self, name: str | None) -> int:
        """The index of one of the fixed sections; 0: this output does not have it."""
        section = self.state.sections.fixed.get(name) if name is not None else None
        return section.index if section is not None else 0

    def _signature(self, text: str) -> int:
        """Offset of a signature in `.strtab`."""
        return self.signatures[text] if text else empty_name(bytes(self.tables[".strtab"]))

    # -- symbols -----------------------------------------------------------------------------------

    def _symbols(self) -> int:
        """Make `.symtab`; returns the number of symbols in front of the globals."""
        state = self.state
        function_bits = bits_of_functions(state.job)
        #: Section of every symbol, also where it does not fit into 16 bits.
        indices = [0]
        infos, others, values, sizes = [0], [0], [state.symbols.null_value], [0]
        in_globals = 0
        numbered = state.symbols.numbered
        for start, end in _runs([int(type(item) is OutSection) for item in numbered]):
            items = numbered[start:end]
            if type(items[0]) is OutSection:
                found = [section.index for section in items]
                if 0 in found:
                    raise _not_linked(state)
                zeros = [0] * len(found)
                indices += found
                infos += [STT_SECTION] * len(found)
                others += zeros
                values += zeros
                sizes += zeros
                continue
            for symbol in items:
                assert isinstance(symbol, Symbol)
                section = symbol.section
                index = section.index if section is not None else 0
                if section is not None and not index:
                    raise _not_linked(state)
                in_globals += symbol.in_globals
                if symbol.kind == STT_FUNC and function_bits is not None:
                    info = symbol.bind << ST_BIND_SHIFT | STT_FUNC
                    other, value = symbol.other & function_bits, symbol.value
                else:
                    info, other, value = symbol_fields(state.job, state.shared, symbol)
                indices.append(index)
                infos.append(info)
                others.append(other)
                values.append(value)
                sizes.append(symbol.size)
        stored = indices
        if self.far_table is not None:
            far, words = self._far()
            stored = [far[index] for index in indices]
            indices = [words[index] for index in indices]
            self.tables[SHNDX] = Struct(f"<{len(indices)}I").pack(*indices)
        columns = (self.symbol_names, infos, others, stored, values, sizes)
        self.tables[".symtab"] = join(records.SYMBOL_64, columns)
        return len(stored) - in_globals

    def _far(self) -> tuple[list[int], list[int]]:
        """By section index: what `.symtab` and `.symtab_shndx` hold for symbols of the section."""
        from cubinspec.format.far import index_and_word, numbers_when_made  # large files only

        job = self.state.job
        made, indices = made_sections(self.state.names)
        stored = list(range(len(self.sections) + 1))
        words = numbers_when_made(made, indices, len(stored), has_action=job.has_rel_action)
        for index, number in enumerate(words):
            if number == SHN_COMMON:  # nvlink, unlike ptxas, still takes it for common symbols
                stored[index] = SHN_COMMON
            elif index >= SHN_LORESERVE:
                stored[index], words[index] = index_and_word(index, number)
        return stored, words

    # -- sections ----------------------------------------------------------------------------------

    def _place(self, num_local: int) -> _Bodies:
        """Put the contents behind each other and make the section headers.

        Args:
            num_local: `sh_info` of `.symtab`.
        """
        has_marks = self.state.job.options.relocatable or self.state.job.toolkit.marks_owners
        bodies = _Bodies()
        by_name, symtab = self._links_by_name(), self._link_to_symbols()
        sh_type = link = -1
        for first in range(0, len(self.sections), _RUN):
            some = self.sections[first : first + _RUN]
            flags = [
                s.flags | s.barriers << SHF_BARRIERS_SHIFT if s.barriers else s.flags for s in some
            ]
            if not has_marks:
                flags = [value & ~SHF_INFO_LINK for value in flags]  # rule K17
            aligns = [section.align for section in some]
            types: list[int] = []
            offsets: list[int] = []
            sizes: list[int] = []
            links: list[int] = []
            infos: list[int] = []
            for start, end in _runs([section.sh_type for section in some]):
                run = some[start:end]
                if run[0].sh_type != sh_type:
                    sh_type, link = run[0].sh_type, self._link_of_type(run[0])
                final = output_type(self.state.job, sh_type)
                place = self._place_run(run, final, flags[start:end], aligns[start:end], bodies)
                types += [final] * len(run)
                offsets += place[0]
                sizes += place[1]
                if link:
                    links += [link] * len(run)
                else:
                    links += [
                        symtab if s.name.startswith(_TEXT) else by_name.get(s.name, 0) for s in run
                    ]
                infos += self._infos(run, num_local)
            names = self.section_names[first : first + len(some)]
            entsizes = [section.entsize for section in some]
            zeros = [0] * len(some)
            bodies.add_headers(
                (names, types, flags, zeros, offsets, sizes, links, infos, aligns, entsizes)
            )
        return bodies

    def _place_run(
        self,
        run: list[OutSection],
        final: int,
        flags: list[int],
        aligns: list[int],
        bodies: _Bodies,
    ) -> tuple[list[int], list[int]]:
        """Put the contents of sections of one type behind each other.

        Args:
            final: the type that they have in the file.

        Returns:
            offsets and sizes.
        """
        contents: list[bytes | bytearray]
        if run[0].is_nobits:
            sizes = [section.nobits_size + section.reserved for section in run]
        elif run[0].sh_type in SASS_RELOCATION_TYPES and _are_tables(run, aligns):
            width = reloc_record(run[0].sh_type).size
            contents, sizes = [reloc_table(run)], [width * len(s.relocs) for s in run]
        else:
            contents = self._contents(run)
            sizes = list(map(len, contents))
        is_stored = occupies_file(run[0].sh_type, 0)
        if is_stored:
            offsets = _stack(contents, sizes, aligns, bodies)
        else:
            offsets = _stack([b""] * len(run), [0] * len(run), aligns, bodies)
        rows = zip(flags, offsets, sizes, aligns, strict=True)
        if is_stored and flags.count(flags[0]) == len(flags):
            rows = zip(flags[:1], offsets, [bodies.end - offsets[0]], aligns, strict=False)
        bodies.loaded += [(final, *row) for row in rows if row[0] & SHF_ALLOC]
        return offsets, sizes

    def _infos(self, run: list[OutSection], num_local: int) -> list[int]:
        """`sh_info` of sections of one type."""
        infos = [
            section.info_section.index
            if section.info_section is not None
            else section.info_value
            if section.flags & SHF_EXECINSTR
            else self._info(section, num_local)
            for section in run
        ]
        if self.num_asked and run[0].sh_type in _ANY_OWNER:
            return [
                info + self.num_asked if section.owner and section.info_section else info
                for section, info in zip(run, infos, strict=True)
            ]
        return infos

    def _info(self, section: OutSection, num_local: int) -> int:
        """`sh_info` of a section that is no code and names no other one."""
        if section.sh_type == SHT_SYMTAB:
            return num_local
        if section.sh_type in _OWNED_TYPES and section.owner is None:
            return 0  # a name alone makes no owner
        if section.sh_type == SHT_NOTE and not self._is_own(section):
            return 0
        return self._index_of(info_target(section.name, section.sh_type))

    def _links_by_name(self) -> dict[str, int]:
        """`sh_link` of the fixed sections."""
        targets = {
            name: link_target(name, section.sh_type, section.flags)
            for name, section in self.state.sections.fixed.items()
        }
        return {
            name: self._link_to_symbols() if target == _SYMBOLS else self._fixed(target)
            for name, target in targets.items()
        }

    def _link_to_symbols(self) -> int:
        """`sh_link` of what uses the symbols (rule K17)."""
        is_stale = self.state.job.toolkit.numbers_dropped
        return self._fixed(_SYMBOLS) + (_NUM_DROPPED if is_stale else 0)

    def _link_of_type(self, section: OutSection) -> int:
        """`sh_link` that all sections of a section's type have; 0: their names decide."""
        sh_type = section.sh_type
        if sh_type not in _LINK_TO_SYMTAB:
            return 0
        if sh_type == SHT_CUDA_UFT_ENTRY and not self.state.job.options.relocatable:
            return 0  # nvlink makes these before there are symbols
        if sh_type in _LINKED_WITH_ROWS and section.content and not section.relocs:
            return 0  # the section of an input, which holds something else
        if sh_type == SHT_CUDA_UFT and section.owner is None and section.name != UFT:
            return 0  # no stub of a function
        if sh_type == SHT_CUDA_UDT_ENTRY and not section.content:
            return 0
        return self._link_to_symbols()

    def _contents(self, run: list[OutSection]) -> list[bytes | bytearray]:
        """The contents of sections of one type."""
        sh_type = run[0].sh_type
        if sh_type in SASS_RELOCATION_TYPES:
            return reloc_tables(run)
        if sh_type in _MADE_TYPES:
            return [self._bytes(section) for section in run]
        return [section.content for section in run]

    def _bytes(self, section: OutSection) -> bytes | bytearray:
        """The contents of a section of one of the made types."""
        state = self.state
        table = self.tables.get(section.name) if section.sh_type in _TABLE_TYPES else None
        if table is not None:
            return table
        if section is state.sections.callgraph:
            return callgraph_bytes(state.symbols, state.graph, self._signature, state.job.toolkit)
        if section is state.sections.prototype:
            return prototype_bytes(state.symbols, state.graph, self._signature)
        return section.content

    # -- headers -----------------------------------------------------------------------------------

    def _finish(self, bodies: _Bodies) -> list[bytes | bytearray]:
        """The whole file: ELF header, bodies, section headers, program headers."""
        state = self.state
        record, program = records.SECTION_HEADER_64, records.PROGRAM_HEADER_64
        count = len(self.sections) + 1
        shoff = align_up(bodies.end, 8)
        phoff = shoff + count * record.size
        is_final = not state.job.options.relocatable
        segments = classic_segments(bodies.loaded, count, phoff, program.size) if is_final else []
        size = phoff + len(segments) * program.size
        if size > _LARGEST_FILE:
            raise LimitError(f"the file would have {size} bytes", expected=f"{_LARGEST_FILE}")
        null = (0, SHT_NULL, 0, 0, 0, count if self.far_table is not None else 0, 0, 0, 0, 0)
        os_abi, abi, version, flags = _form(state.job, state.objects)
        ident = records.ELF_IDENT.pack(
            b"\x7fELF", ELFCLASS64, ELFDATA2LSB, EV_CURRENT, os_abi, abi, bytes(7)
        )
        ehdr = records.ELF_HEADER_64.pack(
            ET_EXEC if is_final else ET_REL,
            EM_CUDA,
            version,
            0,
            phoff if segments else 0,
            shoff,
            with_note(flags, self._fixed(".note.nv.cuinfo")),  # rule I13
            EI_NIDENT + records.ELF_HEADER_64.size,
            program.size,
            len(segments),
            record.size,
            0 if self.far_table is not None else count,
            self._fixed(".shstrtab"),
        )
        tables = [program.pack(*row) for row in segments]
        bodies.flush()
        padding = bytes(shoff - bodies.end)
        return [ident, ehdr, *bodies.parts, padding, record.pack(*null), *bodies.headers, *tables]


def _form(job: Job, objects: list[InputObject]) -> tuple[int, int, int, int]:
    """OSABI, ABI, `e_version` and `e_flags` without the note (rule K10)."""
    if job.toolkit.notes:
        flags = abi_8_flags(job.family.file_kind, job.target.sm)
        return ELFOSABI_CUDA_V2, ABI_8, EV_CURRENT, flags
    virtual = lowest_virtual(objects, job.target.sm)
    flags = abi_7_flags(job.target.sm, virtual, specific=job.target.is_specific)
    return ELFOSABI_CUDA, ABI_7, job.toolkit.number, flags


def _are_tables(run: list[OutSection], aligns: list[int]) -> bool:
    """Whether relocations of all these sections were made here, and stand without a gap."""
    align, width = aligns[0] or 1, reloc_record(run[0].sh_type).size
    is_close = aligns.count(aligns[0]) == len(aligns) and not width & (align - 1)
    return is_close and not any(section.content for section in run)


def _stack(
    contents: Sequence[bytes | bytearray], sizes: list[int], aligns: list[int], bodies: _Bodies
) -> list[int]:
    """Put contents of these sizes behind each other; returns their offsets.

    Where no padding comes between them they may be in one piece.
    """
    parts, at = bodies.parts, bodies.end
    offsets: list[int] = []
    align = aligns[0] or 1
    bits = 0
    for size in sizes:
        bits |= size
    if aligns.count(align) == len(aligns) and not bits & (align - 1):
        # Padding in front of the first one only, the most frequent case.
        padding = -at % align
        parts.append(bytes(padding))
        parts += contents
        at += padding
        for size in sizes:
            offsets.append(at)
            at += size
        bodies.end = at
        return offsets
    for align, size, data in zip(aligns, sizes, contents, strict=True):
        padding = -at % align if align > 1 else 0
        if padding:
            parts.append(bytes(padding))
            at += padding
        offsets.append(at)
        parts.append(data)
        at += size
    bodies.end = at
    return offsets


def _runs(values: list[int]) -> list[tuple[int, int]]:
    """Where equal neighbours start and end.

    `itertools.groupby` is faster by less than its import takes.
    """
    starts = [at for at, value in enumerate(values) if not at or value != values[at - 1]]
    return list(zip(starts, [*starts[1:], len(values)], strict=True)) if starts else []


def _not_linked(state: LinkState) -> LinkError:
    """A symbol names a section that is not in the output (rule R17)."""
    return state.diagnostics.fatal("Internal error: reference to deleted section")
