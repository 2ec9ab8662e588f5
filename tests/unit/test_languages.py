"""The program of each language: what it must print, and how differences are told."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import cubinspec
from tools.gen.languages.__main__ import SAMPLES, differences, make_fatbins, missing
from tools.gen.languages.builds import EXAMPLES, LANGUAGES, ROOT, WALKS, Language

FILES = ["calls.sm_90.rel.cubin", "calls.sm_100.rel.cubin", "kernels.sm_75.exe.cubin"]


def lines_of(*files: Path) -> list[str]:
    command = [sys.executable, str(WALKS / "cubin_records.py"), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("name", FILES)
def test_the_program_prints_what_the_model_has(name: str) -> None:
    cubin = cubinspec.Cubin.open(SAMPLES / name)
    counts = Counter(line[0] for line in lines_of(SAMPLES / name))
    assert counts["S"] == len(cubin.sections)
    infos = [section for section in cubin.sections if ".nv.info" in section.name]
    assert counts["A"] == sum(len(section.info_records) for section in infos)
    assert counts["Y"] >= len(cubin.symbols)  # the Mercury half has symbols of its own
    assert counts["K"] >= len(cubin.functions)


def test_a_fatbin_holds_the_lines_of_its_cubins(tmp_path: Path) -> None:
    cubins = [SAMPLES / name for name in FILES]
    single = [line for line in lines_of(*cubins) if line[0] != "F"]
    plain, packed = make_fatbins(tmp_path, cubins)
    assert [line for line in lines_of(plain) if line[0] not in "EF"] == single
    assert [line[0] for line in lines_of(packed)] == ["F", "E", "E", "E"]


def test_every_language_has_its_programs() -> None:
    kept = {file.name for file in EXAMPLES.iterdir()}
    assert kept == {language.example for language in LANGUAGES.values()} | {"kernels.py"}
    walks = {file.name for file in WALKS.iterdir()}
    assert walks == {language.walk.name for language in LANGUAGES.values()} | {"cubin_records.py"}


def test_examples_are_short() -> None:
    counts = {file.name: len(file.read_text().splitlines()) for file in EXAMPLES.iterdir()}
    assert max(counts.values()) <= 70
    assert sum(counts.values()) <= 45 * len(counts)


def test_the_example_prints_what_the_model_has() -> None:
    """The kernels of every sample, with their registers and parameters."""
    files = sorted(SAMPLES.glob("*.cubin"))
    command = [sys.executable, str(EXAMPLES / "kernels.py"), *map(str, files)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = []
    for file in files:
        wanted.append(f"{file}:")
        for kernel in cubinspec.Cubin.open(file).kernels:
            wanted.append(f"{kernel.name} {kernel.registers}")
            wanted += [f"  {one.ordinal} {one.offset} {one.size}" for one in kernel.params]
    assert sorted(found) == sorted(wanted)


def test_links_of_the_docs_lead_to_files() -> None:
    """Also of pages that the site writes otherwise: they are read in the repository, too."""
    broken = []
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        text = re.sub(r"(?ms)^ *(```+).*?^ *\1 *$", "", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^()\s]+)\)", text):
            place = page.parent / target.partition("#")[0]
            if not re.match(r"#|<|\w+:", target) and not place.exists():
                broken.append(f"{page.name}: {target}")
            elif "dist" in place.relative_to(ROOT).parts:
                broken.append(f"{page.name}: {target} is no file of the repository")
    assert broken == []


@pytest.mark.parametrize(
    ("found", "expected", "count"),
    [
        ("S 1 .text 1 64 128", "S 1 .text 1 64 128", 0),
        ("S 1 .text 1 64 128", "S 1 .text 1 64 129", 1),
        ("S 1 .text ? 64 128", "S 1 .text 1879048192 64 128", 1),
        ("Y 3 a 18446744073709552000", "Y 3 a 18446744073709551615", 0),
        ("Y 3 a 4097", "Y 3 a 4096", 1),
        ("F a", "F a\nS 0 b 1 2 3", 1),
    ],
)
def test_differences_are_told(found: str, expected: str, count: int) -> None:
    assert len(differences(found, expected)) == count


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    def build(folder: Path, example: Path, runtime: Path) -> list[str]:
        return []

    absent = Language("rust", "x.rs", ("no-such-tool",), build)
    assert missing(absent, None) == "no-such-tool not on this machine"
    unrun = Language("rust", "x.rs", (), build)
    assert missing(unrun, tmp_path) == "no runtime: RUNTIMES has no folder rust"
    (tmp_path / "rust").mkdir()
    assert missing(unrun, tmp_path) == ""
    (tmp_path / "cpp_stl").mkdir()
    smart = Language("cpp_stl:c++11", "x.cpp", (), build)
    assert missing(smart, tmp_path) == "no command-line compiler: KSC names none"
    assert missing(smart, tmp_path, "kaitai-struct-compiler") == ""
