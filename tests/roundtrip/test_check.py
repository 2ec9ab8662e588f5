"""The rules pass on every real file, and each of them sees the fault planted for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cubinspec.cli import main
from cubinspec.reader.elf import Elf
from cubinspec_writer.check import RULES, check
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
}
SM75, SM90, SM100 = (f"calls.sm_{sm}.exe.cubin" for sm in (75, 90, 100))
REL90 = "callee.sm_90.rel.cubin"


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

    def body(self, name: str, at: int, value: int, size: int = 4) -> Patch:
        return self.put(self.row(name)[4] + at, value, size)

    def record(self, name: str, code: int, at: int, value: int, size: int = 4) -> Patch:
        """Change the first record of a code in an attribute stream; ``at`` from its header."""
        from cubinspec.reader.streams import info_rows

        row = self.row(name)
        body = bytes(self.data[row[4] : row[4] + row[5]])
        offset = next(r[0] for r in info_rows(body, 0, "", "") if r[2] == code)
        return self.put(row[4] + offset + at, value, size)

    def symbol(self, index: int, at: int, value: int, size: int) -> Patch:
        return self.put(self.row(".symtab")[4] + 24 * index + at, value, size)

    def first(self, kind: int) -> int:
        rows = self.elf.symbol_rows(self.index(".symtab"))
        return next(at for at, row in enumerate(rows) if row[1] & 15 == kind and row[3])


#: rule -> a file in which exactly that is wrong (other rules may see it too)
FAULTS: dict[str, Callable[[], Patch]] = {
    "CUB001": lambda: Patch(SM90).body(".note.nv.tkinfo", 0, 0x7FFFFFFF),
    "CUB002": lambda: Patch(SM90).header(".nv.info.", "sh_info", 999),
    "CUB003": lambda: Patch(SM90).header(".rela.debug_frame", "sh_link", 2),
    "CUB004": lambda: Patch(SM90).header(".nv.info.", "sh_info", 1),
    "CUB005": lambda: Patch(SM90).header(".text.", "sh_offset", 0x20),
    "CUB006": lambda: (p := Patch(SM90)).header(".debug_frame", "sh_offset", p.row(".nv.info")[4]),
    "CUB007": lambda: (p := Patch(SM90)).header(".text.", "sh_offset", p.row(".text.")[4] + 4),
    "CUB008": lambda: (p := Patch(SM90)).header(".symtab", "sh_size", p.row(".symtab")[5] - 1),
    "CUB009": lambda: Patch(SM90).record(".nv.info", 0x2F, 2, 0x4000, 2),
    "CUB010": lambda: Patch(SM90).record(".nv.info.", 0x1B, 0, 2, 1),
    "CUB011": lambda: Patch(SM90).record(".nv.info", 0x2F, 4, 4000),
    "CUB012": lambda: Patch(SM90).record(".nv.info", 0x2F, 4, 1),
    "CUB013": lambda: Patch(SM90).record(".nv.info.", 0x1C, 4, 0x100000),
    "CUB014": lambda: Patch(SM90).body(".nv.callgraph", 4, 0xFFFFFFFE),
    "CUB015": lambda: Patch(REL90).body(".nv.prototype", 4, 0x7FFFFFF),
    "CUB016": lambda: Patch(SM90).body(".rela.debug_frame", 0, 0x100000),
    "CUB017": lambda: Patch(SM100).body(".rela.debug_frame", 8, 0x10002),
    "CUB018": lambda: Patch(SM90).symbol(0, 4, 1, 1),
    "CUB019": lambda: (p := Patch(SM90)).symbol(p.first(2), 16, 0x100000, 8),
    "CUB020": lambda: (p := Patch(SM90)).symbol(p.first(3), 6, 1, 2),
    "CUB021": lambda: Patch(SM90).put(51, 3, 1),
    "CUB022": lambda: Patch(SM90).body(".note.nv.cuinfo", 8, 2000),
    "CUB023": lambda: Patch(SM90).header(".nv.constant0.", "sh_type", 0x70000064),
    "CUB024": lambda: (p := Patch(SM90)).put(p.elf.ehdr[4] + 32, 8, 8),
    "CUB025": lambda: Patch(SM100).body(".nv.capmerc.text.", 0, 1),
    "CUB026": lambda: Patch(SM100).header(".nv.merc.debug_frame", "sh_flags", 0),
    "CUB027": lambda: Patch(SM90).record(".nv.info.", 0x0A, 8, 0x8000, 2),
    "CUB028": lambda: Patch(SM90).header(".text.", "sh_flags", 2),
    "CUB029": lambda: (p := Patch(SM90)).put(p.row(".text.")[4] - 4, 1, 1),
}


def test_every_rule_has_a_fault() -> None:
    assert sorted(FAULTS) == [rule.id for rule in RULES]


@pytest.mark.parametrize("rule", sorted(FAULTS))
def test_planted_fault_is_seen(rule: str) -> None:
    findings = check(bytes(FAULTS[rule]().data), "x")
    assert rule in {finding.rule.id for finding in findings}, [str(f) for f in findings]


def test_rules_say_everything() -> None:
    for rule in RULES:
        assert rule.sentence.endswith(".")
        assert rule.evidence
        assert rule.fix.endswith(".")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(bytes(FAULTS["CUB021"]().data))
    assert main(["check", str(CUBINS / SM90)]) == 0
    assert main(["check", str(bad)]) == 1
    assert "CUB021 header.e_flags" in capsys.readouterr().out
    assert main(["check", "--json", str(bad)]) == 1
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["rule"], record["offset"]) == ("CUB021", 48)
    assert main(["check", "--sarif", str(bad)]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert len(run["tool"]["driver"]["rules"]) == len(RULES)
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "CUB021"
    assert main(["check", "--rules"]) == 0
    assert capsys.readouterr().out.count("evidence:") == len(RULES)
