"""How much of the packages a type checker understands, as pyright measures it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Part of the public names that must have a known type.
LEAST = 0.95


def pyright() -> list[str]:
    """The words that start pyright; where it was not installed, or node is missing, a skip."""
    beside = Path(sys.executable).with_name("pyright")
    program = str(beside) if beside.exists() else shutil.which("pyright")
    if program is None or shutil.which("node") is None:
        pytest.skip("pyright (which needs node) is not installed")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("pyright does not start: it fetches its program when it is first used")
    return [program]


@pytest.mark.parametrize("package", ["cubinspec", "cubinspec_writer"])
def test_public_names_have_types(package: str) -> None:
    words = ["--pythonpath", sys.executable, "--ignoreexternal", "--outputjson"]
    # pyright does not follow the .pth file of an editable installation here.
    sources = os.pathsep.join(str(ROOT / name) for name in ("src", "writer", "generated/python"))
    done = subprocess.run(
        [*pyright(), *words, "--verifytypes", package],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": sources},
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)["typeCompleteness"]
    unknown = [
        symbol["name"]
        for symbol in found["symbols"]
        if symbol["isExported"] and not (symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"])
    ]
    assert found["completenessScore"] >= LEAST, unknown[:20]
