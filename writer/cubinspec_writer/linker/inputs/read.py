"""Pass 1b: bytes of one relocatable cubin -> `InputObject` (rows only, nothing decided).

A cubin of sm_100 and later holds the program twice: as Mercury code (sections `.nv.capmerc.*` and
`.nv.merc.*` with a symbol table of their own) and as SASS. Both halves are read the same way: a
Mercury section takes the name and type of the section it stands for, and what exists only once
(shared memory, zero globals, notes, call graph) belongs to both.

Fixed from here on: the order of the objects, which is the order of the command line; every later
order follows from it.
"""

from __future__ import annotations

from itertools import groupby

from cubinspec.errors import BadStructureError, NotCubinError
from cubinspec.format.sections import occupies_file
from cubinspec.format.strings import StringTable
from cubinspec.reader.elf import Elf
from cubinspec_generated import records
from cubinspec_generated.codes import (
    EIATTR_NUM_BARRIERS,
    SHF_ALLOC,
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHN_COMMON,
    SHN_UNDEF,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_CONSTANT_B3,
    SHT_CUDA_CONSTANT_B4,
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_CONSTANT_OPTIMIZER,
    SHT_CUDA_MERC_CONSTANT_PIC,
    SHT_CUDA_MERC_CONSTANT_USER,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_RELA,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_PROTOTYPE,
    SHT_NOBITS,
    SHT_NULL,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_SYMTAB,
    STT_SECTION,
)
from cubinspec_writer.linker.model import (
    LARGEST_ALIGNMENT,
    SHF_UNSAID,
    CallGraph,
    InputObject,
    InReloc,
    InRelocs,
    InSection,
    InSymbol,
    info_record,
    info_records,
    is_constant,
)
from cubinspec_writer.plain import itemgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mmap
    from typing import NoReturn

_OFFSET, _SYMBOL, _FLAGS = itemgetter(0), itemgetter(2), itemgetter(3)
#: Makes a named tuple of a tuple without a call of its constructor.
_NEW = tuple.__new__
_CODE_PREFIX, _PREFIX = ".nv.capmerc", ".nv.merc"
#: Mercury section type -> the type that the same contents have in the SASS half.
PLAIN_TYPE = {
    SHT_CUDA_CAPMERC: SHT_PROGBITS,
    SHT_CUDA_MERC_INFO: SHT_CUDA_INFO,
    SHT_CUDA_MERC_RELA: SHT_RELA,
    SHT_CUDA_MERC_SYMTAB: SHT_SYMTAB,
    SHT_CUDA_MERC_CONSTANT_OPTIMIZER: SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_MERC_CONSTANT_USER: SHT_CUDA_CONSTANT_B3,
    SHT_CUDA_MERC_CONSTANT_PIC: SHT_CUDA_CONSTANT_B4,
}
#: Sections of the SASS half that have a Mercury twin or are made from Mercury code.
_SASS_ONLY = (
    ".text.",
    ".rel",
    ".debug",
    ".nv_debug_",
    ".nv.info",
    ".nv.constant",
    ".nv.global.init",
    ".nv.uft.",
    ".nv.udt",
)


def open_object(data: bytes | mmap.mmap, name: str) -> Elf:
    """Check that the bytes are a 64-bit cubin with a symbol table.

    Raises:
        CubinError: they are not, or a table lies outside the file.
    """
    elf = Elf(data, name)
    if not elf.is_64:
        raise NotCubinError("not a 64-bit cubin", file=name, offset=4, expected="class 2")
    if elf.find_section(SHT_SYMTAB) is None:
        raise BadStructureError("no symbol table", file=name)
    return elf


#: Shared variables that no kernel owns.
_POOL = ".nv_debug.shared"


def has_mercury(elf: Elf) -> bool:
    """Whether the cubin carries a Mercury half."""
    return elf.find_section(SHT_CUDA_MERC_SYMTAB) is not None


def read_half(elf: Elf, *, mercury: bool) -> InputObject:
    """Read one half of a cubin; cubins before sm_100 have the SASS half only."""
    table = elf.find_section(SHT_CUDA_MERC_SYMTAB if mercury else SHT_SYMTAB)
    if table is None:
        raise BadStructureError("no symbol table", file=elf.file)
    strtab = elf.string_table(elf.section_rows[table][6])
    sections = _sections(elf, mercury)
    symbols = _symbols(elf, table, strtab, len(sections))
    if _POOL in elf.section_names:
        # A link with `-r` puts arrays of dynamic size into the pool (reloc_final).
        pool = elf.section_names.index(_POOL)
        symbols = [
            s._replace(shndx=SHN_UNDEF)
            if s.shndx == pool and not s.size and s.kind != STT_SECTION
            else s
            for s in symbols
        ]
    in_flags = _BARRIERS << 20
    of_code = {f for f in set(map(_FLAGS, sections)) if f & in_flags and f & SHF_EXECINSTR}
    counted = [s for s in sections if s[3] in of_code] if of_code else []
    barriers = {s[0]: s[3] >> 20 & _BARRIERS for s in counted}
    if barriers:
        sections = [
            s._replace(flags=s.flags & ~(_BARRIERS << 20)) if s.index in barriers else s
            for s in sections
        ]
    obj = InputObject(elf.file, elf.ehdr[6], sections, symbols, strtab.data)
    for section in sections if barriers else ():
        if section.sh_type == SHT_CUDA_INFO and section.info in barriers:
            # Barriers stood in the flags of code before they had an attribute (CUDA 12).
            record = info_record(2, EIATTR_NUM_BARRIERS, barriers[section.info])
            obj.info[section.index] = [record, *info_records(section.data)]
    obj.relocs = _relocs(elf, obj)
    for section in obj.of_types((SHT_CUDA_CALLGRAPH,)):
        obj.callgraph = _callgraph(elf, section.index)
    for section in obj.of_types((SHT_CUDA_PROTOTYPE,)):
        rows = elf.rows_of(section.index, records.PROTOTYPE_ENTRY, "prototype")
        obj.prototypes = [(a, b) for a, b in rows]
    return obj


def _symbols(elf: Elf, table: int, strtab: StringTable, num_sections: int) -> list[InSymbol]:
    rows = elf.symbol_rows(table)
    if not rows:
        return []
    if max([row[3] for row in rows]) >= num_sections:
        for index, row in enumerate(rows):
            if row[3] >= num_sections and row[3] != SHN_COMMON:
                raise BadStructureError(
                    f"symbol {index} is in section {row[3]} of {num_sections}", file=elf.file
                )
    # Sections have their names in the other table.
    texts = iter(strtab.get_many([row[0] for row in rows if row[1] & 15 != STT_SECTION]))
    return [
        _NEW(
            InSymbol,
            (
                index,
                next(texts) if info & 15 != STT_SECTION else "",
                info >> 4,
                info & 15,
                other,
                shndx,
                value,
                size,
            ),
        )
        for index, (_, info, other, shndx, value, size) in enumerate(rows)
    ]


def _sections(elf: Elf, mercury: bool) -> list[InSection]:
    rows = elf.section_rows
    kinds = {(row[1], row[2], row[8]) for row in rows}
    wrong = {a for _, _, a in kinds if a & (a - 1) or a > LARGEST_ALIGNMENT}
    if wrong:
        index, align = next((i, row[8]) for i, row in enumerate(rows) if row[8] in wrong)
        raise BadStructureError(
            f"section {index} has alignment {align:#x}, which is not a power of "
            f"two up to {LARGEST_ALIGNMENT:#x}",
            file=elf.file,
        )
    if max([row[4] + row[5] for row in rows]) > elf.size:
        elf.check_bodies()
    data = elf.data
    # Sections that are not in the file, by type first: few are of such a type.
    empty = {(kind, flags) for kind, flags, _ in kinds if not occupies_file(kind, flags)}
    empty_types = {kind for kind, _ in empty}
    sections = [
        _NEW(
            InSection,
            (
                index,
                name,
                kind,
                flags,
                size,
                link,
                info,
                align,
                entsize,
                b"" if kind in empty_types and (kind, flags) in empty else data[at : at + size],
            ),
        )
        for index, (name, (_, kind, flags, _, at, size, link, info, align, entsize)) in enumerate(
            zip(elf.section_names, rows, strict=True)
        )
    ]
    if not mercury and any(flags & SHF_CUDA_MERCURY for _, flags, _ in kinds):
        sections = [
            _NEW(InSection, (*s[:2], SHT_NULL, *s[3:])) if s[3] & SHF_CUDA_MERCURY else s
            for s in sections
        ]
    if mercury:
        return _point_at_capsules(elf, [_as_mercury(section) for section in sections])
    if data[_EI_OSABI] != _OSABI_CUDA:
        return [_classified(section) for section in sections]
    return sections


_EI_OSABI = 7
#: EI_OSABI since CUDA 12.
_OSABI_CUDA = 0x41


def _classified(section: InSection) -> InSection:
    """A section with the type that the spec's table gives its name.

    CUDA 10 wrote types of ELF, CUDA 11 one type for all constant banks; before CUDA 12 flags did
    not say that `sh_info` is a section.
    """
    from cubinspec_generated.tables import sections as table

    row = table.EXACT.get(section.name)
    if row is None:
        found = (at for prefix, at in table.PREFIXES if section.name.startswith(prefix))
        row = next(found, None)
    if row is None:
        return section
    _, kind, _, _, usual, _, usual_flags, *_ = table.KINDS[row]
    sh_type, flags = section.sh_type, section.flags
    if sh_type != usual and (sh_type in table.OTHER_TYPES.get(kind, ()) or sh_type in _PLAIN_TYPES):
        sh_type = usual
    optional = table.OPTIONAL_FLAGS.get(kind, 0) & usual_flags & SHF_INFO_LINK
    if section.info and optional and not flags & SHF_INFO_LINK:
        flags |= SHF_INFO_LINK | (SHF_UNSAID if is_constant(sh_type) else 0)
    return section._replace(sh_type=sh_type, flags=flags)


_PLAIN_TYPES = (SHT_PROGBITS, SHT_NOBITS)
#: Bits 20-26 of the flags of a code section.
_BARRIERS = 0x7F


def _point_at_capsules(elf: Elf, sections: list[InSection]) -> list[InSection]:
    """Let sections that exist once (shared memory) belong to the Mercury code of their kernel.

    A capsule and the code section of the same function name the same symbol.
    """
    rows = elf.section_rows
    capsule_of = {row[7]: index for index, row in enumerate(rows) if row[1] == SHT_CUDA_CAPMERC}
    pointed = []
    for section, row in zip(sections, rows, strict=True):
        is_shared = section.sh_type != SHT_NULL and not row[2] & SHF_CUDA_MERCURY
        if is_shared and row[2] & SHF_INFO_LINK and row[7] < len(rows):
            section = section._replace(info=capsule_of.get(rows[row[7]][7], section.info))
        pointed.append(section)
    return pointed


def _as_mercury(section: InSection) -> InSection:
    """A section with the place it has in the Mercury half (type NULL: none)."""
    name, sh_type, flags = section.name, section.sh_type, section.flags
    if flags & SHF_CUDA_MERCURY:
        is_code = sh_type == SHT_CUDA_CAPMERC
        name = name.removeprefix(_CODE_PREFIX if is_code else _PREFIX)
        sh_type = PLAIN_TYPE.get(sh_type, sh_type)
        flags &= ~SHF_CUDA_MERCURY
        if is_code:
            flags |= SHF_ALLOC | SHF_EXECINSTR
    elif sh_type == SHT_SYMTAB or name.startswith(_SASS_ONLY):
        sh_type = SHT_NULL
    return section._replace(name=name, sh_type=sh_type, flags=flags)


def _relocs(elf: Elf, obj: InputObject) -> list[InRelocs]:
    """All relocations, in section order; the rows of all sections are cut at once."""
    sections = obj.of_types((SHT_RELA, SHT_REL))
    rows: list[InReloc] = []
    #: Rows of each section.
    counts = []
    for is_rela, run in groupby(sections, _is_rela):
        record = records.RELA_64 if is_rela else records.REL_64
        bodies = [section[9] for section in run]
        sizes = list(map(len, bodies))
        if any(map(record.size.__rmod__, sizes)):
            break
        cut = record.iter_unpack(b"".join(bodies))
        rows += cut if is_rela else ((*row, 0) for row in cut)
        counts += [size // record.size for size in sizes]
    farthest = max(map(_OFFSET, rows), default=0)
    wrong = farthest > _LARGEST_OFFSET or max(map(_SYMBOL, rows), default=-1) >= len(obj.symbols)
    if wrong or len(counts) < len(sections):
        _refuse_relocs(elf, obj, sections)
    found: list[InRelocs] = []
    at, num_sections = 0, len(obj.sections)
    for section, number in zip(sections, counts, strict=True):
        target = section[6]
        if target >= num_sections:
            elf.section_row(target, f"sections[{section.index}].sh_info")  # says what is wrong
        end = at + number
        found.append(_NEW(InRelocs, (section[0], target, section[2] == SHT_RELA, rows[at:end])))
        at = end
    return found


def _is_rela(section: InSection) -> bool:
    return section[2] == SHT_RELA


def _refuse_relocs(elf: Elf, obj: InputObject, sections: list[InSection]) -> NoReturn:
    """Say what is wrong with the first section of relocations that has something wrong."""
    for section in sections:
        record = records.RELA_64 if _is_rela(section) else records.REL_64
        elf.section_row(section.info, f"sections[{section.index}].sh_info")
        rows = list(elf.rows_of(section.index, record, "relocations"))
        farthest = max(map(_OFFSET, rows), default=0)
        if farthest > _LARGEST_OFFSET:
            raise BadStructureError(
                f"relocation at {farthest:#x} of section {section.info}",
                file=obj.name,
                expected=f"at most {_LARGEST_OFFSET:#x}",
            )
        highest = max(map(_SYMBOL, rows), default=0)
        if rows and highest >= len(obj.symbols):
            raise BadStructureError(
                f"relocation names symbol {highest} of {len(obj.symbols)}", file=obj.name
            )
    raise AssertionError("one of them is wrong")


#: Offsets in capsules count in Mercury code, so that the section's size is no limit.
_LARGEST_OFFSET = (1 << 32) - 1


def _callgraph(elf: Elf, index: int) -> CallGraph:
    """Cut the pair list at its four markers (0, -1) ... (0, -4)."""
    graph = CallGraph()
    parts = (graph.calls, graph.address_taken, graph.indirect, graph.references)
    current: list[tuple[int, int]] = []
    for a, b in elf.rows_of(index, records.CALLGRAPH_ENTRY, "callgraph"):
        if a == 0 and b >= 0xFFFFFFFC:
            current = parts[0xFFFFFFFF - b]
        else:
            current.append((a, b))
    return graph
