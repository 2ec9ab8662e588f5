"""`explain` knows every word that our outputs print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cubinspec.cli import main
from cubinspec.cli.help import HELP
from cubinspec.report.explain import explain
from cubinspec.report.words import all_words
from cubinspec_writer.checker import RULES
from tests.unit.containers_kit import CUBINS, elf_host, simple_fatbin

Capture = pytest.CaptureFixture[str]
FILES = [
    str(CUBINS / f"{stem}.cubin")
    for stem in (
        *("small.sm_90.exe", "small.sm_100.exe", "calls.sm_90.rel", "cluster_sm90.sm_90.exe"),
        *("names.sm_100.rel", "small.sm_35.exe.11.8.89", "tcgen05_sm100a.sm_100a.exe"),
    )
]
#: A word in capitals that is text of the file: a note's owner.
FOREIGN = {"NVIDIA"}


def keys_of(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from keys_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item)


def outputs(capsys: Capture, *words: str) -> str:
    main(list(words))
    return capsys.readouterr().out


def unknown(words: set[str]) -> list[str]:
    known = all_words() | {name for more in HELP.values() for name in more.columns}
    return sorted(word for word in words if word.lower() not in known and not explain(word))


def test_it_knows_the_words_of_dump_and_tree(capsys: Capture) -> None:
    text = outputs(capsys, "dump", *FILES)
    words = set(re.findall(r"\b([A-Za-z_][A-Za-z_0-9]*)=", text))
    words |= set(re.findall(r"\b([A-Z][A-Z0-9_]{3,})\b", text)) - FOREIGN
    assert len(words) > 200
    for file in FILES:
        lines = outputs(capsys, "tree", file, "header").splitlines()
        words |= {line.split()[1].rsplit(".", 1)[-1] for line in lines}
    assert unknown(words) == []


def test_it_knows_the_keys_of_every_json_output(tmp_path: Path, capsys: Capture) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(elf_host({".nv_fatbin": simple_fatbin()}))
    keys: set[str] = set()
    for command in (
        *("dump", "kernels", "params", "images", "archs", "size", "ptx", "coverage", "tree"),
        *("roundtrip", "check", "scan"),
    ):
        for file in [str(library)] if command in ("archs", "ptx", "size") else FILES[:3]:
            for record in json.loads(outputs(capsys, command, "--json", file)):
                if command in ("coverage", "size"):
                    keys |= set(record)
                else:
                    keys |= set(keys_of(record))
    assert len(keys) > 150
    assert unknown(keys) == []


def test_it_knows_sections_and_reserved_symbols(capsys: Capture) -> None:
    names: set[str] = set()
    for file in FILES:
        for record in json.loads(outputs(capsys, "dump", "--json", file)):
            names |= {section["name"] for section in record["sections"]}
            for section in record["sections"]:
                symbols = section["content"].get("symbols", ())
                names |= {s["name"] for s in symbols if s["name"].startswith((".nv", "__nv"))}
    assert unknown({name for name in names if name}) == []


def test_it_knows_rules_columns_and_flags(capsys: Capture) -> None:
    words = [rule.id for rule in RULES]
    words += [name for more in HELP.values() for name in more.columns]
    words += ["e_flags", "e_version", "EF_CUDA_TEXMODE_UNIFIED", "EF_CUDA_ACCELERATORS"]
    words += ["EF_CUDA_SM90", "EF_CUDA_SM121"]
    for word in words:
        assert main(["explain", word]) == 0, word
    assert "CUB001: rule of 'cubinspec check'" in capsys.readouterr().out
