"""NVIDIA's tools as black boxes: found or missed with a reason, ended in time."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tools import oracle
from tools.oracle import OracleError, toolchains


def test_a_tool_that_is_not_there_has_a_reason() -> None:
    why = oracle.missing("no-such-tool")
    assert why == "no-such-tool is not in this environment (pip install --group oracle)"
    with pytest.raises(OracleError, match="no-such-tool is not in this environment"):
        oracle.find("no-such-tool")


@pytest.mark.oracle("ptxas", "cuobjdump")
def test_versions_are_the_ones_the_project_pins() -> None:
    assert oracle.find("ptxas").version == "13.0.88"
    assert oracle.find("cuobjdump").version == "13.5.37"


def test_a_failing_command_is_quoted() -> None:
    command = [sys.executable, "-c", "import sys; print('half'); sys.exit('bad input')"]
    result = oracle.run(command)
    assert (result.returncode, result.stdout, result.stderr) == (1, "half\n", "bad input\n")
    with pytest.raises(OracleError, match="exit status 1\nhalf\nbad input"):
        result.check()


def test_a_command_that_cannot_start_is_an_oracle_error(tmp_path: Path) -> None:
    with pytest.raises(OracleError, match="No such file"):
        oracle.run([str(tmp_path / "nothing")])


def test_the_timeout_ends_the_children_too(tmp_path: Path) -> None:
    marker = tmp_path / "still-here"
    child = f"import time; time.sleep(2); open({str(marker)!r}, 'w')"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with pytest.raises(OracleError, match=r"still running after 0\.5 s"):
        oracle.run([sys.executable, "-c", parent], timeout=0.5)
    time.sleep(2.5)
    assert not marker.exists()


def test_every_toolchain_names_its_wheel() -> None:
    for label, entry in toolchains.TABLE.items():
        assert len(entry["sha256"]) == 64, label
        assert entry["files"], label
