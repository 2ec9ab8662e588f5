"""The npm packages are installed by one process at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.gen import kaitai

NPM = """#!/bin/sh
echo run >> ../runs
rm -rf node_modules
sleep 0.3
mkdir node_modules
touch node_modules/.package-lock.json
"""

INSTALL = """
import sys
from pathlib import Path
from tools.gen import kaitai
kaitai.HERE = Path(sys.argv[1])
kaitai.ensure_npm()
sys.exit(not (kaitai.HERE / "node_modules" / ".package-lock.json").exists())
"""


def test_processes_that_start_together_install_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for npm removes the folder first, as ``npm ci`` does."""
    (tmp_path / "npm").write_text(NPM)
    (tmp_path / "npm").chmod(0o755)
    here = tmp_path / "gen"
    here.mkdir()
    (here / "package-lock.json").write_text("{}")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", INSTALL, str(here)], cwd=Path(kaitai.__file__).parents[2]
        )
        for _ in range(4)
    ]
    assert [one.wait(timeout=60) for one in started] == [0] * 4
    assert (tmp_path / "runs").read_text().splitlines() == ["run"]
