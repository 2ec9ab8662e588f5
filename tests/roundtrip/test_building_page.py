"""What docs/building.md shows can be run, and makes what ptxas makes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from cubinspec import Cubin
from cubinspec.cli import main
from cubinspec_writer.checker import check
from tests.roundtrip.symbolic import differences
from tools.oracle import Tool

PAGE = (Path(__file__).parents[2] / "docs" / "building.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
STORE = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 out, .param .u32 value) {
 .reg .b32 %r<3>; .reg .b64 %d<3>;
 ld.param.u64 %d1, [out]; ld.param.u32 %r1, [value]; mov.u32 %r2, %tid.x;
 mad.wide.u32 %d2, %r2, 4, %d1; st.global.u32 [%d2], %r1; ret; }
"""


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is defined after all blocks of the page."""
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, "building.md", "exec"), found)
    return found


def test_the_blocks_run_and_their_files_are_good(names: dict[str, Any], tmp_path: Path) -> None:
    assert check((tmp_path / "store.cubin").read_bytes(), "store") == []
    assert check(names["data"], "data") == []
    cubin = Cubin.parse(names["data"])
    (kernel,) = cubin.kernels
    assert (kernel.shared, kernel.barriers) == (1024, 1)
    assert [edge.callee for edge in cubin.callgraph.calls] == ["helper", "elsewhere"]  # type: ignore[union-attr]


@pytest.mark.usefixtures("names")
def test_the_command_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```console\n\$ cubinspec ([^\n]+)\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    assert main(shlex.split(found[1])) == 0
    assert capsys.readouterr().out == found[2]


@pytest.mark.oracle("ptxas")
@pytest.mark.usefixtures("names")
def test_ptxas_makes_the_same_kernel(ptxas: Tool, tmp_path: Path) -> None:
    """The tool note and the frame data, which nobody gave, are all that differs."""
    (tmp_path / "store.ptx").write_text(STORE)
    ptxas.run("-arch=sm_90", tmp_path / "store.ptx", "-o", tmp_path / "theirs.cubin").check()
    theirs = (tmp_path / "theirs.cubin").read_bytes()
    found = differences(theirs, (tmp_path / "store.cubin").read_bytes())
    assert found == {"contents of .note.nv.tkinfo", "contents of .debug_frame"}
