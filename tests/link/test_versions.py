"""Inputs that older and newer toolkits made, together with those of CUDA 13.0."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec_writer.linker import LinkError, Named, link
from cubinspec_writer.linker.command import linker_note
from tools.corpus.samples import CUBINS
from tools.oracle import Tool

pytestmark = pytest.mark.oracle("nvlink")
PAIRS = (
    ("small.sm_90.rel.12.9.86", "calls.sm_90.rel.12.0.140", "sm_90"),
    ("cluster_sm90.sm_90.rel.12.4.131", "virtual_calls.sm_90.rel", "sm_90"),
    ("data.sm_90.rel", "calls.sm_90.rel.12.0.140", "sm_90a"),
    ("textures.sm_90.rel", "small.sm_90.rel.12.9.86", "sm_90"),
    ("calls.sm_90a.rel.12.8.93", "data.sm_90.rel", "sm_90a"),
    ("small.sm_90.rel.12.9.86", "params.sm_90a.rel.13.2.86", "sm_90a"),
    ("small.sm_100.rel.13.2.86", "data.sm_100.rel", "sm_100"),
)


@pytest.mark.parametrize(("first", "second", "arch"), PAIRS)
def test_versions_meet_as_in_nvlink(
    first: str, second: str, arch: str, nvlink: Tool, tmp_path: Path
) -> None:
    names = [f"{first}.cubin", f"{second}.cubin"]
    out = tmp_path / "out.cubin"
    theirs = nvlink.run(f"-arch={arch}", *names, "-o", out, cwd=CUBINS)
    expected = out.read_bytes() if theirs.returncode == 0 else None
    note = linker_note(expected, "nvlink") if expected else None
    inputs = [Named(name, (CUBINS / name).read_bytes()) for name in names]
    try:
        result = link(inputs, arch=arch, tkinfo=note)
        data, messages, status = result.bytes, result.messages, 0
    except LinkError as error:
        data, messages, status = None, error.messages, error.exit_code
    said = "".join(f"nvlink {level:<7} : {text}\n" for level, text in messages)
    assert (said, status) == (theirs.stderr, theirs.returncode)
    assert data == expected
