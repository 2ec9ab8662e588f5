"""Twice as many things take at most 2.5 times the calls, the memory and the output."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from cubinspec_writer.builder import CubinBuilder, Relocation
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


@pytest.mark.parametrize("form", ["relocatable", "library", "for debuggers", "shared"])
def test_building_grows_with_what_is_built(form: str) -> None:
    """Functions with a variable each; calls that the interpreter counts."""

    def built(number: int) -> int:
        builder = CubinBuilder("sm_90", relocatable=form != "for debuggers")
        builder.for_debugger = form == "for debuggers"
        for at in range(number):
            if form in ("library", "shared"):
                function = builder.function(f"f{at}", scaling.CODE, registers=8)
            else:
                function = builder.kernel(f"f{at}", scaling.CODE, registers=8, exit_offsets=[0])
            space = "shared" if form == "shared" else "global"
            builder.variable(f"v{at}", space, None if space == "shared" else b"1234", size=4)
            if builder.relocatable:
                kind = "R_CUDA_ABS32_LO_32"
                function.relocations.append(Relocation(16, kind, f"v{at}"))
        return scaling.calls_of(builder.to_bytes)

    built(10)
    counts = [built(100 * step) for step in (1, 2, 4)]
    assert all(after <= scaling.MOST * before for before, after in pairwise(counts)), counts
