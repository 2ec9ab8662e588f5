"""The commands print what they printed when their output was last reviewed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).parent
CUBINS = HERE.parent / "data" / "cubins"
COMMANDS: dict[str, list[str]] = yaml.safe_load(
    (HERE / "commands.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_reviewed(name: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "cubinspec", *COMMANDS[name]],
        cwd=CUBINS,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"},
        capture_output=True,
        check=False,
    )
    text = result.stdout.decode("utf-8")
    assert (result.returncode, result.stderr) == (0, b""), result.stderr.decode()
    expected = HERE / "expected" / f"{name}.txt"
    if os.environ.get("BLESS"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


def test_every_kept_output_belongs_to_a_command() -> None:
    assert {path.stem for path in (HERE / "expected").iterdir()} == COMMANDS.keys()
