"""The bench measures what it says: time, memory, ratios; its data refers to things that exist."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.bench import __main__ as bench
from tools.bench import curves, here, machines
from tools.bench.comparisons import (
    COMPARISONS,
    PEAK_LIMITS,
    UNSYNCED,
    Command,
    Comparison,
    PeakLimit,
)
from tools.bench.inputs import GROWING, INPUTS, Images, many_ptx
from tools.bench.measure import CommandFailed, Run, Stopwatch, median
from tools.bench.modes import COMPILED, PURE, output
from tools.corpus.containers import CUBINS


@pytest.fixture
def stopwatch() -> Iterator[Stopwatch]:
    watch = Stopwatch()
    yield watch
    watch.close()


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_wall_and_cpu_time_are_told_apart(stopwatch: Stopwatch) -> None:
    run = stopwatch.run(python("import time; time.sleep(0.3)"))
    assert 0.3 <= run.wall < 3
    assert run.cpu < 0.25


def test_the_peak_is_the_childs_own(stopwatch: Stopwatch) -> None:
    ballast = bytearray(64 << 20)  # must not show up in the child's figure
    small = stopwatch.run(python("pass"))
    large = stopwatch.run(python("b = bytearray(96 << 20)"))
    assert len(ballast) == 64 << 20
    assert small.peak < 40 << 20
    assert large.peak - small.peak > 88 << 20


def test_a_failing_command_is_not_measured(stopwatch: Stopwatch) -> None:
    with pytest.raises(CommandFailed, match="exit status 3"):
        stopwatch.run(python("raise SystemExit(3)"))
    with pytest.raises(CommandFailed) as told:
        stopwatch.run(python("raise SystemExit('cubinspec: /a/folder/file: is full (/b/c d)')"))
    assert str(told.value).endswith("exit status 1; cubinspec: file: is full (c d)")


def test_the_median_is_taken_figure_by_figure() -> None:
    assert median([Run(1, 9, 5), Run(2, 7, 6), Run(9, 8, 1)]) == Run(2, 8, 5)


def test_a_missed_limit_is_seen(stopwatch: Stopwatch) -> None:
    slow = Command("slow", tuple(python("import time; time.sleep(0.1)")))
    fast = Command("fast", tuple(python("pass")))
    assert bench.compare(stopwatch, Comparison("g", slow, fast, 0.5), 0)[0].met is False
    assert bench.compare(stopwatch, Comparison("g", fast, slow, 1.0), 0)[0].met is True
    assert bench.peak(stopwatch, PeakLimit("g", fast, bytes=1 << 20)).met is False
    found = bench.compare(stopwatch, Comparison("g", slow, fast, 0.5), 0)  # one for each mode
    page = bench.page(found, [], ["a machine"])
    assert f"{len(found)} promises: {len(found)} missed, 0 not measured" in page


def test_a_peer_that_is_not_here_is_named(stopwatch: Stopwatch) -> None:
    absent = Command("absent", ("{no_such_input}",))
    bare = Command("bare", tuple(python("pass")))
    with pytest.raises(KeyError):
        bench.resolve(absent)  # a wrong name in the data is a mistake, not an absent peer
    broken = Command("broken", tuple(python("raise SystemExit(1)")))
    (row,) = bench.compare(stopwatch, Comparison("g", bare, broken, 1.0), 0)
    assert row.met is None
    assert "not measured" in row.cells[5]


def test_modes_are_measured_together_and_must_write_the_same(
    stopwatch: Stopwatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [PURE, COMPILED]
    monkeypatch.setattr(bench, "modes", lambda: both)
    monkeypatch.setattr(bench, "resolve", lambda command, mode: [*command.argv, mode.name])
    one = Command("one", tuple(python("import time; time.sleep(0.1)")))
    quick = Command("quick", tuple(python("pass")))
    rows = bench.compare(stopwatch, Comparison("g", one, quick, None, compiled=0.5), 0, least=1)
    assert [row.met for row in rows] == [True, False]
    assert [row.cells[2].partition(",")[0] for row in rows] == ["pure", "compiled"]
    telling = Command("telling", tuple(python("import sys; print(sys.argv[1])")))
    rows = bench.compare(stopwatch, Comparison("g", telling, one, None), 0, least=1)
    assert [row.met for row in rows] == [False, False]
    assert all("different bytes" in row.cells[5] for row in rows)


def test_everything_that_a_command_writes_counts(tmp_path: Path) -> None:
    def of(text: str, shown: str, status: int = 0) -> str:
        code = "import sys; open(sys.argv[2], 'w').write(sys.argv[3]); print(sys.argv[4])"
        code += f"; sys.exit({status})"
        return output([*python(code), "-o", str(tmp_path / "file"), text, shown])

    assert of("a", "b") == of("a", "b")
    assert len({of("a", "b"), of("c", "b"), of("a", "c"), of("a", "b", 1)}) == 4


def test_the_data_refers_to_inputs_and_tools_that_exist() -> None:
    commands = [side for c in COMPARISONS for side in (c.ours, c.theirs)]
    commands += [limit.ours for limit in PEAK_LIMITS]
    names = {
        word.partition("}")[0].removeprefix("{")
        for command in commands
        for word in command.argv
        if word.startswith("{")
    }
    assert names <= here.PLACES.keys() | INPUTS.keys()


def test_the_generated_source_has_two_functions_per_pair() -> None:
    text = "".join(many_ptx(3))
    assert (text.count(".entry"), text.count(".func")) == (3, 3)


def test_commands_that_are_told_not_to_wait_for_the_disk_know_how() -> None:
    told = {command.argv[1] for pair in COMPARISONS if UNSYNCED in (command := pair.ours).argv}
    assert told == {"link", "scan"}
    for name in told:
        words = [sys.executable, "-m", "cubinspec", name, "--help"]
        assert UNSYNCED in subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_an_exponent_does_not_count_the_start_of_the_process() -> None:
    sizes = [0, 10, 20, 40, 80]
    straight = [5.0 + 3 * size for size in sizes]
    square = [5.0 + 3 * size**2 for size in sizes]
    assert curves.exponent(sizes, straight) == pytest.approx(1)
    assert curves.exponent(sizes, square) == pytest.approx(2)
    # what hardly costs more than the start says nothing
    assert curves.exponent(sizes, [5.0, 5.1, 5.2, 5.1, 400]) is None


def test_curves_are_measured_and_drawn(stopwatch: Stopwatch, tmp_path: Path) -> None:
    def size_of(files: Sequence[str]) -> int:
        return sum(Path(file).stat().st_size for file in files)

    bare = Command("bare", tuple(python("pass")))
    curve = curves.Curve("name", "A title", "bytes & more", size_of, bare, bare, "a", ("b", "c"))
    monkey = {"a": "1", "b": "12", "c": "123"}
    for name, text in monkey.items():
        (tmp_path / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "LEAST_ROUNDS", 1)
        patch.setattr(here, "_input", lambda name: str(tmp_path / name))
        found = curves.measure(stopwatch, curve, 0)
    assert found["sizes"] == [1, 2, 3]
    assert found["rounds"] == 1
    labels = list(found["tools"])
    assert labels[0] == "bare, pure"
    assert labels[-1] == "bare"
    assert {figure: len(row) for figure, row in found["tools"]["bare"].items()} == {
        "wall": 3,
        "cpu": 3,
        "peak": 3,
    }
    root = ElementTree.fromstring(curves.picture(curve, found))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"wall time", "peak memory", "bytes & more", "linear", "bare, pure"} <= set(texts)


def test_the_page_of_curves_is_what_was_measured() -> None:
    stored = curves.load()
    assert curves.PAGE.read_text("utf-8") == curves.page(stored)
    for place, text in curves.pictures(stored).items():
        assert place.read_text("utf-8") == text


def test_every_input_of_a_curve_exists() -> None:
    for curve in curves.CURVES:
        assert {curve.start, *curve.inputs} <= {*INPUTS, *GROWING}
    images = GROWING["images_1000"]
    assert isinstance(images, Images)
    assert images.count == 1000


def test_an_exponent_beyond_the_limit_is_bold() -> None:
    stored = {
        "sizes": [1, 10, 20, 40],
        "rounds": 3,
        "load": 0.1,
        "tools": {
            "ours, pure": {figure: [0, 100, 400, 1600] for figure in curves.FIGURES},
            "peer": {figure: [0, 100, 400, 1600] for figure in curves.FIGURES},
        },
    }
    text = "\n".join(curves._part(curves.CURVES[0], stored))
    assert text.count("**2.00**") == 3
    assert text.count("| 2.00") == 3


def test_workers_find_what_one_process_finds(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("pyarrow")
    folder = tmp_path / "files"
    folder.mkdir()
    for sample in sorted(CUBINS.glob("kernels.*.cubin")):
        (folder / sample.name).write_bytes(sample.read_bytes())
    out = tmp_path / "rows.parquet"
    subprocess.run(machines.scan_words(str(folder), out, "--jobs", "1"), check=True)
    run, rows = machines.scan_on(2, str(folder), kill=True)
    assert rows.equals(machines.table(out))
    # half of them are done before; what nobody has fetched yet has to be done again
    assert run.repeated <= len(list(folder.iterdir())) // 2 + 1
    found = {"rounds": 1, "bytes": 1, "tasks": 2, "rows": rows.num_rows, "alone": 1.0}
    text = machines.section(found | {"workers": {"1": asdict(run), "2": asdict(run)}})
    assert f"| 2 | {run.wall} s | not known | 1.00 | {run.repeated} |" in text
    with pytest.raises(machines.WrongRows, match="exit status 1"):
        machines.scan_on(1, str(tmp_path / "absent"))
