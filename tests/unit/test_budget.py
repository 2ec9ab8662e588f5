"""Budgets: every kind of finding, its status and its line; reports; the plugin; the action."""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from jsonschema import Draft202012Validator

import cubinspec
from cubinspec.cli import main
from cubinspec.compare.budget import (
    KINDS,
    STATUSES,
    check_budget,
)
from cubinspec.compare.budget_edit import update_budget
from cubinspec.compare.budget_file import PROPERTIES, BudgetError, parse_budget
from cubinspec.compare.lint import LINT_RULES
from cubinspec.compare.read import read_facts
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec_writer.yaml_form import from_yaml, to_yaml

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "cubins"
KERNELS = DATA / "kernels.sm_75.exe.cubin"
TODAY = datetime.date(2026, 11, 22)
#: What each rule of a library finds, and in which sample.
FOUND_BY = {
    "weak-kernel": "../builds/one.rel.cubin.gz",
    "external-kernel": "kernels.sm_75.exe.cubin",
    "spills": "spills.sm_90.regs32exe.cubin",
    "register-limit": "spills.sm_90.regs32exe.cubin",
    "unknown-stack": "calls.sm_80.rel.11.8.89.cubin",
    "missing-target": "kernels.sm_75.exe.cubin",
    "duplicate-image": "twice",
    "debug-data": "../builds/one.lines.exe.cubin.gz",
}


@pytest.fixture
def budget(tmp_path):
    file = tmp_path / "kernels.toml"
    assert main(["budget", "init", str(KERNELS), "--budget", str(file)]) == 0
    return file


def findings_of(text, *paths):
    images = [image for path in paths for image in read_facts(str(path)).images]
    return check_budget(parse_budget(text, "kernels.toml"), images, TODAY)


def test_what_was_made_fits(budget, capsys):
    assert main(["budget", "check", str(KERNELS), "--budget", str(budget)]) == 0
    assert capsys.readouterr().out == "as budgeted\n"
    assert main(["budget", "init", str(KERNELS), "--budget", str(budget)]) == 2


@pytest.mark.parametrize("word", PROPERTIES)
@pytest.mark.parametrize("step", [-1, 1])
def test_every_property_is_worse_and_better(word, step):
    (image,) = read_facts(str(DATA / "spills.sm_90.regs32exe.cubin")).images
    (kernel,) = image.kernels
    value = kernel.values[word] or 0
    if value + step < 0:
        pytest.skip("a size cannot be negative")
    text = f'[[kernel]]\nname = "spills"\n{word} = {value + step}\n'
    (finding,) = check_budget(parse_budget(text, "b"), [image], TODAY)
    assert finding.kind == ("better" if step > 0 else "worse")
    assert (finding.property, finding.expected, finding.found or 0) == (word, value + step, value)
    limit = f'[[kernel]]\nname = "spills"\n{word} = {{max = {value + step}}}\n'
    found = check_budget(parse_budget(limit, "b"), [image], TODAY)
    assert [f.kind for f in found] == (["worse"] if step < 0 else [])


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda text: re.sub("registers = 4\n", "registers = 3\n", text, count=1), "worse"),
        (lambda text: re.sub("registers = 4\n", "registers = 5\n", text, count=1), "better"),
        (lambda text: text.replace('name = "empty"', 'name = "void"'), "gone"),
        (lambda text: text.replace('name = "empty"', 'name = "void"'), "new"),
        (lambda text: text + "expires = 2020-01-31\n", "expired"),
        (lambda text: text + '[lint]\nrules = ["external-kernel"]\n', "lint"),
    ],
)
def test_each_kind_has_a_line_and_a_status(budget, change, kind, capsys):
    budget.write_text(change(budget.read_text()))
    others = ",".join(set(KINDS) - {kind})
    words = ["budget", "check", str(KERNELS), "--budget", str(budget)]
    assert main([*words, "--allow", others]) == STATUSES[kind]
    assert main([*words, "--allow", f"{others},{kind}"]) == 0
    out = capsys.readouterr().out
    (line, *_) = (line for line in out.splitlines() if line.startswith(kind))
    number = int(re.search(r"kernels\.toml:(\d+)", line)[1])
    lines = budget.read_text().splitlines()
    if kind == "new":
        assert number == len(lines)
    else:
        assert lines[number - 1] == ("[lint]" if kind == "lint" else "[[kernel]]")


def test_update_keeps_what_people_wrote(budget, capsys):
    text = budget.read_text()
    text = text.replace('name = "empty"', 'name = "void"')
    text = text.replace("registers = 4\n", 'registers = 9  # measured\nreason = "why"\n', 1)
    budget.write_text(text)
    assert main(["budget", "update", str(KERNELS), "--budget", str(budget)]) == 0
    new = budget.read_text()
    assert "registers = 4  # measured\n" in new
    assert 'reason = "why"' in new
    assert 'name = "void"' not in new
    assert 'name = "empty"' in new
    assert main(["budget", "check", str(KERNELS), "--budget", str(budget)]) == 0


def test_update_takes_out_an_entry_and_nothing_beside_it(tmp_path, capsys):
    """What stands between entries, and the table of rules, belongs to none of them."""
    file = tmp_path / "kernels.toml"
    file.write_text(
        '# first\n[[kernel]]\n# of a\nname = "a"\n  stack = 4  # a\n\n# second\n[[kernel]]\n'
        'name = "empty"\n  "registers" = 0x9\n# third\n\n[[kernel]]\nname = "b"\n'
        'reason = """x\n# y"""\n\n# rules\n[lint]\nrules = ["spills"]\n# end\n'
    )
    assert main(["budget", "update", str(KERNELS), "--budget", str(file)]) == 0
    kept, _, new = file.read_text().partition("# end\n")
    assert kept == (
        '# first\n# second\n[[kernel]]\nname = "empty"\n  "registers" = 4\n# third\n\n'
        '# rules\n[lint]\nrules = ["spills"]\n'
    )
    assert new.count("[[kernel]]") == len(read_facts(str(KERNELS)).images[0].kernels) - 1
    assert main(["budget", "check", str(KERNELS), "--budget", str(file)]) == 0


def test_update_refuses_what_it_cannot_write(tmp_path, capsys):
    file = tmp_path / "kernels.toml"
    text = '[[kernel]]\nname = "empty"\n"\\u0072egisters" = 9\n'
    file.write_text(text)
    assert main(["budget", "update", str(KERNELS), "--budget", str(file)]) == 2
    assert "line 1, column 1: registers: it is 9 and should be 4" in capsys.readouterr().err
    assert file.read_text() == text


def test_a_large_budget_takes_no_longer_for_each_of_its_entries(budget):
    """Each entry was once compared with each kernel, and each line with each entry."""
    (image,) = read_facts(str(KERNELS)).images
    kernel, *_ = image.kernels
    count = 5000
    image.functions = [replace(kernel, name=f"_Z5k{at:05}v") for at in range(count)]
    text = "".join(
        f'[[kernel]]\nname = "_Z5{letter}{at:05}v"\nregisters = 200\n\n'
        for at in range(count)
        for letter in "kg"
    )
    start = time.process_time()
    found = parse_budget(text, "kernels.toml")
    findings = check_budget(found, [image], TODAY)
    new = update_budget(found, findings, [image])
    assert time.process_time() - start < 20  # minutes, when it was so
    assert [f.kind for f in findings].count("gone") == count
    assert new.count("registers = 5\n") == new.count("[[kernel]]") == count


def test_a_budget_is_checked_for_one_target(tmp_path):
    """Nothing is said of entries and rules for others."""
    alone = str(DATA / "small.sm_90.exe.cubin")
    path = tmp_path / "both"
    names = ("small.sm_75.exe.cubin", "small.sm_90.exe.cubin")
    path.write_bytes(container([entry_for((DATA / name).read_bytes()) for name in names]))
    both, file = str(path), tmp_path / "kernels.toml"
    file.write_text('[lint]\nrules = ["missing-target"]\ntargets = ["sm_75", "sm_90"]\n')
    assert main(["budget", "update", both, "--budget", str(file)]) == 0
    check = ["budget", "check", "--budget", str(file)]
    assert main([*check, both]) == 0
    assert main([*check, both, "--arch", "sm_90"]) == 0
    assert main([*check, alone]) == 7
    assert main([*check, alone, "--allow", "lint"]) == 3
    assert main([*check, alone, "--arch", "90"]) == 0
    assert main([*check, alone, "--arch", "80"]) == 2


def test_a_budget_is_renewed_for_one_target(tmp_path):
    """Entries for others stay, and a pin that counts for all targets does not become less."""
    path, file = tmp_path / "both", tmp_path / "kernels.toml"
    names = ("small.sm_75.exe.cubin", "small.sm_90.exe.cubin")
    path.write_bytes(container([entry_for((DATA / name).read_bytes()) for name in names]))
    update = ["budget", "update", str(path), "--budget", str(file)]
    file.write_text("")
    assert main([*update, "--arch", "90"]) == 0
    assert 'arch = "sm_90"' in (text := file.read_text())
    assert "sm_75" not in text
    assert main(update) == 0
    whole = file.read_text()
    changed = re.sub(r"registers = \d+", "registers = 200", whole)
    file.write_text(changed)
    assert main([*update, "--arch", "90"]) == 0
    old, new, now = (text.split("[[kernel]]") for text in (changed, whole, file.read_text()))
    for before, after, entry in zip(old, new, now, strict=True):
        assert entry == (after if "sm_90" in entry else before)
    for pin, words, wanted in ((200, ["--arch", "90"], 200), (200, [], None), (1, [], None)):
        file.write_text(f'[[kernel]]\nname = "*"\nregisters = {pin}\n')
        assert main([*update, *words]) == 0
        found = int(re.search(r"registers = (\d+)", file.read_text())[1])
        assert found == wanted if wanted else 1 < found < 200


def test_of_copies_of_a_kernel_the_largest_counts(tmp_path, capsys):
    """Two images of a library have a kernel; where each was built alone, the numbers differ."""
    small, path, file = DATA / "small.sm_90.exe.cubin", tmp_path / "both", tmp_path / "kernels.toml"
    (kernel,) = cubinspec.Cubin.open(small).kernels
    changed = tmp_path / "changed.cubin"

    def build(*registers: int) -> None:
        copies = []
        for count in registers:
            words = ["--kernel", kernel.name, "--registers", str(count), "-o", str(changed)]
            assert main(["set", str(small), *words]) == 0
            copies.append(entry_for(changed.read_bytes()))
        path.write_bytes(container(copies))

    def check(*registers: int) -> list[str]:
        build(*registers)
        main(["budget", "check", str(path), "--budget", str(file)])
        return [line.split()[0] for line in capsys.readouterr().out.splitlines()[:-1]]

    build(20, 30)
    assert main(["budget", "init", str(path), "--budget", str(file)]) == 0
    assert "registers = 30\n" in file.read_text()
    assert check(30, 20) == check(30, 30) == []
    assert check(40, 50) == ["worse", "worse"]
    assert check(30, 40) == ["worse"]
    assert check(20, 10) == ["better"]
    assert main(["budget", "update", str(path), "--budget", str(file)]) == 0
    assert "registers = 20\n" in file.read_text()


def test_names_and_patterns():
    both = 'name = "re:^(empty|bounded)$"\narch = "sm_75"\nregisters = {max = 2}\n'
    found = findings_of(f"[[kernel]]\n{both}", KERNELS)
    assert {f.name for f in found if f.kind == "worse"} == {"empty", "bounded"}
    assert [f.kind for f in findings_of('[[kernel]]\nname = "*"\n', KERNELS)] == []
    assert findings_of('[[kernel]]\nname = "*"\narch = "sm_90"\n', KERNELS)[0].kind == "gone"
    # hashes of source files do not count
    one, two = (
        ROOT / "tests/data/builds/one.exe.cubin.gz",
        ROOT / "tests/data/builds/two.exe.cubin.gz",
    )
    names = [kernel.name for image in read_facts(str(one)).images for kernel in image.kernels]
    text = "".join(f'[[kernel]]\nname = "{name}"\n' for name in names)
    assert findings_of(text, two) == []


@pytest.mark.parametrize("rule", LINT_RULES)
def test_every_rule_of_a_library(rule, tmp_path):
    sample = FOUND_BY[rule]
    if sample == "twice":
        for name in ("a.cubin", "b.cubin"):
            (tmp_path / name).write_bytes(KERNELS.read_bytes())
        path = tmp_path
    else:
        path = DATA / sample
    if rule == "unknown-stack":
        text = to_yaml((DATA / "kernels.sm_75.exe.cubin").read_bytes())
        text = text.replace("min_stack_size: 0", "min_stack_size: 0xffffffff", 1)
        path = tmp_path / "open.cubin"
        path.write_bytes(from_yaml(text))
    head = '[[kernel]]\nname = "*"\n'
    asked = f'{head}[lint]\nrules = ["{rule}"]\ntargets = ["sm_90"]\n'
    found = findings_of(asked, path)
    assert found
    assert {(f.kind, f.property, f.line) for f in found} == {("lint", rule, 3)}
    assert findings_of(head, path) == []


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('[[kernel]]\nname = "a\n', 2, 10, "TOML"),
        ('[[kernel]]\nname = "a"\nregisterz = 3\n', 3, 1, "registerz"),
        ('[[kernel]]\nname = "a"\nregisters = -3\n', 3, 1, "-3 is no size"),
        ('[[kernel]]\nname = "a"\nstack = {min = 3}\n', 3, 1, "other keys than max"),
        ('[[kernel]]\nname = "a"\nexpires = "soon"\n', 3, 1, "it is no date"),
        ("[[kernel]]\nregisters = 3\n", 1, 1, "name"),
        ('[[kernel]]\nname = "re:("\n', 2, 1, "regular expression"),
        ("[kernels]\nx = 1\n", 1, 1, "'kernels' is not known"),
        ("kernel = 3\n", 1, 1, "no list of tables"),
        ("[lint]\nrules = 3\n", 2, 1, "no list of texts"),
        ('[lint]\nrules = ["weak"]\n', 2, 1, "weak-kernel"),
        ("[lint]\nrule = []\n", 2, 1, "'rule' is not known"),
        ('[[kernel]]\nname = "a"\n  stack = true\n', 3, 3, "True is no size"),
        ('[[kernel]]\nstack = 3\n[[kernel]]\nname = "a"\n', 1, 1, "name: it is missing"),
        ('[[kernel]]\nname = "a"\narch = 90\n', 3, 1, "arch: it is no text"),
        ("[[kernel]]\nname = x\n", 2, 8, "Invalid value"),
        ('[[kernel]]\nname = """a\n\n', 4, 1, "(expected TOML)"),
    ],
)
def test_a_bad_budget_is_told_with_line_and_column(text, line, column, message, tmp_path, capsys):
    with pytest.raises(BudgetError) as caught:
        parse_budget(text, "kernels.toml")
    assert str(caught.value).startswith(f"kernels.toml: line {line}, column {column}: ")
    assert str(caught.value).count("line ") == 1
    assert "--match" not in str(caught.value)
    assert message in str(caught.value)
    file = tmp_path / "kernels.toml"
    file.write_text(text)
    assert main(["budget", "check", str(KERNELS), "--budget", str(file)]) == 2
    assert "line " in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["look", str(KERNELS)],
        [],
        ["check", str(KERNELS), "--allow", "worst"],
        ["check", "absent.cubin"],
        ["check", str(KERNELS), "--budget", "absent.toml"],
    ],
)
def test_what_cannot_be_used(words):
    assert main(["budget", *words]) == 2


def test_reports(budget, tmp_path, capsys):
    text = budget.read_text().replace("registers = 4\n", "registers = 3\n", 1)
    budget.write_text(text.replace('name = "empty"', 'name = "<void>"'))
    sarif, junit = tmp_path / "out.sarif", tmp_path / "out.xml"
    words = ["budget", "check", str(KERNELS), "--budget", str(budget)]
    assert main([*words, "--sarif-out", str(sarif), "--junit-out", str(junit), "--github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    log = json.loads(sarif.read_text())
    (run,) = log["runs"]
    assert len(run["results"]) == len(lines) == 3
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    marks = set()
    for result, line in zip(run["results"], lines, strict=True):
        start = result["locations"][0]["physicalLocation"]["region"]["startLine"]
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert line.startswith(("::error file=", "::warning file="))
        assert f"line={start},title={result['ruleId']}" in line
        marks.add(result["partialFingerprints"]["cubinspecBudget/v1"])
    assert len(marks) == 3
    suite = ElementTree.fromstring(junit.read_text())
    assert (suite.get("tests"), suite.get("failures")) == ("3", "3")
    assert main([*words, "--json"]) == 1
    records = json.loads(capsys.readouterr().out)
    schema = Path(cubinspec.__file__).with_name("schema") / "budget.schema.json"
    Draft202012Validator(json.loads(schema.read_text())).validate(records)


def test_reports_fail_nothing_that_is_allowed(budget, tmp_path, capsys):
    text = budget.read_text().replace("registers = 4\n", "registers = 3\n", 1)
    budget.write_text(text.replace('name = "empty"', 'name = "void"'))
    sarif, junit = tmp_path / "out.sarif", tmp_path / "out.xml"
    words = ["budget", "check", str(KERNELS), "--budget", str(budget), "--allow", "new,gone"]
    assert main([*words, "--sarif-out", str(sarif), "--junit-out", str(junit), "--github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in lines) == ["::error", "::notice", "::notice"]
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    levels = {result["ruleId"]: result["level"] for result in results}
    assert levels == {"budget/worse": "error", "budget/gone": "note", "budget/new": "note"}
    suite = ElementTree.fromstring(junit.read_text())
    assert [suite.get(word) for word in ("tests", "failures", "errors", "skipped")] == [*"3102"]
    assert len(suite.findall("testcase/skipped")) == 2


def test_what_cannot_be_read_is_a_row_and_the_rest_is_checked(budget, tmp_path, capsys):
    """A kernel that seems to be gone may be in the file that was not read."""
    text = budget.read_text().replace("registers = 4\n", "registers = 3\n", 1)
    budget.write_text(text.replace('name = "empty"', 'name = "elsewhere"'))
    bad, absent = tmp_path / "bad.cubin", tmp_path / "absent.cubin"
    bad.write_bytes(KERNELS.read_bytes()[:900])
    words = ["budget", "check", str(bad), str(absent), str(KERNELS), "--budget", str(budget)]
    sarif, junit = tmp_path / "out.sarif", tmp_path / "out.xml"
    assert main([*words, "--sarif-out", str(sarif), "--junit-out", str(junit)]) == 2
    *lines, counts = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["unread", "unread", "worse", "new"]
    assert f"{bad}: 0x" in lines[0]
    assert f"{absent}: cannot be opened" in lines[1]
    assert counts == "2 unread, 1 worse, 1 new"
    (run,) = json.loads(sarif.read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]].count("budget/unread") == 2
    marks = {result["partialFingerprints"]["cubinspecBudget/v1"] for result in run["results"]}
    assert len(marks) == 4
    suite = ElementTree.fromstring(junit.read_text())
    assert [suite.get(word) for word in ("tests", "failures", "errors")] == ["4", "2", "2"]
    assert len(suite.findall("testcase/error")) == 2
    assert main([*words, "--json"]) == 2
    records = json.loads(capsys.readouterr().out)
    schema = Path(cubinspec.__file__).with_name("schema") / "budget.schema.json"
    Draft202012Validator(json.loads(schema.read_text())).validate(records)
    for action in ("init", "update"):
        other = tmp_path / f"{action}.toml"
        assert main(["budget", action, str(bad), str(KERNELS), "--budget", str(other)]) == 2
        assert not other.exists()


def test_the_plugin(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        f"FILE = {str(KERNELS)!r}\n"
        "def test_first(cubin_budget):\n    cubin_budget(FILE)\n"
        "@pytest.mark.cubin_budget(budget='b.toml', allow=['better'])\n"
        "def test_second(cubin_budget):\n    cubin_budget(FILE)\n"
    )
    # By the name of its entry point, where there is one; other plugins take longer to load.
    plugin = "cubinspec" if "cubinspec" in _plugins() else "cubinspec.pytest_plugin"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def run(*words):
        done = subprocess.run(
            [*command, *words, str(tmp_path)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=alone,
        )
        return done.returncode, done.stdout

    assert run("--cubin-update")[0] == 0
    assert run()[0] == 0
    for name in ("kernels.toml", "b.toml"):
        file = tmp_path / name
        file.write_text(file.read_text().replace("registers = 4\n", "registers = 5\n", 1))
    status, out = run()
    assert status == 1
    assert "1 failed, 1 passed" in out
    assert "kernels.toml:3: better: any_barrier: registers 4, expected 5" in out
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(KERNELS.read_bytes()[:900])
    (tmp_path / "test_other.py").write_text(
        f"import pytest\nFILES = {[str(bad), str(KERNELS)]!r}\n"
        "def test_broken(cubin_budget):\n    cubin_budget(*FILES)\n"
        "def test_absent(cubin_budget):\n    cubin_budget(FILES[1], budget='no.toml')\n"
        "def test_words(cubin_budget):\n    cubin_budget(FILES[1], allow=['beter'])\n"
        "@pytest.mark.cubin_budget('c.toml', buget='b.toml')\n"
        "def test_marker(cubin_budget):\n    cubin_budget(FILES[1])\n"
        "def test_nothing(cubin_budget):\n    cubin_budget(FILES[1], __file__)\n"
    )
    _, out = run("test_other.py")
    assert f"kernels.toml:1: unread: {bad}: " in out  # and the rest is checked
    assert "kernels.toml:3: better: any_barrier" in out
    assert "no cubin was found in it" in out
    assert "allow takes worse, lint, gone, new, expired, better, not beter" in out
    assert "the marker cubin_budget takes budget, allow, not 'c.toml', buget" in out
    assert "no.toml: the budget cannot be read" in out
    assert "--cubin-update makes it" in out
    assert "errors.py" not in out  # no lines of ours
    assert run("--cubin-update")[0] == 1  # a budget of some files would lose the others
    (tmp_path / "test_other.py").unlink()
    assert run("--cubin-update")[0] == 0
    assert run()[0] == 0


def _plugins():
    from importlib.metadata import entry_points

    return {point.name for point in entry_points(group="pytest11")}


def runs_step(condition: str, inputs: dict[str, str], failed: bool) -> bool:
    """Whether a step of an action is taken, as GitHub reads its condition."""
    parts = condition.removeprefix("${{").removesuffix("}}").strip().split(" && ")
    if "!cancelled()" in parts:
        parts.remove("!cancelled()")
    elif failed:
        return False
    found = []
    for part in parts:
        name, how, value = re.fullmatch(r"inputs\.([\w-]+) (!=|==) '(\w*)'", part).groups()
        found.append((inputs[name] == value) == (how == "=="))
    return all(found)


@pytest.mark.parametrize("upload", ["false", "true"])
def test_the_action_does_what_its_steps_say(budget, tmp_path, upload):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    worse = tmp_path / "new.cubin"
    text = to_yaml(KERNELS.read_bytes()).replace("registers: 4}", "registers: 24}", 1)
    worse.write_bytes(from_yaml(text))
    inputs = {name: row.get("default", "") for name, row in action["inputs"].items()}
    inputs |= {"old": str(KERNELS), "new": str(worse), "budget": str(budget), "upload": upload}
    summary = tmp_path / "summary.md"
    shell = f'cubinspec() {{ "{sys.executable}" -m cubinspec "$@"; }}\n'
    statuses = {}
    for step in action["runs"]["steps"]:
        if step["name"] == "Install":
            continue
        if not runs_step(step["if"], inputs, any(statuses.values())):
            continue
        if "uses" in step:
            statuses[step["name"]] = 0
            assert (tmp_path / step["with"]["sarif_file"]).is_file()
            continue
        environment = {
            name: inputs[re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)[1]]
            for name, value in step["env"].items()
        }
        done = subprocess.run(
            ["bash", "-e", "-c", shell + step["run"]],
            env={**os.environ, **environment, "GITHUB_STEP_SUMMARY": str(summary)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        statuses[step["name"]] = done.returncode
    more = {"Upload": 0} if upload == "true" else {}
    assert statuses == {"Compare": 1, "Budget": 1, **more}
    assert "4 → 24 (+20)" in summary.read_text()
    assert json.loads((tmp_path / "budget.sarif").read_text())["runs"][0]["results"]


def test_the_hooks_name_commands_that_are_there():
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()):
        program, command, *_ = hook["entry"].split()
        assert program == "cubinspec"
        assert main([command, "--help"]) == 0


def test_the_hook_checks_the_files_of_a_commit_only(tmp_path, monkeypatch, capsys):
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (hook,) = [each for each in hooks if each["id"] == "cubin-budget"]
    monkeypatch.chdir(tmp_path)
    names = ["cluster_sm90.sm_90.exe.cubin", "calls.sm_90.rel.cubin"]
    for name in names:
        shutil.copy(DATA / name, tmp_path)
    assert main(["budget", "init", *names]) == 0
    command = [*hook["entry"].split()[1:], *hook["args"]]
    assert main([*command, names[0]]) == 0
    assert main(["set", names[0], "--kernel", "bulk", "--registers", "72", "-o", "new.cubin"]) == 0
    assert main([*command, "new.cubin"]) == 1
    assert "registers 72, expected 6" in capsys.readouterr().out
