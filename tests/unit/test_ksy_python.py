"""The Kaitai classes read every sample, and their ranges tile the file."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec.errors import BadStructureError, LimitError, NotCubinError, TruncatedError
from cubinspec.reader.kaitai import FIELD, PADDING, UNCLAIMED, Code, parse, walk
from cubinspec_generated.kaitai.capmerc import Capmerc
from cubinspec_generated.kaitai.elf_cuda import ElfCuda

#: Opaque bodies of the spec; anything else in a sample would be a layout that nobody described.
KINDS = {
    FIELD,
    PADDING,
    "SASS",
    "DWARF",
    "data",
    "constant bank",
    "capsule records",
    "finalizer options",
    "reserved shared memory",
    "attribute payload",
    "index extension",
}


def test_every_instance_can_be_fetched(sample: Path) -> None:
    tree = ElfCuda.from_bytes(sample.read_bytes())
    tree._fetch_instances()


def test_ranges_tile_the_file(sample: Path) -> None:
    data = sample.read_bytes()
    covered = bytearray(len(data))
    for path, start, end, value, kind in walk(parse(data, sample.name)):
        assert 0 <= start < end <= len(data), path
        assert kind in KINDS, path
        if isinstance(value, bytes):
            assert data[start:end] == value, path
        elif kind == FIELD and isinstance(value, int) and not isinstance(value, bool):
            assert int.from_bytes(data[start:end], "little", signed=value < 0) == value, path
        elif isinstance(value, str):
            assert data[start:end].rstrip(b"\0") == value.encode(), path
        covered[start:end] = b"\1" * (end - start)
    assert all(covered)


@pytest.fixture(scope="module")
def mercury(samples: list[Path]) -> bytes:
    return next(file for file in samples if file.name == "small.sm_100.rel.cubin").read_bytes()


def test_a_path_limits_the_walk(mercury: bytes) -> None:
    pieces = list(walk(parse(mercury), "header.e_machine"))
    assert [(path, start, end, value) for path, start, end, value, _ in pieces] == [
        ("header.e_machine", 18, 20, 190)
    ]
    row = [path for path, *_ in walk(parse(mercury), "section_headers[2]")]
    assert len(row) == 10
    assert all(path.startswith("section_headers[2].") for path in row)


def test_codes_carry_their_name(mercury: bytes) -> None:
    pieces = {path: value for path, _, _, value, _ in walk(parse(mercury))}
    code = pieces["header.e_type"]
    assert isinstance(code, Code)
    assert (code, code.name) == (1, "et_rel")
    symbol = pieces["sections[3].body.table.symbols[1].st_info"]
    assert symbol["symbol_type"].name == "stt_section"


def test_an_unknown_code_is_its_number(mercury: bytes) -> None:
    tree = parse(mercury)
    data = bytearray(mercury)
    at = tree.e_shoff + 64 * (tree.num_section_headers - 1) + 4
    struct.pack_into("<I", data, at, 0x6FFFFFFF)
    pieces = {path: value for path, _, _, value, _ in walk(parse(bytes(data)), "section_headers")}
    path = f"section_headers[{tree.num_section_headers - 1}].sh_type"
    assert pieces[path] == 0x6FFFFFFF
    assert not isinstance(pieces[path], Code)


def test_shared_bytes_are_given_twice(samples: list[Path]) -> None:
    file = next(file for file in samples if file.name.startswith("small.sm_100.debug"))
    ranges = [(start, end) for _, start, end, _, kind in walk(parse(file.read_bytes())) if kind]
    assert len(ranges) > len(set(ranges))


def test_bytes_between_structures(mercury: bytes) -> None:
    pieces = list(walk(parse(mercury + b"\0\0\0\0" + b"tail")))
    assert [(path, kind) for path, _, _, _, kind in pieces][-1] == (pieces[-1][0], UNCLAIMED)
    assert pieces[-1][0].startswith("gaps[")
    assert pieces[-1][1:3] == (len(mercury), len(mercury) + 8)


def test_a_cut_header_is_truncated(mercury: bytes) -> None:
    for size in range(17, 64):
        with pytest.raises(TruncatedError):
            parse(mercury[:size])


def test_another_file_is_refused(mercury: bytes) -> None:
    x86 = mercury[:18] + struct.pack("<H", 62) + mercury[20:]
    for data in (b"hello, world; this is no ELF file at all", x86):
        with pytest.raises(NotCubinError):
            parse(data)


def test_a_fault_inside_a_section_names_its_field(mercury: bytes) -> None:
    tree = parse(mercury)
    info = next(section for section in tree.sections if section.name == ".nv.info")
    data = bytearray(mercury)
    struct.pack_into("<BBH", data, info.ofs_body, 4, 0x2F, 0xFFFF)
    with pytest.raises(TruncatedError) as caught:
        list(walk(parse(bytes(data), "x.cubin")))
    assert caught.value.field == f"sections[{info.index}].body"
    assert caught.value.file == "x.cubin"


def test_names_that_are_no_text_are_refused(mercury: bytes) -> None:
    tree = parse(mercury)
    names = tree.sections[tree.names_index].ofs_body
    data = bytearray(mercury)
    for at in range(names, names + tree.sections[tree.names_index].len_body):
        data[at] = 0xFF
    with pytest.raises(BadStructureError):
        list(walk(parse(bytes(data))))


def test_piled_up_sections_are_refused() -> None:
    # 2,000 headers that all claim the whole file would be read two thousand times
    count = 2000
    size = 64 + 64 * count
    header = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7) + struct.pack(
        "<HHIQQQIHHHHHH", 1, 190, 1, 0, 0, 64, 0, 64, 56, 0, 64, count, 0
    )  # fmt: skip
    row = struct.pack("<IIQQQQIIQQ", 0, 1, 0, 0, 0, size, 0, 0, 1, 0)
    with pytest.raises(LimitError):
        list(walk(parse(header + row * count)))


def test_counts_are_cut_to_the_file(mercury: bytes) -> None:
    data = bytearray(mercury)
    struct.pack_into("<H", data, 60, 0xFFFE)
    tree = parse(bytes(data))
    assert tree.num_section_headers == (len(data) - tree.e_shoff) // 64


def extended(num_sections: int) -> bytes:
    """A file whose section count and name index stand in the first section header."""
    names = b"\0.shstrtab\0"
    header = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7) + struct.pack(
        "<HHIQQQIHHHHHH", 1, 190, 1, 0, 0, 64, 0x06005A04, 64, 56, 0, 64, 0, 0xFFFF
    )  # fmt: skip
    first = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, num_sections, 1, 0, 0, 0)
    end = 64 + 64 * num_sections
    table = struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, end, len(names), 0, 0, 1, 0)
    rest = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) * (num_sections - 2)
    return header + first + table + rest + names


def test_more_sections_than_the_header_can_count() -> None:
    tree = parse(extended(70000))
    assert tree.num_section_headers == 70000
    assert tree.names_index == 1
    assert tree.sections[1].name == ".shstrtab"


def test_both_layouts_of_the_flags(samples: list[Path]) -> None:
    by_name = {file.name: file for file in samples}
    new = parse(by_name["small.sm_100.exe.cubin"].read_bytes())
    assert (new.flags_abi_8.sm, new.flags_abi_8.has_capsule, new.flags_abi_7) == (100, True, None)
    assert new.sections[new.flags_abi_8.cuinfo_section].name == ".note.nv.cuinfo"
    old_file = next(f for n, f in by_name.items() if n.endswith("sm_50.exe.11.8.89.cubin"))
    old = parse(old_file.read_bytes())
    assert (old.flags_abi_7.sm, old.flags_abi_8) == (50, None)
    assert old.header.e_version == 118


def test_only_sections_that_need_strings_read_them(samples: list[Path]) -> None:
    # each would otherwise hold a copy of the whole string table: a gigabyte for 12,000 sections
    for file in samples:
        for section in parse(file.read_bytes()).sections:
            needs = section.body_kind in (2, 9, 10, 22)
            assert needs or section.names._io.size() == 0


#: Body in ksy/tables/sections.yaml -> body_kind of elf_cuda.ksy.
BODY_KINDS = {
    "none": {0},
    "string_table": {1},
    "symbol_table": {2},
    "symtab_shndx": {5},
    "rel_table": {3},
    "rela_table": {4},
    "note_nv": {6},
    "eiattr": {7, 15},
    "compat": {8},
    "callgraph": {9, 22},
    "prototype": {10, 22},
    "rel_action": {11},
    "resolved_rela": {12, 15},
    "metadata": {13},
    "uft": {14},
    "uidx": {23},
    "mercury": {15, 22},
    "capmerc": {16},
    "nv_debug": {17},
    "sass": {18},
    "data": {19, 21},
    "dwarf": {20},
}


def test_bodies_are_those_of_the_section_table(samples: list[Path]) -> None:
    seen = set()
    for file in samples:
        cubin = Cubin.parse(file.read_bytes(), name=file.name)
        for section, body in zip(cubin.sections, parse(file.read_bytes()).sections, strict=True):
            assert section.name == body.name
            if not body.is_in_file:
                continue
            assert body.body_kind in BODY_KINDS[section.body], (file.name, section.name)
            seen.add(section.body)
    # extended indices take 65,280 sections
    assert seen == set(BODY_KINDS) - {"none", "symtab_shndx"}


def test_records_of_capsules_count_the_instructions_of_the_code(samples: list[Path]) -> None:
    seen = {True: 0, False: 0}
    for file in samples:
        cubin = Cubin.open(str(file))
        for section in cubin.sections:
            if section.body != "capmerc":
                continue
            capsule = Capmerc.from_bytes(section.data)
            header = capsule.header if capsule.is_marked else capsule.unmarked_header
            items = capsule.num_items
            taken = sum(word.bit_count() for word in capsule.flags)
            counts = [record for record in capsule.records if record.is_count]
            prefixes = [record for record in counts if record.head & 15]
            assert taken + len(capsule.records) - len(prefixes) == items
            counted = sum(record.num_instructions for record in counts)
            plain = items - len(counts)
            text = cubin.sections[header.text_section]
            assert 16 * (plain + counted) == len(text.data), (file.name, text.name)
            seen[capsule.is_marked] += 1
    assert seen[True] > 20
    assert seen[False] > 10
