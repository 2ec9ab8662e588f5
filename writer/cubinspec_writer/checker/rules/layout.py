"""Rules about places: where headers, sections and segments stand in the file."""

from __future__ import annotations

from itertools import pairwise

from cubinspec.errors import CubinError
from cubinspec.format.layout import P_ALIGN
from cubinspec.format.sections import (
    CALLGRAPH_TYPES,
    PROTOTYPE_TYPES,
    RELOCATION_TYPES,
    UNIFIED_ENTRY_TYPES,
    occupies_file,
    sass_twin,
)
from cubinspec_generated.codes import (
    ET_EWP,
    ET_REL,
    PF_R,
    PT_LOAD,
    PT_PHDR,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_RESERVED_SHARED,
    SHT_REL,
    SHT_SYMTAB,
)
from cubinspec_generated.codes_sizes import (
    SIZEOF_CALLGRAPH_ENTRY,
    SIZEOF_REL_32,
    SIZEOF_REL_64,
    SIZEOF_RELA_32,
    SIZEOF_RELA_64,
    SIZEOF_UFT_ENTRY,
)
from cubinspec_writer.checker.rules.base import CENSUS, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.checker.rules.base import Found
    from cubinspec_writer.checker.view import View


@rule(
    "CUB001",
    "The generated reader reads the whole file and every valid clause of the spec holds.",
    "ksy/*.ksy",
    "The structure at the given place is broken; compare it with the reference of its type.",
)
def _spec_read(view: View) -> Iterator[Found]:
    from cubinspec.reader.kaitai import parse, walk

    try:
        for _ in walk(parse(view.data, view.file)):
            pass
    except CubinError as error:
        yield error.offset, error.field or "file", error.reason


@rule(
    "CUB005",
    "Section contents lie inside the file, outside of the header tables.",
    CENSUS,
    "Correct sh_offset and sh_size; sections without bytes need a type that says so.",
)
def _inside(view: View) -> Iterator[Found]:
    table = view.header.e_shoff
    table_end = table + view.section_header_size * len(view.sections)
    tables = ((0, view.header.e_ehsize), (table, table_end))
    for index, header in enumerate(view.sections):
        # CUDA 13.4 gives the Mercury window of reserved shared memory a size and no bytes
        if header.sh_type == SHT_CUDA_RESERVED_SHARED or not _has_bytes(view, index):
            continue
        start, end = header.sh_offset, header.sh_offset + header.sh_size
        if end > len(view.data):
            yield *view.header_place(index), f"ends at {end:#x}"
        for low, high in tables:
            if start < high and low < end:
                yield start, view.path(index), f"overlaps the table at {low:#x}"


def _has_bytes(view: View, index: int) -> bool:
    header = view.sections[index]
    return bool(header.sh_size) and occupies_file(header.sh_type, header.sh_flags)


@rule(
    "CUB006",
    "Sections overlap only where a Mercury section shares all bytes of its twin in the SASS half.",
    "735 of 4,000 public cubins share, all of them whole sections",
    "Give the section a place of its own, or both the same offset and size.",
)
def _overlaps(view: View) -> Iterator[Found]:
    spans = sorted(
        (header.sh_offset, header.sh_offset + header.sh_size, index)
        for index, header in enumerate(view.sections)
        if _has_bytes(view, index)
    )
    for (start, end, one), (next_start, next_end, two) in pairwise(spans):
        if next_start >= end:
            continue
        is_whole = (start, end) == (next_start, next_end)
        if not (is_whole and (_are_twins(view, one, two) or _are_twins(view, two, one))):
            yield next_start, view.path(two), f"overlaps {view.path(one)}"


def _are_twins(view: View, mercury: int, sass: int) -> bool:
    """Whether the first section is the Mercury twin of the second one."""
    return (
        view.is_mercury(mercury)
        and not view.is_mercury(sass)
        and sass_twin(view.names[mercury]) == view.names[sass]
    )


@rule(
    "CUB007",
    "sh_addralign is 0 or a power of two and sh_offset a multiple of it.",
    CENSUS + " (Mercury sections of CUDA 12.8 without content excepted)",
    "Move the section to the next multiple of its alignment.",
)
def _alignment(view: View) -> Iterator[Found]:
    for index, header in enumerate(view.sections):
        align, offset = header.sh_addralign, header.sh_offset
        if align & (align - 1):
            yield *view.header_place(index), f"sh_addralign is {align}"
        elif align > 1 and offset % align and _has_bytes(view, index):
            yield offset, view.path(index), f"offset {offset:#x} is not aligned to {align}"


@rule(
    "CUB008",
    "Tables hold a whole number of entries, of the size that sh_entsize says.",
    CENSUS,
    "The section is cut off, or its type or sh_entsize is wrong.",
)
def _entries(view: View) -> Iterator[Found]:
    is_64 = view.header.is_64
    sizes = dict.fromkeys(RELOCATION_TYPES, SIZEOF_RELA_64 if is_64 else SIZEOF_RELA_32)
    sizes[SHT_REL] = SIZEOF_REL_64 if is_64 else SIZEOF_REL_32
    sizes |= dict.fromkeys(CALLGRAPH_TYPES | PROTOTYPE_TYPES, SIZEOF_CALLGRAPH_ENTRY)
    sizes |= dict.fromkeys(UNIFIED_ENTRY_TYPES, SIZEOF_UFT_ENTRY)
    sizes |= dict.fromkeys((SHT_SYMTAB, SHT_CUDA_MERC_SYMTAB), view.symbol_size)
    for index, header in enumerate(view.sections):
        size = sizes.get(header.sh_type)
        if not size:
            continue
        if header.sh_size % size:
            message = f"{header.sh_size} bytes, entries have {size}"
            yield header.sh_offset, view.path(index), message
        if header.sh_entsize != size:
            message = f"sh_entsize is {header.sh_entsize}, entries have {size} bytes"
            yield *view.header_place(index), message


@rule(
    "CUB024",
    "Program headers: none in relocatable files; PT_PHDR covers the table, segments the file.",
    CENSUS,
    "Compute the program headers from the final section headers.",
)
def _segments(view: View) -> Iterator[Found]:
    rows = view.elf.segment_rows
    table = view.header.e_phoff
    table_size = view.header.e_phentsize * len(rows)
    if rows and view.header.e_type in (ET_REL, ET_EWP):
        yield table, "program_headers", "in a relocatable file"
    for number, (p_type, p_flags, p_offset, _, _, p_filesz, p_memsz, _) in enumerate(rows):
        path = f"program_headers[{number}]"
        if p_type not in (PT_LOAD, PT_PHDR):
            yield table, path, f"type {p_type}"
            continue
        if p_type == PT_PHDR and (p_offset, p_filesz) != (table, table_size):
            yield table, path, "PT_PHDR is not the program header table"
        # CUDA 8 counts the padding behind the last section in the file size only
        if p_offset + p_filesz > len(view.data) or p_memsz + P_ALIGN <= p_filesz:
            yield table, path, f"{p_filesz:#x} bytes at {p_offset:#x}, {p_memsz:#x} in memory"
        if not p_flags & PF_R:
            yield table, path, "cannot be read"


@rule(
    "CUB029",
    "Bytes outside of headers and sections are zero.",
    CENSUS + " (stale section headers behind the second writer's files excepted)",
    "Clear them, or give them a section.",
)
def _padding(view: View) -> Iterator[Found]:
    if view.has_table_first:
        return
    header = view.header
    section_headers = view.section_header_size * len(view.sections)
    program_headers = header.e_phentsize * len(view.elf.segment_rows)
    spans = [
        (0, header.e_ehsize),
        (header.e_shoff, header.e_shoff + section_headers),
        (header.e_phoff, header.e_phoff + program_headers),
    ]
    spans += [
        (section.sh_offset, section.sh_offset + section.sh_size)
        for section in view.sections
        if occupies_file(section.sh_type, section.sh_flags)
    ]
    at = 0
    for start, end in sorted(spans):
        gap = view.data[at:start] if start > at else b""
        if gap.count(0) != len(gap):
            yield at, "file", f"{len(gap)} bytes up to {start:#x}"
        at = max(at, end)
