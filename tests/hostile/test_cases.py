"""Files that once did harm, each made by a line: a result or a typed error, little memory."""

from __future__ import annotations

import shlex
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml

from cubinspec.allowance import set_limits
from cubinspec.cli import main
from tools.fuzz.hostile import made_by

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())["cases"]
#: Megabytes and bytes that a command may take and print where a case does not say it.
PEAK, OUTPUT = 64, 4_000_000


@pytest.fixture(autouse=True)
def _usual_limits() -> Any:
    yield
    set_limits({})


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_case(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / case.get("file", "hostile.bin")
    path.write_bytes(made_by(case["make"]))
    out = tmp_path / "out"
    out.mkdir()
    for command in case["commands"]:
        words = [word.replace("{out}", str(out)) for word in shlex.split(command)]
        tracemalloc.start()
        try:
            status = main([*words, str(path)])
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        printed = capsys.readouterr()
        assert status in case.get("status", [0, 1]), (command, printed.err[:500])
        assert case.get("error", "") in printed.err, command
        assert "cannot be read: " not in printed.err, "an exception that nobody thought of"
        assert peak < case.get("peak", PEAK) << 20, command
        assert len(printed.out) + len(printed.err) < case.get("output", OUTPUT), command
    assert not list(out.glob(".*")), "a temporary file was left behind"


def test_a_line_that_is_no_call_of_a_generator_is_refused() -> None:
    for line in ("open('x')", "1 + 1", "ar_label(__import__('os'))"):
        with pytest.raises((KeyError, ValueError)):
            made_by(line)


def test_what_was_cut_off_is_said_once_and_a_limit_can_be_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fan.zip"
    path.write_bytes(made_by("zip_fan(4, 3)"))
    assert main(["images", "--limit", "images=10", str(path)]) == 1
    err = capsys.readouterr().err
    assert err.count("more than 10 images") == 1
    assert main(["images", "--limit", "images=64", str(path)]) == 0
    assert main(["images", str(path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 * 66


@pytest.mark.parametrize("text", ["images", "images=x", "nothing=1", "images=²"])
def test_a_wrong_limit_is_wrong_usage(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["images", "--limit", text, "absent"]) == 2
    assert "--limit needs NAME=NUMBER" in capsys.readouterr().err


def test_limits_reach_other_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.zip", "b.zip"):
        (tmp_path / name).write_bytes(made_by("zip_fan(4, 3)"))
    assert main(["scan", "--csv", "-j", "2", "--limit", "images=10", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("more than 10 images") == 2


def test_a_limit_that_nobody_knows_is_refused() -> None:
    with pytest.raises(KeyError, match="moons"):
        set_limits({"moons": 1})
