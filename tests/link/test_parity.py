"""Every byte of a link is nvlink's: cases and random programs; and the comparison can fail."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cubinspec.format.sections import occupies_file
from cubinspec.reader.elf import Elf
from cubinspec_writer.linker.finalizer import stubs
from cubinspec_writer.linker.library import fields, unified
from cubinspec_writer.linker.model import Symbol
from cubinspec_writer.linker.passes import attributes, callgraph, resolve, shared
from cubinspec_writer.linker.passes.attributes import takeover
from tools.linkcases import build, exceptions, outcomes, page, rules, stored
from tools.linkcases.__main__ import explained, run_case, run_stored
from tools.linkcases.build import CASES, SEEDS, STEPS
from tools.linkcases.compare import compare_built
from tools.linkcases.outcomes import ACCEPTED, Outcome
from tools.linkcases.randomly import GOOD, compare_one
from tools.linkcases.randomly import build as build_random

ARCHES = ["80", "90", "100"]
#: What needs only ptxas and nvlink: quick to build.
_QUICK = {"ptx", "uidx", "gen", "text", "mutate", "copy", "link", "ptxas_exec"}


def _quick_cases() -> list[build.Case]:
    return [
        case
        for case in build.find([CASES, SEEDS], ARCHES)
        if all(_QUICK & step.keys() for step in case.recipe["inputs"])
    ]


@pytest.mark.oracle("ptxas", "nvlink")
@pytest.mark.parametrize("case", _quick_cases(), ids=lambda case: f"{case.name}-{case.arch}")
def test_case_is_linked_as_nvlink_does(case: build.Case, tmp_path: Path) -> None:
    outcome = run_case(case, tmp_path)
    assert outcome.kind in ACCEPTED, outcome.detail


#: Seeds of random programs, by kind: how many, and the first one for each architecture. Together
#: over 200; every run of `tools.linkcases.randomly` takes whatever seeds it is told.
_RANDOM = {
    "basic": (20, {"80": 0, "90": 0, "100": 0}),
    "wide": (67, {"80": 0, "90": 67, "100": 134}),
    "unified": (30, {"90": 20, "100": 60}),  # there are no unified functions before sm_90
}


@pytest.mark.oracle("ptxas", "nvlink")
@pytest.mark.parametrize(
    ("arch", "kind"), [(arch, kind) for kind, (_, first) in _RANDOM.items() for arch in first]
)
def test_random_programs_are_linked_as_nvlink_does(arch: str, kind: str, tmp_path: Path) -> None:
    count, first = _RANDOM[kind]
    tally: Counter[str] = Counter()
    for seed in range(first[arch], first[arch] + count):
        outcome, detail = compare_one(seed, arch, tmp_path / "program", kind)
        assert outcome in GOOD, f"seed {seed}: {detail}"
        tally[outcome] += 1
    assert tally["identical"] > count * 0.7, tally


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A program with code, data, constants and calls, linked by nvlink; our link is the same."""
    assert build_random("wide", 1340, "80", tmp_path / "program") is None
    assert compare_built(tmp_path / "program") == (outcomes.IDENTICAL, "")
    return tmp_path / "program"


@pytest.mark.oracle("ptxas", "nvlink")
def test_comparison_sees_one_changed_byte_anywhere(linked: Path) -> None:
    expected = linked / "expected.cubin"
    whole = expected.read_bytes()
    elf = Elf(whole, "expected")
    note = elf.section_names.index(".note.nv.tkinfo")
    places = {
        "machine": 18,
        "flags": 48,
        "program headers": elf.ehdr[4] + 8,
        "last": len(whole) - 1,
    }
    for index, row in enumerate(elf.section_rows):
        places[f"header of {elf.section_names[index]}"] = elf.ehdr[5] + 64 * index + 32
        if index != note and occupies_file(row[1], row[2]) and row[5]:
            places[elf.section_names[index]] = row[4] + row[5] // 2
    assert {".text.k0", ".nv.info.k0", ".nv.constant3", ".symtab", ".strtab"} <= places.keys()
    for name, at in places.items():
        data = bytearray(whole)
        data[at] ^= 0x10
        expected.write_bytes(data)
        assert compare_built(linked)[0] == outcomes.DIFFERENT, name


@pytest.mark.oracle("ptxas", "nvlink")
@pytest.mark.parametrize("place", ["message", "status"])
def test_comparison_sees_another_message_or_status(place: str, linked: Path) -> None:
    record = json.loads((linked / "cmd.json").read_text())
    record.update({"stderr": "nvlink warning : x\n"} if place == "message" else {"exit": 1})
    (linked / "cmd.json").write_text(json.dumps(record))
    kind, detail = compare_built(linked)
    assert kind == outcomes.DIFFERENT
    assert detail


def _side_by_side(common: list[Symbol], *_others: object) -> int:
    end = 0
    for variable in common:
        variable.value, end = end, end + variable.size
    return end


#: Rules of the linker, each with something wrong in its place and the seed of a wide program that
#: shows it on sm_80.
_FAULTS = {
    "field": (fields, "field_value", lambda action, value: (value >> action.shift) + 1, 0),
    "sort": (shared, "split_sort", lambda items, _first: list(items), 0),
    "groups": (shared, "_place_common", _side_by_side, 0),
    "registers": (resolve._Copies, "registers", lambda *_: 0, 123),
    "externs": (takeover, "fill_externs", lambda *_, **__: None, 6),
    "late copies": (callgraph, "takes_address", lambda *_: True, 8),
}


#: The same for unified functions: seed 17 shows them on sm_100.
_UNIFIED_FAULTS = {
    "slots": (stubs, "STUB_UNITS", (2, 1, 1, 1, 1, 1, 1, 2), 17),
    "stacks": (attributes, "_with_stacks", lambda _symbols, _unified, kernels: kernels, 17),
    "liveness": (unified, "linked_stubs", lambda _state: [], 17),
    "frames": (unified, "later_stubs", lambda *_: set(), 17),
}


@pytest.mark.pure
@pytest.mark.oracle("ptxas", "nvlink")
@pytest.mark.parametrize(
    ("kind", "arch", "fault"),
    [
        *(pytest.param("wide", "80", fault, id=rule) for rule, fault in _FAULTS.items()),
        *(pytest.param("unified", "100", fault, id=r) for r, fault in _UNIFIED_FAULTS.items()),
    ],
)
def test_random_programs_see_a_wrong_rule(
    kind: str,
    arch: str,
    fault: tuple[Any, str, Any, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner, name, wrong, seed = fault
    assert compare_one(seed, arch, tmp_path / "program", kind)[0] == "identical"
    monkeypatch.setattr(owner, name, wrong)
    assert compare_one(seed, arch, tmp_path / "program", kind)[0] == outcomes.DIFFERENT


def test_recipes_use_steps_that_exist_and_exceptions_name_cases() -> None:
    names = set()
    for folder in (CASES, SEEDS):
        for recipe in folder.glob("*/case.json"):
            names.add(recipe.parent.name)
            for step in json.loads(recipe.read_text())["inputs"]:
                assert len(STEPS.keys() & step.keys()) == 1, recipe
    assert names >= set(map(stored.base, exceptions.cases()))


def test_exceptions_have_a_cause_and_explain_only_what_they_name() -> None:
    assert all(len(exception.cause) > 20 for exception in exceptions.load())
    assert explained("barrier_hidden", "100", outcomes.DIFFERENT, "").kind == outcomes.EXCEPTION
    assert explained("barrier_hidden", "90", outcomes.DIFFERENT, "").kind == outcomes.DIFFERENT
    assert explained("truncated", "75", outcomes.DIFFERENT, "").kind == outcomes.REFUSED
    assert explained("wide_1515", "100", outcomes.DIFFERENT, "").kind == outcomes.EXCEPTION
    assert explained("wide_1515", "80", outcomes.DIFFERENT, "").kind == outcomes.DIFFERENT


def test_page_counts_every_link() -> None:
    text = page.render(
        [
            Outcome("a", "90", outcomes.IDENTICAL),
            Outcome("b", "90", outcomes.DIFFERENT),
            Outcome("truncated", "100", outcomes.REFUSED),
        ]
    )
    assert "| sm_90 | 2 | 1 | 0 | 0 | 0 | 1 | 0 |" in text
    assert "* `b` (90): different." in text
    assert "* `truncated` (100), refused:" in text


# -- without NVIDIA's tools --------------------------------------------------------------------


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    stored.unpack(folder)
    return folder


@pytest.mark.parametrize("arch", build.ARCHES)
def test_stored_inputs_are_linked_to_the_stored_hashes(arch: str, unpacked: Path) -> None:
    cases = sorted(path.parent.name for path in unpacked.glob(f"*/{arch}"))
    assert len(cases) > 100
    for case in cases:
        outcome = run_stored(case, arch, unpacked)
        assert outcome.kind in ACCEPTED, f"{case}: {outcome.detail}"


def test_every_case_is_stored_for_every_target(unpacked: Path) -> None:
    cases = build.find([CASES, SEEDS])
    own = {link for link in stored.table() if stored.base(link[0]) == link[0]}
    assert own == {(case.name, case.arch) for case in cases}
    held = {(path.parent.name, path.name) for path in unpacked.glob("*/*")}
    others = stored.table().keys() - own
    assert held == others | {(c.name, c.arch) for c in cases if not stored.needs_libraries(c)}


def test_rules_about_other_toolkits_are_stored_as_these_link_them() -> None:
    links = {
        f"{name}@{version}"
        for rule in rules.load()
        for version in rule.toolkits
        for name in (*rule.cases, *rule.seeds)
    }
    assert links == {case for case, _ in stored.table() if stored.base(case) != case}


def test_what_is_stored_of_exceptions_belongs_to_exceptions() -> None:
    named = {link for link, row in stored.table().items() if row.own}
    held = {link for link in stored.table() if exceptions.find(*link)}
    assert named <= held
    assert {case for case, _ in held - named} <= {
        case.name for case in build.find([CASES]) if stored.needs_libraries(case)
    }


def test_an_exception_has_to_be_the_stored_one(unpacked: Path) -> None:
    expected = stored.table()["wide_468", "80"]
    folder = unpacked / "wide_468" / "80"
    assert stored.compare(folder, expected)[0] == outcomes.EXCEPTION
    other = replace(expected, own="0" * 64)
    assert stored.compare(folder, other)[0] == outcomes.DIFFERENT


@pytest.mark.parametrize("fault", ["output", "messages", "input"])
def test_stored_hashes_see_a_fault(fault: str, unpacked: Path, tmp_path: Path) -> None:
    folder = tmp_path / "case"
    shutil.copytree(unpacked / "weak_late" / "80", folder)
    expected = stored.table()["weak_late", "80"]
    assert stored.compare(folder, expected) == (outcomes.IDENTICAL, "")
    if fault == "input":
        cubin = folder / "inputs" / "a.cubin"
        elf = Elf(cubin.read_bytes(), "a.cubin")
        row = elf.section_rows[elf.section_names.index(".text.k")]
        data = bytearray(cubin.read_bytes())
        data[row[4]] ^= 1
        cubin.write_bytes(data)
    else:
        expected = replace(expected, **{fault: "0" * 64})
    assert stored.compare(folder, expected)[0] == outcomes.DIFFERENT
