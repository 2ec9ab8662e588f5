"""The rules pass on every real file, and each of them sees the fault planted for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from struct import unpack
from urllib.parse import unquote

import jsonschema
import pytest

from cubinspec.cli import main
from cubinspec.reader.elf import Elf
from cubinspec_generated.codes import PLACE_UNKNOWN
from cubinspec_writer.checker import RULES, check
from tests.unit.sarif_shape import SARIF_SHAPE
from tools.corpus.samples import CUBINS

FIELDS = {
    "sh_name": (0, 4),
    "sh_type": (4, 4),
    "sh_flags": (8, 8),
    "sh_offset": (24, 8),
    "sh_size": (32, 8),
    "sh_link": (40, 4),
    "sh_info": (44, 4),
    "sh_addralign": (48, 8),
    "sh_entsize": (56, 8),
}
SM75, SM90, SM100 = (f"calls.sm_{sm}.exe.cubin" for sm in (75, 90, 100))
REL90, CALLS90 = "callee.sm_90.rel.cubin", "calls.sm_90.rel.cubin"
METADATA = "metadata.sm_90.rel.cubin"
LINES = "inlined.sm_90.lineexe.cubin"
DEBUG = "lines.sm_90.debug.cubin"
#: Where the first place of its first register ends: behind name, count, part, register, start.
END_OF_PLACE = len("_Z8weightedfi") + 1 + 4 + 4 + len("%f6") + 1 + 4 + 4
#: A reference from an entry of its units to another one.
REFERENCE = 0x5E
#: Operations of its line table: the file, and the first call that was inlined: row, name.
SET_FILE, INLINED_CALL = b"\x04\x01\x03", b"\x00\x03\x90\x03\x11"


def test_samples_are_good(sample: Path) -> None:
    assert [str(finding) for finding in check(sample.read_bytes(), sample.name)] == []


@pytest.mark.corpus
def test_corpus_is_good(corpus: list[Path]) -> None:
    for file in corpus:
        assert not check(file.read_bytes(), file.name, spec_read=False)


class Patch:
    """A copy of a file in which single fields are changed."""

    def __init__(self, name: str) -> None:
        self.data = bytearray((CUBINS / name).read_bytes())
        self.elf = Elf(bytes(self.data), name)

    def index(self, name: str) -> int:
        return next(at for at, n in enumerate(self.elf.section_names) if n.startswith(name))

    def row(self, name: str) -> tuple[int, ...]:
        return self.elf.section_rows[self.index(name)]

    def put(self, offset: int, value: int, size: int) -> Patch:
        self.data[offset : offset + size] = value.to_bytes(size, "little")
        return self

    def header(self, name: str, field: str, value: int) -> Patch:
        offset, size = FIELDS[field]
        return self.put(self.elf.ehdr[5] + 64 * self.index(name) + offset, value, size)

    def shorten_name(self, name: str) -> Patch:
        """Take the first letter from the name of a section."""
        return self.header(name, "sh_name", self.row(name)[0] + 1)

    def body(self, name: str, at: int, value: int, size: int = 4) -> Patch:
        return self.put(self.row(name)[4] + at, value, size)

    def record(self, name: str, code: int, at: int, value: int, size: int = 4) -> Patch:
        """Change the first record of a code in an attribute stream; ``at`` from its header."""
        from cubinspec.format.attributes import info_rows

        row = self.row(name)
        body = bytes(self.data[row[4] : row[4] + row[5]])
        offset = next(r[0] for r in info_rows(body, 0, "", "") if r[2] == code)
        return self.put(row[4] + offset + at, value, size)

    def symbol(self, index: int, at: int, value: int, size: int) -> Patch:
        return self.put(self.row(".symtab")[4] + 24 * index + at, value, size)

    def edge(self, marker: int, at: int, value: int) -> Patch:
        """Change one word of the first record behind a marker of the call graph."""
        row = self.row(".nv.callgraph")
        words = unpack(f"<{row[5] // 4}I", self.data[row[4] : row[4] + row[5]])
        record = next(n for n in range(0, len(words), 2) if words[n : n + 2] == (0, marker))
        assert words[record + 2], "the list is empty"
        return self.body(".nv.callgraph", 4 * record + 8 + at, value)

    def behind(self, name: str, found: bytes, at: int, value: int) -> Patch:
        """Change one byte of the first place in a section where some bytes stand."""
        row = self.row(name)
        return self.body(name, self.data.index(found, row[4]) - row[4] + at, value, 1)

    def last_name(self, value: int) -> Patch:
        """Change the byte that ends the last string of .strtab."""
        return self.body(".strtab", self.row(".strtab")[5] - 1, value, 1)

    def count(self) -> int:
        """Number of symbols."""
        return self.row(".symtab")[5] // 24

    def first(self, kind: int, *, defined: bool = True) -> int:
        """Index of the first symbol of a type that has a section, or has none."""
        rows = self.elf.symbol_rows(self.index(".symtab"))
        found = (at for at, row in enumerate(rows) if row[1] & 15 == kind)
        return next(at for at in found if bool(rows[at][3]) == defined)


#: Each a rule and a file in which exactly that is wrong (other rules may see it too).
FAULTS: tuple[tuple[str, Callable[[], Patch]], ...] = (
    ("CUB001", lambda: Patch(SM90).body(".note.nv.tkinfo", 0, 0x7FFFFFFF)),
    ("CUB002", lambda: Patch(SM90).header(".nv.info.", "sh_info", 999)),
    ("CUB002", lambda: Patch(SM90).header(".text.", "sh_link", 999)),
    ("CUB002", lambda: (p := Patch(SM90)).symbol(p.first(2), 6, 999, 2)),
    ("CUB003", lambda: Patch(SM90).header(".rela.debug_frame", "sh_link", 2)),
    ("CUB003", lambda: Patch(SM90).header(".nv.info", "sh_link", 2)),
    ("CUB003", lambda: Patch(SM90).header(".symtab", "sh_link", 0)),
    ("CUB003", lambda: Patch(SM90).header(".note.nv.cuinfo", "sh_link", 1)),
    ("CUB003", lambda: Patch(SM100).header(".nv.capmerc.text.", "sh_link", 2)),
    ("CUB004", lambda: Patch(SM90).header(".nv.info.", "sh_info", 1)),
    ("CUB004", lambda: Patch(SM90).header(".text.", "sh_info", 1)),
    ("CUB004", lambda: Patch(SM90).header(".text.", "sh_info", 0xFFFF)),
    ("CUB004", lambda: (p := Patch(SM90)).header(".text.", "sh_info", p.row(".text.n")[7])),
    ("CUB004", lambda: Patch(SM100).header(".nv.capmerc.text.", "sh_info", 1)),
    ("CUB005", lambda: Patch(SM90).header(".text.", "sh_offset", 0x20)),
    ("CUB005", lambda: Patch(SM90).header(".text.", "sh_size", 0x1000000)),
    (
        "CUB006",
        lambda: (p := Patch(SM90)).header(".debug_frame", "sh_offset", p.row(".nv.info")[4]),
    ),
    (
        "CUB006",
        lambda: (p := Patch(SM100)).header(
            ".nv.merc.debug_frame", "sh_offset", p.row(".nv.info")[4]
        ),
    ),
    ("CUB007", lambda: (p := Patch(SM90)).header(".text.", "sh_offset", p.row(".text.")[4] + 4)),
    ("CUB007", lambda: Patch(SM90).header(".text.", "sh_addralign", 96)),
    ("CUB008", lambda: (p := Patch(SM90)).header(".symtab", "sh_size", p.row(".symtab")[5] - 1)),
    ("CUB008", lambda: Patch(SM90).header(".nv.callgraph", "sh_entsize", 4)),
    ("CUB009", lambda: Patch(SM90).record(".nv.info", 0x2F, 2, 0x4000, 2)),
    ("CUB010", lambda: Patch(SM90).record(".nv.info.", 0x1B, 0, 2, 1)),
    ("CUB011", lambda: Patch(SM90).record(".nv.info", 0x2F, 4, 4000)),
    ("CUB012", lambda: Patch(SM90).record(".nv.info", 0x2F, 4, 1)),
    ("CUB013", lambda: Patch(SM90).record(".nv.info.", 0x1C, 4, 0x100000)),
    ("CUB014", lambda: Patch(SM90).body(".nv.callgraph", 4, 0xFFFFFFFE)),
    ("CUB014", lambda: Patch(CALLS90).edge(0xFFFFFFFF, 0, 999)),
    ("CUB014", lambda: Patch(CALLS90).edge(0xFFFFFFFF, 4, 999)),
    ("CUB014", lambda: (p := Patch(CALLS90)).edge(0xFFFFFFFF, 4, p.first(3))),
    ("CUB014", lambda: Patch(CALLS90).edge(0xFFFFFFFE, 4, 2)),
    ("CUB015", lambda: Patch(REL90).body(".nv.prototype", 4, 0x7FFFFFF)),
    ("CUB015", lambda: Patch(REL90).body(".nv.prototype", 0, 1)),
    ("CUB035", lambda: Patch(METADATA).body(".nv.metadata", 4, 0x7FFFFFF)),
    ("CUB035", lambda: Patch(METADATA).body(".nv.metadata", 8, 0x7FFFFFF)),
    ("CUB035", lambda: Patch(METADATA).body(".nv.metadata", 12, 9)),
    ("CUB035", lambda: Patch(METADATA).body(".nv.metadata", 24, 0x7FFFFFF)),
    (
        "CUB035",
        lambda: (p := Patch(METADATA)).body(".nv.metadata", p.row(".nv.metadata")[5] - 12, 1),
    ),
    ("CUB036", lambda: Patch(LINES).body(".debug_line", 0, 0x7FFFFFFF)),
    ("CUB036", lambda: Patch(LINES).header(".nv_debug_line_sass", "sh_size", 5)),
    ("CUB036", lambda: Patch(LINES).behind(".debug_line", SET_FILE, 1, 7)),
    ("CUB036", lambda: Patch(LINES).behind(".debug_line", INLINED_CALL, 3, 120)),
    ("CUB036", lambda: Patch(LINES).behind(".debug_line", INLINED_CALL, 4, 120)),
    ("CUB037", lambda: Patch(DEBUG).header(".nv_debug_info_reg_sass", "sh_size", 5)),
    ("CUB037", lambda: Patch(DEBUG).body(".nv_debug_info_reg_sass", 0, 0x41414141)),
    ("CUB037", lambda: Patch(DEBUG).body(".nv_debug_info_reg_sass", END_OF_PLACE, 0x7FFFFF)),
    ("CUB037", lambda: Patch(DEBUG).body(".nv_debug_info_reg_type", 14, 0x7FFFFF)),
    ("CUB038", lambda: Patch(DEBUG).body(".debug_info", 0, 0x7FFFFFFF)),
    ("CUB038", lambda: Patch(DEBUG).body(".debug_abbrev", 0, 0, 1)),
    ("CUB038", lambda: Patch(DEBUG).header(".debug_abbrev", "sh_size", 5)),
    ("CUB038", lambda: Patch(DEBUG).header(".debug_loc", "sh_size", 5)),
    ("CUB038", lambda: Patch(DEBUG).body(".debug_info", REFERENCE, 3)),
    ("CUB038", lambda: Patch(DEBUG).body(".rela.debug_info", 16, 0x7FFFFF)),
    ("CUB016", lambda: Patch(SM90).body(".rela.debug_frame", 0, 0x100000)),
    ("CUB016", lambda: Patch(SM90).body(".rela.debug_frame", 12, 0x100000)),
    (
        "CUB016",
        lambda: (p := Patch(SM90)).body(".rela.debug_frame", 0, p.row(".debug_frame")[5] - 1),
    ),
    ("CUB016", lambda: Patch(CALLS90).body(".rela.text.", 0, 0x14)),
    ("CUB017", lambda: Patch(SM100).body(".rela.debug_frame", 8, 0x10002)),
    ("CUB018", lambda: Patch(SM90).symbol(0, 4, 1, 1)),
    ("CUB018", lambda: (p := Patch(SM75)).header(".symtab", "sh_info", p.count() + 1)),
    ("CUB018", lambda: (p := Patch(SM75)).symbol(p.count() - 1, 4, 2, 1)),
    ("CUB018", lambda: (p := Patch("data.sm_75.exe.cubin")).symbol(p.first(1), 4, 0x11, 1)),
    ("CUB019", lambda: (p := Patch(SM90)).symbol(p.first(2), 16, 0x100000, 8)),
    ("CUB019", lambda: (p := Patch("data.sm_90.exe.cubin")).symbol(p.first(1), 8, 0x10000, 8)),
    (
        "CUB019",
        lambda: (p := Patch("extern_calls.sm_90.rel.cubin")).symbol(
            p.first(2, defined=False), 8, 0xA0000, 8
        ),
    ),
    ("CUB020", lambda: (p := Patch(SM90)).symbol(p.first(3), 6, 1, 2)),
    ("CUB020", lambda: (p := Patch(SM90)).symbol(p.first(3), 8, 1, 8)),
    ("CUB021", lambda: Patch(SM90).put(51, 3, 1)),
    ("CUB021", lambda: Patch(SM90).put(50, 2, 1)),
    ("CUB021", lambda: Patch(SM90).body(".note.nv.cuinfo", 26, 91, 2)),
    ("CUB021", lambda: Patch(SM90).put(49, 80, 1)),
    ("CUB021", lambda: Patch(SM100).put(48, 4, 1)),
    ("CUB021", lambda: Patch("calls.sm_80.exe.11.8.89.cubin").put(50, 90, 1)),
    ("CUB022", lambda: Patch(SM90).body(".note.nv.cuinfo", 8, 2000)),
    ("CUB023", lambda: Patch(SM90).header(".nv.constant0.", "sh_type", 0x70000064)),
    ("CUB024", lambda: (p := Patch(SM90)).put(p.elf.ehdr[4] + 32, 8, 8)),
    ("CUB024", lambda: (p := Patch(SM90)).put(p.elf.ehdr[4] + 56, 3, 4)),
    ("CUB024", lambda: Patch(SM90).put(16, 1, 2)),
    ("CUB025", lambda: Patch(SM100).body(".nv.capmerc.text.", 0, 1)),
    ("CUB026", lambda: Patch(SM100).header(".nv.merc.debug_frame", "sh_flags", 0)),
    ("CUB026", lambda: Patch(SM100).put(49, 90, 1)),
    ("CUB027", lambda: Patch(SM90).record(".nv.info.", 0x0A, 8, 0x8000, 2)),
    ("CUB028", lambda: Patch(SM90).header(".text.", "sh_flags", 2)),
    ("CUB029", lambda: (p := Patch(SM90)).put(p.row(".text.")[4] - 4, 1, 1)),
    ("CUB030", lambda: Patch(SM90).header(".nv.callgraph", "sh_type", 1)),
    ("CUB030", lambda: Patch(SM90).header(".nv.constant0.", "sh_flags", 0)),
    ("CUB030", lambda: Patch(SM90).shorten_name(".nv.info.")),
    ("CUB031", lambda: Patch(SM90).record(".nv.info.", 0x1B, 1, 0x2F, 1)),
    ("CUB031", lambda: Patch(SM90).record(".nv.info", 0x2F, 1, 0x1B, 1)),
    ("CUB031", lambda: Patch(SM100).record(".nv.merc.nv.info.", 0x1B, 1, 0x19, 1)),
    ("CUB032", lambda: Patch(SM75).record(".nv.info.", 0x1B, 1, 0x38, 1)),
    ("CUB033", lambda: Patch(SM90).record(".nv.info.", 0x0A, 10, 7, 2)),
    ("CUB034", lambda: Patch(SM90).symbol(1, 0, 0x100000, 4)),
    ("CUB034", lambda: Patch(SM90).last_name(0x41)),
)


def test_every_rule_has_a_fault() -> None:
    assert sorted({rule for rule, _ in FAULTS}) == [rule.id for rule in RULES]


@pytest.mark.parametrize(
    ("rule", "fault"), FAULTS, ids=[f"{rule}-{at}" for at, (rule, _) in enumerate(FAULTS)]
)
def test_planted_fault_is_seen(rule: str, fault: Callable[[], Patch]) -> None:
    findings = check(bytes(fault().data), "x")
    assert rule in {finding.rule.id for finding in findings}, [str(f) for f in findings]


def test_rules_say_everything() -> None:
    for rule in RULES:
        assert rule.sentence.endswith(".")
        assert rule.evidence
        assert rule.fix.endswith(".")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(bytes(Patch(SM90).put(51, 3, 1).data))
    assert main(["check", str(CUBINS / SM90)]) == 0
    assert main(["check", str(bad)]) == 1
    assert "CUB021 header.e_flags" in capsys.readouterr().out
    assert main(["check", "--json", str(bad)]) == 1
    found = json.loads(capsys.readouterr().out)
    schema = files("cubinspec").joinpath("schema", "check.schema.json").read_text("utf-8")
    jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    jsonschema.validate(found, json.loads(schema))
    (record,) = found
    assert (record["rule"], record["offset"]) == ("CUB021", 48)
    assert main(["check", "--rules"]) == 0
    assert capsys.readouterr().out.count("evidence:") == len(RULES)


def test_sarif_has_the_required_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "with a space#and more.cubin"
    bad.write_bytes(bytes(Patch(SM90).put(51, 3, 1).data))
    no_cubin = tmp_path / "none.cubin"
    no_cubin.write_bytes(b"#!/bin/sh\n")
    assert main(["check", "--sarif", str(bad), str(no_cubin), str(CUBINS / SM90)]) == 1
    log = json.loads(capsys.readouterr().out)
    jsonschema.validate(log, SARIF_SHAPE)
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == [rule.id for rule in RULES]
    (result,) = run["results"]
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "CUB021"
    (location,) = result["locations"]
    artifact = location["physicalLocation"]["artifactLocation"]
    assert unquote(artifact["uri"]).endswith("/with a space#and more.cubin")
    assert "#" not in artifact["uri"]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert "none.cubin" in notification["message"]["text"]


def test_a_place_of_a_register_may_have_no_start():
    patch = Patch(DEBUG).body(".nv_debug_info_reg_sass", END_OF_PLACE - 4, PLACE_UNKNOWN)
    assert not check(bytes(patch.data), DEBUG)
