"""Rules, the cases that show them, and the comments that cite them belong together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tools.linkcases import faults, rules
from tools.linkcases.faults import Fault
from tools.linkcases.rules import Evidence, Rule, RuleError

RULES = rules.load()


@pytest.fixture(scope="module")
def have() -> Evidence:
    return rules.evidence()


def test_every_rule_has_a_case_and_every_case_a_rule(have: Evidence) -> None:
    assert list(rules.problems(RULES, have)) == []


def test_page_is_made_from_the_rules() -> None:
    page = (rules.ROOT / rules.PAGE).read_text(encoding="utf-8")
    assert page == rules.render(), "run `make gen`"


def _changed(name: str, **changes: object) -> list[Rule]:
    return [replace(r, **changes) if r.id == name else r for r in RULES]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("planted", "complaint"),
    [
        (_changed("W9", cases=(), seeds=()), "W9: no case shows this rule"),
        (_changed("W9", cases=("weak_lately",)), "W9: there is no case 'weak_lately'"),
        (_changed("G1", sweeps=("colours",)), "G1: there is no sweep 'colours'"),
        (_changed("W9", seeds=("wide_1",)), "W9: there is no random program 'wide_1'"),
        (_changed("W10", seeds=()), "random program 'wide_459': no rule names it"),
        (_changed("W9", module="passes.nothing"), "W9: there is no module 'passes.nothing'"),
        (_changed("A4", cases=("alias",)), "case 'alias_first': no rule names it"),
        ([r for r in RULES if r.id != "W9"], "W9: cited in"),
        ([r for r in RULES if r.id != "X1"], "X1: named in exceptions.yaml"),
    ],
)
def test_check_sees_a_fault(planted: list[Rule], complaint: str, have: Evidence) -> None:
    assert any(line.startswith(complaint) for line in rules.problems(planted, have))


def test_check_sees_what_nobody_cites(have: Evidence) -> None:
    cited = {name: files for name, files in have.cited.items() if name != "W9"}
    lines = list(rules.problems(RULES, replace(have, cited=cited)))
    assert lines == ["W9: 'library.copies' does not cite it"]


def test_citations_are_found_in_comments() -> None:
    text = '''"""Sorts (rules S1,
    S2)."""
    #: rule W7
    # (rules C1,
    # C2); not R1, and no ruler Z9
    '''
    assert list(rules.citations(text)) == ["S1", "S2", "W7", "C1", "C2"]


_TOPIC = """\
- topic: Names
  letter: N
  rules:
  - {id: %s, rule: Names stay where they were first met., evidence: observed, pass: state%s}
"""


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (("N1", ", cases: [a]"), ""),
        (("N1", ""), "is not valid under any of the given schemas"),
        (("W1", ", cases: [a]"), "ids of this topic begin with N"),
        (("n1", ", cases: [a]"), "does not match"),
        (("N1", ", cases: [a], seed: [b]"), "Additional properties"),
    ],
)
def test_schema_refuses(entry: tuple[str, str], complaint: str) -> None:
    text = _TOPIC % entry
    if not complaint:
        assert [rule.id for rule in rules.load(text)] == ["N1"]
        return
    with pytest.raises(RuleError, match=complaint):
        rules.load(text)


def test_an_id_is_there_once() -> None:
    with pytest.raises(RuleError, match="N1: this id is there twice"):
        rules.load(_TOPIC % ("N1", ", cases: [a]") + _TOPIC % ("N1", ", cases: [a]"))


# -- planted faults ------------------------------------------------------------------------------

FAULTS = faults.load(RULES)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    faults.unpack(folder)
    return folder


def test_every_rule_has_a_fault_that_can_be_planted() -> None:
    assert list(faults.problems(RULES, FAULTS)) == []


@pytest.mark.pure
@pytest.mark.parametrize("fault", FAULTS[::40], ids=lambda fault: fault.rule)
def test_a_fault_in_a_rule_is_seen_by_its_case(fault: Fault, unpacked: Path) -> None:
    """`make link-faults` does the same for all of them."""
    assert faults.look(fault, unpacked)[0] == faults.SEEN


def _first(name: str) -> Fault:
    return next(fault for fault in FAULTS if fault.rule == name)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"link": ("empty_kernel", "80")}, faults.NOT_SEEN),
        ({"wrong": _first("W7").code}, faults.NOT_SEEN),
        ({"wrong": "raise ValueError(at)"}, faults.EXCEPTION),
    ],
)
def test_what_shows_no_fault(changes: dict[str, Any], outcome: str, unpacked: Path) -> None:
    assert faults.look(_first("W7"), unpacked)[0] == faults.SEEN
    assert faults.look(replace(_first("W7"), **changes), unpacked)[0] == outcome


@pytest.mark.parametrize(
    ("planted", "complaint"),
    [
        ([f for f in FAULTS if f.rule != "W9"], "W9: no fault was planted"),
        ([*FAULTS, replace(_first("W7"), code="no such text")], "W7: passes.constants has 0 x"),
        ([*FAULTS, replace(_first("W7"), wrong="if (")], "W7: "),
        ([*FAULTS, replace(_first("W7"), link=("fatbin", "80"))], "W7: 'fatbin' is none of its"),
        ([*FAULTS, replace(_first("W7"), link=("weak_late", "70"))], "W7: the link weak_late 70"),
    ],
)
def test_check_of_faults_sees_what_does_not_fit(planted: list[Fault], complaint: str) -> None:
    (line,) = faults.problems(RULES, planted)
    assert line.startswith(complaint)
