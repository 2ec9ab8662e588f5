"""Logs of findings: their shape, and the pages that their rules point to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from cubinspec.cli import main
from cubinspec.reader.elf import Elf
from cubinspec.report import sarif
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


@pytest.mark.parametrize("home", ["", HOME])
def test_logs_follow_the_schema_of_oasis(home, log_of, monkeypatch):
    """Its licence does not let the repository carry it, and no package does; the closed shape
    below is held always. `SARIF_SCHEMA=sarif-schema-2.1.0.json` names a copy."""
    path = os.environ.get("SARIF_SCHEMA")
    if not path:
        pytest.skip("SARIF_SCHEMA names no copy of the schema of OASIS")
    schema = json.loads(Path(path).read_text(encoding="utf-8"))
    jsonschema.validators.validator_for(schema).check_schema(schema)
    monkeypatch.setattr(sarif, "_home_page", lambda: home)
    log = log_of()
    jsonschema.validate(log, schema)
    del log["runs"][0]["tool"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, schema)


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
