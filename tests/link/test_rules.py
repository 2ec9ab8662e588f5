"""Rules, the cases that show them, and the comments that cite them belong together."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from tools.linkcases import faults, rules, stored
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


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    stored.unpack(folder, ["80"])
    return folder


@pytest.mark.parametrize("name", ["W7", "S2", "I1"])
def test_a_fault_in_a_rule_is_seen_by_its_cases(name: str, unpacked: Path) -> None:
    """`python -m tools.linkcases.faults` does the same for all rules."""
    (rule,) = (rule for rule in RULES if rule.id == name)
    assert faults.look(rule, unpacked, most=40).outcome == "seen"


def test_cases_that_do_not_show_a_rule_see_no_fault_in_it(unpacked: Path) -> None:
    (rule,) = (rule for rule in RULES if rule.id == "W7")
    other = replace(rule, cases=("empty_kernel",), seeds=())
    assert faults.look(other, unpacked, most=5).outcome == "not seen"
    without = replace(rule, cases=("no_such_case",), seeds=())
    assert faults.look(without, unpacked, most=5).outcome == "no stored case"


def test_faults_are_planted_where_a_rule_is_cited() -> None:
    (rule,) = (rule for rule in RULES if rule.id == "W7")
    first = faults.sites(rule)[0]
    assert first.path == rule.file
    planted = [what for what, _ in itertools.islice(faults.faults(first), 3)]
    assert planted[0].startswith(f"__init__.py:{first.line + 1}: ")
    assert len(set(planted)) == 3
