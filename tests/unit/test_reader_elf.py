"""The ELF skeleton: both classes, extended numbering, and the bounds on what a file may cost."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from cubinspec import Cubin
from cubinspec.errors import BadIndexError, BadStringError, BadStructureError
from cubinspec.format.sections import occupies_file
from cubinspec.format.strings import StringTable
from cubinspec.limits import LONG_STRING, MAX_SECTION_OVERLAP, MAX_STRING_OVERLAP
from cubinspec.reader.elf import Elf
from cubinspec_generated import records
from tests.malformed.recipe import SAMPLES

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS, SHT_SYMTAB_SHNDX = 1, 2, 3, 8, 18
SHT_CUDA_INFO = 0x70000000
INFO = struct.pack("<BBH", 3, 0x1B, 255)


def forged(
    sections: list[dict[str, Any]], names: bytes = b"\0", *, extended: bool = False
) -> bytes:
    """A file with the given sections behind 0 (null) and 1 (names): type, body and other fields.

    A section with `over` has the body of that section. `extended` moves counts to section 0.
    """
    image = bytearray(64)
    rows = [[0] * 10, [0, SHT_STRTAB, 0, 0, 64, len(names), 0, 0, 1, 0]]
    image += names
    for section in sections:
        row = [section.get("name", 0), section["type"], section.get("flags", 0), 0]
        if "over" in section:
            row += rows[section["over"]][4:6]
        else:
            row += [len(image), len(section.get("body", b""))]
            image += section.get("body", b"")
        rows.append([*row, section.get("link", 0), section.get("info", 0), 1, 0])
    if extended:
        rows[0][5], rows[0][6] = len(rows), 1
    start = len(image)
    for row in rows:
        image += records.SECTION_HEADER_64.pack(*row)
    counts = (0, 0xFFFF) if extended else (len(rows), 1)
    image[:16] = b"\x7fELF\x02\x01\x01\x33\x07" + bytes(7)
    image[16:64] = records.ELF_HEADER_64.pack(
        *(2, 190, 120, 0, 0, start, 80, 64, 56, 0, 64, *counts)
    )
    return bytes(image)


def symbol(name: int = 0, info: int = 0, other: int = 0, shndx: int = 0) -> bytes:
    return records.SYMBOL_64.pack(name, info, other, shndx, 0, 0)


# --- both classes ---------------------------------------------------------------------------------


def test_elf32_rows_have_the_order_of_elf64() -> None:
    elf = Cubin.open(str(SAMPLES / "params_32.sm_75.rel.11.8.89.cubin")).elf
    assert not elf.is_64
    table = elf.find_section(SHT_SYMTAB)
    assert table is not None
    names = elf.string_table(elf.section_rows[table][6])
    rows = {names.get(row[0]): row for row in elf.symbol_rows(table)}
    _, info, other, shndx, value, size = rows["coefficients"]
    assert (info >> 4, info & 15, other, value, size) == (1, 13, other, 0, 16)
    assert elf.section_name(shndx) == ".nv.constant3"


def test_elf32_relocations_split_their_info_word() -> None:
    cubin = Cubin.open(str(SAMPLES / "params_32.sm_75.rel.11.8.89.cubin"))
    for relocation in cubin.relocations:
        assert relocation.symbol_index < len(cubin.symbols)
        assert relocation.name is not None


def test_elf32_program_headers_have_the_order_of_elf64() -> None:
    cubin = Cubin.open(str(SAMPLES / "params_32.sm_75.exe.11.8.89.cubin"))
    assert cubin.segments
    for segment in cubin.segments:
        assert segment.name is not None
        assert segment.p_flags in (4, 5, 6, 7)
        assert segment.p_offset + segment.p_filesz <= cubin.size


# --- which sections have bytes --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sh_type", "sh_flags", "expected"),
    [
        *((SHT_PROGBITS, 0, True), (SHT_NOBITS, 3, False), (0, 0, False)),
        *((0x70000007, 3, False), (0x70000009, 3, False), (0x7000000A, 3, False)),
        *((0x70000015, 3, False), (0x70000015, 0x10000003, True), (0x70000064, 2, True)),
    ],
)
def test_memory_that_is_only_reserved_takes_no_room(
    sh_type: int, sh_flags: int, expected: bool
) -> None:
    assert occupies_file(sh_type, sh_flags) is expected


# --- extended numbering ---------------------------------------------------------------------------


def test_counts_beyond_16_bits_stand_in_section_0() -> None:
    elf = Elf(forged([{"type": SHT_PROGBITS, "name": 1}], b"\0body\0", extended=True), "f")
    assert (elf.num_sections, elf.shstrndx) == (3, 1)
    assert elf.section_names == ["", "", "body"]


def test_extended_section_indices_replace_the_escape_value() -> None:
    escapes = symbol() + symbol(shndx=0xFFFF) + symbol(shndx=2)
    sections = [
        {"type": SHT_SYMTAB, "link": 1, "body": escapes},
        {"type": SHT_SYMTAB_SHNDX, "link": 2, "body": struct.pack("<III", 0, 70000, 7)},
    ]
    rows = Elf(forged(sections), "f").symbol_rows(2)
    assert [row[3] for row in rows] == [0, 70000, 2]


def test_an_index_table_of_another_symbol_table_is_not_used() -> None:
    sections = [
        {"type": SHT_SYMTAB, "link": 1, "body": symbol() + symbol(shndx=0xFFFF)},
        {"type": SHT_SYMTAB_SHNDX, "link": 1, "body": struct.pack("<II", 0, 70000)},
    ]
    assert [row[3] for row in Elf(forged(sections), "f").symbol_rows(2)] == [0, 0xFFFF]


def test_a_short_index_table_is_refused() -> None:
    sections = [
        {"type": SHT_SYMTAB, "link": 1, "body": symbol() + symbol(shndx=0xFFFF)},
        {"type": SHT_SYMTAB_SHNDX, "link": 2, "body": bytes(4)},
    ]
    with pytest.raises(BadStructureError, match="1 extended section indices for 2 symbols"):
        Elf(forged(sections), "f").symbol_rows(2)


def test_a_file_with_seventy_thousand_sections_is_read() -> None:
    count = 70_000
    table = symbol() + symbol(1, 0x12, 0x10, 0xFFFF)
    sections: list[dict[str, Any]] = [{"type": SHT_PROGBITS} for _ in range(count)]
    code = len(sections) + 1
    sections[-1] = {"type": SHT_PROGBITS, "flags": 6, "info": 1, "body": bytes(16)}
    sections.append({"type": SHT_SYMTAB, "link": 1, "body": table})
    indices = struct.pack("<II", 0, code)
    sections.append({"type": SHT_SYMTAB_SHNDX, "link": code + 1, "body": indices})
    cubin = Cubin.parse(forged(sections, b"\0kernel\0", extended=True))
    (kernel,) = cubin.kernels
    assert (kernel.name, kernel.section.index) == ("kernel", code)


# --- files without names or tables ----------------------------------------------------------------


def test_a_file_without_sections_is_a_header() -> None:
    header = forged([])[:64]
    cubin = Cubin.parse(
        header[:40] + bytes(8) + header[48:60] + bytes(4)  # e_shoff, e_shnum and e_shstrndx are 0
    )
    assert len(cubin.sections) == 0
    assert cubin.kernels == []
    assert (cubin.notes, cubin.info, cubin.relocations, cubin.callgraph) == ([], [], [], None)


def test_sections_without_a_name_table_have_no_names() -> None:
    data = bytearray(forged([{"type": SHT_PROGBITS}]))
    data[62:64] = b"\0\0"
    assert [section.name for section in Cubin.parse(bytes(data)).sections] == ["", "", ""]


# --- what a small file may cost -------------------------------------------------------------------


def test_sections_may_overlap_a_little() -> None:
    body = INFO * 1000
    sections: list[dict[str, Any]] = [{"type": SHT_CUDA_INFO, "body": body}]
    sections += [{"type": SHT_CUDA_INFO, "over": 2} for _ in range(MAX_SECTION_OVERLAP - 2)]
    cubin = Cubin.parse(forged(sections))
    assert len(cubin.sections[-1].info_records) == 1000


def test_a_pile_of_sections_over_one_body_is_refused() -> None:
    sections: list[dict[str, Any]] = [{"type": SHT_CUDA_INFO, "body": INFO * 1000}]
    sections += [{"type": SHT_CUDA_INFO, "over": 2} for _ in range(50)]
    elf = Elf(forged(sections), "f")
    with pytest.raises(BadStructureError, match="the sections overlap"):
        _ = elf.section_rows


def test_reserved_memory_is_not_taken_for_overlap() -> None:
    data = bytearray(forged([{"type": SHT_NOBITS, "flags": 3} for _ in range(50)]))
    at = len(data) - 64
    data[at + 32 : at + 40] = (1 << 40).to_bytes(8, "little")
    assert Cubin.parse(bytes(data)).sections[-1].sh_size == 1 << 40


def test_a_string_with_many_beginnings_is_refused() -> None:
    size = 4 * LONG_STRING
    names = b"\0" + b"a" * size + b"\0"
    sections = [{"type": SHT_PROGBITS, "name": 1 + n} for n in range(2 * MAX_STRING_OVERLAP)]
    cubin = Cubin.parse(forged(sections, names))
    with pytest.raises(BadStringError, match="share too many bytes"):
        _ = cubin.elf.section_names


def test_one_long_name_may_be_shared_by_all() -> None:
    name = "a" * (4 * LONG_STRING)
    sections = [{"type": SHT_PROGBITS, "name": 1} for _ in range(500)]
    found = Cubin.parse(forged(sections, b"\0" + name.encode() + b"\0")).elf.section_names
    assert found[2:] == [name] * 500
    assert len({id(text) for text in found[2:]}) == 1


@pytest.mark.pure
@pytest.mark.parametrize("count", [1000, 8000])
def test_looking_for_a_section_type_scans_once(count: int) -> None:
    elf = Elf(forged([{"type": SHT_PROGBITS} for _ in range(count)]), "f")
    looked_at = 0

    class Counting(list[Any]):
        def __iter__(self) -> Any:
            nonlocal looked_at
            looked_at += 1
            return super().__iter__()

    elf._section_rows = Counting(elf.section_rows)
    for _ in range(count):
        assert elf.find_section(SHT_SYMTAB) is None
    assert looked_at == 1


def test_many_functions_in_one_section_do_not_share_its_attributes() -> None:
    symbols = symbol() + symbol(1, 0x12, 0x10, 2) * 300
    sections = [
        {"type": SHT_PROGBITS, "flags": 6, "info": 0, "body": bytes(16)},
        {"type": SHT_CUDA_INFO, "info": 2, "body": INFO * 300},
        {"type": SHT_SYMTAB, "link": 1, "body": symbols},
    ]
    kernels = Cubin.parse(forged(sections, b"\0k\0")).kernels
    assert [len(kernel.attributes) for kernel in kernels] == [300] + [0] * 299


# --- strings --------------------------------------------------------------------------------------


def test_names_that_are_not_utf8_keep_their_bytes() -> None:
    table = StringTable(b"\0\xff\xfek\0", 0, "f", "sections[1]")
    assert table.get(1).encode("utf-8", "surrogateescape") == b"\xff\xfek"


def test_a_string_may_start_inside_another() -> None:
    table = StringTable(b"\0.rel.text.k\0", 0, "f", "sections[1]")
    assert table.get_many([1, 5, 12]) == [".rel.text.k", ".text.k", ""]


def test_errors_of_strings_name_the_place_in_the_file() -> None:
    table = StringTable(b"\0abc", 0x500, "f", "sections[1]")
    with pytest.raises(BadStringError) as caught:
        table.get(2)
    assert caught.value.offset == 0x502
    with pytest.raises(BadIndexError) as refused:
        table.get(4)
    assert (refused.value.offset, refused.value.expected) == (0x500, "an index below 0x4")


def test_many_names_are_those_asked_for_one_by_one() -> None:
    names = [f"name_{i}" for i in range(200)]
    data = b"\0" + b"\0".join(name.encode() for name in names) + b"\0"
    starts = [data.index(f"\0{name}\0".encode()) + 1 for name in names]
    for indices in (starts, [*starts, 0, len(data) - 1], [*starts, starts[7] + 3]):
        table = StringTable(data, 0, "", "")
        assert table.get_many(indices) == [table.get(index) for index in indices]
    with pytest.raises(BadStringError):
        StringTable(data + b"unended", 0, "", "").get_many([*starts, len(data)])
    with pytest.raises(BadIndexError):
        StringTable(data, 0, "", "").get_many([*starts, len(data)])
