"""Pass 1b: bytes of one relocatable cubin -> `InputObject` (rows only, nothing decided).

A cubin of sm_100 and later holds the program twice: as Mercury code (sections `.nv.capmerc.*` and
`.nv.merc.*` with a symbol table of their own) and as SASS. Both halves are read the same way: a
Mercury section takes the name and type of the section it stands for, and what exists only once
(shared memory, zero globals, notes, call graph) belongs to both.

Fixed from here on: the order of the objects, which is the order of the command line; every later
order follows from it.
"""

from __future__ import annotations

from cubinspec.errors import BadStructureError, NotCubinError
from cubinspec.reader.elf import Elf, occupies_file
from cubinspec_generated import records

from .model import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHF_MERCURY,
    SHN_COMMON,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_CODE,
    SHT_CUDA_MERC_CONSTANT_OPTIMIZER,
    SHT_CUDA_MERC_CONSTANT_PIC,
    SHT_CUDA_MERC_CONSTANT_USER,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_RELA,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_PROTOTYPE,
    SHT_NULL,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_SYMTAB,
    CallGraph,
    InfoRecord,
    InputObject,
    InReloc,
    InRelocs,
    InSection,
    InSymbol,
)

ET_REL = 1
_CODE_PREFIX, _PREFIX = ".nv.capmerc", ".nv.merc"
#: Mercury section type -> the type that the same contents have in the SASS half.
PLAIN_TYPE = {
    SHT_CUDA_MERC_CODE: SHT_PROGBITS,
    SHT_CUDA_MERC_INFO: SHT_CUDA_INFO,
    SHT_CUDA_MERC_RELA: SHT_RELA,
    SHT_CUDA_MERC_SYMTAB: SHT_SYMTAB,
    SHT_CUDA_MERC_CONSTANT_OPTIMIZER: SHT_CUDA_CONSTANT_B0 + 2,
    SHT_CUDA_MERC_CONSTANT_USER: SHT_CUDA_CONSTANT_B0 + 3,
    SHT_CUDA_MERC_CONSTANT_PIC: SHT_CUDA_CONSTANT_B0 + 4,
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
)


def open_object(data: bytes, name: str) -> Elf:
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


def has_mercury(elf: Elf) -> bool:
    """Whether the cubin carries a Mercury half."""
    return elf.find_section(SHT_CUDA_MERC_SYMTAB) is not None


def read_half(elf: Elf, *, mercury: bool) -> InputObject:
    """Read one half of a cubin; cubins before sm_100 have the SASS half only."""
    table = elf.find_section(SHT_CUDA_MERC_SYMTAB if mercury else SHT_SYMTAB)
    if table is None:
        raise BadStructureError("no symbol table", file=elf.file)
    link = elf.section_rows[table][6]
    strtab = elf.string_table(link)
    obj = InputObject(
        elf.file,
        elf.ehdr[6],
        _sections(elf, mercury),
        [
            InSymbol(i, strtab.get(row[0]), row[1] >> 4, row[1] & 15, *row[2:])
            for i, row in enumerate(elf.symbol_rows(table))
        ],
        strtab.data,
        [],
        {},
        CallGraph(),
        [],
    )
    for symbol in obj.symbols:
        if symbol.shndx >= len(obj.sections) and symbol.shndx != SHN_COMMON:
            raise BadStructureError(
                f"symbol {symbol.index} is in section {symbol.shndx} of {len(obj.sections)}",
                file=elf.file,
            )
    for section in obj.sections:
        if section.sh_type in (SHT_REL, SHT_RELA):
            obj.relocs.append(_relocs(elf, obj, section))
        elif section.sh_type == SHT_CUDA_INFO:
            obj.info[section.index] = info_records(section.data)
        elif section.sh_type == SHT_CUDA_CALLGRAPH:
            obj.callgraph = _callgraph(elf, section.index)
        elif section.sh_type == SHT_CUDA_PROTOTYPE:
            rows = elf.rows_of(section.index, records.PROTOTYPE_ENTRY, "prototype")
            obj.prototypes = [(a, b) for a, b in rows]
    return obj


def _sections(elf: Elf, mercury: bool) -> list[InSection]:
    sections = []
    for index, row in enumerate(elf.section_rows):
        _, sh_type, flags, _, _, size, link, info, align, entsize = row
        name = elf.section_name(index)
        if align & (align - 1) or align > _LARGEST_ALIGNMENT:
            raise BadStructureError(
                f"section {index} has alignment {align:#x}, which is not a power of two up to "
                f"{_LARGEST_ALIGNMENT:#x}",
                file=elf.file,
            )
        data = elf.section_bytes(index) if occupies_file(sh_type, flags) else b""
        section = InSection(index, name, sh_type, flags, size, link, info, align, entsize, data)
        if mercury:
            _as_mercury(section)
        elif flags & SHF_MERCURY:
            section.sh_type = SHT_NULL
        sections.append(section)
    if mercury:
        _point_at_capsules(elf, sections)
    return sections


def _point_at_capsules(elf: Elf, sections: list[InSection]) -> None:
    """Let sections that exist once (shared memory) belong to the Mercury code of their kernel.

    A capsule and the code section of the same function name the same symbol.
    """
    rows = elf.section_rows
    capsule_of = {row[7]: index for index, row in enumerate(rows) if row[1] == SHT_CUDA_MERC_CODE}
    for section, row in zip(sections, rows, strict=True):
        is_shared = section.sh_type != SHT_NULL and not row[2] & SHF_MERCURY
        if is_shared and row[2] & SHF_INFO_LINK and row[7] < len(rows):
            section.info = capsule_of.get(rows[row[7]][7], section.info)


def _as_mercury(section: InSection) -> None:
    """Give a section the place it has in the Mercury half (type NULL: none)."""
    if section.flags & SHF_MERCURY:
        is_code = section.sh_type == SHT_CUDA_MERC_CODE
        section.name = section.name.removeprefix(_CODE_PREFIX if is_code else _PREFIX)
        section.sh_type = PLAIN_TYPE.get(section.sh_type, section.sh_type)
        section.flags &= ~SHF_MERCURY
        if is_code:
            section.flags |= SHF_ALLOC | SHF_EXECINSTR
    elif section.sh_type == SHT_SYMTAB or section.name.startswith(_SASS_ONLY):
        section.sh_type = SHT_NULL


def _relocs(elf: Elf, obj: InputObject, section: InSection) -> InRelocs:
    elf.section_row(section.info, f"sections[{section.index}].sh_info")
    rows = [
        InReloc(offset, r_type, symbol, addend or 0)
        for offset, r_type, symbol, addend in elf.relocation_rows(section.index)
    ]
    for row in rows:
        if row.symbol >= len(obj.symbols):
            raise BadStructureError(
                f"relocation names symbol {row.symbol} of {len(obj.symbols)}", file=obj.name
            )
    return InRelocs(section.index, section.info, section.sh_type == SHT_RELA, rows)


def info_records(data: bytes) -> list[InfoRecord]:
    """Split the bytes of a `.nv.info` or `.nv.compat` section into records."""
    found, at = [], 0
    while at + 4 <= len(data):
        fmt, code, value = records.INFO_RECORD.unpack_from(data, at)
        at += 4
        if fmt == SVAL:
            found.append(InfoRecord(fmt, code, 0, data[at : at + value]))
            at += value
        elif fmt:
            found.append(InfoRecord(fmt, code, value))
    return found


#: No input has more; a larger value is a broken file, not a wish for gigabytes of padding.
_LARGEST_ALIGNMENT = 1 << 20
#: Record format with a sized payload; all others hold their value in the record.
SVAL = 4


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
