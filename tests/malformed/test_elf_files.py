"""What is no readable file, and every way in which a file can be too short."""

from __future__ import annotations

import builtins
import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from cubinspec import Cubin, CubinError, errors
from cubinspec.cli import main
from tests.malformed.recipe import SAMPLES
from tools.fuzz.walk import walk_everything

COMMANDS = ("kernels", "dump", "tree", "coverage")
SAMPLE = SAMPLES / "small.sm_90.exe.cubin"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_is_said_to_be_missing(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(tmp_path / "absent.cubin")]) == 1
    err = capsys.readouterr().err
    assert "absent.cubin" in err
    assert "No such file" in err


@pytest.mark.parametrize("command", ["dump", "tree"])
def test_a_folder_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err


def test_a_folder_is_no_cubin_for_the_library(tmp_path: Path) -> None:
    with pytest.raises(errors.FileAccessError):
        Cubin.open(str(tmp_path))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_without_permission_is_refused(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "secret.cubin"
    path.write_bytes(SAMPLE.read_bytes())
    real = builtins.open

    def refusing(file: Any, *args: Any, **options: Any) -> Any:
        if str(file) == str(path):  # the superuser, who runs tests in containers, may read it
            raise PermissionError(13, "Permission denied")
        return real(file, *args, **options)

    monkeypatch.setattr(builtins, "open", refusing)
    monkeypatch.setattr(io, "open", refusing)
    assert main([command, str(path)]) == 1
    assert "Permission denied" in capsys.readouterr().err


def test_a_device_is_refused() -> None:
    if not os.path.exists("/dev/zero"):
        pytest.skip("no /dev/zero on this system")
    with pytest.raises(errors.FileAccessError, match="device"):
        Cubin.open("/dev/zero")


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes on this system")
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(SAMPLE.read_bytes()))
    writer.start()
    with Cubin.open(str(path)) as cubin:
        assert [kernel.name for kernel in cubin.kernels] == ["small"]
    writer.join()


@pytest.mark.parametrize("size", range(65))
def test_files_of_up_to_64_bytes_are_refused(size: int) -> None:
    for content in (SAMPLE.read_bytes(), bytes(64), b"\x7fELF" * 16, b"\xff" * 64):
        with pytest.raises(CubinError) as caught:
            walk_everything(Cubin.parse(content[:size], "short.cubin")).errors[0]
        assert caught.value.file == "short.cubin"
        assert caught.value.offset is not None


@pytest.mark.parametrize(
    "stem", ["small.sm_90.rel", "small.sm_100.exe", "params_32.sm_75.exe.11.8.89"]
)
def test_a_file_may_be_cut_off_anywhere(stem: str) -> None:
    whole = (SAMPLES / f"{stem}.cubin").read_bytes()
    for size in range(64, len(whole), 97):
        try:
            cubin = Cubin.parse(whole[:size])
        except (errors.TruncatedError, errors.BadOffsetError):
            continue
        assert walk_everything(cubin).errors, f"cut off at {size}, nobody noticed"


@pytest.mark.parametrize("command", ["kernels", "dump", "coverage"])  # tree takes one file
def test_other_files_go_on_after_a_bad_one(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.cubin"
    bad.write_bytes(SAMPLE.read_bytes()[:1000])
    files = [str(SAMPLE), str(bad), str(SAMPLE)]
    assert main([command, "--json", *files]) == 1
    out, err = capsys.readouterr()
    assert [record["file"] for record in json.loads(out)] == [str(SAMPLE), str(SAMPLE)]
    assert err.count("\n") == 1
    assert err.startswith(f"cubinspec: {bad}:0x")
