"""The specs in other languages: all targets of the compiler, and the Web IDE's pipeline."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.gen import kaitai

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="node and npm are not here"
)


def documented() -> dict[str, str]:
    """Target -> what docs/targets.md says about compiling it."""
    text = (ROOT / "docs/targets.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", text, re.M))


def test_every_target_compiles_as_documented() -> None:
    failures = kaitai.npm_failures(ROOT / "ksy")
    assert len(failures) == 15
    said = documented()
    assert set(said) == set(failures)
    assert {target: said[target] == "yes" for target in said} == {
        target: not specs for target, specs in failures.items()
    }


def walk_in_node(spec: str, files: list[Path]) -> subprocess.CompletedProcess[str]:
    kaitai.ensure_npm()
    command = ["node", str(kaitai.HERE / "walk.js"), str(ROOT / "ksy"), spec, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_the_web_ide_pipeline_reads_every_sample(samples: list[Path]) -> None:
    done = walk_in_node("elf_cuda", samples)
    bad = [line for line in done.stdout.splitlines() if ": ok, " not in line]
    assert (bad, done.stderr, done.returncode) == ([], "", 0)
    assert done.stdout.count(": ok, ") == len(samples)


def test_the_pipeline_reports_a_getter_that_fails(samples: list[Path], tmp_path: Path) -> None:
    data = bytearray(samples[0].read_bytes())
    data[18] = 62
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(data)
    done = walk_in_node("elf_cuda", [broken])
    assert done.returncode == 1
    assert "broken.cubin: FAILED" in done.stdout
