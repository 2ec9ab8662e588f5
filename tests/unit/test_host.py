"""`host`: which names a host object registers and uses. The files are made of builds/host.cu."""

from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import cubinspec
from cubinspec.cli import main
from cubinspec.containers.host_names import Patterns, host_names, texts_among
from cubinspec.containers.source import BytesSource
from cubinspec.errors import CubinError

BUILDS = Path(__file__).parents[1] / "data" / "builds"

KERNELS = {"_Z8launchedPi", "_Z12own_launchedPi", "_Z4madeILi5EEvPi", "_Z14never_launchedPi"}
VARIABLES = {"counter", "idle", "own_counter"}
CONSTANTS = {"table", "own_table"}
MANAGED = {"shared_counter"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host files, unpacked."""
    found = tmp_path_factory.mktemp("hosts")
    for name in ("host.o", "host.rdc.o", "host.so"):
        (found / name).write_bytes(gzip.decompress((BUILDS / f"{name}.gz").read_bytes()))
    return found


def record(capsys: pytest.CaptureFixture[str], file: Path) -> dict[str, Any]:
    assert main(["host", "--json", str(file)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def plain(name: str) -> str:
    """A name without what separate compilation puts in front of one that is not seen elsewhere."""
    return name.split("_host_cu_")[-1].split("_", 1)[-1] if "__nv_static" in name else name


@pytest.mark.parametrize("name", ["host.o", "host.so", "host.rdc.o"])
def test_each_name_of_the_source_is_registered(
    capsys: pytest.CaptureFixture[str], folder: Path, name: str
) -> None:
    names = record(capsys, folder / name)["names"]
    assert all(item["registered"] and item["archs"] == ["sm_90"] for item in names)
    by_kind: dict[str, set[str]] = {}
    for item in names:
        by_kind.setdefault(item["kind"], set()).add(plain(item["name"]))
    assert by_kind == {
        "kernel": KERNELS,
        "variable": VARIABLES,
        "constant": CONSTANTS,
        "managed variable": MANAGED,
    }


def test_what_host_code_uses_is_told_of_separate_compilation(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    found = record(capsys, folder / "host.rdc.o")
    unused = {item["name"] for item in found["names"] if item["used"] is False}
    assert unused == {"_Z14never_launchedPi", "idle"}
    assert {use["kind"] for use in found["uses"]} == {"kernel", "variable", "constant"}
    assert found["module"].endswith("_host_cu_" + found["module"].rsplit("_", 1)[-1])
    whole = record(capsys, folder / "host.o")
    assert not whole["uses"]
    assert all(item["used"] is None for item in whole["names"])


def test_a_name_that_the_host_lost_is_not_registered(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    data = (folder / "host.so").read_bytes()
    host = data.find(b"\0_Z14never_launchedPi\0")
    assert host > 0
    changed = tmp_path / "changed.so"
    changed.write_bytes(data[: host + 1] + b"X" + data[host + 2 :])
    names = record(capsys, changed)["names"]
    assert {item["name"] for item in names if not item["registered"]} == {"_Z14never_launchedPi"}


def test_images_tell_the_module(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (image, *_) = [
        image for image in cubinspec.images(str(folder / "host.rdc.o")) if image.kind == "cubin"
    ]
    assert image.module == record(capsys, folder / "host.rdc.o")["module"]
    assert image.as_dict()["module"] == image.module


def test_a_cut_host_file_is_refused_with_its_place(folder: Path) -> None:
    data = (folder / "host.o").read_bytes()
    with pytest.raises(CubinError) as caught:
        host_names(BytesSource(data[:-64], "cut.o"))
    assert caught.value.file == "cut.o"
    for end in range(0, len(data), 997):
        damaged = data[:end] + b"\xff" * 40 + data[end + 40 :]
        with contextlib.suppress(CubinError):
            host_names(BytesSource(damaged, "damaged.o"))
            texts_among(BytesSource(damaged, "damaged.o"), {"counter"})


def test_a_file_without_device_code_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "text"
    file.write_text("nothing")
    assert main(["host", str(file)]) == 1
    assert "host file with device code" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("_Z4kern*", "_Z4kernPi", True),
        ("_Z4kern*", "_Z5kernPi", False),
        ("a*5own*", "a_Z5ownPi", True),
        ("a*5own*", "a_Z6ownPi", False),
        ("table", "table", True),
        ("table", "tables", False),
    ],
)
def test_patterns(pattern: str, name: str, fits: bool) -> None:
    assert Patterns([pattern]).fits(name) is fits
