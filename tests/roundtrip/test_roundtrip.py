"""Every file comes back byte for byte from its description."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec.format.sections import (
    CALLGRAPH_TYPES,
    INFO_TYPES,
    PROTOTYPE_TYPES,
    RELOCATION_TYPES,
    UNIFIED_ENTRY_TYPES,
)
from cubinspec.reader.elf import Elf
from cubinspec_generated import records
from cubinspec_generated.codes import SHT_CUDA_MERC_SYMTAB, SHT_CUDA_RELOCINFO
from cubinspec_writer.emitter import bodies, describe, emit, layout, roundtrip
from cubinspec_writer.emitter.describe import check_draft
from cubinspec_writer.emitter.model import Description, Dropped, Header, Section, Symbol
from cubinspec_writer.emitter.roundtrip import _first_difference
from cubinspec_writer.emitter.serialise import plan_parts
from cubinspec_writer.yaml_form import from_yaml, to_yaml
from tools.corpus.samples import CUBINS
from tools.oracle import Tool

NAMED_KINDS = (
    INFO_TYPES
    | CALLGRAPH_TYPES
    | PROTOTYPE_TYPES
    | RELOCATION_TYPES
    | UNIFIED_ENTRY_TYPES
    | {7, 2, SHT_CUDA_RELOCINFO, SHT_CUDA_MERC_SYMTAB}
)


def test_sample_is_computed(sample: Path) -> None:
    result = roundtrip(sample.read_bytes())
    assert result.identical, f"differs from offset {result.first_difference:#x}"
    assert result.layout == "computed", result.reasons
    assert _from_objects(sample) == sample.read_bytes()


def _from_objects(file: Path) -> bytes:
    """The file again, from the objects that a caller sees."""
    return emit(describe(file.read_bytes()))


def test_roundtrip_is_laid_out_anew(samples: list[Path]) -> None:
    """And not as it was when the draft was checked against the file."""
    for sample in samples[::11]:
        checked = check_draft(sample.read_bytes())
        assert checked.plan is not None
        again = layout.plan(checked.draft)
        assert again is not checked.plan
        assert again.is_same_as(checked.plan)
        assert b"".join(plan_parts(again)) == sample.read_bytes()


@pytest.mark.parametrize(
    ("parts", "difference"),
    [
        ([b"abc", b"def"], None),
        ([b"", b"abcdef", b""], None),
        ([b"abc", b"dXf"], 4),
        ([b"Xbc", b"dXf"], 0),
        ([b"abc", b"de"], 5),
        ([b"abc", b"defg"], 6),
        ([], 0),
    ],
)
def test_first_difference(parts: list[bytes], difference: int | None) -> None:
    assert _first_difference(b"abcdef", parts) == difference


def test_records_are_decoded(sample: Path) -> None:
    """No section of a kind that the spec names is kept as bytes."""
    for section in describe(sample.read_bytes()).sections:
        if section.sh_type in NAMED_KINDS:
            assert not isinstance(section.body, bodies.Blob), section.name


def test_description_holds_less_than_the_file(samples: list[Path]) -> None:
    """Symbol names, headers and padding are not stored: only bodies of code and data are."""
    for sample in samples[::20]:
        data = sample.read_bytes()
        kept = sum(
            len(section.body.data)
            for section in describe(data).sections
            if isinstance(section.body, bodies.Blob | bodies.Capsule)
        )
        assert kept < len(data)


@pytest.mark.corpus
def test_corpus_is_identical(corpus: list[Path]) -> None:
    """Wheels made by others."""
    pinned = []
    for file in corpus:
        result = roundtrip(file.read_bytes())
        assert result.identical, file
        assert _from_objects(file) == file.read_bytes(), file
        if result.layout == "pinned":
            pinned.append((file.name, result.reasons))
    assert pinned == []


def test_removed_twin_keeps_the_plain_section(samples: list[Path]) -> None:
    """Sharing follows from equal bytes: a changed Mercury section gets bytes of its own."""
    sample = next(f for f in samples if f.name == "data.sm_100.exe.cubin")
    description = describe(sample.read_bytes())
    twin = description.section(".nv.merc.nv.global.init")
    assert twin is not None
    assert isinstance(twin.body, bodies.Blob)
    shared = layout.plan(description)
    rows = dict(zip(shared.sections, shared.section_rows, strict=True))
    assert rows[twin][4] == rows[description.section(".nv.global.init")][4]
    twin.body = bodies.Blob(bytes(len(twin.body.data)))
    apart = layout.plan(description)
    rows = dict(zip(apart.sections, apart.section_rows, strict=True))
    assert rows[twin][4] != rows[description.section(".nv.global.init")][4]
    assert len(emit(description)) > len(sample.read_bytes())


def test_more_sections_than_a_header_field_holds() -> None:
    """From 65280 sections on, the counts stand in section header 0 and .symtab_shndx."""
    history: list[Section | Symbol] = [
        Section(".shstrtab", 3, bodies.Computed("shstrtab")),
        Section(".strtab", 3, bodies.Computed("strtab")),
        Section(".symtab", 2, bodies.Computed("symtab"), sh_addralign=8, sh_entsize=24),
        Section(".symtab_shndx", 18, bodies.Computed("symtab_shndx"), sh_addralign=4, sh_entsize=4),
    ]
    for number in range(65300):
        history.append(Section(f".nv.constant0.k{number}", 0x70000064, bodies.Blob(b"\1")))
    last = history[-1]
    assert isinstance(last, Section)
    symbols = [Symbol("k", 0x12, 0x10, last)]
    data = emit(Description(Header(e_type=1, e_flags=0x5004), history, symbols, "classic"))
    read = Elf(data, "x")
    assert read.ehdr[11] == 0
    assert read.num_sections == len(history) + 1
    assert read.section_rows[0][5] == len(history) + 1
    assert read.symbol_rows(3)[-1][3] == len(history)
    result = roundtrip(data)
    assert result.identical
    assert result.layout == "computed", result.reasons


def test_extended_indices_keep_what_was_written_first() -> None:
    """As in files of ptxas 13.0 with 66,000 sections.

    A symbol's word is the number that its section had when it was made; the final index replaces
    it where st_shndx cannot hold it. 0xfff2 is taken for common symbols.
    """
    history: list[Section | Symbol | Dropped] = [
        Section(".shstrtab", 3, bodies.Computed("shstrtab")),
        Section(".strtab", 3, bodies.Computed("strtab")),
        Section(".symtab", 2, bodies.Computed("symtab"), sh_addralign=8, sh_entsize=24),
        Section(".symtab_shndx", 18, bodies.Computed("symtab_shndx"), sh_addralign=4, sh_entsize=4),
    ]
    for number in range(33000):
        history.append(Section(f".text.k{number}", 1, bodies.Blob(b"\1"), 6))
        history.append(Dropped(f".nv.shared.k{number}", in_shstrtab=True))
        history.append(Section(f".nv.constant0.k{number}", 0x70000064, bodies.Blob(b"\1"), 2))
    data = emit(Description(Header(e_type=1, e_flags=0x5004), history, [], "classic"))
    read = Elf(data, "x")
    stored = list(records.SYMBOL_64.iter_unpack(read.section_bytes(3)))
    words = [word for (word,) in bodies.WORD.iter_unpack(read.section_bytes(4))]
    by_name = {read.section_names[row[3]]: at for at, row in enumerate(read.symbol_rows(3))}
    first, far = by_name[".text.k0"], by_name[".text.k32999"]
    assert (stored[first][3], words[first]) == (33005, 5)
    assert (stored[far][3], words[far]) == (0xFFFF, 66004)
    odd = next(at for at, row in enumerate(stored) if row[3] == 0xFFF2)
    assert words[odd] == 5 + 3 * (0xFFF2 - 33005)
    assert roundtrip(data).layout == "computed"


@pytest.mark.parametrize(("e_type", "first"), [(1, 6), (2, 7)])
def test_extended_indices_do_not_count_banks_that_are_made_last(e_type: int, first: int) -> None:
    """As in files of ptxas 13.0 for sm_90 with 21,800 kernels, which count a section more than
    relocatable ones behind .nv.info.
    """
    history: list[Section | Symbol | Dropped] = [
        Section(".shstrtab", 3, bodies.Computed("shstrtab")),
        Section(".strtab", 3, bodies.Computed("strtab")),
        Section(".symtab", 2, bodies.Computed("symtab"), sh_addralign=8, sh_entsize=24),
        Section(".symtab_shndx", 18, bodies.Computed("symtab_shndx"), sh_addralign=4, sh_entsize=4),
        Section(".nv.info", 0x70000000, bodies.Blob(b""), sh_addralign=4),
    ]
    for number in range(33000):
        history.append(Section(f".text.k{number}", 1, bodies.Blob(b"\1"), 6))
        history.append(Dropped(f".nv.shared.k{number}", in_shstrtab=True))
    for number in range(33000):
        history.append(Section(f".nv.constant0.k{number}", 0x70000064, bodies.Blob(b"\1"), 2))
    data = emit(Description(Header(e_type=e_type, e_flags=0x6005A04), history, [], "finalizer"))
    read = Elf(data, "x")
    words = [word for (word,) in bodies.WORD.iter_unpack(read.section_bytes(4))]
    names = {read.section_names[row[3]]: at for at, row in enumerate(read.symbol_rows(3))}
    assert words[names[".text.k0"]] == first
    assert words[names[".text.k10000"]] == first + 2 * 10000


def test_a_second_table_of_section_indices() -> None:
    """As ptxas 13.0 makes it for sm_100: its name stands twice, its words say nothing."""
    description = describe((CUBINS / "params.sm_103.rel.cubin").read_bytes())
    history = description.history
    banks = [at for at, one in enumerate(history) if one.name.startswith(".nv.constant0.")]
    words = Section(
        ".symtab_shndx", 18, bodies.Computed("symtab_shndx"), sh_addralign=4, sh_entsize=4
    )
    words.deferred = True
    history.insert(banks[0], words)
    mercury = Section(
        ".nv.merc.symtab_shndx",
        18,
        bodies.Computed("merc_symtab_shndx"),
        0x10000000,
        sh_addralign=4,
        sh_entsize=4,
    )
    history.insert(len(history) - 1, mercury)
    data = emit(description)
    read = Elf(data, "x")
    assert read.shstrtab.data.count(b"\0.symtab_shndx\0") == 2
    at = read.section_names.index(".symtab_shndx")
    assert read.section_names[at + 1].startswith(".nv.constant0.")
    assert read.section_names[at - 1].startswith(".text.")
    assert read.section_names[-2:] == [".nv.merc.symtab_shndx", ".nv.merc.symtab"]
    assert read.section_rows[-2][6] == read.num_sections - 1
    num_symbols = len(read.symbol_rows(3))
    assert bytes(read.section_bytes(at)) == bytes(4 * num_symbols)
    assert bytes(read.section_bytes(read.num_sections - 2)) == bytes(4 * num_symbols)
    result = roundtrip(data)
    assert result.identical
    assert result.layout == "computed", result.reasons
    assert from_yaml(to_yaml(data)) == data


@pytest.mark.corpus
@pytest.mark.oracle("ptxas")
def test_ptxas_with_two_tables_of_section_indices(ptxas: Tool, tmp_path: Path) -> None:
    """88,828 sections for sm_100; ptxas takes some minutes."""
    lines = [".version 8.0", ".target sm_75", ".address_size 64"]
    lines += [f".visible .func f{number}() {{ ret; }}" for number in range(22_200)]
    lines += [".visible .entry k0() { ret; }", ".visible .entry k1(.param .u64 a) { ret; }"]
    source, output = tmp_path / "many.ptx", tmp_path / "many.cubin"
    source.write_text("\n".join(lines), encoding="utf-8")
    ptxas.run("-arch=sm_100", "-c", source, "-o", output).check()
    data = output.read_bytes()
    assert Elf(data, "x").section_names.count(".symtab_shndx") == 1
    result = roundtrip(data)
    assert result.identical
    assert result.layout == "computed", result.reasons


@pytest.mark.parametrize(
    ("profile", "sections", "names"),
    [
        (
            "table_first_13_3",
            [".text.a", ".text.b", ".nv.compat", ".nv.info.b", ".nv.info.a", ".note.nv.cuinfo"],
            [".nv.compat", ".note.nv.cuinfo", ".text.a", ".text.b", ".nv.info.b", ".nv.info.a"],
        ),
        (
            "table_first",
            [".text.a", ".text.b", ".nv.info.b", ".nv.info.a", ".note.nv.cuinfo", ".nv.compat"],
            [".text.a", ".text.b", ".note.nv.cuinfo", ".nv.compat", ".nv.info.a", ".nv.info.b"],
        ),
        (
            "table_first",
            [".text.a", ".nv.rel.action", ".nv.callgraph", ".nv.info", ".nv.info.a"],
            [".nv.info", ".nv.info.a", ".nv.callgraph", ".nv.rel.action", ".text.a"],
        ),
        ("table_first", [".nv.rel.action", ".text.a"], [".text.a", ".nv.rel.action"]),
    ],
)
def test_order_of_names_of_the_second_writer(
    profile: str, sections: list[str], names: list[str]
) -> None:
    """As compute-sanitizer of CUDA 13.0, 13.4 and 13.5 and CUPTI of 12.4 and 13.4 have them."""
    tables = [(".symtab", 2, "symtab"), (".shstrtab", 3, "shstrtab"), (".strtab", 3, "strtab")]
    history: list[Section] = [
        Section(name, kind, bodies.Computed(table), sh_entsize=24 if kind == 2 else 0)
        for name, kind, table in tables
    ]
    history += [Section(name, 1, bodies.Blob(b"\1")) for name in sections]
    data = emit(Description(Header(e_type=1, e_flags=0x5004), [*history], [], profile))
    read = Elf(data, "x")
    assert bytes(read.shstrtab.data).decode().split("\0")[1:-1] == [
        *names,
        ".symtab",
        ".shstrtab",
        ".strtab",
    ]
    assert read.section_names[1:] == [*(name for name, _, _ in tables), *sections]


def test_links_of_unified_tables_in_what_nvlink_13_5_joins() -> None:
    """``nvlink -r`` of CUDA 13.5 refers to a section by the number of sections of code."""
    description = describe((CUBINS / "unified.sm_100.link-r.cubin").read_bytes())
    description.profile = "mercury_13_5_linked"
    data = emit(description)
    read = Elf(data, "x")
    links = {
        name: row[6]
        for name, row in zip(read.section_names, read.section_rows, strict=True)
        if row[1] in UNIFIED_ENTRY_TYPES
    }
    # three functions and two stubs
    assert links[".nv.uft.entry"] == links[".nv.udt.entry"] == 6 + 5
    other = ".nv.merc" + read.section_names[11]
    assert read.section_names[links[".nv.merc.nv.uft.entry"]] == other
    assert links[".nv.merc.nv.udt.entry"] == links[".nv.merc.nv.uft.entry"]
    result = roundtrip(data)
    assert result.identical
    assert result.layout == "computed", result.reasons
