"""What the README shows is what comes out."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from cubinspec.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONSOLE = re.findall(r"```console\n\$ cubinspec ([^\n]+)\n(.*?)```", README, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def _output(call: object) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        call()  # type: ignore[operator]
    return out.getvalue()


@pytest.mark.parametrize(("command", "expected"), CONSOLE, ids=[c for c, _ in CONSOLE])
def test_shown_command_prints_what_is_shown(
    command: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert _output(lambda: main(shlex.split(command))) == expected


@pytest.mark.parametrize("code", PYTHON)
def test_shown_python_runs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert _output(lambda: exec(compile(code, "README.md", "exec"), {}))


def test_there_is_something_to_check() -> None:
    assert len(CONSOLE) >= 2
    assert PYTHON
