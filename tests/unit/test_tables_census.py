"""Every value that occurs in 4,000 public cubins has an entry in the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cubinspec_generated.codes import (
    ABI_2,
    ABI_4,
    ABI_7,
    ABI_8,
    PF_R,
    PF_W,
    PF_X,
    SHF_BARRIERS_MASK,
    SHF_BARRIERS_SHIFT,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
)
from cubinspec_generated.rows import SectionKind
from cubinspec_generated.tables import (
    arch,
    compat,
    eiattr,
    elf_header,
    relocations,
    sections,
    symbols,
)
from cubinspec_generated.targets import ARCHITECTURES
from tools.gen.tables import load_table

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).resolve().parents[1] / "data" / "census_values.yaml"
CENSUS: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
NAMED_HERE = {"EIATTR_UNNAMED_67"}
"""Names made here; the tools print none."""


def kind_of(name: str) -> SectionKind:
    """The row of the section table for a name, by the rule that the table states."""
    if name in sections.EXACT:
        return sections.EXACT[name]
    kinds = [kind for prefix, kind in sections.PREFIXES if name.startswith(prefix)]
    assert kinds, f"no kind for {name!r}"
    return kinds[0]


def test_header_values_are_named() -> None:
    assert set(CENSUS["osabis"]) <= set(elf_header.OSABI_NAMES)
    assert set(CENSUS["abi_versions"]) <= {ABI_2, ABI_4, ABI_7, ABI_8}
    assert set(CENSUS["e_types"]) <= set(elf_header.TYPE_NAMES)
    for segment in CENSUS["segments"]:
        assert segment["type"] in elf_header.SEGMENT_TYPE_NAMES
        assert segment["flags"] & ~(PF_X | PF_W | PF_R) == 0


@pytest.mark.parametrize(
    ("osabi", "values", "shift"),
    [(0x41, "e_flags_0x41_low_bytes", 0), (0x33, "e_flags_0x33_bits_8_to_15", 8)],
)
def test_every_flag_bit_of_the_header_has_a_meaning(osabi: int, values: str, shift: int) -> None:
    reserved = 0
    for part in elf_header.FLAG_FIELDS[osabi]:
        if part.name.startswith("reserved"):
            reserved |= ((1 << part.width) - 1) << part.bit
    for value in CENSUS[values]:
        assert (value << shift) & reserved == 0, hex(value)


def test_architectures_are_known() -> None:
    assert set(CENSUS["sms"]) <= set(ARCHITECTURES) & set(arch.LIMITS)


def test_section_types_are_named() -> None:
    assert set(CENSUS["section_types"]) <= set(sections.TYPE_NAMES)


@pytest.mark.parametrize("row", CENSUS["sections"], ids=lambda row: row["name"] or "(none)")
def test_a_section_has_a_kind_with_its_types(row: dict[str, Any]) -> None:
    kind = kind_of(row["name"])
    assert set(row["types"]) <= {kind.relocatable, kind.executable, *kind.other_types}


@pytest.mark.parametrize("row", CENSUS["section_flags"], ids=lambda row: row["name"] or "(none)")
def test_section_flags_are_those_of_the_kind(row: dict[str, Any]) -> None:
    kind = kind_of(row["name"])
    for flags in row["flags"]:
        assert flags & ~(kind.flags | kind.optional_flags) == 0, hex(flags)
        assert kind.flags & ~(flags | kind.optional_flags) == 0, hex(flags)


def test_barrier_counts_fit_their_field() -> None:
    assert SHF_BARRIERS_SHIFT == 20
    assert max(CENSUS["barrier_counts"]) <= SHF_BARRIERS_MASK >> SHF_BARRIERS_SHIFT == 0x7F


@pytest.mark.parametrize("row", CENSUS["attributes"], ids=lambda row: f"{row['code']:#04x}")
def test_an_attribute_has_its_name_formats_and_layout(row: dict[str, Any]) -> None:
    code = row["code"]
    name = eiattr.NAMES[code]
    # the tools hide some names; those they print must be ours
    assert row["name"] in (name, None)
    assert (row["name"] is None) <= (name in NAMED_HERE or code in (0x2A, 0x30, 0x35, 0x5A, 0x5F))
    assert set(row["formats"]) <= set(eiattr.ATTRIBUTES[code].formats)
    assert eiattr.ATTRIBUTES[code].layout.kind != "unknown"


@pytest.mark.parametrize("row", CENSUS["compat"], ids=lambda row: row["code"])
def test_a_compatibility_record_has_a_name_and_a_merge_rule(row: dict[str, Any]) -> None:
    code = row["code"]
    assert code in compat.NAMES
    inline = compat.ATTRIBUTES[code].layout.kind == "inline"
    assert inline == (row["formats"] != [4])


@pytest.mark.parametrize("row", CENSUS["relocations"], ids=lambda row: hex(row["type"]))
def test_a_relocation_type_has_its_name_and_actions(row: dict[str, Any]) -> None:
    name = relocations.NAMES[row["type"]]
    assert row["name"] in (name, None)
    assert (row["name"] is None) == name.startswith("R_MERCURY_")
    assert relocations.TYPES[row["type"]].actions


def test_symbols_are_named() -> None:
    assert set(CENSUS["symbol_types"]) <= set(symbols.TYPE_NAMES)
    assert set(CENSUS["symbol_binds"]) <= set(symbols.BIND_NAMES)
    for row in CENSUS["symbol_others"]:
        space = (row["other"] & STO_CUDA_SPACE_MASK) >> STO_CUDA_SPACE_SHIFT
        assert space in symbols.SPACE_NAMES
        assert row["other"] & 3 in symbols.VISIBILITY_NAMES


def test_notes_are_named() -> None:
    types = load_table(ROOT, "notes").data["types"]
    known = {(note["section"], note["value"]) for note in types}
    assert {(row["section"], row["type"]) for row in CENSUS["notes"]} == known
