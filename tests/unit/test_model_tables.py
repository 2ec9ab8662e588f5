"""Sections, symbols, relocations and attributes: by index, by name, with their meaning."""

from __future__ import annotations

import pytest

from cubinspec import Cubin
from cubinspec.errors import BadIndexError
from cubinspec.model.section import Section
from tests.malformed.recipe import SAMPLES


def opened(stem: str) -> Cubin:
    return Cubin.open(str(SAMPLES / f"{stem}.cubin"))


# --- sections -------------------------------------------------------------------------------------


def test_sections_are_found_by_index_and_by_name() -> None:
    sections = opened("small.sm_90.exe").sections
    assert [section.index for section in sections] == list(range(len(sections)))
    assert sections[".text.small"] == sections[14] == sections[14 - len(sections)]
    assert ".text.small" in sections
    assert ".text.absent" not in sections
    assert sections.get(".text.absent") is None
    with pytest.raises(KeyError):
        sections[".text.absent"]
    with pytest.raises(IndexError):
        sections[len(sections)]


def test_the_first_of_several_sections_of_one_name_is_found() -> None:
    cubin = opened("small.sm_90.exe")
    names = [section.name for section in cubin.sections]
    for name in set(names):
        assert cubin.sections[name].index == names.index(name)


def test_sections_compare_by_place_in_their_file() -> None:
    one, other = opened("small.sm_90.exe"), opened("small.sm_90.exe")
    assert len({one.sections[1], one.sections[1], one.sections[2], other.sections[1]}) == 3


@pytest.mark.parametrize(
    ("name", "kind", "function", "type_name"),
    [
        (".text.small", "text", "small", "SHT_PROGBITS"),
        (".nv.info", "info", None, "SHT_CUDA_INFO"),
        (".nv.info.small", "function_info", "small", "SHT_CUDA_INFO"),
        (".nv.callgraph", "callgraph", None, "SHT_CUDA_CALLGRAPH"),
        (".nv.capmerc.text.small", "capsule", "small", "SHT_CUDA_CAPMERC"),
        (".nv.merc.symtab", "merc_symtab", None, "SHT_CUDA_MERC_SYMTAB"),
    ],
)
def test_a_section_knows_its_kind_and_function(
    name: str, kind: str, function: str | None, type_name: str
) -> None:
    section = opened("small.sm_100.exe").sections[name]
    assert (section.kind, section.function_name) == (kind, function)
    assert section.type_name == type_name
    assert section.is_mercury is ("merc" in name)


def test_sections_that_only_reserve_memory_have_no_bytes() -> None:
    cubin = opened("small.sm_90.exe")
    shared = cubin.sections[".nv.shared.small"]
    assert (shared.has_bytes, shared.data, shared.sh_size) == (False, b"", 1536)
    relocatable = opened("small.sm_90.rel").sections[".nv.shared.small"]
    assert (relocatable.type_name, relocatable.has_bytes) == ("SHT_CUDA_SHARED", False)


def test_a_mercury_twin_may_share_the_bytes_of_its_plain_section() -> None:
    cubin = opened("small.sm_100.exe")
    plain, twin = cubin.sections[".nv.constant3"], cubin.sections[".nv.merc.nv.constant.user"]
    assert (plain.sh_offset, plain.data) == (twin.sh_offset, twin.data)
    assert plain.data == (3).to_bytes(4, "little")  # .const factor = 3


def test_all_bytes_of_a_constant_are_there() -> None:
    data = opened("data_only.sm_90.exe")
    assert data.sections[".nv.constant3"].data == (77).to_bytes(4, "little")
    assert data.sections[".nv.global.init"].data == bytes((9, 8, 7)) + bytes(29)


# --- symbols --------------------------------------------------------------------------------------


def test_symbols_are_found_by_index_and_by_name() -> None:
    symbols = opened("data.sm_90.exe").symbols
    assert symbols["pi"].index == [symbol.name for symbol in symbols].index("pi")
    assert symbols.get("absent") is None
    assert symbols.get(len(symbols)) is None
    assert symbols.name_of(len(symbols)) is None
    assert symbols[-1].index == len(symbols) - 1
    assert "pi" in symbols
    assert "" not in symbols


def test_variables_stand_where_the_source_puts_them() -> None:
    cubin = opened("data.sm_90.exe")
    symbol = cubin.symbols["pi"]
    assert (symbol.type_name, symbol.bind_name, symbol.st_size) == ("STT_OBJECT", "STB_GLOBAL", 8)
    assert symbol.section is not None
    at = symbol.st_value
    assert symbol.section.data[at : at + 8] == bytes.fromhex("182d4454fb210940")
    assert cubin.symbols["weak_half"].bind_name == "STB_WEAK"
    assert cubin.symbols["aligned_static"].bind_name == "STB_LOCAL"
    assert cubin.symbols["aligned_static"].st_value % 64 == 0
    assert cubin.symbols["zero"].section == cubin.sections[".nv.global"]


def test_kernels_are_marked_in_st_other() -> None:
    symbols = opened("calls.sm_90.rel").symbols
    assert {symbol.name for symbol in symbols if symbol.is_entry} == {
        *("direct", "indirect", "never_returns")
    }


def test_section_symbols_are_shown_by_their_section() -> None:
    symbols = opened("small.sm_90.exe").symbols
    symbol = next(s for s in symbols if s.type_name == "STT_SECTION")
    assert symbol.section is not None
    assert symbol.display_name == symbol.section.name


def test_undefined_symbols_have_no_section() -> None:
    outside = opened("extern_calls.sm_90.rel").symbols["outside"]
    assert (outside.is_defined, outside.section) == (False, None)


def test_textures_and_surfaces_have_types_of_their_own() -> None:
    symbols = opened("textures.sm_75.rel").symbols
    assert symbols["tex_a"].type_name == "STT_CUDA_TEXTURE"
    assert symbols["surf_a"].type_name == "STT_CUDA_SURFACE"


def test_the_mercury_half_has_symbols_of_its_own() -> None:
    cubin = opened("small.sm_100.exe")
    kernel = cubin.mercury_symbols["small"]
    assert kernel.section == cubin.sections[".nv.capmerc.text.small"]
    assert len(opened("small.sm_90.exe").mercury_symbols) == 0


def test_a_file_without_symbols_has_an_empty_table() -> None:
    assert list(opened("small.sm_90.exe").mercury_symbols) == []
    assert opened("small.sm_90.exe").mercury_symbols.section_index is None


# --- relocations ----------------------------------------------------------------------------------


def test_a_relocation_tells_symbol_target_and_meaning() -> None:
    cubin = opened("small.sm_90.rel")
    relocation = next(r for r in cubin.relocations if r.name == "R_CUDA_CONST_FIELD21_38")
    assert relocation.symbol is not None
    assert relocation.symbol.name == "factor"
    assert relocation.target == cubin.sections[".text.scale"]
    assert relocation.section == cubin.sections[".rela.text.scale"]
    assert relocation.r_addend == 0
    assert relocation.meaning == "bits 38..53 = abs; bits 54..58 = const_bank"


def test_rel_sections_have_no_addend() -> None:
    relocations = opened("params_32.sm_75.rel.11.8.89").relocations
    assert {relocation.r_addend is None for relocation in relocations} == {True, False}
    for relocation in relocations:
        assert (relocation.r_addend is None) is relocation.section.name.startswith(".rel.")


@pytest.mark.parametrize(
    ("stem", "symbol", "target"),
    [
        ("params_32.sm_75.rel.11.8.89", "leaf", ".text.narrow"),
        ("small.sm_90.rel", "scale", ".text.small"),
        ("small.sm_100.rel", "scale", ".text.small"),
    ],
)
def test_a_call_leaves_a_relocation_in_both_classes(stem: str, symbol: str, target: str) -> None:
    pairs = {
        (relocation.symbol.display_name, relocation.target.name)
        for relocation in opened(stem).relocations
        if relocation.symbol is not None and relocation.target is not None
    }
    assert (symbol, target) in pairs


def test_mercury_relocations_refer_to_mercury_symbols() -> None:
    cubin = opened("small.sm_100.rel")
    found = [r for r in cubin.relocations if r.section.is_mercury]
    assert found
    for relocation in found:
        assert relocation.symbol is not None
        assert relocation.symbol.index < len(cubin.mercury_symbols)
        assert (relocation.name or "").startswith(("R_MERCURY_", "R_CUDA_"))


def test_relocations_come_in_file_order() -> None:
    cubin = opened("small.sm_100.rel")
    places = [(r.section_index, r.index) for r in cubin.relocations]
    assert places == sorted(places)


# --- attributes -----------------------------------------------------------------------------------


def test_attributes_are_decoded_by_the_table() -> None:
    records = {record.name: record for record in opened("small.sm_90.exe").kernels[0].attributes}
    assert records["EIATTR_MAX_THREADS"].fields == {"ntid_x": 128, "ntid_y": 1, "ntid_z": 1}
    assert records["EIATTR_CBANK_PARAM_SIZE"].fields == {"param_size": 12}
    assert records["EIATTR_CUDA_API_VERSION"].fields == {"toolkit_version": 130}
    assert records["EIATTR_EXIT_INSTR_OFFSETS"].format_name == "EIFMT_SVAL"


def test_module_attributes_refer_to_function_symbols() -> None:
    cubin = opened("small.sm_90.exe")
    (count,) = [record for record in cubin.info if record.name == "EIATTR_REGCOUNT"]
    ((kind, index),) = count.references
    assert (kind, cubin.symbols[index].name) == ("symbol", "small")


def test_offsets_of_records_are_those_in_the_file() -> None:
    cubin = opened("small.sm_100.exe")
    for section in cubin.sections:
        for record in section.info_records:
            assert cubin.data[record.offset] == record.format
            assert cubin.data[record.offset + 1] == record.code


def test_compat_records_have_names_of_their_own() -> None:
    names = [record.name for record in opened("small.sm_90a.exe").compat]
    assert names
    assert all((name or "").startswith("EICOMPAT_ATTR_") for name in names)
    assert opened("small.sm_75.exe.11.8.89").compat == []


# --- out of range ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        *("relocations_of", "relocation_rows", "info_records_of", "symbol_table"),
        *("notes_of", "callgraph_of", "prototypes_of"),
    ],
)
def test_a_section_that_does_not_exist_is_a_bad_index(method: str) -> None:
    cubin = opened("small.sm_90.exe")
    for index in (-1, len(cubin.sections), 1 << 40):
        with pytest.raises(BadIndexError):
            getattr(cubin, method)(index)


def test_a_section_of_another_type_has_nothing_to_tell() -> None:
    cubin = opened("small.sm_90.exe")
    text: Section = cubin.sections[".text.small"]
    assert text.relocations == []
    assert text.info_records == []
    assert cubin.relocation_rows(text.index) == []
    assert cubin.notes_of(text.index) == []
    assert cubin.prototypes_of(text.index) == []
    assert cubin.callgraph_of(text.index).markers == []
    assert len(cubin.symbol_table(text.index)) == 0
