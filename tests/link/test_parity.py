"""Every byte of a link is nvlink's: cases and random programs; and the comparison can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.linkcases import build, page
from tools.linkcases.__main__ import CASES, compare_built, run_case
from tools.linkcases.build import STEPS
from tools.linkcases.known import KNOWN
from tools.linkcases.randomly import compare_one

ARCHES = ["80", "90", "100"]
#: What needs only ptxas and nvlink: quick to build.
_QUICK = {"ptx", "gen", "text", "mutate", "copy", "link", "ptxas_exec"}


def _quick_cases() -> list[build.Case]:
    return [
        case
        for case in build.find(CASES, ARCHES, None)
        if all(_QUICK & step.keys() for step in case.recipe["inputs"])
    ]


@pytest.mark.oracle("ptxas", "nvlink")
@pytest.mark.parametrize("case", _quick_cases(), ids=lambda case: f"{case.name}-{case.arch}")
def test_case_is_linked_as_nvlink_does(case: build.Case, tmp_path: Path) -> None:
    outcome = run_case(case, tmp_path)
    accepted = {page.IDENTICAL, page.SAME_ERROR, page.EXCEPTION, page.REFUSED}
    assert outcome.kind in accepted, outcome.detail


@pytest.mark.oracle("ptxas", "nvlink")
@pytest.mark.parametrize("arch", ARCHES)
def test_random_programs_are_linked_as_nvlink_does(arch: str, tmp_path: Path) -> None:
    for seed in range(20):
        outcome, detail = compare_one(seed, arch, tmp_path)
        assert outcome in ("identical", "not assembled"), f"seed {seed}: {detail}"


@pytest.mark.oracle("ptxas", "nvlink")
@pytest.mark.parametrize("place", ["text", "message", "status"])
def test_comparison_sees_a_planted_difference(place: str, tmp_path: Path) -> None:
    (case,) = build.find(CASES, ["90"], ["two_file_call"])
    folder = build.build(case, tmp_path)
    assert compare_built(folder) == (page.IDENTICAL, "")
    if place == "text":
        data = bytearray((folder / "expected.cubin").read_bytes())
        data[-1] ^= 1
        (folder / "expected.cubin").write_bytes(data)
    else:
        record = json.loads((folder / "cmd.json").read_text())
        record.update({"stderr": "nvlink warning : x\n"} if place == "message" else {"exit": 1})
        (folder / "cmd.json").write_text(json.dumps(record))
    kind, detail = compare_built(folder)
    assert kind == page.DIFFERENT
    assert detail


def test_recipes_use_known_steps_and_exceptions_name_cases() -> None:
    names = set()
    for recipe in CASES.glob("*/case.json"):
        names.add(recipe.parent.name)
        for step in json.loads(recipe.read_text())["inputs"]:
            assert len(STEPS.keys() & step.keys()) == 1, recipe
    assert names >= KNOWN.keys()


def test_page_counts_every_link() -> None:
    text = page.render(
        [
            ("a", "90", page.IDENTICAL),
            ("b", "90", page.DIFFERENT),
            ("truncated", "100", page.REFUSED),
        ]
    )
    assert "| sm_90 | 2 | 1 | 0 | 0 | 0 | 1 | 0 |" in text
    assert "* `b` (90): different." in text
    assert "* `truncated` (100), refused:" in text
