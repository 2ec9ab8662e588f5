"""An output that cannot be written is one line of complaint, whichever option names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec.cli import COMMANDS, load, main

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "cubins"
CUBIN = str(SAMPLES / "calls.sm_90.exe.cubin")
OTHER = str(SAMPLES / "calls.sm_75.exe.cubin")

#: Options that name a file to be written, by command.
CASES = [
    (command, option.key)
    for command in sorted(COMMANDS)
    for option in getattr(load(command), "OPTIONS", ())
    if option.value == "OUT"
]

#: What stands before the option, for commands that need more than a file.
WORDS = {
    "budget": ["check", CUBIN, "--budget", "BUDGET"],
    "diff": [CUBIN, OTHER],
    "from-yaml": ["DOCUMENT"],
    "keep": [CUBIN, "direct"],
    "remove": [CUBIN, "direct"],
    "rename": [CUBIN, "direct", "straight"],
    "retarget-note": [CUBIN, "--tool-name", "other"],
    "set": [CUBIN, "--kernel", "direct", "--registers", "40"],
    "strip": [CUBIN, "--tkinfo"],
}


def test_there_are_such_options() -> None:
    assert {"callgraph", "occupancy", "report", "diff"} <= {command for command, _ in CASES}


@pytest.mark.parametrize(("command", "option"), CASES)
def test_a_missing_folder_is_told(
    command: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "missing" / "out")
    made = {"BUDGET": str(tmp_path / "kernels.toml"), "DOCUMENT": str(tmp_path / "cubin.yaml")}
    assert main(["budget", "init", CUBIN, "--budget", made["BUDGET"]]) == 0
    assert main(["to-yaml", CUBIN, "-o", made["DOCUMENT"]]) == 0
    words = [made.get(word, word) for word in WORDS.get(command, [CUBIN])]
    status = main([command, *words, option, out])
    assert status == (2 if command in ("diff", "budget") else 1)
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["occupancy", CUBIN, "--svg", "-", "--json"],
        ["callgraph", CUBIN, "--svg", "-", "--dot", "-"],
        ["diff", CUBIN, OTHER, "--html", "-", "--markdown"],
        ["report", CUBIN, "-o", "-", "--json"],
        ["ptx", CUBIN, "--print", "--json"],
    ],
)
def test_the_standard_output_takes_one_thing(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert "exclude each other" in printed.err


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        (["occupancy", CUBIN, "--svg", "-"], "<svg", "</svg>"),
        (["occupancy", CUBIN, "--curve", "--svg", "-"], "<svg", "</svg>"),
        (["diff", CUBIN, CUBIN, "--html", "-"], "<!doctype html>", "</html>"),
    ],
)
def test_what_goes_to_the_standard_output_stands_there_alone(
    words: list[str], first: str, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.startswith(first)
    assert out.rstrip().endswith(last)


def test_json_and_a_picture_show_the_same_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "curves.svg"
    assert main(["occupancy", CUBIN, "--jsonl", "--svg", str(picture)]) == 0
    kernels = len(capsys.readouterr().out.splitlines())
    assert picture.read_text(encoding="utf-8").count("<circle") == kernels > 1


def test_the_standard_input_cannot_be_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["set", "-", "--kernel", "direct", "--registers", "40", "-i"]) == 2
    assert "-o OUT" in capsys.readouterr().err
