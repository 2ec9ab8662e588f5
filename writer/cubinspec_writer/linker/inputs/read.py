"""Reads one relocatable cubin into an `InputObject`: rows only, nothing is decided.

A cubin of sm_100 and later holds the program twice, and each half is read by itself; `mercury` says
how sections of the Mercury half become those of a program. What older toolkits wrote in another way
is brought into today's form by `older`.
"""

from __future__ import annotations

from _operator import itemgetter

from cubinspec.errors import BadStructureError, NotCubinError
from cubinspec.format.packing import sm_of
from cubinspec.format.sections import CONSTANT_BANK_TYPES, occupies_file
from cubinspec.format.targets import family_of
from cubinspec.reader.elf import Elf
from cubinspec_generated import records
from cubinspec_generated.codes import (
    CALLGRAPH_CALLS,
    CALLGRAPH_REFERENCES,
    EF_CUDA_V2_CAPSULE,
    EF_CUDA_V2_SASS_ONLY,
    EI_CLASS,
    EI_NIDENT,
    EI_OSABI,
    ELFCLASS64,
    ELFOSABI_CUDA_V2,
    ET_EWP,
    ET_EXEC,
    SHF_ALLOC,
    SHF_BARRIERS_MASK,
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHN_COMMON,
    SHN_UNDEF,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_CONSTANT,
    SHT_CUDA_CONSTANT_B3,
    SHT_CUDA_MERC_CALLGRAPH,
    SHT_CUDA_MERC_CONSTANT_OPTIMIZER,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_PROTOTYPE,
    SHT_CUDA_MERC_RELA,
    SHT_CUDA_MERC_RESOLVED_RELA,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_PROTOTYPE,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_SHARED,
    SHT_CUDA_UIDX,
    SHT_NULL,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    ST_BIND_SHIFT,
    ST_TYPE_MASK,
    STT_SECTION,
)
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.inputs.rows import (
    CallGraph,
    InRelocs,
    InSection,
    InSymbol,
    check_bindings,
    unpacked,
)
from cubinspec_writer.linker.model import DYNAMIC_ALIGN, LARGEST_ALIGNMENT, SHARED_POOL, InputObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

    from cubinspec.format.attributes import RecordSplitter
    from cubinspec.format.strings import StringTable
    from cubinspec.reader.elf import Buffer, SectionRow

#: Section types of constants that name no bank, and flags that tell data from code and debug
#: tables.
_UNTYPED: Final[tuple[int, ...]] = (SHT_PROGBITS, SHT_CUDA_CONSTANT)
#: Types of constant banks that a function or kernel owns, also where their flags do not say it.
_OWNED_BANKS: Final = CONSTANT_BANK_TYPES - {SHT_CUDA_CONSTANT_B3}
_DATA_MASK: Final = SHF_ALLOC | SHF_EXECINSTR | SHF_CUDA_MERCURY
#: Types of sections that a Mercury half may have and that count as any other below sm_100, and
#: types that are passed over there, where no symbol is in the section.
_OF_NO_HALF: Final[tuple[int, ...]] = (SHT_PROGBITS, SHT_CUDA_UIDX)
_PASSED_OVER: Final = frozenset(
    (
        SHT_SYMTAB_SHNDX,
        SHT_CUDA_RESERVED_SHARED,
        SHT_CUDA_CAPMERC,
        SHT_CUDA_MERC_RELA,
        SHT_CUDA_MERC_INFO,
        SHT_CUDA_MERC_CONSTANT_OPTIMIZER,
        SHT_CUDA_MERC_SYMTAB,
        SHT_CUDA_MERC_RESOLVED_RELA,
        SHT_CUDA_MERC_CALLGRAPH,
        SHT_CUDA_MERC_PROTOTYPE,
    )
)
#: Offsets into a capsule count bytes of Mercury code, so the section's size is no limit.
_LARGEST_OFFSET: Final = (1 << 32) - 1
#: Tables that the reader has, so that no copy of them is kept.
_READ_TABLES: Final[tuple[int, ...]] = (SHT_STRTAB, SHT_SYMTAB)
#: Sections stand one behind the other, so a file is read in pieces of this size.
_PIECE: Final = 1 << 16


def open_object(data: Buffer, name: str) -> Elf:
    """Check that the bytes are a 64-bit cubin with a symbol table.

    Raises:
        CubinError: they are not, or a table lies outside the file.
    """
    elf = Elf(data, name)
    if not elf.is_64:
        expected = f"class {ELFCLASS64}"
        raise NotCubinError("not a 64-bit cubin", file=name, offset=EI_CLASS, expected=expected)
    if elf.find_section(SHT_SYMTAB) is None:
        raise BadStructureError("no symbol table", file=name)
    return elf


def has_headers(data: Buffer) -> bool:
    """Whether section headers and sections lie in the file, as nvlink asks first (rule O3)."""
    table = _header_table(data)
    rows = records.SECTION_HEADER_64.iter_unpack(table) if table is not None else None
    return rows is not None and all(
        at + size <= len(data)
        for _, sh_type, flags, _, at, size, *_ in rows
        if sh_type == SHT_NULL or occupies_file(sh_type, flags)
    )


def lacks_symbols(data: Buffer) -> bool:
    """Whether no section header is that of a symbol table; they lie in the file.

    Their number may be wrong, so that nothing else of the file can be read.
    """
    rows = records.SECTION_HEADER_64.iter_unpack(_header_table(data) or b"")
    return all(sh_type != SHT_SYMTAB for _, sh_type, *_ in rows)


def _header_table(data: Buffer) -> bytes | None:
    """The section headers of an object; None: they do not lie in the file."""
    header = records.ELF_HEADER_64
    if len(data) < EI_NIDENT + header.size:
        return None
    fields = header.unpack(data[EI_NIDENT : EI_NIDENT + header.size])
    e_type, _, _, _, _, start, _, _, _, _, step, count, _ = fields
    size = count * records.SECTION_HEADER_64.size
    if (
        step != records.SECTION_HEADER_64.size
        or e_type == ET_EXEC
        or not start
        or start >= len(data)
        or start + size > len(data)
    ):
        return None
    return bytes(data[start : start + size])


def has_mercury(elf: Elf) -> bool:
    """Whether the cubin carries a Mercury half, and says so."""
    _, _, _, _, _, _, e_flags, *_ = elf.ehdr
    return bool(e_flags & EF_CUDA_V2_CAPSULE) and elf.find_section(SHT_CUDA_MERC_SYMTAB) is not None


def read_half(elf: Elf, splitter: RecordSplitter, *, mercury: bool) -> InputObject:
    """Read one half of a cubin; cubins before sm_100 have the SASS half only.

    Args:
        splitter: takes the attributes of all inputs apart, as they are of the same few shapes.
    """
    table = elf.find_section(SHT_CUDA_MERC_SYMTAB if mercury else SHT_SYMTAB)
    if table is None:
        raise BadStructureError("no symbol table", file=elf.file)
    _, _, _, _, _, _, names, *_ = elf.section_rows[table]
    strtab = elf.string_table(names)
    sections = _sections(elf, mercury)
    symbols = _symbols(elf, table, strtab, len(sections))
    pooled = _pooled(elf, symbols)
    is_twofold = has_mercury(elf)
    if is_twofold:
        check_bindings(symbols)
    #: Flags of code that hold a number of barriers, as they do up to CUDA 12.
    holding = {
        flags
        for flags in {section.flags for section in sections}
        if flags & SHF_BARRIERS_MASK and flags & SHF_EXECINSTR
    }
    barriers: dict[int, int] = {}
    if holding:
        from cubinspec_writer.linker.inputs.older import without_barriers

        sections, barriers = without_barriers(sections, holding)
    e_type, _, version, _, _, _, e_flags, *_ = elf.ehdr
    obj = InputObject(elf.file, e_flags, sections, symbols, strtab.data, splitter)
    obj.barriers = barriers
    obj.pooled = pooled
    obj.made_by = 0 if elf.ident[EI_OSABI] == ELFOSABI_CUDA_V2 else version
    obj.is_extensible = e_type == ET_EWP
    obj.relocs = _relocs(elf, obj)
    if is_twofold:
        from cubinspec_writer.linker.inputs.older import with_isa_version

        with_isa_version(obj, elf)
    for section in obj.of_type(SHT_CUDA_CALLGRAPH):
        obj.callgraph = _callgraph(elf, section.index)
    for section in obj.of_type(SHT_CUDA_PROTOTYPE):
        rows = elf.rows_of(section.index, records.PROTOTYPE_ENTRY, "prototype")
        obj.prototypes = [(a, b) for a, b in rows]
    return obj


def _symbols(elf: Elf, table: int, strtab: StringTable, num_sections: int) -> list[InSymbol]:
    rows = elf.symbol_rows(table)
    if not rows:
        return []
    for index, row in enumerate(rows):
        shndx = row[3]
        if shndx >= num_sections and shndx != SHN_COMMON:
            raise BadStructureError(
                f"symbol {index} is in section {shndx} of {num_sections}", file=elf.file
            )
    # Sections have their names in the other table.
    named = [at for at, info, _, _, _, _ in rows if info & ST_TYPE_MASK != STT_SECTION]
    texts = iter(strtab.get_many(named))
    symbols: list[InSymbol] = []
    for index, (_, info, other, shndx, value, size) in enumerate(rows):
        symbol = InSymbol()
        symbol.index = index
        symbol.kind = kind = info & ST_TYPE_MASK
        symbol.name = "" if kind == STT_SECTION else next(texts)
        symbol.bind, symbol.other, symbol.shndx = info >> ST_BIND_SHIFT, other, shndx
        symbol.value, symbol.size = value, size
        symbols.append(symbol)
    return symbols


def _pooled(elf: Elf, symbols: list[InSymbol]) -> set[int]:
    """Arrays of dynamic size that a link with `-r` put into the pool; they are undefined again.

    Rule R8.
    """
    if SHARED_POOL not in elf.section_names:
        return set()
    pool = elf.section_names.index(SHARED_POOL)
    found = [s for s in symbols if s.shndx == pool and not s.size and s.kind != STT_SECTION]
    for symbol in found:
        symbol.shndx = SHN_UNDEF
    return {symbol.index for symbol in found}


def _sections(elf: Elf, mercury: bool) -> list[InSection]:
    """The sections that belong to one half; others have the type NULL."""
    rows = elf.section_rows
    kinds, farthest = _survey(rows)
    _check_alignments(elf, {(kind, align) for kind, _, align in kinds})
    if farthest > elf.size:
        elf.check_bodies()
    data: Any = elf.data
    piece, piece_at, piece_size = b"", 0, 0
    # Sections whose bytes are not taken, by type first: few are of such a type.
    empty = {
        (kind, flags)
        for kind, flags, _ in kinds
        if not occupies_file(kind, flags) or (kind in _READ_TABLES and not flags)
    }
    empty_types = {kind for kind, _ in empty}
    sections: list[InSection] = []
    names = elf.section_names
    for index, row in enumerate(rows):
        _, kind, flags, _, at, size, link, info, align, entsize = row
        section = InSection()
        section.index, section.name = index, names[index]
        section.sh_type, section.flags = kind, flags
        section.size, section.link, section.info = size, link, info
        section.align, section.entsize = align, entsize
        if kind in empty_types and (kind, flags) in empty:
            section.data = b""
        else:
            start = at - piece_at
            if start < 0 or start + size > piece_size:
                piece = bytes(data[at : max(at + size, min(at + _PIECE, elf.size))])
                piece_at, piece_size, start = at, len(piece), 0
            section.data = piece[start : start + size]
        sections.append(section)
    if mercury:
        from cubinspec_writer.linker.inputs.mercury import mercury_sections  # from sm_100 on only

        return mercury_sections(elf, sections)
    if any(flags & SHF_CUDA_MERCURY for _, flags, _ in kinds):
        _drop_mercury(elf, sections)
    if elf.ident[EI_OSABI] != ELFOSABI_CUDA_V2:
        from cubinspec_writer.linker.inputs.older import classified

        return [classified(section) for section in sections]
    untyped = {
        (kind, flags)
        for kind, flags, _ in kinds
        if (kind in _UNTYPED or (kind in _OWNED_BANKS and not flags & SHF_INFO_LINK))
        and flags & _DATA_MASK == SHF_ALLOC
    }
    if untyped:
        from cubinspec_writer.linker.inputs.older import with_bank_types

        with_bank_types(sections, untyped)
    return sections


def _survey(rows: list[SectionRow]) -> tuple[set[tuple[int, int, int]], int]:
    """Type, flags and alignment of all sections, mostly those of the one before; where all end."""
    kinds: set[tuple[int, int, int]] = set()
    last_kind = last_flags = last_align = -1
    farthest = 0
    for row in rows:
        kind, flags, align, end = row[1], row[2], row[8], row[4] + row[5]
        if kind != last_kind or flags != last_flags or align != last_align:
            kinds.add((kind, flags, align))
            last_kind, last_flags, last_align = kind, flags, align
        if end > farthest:
            farthest = end
    return kinds, farthest


def _drop_mercury(elf: Elf, sections: list[InSection]) -> None:
    """Pass over the sections of the other half.

    Code below sm_100 has no other half (rule E4), nor has what says to be SASS alone (rule T8).

    Raises:
        UnsupportedLinkError: it has a section of the Mercury half that nvlink keeps in a way that
            is not imitated.
    """
    _, _, _, _, _, _, e_flags, *_ = elf.ehdr
    sm = sm_of(elf.ident[EI_OSABI], e_flags)
    is_twofold = family_of(sm).capsule and not e_flags & EF_CUDA_V2_SASS_ONLY
    table = None if is_twofold else elf.find_section(SHT_SYMTAB)
    symbols = elf.symbol_rows(table) if table is not None else ()
    named = {shndx for _, _, _, shndx, _, _ in symbols}
    for section in sections:
        if not section.flags & SHF_CUDA_MERCURY:
            continue
        if not is_twofold and section.sh_type in _OF_NO_HALF:
            continue
        if not is_twofold and (section.index in named or section.sh_type not in _PASSED_OVER):
            raise UnsupportedLinkError(f"section '{section.name}' of Mercury code for sm_{sm}")
        section.sh_type = SHT_NULL


def _check_alignments(elf: Elf, alignments: set[tuple[int, int]]) -> None:
    """Refuse alignments that cannot be meant.

    Args:
        alignments: all that the section headers have, each with the type of the section.
    """
    wrong = {row for row in alignments if not _is_alignment(*row)}
    for index, (_, kind, *_, align, _) in enumerate(elf.section_rows if wrong else ()):
        if (kind, align) in wrong:
            raise BadStructureError(
                f"section {index} has alignment {align:#x}, which is not a power of "
                f"two up to {LARGEST_ALIGNMENT:#x}",
                file=elf.file,
            )


def _is_alignment(sh_type: int, align: int) -> bool:
    """Whether a section may have it; that of shared memory may be a place of arrays (rule R8)."""
    if align > LARGEST_ALIGNMENT:
        return False
    return not align & (align - 1) or (sh_type == SHT_CUDA_SHARED and not align % DYNAMIC_ALIGN)


def _relocs(elf: Elf, obj: InputObject) -> list[InRelocs]:
    """All relocations, in section order; those of all sections of a type are read at once.

    Their rows are kept until they are merged; where there are two halves, they would be too many.
    """
    found: list[InRelocs] = []
    is_kept = not has_mercury(elf)
    num_sections, num_symbols = len(obj.sections), len(obj.symbols)
    for is_rela, sh_type in ((True, SHT_RELA), (False, SHT_REL)):
        sections = obj.of_type(sh_type)
        if not sections:
            continue
        record = records.RELA_64 if is_rela else records.REL_64
        bodies = [section.data for section in sections]
        if any(map(record.size.__rmod__, map(len, bodies))):
            _refuse_relocs(elf, obj)
        rows = unpacked(b"".join(bodies), is_rela=is_rela)
        farthest = max(map(_offset, rows), default=0)
        if farthest > _LARGEST_OFFSET or max(map(_symbol, rows), default=-1) >= num_symbols:
            _refuse_relocs(elf, obj)
        start = 0
        for section, body in zip(sections, bodies, strict=True):
            # Behind the table is no section, and the null section has no relocations (rule M16).
            target = section.info if section.info < num_sections else SHN_UNDEF
            relocs = InRelocs(section.index, target, is_rela, body)
            if is_kept:
                end = start + len(body) // record.size
                relocs.read = rows[start:end]
                start = end
            found.append(relocs)
    found.sort(key=_number)
    return found


#: Of the row of a relocation.
_offset = itemgetter(0)
_symbol = itemgetter(2)


def _number(relocs: InRelocs) -> int:
    return relocs.section


def _refuse_relocs(elf: Elf, obj: InputObject) -> NoReturn:
    """Say what is wrong with the first section of relocations that has something wrong."""
    for section in obj.of_types((SHT_RELA, SHT_REL)):
        record = records.RELA_64 if section.sh_type == SHT_RELA else records.REL_64
        rows = list(elf.rows_of(section.index, record, "relocations"))
        farthest = max([offset for offset, *_ in rows], default=0)
        if farthest > _LARGEST_OFFSET:
            raise BadStructureError(
                f"relocation at {farthest:#x} of section {section.info}",
                file=obj.name,
                expected=f"at most {_LARGEST_OFFSET:#x}",
            )
        highest = max([symbol for _, _, symbol, *_ in rows], default=0)
        if rows and highest >= len(obj.symbols):
            raise BadStructureError(
                f"relocation names symbol {highest} of {len(obj.symbols)}", file=obj.name
            )
    raise AssertionError("one of them is wrong")


def _callgraph(elf: Elf, index: int) -> CallGraph:
    """Split the list of pairs at its four markers; each starts one part."""
    graph = CallGraph()
    parts = (graph.calls, graph.address_taken, graph.indirect, graph.references)
    current: list[tuple[int, int]] = []
    for a, b in elf.rows_of(index, records.CALLGRAPH_ENTRY, "callgraph"):
        if a == 0 and b >= CALLGRAPH_REFERENCES:
            current = parts[CALLGRAPH_CALLS - b]
        else:
            current.append((a, b))
    return graph
