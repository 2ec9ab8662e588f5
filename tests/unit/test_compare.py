"""Differences and fingerprints: every number of a file is one property, or said to be noise.

The sweep changes each number in the YAML form of samples, one at a time.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import struct
import subprocess
import sys
from contextlib import suppress
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

import cubinspec
from cubinspec import Cubin
from cubinspec.cli import main
from cubinspec.compare.builds import compare_files
from cubinspec.compare.changes import GROUPS, expanded, known_words
from cubinspec.compare.diff import (
    IDENTICAL,
    NOISE,
    Difference,
    difference,
    other_changes,
)
from cubinspec.compare.facts import ImageFacts
from cubinspec.compare.fingerprint import LEVELS, of_file, of_image
from cubinspec.compare.image_reader import ImageReader, image_facts, outlines_of
from cubinspec.compare.likely import in_place
from cubinspec.compare.match import SAME_BUT_HASH, SAME_CODE, SAME_NAME
from cubinspec.compare.names import base_name, likeness, stable_name, words_of
from cubinspec.compare.noise import differ_in_noise_only
from cubinspec.compare.read import read_facts
from cubinspec.compare.render import change_text, markdown, record, text_lines
from cubinspec.compare.streams import said
from cubinspec.compare.tasks import Question, compare_or_outline, facts_again
from cubinspec.compare.texts import _essence, are_same_texts
from cubinspec.containers import images
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.errors import CubinError
from cubinspec.format.sections import RELOCATION_TYPES, occupies_file
from cubinspec.model.info import InfoRecord
from cubinspec.page.difference import difference_page
from cubinspec_generated.codes import EIATTR_SAM_REGION_STACK_SIZE, EIFMT_SVAL, SHT_NOTE
from cubinspec_generated.codes_sizes import SIZEOF_SYMBOL_64
from cubinspec_writer.yaml_form import from_yaml, to_yaml
from cubinspec_writer.yaml_form.load import from_document
from tests.unit.page_kit import HOSTILE, data_of, hostile_cubin
from tools.corpus.containers import cubin, raw_entry
from tools.corpus.fingerprints import Form, facts_of, mutants, unequal_builds
from tools.corpus.samples import RECIPES, expand

DATA = Path(__file__).parents[1] / "data" / "cubins"
BUILDS = Path(__file__).parents[1] / "data" / "builds"
SAMPLES = [
    *("cluster_sm90.sm_90.exe", "calls.sm_80.rel.11.8.89", "data.sm_100.exe"),
    "kernels.sm_75.exe",
]


def changes_of(found: Difference) -> list[str]:
    functions = [(f.pair.new[1].name, change_text(c)) for f in found.functions for c in f.changes]
    images = [("", change_text(c)) for image in found.images for c in image.changes]
    return [f"{name} {text}".strip() for name, text in functions + images]


@lru_cache
def swept(name: str) -> frozenset[str]:
    """The properties that change when each number of a sample is changed: one at a time."""
    data = (DATA / f"{name}.cubin").read_bytes()
    base = facts_of(data)
    counts = {"one": 0, "noise": 0}
    properties = set()
    form = Form(to_yaml(data))
    for mutant in mutants(to_yaml(data)):
        try:
            # The whole text is read, and held against the schema, by the proof's own test below.
            changed = facts_of(from_document(form.changed(mutant)))
        except cubinspec.CubinError:  # an index that leads out of its table
            continue
        found = difference([base], [changed])
        changes = changes_of(found)
        if mutant.is_noise:
            assert found.status in (NOISE, IDENTICAL) or len(changes) == 1, (mutant.line, changes)
            counts["noise"] += 1
        elif not mutant.is_derived:
            assert len(changes) == 1, (mutant.section, mutant.line, changes)
            assert of_image(base, "image") != of_image(changed, "image")
            properties.update(properties_of(found))
            counts["one"] += 1
    assert counts["one"] > 60
    assert counts["noise"]
    return frozenset(properties)


def properties_of(found: Difference) -> list[str]:
    changes = [change for function in found.functions for change in function.changes]
    changes += [change for image in found.images for change in image.changes]
    return [change.name.partition(".")[0] for change in changes]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_number_is_one_property(name):
    assert len(swept(name)) > 10


_BANK = "- section: .nv.constant0.direct\n"
_BANKS = {"direct": 536, "indirect": 540, "never_returns": 536}
_LOCAL = (
    "- section: .nv.local.direct\n  type: SHT_NOBITS\n  flags: [SHF_ALLOC, SHF_WRITE]\n"
    "  info: .text.direct\n  size: "
)
_INFO = "  - EIATTR_EXIT_INSTR_OFFSETS: [0xf0]\n  - EIATTR_CBANK_PARAM_SIZE: "
_DATA = f"{_BANK}  data: '{'00' * 535}"
#: Properties that no single number of a sample stands for -> what the old and the new file have in
#: place of a text of calls.sm_90.rel, in which sizes are written out that others follow from.
EDITS = {
    "calls": ("- [direct, leaf]", "- [direct, leaf]", "- [direct, local_leaf]"),
    "code_size": ("- {symbol: leaf}", "- {symbol: leaf}", "- {symbol: leaf, size: 0x80}"),
    "constants": (f"{_BANK}  zeros: 536", f"{_BANK}  zeros: 536", f"{_BANK}  zeros: 600"),
    "data": (f"{_BANK}  zeros: 536", f"{_DATA}00'", f"{_DATA}01'"),
    "e_flags": ("sm_90}", "sm_90, flags: 0x6005a04}", "sm_90, flags: 0x6005a05}"),
    "e_version": ("sm_90}", "sm_90}", "sm_90, version: 7}"),
    "local": (_BANK, f"{_LOCAL}16\n{_BANK}", f"{_LOCAL}32\n{_BANK}"),
    "os_abi": ("sm_90}", "sm_90}", "sm_90, abi: 9}"),
    "param_size": (f"{_INFO}8", f"{_INFO}8", f"{_INFO}12"),
    "symbol": ("- {symbol: leaf}", "- {symbol: leaf}", "- {symbol: leaf, bind: STB_WEAK}"),
    "type": ("type: ET_REL", "type: ET_REL", "type: ET_DYN"),
}


@pytest.mark.parametrize("name", EDITS)
def test_every_other_property_is_reported_alone(name):
    text = to_yaml((DATA / "calls.sm_90.rel.cubin").read_bytes())
    for kernel, size in _BANKS.items():
        section = f"- section: .nv.constant0.{kernel}\n"
        text = text.replace(section, f"{section}  zeros: {size}\n", 1)
    place, before, after = EDITS[name]
    assert text.count(place) == 1
    old, new = (facts_of(from_yaml(text.replace(place, edit))) for edit in (before, after))
    assert properties_of(difference([old], [new])) == [name]
    assert of_image(old, "image") != of_image(new, "image")


def test_no_property_is_left_out():
    found = set(EDITS).union(*map(swept, SAMPLES))
    assert found == {word for words in GROUPS.values() for word in words}


@pytest.mark.parametrize("path", sorted(DATA.glob("*.cubin"))[::3], ids=lambda path: path.name)
def test_a_file_is_identical_to_itself(path):
    data = path.read_bytes()
    found = difference([facts_of(data)], [facts_of(data)])
    assert found.status == IDENTICAL
    (line,) = text_lines(found)
    assert line.startswith("identical: ")
    assert line.endswith("1 image the same byte for byte")


def test_words_of_changes_and_what_is_worse():
    text = to_yaml((DATA / "spills.sm_90.regs32exe.cubin").read_bytes())
    old = facts_of(from_yaml(text))
    more = text.replace("registers: 32", "registers: 40", 1)
    found = difference([old], [facts_of(from_yaml(more))])
    assert changes_of(found) == ["spills registers 32 → 40 (+8)"]
    assert found.is_worse
    assert not difference([facts_of(from_yaml(more))], [old]).is_worse
    lines = list(text_lines(found))
    assert lines[0] == "different: 1 function compared: 1 changed, 1 worse"
    assert any("occupancy 100 % → 75 %" in line for line in lines)


def test_what_a_text_diff_missed(tmp_path, capsys):
    """NVIDIA/cccl PR 10780: the listings were the same, the register counts were not."""
    text = to_yaml((DATA / "kernels.sm_75.exe.cubin").read_bytes())
    old, new = tmp_path / "old.cubin", tmp_path / "new.cubin"
    old.write_bytes(from_yaml(text))
    counts = {}
    for match in re.finditer(r"EIATTR_REGCOUNT: {function: \w+, registers: (\d)", text):
        counts.setdefault(match[1], match.start(1))
    first, second, *_ = counts.values()
    # two kernels change places: sums, sizes and the sorted lists of numbers stay as they were
    swapped = list(text)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    assert text[first] != text[second]
    new.write_bytes(from_yaml("".join(swapped)))
    assert main(["diff", "--only", "registers", str(old), str(new)]) == 1
    out = capsys.readouterr().out
    assert out.count("registers") == 2
    assert main(["diff", "--only", "stack", str(old), str(new)]) == 0
    assert main(["diff", "--only", "code,params", "--fail-on", "worse", str(old), str(new)]) == 0


def test_statuses(tmp_path, capsys):
    sample = DATA / "spills.sm_90.regs32exe.cubin"
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(sample.read_bytes()[:700])
    other = DATA / "spills.sm_75.regs32exe.cubin"
    assert main(["diff", str(sample), str(sample)]) == 0
    assert main(["diff", str(sample), str(other)]) == 1
    assert main(["diff", "--fail-on", "never", str(sample), str(other)]) == 0
    assert main(["diff", "--fail-on", "gone", str(sample), str(other)]) == 1
    for words in ([str(sample)], [str(sample), str(broken)], [str(sample), str(tmp_path / "no")]):
        assert main(["diff", *words]) == 2
    capsys.readouterr()
    assert main(["diff", "--arch", "sm_120", str(sample), str(sample)]) == 2
    assert "those asked for is in it; there is code for sm_90\n" in capsys.readouterr().err
    assert main(["diff", "--only", "registrs", str(sample), str(sample)]) == 2
    assert "registers" in capsys.readouterr().err


def test_what_cannot_be_read_has_a_row_in_every_form(tmp_path, capsys):
    sample = DATA / "spills.sm_90.regs32exe.cubin"
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(sample.read_bytes()[:700])
    told = "unread  old  " + str(broken)
    page = tmp_path / "page.html"
    assert main(["diff", str(broken), str(sample), "--html", str(page)]) == 2
    assert told in capsys.readouterr().out
    assert "unread  old  " in json.dumps(data_of(page.read_bytes()))
    assert main(["diff", str(broken), str(sample), "--markdown"]) == 2
    assert "unread  old  " in capsys.readouterr().out
    assert main(["diff", str(sample), str(broken), "--json"]) == 2
    (found,) = json.loads(capsys.readouterr().out)
    (row,) = found["unread"]
    assert (row["side"], row["file"]) == ("new", str(broken))
    assert row["error"]["reason"]
    assert main(["diff", str(broken), str(broken)]) == 2
    assert capsys.readouterr().out.startswith("identical in what could be read: 0 functions")


@pytest.mark.parametrize(
    "words",
    [
        ["diff", "IN", "IN", "--html", "IN"],
        ["report", "IN", "-o", "IN"],
        ["report", "OTHER", "--against", "IN", "-o", "IN"],
        ["occupancy", "IN", "--svg", "IN"],
        ["callgraph", "IN", "--dot", "IN"],
        ["callgraph", "IN", "--svg", "IN"],
        ["budget", "check", "IN", "--budget", "OTHER", "--sarif-out", "IN"],
        ["budget", "check", "OTHER", "--budget", "IN", "--junit-out", "IN"],
    ],
)
def test_no_output_is_written_over_an_input(words, tmp_path, capsys):
    data = (DATA / "spills.sm_90.regs32exe.cubin").read_bytes()
    places = {"IN": tmp_path / "in.cubin", "OTHER": tmp_path / "other.cubin"}
    for place in places.values():
        place.write_bytes(data)
    assert main([str(places.get(word, word)) for word in words]) == 2
    assert "would write over" in capsys.readouterr().err
    assert [place.read_bytes() for place in places.values()] == [data, data]


def test_a_file_that_is_not_there_says_nothing_of_the_other(tmp_path, capsys):
    sample, absent = str(DATA / "spills.sm_90.regs32exe.cubin"), str(tmp_path / "absent")
    for words in ([sample, absent], [absent, sample]):
        assert main(["diff", *words]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"cubinspec: {absent}: ")


def ended(code: str, words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own, behind some code."""
    program = f"import sys\n{code}\nsys.argv = {['cubinspec', *words]!r}\n"
    program += "from cubinspec.cli import entry\nentry()\n"
    words = [sys.executable, "-c", program]
    return subprocess.run(words, text=True, stderr=subprocess.PIPE, check=False, **options)


def test_a_crash_is_never_1(tmp_path):
    """Python ends with 1 after an exception; 1 says here that something differs or is worse."""
    sample = str(DATA / "spills.sm_90.regs32exe.cubin")
    budget = tmp_path / "kernels.toml"
    assert main(["budget", "init", sample, "--budget", str(budget)]) == 0
    commands = (
        (["diff", sample, sample], "cubinspec.cli.diff", "compare_files"),
        (["budget", "check", sample, "--budget", str(budget)], "cubinspec.cli.budget", "_show"),
    )
    for words, module, name in commands:
        for error in ("RuntimeError", "RecursionError", "MemoryError"):
            code = f"import {module} as m\ndef broken(*a, **b): raise {error}\nm.{name} = broken"
            done = ended(code, words, stdout=subprocess.DEVNULL)
            assert done.returncode == 70, done.stderr
            assert error in done.stderr
        if os.path.exists("/dev/full"):
            with open("/dev/full", "w") as full:
                assert ended("", words, stdout=full).returncode == 2
    gone = str(tmp_path / "no" / "folder.html")
    assert main(["diff", "--html", gone, sample, sample]) == 2
    for option in ("--sarif-out", "--junit-out"):
        assert main(["budget", "check", sample, "--budget", str(budget), option, gone]) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "_ZN38_GLOBAL__N__c844b41b_7_anon_cu__Z2goPi6hiddenEPi",
            "_ZN38_GLOBAL__N__f1c988de_7_anon_cu__Z2goPi6hiddenEPi",
        ),
        (
            "__nv_static_27__c844b41b_7_anon_cu__Z2goPi__Z4statPi",
            "__nv_static_27__f1c988de_7_anon_cu__Z2goPi__Z4statPi",
        ),
        (
            "__nv_static_52__f4510a67_22_cuda_device_runtime_cu_3ecce0c0_2317245__Z6memset",
            "__nv_static_52__00000000_22_cuda_device_runtime_cu_11111111_99__Z6memset",
        ),
        (
            "_ZN36_GLOBAL__N__c844b41b_4_x_cu_0a1b2c3d4copyEPi",
            "_ZN36_GLOBAL__N__f1c988de_4_x_cu_4d3c2b1a4copyEPi",
        ),
        (
            "_ZN41_GLOBAL__N__c844b41b_4_x_cu_0a1b2c3d_13816kernelEPi",
            "_ZN42_GLOBAL__N__f1c988de_4_x_cu_4d3c2b1a_137566kernelEPi",
        ),
    ],
)
def test_hashes_in_names_do_not_count(one, other):
    assert stable_name(one) == stable_name(other) != one
    assert stable_name(one.replace("_cu_", "_cx_")) != stable_name(other)


def test_likeness_of_names():
    half, single = "_Z5scaleIfLi4EEvPT_", "_Z5scaleIdLi4EEvPT_"
    assert base_name(half) == base_name(single) == "scale"
    assert 0.5 < likeness(words_of(half), words_of(single)) < 1
    assert likeness(words_of(half), words_of("_Z4statPi")) < 0.5


def builds(kind: str) -> list[ImageFacts]:
    found = []
    for path in sorted(BUILDS.glob(f"*.{kind}.cubin.gz")):
        found.append(facts_of(gzip.decompress(path.read_bytes()), path.name))
    return found


@pytest.mark.parametrize("kind", ["exe", "rel"])
def test_builds_in_other_folders_and_with_lines_are_the_same(kind):
    first, *others = builds(kind)
    assert len(others) == 3
    for other in others:
        found = difference([first], [other])
        assert found.status == NOISE, changes_of(found)
        for level in LEVELS[:3]:
            assert of_image(first, level) == of_image(other, level)
        assert first.body != other.body
    ways = {pair.how for pair in difference([first], [others[-1]]).matches.functions}
    assert ways == {SAME_BUT_HASH}


def test_renamed_functions_are_found(tmp_path):
    data = (DATA / "calls.sm_90.rel.cubin").read_bytes()
    text = to_yaml(data)
    renamed = from_yaml(re.sub(r"\bnever_returns\b", "always_returns", text))
    found = difference([facts_of(data)], [facts_of(renamed)])
    (function,) = (f for f in found.functions if f.renamed)
    assert function.pair.how == SAME_CODE
    assert not function.changes
    assert not found.matches.new
    assert not found.matches.gone
    assert "renamed" in "\n".join(text_lines(found))


def test_new_and_gone_functions():
    one, two = DATA / "calls.sm_90.rel.cubin", DATA / "kernels.sm_90.exe.cubin"
    found = difference([facts_of(one.read_bytes())], [facts_of(two.read_bytes())])
    assert {f.name for _, f in found.matches.new} >= {"empty"}
    assert {f.name for _, f in found.matches.gone} >= {"direct"}


def test_only_knows_every_property():
    words = set(known_words())
    for sample in sorted(DATA.glob("*.cubin"))[::9]:
        facts = facts_of(sample.read_bytes())
        for function in facts.functions:
            assert set(function.values) <= words
        for name in facts.values:
            assert name in words or f"image_{name}" in words


def test_forms(tmp_path, capsys):
    old, new = DATA / "calls.sm_80.exe.11.8.89.cubin", DATA / "calls.sm_80.exe.13.2.86.cubin"
    assert main(["diff", "--json", str(old), str(new)]) == 1
    records = json.loads(capsys.readouterr().out)
    schema = Path(cubinspec.__file__).with_name("schema") / "diff.schema.json"
    Draft202012Validator(json.loads(schema.read_text())).validate(records)
    page = tmp_path / "page.html"
    assert main(["diff", "--markdown", "--html", str(page), str(old), str(new)]) == 1
    comment = capsys.readouterr().out
    assert comment.startswith("### Device code: different")
    assert "| arch | registers |" in comment
    assert page.read_text().startswith("<!doctype html>")
    assert main(["fingerprint", "--json", "--functions", str(old)]) == 0
    records = json.loads(capsys.readouterr().out)
    schema = Path(cubinspec.__file__).with_name("schema") / "fingerprint.schema.json"
    Draft202012Validator(json.loads(schema.read_text())).validate(records)


def test_hostile_names_mean_nothing():
    text = to_yaml((DATA / "calls.sm_90.rel.cubin").read_bytes())
    data = from_yaml(text)
    old, new = facts_of(data), facts_of(data)
    for function in new.functions:
        function.name = f"<script>`|{function.name}"
        function.read = (99, *function.read[1:])
    found = difference([old], [new])
    page = difference_page(found, "<old>", "<new>")
    assert page.count(b"<script>") == 1  # the page's own
    rows = data_of(page)["difference"]["rows"]
    assert all(row["name"].startswith("<script>`|") for row in rows if row["mark"] == "worse")
    rows = [line for line in markdown(found, "a|b", "`c`").splitlines() if line.startswith("|")]
    assert all(row.replace("\\|", "").count("|") == 10 for row in rows)


def test_fingerprints_of_files(tmp_path, capsys):
    rel = DATA / "calls.sm_90.rel.cubin"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "b.cubin").write_bytes(rel.read_bytes())
    (folder / "a.cubin").write_bytes((DATA / "kernels.sm_90.exe.cubin").read_bytes())
    turned = tmp_path / "turned"
    turned.mkdir()
    (turned / "a.cubin").write_bytes(rel.read_bytes())
    (turned / "b.cubin").write_bytes((DATA / "kernels.sm_90.exe.cubin").read_bytes())
    for level in LEVELS:
        first = of_file(read_facts(str(folder)), level)
        assert first == of_file(read_facts(str(turned)), level)
        assert first != of_file(read_facts(str(rel)), level)
    assert main(["fingerprint", "--level", "all", str(rel)]) == 2
    assert main(["fingerprint", "--level", "image", "--functions", str(rel)]) == 2
    capsys.readouterr()
    assert main(["fingerprint", "--match", "direct", str(rel)]) == 0
    matched = capsys.readouterr().out
    assert main(["fingerprint", "--functions", "--match", "direct", str(rel)]) == 0
    assert capsys.readouterr().out == matched
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(rel.read_bytes()[:900])
    capsys.readouterr()
    assert main(["fingerprint", str(broken), str(rel)]) == 1
    assert capsys.readouterr().out.count("\n") == 1


def test_scrambled_code_is_compared_as_it_is_stored(tmp_path):
    paths = []
    for number in (1, 2):
        file = tmp_path / f"{number}.fatbin"
        scrambled = raw_entry(8, bytes((number,)) * 16, flags=0x12011, plain_size=64)
        file.write_bytes(container([entry_for(cubin()), scrambled]))
        paths.append(str(file))
    one, two = paths
    assert main(["diff", one, one]) == 0
    assert main(["diff", one, two]) == 1
    assert main(["fingerprint", *paths]) == 0


def library(path, *cubins, **options):
    entries = [entry_for(data, **options) for data in cubins]
    path.write_bytes(container(entries))
    return str(path)


def test_what_both_files_have_is_not_read(tmp_path, monkeypatch, capsys):
    same = [(DATA / f"{name}.cubin").read_bytes() for name in SAMPLES[:3]]
    text = to_yaml((DATA / "spills.sm_90.regs32exe.cubin").read_bytes())
    before, after = from_yaml(text), from_yaml(text.replace("registers: 32", "registers: 40", 1))
    # one image twice, which the other file has once
    old = library(tmp_path / "old", same[0], before, *same)
    new = library(tmp_path / "new", *same[1:], after, same[0])
    read = []

    def noted(read_it):
        def reader(cubin, *names):
            read.append(cubin)
            return read_it(cubin, *names)

        return reader

    for name, read_it in (("ImageReader", ImageReader), ("outlines_of", outlines_of)):
        monkeypatch.setattr(f"cubinspec.compare.tasks.{name}", noted(read_it))
    assert main(["diff", old, new]) == 1
    out = capsys.readouterr().out
    assert "1 changed, 1 worse, 4 gone" in out.splitlines()[0]
    assert "3 images the same byte for byte" in out
    assert len({opened.name for opened in read}) == 3
    read.clear()
    assert main(["diff", old, old]) == 0
    assert capsys.readouterr().out == "identical: 5 images the same byte for byte\n"
    assert not read


def by_facts(old: str, new: str, only: frozenset[str] | None = None) -> dict[str, object]:
    """The record of a difference for which all facts of both files were read."""
    before, after = read_facts(old), read_facts(new)
    found = difference(before.images, after.images, only=only)
    found.size = before.size, after.size
    found.others = other_changes(before.others, after.others)
    return record(found)


def lasting(cubin: Cubin) -> object:
    """All that is known of an image and is no noise."""
    facts = image_facts(cubin, cubin.arch, [], "")
    return facts.functions, facts.values


def neighbours() -> list[tuple[str, str]]:
    """Samples of one program, each with the next target, toolkit or kind of it."""
    paths = sorted(DATA.glob("*.cubin"))
    return [
        (str(one), str(other))
        for one, other in pairwise(paths)
        if one.name.partition(".")[0] == other.name.partition(".")[0]
    ][::2]


def test_comparing_bytes_first_finds_the_same_as_comparing_all_facts(tmp_path):
    compared = changed = 0
    for one, other in neighbours():
        found = compare_files(one, other, jobs=1)[0]
        assert record(found) == by_facts(one, other), (one, other)
        compared += 1
        changed += len(found.functions)
    assert compared > 100
    assert changed > 200


@pytest.mark.parametrize("jobs", [1, 3])
def test_libraries_are_compared_image_by_image(tmp_path, jobs):
    """Other order, other numbers of symbols, images of one file only, one that is broken late."""
    names = [
        "calls.sm_90.rel",
        "kernels.sm_90.exe",
        "cluster_sm90.sm_90.exe",
        "spills.sm_90.regs32exe",
    ]
    data = [(DATA / f"{name}.cubin").read_bytes() for name in names]
    texts = [to_yaml(each) for each in data]
    worse = from_yaml(texts[3].replace("registers: 32", "registers: 40", 1))
    renamed = from_yaml(re.sub(r"\bnever_returns\b", "always_returns", texts[0]))
    other = (DATA / "data.sm_100.exe.cubin").read_bytes()
    old = library(tmp_path / "old", data[0], data[1], data[2], data[3])
    new = library(tmp_path / "new", data[1], renamed, other, worse, compress_all=True)
    found, before, after = compare_files(old, new, jobs=jobs)
    assert not before.faults + after.faults
    assert record(found) == by_facts(old, new)
    assert found.compared > len(found.functions) > 1
    only = expanded(frozenset(("registers",)))
    found, _, _ = compare_files(old, new, Question(only), jobs=jobs)
    assert record(found) == by_facts(old, new, frozenset(("registers",)))


def test_processes_share_lists_of_images_but_no_stream(tmp_path):
    """A file is read at places, a stream has a position that moves."""
    data = [(DATA / f"{name}.cubin").read_bytes() for name in SAMPLES[:6]]
    old = library(tmp_path / "old", *data[:4])
    new = library(tmp_path / "new", *data[2:])
    packed = []
    for path in (old, new):
        packed.append(f"{path}.gz")
        Path(packed[-1]).write_bytes(gzip.compress(Path(path).read_bytes()))
    assert all(image.is_shareable for image in images(old))
    assert not any(image.is_shareable for image in images(packed[0]))
    for paths in ((old, new), packed):
        alone, together = (record(compare_files(*paths, jobs=jobs)[0]) for jobs in (1, 3))
        assert alone == together
        assert alone["status"] == "different"


def test_images_beside_two_that_belong_together_are_read_once(tmp_path, monkeypatch):
    """The images of one target tell which files of two folders belong together."""
    programs = [
        ("kernels.sm_90.exe", "async_sm80.sm_80.exe"),
        ("calls.sm_90.rel", "data.sm_80.rel.12.4.131"),
        ("cluster_sm90.sm_90.exe", "callee.sm_80.rel"),
    ]

    def folder(name: str, chosen: list[int], more: int) -> str:
        home = tmp_path / name
        home.mkdir()
        for place, number in enumerate(chosen):
            texts = [to_yaml((DATA / f"{each}.cubin").read_bytes()) for each in programs[number]]
            cubins = [
                from_yaml(
                    re.sub(r"registers: (\d+)", lambda m: f"registers: {int(m[1]) + more}", text)
                )
                for text in texts
            ]
            library(home / f"{place}.fatbin", *cubins)
        return str(home)

    old, new = folder("old", [0, 1], 0), folder("new", [2, 1, 0], 8)
    second = []

    def noted(question, pair, arena):
        second.append([image for image in pair[:2] if image is not None])
        return compare_or_outline(question, pair, arena)

    monkeypatch.setattr("cubinspec.compare.tasks.compare_or_outline", noted)
    found = compare_files(old, new, jobs=1)[0]
    assert record(found) == by_facts(old, new)
    assert len(found.matches.images) == 4
    assert not second


def test_images_with_the_same_names_are_compared_when_they_are_read(tmp_path, monkeypatch):
    """Beginnings tell which belong together; where they mislead, all names put it right."""
    texts = [
        to_yaml((DATA / f"{name}.cubin").read_bytes())
        for name in ("kernels.sm_90.exe", "calls.sm_90.rel", "cluster_sm90.sm_90.exe")
    ]
    before = list(map(from_yaml, texts))
    after = [
        from_yaml(re.sub(r"registers: (\d+)", lambda m: f"registers: {int(m[1]) + 8}", text))
        for text in texts
    ]

    def folder(name: str, *cubins: bytes) -> str:
        (tmp_path / name).mkdir()
        for place, data in enumerate(cubins):
            library(tmp_path / name / f"{place}.fatbin", data, compress_all=True)
        return str(tmp_path / name)

    old, new = folder("old", *before[:2]), folder("new", *reversed(after))
    second = []

    def noted(question, pair, arena):
        second.append([image for image in pair[:2] if image is not None])
        return compare_or_outline(question, pair, arena)

    monkeypatch.setattr("cubinspec.compare.tasks.compare_or_outline", noted)
    expected = by_facts(old, new)
    found = compare_files(old, new, jobs=1)[0]
    assert record(found) == expected
    assert len(found.matches.images) == 2
    assert not [images for images in second if len(images) == 2]
    monkeypatch.setattr("cubinspec.compare.likely._START_BYTES", 64)  # no name
    other = folder("other", after[2], after[1], after[1])
    assert record(compare_files(old, other, jobs=1)[0]) == by_facts(old, other)
    assert [images for images in second if len(images) == 2]


def test_images_without_a_common_name_may_belong_together_by_place_and_size(tmp_path):
    """Nothing depends on it but which images are read beside each other."""
    data = [
        (DATA / f"{name}.cubin").read_bytes() for name in ("calls.sm_90.rel", "data_only.sm_90.rel")
    ]
    large = (DATA / "kernels.sm_90.exe.cubin").read_bytes()
    assert abs(len(data[0]) - len(data[1])) * 8 > min(map(len, data))
    sides = []
    for name, cubins in (("old", (*data, large)), ("new", (*reversed(data), large))):
        sides.append(dict(enumerate(images(library(tmp_path / name, *cubins)))))
    assert in_place(sides) == [(2, 2)]
    del sides[1][2]
    assert in_place(sides) == []


@pytest.mark.parametrize("name", ["calls.sm_90.rel", "kernels.sm_90.exe", "data.sm_100.exe"])
def test_images_that_differ_in_noise_only_are_not_compared_by_function(name, tmp_path, monkeypatch):
    data = (DATA / f"{name}.cubin").read_bytes()
    cubin = Cubin.parse(data)
    notes = [row for row in cubin.elf.section_rows if row[1] == SHT_NOTE]
    used = [range(cubin.elf.ehdr[7])]
    table = cubin.elf.ehdr[5]
    used.append(range(table, table + cubin.elf.num_sections * cubin.elf.ehdr[10]))
    used += [
        range(row[4], row[4] + row[5])
        for row in cubin.elf.section_rows
        if occupies_file(row[1], row[2])
    ]

    def with_other(at: int) -> bytes:
        return data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]

    places = {at for part in used for at in part}
    inside = {at for row in notes for at in range(row[4], row[4] + row[5])}
    assert len(inside) > 20
    same, num_others = lasting(cubin), 0
    for at in sorted(places):
        with suppress(CubinError):  # of a byte that makes it another file
            other = Cubin.parse(with_other(at))
            said = differ_in_noise_only(cubin, other)
            assert said or at not in inside, at
            if said and at not in inside:
                assert lasting(other) == same, at
                num_others += 1
    assert num_others

    old = library(tmp_path / "old", data)
    new = library(tmp_path / "new", with_other(max(inside)))
    expected = by_facts(old, new)
    monkeypatch.setattr("cubinspec.compare.tasks.compare_images", None)
    found = compare_files(old, new, jobs=1)[0]
    assert record(found) == expected
    assert found.compared == len(cubin.functions)
    assert found.images[0].noise


def test_a_name_that_nothing_has_is_no_agreement(tmp_path, capsys):
    """As with a target that nothing is for; a name in images that are the same counts."""
    both = [
        (DATA / f"{name}.cubin").read_bytes() for name in ("calls.sm_90.rel", "small.sm_90.rel")
    ]
    old = library(tmp_path / "old", *both)
    new = library(tmp_path / "new", *reversed(both))
    for other in (old, new):
        assert main(["diff", old, other, "--match", "never_returns"]) == 0
        assert capsys.readouterr().out.startswith("identical")
        assert main(["diff", old, other, "--match", "nothing_has_it"]) == 2
        said = capsys.readouterr()
        assert not said.out
        assert "no name has or matches 'nothing_has_it'" in said.err
    assert main(["diff", old, new, "--match", "leaf", "--arch", "80"]) == 2


def test_a_fingerprint_of_one_target(tmp_path, capsys):
    both = [(DATA / f"calls.{kind}.cubin").read_bytes() for kind in ("sm_90.rel", "sm_100.rel")]
    path = library(tmp_path / "both", *both)
    alone = library(tmp_path / "alone", both[0])
    assert main(["fingerprint", "--level", "image", "--arch", "90", path]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert main(["fingerprint", "--level", "image", alone]) == 0
    assert line.split()[:2] == capsys.readouterr().out.split()[:2]
    assert main(["fingerprint", "--arch", "sm_75", path]) == 1
    assert "there is code for sm_90 sm_100\n" in capsys.readouterr().err


def hashed(rng):
    return b"call _INTERNAL_%08x_4_a_cu_12345678_1_;" % rng.getrandbits(32)


@pytest.mark.parametrize("step", [64, 256, 1 << 16])
def test_texts_are_the_same_line_by_line_or_as_a_whole(step, monkeypatch):
    """What counts of a text is defined as a whole; lines are looked at first."""
    monkeypatch.setattr("cubinspec.compare.texts._STEP", step)
    rng, equal = random.Random(step), 0
    for _ in range(1000):
        pool = [b"add r1;", b"// c", b"\t.loc 1 2", b'.file 1 "x"', b"", b"ab", b"a\rb", b"\x01"]
        lines = [rng.choice([*pool, hashed(rng)]) for _ in range(rng.randrange(60))]
        if rng.random() < 0.3:
            debug = rng.choice([b".section .debug", b"\t.section x", b"// .section", b"} .section"])
            lines.insert(rng.randrange(len(lines) + 1), debug)
        other = []
        for line in lines:
            edits = {1: [b"x"], 2: [line, b"// more"], 3: [b".loc 9"], 4: [line[:1], line[1:]]}
            change = edits.get(rng.randrange(100), [line])
            other += [hashed(rng)] if line.startswith(b"call") else change
        texts = [b"\n".join(each) + rng.choice([b"", b"\n"]) for each in (lines, other)]
        views = [SimpleNamespace(kind="ptx", view=partial(_view, text)) for text in texts]
        same = _essence(texts[0]) == _essence(texts[1])
        assert are_same_texts(*views, None, None) == same, texts
        equal += same
    assert 100 < equal < 900


def _view(text, arena):
    return memoryview(text)


def moved(folder):
    """Two libraries; in the new one a function has the name that one of another image had."""
    first, second = (
        to_yaml((DATA / f"{name}.cubin").read_bytes())
        for name in ("kernels.sm_90.exe", "calls.sm_90.rel")
    )
    sides = {
        "old": (first, second),
        "new": (
            first.replace("named_barriers", "never_returns"),
            second.replace("never_returns", "moved_away"),
        ),
    }
    return [library(folder / word, *map(from_yaml, texts)) for word, texts in sides.items()]


def test_a_function_that_another_image_has_now_is_matched(tmp_path, monkeypatch):
    """What seems to be renamed beside it is not, and is read again."""
    old, new = moved(tmp_path)
    again = []

    def noted(item, arena):
        again.append(item)
        return facts_again(item, arena)

    monkeypatch.setattr("cubinspec.compare.tasks.facts_again", noted)
    for one, other in ((old, new), (new, old)):
        found = compare_files(one, other)[0]
        assert record(found) == by_facts(one, other)
        assert {pair.how for pair in found.matches.functions} == {SAME_NAME}
    assert len(again) == 4
    assert all(len(places) == 1 for _, places in again)


def test_an_image_that_cannot_be_read_again_is_one_no_more(tmp_path, monkeypatch):
    old, new = moved(tmp_path)
    _, broken = images(old)

    def refused(item, arena):
        image, _ = item
        return CubinError("broken") if str(image) == str(broken) else facts_again(item, arena)

    monkeypatch.setattr("cubinspec.compare.tasks.facts_again", refused)
    found, before, after = compare_files(old, new)
    assert len(before.faults) == 1
    assert not after.faults
    assert len(found.matches.new_images) == 1
    assert len(found.matches.images) == 1


def test_an_image_that_is_broken_late_is_one_no_more(tmp_path):
    """Its names can be read, its relocations cannot; the other images are compared."""
    good = (DATA / "calls.sm_90.rel.cubin").read_bytes()
    reader = Cubin.parse(good)
    row = next(row for row in reader.elf.section_rows if row[1] in RELOCATION_TYPES)
    place = good.index(struct.pack("<QQ", row[4], row[5]))  # sh_offset, sh_size
    broken = bytearray(good)
    broken[place + 8 : place + 16] = struct.pack("<Q", row[5] - 1)
    worse = (DATA / "kernels.sm_90.exe.cubin").read_bytes()
    old = library(tmp_path / "old", good, worse)
    new = library(tmp_path / "new", bytes(broken), worse)
    found, before, after = compare_files(old, new)
    assert not before.faults
    (fault,) = after.faults
    assert "not a whole number" in str(fault)
    assert len(found.matches.gone_images) == 1
    assert found.same_images == 1
    assert main(["diff", old, new]) == 2


def test_images_of_a_target_that_one_file_has_are_read_once(tmp_path, monkeypatch):
    """Of one that is broken late the second pass says so, as of others."""
    before = (DATA / "kernels.sm_90.exe.cubin").read_bytes()
    both = from_yaml(to_yaml(before).replace("registers: 4}", "registers: 6}"))
    only = (DATA / "calls.sm_80.rel.11.8.89.cubin").read_bytes()
    old, new = library(tmp_path / "old", before), library(tmp_path / "new", both, only)
    expected = by_facts(old, new), by_facts(new, old)
    second = []

    def noted(question, pair, arena):
        second.append(pair)
        return compare_or_outline(question, pair, arena)

    monkeypatch.setattr("cubinspec.compare.tasks.compare_or_outline", noted)
    assert record(compare_files(old, new)[0]) == expected[0]
    assert record(compare_files(new, old)[0]) == expected[1]
    assert not second
    row = next(row for row in Cubin.parse(only).elf.section_rows if row[1] in RELOCATION_TYPES)
    place = only.index(struct.pack("<QQ", row[4], row[5]))  # sh_offset, sh_size
    broken = only[: place + 8] + struct.pack("<Q", row[5] - 1) + only[place + 16 :]
    found, _, after = compare_files(old, library(tmp_path / "new", both, broken))
    assert second
    assert [fault.reason for fault in after.faults] == [fault.reason for fault in found.unread[1]]
    assert "not a whole number" in str(after.faults[0])
    assert not found.matches.new_images


def test_ptx_is_told_apart_by_its_beginning_or_by_all_of_it(tmp_path, capsys):
    line = "add.s32 %r1, %r1, 1;\n"
    start = ".version 8.0\n.target sm_80\n.address_size 64\n// a comment\n.visible .entry k()\n{\n"
    long = start + line * 9000
    debug = ".section .debug_str\n{\n" + ".b8 7\n" * 9000
    texts = {
        "base": long + "ret;\n}\n",
        "debug": long + "ret;\n}\n" + debug + "}\n",
        "debug-too": long + "ret;\n}\n" + debug + ".b8 8\n}\n",
        "middle": start + line * 4500 + "bar.sync 0;\n" + line * 4500 + "ret;\n}\n",
        "blank": start + line * 4500 + "bar.sync  0;\n" + line * 4500 + "ret;\n}\n",
        "noise": long.replace("// a comment", "// another").replace("\n", "\n\t") + "ret;\n}\n",
        "late": long + "exit;\n}\n",
        "early": long.replace("sm_80", "sm_86", 1) + "ret;\n}\n",
    }

    for name in ("middle", "blank"):
        texts[f"{name}-debug"] = texts[name] + debug + name

    def write(*names: str) -> str:
        entries = [raw_entry(1, texts[name].encode() + b"\0") for name in names]
        file = tmp_path / "-".join(names)
        file.write_bytes(container([entry_for(cubin()), *entries]))
        return str(file)

    for old, new, changed in (
        (["base"], ["noise"], 0),
        (["base"], ["late"], 1),
        (["base"], ["early"], 1),
        (["base"], ["middle"], 1),
        (["middle"], ["blank"], 0),
        (["middle-debug"], ["blank-debug"], 0),
        (["base"], ["debug"], 0),
        (["debug"], ["debug-too"], 0),
        (["middle"], ["debug"], 1),
        (["late", "base"], ["noise", "late"], 0),
        (["late", "base", "middle"], ["middle", "debug", "late"], 0),
        (["late", "base", "middle"], ["debug", "late", "base"], 1),
        (["early", "late", "base"], ["late", "noise", "late"], 1),
    ):
        one, other = write(*old), write(*new)
        assert main(["diff", "--json", one, other]) == int(changed > 0)
        (found,) = json.loads(capsys.readouterr().out)
        assert [other["what"] for other in found["others"]] == ["changed"] * changed, (old, new)


def test_other_compression_is_noise(tmp_path, capsys):
    data = (DATA / "calls.sm_90.rel.cubin").read_bytes()
    old = library(tmp_path / "old", data, mode="none")
    new = library(tmp_path / "new", data, compress_all=True)
    assert main(["diff", old, new]) == 0
    assert capsys.readouterr().out.startswith("identical but for noise")


def test_an_image_that_moved_is_found_by_its_functions(tmp_path, capsys):
    one, two = ("calls.sm_90.rel", "kernels.sm_90.exe")
    texts = {name: to_yaml((DATA / f"{name}.cubin").read_bytes()) for name in (one, two)}
    data = {name: from_yaml(text) for name, text in texts.items()}
    more = from_yaml(texts[one].replace("registers: ", "registers: 1", 1))
    old = library(tmp_path / "old", data[one], data[two])
    new = library(tmp_path / "new", data[two], more)
    assert main(["diff", "--json", old, new]) == 1
    (record,) = json.loads(capsys.readouterr().out)
    assert not record["new"] + record["gone"]
    assert len(record["functions"]) == 1
    assert not [image for image in record["images"] if image["changes"]]


def test_records_that_name_symbols_say_the_rest_too():
    symbols = Cubin.parse((DATA / "calls.sm_90.rel.cubin").read_bytes()).symbols
    number = symbols["leaf"].index
    texts = []
    for size in (16, 32):
        payload = struct.pack("<II", number, size)
        record = InfoRecord(0, EIFMT_SVAL, EIATTR_SAM_REGION_STACK_SIZE, len(payload), payload)
        texts.append(said(record, symbols))
    assert texts[0] != texts[1]
    assert all(text.startswith(b"leaf") for text in texts)


def test_texts_of_metadata_count_and_not_where_they_lie():
    """ptxas 13.5 enters names of debug sections before them."""
    text = to_yaml((DATA / "metadata.sm_90.rel.13.5.37.cubin").read_bytes())
    base = facts_of(from_yaml(text))
    moved = facts_of(from_yaml(text.replace("helper", "much_longer")))
    named = facts_of(from_yaml(text.replace("first node", "other node")))
    assert base.values["data"][".nv.metadata"] == moved.values["data"][".nv.metadata"]
    assert properties_of(difference([base], [named])) == ["image_data"]


@pytest.mark.oracle("ptxas", "nvlink")
def test_builds_elsewhere_and_with_lines_have_the_same_fingerprints():
    """Capsules begin with the number of a section, lists of unified functions with that of a
    symbol; both change with line tables. `make test-fingerprint-proof` does all samples."""
    names = {
        *("small.sm_100.exe.cubin", "calls.sm_120.rel.cubin", "unified.sm_90.rel.cubin"),
        *("two_files.sm_90.link-exe.cubin", "spills.sm_75.regs32exe.cubin"),
    }
    recipes = yaml.safe_load(RECIPES.read_text(encoding="utf-8"))
    samples = [sample for sample in expand(recipes) if sample.name in names]
    assert len(samples) == len(names)
    count, unequal = unequal_builds(samples)
    assert not unequal
    assert count == 3 * len(names)


def test_markdown_folds_what_a_row_has_no_room_for():
    old, new = (DATA / f"calls.sm_80.exe.{version}.cubin" for version in ("11.8.89", "13.2.86"))
    text = markdown(
        difference([facts_of(old.read_bytes())], [facts_of(new.read_bytes())]), "a", "b"
    )
    row = next(line for line in text.splitlines() if line.endswith("| `direct` |"))
    assert "; and 5 more |" in row
    (folded,) = re.findall(
        "<summary>3 functions with all changes</summary>(.*?)</details>", text, re.S
    )
    assert "section .nv.info: flags 0x0 → 0x40" in folded
    assert "<summary>1 image changed as a whole</summary>" in text


def test_markdown_shows_hostile_names_in_one_line_and_direction(tmp_path, capsys):
    old, new = tmp_path / "old.cubin", tmp_path / "new.cubin"
    old.write_bytes(hostile_cubin())
    (name,) = [each for each in HOSTILE if "right" in each]
    assert main(["set", str(old), "--kernel", name, "--registers", "77", "-o", str(new)]) == 0
    for files in ((old, new), (old, DATA / "cluster_sm90.sm_90.exe.cubin")):
        assert main(["diff", *map(str, files), "--markdown"]) == 1
        out = capsys.readouterr().out
        assert all(line.isprintable() for line in out.splitlines())
        assert r"\u202eto" in out
        assert "<script>" not in out


def test_many_new_images_are_counted_and_listed_at_the_end(tmp_path, capsys, monkeypatch):
    old, new = tmp_path / "old", tmp_path / "new"
    executables = sorted(DATA.glob("*.sm_80.exe.cubin"))
    for folder, paths in ((old, executables[:1]), (new, executables)):
        folder.mkdir()
        for path in paths:
            (folder / path.name).write_bytes(path.read_bytes())
    assert main(["diff", str(old), str(new)]) == 1
    lines = capsys.readouterr().out.splitlines()
    (counted,) = [line for line in lines if line.startswith("new images  ")]
    listed = [line for line in lines if line.startswith("new image  ")]
    assert counted == f"new images  {len(listed)} sm_80 exe"
    assert lines[-len(listed) :] == listed
    assert main(["diff", "--markdown", str(old), str(new)]) == 1
    whole = capsys.readouterr().out
    assert f"<summary>{len(listed)} new images</summary>" in whole
    monkeypatch.setattr("cubinspec.compare.render._MOST_MARKDOWN", 800)
    assert main(["diff", "--markdown", str(old), str(new)]) == 1
    cut = capsys.readouterr().out
    assert "more lines have no room here" in cut
    assert len(cut) < 1600 < len(whole)


def test_equal_changes_of_other_images_are_one_line():
    found = difference([], [])
    found.others = [("new", "nvvm", ""), ("new", "nvvm", ""), ("gone", "ptx", "compute_90")]
    assert list(text_lines(found))[1:] == ["new nvvm  -  2 times", "gone ptx  compute_90"]


def test_a_broken_symbol_name_is_the_fault_of_its_image(tmp_path, capsys):
    sample = DATA / "warp.sm_100.rel.cubin"
    data = bytearray(sample.read_bytes())
    with Cubin.parse(bytes(data)) as cubin:
        (table,) = (one for one in cubin.sections if one.name == ".symtab")
        # a symbol that no function needs
        start = table.sh_offset + (table.sh_size // SIZEOF_SYMBOL_64 - 1) * SIZEOF_SYMBOL_64
    data[start : start + 4] = b"\xff\xff\0\0"
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(data)
    assert main(["diff", str(sample), str(broken)]) == 2
    out = capsys.readouterr().out
    assert f"unread  new  {broken}:" in out
    assert "outside the string table" in out


@pytest.mark.parametrize("stem", ["calls.sm_90.rel", "launches.sm_75.link-exe"])
def test_the_proof_reads_an_entry_as_if_it_read_all(stem):
    text = to_yaml((DATA / f"{stem}.cubin").read_bytes())
    form = Form(text)
    some = list(mutants(text, 9))[:: 1 if len(text) < 50_000 else 100]
    assert some
    for mutant in some:
        made = []
        for read in (
            partial(from_yaml, mutant.text),
            partial(lambda one: from_document(form.changed(one)), mutant),
        ):
            try:
                made.append(read())
            except CubinError as error:
                made.append(error.reason.partition(": ")[2])
        assert made[0] == made[1], mutant.line
