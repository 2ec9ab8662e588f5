"""`host`: what a host file registers and uses. The files are those of tests/data/builds."""

from __future__ import annotations

import contextlib
import gzip
import json
import operator
from pathlib import Path
from typing import Any

import pytest

import cubinspec
from cubinspec.cli import main
from cubinspec.containers.host_names import Patterns, host_names, texts_among
from cubinspec.containers.identify import identify
from cubinspec.containers.source import BytesSource
from cubinspec.errors import CubinError
from cubinspec_generated import records
from cubinspec_generated.codes import (
    EI_NIDENT,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_PROGBITS,
    SHT_RELA,
)
from tools.corpus.containers import pe_host
from tools.corpus.samples import CUBINS

BUILDS = Path(__file__).parents[1] / "data" / "builds"

KERNELS = {"_Z8launchedPi", "_Z12own_launchedPi", "_Z4madeILi5EEvPi", "_Z14never_launchedPi"}
VARIABLES = {"counter", "idle", "own_counter"}
CONSTANTS = {"table", "own_table"}
MANAGED = {"shared_counter"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host files, unpacked."""
    found = tmp_path_factory.mktemp("hosts")
    for name in ("host.o", "host.rdc.o", "host.so", "host_windows.obj"):
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


def test_an_object_of_windows_tells_what_the_other_tells(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    found, other = (record(capsys, folder / name) for name in ("host_windows.obj", "host.rdc.o"))
    assert found["is_object"]
    assert found["module"] == other["module"]
    key = operator.itemgetter("kind", "linkage", "pattern")
    assert sorted(map(key, found["uses"])) == sorted(map(key, other["uses"]))
    unregistered = {item["name"] for item in found["names"] if not item["registered"]}
    assert unregistered == {"idle", "shared_counter"}
    for ours, theirs in zip(found["names"], other["names"], strict=True):
        assert ours == theirs | {"registered": ours["name"] not in unregistered}


def test_images_in_an_object_of_windows_have_section_module_and_wrapper(folder: Path) -> None:
    (image, _) = cubinspec.images(str(folder / "host_windows.obj"))
    *_, step, _ = image.provenance
    assert step.section == "__nv_relfatbin"
    assert step.wrapper is not None
    assert step.wrapper.container == step.offset
    assert image.module == "_4842af2b_7_host_cu_3040c4ba"
    assert identify(str(folder / "host_windows.obj")).text == (
        "a COFF object (Windows) with 2 images of device code"
    )


def test_a_cut_object_of_windows_is_refused_with_its_place(folder: Path) -> None:
    data = (folder / "host_windows.obj").read_bytes()
    with pytest.raises(CubinError) as caught:
        host_names(BytesSource(data[:4000], "cut.obj"), "coff")
    assert (caught.value.file, caught.value.offset) == ("cut.obj", 8)
    for end in range(0, len(data), 97):
        damaged = data[:end] + b"\xff" * 40 + data[end + 40 :]
        with contextlib.suppress(CubinError):
            host_names(BytesSource(damaged, "damaged.obj"), "coff")


def test_names_in_a_library_of_windows_stand_in_its_data(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    (image, _) = cubinspec.images(str(folder / "host.o"))
    step = image.provenance[-2]
    code = (folder / "host.o").read_bytes()[step.offset : step.offset + step.size]
    library = tmp_path / "library.dll"
    library.write_bytes(pe_host(code, b"\0_Z8launchedPi\0my idle\0counters\0"))
    found = record(capsys, library)
    assert not found["is_object"]
    registered = {item["name"] for item in found["names"] if item["registered"]}
    assert registered == {"_Z8launchedPi", "idle"}


def test_code_in_the_data_of_a_library_does_not_count_as_its_texts(tmp_path: Path) -> None:
    """Bare images name their kernels themselves (`curand64_10.dll` has some in `.data`)."""
    library = pe_host(b"", b"\0kernel\0other\0")
    start = library.index(b"\0kernel\0")
    names = {"kernel", "other"}
    assert texts_among(BytesSource(library, "a.dll"), names, "pe") == names
    images = [(start, start + 8)]
    assert texts_among(BytesSource(library, "a.dll"), names, "pe", images) == {"other"}


def test_members_of_a_windows_library_have_their_names(folder: Path) -> None:
    data = (folder / "host_windows.obj").read_bytes()
    names = b"a_long_folder\\host_windows.obj\0another\0"
    head = "{:16}{:12}{:6}{:6}{:8}{:<10}`\n"
    library = b"!<arch>\n" + head.format("//", 0, 0, 0, 0, len(names)).encode() + names
    library += bytes(len(names) & 1) + head.format("/0", 0, 0, 0, 0, len(data)).encode() + data
    (image, *_) = cubinspec.images(library, name="x.lib")
    assert image.provenance[1].name == "a_long_folder\\host_windows.obj"


def test_a_file_without_device_code_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "text"
    file.write_text("nothing")
    assert main(["host", str(file)]) == 1
    assert "no host file with device code" in capsys.readouterr().err


def test_a_cubin_without_a_host_file_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["host", str(CUBINS / "calls.sm_90.rel.cubin")]) == 1
    assert "no host file with device code" in capsys.readouterr().err


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


def with_functions(host: bytes, count: int) -> bytes:
    """A host object with so many more sections of code, each with a table of relocations."""
    elf = bytearray(host)
    header = records.ELF_HEADER_64.unpack_from(elf, EI_NIDENT)
    _, _, _, _, _, e_shoff, _, _, _, _, row, sections, _ = header
    table = elf[e_shoff : e_shoff + sections * row]
    for at in range(sections, sections + 2 * count, 2):
        code = 0, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0, 0, 0, 0, 1, 0
        relocations = 0, SHT_RELA, 0, 0, 0, 0, 0, at, 8, records.RELA_64.size
        for fields in (code, relocations):
            table += records.SECTION_HEADER_64.pack(*fields)
    moved = list(header)
    moved[5], moved[11] = len(elf), len(table) // row
    records.ELF_HEADER_64.pack_into(elf, EI_NIDENT, *moved)
    return bytes(elf + table)


def test_a_section_for_each_of_many_functions_is_no_attack(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # objects with many templates have this; searching all sections for each one spent the budget
    plain_file = folder / "host.o"
    many = tmp_path / "host.o"
    many.write_bytes(with_functions(plain_file.read_bytes(), 2000))
    assert record(capsys, many)["names"] == record(capsys, plain_file)["names"]


def test_what_is_no_host_file_is_said_to_be_what_it_is(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cubin = tmp_path / "k.cubin"
    cubin.write_bytes((BUILDS.parent / "cubins" / "small.sm_90.exe.cubin").read_bytes())
    assert main(["host", str(cubin), str(tmp_path / "absent"), str(folder / "host.o")]) == 1
    printed = capsys.readouterr()
    assert "host.o" in printed.out
    assert f"{cubin}: this is a cubin; no host file with device code was found in it" in printed.err
    assert printed.err.count("absent") == 1
