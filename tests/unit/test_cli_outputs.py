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
