"""Architectures, families and toolkits as code asks for them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from cubinspec.format import targets
from cubinspec.format.targets import ARCHITECTURES, WRITTEN, Target, target
from cubinspec_generated.producers import PRODUCERS
from cubinspec_generated.targets import FAMILIES, TOOLKITS


def _known(name: str) -> Target:
    found = target(name)
    assert found is not None
    return found


def test_every_architecture_is_found_by_its_names() -> None:
    for sm, architecture in ARCHITECTURES.items():
        for variant in architecture.variants:
            found = target(f"sm_{sm}{variant}")
            assert found == Target(architecture, variant)
            assert found is not None
            assert (found.name, found.sm, found.variant) == (f"sm_{sm}{variant}", sm, variant)


@pytest.mark.parametrize(
    "name",
    ["", "sm_", "sm_91", "sm_80a", "sm_90f", "sm_090", "90", "compute_90", "sm_90af", "sm_9x"],
)
def test_other_names_are_no_targets(name: str) -> None:
    assert target(name) is None


def test_a_number_without_a_row_has_the_family_below_it() -> None:
    first = {family.name: family.first for family in FAMILIES}
    assert targets.family_of(0).name == "classic"
    assert targets.family_of(first["finalizer"] - 1).name == "classic"
    assert targets.family_of(first["finalizer"] + 5).name == "finalizer"
    assert targets.family_of(0xFFFF).name == "mercury"
    for sm, architecture in ARCHITECTURES.items():
        assert targets.family_of(sm) is architecture.family


def test_the_mercury_half_differs_from_its_family_in_what_the_table_says() -> None:
    family = targets.family_of(100)
    half = family.mercury_half
    assert half is not None
    names = [n for n in family.__match_args__ if getattr(family, n) != getattr(half, n)]
    assert names == [
        "reserved_start",
        "handle_relocs",
        "keeps_symbols",
        "drops_dead_frames",
        "mercury_half",
    ]


def test_what_a_link_accepts() -> None:
    own = _known("sm_86")
    assert own.links(86, specific=True)
    assert own.links(80, specific=False)
    assert not own.links(80, specific=True)
    assert not own.links(75, specific=False)
    assert not own.links(89, specific=False)
    family, plain, specific = (_known(name) for name in ("sm_103f", "sm_100", "sm_103a"))
    assert family.assembles(plain)
    assert not plain.assembles(family)
    assert specific.assembles(specific)
    assert not family.assembles(specific)


def test_toolkits_are_found_by_number() -> None:
    assert targets.toolkit_of(1).version == "8.0"
    assert targets.toolkit_of(0xFFFFFFFF) is [*TOOLKITS.values()][-1]
    stale = [number for number in range(200) if targets.toolkit_of(number).stale_links]
    assert stale == [120, 121, 122, 123]
    sums = [number for number in range(200) if targets.toolkit_of(number).sums_segments]
    assert sums == [*range(111)]
    assert targets.toolkit_number("13.0") == 130
    assert [targets.toolkit_number(text) for text in ("13", "13.", "13.10", "x.1")] == [None] * 4


def test_targets_that_are_written_are_those_of_the_toolkit() -> None:
    names = [found.name for found in targets.written_targets()]
    assert names[0] == "sm_75"
    assert "sm_88" in names
    assert not {"sm_72", "sm_101", "sm_107"} & set(names)
    assert set(targets.link_target_names()) - set(names) == {
        f"sm_{sm}{v}" for sm in (101, 107) for v in ("", "a", "f")
    }


def test_every_producer_of_a_toolkit_exists() -> None:
    for toolkit in TOOLKITS.values():
        assert {*toolkit.producers.values(), *toolkit.linked.values()} <= set(PRODUCERS)
    assert set(WRITTEN.producers) == set(WRITTEN.linked) == {family.name for family in FAMILIES}


def test_values_of_nv_compat_that_the_target_decides() -> None:
    specific, plain = _known("sm_100a"), _known("sm_90")
    assert (specific.compat_value(9), specific.compat_value(11)) == (1, 9)
    assert (plain.compat_value(9), plain.compat_value(11)) == (0, None)


ROOT = Path(__file__).resolve().parents[2]
#: Names of sm numbers and of versions of toolkits.
_NUMBERS = frozenset(("sm", "own_sm", "target_sm", "virtual_sm", "e_version", "toolkit_version"))
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _comparisons(source: str) -> list[int]:
    """Lines where an sm number or the version of a toolkit is put in order with another one."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and any(isinstance(op, _ORDER) for op in node.ops):
            sides = (node.left, *node.comparators)
            names = {
                side.attr if isinstance(side, ast.Attribute) else side.id
                for side in sides
                if isinstance(side, ast.Attribute | ast.Name)
            }
            if names & _NUMBERS:
                found.append(node.lineno)
    return found


def test_a_planted_comparison_is_found() -> None:
    assert _comparisons("if view.sm < first: pass\nif 120 <= e_version: pass\n") == [1, 2]
    assert _comparisons("if family_of(view.sm).capsule or a < b: pass\n") == []


@pytest.mark.parametrize("folder", ["src", "writer", "tools/linkcases"])
def test_only_one_module_compares_numbers_of_architectures_and_toolkits(folder: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        for line in _comparisons(file.read_text(encoding="utf-8"))
    ]
    assert [place for place in found if "format/targets.py" not in place] == []
