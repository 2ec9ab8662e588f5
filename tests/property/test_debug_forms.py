"""Debug data in the YAML form: every table of the samples is decoded, and any bytes come back."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubinspec import Cubin
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.model import Section
from cubinspec_writer.yaml_form import YamlError, from_yaml, to_yaml
from cubinspec_writer.yaml_form.debug import KEYS, Forms, key_of
from cubinspec_writer.yaml_form.text import Document, write

CUBINS = Path(__file__).parents[1] / "data" / "cubins"
ABBREVIATIONS = ".debug_abbrev"
NAMES = (
    ".nv_debug_ptx_txt",
    ".nv_debug_line_sass",
    ".nv_debug_info_reg_sass",
    ".nv_debug_info_reg_type",
    ".debug_line",
    ".debug_frame",
    ".debug_str",
    ".debug_loc",
    ".debug_pubnames",
    ABBREVIATIONS,
    ".debug_info",
)
MERCURY = ".nv.merc"
#: One table of names of one unit; no carried file has any.
PUBLIC_NAMES = bytes.fromhex("14000000 0200 00000000 30000000 0b000000 6b00 00000000")


class Table:
    """Contents of a section, the abbreviations of its half, and bytes of an address."""

    def __init__(self, data: bytes, abbreviations: bytes = b"", word: int = 8) -> None:
        self.data = data
        self.abbreviations = abbreviations
        self.word = word


@cache
def tables() -> dict[str, list[Table]]:
    """The debug data of all samples by the name of the section, each once."""
    found: dict[str, dict[tuple[bytes, bytes, int], None]] = {name: {} for name in NAMES}
    found[".debug_pubnames"][PUBLIC_NAMES, b"", 8] = None
    for file in sorted(CUBINS.glob("*.cubin")):
        data = file.read_bytes()
        if b"debug" not in data:
            continue
        cubin = Cubin.parse(data)
        for section in cubin.sections:
            if key_of(section.name) is None or not section.has_bytes:
                continue
            # the PTX of each input of a link has a number behind its name
            name = section.name.removeprefix(MERCURY).rstrip(".0123456789")
            abbreviations = cubin.sections.get(section.name.replace("info", "abbrev"))
            own = b""
            if name == ".debug_info" and abbreviations is not None:
                own = abbreviations.data
            if section.data.count(0) < section.sh_size:
                found[name][section.data, own, 8 if cubin.header.is_64 else 4] = None
    return {name: [Table(*row) for row in rows] for name, rows in found.items()}


def forms(abbreviations: bytes, word: int = 8) -> Forms:
    by_name = {
        prefix + ABBREVIATIONS: Section(ABBREVIATIONS, 1, bodies.Blob(abbreviations))
        for prefix in ("", MERCURY)
    }
    return Forms(word, by_name)


def come_back(name: str, data: bytes, abbreviations: bytes = b"", word: int = 8) -> str | None:
    """The key under which bytes are shown, once the text of it gave them again."""
    own = forms(abbreviations, word)
    shown = own.shown(name, data)
    if shown is None:
        return None
    # as deep as in a document
    text = write({"contents": [{"section": name, **shown}]})
    (section,) = Document(text, "x.yaml").value["contents"]
    (key,) = shown
    assert forms(abbreviations, word).data(key, name, section[key]) == data, text
    return key


@pytest.mark.parametrize("name", NAMES)
def test_every_table_of_the_samples_is_decoded(name: str) -> None:
    assert tables()[name]
    for table in tables()[name]:
        key = come_back(name, table.data, table.abbreviations, table.word)
        assert key == key_of(name)


def test_every_form_is_tried() -> None:
    assert {key_of(name) for name in NAMES} == {*KEYS}


@pytest.mark.parametrize("name", NAMES)
def test_damaged_tables_come_back(name: str) -> None:
    chance = random.Random(name)
    values = (0, 1, 0x7F, 0x80, 0xFF)
    for _ in range(150):
        table = chance.choice(tables()[name])
        damaged, abbreviations = bytearray(table.data), bytearray(table.abbreviations)
        for _ in range(chance.choice((1, 1, 2, 5))):
            value = chance.choice((*values, chance.randrange(256)))
            damaged[chance.randrange(len(damaged))] = value
        if chance.random() < 0.2:
            del damaged[chance.randrange(len(damaged)) :]
        if abbreviations and chance.random() < 0.3:
            abbreviations[chance.randrange(len(abbreviations))] = chance.randrange(256)
        come_back(name, bytes(damaged), bytes(abbreviations), chance.choice((4, table.word)))


@given(
    st.sampled_from(NAMES), st.binary(max_size=120), st.binary(max_size=40), st.sampled_from((4, 8))
)
def test_any_bytes_come_back(name: str, data: bytes, abbreviations: bytes, word: int) -> None:
    come_back(name, data, abbreviations, word)


@given(st.lists(st.text(max_size=12), min_size=1, max_size=6))
def test_any_lines_of_ptx_come_back(lines: list[str]) -> None:
    data = b"".join([line.replace("\0", "").encode("utf-8", "replace") + b"\0" for line in lines])
    come_back(NAMES[0], data)


def test_forms_without_bytes_do_not_multiply() -> None:
    """A few bytes of entries could else be shown as so many values as the abbreviations have."""
    flags = b"".join([bytes((0x80 | at & 0x7F, 0x40 + (at >> 7), 0x19)) for at in range(4000)])
    abbreviations = b"\1\x11\0" + flags + b"\0\0\0"
    body = b"\2\0" + bytes(4) + b"\x08" + b"\1" * 4000
    data = len(body).to_bytes(4, "little") + body
    assert forms(abbreviations).shown(".debug_info", data) is None
    assert forms(abbreviations).shown(".debug_info", b"\x08\0\0\0\2\0\0\0\0\0\x08\1") is None


# -- edits -----------------------------------------------------------------------------------------


def document(name: str) -> str:
    return to_yaml((CUBINS / name).read_bytes())


def test_an_edit_of_each_form_is_what_the_readers_see() -> None:
    text = document("inlined.sm_89.debugexe.cubin")
    for old, new in (
        (".target sm_75, debug", ".target sm_89, debug"),
        ("[DW_LNS_advance_line, 12]", "[DW_LNS_advance_line, 512]"),
        ("'%r1', R0, 0x0, 0x400]", "'%r1', UR7, 0x0, 0x400]"),
        ("DW_AT_name: 'twice<int>'", "DW_AT_name: 'thrice<int>'"),
        ("DW_AT_decl_line: 2\n", "DW_AT_decl_line: 77\n"),
        ("[DW_AT_language, DW_FORM_data2]", "[DW_AT_description, DW_FORM_data2]"),
        ("DW_AT_language: 4", "DW_AT_description: 4"),
        ("[DW_CFA_def_cfa, R1, 0]", "[DW_CFA_def_cfa, R1, 16]"),
    ):
        assert old in text, old
        text = text.replace(old, new, 1)
    made = from_yaml(text)
    with Cubin.parse(made) as cubin:
        contents = {section.name: section.data for section in cubin.sections if section.has_bytes}
    assert b".target sm_89, debug\0" in contents[".nv_debug_ptx_txt"]
    assert b"\x03\x80\x04\x01" in contents[".debug_line"]
    assert b"%r1\0\7\0\0\x0b" in contents[".nv_debug_info_reg_sass"]
    assert b"thrice<int>\0\1\x4d" in contents[".debug_info"]
    assert contents[".debug_abbrev"].startswith(b"\1\x11\1\x25\x08\x5a\x05")
    assert b"\x0c\x81\x80\x80\x28\x10" in contents[".debug_frame"]
    # the remarks beside the rows follow
    again = to_yaml(made)
    assert from_yaml(again) == made
    assert "[DW_LNS_copy]  # 0x0: line 513" in again


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[DW_LNS_advance_line, 12]", "[DW_LNS_advance, 12]", "no operation is called"),
        ("[DW_LNS_advance_line, 12]", "[DW_LNS_advance_line]", "has 1 operands"),
        ("[DW_LNS_advance_line, 12]", "[DW_LNS_advance_line, far]", "'far' is no number"),
        ("[DW_LNS_advance_line, 12]", "[special, 16, 40]", "no special operation makes this"),
        ("[DW_LNS_advance_line, 12]", "[special, 16]", "a step of the address and one of"),
        ("[DW_LNS_advance_line, 12]", "[extended, 'xy']", "no hexadecimal bytes"),
        ("[DW_LNS_advance_line, 12]", "[DW_LNE_set_address, -1]", "does not fit into 8 bytes"),
        ("header: {version: 2,", "header: {version: 5,", "is no version of such a table"),
        ("header: {version: 2,", "header: {version: 4,", "a table of version 4: max_operations"),
        ("first_special: 10", "first_special: 9", "a number for each operation"),
        ("[0, 1, 1, 1, 1, 0, 0, 0, 1]", "[0, 1, 2, 1, 1, 0, 0, 0, 1]", "by num_operands"),
        ("'%r1', R0, 0x0, 0x400]", "'%r1', R0, 0x0]", "is too short"),
        ("'%r1', R0, 0x0, 0x400]", "'%r1', Q0, 0x0, 0x400]", "no register is called Q0"),
        ("'%r1', R0, 0x0, 0x400]", "5, R0, 0x0, 0x400]", "5 is no text"),
        ("types: [.b64", "types: [.b65", "unknown name .b65"),
        ("DW_AT_decl_line: 2\n", "DW_AT_decl_line: 256\n", "256 does not fit into 1 bytes"),
        ("DW_AT_decl_line: 2\n", "DW_AT_line: 2\n", "by its abbreviation, the entry has"),
        ("- entry: 2 ", "- entry: 200 ", "no abbreviation of the unit has the number 200"),
        ("abbreviations: 0x0", "abbreviations: 0x1", "no table of abbreviations starts there"),
        ("DW_FORM_data2]", "DW_FORM_data3]", "unknown name DW_FORM_data3"),
        ("DW_FORM_data2]", "DW_FORM_indirect]", "cannot be written"),
        ("[DW_CFA_def_cfa, R1, 0]", "[DW_CFA_def, R1, 0]", "no operation is called"),
        ("[DW_CFA_def_cfa, R1, 0]", "[DW_CFA_def_cfa, R1, -1]", "-1 is less than 0"),
        ("[DW_CFA_def_cfa, R1, 0]", "[DW_CFA_advance_loc, 64]", "does not fit into the operation"),
        ("- [0x0, 0x0]", "- [0x0, 0x0, '00']", "start, end and expression"),
        (
            "- cie: {",
            "- fde: {cie: 0, start: 0, size: 0}\n    cie: {",
            "an entry is one of cie and fde",
        ),
    ],
)
def test_errors_name_the_place(old: str, new: str, message: str) -> None:
    text = document("inlined.sm_89.debugexe.cubin")
    assert old in text
    with pytest.raises(YamlError) as caught:
        from_yaml(text.replace(old, new, 1), "x.yaml")
    assert message in str(caught.value)
    assert "x.yaml: contents[" in str(caught.value)
    assert "line " in str(caught.value)
    assert len(str(caught.value)) < 1000
