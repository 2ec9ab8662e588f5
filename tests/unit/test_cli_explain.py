"""`explain` knows every word that our outputs print."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cubinspec import Cubin
from cubinspec.cli import COMMANDS, main
from cubinspec.cli.help import HELP
from cubinspec.report import explain as explaining
from cubinspec.report.explain import explain
from cubinspec.report.names import readable
from cubinspec.report.spec_files import spec_document, spec_files
from cubinspec.report.words import all_words
from cubinspec_writer.checker import RULES
from tools.corpus.containers import CUBINS, cubin, elf_host, linked_host, simple_fatbin, zip_of

Capture = pytest.CaptureFixture[str]
FILES = [
    str(CUBINS / f"{stem}.cubin")
    for stem in (
        *("small.sm_90.exe", "small.sm_100.exe", "calls.sm_90.rel", "cluster_sm90.sm_90.exe"),
        *("names.sm_100.rel", "small.sm_35.exe.11.8.89", "tcgen05_sm100a.sm_100a.exe"),
    )
]
DEBUG = str(CUBINS / "small.sm_80.debug.11.8.89.cubin")
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


@pytest.fixture(autouse=True)
def tables_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "load_table", load_table)


load_table = functools.cache(explaining.load_table)


@functools.cache
def known() -> set[str]:
    columns = {name for more in HELP.values() for name in more.columns}
    return all_words() | columns | set(COMMANDS)


@functools.cache
def is_known(word: str) -> bool:
    lower = word.lower()
    plural = lower.endswith("s") and lower[:-1] in known()
    return lower in known() or plural or bool(explain(word))


def unknown(words: set[str]) -> list[str]:
    return sorted(word for word in words if not is_known(word))


def test_it_knows_the_words_of_dump_and_tree(capsys: Capture) -> None:
    text = outputs(capsys, "dump", *FILES)
    words = set(re.findall(r"\b([A-Za-z_][A-Za-z_0-9]*)=", text))
    words |= set(re.findall(r"\b([A-Z][A-Z0-9_]{3,})\b", text)) - FOREIGN
    words = {word for word in words if not re.fullmatch(r"U?[RPC]\d+", word)}  # registers
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
        *("roundtrip", "check", "scan", "occupancy", "report"),
    ):
        for file in [str(library)] if command in ("archs", "ptx", "size") else FILES[:3]:
            for record in json.loads(outputs(capsys, command, "--json", file)):
                if command in ("coverage", "size"):
                    keys |= set(record)
                elif command == "report":  # kinds of sections are keys there, too
                    keys |= {*record, *record["functions"], *record["images"]}
                else:
                    keys |= set(keys_of(record))
    assert len(keys) > 150
    assert unknown(keys) == []


#: cubin and target of links that say much.
LINKS = (("calls.sm_90.rel", "90"), ("calls.sm_100.rel", "100"), ("textures.sm_75.rel", "75"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a few files to read, link and change."""
    for file in FILES:
        (tmp_path / Path(file).name).write_bytes(Path(file).read_bytes())
    for stem, _ in LINKS:
        (tmp_path / f"{stem}.cubin").write_bytes((CUBINS / f"{stem}.cubin").read_bytes())
    (tmp_path / "lib.so").write_bytes(elf_host({".nv_fatbin": simple_fatbin()}))
    whole = linked_host([simple_fatbin(), simple_fatbin("speed")], [1, 2])
    (tmp_path / "w.whl").write_bytes(zip_of({"a.so": whole, "b.cubin": cubin()}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def link_words(stem: str, sm: str) -> list[str]:
    """A link that tells everything it can tell."""
    words = ["link", f"-arch=sm_{sm}", f"{stem}.cubin", "-o", "o.cubin", "-v", "--map", "map.json"]
    words += ["--why", "direct", "--why", "nobody", "--dump-callgraph", "--time", "-"]
    return [*words, "--callgraph-dot", "g.dot", "--share-constants", "--summary"]


def test_it_knows_the_keys_of_link_maps(folder: Path, capsys: Capture) -> None:
    keys: set[str] = set()
    for stem, sm in LINKS:
        outputs(capsys, *link_words(stem, sm))
        keys |= set(keys_of(json.loads(Path("map.json").read_text())))
    assert {"fate", "host_objects", "kept", "schema"} < keys
    assert unknown(keys) == []


def test_it_knows_the_keys_of_the_yaml_form(capsys: Capture) -> None:
    keys: set[str] = set()
    files = sorted(CUBINS.glob("*.cubin"))
    for file in [*files[::8], *map(Path, FILES)]:
        document = yaml.load(outputs(capsys, "to-yaml", str(file)), yaml.CSafeLoader)
        keys |= {key for key in keys_of(document) if isinstance(key, str)}
    assert len(keys) > 100
    assert unknown(keys) == []


def test_it_knows_the_names_of_dwarf(capsys: Capture) -> None:
    text = outputs(capsys, "explain", "DW_AT_name")  # the spec's own
    assert text.startswith("DW_AT_name: DWARF")
    assert "name in the source" in text
    assert outputs(capsys, "explain", "dw_tag_VARIABLE").startswith("DW_TAG_variable: ")
    text = outputs(capsys, "explain", "DW_AT_type", "DW_OP_nothing")
    assert "0x49 (73)" in text
    assert "DW_OP" not in text


@pytest.mark.parametrize("kind", ["schema of the YAML form", "schema of link --map"])
def test_every_key_has_a_description(kind: str) -> None:
    (file,) = [file for file in spec_files() if file.kind == kind]
    found = list(described(spec_document(file)))
    assert len(found) > 40
    assert [name for name, has_text in found if not has_text] == []


def described(value: object) -> Iterator[tuple[str, bool]]:
    """Keys of a schema, and whether their meaning is told."""
    if isinstance(value, dict):
        for name, inner in (value.get("properties") or {}).items():
            yield name, "description" in inner
        for item in value.values():
            yield from described(item)
    elif isinstance(value, list):
        for item in value:
            yield from described(item)


def test_it_knows_the_kinds_of_bodies(capsys: Capture) -> None:
    kinds: set[str] = set()
    for record in json.loads(outputs(capsys, "coverage", "--json", *FILES, DEBUG)):
        kinds |= set(record["opaque"])
    assert {"SASS", "DWARF", "constant bank"} < kinds
    assert unknown(kinds) == []


#: Every command that prints text for people, but for `dump`, `tree` and `to-yaml`, whose words are
#: looked at above: what they show beside them are bytes and names of the file.
TEXTS = {
    "kernels": ["--all", "w.whl", "calls.sm_90.rel.cubin"],
    "images": ["w.whl"],
    "archs": ["--all", "--why", "--require", "sm_35", "w.whl"],
    "size": ["w.whl"],
    "params": ["w.whl"],
    "report": ["w.whl", "-o", "report.html"],
    "ptx": ["lib.so"],
    "host": ["w.whl"],
    "extract": ["w.whl", "-o", "out"],
    "pack": ["small.sm_90.exe.cubin", "-o", "p.fatbin"],
    "scan": ["--csv", "w.whl"],
    "coverage": ["--sum", "w.whl"],
    "explain": ["EIATTR_REGCOUNT", "sm_90", ".nv.info", "R_CUDA_ABS32_LO_32", "SHT_CUDA_INFO"],
    "spec": ["--list"],
    "set": ["small.sm_90.exe.cubin", "--kernel", "small", "--registers", "40", "-o", "s.cubin"],
    "rename": ["small.sm_90.exe.cubin", "small", "large", "-o", "s.cubin"],
    "strip": ["small.sm_90.exe.cubin", "--tkinfo", "-o", "s.cubin"],
    "keep": ["small.sm_90.exe.cubin", "small", "-o", "s.cubin"],
    "remove": ["calls.sm_90.rel.cubin", "direct", "-o", "s.cubin"],
    "retarget-note": ["small.sm_90.exe.cubin", "--toolkit", "12.9", "-o", "s.cubin"],
    "roundtrip": ["w.whl"],
    "from-yaml": ["k.yaml", "-o", "k.cubin"],
    "check": ["--rules"],
    "budget": ["check", "small.sm_90.exe.cubin", "--budget", "kernels.toml"],
    "diff": ["calls.sm_90.rel.cubin", "small.sm_90.exe.cubin"],
}
#: Commands whose output is no text for people, or is looked at elsewhere.
ELSEWHERE = {"dump", "lines", "tree", "to-yaml", "link", "completion", "man"}
PLAIN = set(Path(__file__).with_name("plain_english.txt").read_text().split())


def words_of_text(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w.\\])[A-Za-z_]{2,}(?!\w)", text))


def test_it_knows_every_word_of_every_text(folder: Path, capsys: Capture) -> None:
    assert set(TEXTS) | ELSEWHERE <= set(COMMANDS)
    main(["to-yaml", "small.sm_90.exe.cubin", "-o", "k.yaml"])
    main(["budget", "init", "calls.sm_90.rel.cubin", "--budget", "kernels.toml"])
    texts = {}
    for words in (
        *([c, *TEXTS.get(c, ["calls.sm_90.rel.cubin"])] for c in COMMANDS if c not in ELSEWHERE),
        *(link_words(stem, sm) for stem, sm in LINKS),
        *(["link", "--version"], ["--version"], ["--help"]),
    ):
        assert main(words) != 2
        texts[" ".join(words)] = "\n".join(capsys.readouterr())
    names = set(words_of_text(" ".join(file.name for file in folder.iterdir())))
    for file in folder.glob("*.cubin"):
        with Cubin.open(file) as opened:
            for item in (*opened.sections, *opened.symbols):
                names |= words_of_text(f"{item.name} {readable(item.name)}")
    strange = {
        f"{word} in {words}"
        for words, text in texts.items()
        for word in words_of_text(text) - names
        if word.lower() not in PLAIN and not is_known(word)
    }
    assert not strange, "\n".join(sorted(strange))


def test_the_list_of_plain_words_is_no_hiding_place() -> None:
    assert not [word for word in sorted(PLAIN) if "_" in word or word != word.lower()]
    for term in ("gmem", "cmem", "capsule", "fatbin", "twin", "SASS", "exe", "partly", "Hopper"):
        assert is_known(term), term
        assert term not in PLAIN


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
