"""What readers and writers share: one answer to each question of the format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubinspec.errors import TruncatedError
from cubinspec.format import attributes, far, layout, notes, packing, sections, strings
from cubinspec_generated.codes import (
    EIFMT_HVAL,
    EIFMT_SVAL,
    ELFOSABI_CUDA,
    ELFOSABI_CUDA_V2,
    PT_LOAD,
    PT_PHDR,
    SHF_ALLOC,
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHN_COMMON,
    SHN_XINDEX,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_INFO,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_UFT_ENTRY,
    SHT_NOBITS,
    SHT_PROGBITS,
    SHT_RELA,
)
from cubinspec_generated.rows import SectionKind
from cubinspec_generated.tables.sections import KINDS

# ---------------------------------------------------------------- packed fields


@given(st.integers(0, 1 << 40), st.sampled_from([0, 1, 2, 4, 16, 128, 4096]))
def test_alignment(value: int, alignment: int) -> None:
    up = packing.align_up(value, alignment)
    assert value <= up < value + max(alignment, 1)
    assert not up % max(alignment, 1)


def test_flags_of_both_abis() -> None:
    flags = packing.with_note(packing.abi_8_flags(4, 100), 6)
    assert flags == 0x06006404
    assert packing.sm_of(ELFOSABI_CUDA_V2, flags) == 100
    assert packing.virtual_sm_of(ELFOSABI_CUDA_V2, flags) is None
    assert packing.sm_of(ELFOSABI_CUDA, 0x00500559) == 0x59
    assert packing.virtual_sm_of(ELFOSABI_CUDA, 0x00500559) == 0x50


def test_a_note_beyond_bits_24_to_31_is_to_be_searched() -> None:
    assert packing.with_note(0, 0x1234) >> 24 == 0xFF


def test_indices_beyond_16_bits() -> None:
    assert [packing.is_far(n) for n in (0, 0xFEFF, 0xFF00, 0x10000)] == [False, False, True, True]
    assert packing.is_far(SHN_COMMON)
    assert far.index_and_word(0xFEFF, 7) == (0xFEFF, 7)
    assert far.index_and_word(SHN_COMMON, 7) == (SHN_COMMON, 7)
    assert far.index_and_word(0x10002, 7) == (SHN_XINDEX, 0x10002)


def test_words_of_symtab_shndx_count_what_was_made() -> None:
    made = [".shstrtab", ".nv.info", ".nv.shared.k", ".text.k"], [1, 3, -1, 4]
    assert far.numbers_when_made(*made, 6, has_action=False) == [0, 1, 0, 2, 4, 0]
    assert far.numbers_when_made(*made, 6, has_action=True) == [0, 1, 0, 2, 5, 0]


# ---------------------------------------------------------------- sections


def test_twins_have_the_types_that_the_table_says() -> None:
    by_kind = {kind.kind: kind for kind in KINDS}
    banks = range(SHT_CUDA_CONSTANT_B0, SHT_CUDA_CONSTANT_B0 + 18)
    seen = set()
    for kind in KINDS:
        if not kind.twin:
            continue
        seen.add(kind.relocatable)
        sass = sections.SASS_TYPE.get(kind.relocatable, kind.relocatable)
        twin = by_kind[kind.twin].relocatable
        assert sass == twin or (sass in banks and twin in banks), kind.pattern
    # capsules stand for code and are no copy of it; the others have no twin in the table
    others = {SHT_CUDA_CAPMERC, *(k.relocatable for k in KINDS if "symtab" in k.kind)}
    missing = set(sections.SASS_TYPE) - seen - others
    assert missing == {sections.MERCURY_TYPE[SHT_CUDA_CONSTANT_B0]}


LINKS = {
    "none": None,
    "strtab": ".strtab",
    "symtab": ".symtab",
    "tkinfo": ".note.nv.tkinfo",
    "merc_symtab": ".nv.merc.symtab",
}
INFOS = {
    "function_section": ".text.k",
    "capsule_section": ".nv.capmerc.text.k",
    "compat": ".nv.compat",
}
#: What the rules say of a name that is in no file: that of code which is not there, and that of
#: a table that no real file has.
NOT_AS_IN_THE_TABLE = {
    ("info", "reserved_shared"): ".text.reserved.k",
}


@pytest.mark.parametrize("kind", KINDS, ids=[kind.kind + kind.pattern for kind in KINDS])
def test_rules_say_what_the_table_says(kind: SectionKind) -> None:
    name = kind.pattern
    if name.endswith("*"):
        name = name[:-1] + ("k" if name.endswith(".*") else ".text.k")
    half = ".nv.capmerc" if name.startswith(".nv.merc") else ""
    infos = INFOS | {"target": f"{half}.text.k"}
    link = LINKS[kind.link]
    info = NOT_AS_IN_THE_TABLE.get(("info", kind.kind), infos.get(kind.info))
    for sh_type in {kind.relocatable, kind.executable}:
        assert sections.link_target(name, sh_type, kind.flags) == link
        assert sections.info_target(name, sh_type) == info
        stored = sections.occupies_file(sh_type, kind.flags)
        assert stored == (kind.body not in ("nobits", "none"))
        assert (sh_type in sections.INFO_TYPES) == (kind.body in ("eiattr", "compat"))
        assert (sh_type in sections.RELOCATION_TYPES) == (
            kind.kind.removeprefix("merc_").removeprefix("resolved_") in ("rel", "rela")
        )


def test_banks_of_the_mercury_half_are_those_of_the_table() -> None:
    named = {
        kind.pattern.removeprefix(".nv.merc.nv.constant.").removesuffix(".*")
        for kind in KINDS
        if kind.twin.endswith("constant_bank")
    }
    assert set(sections.MERCURY_BANKS) == named
    for kind in KINDS:
        if kind.twin.endswith("constant_bank"):
            bank = kind.pattern.removeprefix(".nv.merc.nv.constant.").removesuffix(".*")
            number = sections.SASS_TYPE[kind.relocatable] - SHT_CUDA_CONSTANT_B0
            assert sections.MERCURY_BANKS[bank] == number


@pytest.mark.parametrize(
    ("final", "made"),
    [
        (".nv.constant3", ".nv.constant.user"),
        (".nv.constant4", ".nv.constant.pic"),
        (".nv.constant2.k", ".nv.constant.optimizer.k"),
    ],
)
def test_names_that_the_finalizer_replaces(final: str, made: str) -> None:
    assert sections.final_name(made) == final
    assert sections.mercury_name(final) == made
    assert sections.mercury_name(".rela" + final) == ".rela" + made
    assert sections.sass_twin(".nv.merc" + made) == final


def test_names_that_stay() -> None:
    assert sections.final_name(".text.k") is None
    assert sections.mercury_name(".nv.constant0.k") is None
    assert sections.sass_twin(".nv.merc.nv.info") == ".nv.info"
    assert sections.MERCURY_BANKS == {"user": 3, "pic": 4, "optimizer": 2}


def test_reserved_shared_memory_has_bytes_in_the_mercury_half_only() -> None:
    assert not sections.occupies_file(SHT_CUDA_RESERVED_SHARED, 0)
    assert sections.occupies_file(SHT_CUDA_RESERVED_SHARED, SHF_CUDA_MERCURY)


def test_index_ranks_follow_the_order_of_an_executable() -> None:
    files = [
        (".shstrtab", 3),
        (".strtab", 3),
        (".symtab", 2),
        (".debug_frame", SHT_PROGBITS),
        (".note.nv.tkinfo", 7),
        (".nv.info", SHT_CUDA_INFO),
        (".nv.compat", SHT_CUDA_COMPAT_INFO),
        (".nv.info.k", SHT_CUDA_INFO),
        (".rela.text.k", SHT_RELA),
        (".nv.constant0.k", SHT_PROGBITS),
        (".text.k", SHT_PROGBITS),
        (".nv.global.init", SHT_PROGBITS),
        (".nv.shared.k", SHT_NOBITS),
    ]
    found = [layout.index_rank(name, sh_type) for name, sh_type in files]
    assert found == sorted(set(found))


@pytest.mark.parametrize(
    ("name", "sh_type", "target"),
    [
        (".nv.info.k", SHT_CUDA_INFO, ".text.k"),
        (".nv.info.__cuda_uf_stub_f", SHT_CUDA_INFO, ".nv.uft.rel.f"),
        (".nv.merc.rela.text.k", SHT_RELA, ".nv.capmerc.text.k"),
        (".nv.merc.rela.debug_frame", SHT_RELA, ".nv.merc.debug_frame"),
        (".rela.debug_frame", SHT_RELA, ".debug_frame"),
        (".nv.constant0.k", SHT_PROGBITS, ".text.k"),
        (".nv.constant3", SHT_PROGBITS, None),
        (".nv.constant.optimizer.k", SHT_PROGBITS, None),
        (".nv.uft.entry", SHT_CUDA_UFT_ENTRY, None),
    ],
)
def test_what_sh_info_refers_to(name: str, sh_type: int, target: str | None) -> None:
    assert sections.info_target(name, sh_type) == target


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        (".rela.text.k", ".rela.text."),
        (".nv.merc.nv.info.k", ".nv.merc.nv.info."),
        (".nv.constant12.k", ".nv.constant12."),
        (".nv.shared.reserved.0", ""),
        (".nv.info.__cuda_uf_stub_f", ""),
        (".text.", ""),
        (".nv.info", ""),
    ],
)
def test_prefixes_of_functions(name: str, prefix: str) -> None:
    assert sections.function_prefix(name) == prefix


# ---------------------------------------------------------------- attribute streams

WHERE = (0x100, "file", "sections[1]")
SVAL = attributes.raw_record(EIFMT_SVAL, 0x2F, 0, bytes(8))
HVAL = attributes.raw_record(EIFMT_HVAL, 0x1B, 255)


def test_well_formed_streams_are_read_alike() -> None:
    body = HVAL + SVAL + HVAL
    rows = attributes.info_rows(body, *WHERE)
    assert [row[1:] for row in rows] == [
        (EIFMT_HVAL, 0x1B, 255, b""),
        (EIFMT_SVAL, 0x2F, 8, bytes(8)),
        (EIFMT_HVAL, 0x1B, 255, b""),
    ]
    assert attributes.split_records(body) == [HVAL, SVAL, HVAL]
    assert [attributes.immediate(record) for record in (HVAL, SVAL)] == [255, 0]


def test_a_cut_payload_is_refused_by_readers_and_taken_as_it_is_by_the_linker() -> None:
    body = HVAL + SVAL[:-3]
    with pytest.raises(TruncatedError, match="declares 8 bytes, 5 are left") as raised:
        attributes.info_rows(body, *WHERE)
    assert raised.value.offset == 0x104
    assert raised.value.field == "sections[1].records[1].len_payload"
    cut = attributes.raw_record(EIFMT_SVAL, 0x2F, 0, bytes(5))
    assert attributes.split_records(body) == [HVAL, cut]


def test_bytes_behind_the_last_record_are_refused_by_readers_only() -> None:
    with pytest.raises(TruncatedError, match="3 bytes follow the last attribute"):
        attributes.info_rows(HVAL + b"abc", *WHERE)
    assert attributes.split_records(HVAL + b"abc") == [HVAL]


def test_the_format_0_is_a_record_for_readers_and_nothing_for_the_linker() -> None:
    assert len(attributes.info_rows(bytes(4) + HVAL, *WHERE)) == 2
    assert attributes.split_records(bytes(4) + HVAL) == [HVAL]


@given(
    st.lists(
        st.lists(
            st.one_of(
                st.binary(max_size=9).map(
                    lambda payload: attributes.raw_record(EIFMT_SVAL, 1, 0, payload)
                ),
                st.binary(min_size=4, max_size=4),
            ),
            max_size=5,
        ).map(b"".join),
        max_size=20,
    )
)
def test_shapes_change_nothing(bodies: list[bytes]) -> None:
    splitter = attributes.RecordSplitter()
    for body in bodies + bodies:
        assert splitter.split(body) == attributes.split_records(body)


# ---------------------------------------------------------------- string tables


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), unique=True
    )
)
def test_names_stand_where_the_table_has_them(names: list[str]) -> None:
    table, places = strings.build(names)
    read = strings.StringTable(table, 0, "file", "sections[1]")
    assert [read.get(places[name]) for name in names] == names
    assert strings.string_offsets(table) == places
    assert len(table) == 1 + sum(strings.length(name) + 1 for name in names)
    assert strings.build([*names, *names]) == (table, places)


def test_bytes_that_are_no_text_are_kept() -> None:
    assert strings.encode(strings.decode(b"\xff\xfea")) == b"\xff\xfea"


# ---------------------------------------------------------------- segments and notes

CODE, DATA = SHF_ALLOC | SHF_EXECINSTR, SHF_ALLOC | SHF_WRITE


def test_segments_of_an_executable() -> None:
    loaded = [
        (SHT_PROGBITS, 0, 0x40, 8, 1),
        (SHT_PROGBITS, SHF_ALLOC, 0x80, 0x20, 4),
        (SHT_PROGBITS, CODE, 0x100, 0x80, 128),
        (SHT_PROGBITS, DATA, 0x180, 8, 4),
        (SHT_NOBITS, DATA, 0x190, 0x10, 16),
    ]
    rows = layout.classic(loaded, 6, 0x1000, 56)
    assert [row[0] for row in rows] == [PT_PHDR, PT_LOAD, PT_LOAD, PT_LOAD]
    assert rows[1][2:] == (0x80, 0, 0, 0x100, 0x100, 8)
    assert rows[2][2:] == (0x180, 0, 0, 0x10, 0x20, 8)
    assert rows[3][2:] == (0x1000, 0, 0, 4 * 56, 4 * 56, 8)
    split = layout.SEGMENT_STYLES["split"](loaded, 6, 0x1000, 56)
    assert [row[1] for row in split[2:]] == [4, 5, 6]


def test_notes_are_framed_and_split() -> None:
    one, two = notes.frame(1000, b"abcde"), notes.frame(2000, b"")
    assert len(one) == 12 + 12 + 8
    assert notes.split_notes(one + two) == [one, two]
    rows = notes.note_rows(one + two, *WHERE)
    assert rows == [(0, 1000, b"NVIDIA Corp", b"abcde"), (len(one), 2000, b"NVIDIA Corp", b"")]
