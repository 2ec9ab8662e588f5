"""The check of the Web IDE: its files, what it calls silent, and the steps without the IDE."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import cubinspec
from tools.gen import ide
from tools.gen.ide import Case
from tools.gen.spec import load_specs

needs_node = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="node and npm are not here"
)


def test_the_files_are_what_they_stand_for(tmp_path: Path) -> None:
    found = {case.name: case for case in ide.cases(tmp_path)}
    assert list(found) == ["sm_90", "sm_100", "ELF32", "fatbin", "12,000 sections"]
    assert cubinspec.Cubin.open(found["sm_90"].file).header.sm == 90
    assert cubinspec.Cubin.open(found["sm_100"].file).header.sm == 100
    assert found["ELF32"].file.read_bytes()[4] == 1
    many = cubinspec.Cubin.open(found["12,000 sections"].file)
    assert len(many.sections) == ide.MANY_SECTIONS
    assert many.sections[ide.MANY_SECTIONS - 1].name == many.sections[-1].name != ""


def test_a_record_without_values_is_silent() -> None:
    texts = [
        "4 [InfoRecord]: EIATTR_REGCOUNT 8",
        "5 [InfoRecord]: ",
        "6 [InfoRecord]",
        "7 [RawPayload]",
        "value = 8",
    ]
    assert ide.silent(texts, {"InfoRecord"}) == ["5 [InfoRecord]: ", "6 [InfoRecord]"]
    assert {"InfoRecord", "SectionHeader", "Symbol64", "EntryHead"} <= ide.shown_types()


def test_the_page_names_specs_that_a_person_can_open(tmp_path: Path) -> None:
    page = (ide.ROOT / "docs" / "web-ide.md").read_text(encoding="utf-8")
    specs = load_specs(ide.KSY)
    assert set(re.findall(r"(\w+)\.ksy`", page)) <= set(specs)
    entries = re.findall(r"(?m)^\| [^|]*\| `(\w+)\.ksy` \|", page)
    assert {case.spec for case in ide.cases(tmp_path)} < set(entries)
    for name in entries:
        assert "params" not in specs[name].root.raw, name
    assert set(specs) - {one for spec in specs.values() for one in spec.imports} <= set(entries)


@needs_node
def test_the_same_steps_without_the_ide(tmp_path: Path) -> None:
    fatbin = next(case for case in ide.cases(tmp_path) if case.name == "fatbin")
    assert int(ide.walk(fatbin).split(" ")[1]) > 1000  # "ok, N values"
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(b"\x7fELF" + bytes(60))
    with pytest.raises(subprocess.CalledProcessError):
        ide.walk(Case("broken", "elf_cuda", broken))
