"""Logs of findings: their shape, and the pages that their rules point to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import jsonschema
import pytest

from cubinspec.cli import main
from cubinspec.compare.budget import KINDS, LINT, UNREAD
from cubinspec.compare.budget import Finding as BudgetFinding
from cubinspec.compare.budget_file import Budget
from cubinspec.compare.findings import rule_texts
from cubinspec.compare.findings import sarif as budget_sarif
from cubinspec.compare.lint import LINT_RULES
from cubinspec.errors import CubinError
from cubinspec.reader.elf import Elf
from cubinspec.report import sarif
from cubinspec_writer.checker import Finding as CheckFinding
from cubinspec_writer.checker.rules import RULES
from cubinspec_writer.checker.sarif import to_sarif
from tests.unit.sarif_shape import SARIF_SHAPE
from tools.package import rules

ROOT = Path(__file__).parents[2]
CUBINS = ROOT / "tests" / "data" / "cubins"
KERNELS = CUBINS / "kernels.sm_75.exe.cubin"
ALIGNMENT_OF_SECTION_1 = 64 + 48
HOME = "https://example.org/cubinspec"


def test_the_rule_page_is_made_of_the_rules():
    path = ROOT / sarif.RULE_PAGE
    if os.environ.get("BLESS"):
        path.write_text(rules.page(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == rules.page(), "make bless"


@pytest.fixture(params=["check", "budget"])
def log_of(request, tmp_path, capsys):
    """A function that makes a log with findings."""
    data = bytearray(KERNELS.read_bytes())
    data[Elf(bytes(data), "").ehdr[5] + ALIGNMENT_OF_SECTION_1] = 3
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(data)
    budget = tmp_path / "kernels.toml"
    rules = '[lint]\nrules = ["external-kernel", "spills"]\n'
    budget.write_text(rules + '[[kernel]]\nname = "gone"\nexpires = 2001-01-01\n')

    def make():
        if request.param == "check":
            assert main(["check", "--sarif", str(bad)]) == 1
            return json.loads(capsys.readouterr().out)
        out = tmp_path / "out.sarif"
        words = ["--budget", str(budget), "--sarif-out", str(out)]
        assert main(["budget", "check", str(KERNELS), *words]) == 7
        return json.loads(out.read_text(encoding="utf-8"))

    return make


#: Names of files and kernels that mean something in an address, in markup or on a terminal.
HOSTILE = ("a b#c?d%.toml", "c:x\\y", "é→\u202e", "<script>\"'&", "\udcff\x00\n", "")


def logs_of_everything() -> Iterator[dict[str, Any]]:
    """Every rule of both programs, each with every hostile name; and logs that say nothing."""
    for name in HOSTILE:
        places = [(1, "sm_90", name), (7, "", ""), (1 << 31, "sm_100a", name)]
        kinds = [(kind, "") for kind in (UNREAD, *KINDS) if kind != LINT]
        kinds += [(LINT, rule) for rule in LINT_RULES]
        found = [
            BudgetFinding(kind, line, name, arch, path, "text", rule, number, None)
            for kind, rule in kinds
            for line, arch, path in places
            for number in (None, 3)
        ]
        yield budget_sarif(found, Budget(name or "-", "", []), "0")
        broken = [
            CheckFinding(rule, name or "-", offset, name, name)
            for rule in RULES
            for offset in (None, 0, 1 << 40)
        ]
        yield to_sarif(broken, "0", [CubinError("bad", file=name, offset=3, expected=name)])
    yield budget_sarif([], Budget("kernels.toml", "", []), "0")
    yield to_sarif([], "0")


@pytest.fixture
def all_logs(log_of):
    """A function that makes logs of the commands, and of every rule."""

    def make():
        logs = [log_of(), *logs_of_everything()]
        # as they are written
        return [json.loads(json.dumps(log).encode("ascii")) for log in logs]

    return make


@pytest.mark.parametrize("home", ["", HOME])
def test_logs_follow_the_schema_of_oasis(home, all_logs, monkeypatch):
    """Its licence does not let the repository carry it, and no package does; the closed shape
    below is held always. `SARIF_SCHEMA=sarif-schema-2.1.0.json` names a copy."""
    path = os.environ.get("SARIF_SCHEMA")
    if not path:
        pytest.skip("SARIF_SCHEMA names no copy of the schema of OASIS")
    schema = json.loads(Path(path).read_text(encoding="utf-8"))
    checker = jsonschema.validators.validator_for(schema)
    checker.check_schema(schema)
    monkeypatch.setattr(sarif, "_home_page", lambda: home)
    for log in all_logs():
        checker(schema).validate(log)
        del log["runs"][0]["tool"]
        with pytest.raises(jsonschema.ValidationError):
            checker(schema).validate(log)


@pytest.mark.parametrize("home", ["", HOME])
def test_every_rule_is_written_in_that_shape(home, all_logs, monkeypatch):
    monkeypatch.setattr(sarif, "_home_page", lambda: home)
    told = set()
    for log in all_logs():
        jsonschema.validate(log, SARIF_SHAPE)
        (run,) = log["runs"]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        for result in run["results"]:
            assert rules[result["ruleIndex"]] == result["ruleId"]
            told.add(result["ruleId"])
    assert told == {*rule_texts(), *(rule.id for rule in RULES)}


def test_names_of_files_are_no_schemes_or_fragments():
    for name in HOSTILE:
        uri = sarif.file_uri(name)
        assert urlsplit(uri).path == uri
        assert os.fsdecode(unquote_to_bytes(uri)) == name


def test_hashes_of_a_build_do_not_make_another_finding():
    names = [
        f"_ZN{len(word) + 21}_GLOBAL__N__{word}_4_x_cu1fEv" for word in ("c844b41b", "0a1b2c3d")
    ]
    logs = [
        budget_sarif([BudgetFinding("worse", 1, name, "sm_90", "", "")], Budget("b", "", []), "0")
        for name in names
    ]
    one, other = (log["runs"][0]["results"][0]["partialFingerprints"] for log in logs)
    assert one == other


@pytest.mark.parametrize("home", ["", HOME])
def test_rules_point_to_their_page_when_there_is_a_home(home, log_of, monkeypatch):
    monkeypatch.setattr(sarif, "_home_page", lambda: home)
    log = log_of()
    jsonschema.validate(log, SARIF_SHAPE)
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert run["results"]
    assert driver.get("informationUri", "") == home
    text = (ROOT / sarif.RULE_PAGE).read_text(encoding="utf-8")
    for rule in driver["rules"]:
        place = f'<a id="{sarif.anchor(rule["id"])}"></a>\n\n### {rule["id"]}\n'
        assert text.count(place) == 1
        if home:
            assert rule["helpUri"] == f"{home}/blob/main/docs/rules.md#{sarif.anchor(rule['id'])}"
        else:
            assert "helpUri" not in rule


def test_the_home_is_the_first_address_of_the_package(monkeypatch):
    class Metadata:
        def get_all(self, key):
            return [f"Homepage, {HOME}/", "Issues, elsewhere"] if key == "Project-URL" else None

    monkeypatch.setattr("importlib.metadata.metadata", lambda name: Metadata())
    assert sarif._home_page() == HOME
