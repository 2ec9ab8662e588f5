"""The commands that take containers: text, JSON, CSV, filters, exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from cubinspec import Cubin
from cubinspec.cli import main
from cubinspec.containers import identify, images
from cubinspec.containers.fatbin_write import compact_ptx
from cubinspec.report.names import matcher, readable
from cubinspec.report.size import measure
from tools.corpus.containers import (
    PTX,
    ar_of,
    cubin,
    elf_host,
    simple_fatbin,
    tar_of,
    zip_of,
)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel with a library, a bare cubin and a text file."""
    path = tmp_path / "pkg-1-py3-none-any.whl"
    path.write_bytes(
        zip_of(
            {
                "pkg/lib.so": elf_host({".text": b"t" * 999, ".nv_fatbin": simple_fatbin()}),
                "pkg/k.cubin": cubin("calls.sm_90.rel.cubin"),
                "pkg/readme.txt": b"text\n" * 50,
                "pkg-1.dist-info/WHEEL": b"Wheel-Version: 1.0\n",
            }
        )
    )
    return path


def output(capsys: pytest.CaptureFixture[str], *words: object, status: int = 0) -> str:
    """Standard output of a command that ends with ``status``."""
    assert main([str(word) for word in words]) == status
    return capsys.readouterr().out


def loaded(capsys: pytest.CaptureFixture[str], *words: object, status: int = 0) -> Any:
    """JSON output of a command."""
    return json.loads(output(capsys, *words, "--json", status=status))


def test_images_lists_without_opening(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = loaded(capsys, "images", wheel)
    assert [r["kind"] for r in records] == ["cubin", "cubin", "ptx", "cubin"]
    assert records[0]["provenance"][1] == {
        "kind": "member",
        "name": "pkg/lib.so",
        "offset": 0,
        "size": records[0]["provenance"][1]["size"],
    }
    assert records[1]["arch"] == "sm_100"
    text = output(capsys, "images", wheel, "--arch", "90")
    assert text.splitlines()[0] == f"{wheel}:"  # the path once, as a heading
    assert len(text.splitlines()) == 4
    rows = list(csv.DictReader(io.StringIO(output(capsys, "images", wheel, "--csv"))))
    assert [row["arch"] for row in rows] == ["sm_90", "sm_100", "compute_80", "sm_90"]


@pytest.mark.parametrize(("command", "places"), [("kernels", 3), ("ptx", 0)])
def test_the_path_of_the_file_stands_once_above_its_images(
    command: str, places: int, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = output(capsys, command, wheel).splitlines()
    assert lines[0] == f"{wheel}:"
    assert sum(str(wheel) in line for line in lines) == 1
    titles = [line for line in lines[1:] if line.endswith(":")]
    assert len(titles) == places
    assert titles[:1] == ["pkg/lib.so → fatbin 0 → entry 0:"][:places]


def test_kernels_of_a_container_are_those_of_its_cubins(
    wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = loaded(capsys, "kernels", wheel)
    expected = [
        (kernel.name, kernel.registers, kernel.code_size)
        for name in ("calls.sm_90.exe", "calls.sm_100.exe", "calls.sm_90.rel")
        for kernel in sorted(
            Cubin.parse(cubin(f"{name}.cubin")).kernels, key=lambda kernel: kernel.name
        )
    ]
    assert [(r["name"], r["registers"], r["code_size"]) for r in records] == expected
    assert {r["file"] for r in records} == {str(wheel)}
    names = [step["name"] for step in records[0]["provenance"]]
    assert names == [str(wheel), "pkg/lib.so", "fatbin 0", "entry 0"]
    assert records[0]["demangled"] == readable(records[0]["name"])


def test_kernels_filters_sorts_and_writes_csv(
    wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {r["arch"] for r in loaded(capsys, "kernels", wheel, "--arch", "sm_100")} == {"sm_100"}
    everything = loaded(capsys, "kernels", wheel, "--all", "--sort", "registers")
    registers = [r["registers"] or 0 for r in everything]
    assert registers == sorted(registers, reverse=True)
    matching = {r["name"] for r in loaded(capsys, "kernels", wheel, "--all", "--match", "leaf")}
    assert matching == {r["name"] for r in everything if "leaf" in r["name"]} != set()
    assert loaded(capsys, "kernels", wheel, "--match", "no such kernel", status=1) == []
    rows = list(csv.DictReader(io.StringIO(output(capsys, "kernels", wheel, "--csv"))))
    assert len(rows) == len(loaded(capsys, "kernels", wheel))
    assert main(["kernels", str(wheel), "--sort", "colour"]) == 2
    assert main(["kernels", str(wheel), "--arch", "hopper"]) == 2


def test_kernels_in_processes_are_the_same(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = output(capsys, "kernels", wheel, "--json", "--jobs", "1")
    assert output(capsys, "kernels", wheel, "--json", "--jobs", "3") == one


def test_a_plain_cubin_does_not_load_the_container_code(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = tmp_path / "k.cubin"
    path.write_bytes(cubin())
    program = (
        "import sys; from cubinspec.cli import main; main(['kernels', sys.argv[1]]); "
        "print([m for m in sys.modules if 'containers' in m or m in "
        "('zipfile','tarfile','re','cramjam','backports','dataclasses','multiprocessing')], "
        "file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stderr.strip() == "[]"


def test_params_ptx_and_extract(
    wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, *_) = loaded(capsys, "params", wheel)
    kernel = next(
        k for k in Cubin.parse(cubin("calls.sm_90.exe.cubin")).kernels if k.name == first["name"]
    )
    assert [(p["ordinal"], p["offset"], p["size"]) for p in first["params"]] == sorted(
        (p.ordinal, p.offset, p.size) for p in kernel.params
    )
    (ptx,) = loaded(capsys, "ptx", wheel)
    assert (ptx["arch"], ptx["version"], ptx["entries"]) == ("compute_80", "8.0", ["k"])
    assert ".visible .entry k()" in output(capsys, "ptx", wheel, "--print")
    out = tmp_path / "out"
    output(capsys, "extract", wheel, "-o", out)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == {
        "lib.so.f0.e0.sm_90.cubin": cubin(),
        "lib.so.f0.e1.sm_100.cubin": cubin("calls.sm_100.exe.cubin"),
        "lib.so.f0.e2.compute_80.ptx": compact_ptx(PTX),
        "k.sm_90.cubin": cubin("calls.sm_90.rel.cubin"),
    }


def test_extract_keeps_equal_names_apart_and_equal_bytes_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(
        zip_of(
            {"a/k.cubin": cubin(), "b/k.cubin": cubin("calls.sm_90.rel.cubin"), "c.bin": cubin()}
        )
    )
    output(capsys, "extract", path, "-o", tmp_path / "all")
    assert sorted(p.name for p in (tmp_path / "all").iterdir()) == [
        *("c.bin.sm_90.cubin", "k.sm_90.2.cubin", "k.sm_90.cubin"),
    ]
    output(capsys, "extract", path, "-o", tmp_path / "unique", "--unique")
    assert len(list((tmp_path / "unique").iterdir())) == 2


def test_pack_and_extract_are_inverse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("calls.sm_90.exe.cubin", "calls.sm_100.exe.cubin"):
        (tmp_path / name).write_bytes(cubin(name))
    (tmp_path / "k.ptx").write_bytes(PTX)
    packed = tmp_path / "out.fatbin"
    words = [tmp_path / "calls.sm_90.exe.cubin", f"{tmp_path}/calls.sm_100.exe.cubin=sm_100f"]
    for mode in ("default", "size", "speed", "none"):
        output(capsys, "pack", *words, tmp_path / "k.ptx", "-o", packed, "--compress", mode)
        found = list(images(packed))
        assert [image.arch for image in found] == ["sm_90", "sm_100f", "compute_80"]
        assert found[0].data == cubin("calls.sm_90.exe.cubin")
    assert main(["pack", str(tmp_path / "missing"), "-o", str(packed)]) == 1
    assert main(["pack", str(tmp_path / "k.ptx"), "-o", str(packed), "--compress", "best"]) == 2
    assert "missing" in capsys.readouterr().err


def test_archs_answers_and_its_exit_code(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (report,) = loaded(capsys, "archs", wheel)
    answers = {record["gpu"]: record for record in report["gpus"]}
    assert answers["sm_90"]["runs"] == "yes"
    assert answers["sm_90"]["by"][0]["rule"] == "native"
    assert answers["sm_103"]["runs"] == "partly"  # the bare cubin is for sm_90 alone
    assert answers["sm_75"]["runs"] == "no"
    assert "sm_90" in output(capsys, "archs", wheel, "--require", "sm_90")
    assert main(["archs", str(wheel), "--require", "sm_90,sm_103"]) == 1
    assert "sm_103" in capsys.readouterr().err
    assert main(["archs", str(wheel), "--require", "sm_103", "--partly"]) == 0
    assert main(["archs", str(wheel), "--require", "sm_999"]) == 2


@pytest.mark.parametrize("shape", ["wheel", "tar.gz", "folder", "so", "fatbin", "cubin", "ar"])
def test_every_view_of_size_sums_to_the_file(shape: str, tmp_path: Path) -> None:
    library = elf_host({".text": b"t" * 999, ".nv_fatbin": simple_fatbin(), ".rodata": cubin()})
    members = {"a.so": library, "b.txt": b"text\n" * 300, "c.cubin": cubin(), "d.so": library}
    path = tmp_path / f"x.{shape}"
    if shape == "folder":
        path.mkdir()
        for name, data in members.items():
            (path / name).write_bytes(data)
    else:
        path.write_bytes(
            {
                "wheel": lambda: zip_of(members),
                "tar.gz": lambda: tar_of(members, "w:gz"),
                "ar": lambda: ar_of(members),
                "so": lambda: library,
                "fatbin": simple_fatbin,
                "cubin": cubin,
            }[shape]()
        )
    report = measure(str(path))
    files = [path] if path.is_file() else list(path.iterdir())
    assert report.total == sum(file.stat().st_size for file in files)
    assert not report.faults
    for view in report.views:
        rows = view.table(report.total)
        assert sum(row[1] for row in rows) == report.total, view.title
        assert all(row[1] >= 0 for row in rows)
    if shape in ("wheel", "tar.gz", "folder", "ar"):
        copies = {len(copies.places) for _, _, copies in report.duplicate_images}
        assert copies == {2, 5}  # each image of the library, and the sm_90 cubin everywhere


def test_size_prints_what_it_measures(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = loaded(capsys, "size", wheel)
    assert record["size"] == wheel.stat().st_size
    assert sum(row["file_bytes"] for row in record["by_section"]) == record["size"]
    text = output(capsys, "size", wheel, "--by", "arch,kernel", "--top", "3")
    assert "by arch" in text
    assert "by file" not in text
    assert "100.00 %" in text
    rows = list(csv.DictReader(io.StringIO(output(capsys, "size", wheel, "--csv"))))
    assert {row["view"] for row in rows} == {"file", "content", "arch", "section", "kernel"}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "an empty file"),
        (simple_fatbin(), "a fatbin with 3 images"),
        (cubin(), "a cubin"),
        (cubin()[:3000], "a cubin cut off at 3000 bytes"),
        (PTX, "PTX text"),
        (b"// just\n// a comment\n", "a text file"),
        (
            elf_host({".nv_fatbin": simple_fatbin()}),
            "an x86-64 ELF shared object with 3 images of device code",
        ),
        (elf_host({}, machine=183), "an AArch64 ELF shared object without device code"),
        (b"MZ" + bytes(64), "a PE file (Windows executable or DLL) without device code"),
        (zip_of({"x.dist-info/WHEEL": b""}), "a Python wheel with 1 files"),
        (ar_of({}), "an ar archive (static library)"),
        (tar_of({"a": b""}), "a tar archive"),
        (tar_of({"a": b""}, "w:gz"), "a gzip-compressed tar archive"),
        (b"\x28\xb5\x2f\xfdgarbage", "a damaged zstd-compressed file"),
        (b"BC\xc0\xde....", "LLVM bitcode"),
        (bytes(9), "9 bytes that start with zeros"),
        (b"\x01\x02\x00\x99", "a file of no known format"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # archives hold the time of day
)
def test_identify_says_what_a_file_is(data: bytes, text: str) -> None:
    assert str(identify(data)).startswith(text)


def test_names_are_read_and_matched() -> None:
    assert readable("_Z1kPii") == "k(int*, int)"
    assert readable("plain") == "plain"
    assert readable("_Znonsense!") == "_Znonsense!"
    assert matcher(None)("anything")
    assert matcher("k(int")("_Z1kPii")
    assert matcher("_Z1k*")("_Z1kPii")
    assert not matcher("k(float*")("_Z1kPii")
    assert matcher("k(int?, int)")("_Z1kPii")


def test_a_cut_cubin_has_a_row_with_its_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = cubin()[:1500]
    path = tmp_path / "cut.cubin"
    path.write_bytes(cut)
    (image,) = images(path)
    assert image.arch == ""
    assert image.error is not None
    assert image.data == cut
    assert image.error.as_dict() == image.as_dict()["error"]
    (record,) = loaded(capsys, "images", path, status=1)
    assert (record["arch"], record["kind"]) == ("", "cubin")
    assert record["error"]["field"] == "section_headers"
    assert record["provenance"][0]["name"] == str(path)
    assert main(["archs", str(path), "--require", "sm_90"]) == 1
    assert main(["images", str(path), "--arch", "sm_90"]) == 1
    assert "cut.cubin" in capsys.readouterr().err


def test_one_cut_cubin_does_not_hide_the_rest_of_a_wheel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.whl"
    path.write_bytes(zip_of({"a.cubin": cubin()[:1500], "b.cubin": cubin()}))
    assert [r["arch"] for r in loaded(capsys, "images", path, status=1)] == ["", "sm_90"]
    (report,) = loaded(capsys, "archs", path, status=1)
    assert report["targets"] == ["sm_90"]
    assert [r["kind"] for r in loaded(capsys, "scan", path, status=1)].count("cubin") > 0
