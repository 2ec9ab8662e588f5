"""kernels, dump, tree, coverage and explain: what they print, as text and as JSON."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cubinspec import Cubin
from cubinspec.cli import main
from cubinspec.model.info import InfoRecord
from cubinspec.report.dump import info_record
from tests.malformed.recipe import SAMPLES

SAMPLE = str(SAMPLES / "small.sm_90.exe.cubin")
CALLS = str(SAMPLES / "calls.sm_90.rel.cubin")
SOURCES = SAMPLES.parent / "src"
COMMANDS = ("kernels", "dump", "tree", "coverage")


def text(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(list(words)) == status
    return capsys.readouterr().out


def records(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text(capsys, *words, "--json"))
    return found


# --- all commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["kernels", "dump", "coverage"])
def test_json_of_several_files_is_one_list(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = records(capsys, command, SAMPLE, CALLS)
    assert {record["file"] for record in found} == {SAMPLE, CALLS}


@pytest.mark.parametrize("command", ["dump", "tree", "coverage"])
@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"hello\n", "a text file"),
        ((SOURCES / "small.ptx").read_bytes(), "PTX text"),
        (b"!<arch>\n", "an ar archive"),
        (b"\x50\xed\x55\xba" + bytes(60), "fatbin"),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0\x3e\0" + bytes(44), "ELF"),
        (b"\x1f\x8b\x08" + bytes(20), "compressed data is damaged"),
        (b"MZ" + bytes(62), "PE file"),
        (bytes(range(256)), "no known format"),
    ],
)
def test_what_is_no_cubin_is_said_to_be_what_it_is(
    command: str, content: bytes, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "thing"
    path.write_bytes(content)
    assert main([command, str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert what in err


def test_a_cubin_in_a_file_is_read_as_if_it_were_bare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wheel.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(SAMPLE, "k.cubin")
    bare = text(capsys, "dump", SAMPLE)
    assert text(capsys, "dump", str(path)) == bare.replace(SAMPLE, f"{path} → k.cubin")


def test_text_without_device_code_has_no_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", str(SOURCES / "small.ptx")]) == 1
    assert "PTX text" in capsys.readouterr().err


# --- kernels --------------------------------------------------------------------------------------


def test_the_kernel_table_is_sorted_and_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = text(capsys, "kernels", CALLS).splitlines()
    reasons = [row for row in rows if row.startswith("stack of ")]
    rows = rows[: -len(reasons)]
    assert "stack of direct: unknown, recursion: recursive → recursive" in reasons
    assert head.split() == [
        *("arch", "type", "reg", "stack", "shared", "local", "const0", "bar", "threads"),
        *("params", "name"),
    ]
    names = [row.split()[-1] for row in rows]
    assert names == ["direct", "indirect", "never_returns"]
    assert {row.rindex(name) for row, name in zip(rows, names, strict=True)} == {head.index("name")}
    assert "\x1b" not in head


def test_device_functions_come_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    kernels = records(capsys, "kernels", CALLS)
    everything = records(capsys, "kernels", "--all", CALLS)
    assert {record["kind"] for record in kernels} == {"kernel"}
    assert [r["name"] for r in everything if r["kind"] == "kernel"] == [r["name"] for r in kernels]
    assert {r["name"] for r in everything if r["kind"] == "function"} == {
        *("leaf", "weak_leaf", "local_leaf", "recursive")
    }


def test_a_kernel_record_has_sizes_in_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    (kernel,) = records(capsys, "kernels", SAMPLE)
    assert (kernel["name"], kernel["kind"], kernel["arch"]) == ("small", "kernel", "sm_90")
    assert (kernel["registers"], kernel["stack"], kernel["local"]) == (10, 0, 0)
    assert (kernel["shared"], kernel["constant"]) == (1536, {"0": 540})
    assert (kernel["barriers"], kernel["max_threads"]) == (1, 128)
    assert [(p["ordinal"], p["offset"], p["size"]) for p in kernel["params"]] == [
        *((0, 0, 8), (1, 8, 4))
    ]


def test_a_file_without_kernels_is_an_empty_table(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(SAMPLES / "data_only.sm_90.exe.cubin")
    assert records(capsys, "kernels", file) == []
    assert len(text(capsys, "kernels", file).splitlines()) == 1


# --- dump -----------------------------------------------------------------------------------------


def test_dump_shows_every_section_in_file_order(capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = records(capsys, "dump", SAMPLE)
    offsets = [section["sh_offset"] for section in record["sections"]]
    assert offsets == sorted(offsets)
    assert sorted(section["index"] for section in record["sections"]) == list(range(18))
    shown = text(capsys, "dump", SAMPLE)
    for section in record["sections"]:
        assert f"[{section['index']}] {section['name'] or '(no name)'}\n" in shown


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (".nv.info*", {".nv.info", ".nv.info.small"}),
        (".text.small", {".text.small"}),
        (".nv.[ct]*", {".nv.compat", ".nv.callgraph", ".nv.constant3", ".nv.constant0.small"}),
    ],
)
def test_dump_can_be_limited_to_sections(
    pattern: str, names: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (record,) = records(capsys, "dump", SAMPLE, "--section", pattern)
    assert {section["name"] for section in record["sections"]} == names


def test_dump_says_that_no_section_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", SAMPLE, "--section", ".nv.nothing"]) == 1
    assert "no section's name fits '.nv.nothing'" in capsys.readouterr().err
    assert main(["dump", SAMPLE, "--section", ".nv.nothing", "--json"]) == 1
    (record,) = json.loads(capsys.readouterr().out)
    assert not record["sections"]


def test_annotations_are_read_by_their_tags(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(SAMPLES / "spills.sm_80.annotate.cubin")
    (record,) = records(capsys, "dump", file, "--section", ".nv.info.?*")
    (found,) = [r for r in record["sections"][0]["content"]["records"] if r["code"] == 0x55]
    *spills, last = found["fields"]["entries"]
    assert spills[0] == {"kind": 1, "offset": 0x200}
    assert last["kind"] == 3
    assert last["text"].startswith("instr/R-regs:")
    assert found["names"] == ["SPILL_REFILL", "FUNCTION_INFO"]


def test_dump_decodes_attributes_with_their_symbols(capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = records(capsys, "dump", SAMPLE, "--section=.nv.info")
    (section,) = record["sections"]
    (count,) = [r for r in section["content"]["records"] if r["name"] == "EIATTR_REGCOUNT"]
    assert "small" in count["symbols"].values()
    assert 10 in count["fields"].values()
    assert "EIATTR_REGCOUNT" in text(capsys, "dump", SAMPLE, "--section=.nv.info")


def test_dump_shows_opaque_bytes_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = records(capsys, "dump", SAMPLE, "--section=.text.small")
    with Cubin.open(SAMPLE) as cubin:
        code = cubin.sections[".text.small"].data
    assert record["sections"][0]["content"] == {"bytes": code.hex()}
    shown = text(capsys, "dump", SAMPLE, "--section=.text.small")
    digits = "".join(
        "".join(line.split()[1:]) for line in shown.splitlines() if line.startswith("   ")
    )
    assert digits == code.hex()


def test_dump_names_calls_relocations_and_notes(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(capsys, "dump", CALLS)
    for expected in (
        *("calls: direct ", "-> leaf ", "address_taken: leaf ", "indirect_calls: indirect "),
        *("R_CUDA_ABS32_LO_32", "tool_name=ptxas", "STT_FUNC", "STB_WEAK", "EIATTR_REGCOUNT"),
    ):
        assert expected in shown


def test_numbers_that_json_lacks_stay_in_the_payload() -> None:
    payload = struct.pack("<IId", 24, 0, float("nan"))
    record = InfoRecord(0, 4, 0x3C, len(payload), payload)
    with Cubin.open(SAMPLE) as cubin:
        found = info_record(record, cubin.symbols)
    assert json.loads(json.dumps(found, allow_nan=False))["payload"] == payload.hex()
    assert None in found["fields"]["entries"][0].values()


# --- tree and coverage ----------------------------------------------------------------------------


def test_tree_shows_range_path_and_value(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = text(capsys, "tree", SAMPLE, "header.e_machine").splitlines()
    assert line.split() == ["0x12..0x14", "header.e_machine", "=", "190", "(0xbe)"]


def test_tree_is_quiet_about_long_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert max(map(len, text(capsys, "tree", SAMPLE).splitlines())) < 200


def test_an_unknown_path_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tree", SAMPLE, "header.nothing"]) == 1
    found = capsys.readouterr().err
    assert "header.nothing: there is no such field (expected below header: e_type, " in found
    for path in ("nothing", "header.e_flags.nothing"):
        assert main(["tree", SAMPLE, path]) == 1
        assert f"{path}: there is no such field" in capsys.readouterr().err


def test_coverage_sums_to_the_size(capsys: pytest.CaptureFixture[str]) -> None:
    found = records(capsys, "coverage", SAMPLE, CALLS)
    for record in found:
        parts = record["named"] + record["padding"] + record["unclaimed"]
        assert parts + sum(record["opaque"].values()) == record["size"]
        assert record["size"] == Path(record["file"]).stat().st_size


# --- explain --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "table", "key", "value"),
    [
        ("EIATTR_KPARAM_INFO", "eiattr", "code", 0x17),
        ("eiattr_kparam_info", "eiattr", "code", 0x17),
        ("KPARAM_INFO", "eiattr", "code", 0x17),
        ("R_CUDA_ABS32_LO_32", "relocations", "name", "R_CUDA_ABS32_LO_32"),
        (".nv.compat", "sections", "pattern", ".nv.compat"),
        (".nv.info.my_kernel", "sections", "pattern", ".nv.info.*"),
        ("sm_100a", "arch", "sm", 100),
        ("compute_90", "arch", "sm", 90),
    ],
)
def test_a_word_is_explained_by_its_table(
    word: str, table: str, key: str, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    (answer,) = records(capsys, "explain", word)
    assert answer["word"] == word
    assert (answer["matches"][0]["table"], answer["matches"][0]["entry"][key]) == (table, value)
    assert text(capsys, "explain", word).strip()


def test_a_number_is_explained_wherever_it_means_something(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (answer,) = records(capsys, "explain", "0x2f")
    names = {match["entry"].get("name") for match in answer["matches"]}
    assert {"EIATTR_REGCOUNT"} < names
    assert records(capsys, "explain", "47")[0]["matches"] == answer["matches"]


def test_sto_cuda_entry_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(capsys, "explain", "STO_CUDA_ENTRY")
    assert shown.startswith("STO_CUDA_ENTRY: symbol")
    assert "kernel" in shown


def test_an_unknown_word_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "EIATTR_REGCONT", "EIATTR_REGCOUNT"]) == 1
    out, err = capsys.readouterr()
    assert "did you mean EIATTR_REGCOUNT" in err
    assert out.startswith("EIATTR_REGCOUNT")
