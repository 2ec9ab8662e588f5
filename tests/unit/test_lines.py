"""`lines`: from code to PTX, source, inlined calls and registers; damaged debug data."""

from __future__ import annotations

import contextlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cubinspec import Cubin
from cubinspec.cli import main
from cubinspec.errors import BadStructureError
from cubinspec.format.leb128 import sleb, uleb
from cubinspec.format.line_tables import line_units
from cubinspec.model.debug import code_ranges
from cubinspec.report.dump import section_record
from cubinspec.report.lines import lines_record

CUBINS = Path(__file__).parents[1] / "data" / "cubins"
SOURCES = Path(__file__).parents[1] / "data" / "src"


def record(name: str, function: str, pc: int | None = None) -> dict[str, Any]:
    with Cubin.open(str(CUBINS / name)) as cubin:
        (chosen,) = [item for item in cubin.functions if item.name == function]
        return lines_record(cubin, chosen, pc)


@pytest.mark.parametrize("name", ["inlined.sm_90.lineexe.cubin", "inlined.sm_110.debugexe.cubin"])
def test_a_call_in_a_call_is_told_with_its_names(name: str) -> None:
    """Once from the line table, once from the entries of DWARF."""
    chains = {
        tuple((line["line"], line["function"]) for line in item["source"])
        for item in record(name, "_Z6nestedPfi")["ranges"]
    }
    text = (SOURCES / "inlined.cu").read_text().splitlines()
    deep = [chain for chain in chains if len(chain) == 3]
    assert deep
    for chain in deep:
        (inner, first), (middle, second), (outer, third) = chain
        assert (first, second, third) == ("_Z5twiceIfET_S0_", "_Z5powerfi", "")
        assert "return value + value" in text[inner - 1] or text[inner - 1] == "}"
        assert "twice(result)" in text[middle - 1]
        assert "power(data" in text[outer - 1]


def test_at_an_offset_only_what_holds_there_is_told() -> None:
    whole = record("lines.sm_90.debug.cubin", "_Z8weightedfi")
    here = record("lines.sm_90.debug.cubin", "_Z8weightedfi", 0x2B0)
    assert [item for item in whole["ranges"] if item["start"] <= 0x2B0 < item["end"]] == here[
        "ranges"
    ]
    assert here["registers"]
    assert all(place in whole["registers"] for place in here["registers"])
    assert len(here["registers"]) < len(whole["registers"])


def test_the_text_of_a_ptx_line_is_that_of_the_section() -> None:
    found = record("small.sm_90.debug.cubin", "small")["ranges"]
    texts = [item["ptx"]["text"] for item in found if item["ptx"]]
    assert any("ret;" in text for text in texts)
    source = (SOURCES / "small.ptx").read_text()
    assert all(" ".join(text.split()) in " ".join(source.split()) for text in texts)


def test_ranges_follow_each_other_and_cover_the_code() -> None:
    found = record("inlined.sm_75.lineexe.cubin", "_Z6nestedPfi")
    ranges = found["ranges"]
    assert ranges[0]["start"] == 0
    assert ranges[-1]["end"] == found["size"]
    assert all(a["end"] == b["start"] for a, b in pairwise(ranges))


def test_code_without_lines_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lines", str(CUBINS / "small.sm_90.exe.cubin")]) == 1
    assert "-lineinfo" in capsys.readouterr().err
    assert main(["lines", str(CUBINS / "small.sm_90.exe.cubin"), "absent"]) == 1
    assert "small.sm_90.exe.cubin: no function 'absent' is here" in capsys.readouterr().err


def test_an_offset_needs_a_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lines", str(CUBINS / "lines.sm_90.debug.cubin"), "--pc", "0"]) == 2


def test_ptx_of_debug_data_is_listed_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(CUBINS / "small.sm_90.debug.cubin")
    assert main(["ptx", "--json", file]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["entries"] == ["small"]
    assert found["provenance"][-1]["kind"] == "section"
    assert main(["ptx", "--print", file]) == 0
    printed = capsys.readouterr().out
    assert ".entry small" in printed.replace("\t", " ")


def test_ptx_of_debug_data_is_extracted(tmp_path: Path) -> None:
    assert main(["ptx", "-o", str(tmp_path), str(CUBINS / "small.sm_90.debug.cubin")]) == 0
    (file,) = tmp_path.iterdir()
    assert ".entry" in file.read_text()


def test_numbers_of_leb128() -> None:
    assert uleb(b"\xe5\x8e\x26", 0) == (624485, 3)
    assert sleb(b"\x9b\xf1\x59", 0) == (-624485, 3)
    assert sleb(b"\x7f", 0) == (-1, 1)
    with pytest.raises(IndexError):
        uleb(b"\x80" * 100, 0)
    with pytest.raises(IndexError):
        uleb(b"\x80", 0)


DEBUG_SECTIONS = (
    *(".debug_line", ".nv_debug_line_sass", ".nv_debug_info_reg_sass", ".nv_debug_info_reg_type"),
    *(".debug_info", ".debug_abbrev", ".debug_frame", ".debug_loc"),
)


@pytest.mark.parametrize("name", DEBUG_SECTIONS)
def test_damaged_debug_sections_give_bytes_and_a_reason(name: str) -> None:
    data = bytearray((CUBINS / "lines.sm_90.debug.cubin").read_bytes())
    with Cubin.parse(bytes(data)) as cubin:
        place, size = cubin.sections[name].sh_offset, cubin.sections[name].sh_size
        whole = section_record(cubin, cubin.sections[name])["content"]
    assert "bytes" not in whole
    reasons = 0
    step = max(size // 60, 1)
    for at in range(place, place + size, step):
        damaged = bytearray(data)
        damaged[at : at + 24] = b"\xff" * 24
        with Cubin.parse(bytes(damaged)) as cubin:
            found = section_record(cubin, cubin.sections[name])["content"]
            json.dumps(found)
            reasons += "reason" in found
            assert "reason" not in found or found["bytes"]
            for function in cubin.functions:
                with contextlib.suppress(BadStructureError):
                    lines_record(cubin, function)
    assert reasons


def test_a_cut_line_table_is_refused_with_its_place() -> None:
    with Cubin.open(str(CUBINS / "lines.sm_90.debug.cubin")) as cubin:
        data = cubin.sections[".debug_line"].data
    with pytest.raises(BadStructureError) as caught:
        line_units(data[:-1], 0x100, "a.cubin", "sections[5]")
    assert (caught.value.file, caught.value.offset) == ("a.cubin", 0x100)


def test_a_chain_of_calls_that_comes_back_ends() -> None:
    data = bytearray((CUBINS / "inlined.sm_90.lineexe.cubin").read_bytes())
    with Cubin.parse(bytes(data)) as cubin:
        section = cubin.sections[".debug_line"]
        place, size = section.sh_offset, section.sh_size
    # an inlined call names its caller in the byte behind 00 03 90: let each row call itself
    at = place
    while (at := data.find(b"\x00\x03\x90", at, place + size)) >= 0:
        data[at + 3] = 4
        at += 1
    with Cubin.parse(bytes(data)) as cubin:
        for function in cubin.functions:
            assert all(len(item.source) < 200 for item in code_ranges(cubin, function))
