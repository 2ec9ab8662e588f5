"""The patterns of ImHex. Their own compiler judges them where `PLCLI` and `INCLUDES` name it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tools.gen.languages.__main__ import SAMPLES, make_fatbins
from tools.gen.languages.builds import BuildError
from tools.gen.native import hexpat, imhex
from tools.gen.spec import load_specs

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = [hexpat.CUBIN, hexpat.FATBIN]

BUILTIN = {"u8", "u16", "u32", "u64", "s32", "s64", "float", "double", "char", "bool", "str"}
DEFINED = re.compile(r"^(?:struct|bitfield|enum) (\w+)")
USED = re.compile(
    r"^\s+(?:\([^;]*?\): )?(\w+)(?:<.*>)? \w+(?:\[.*?\])?(?: @ .*?| = .*?)?(?: \[\[|;)"
)


def text_of(pattern: Path) -> str:
    return (ROOT / pattern).read_text(encoding="utf-8")


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda path: path.stem)
def test_each_type_stands_before_its_use(pattern: Path) -> None:
    known = set(BUILTIN)
    used = set()
    for number, line in enumerate(text_of(pattern).splitlines(), 1):
        found = DEFINED.match(line)
        if found:
            assert found[1] not in known, f"{number}: {found[1]} is defined twice"
            known.add(found[1])
        elif (name := USED.match(line)) and name[1] not in ("return", "fn", "else"):
            assert name[1] in known, f"{number}: {line}"
            used.add(name[1])
    assert {"info_record", "section_header", "rela_64", "e_flags_abi_8", "section_type"} <= used


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda path: path.stem)
def test_brackets_close_and_nothing_of_kaitai_is_left(pattern: Path) -> None:
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text_of(pattern))
    text = re.sub(r"//.*|/\*.*?\*/", "", text)
    for opening, closing in ("()", "[]", "{}"):
        assert text.count(opening) == text.count(closing)
    assert not re.search(r"_io|\.as<|_parent|\band\b|\bnot\b|cuda_codes|-webide", text)


def test_every_type_of_the_specs_is_a_pattern_or_named_as_bytes() -> None:
    patterns = hexpat.emit(load_specs(ROOT / "ksy"))
    text = "".join(patterns.values())
    translator = hexpat._Translator(load_specs(ROOT / "ksy"))
    bytes_only = {"nv_debug", "cuda_codes"}
    # the file that nvlink writes with --uidx-file is a section, too
    for path, name in translator.names.items():
        if path[0] in bytes_only or path[-1] == "string_pool" or path == ("fatbin",):
            continue
        assert re.search(rf"^(?:struct|bitfield) {name}\b", text, re.M), path


def test_choices_get_brackets() -> None:
    assert hexpat._bracketed("a ? 1 : b ? 2 : 3") == "(a ? 1 : (b ? 2 : 3))"
    assert hexpat._bracketed("x + (a ? 1 : b)") == "x + ((a ? 1 : b))"
    assert hexpat._bracketed("a == e::B ? 1 : 0") == "(a == e::B ? 1 : 0)"
    assert hexpat._split("a, b(c, d), e") == ["a", "b(c, d)", "e"]


@pytest.mark.skipif(
    not (os.environ.get("PLCLI") and os.environ.get("INCLUDES")), reason="PLCLI is not given"
)
def test_the_tool_of_imhex_reads_what_python_reads(tmp_path: Path) -> None:
    tool, includes = os.environ["PLCLI"], os.environ["INCLUDES"]
    cubins = sorted(SAMPLES.glob("*.cubin"))[::23]
    assert imhex.check(tool, includes, [*cubins, *make_fatbins(tmp_path, cubins[::4])]) > 1000
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(cubins[0].read_bytes()[:40])
    with pytest.raises(BuildError, match=r"broken\.cubin"):
        imhex.read(tool, includes, ROOT / hexpat.CUBIN, broken)
