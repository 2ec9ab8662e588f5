"""Broken files, one story each (cases.yaml): the right error, and every command refuses cleanly."""

from __future__ import annotations

import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml

from cubinspec import Cubin, CubinError, errors
from cubinspec.cli import main
from cubinspec.report.dump import dump_record
from tests.malformed.recipe import Recipe, made

CASES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8")
)["cases"]
COMMANDS = ("kernels", "dump", "tree", "coverage")
SECONDS, PEAK_BYTES = 5.0, 8 << 20

by_name = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])


def broken(case: dict[str, Any]) -> tuple[Recipe, bytes]:
    data = made(case["sample"], case.get("change", {}), case.get("patch", ()))
    return Recipe(case["sample"]), data


def test_every_case_has_a_name_and_a_story_of_its_own() -> None:
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert len({case["story"] for case in CASES}) == len(CASES)
    assert all(not set(case.get("accept", ())) - {"kernels", "tree", "coverage"} for case in CASES)


@by_name
def test_the_untouched_sample_is_fine(case: dict[str, Any]) -> None:
    recipe = Recipe(case["sample"])
    assert dump_record(recipe.cubin)["size"] == len(recipe.original)


@by_name
def test_the_error_says_what_is_wrong_and_where(case: dict[str, Any]) -> None:
    recipe, data = broken(case)
    with pytest.raises(CubinError) as caught:
        dump_record(Cubin.parse(data, "broken.cubin"))
    error = caught.value
    assert type(error) is getattr(errors, case["error"]), str(error)
    assert error.file == "broken.cubin"
    assert error.expected
    if "offset" in case:
        assert error.offset == recipe.value(case["offset"]), str(error)
    if "field" in case:
        assert (error.field or "").startswith(case["field"]), str(error)
    assert str(error).startswith("broken.cubin:0x")


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
@by_name
def test_commands_refuse_it_without_a_traceback(
    case: dict[str, Any],
    command: str,
    form: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, data = broken(case)
    path = tmp_path / "broken.cubin"
    path.write_bytes(data)
    status = main([command, str(path), *(["--json"] if form == "json" else [])])
    out, err = capsys.readouterr()
    if command in case.get("accept", ()):
        assert (status, err) == (0, "")
        return
    assert status == 1
    assert err.startswith(f"cubinspec: {path}"), err
    assert err.count("\n") == 1
    if form == "json":
        assert json.loads(out) == []


@by_name
def test_refusing_takes_little_time_and_memory(case: dict[str, Any]) -> None:
    _, data = broken(case)
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(CubinError):
            dump_record(Cubin.parse(data))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < SECONDS
    assert peak < PEAK_BYTES
