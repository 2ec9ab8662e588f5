"""Twice as many things take at most 2.5 times the calls, the memory and the output."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.fuzz import scaling


@pytest.mark.parametrize("name", scaling.CASES)
def test_work_grows_with_the_file(name: str, tmp_path: Path) -> None:
    for step in scaling.growth(scaling.CASES[name], tmp_path):
        assert all(times <= scaling.MOST for times in step.values()), step


def test_quadratic_work_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quadratic(words: list[str], _status: int) -> int:
        number = len(Path(words[0]).read_bytes())
        return sum(len(str(at)) for at in range(number * number // 100))

    monkeypatch.setattr(scaling, "run_quietly", quadratic)
    step, _ = scaling.growth(scaling.Case(bytes, 1000, "{file}"), tmp_path)
    assert step["calls"] > scaling.MOST
    assert step["output"] > scaling.MOST
