"""Separate compilation with nvcc: what is listed by default is what cuobjdump lists by default."""

from __future__ import annotations

import csv
import io
import shutil
from collections import Counter
from pathlib import Path

import pytest

from cubinspec.cli import main
from tests.differential.test_containers_cuobjdump import usage_of
from tools import oracle

FIRST = """
extern __device__ int far(int);
__global__ void one(int *p) { *p = far(*p); }
__global__ void two(int *p, int n) { *p = far(n); }
"""
SECOND = """
__device__ __noinline__ int b(int x);
__device__ __noinline__ int a(int x)
{ volatile int q[8]; q[x & 7] = x; return x < 2 ? q[x & 7] : b(x - 1) * 2 + q[1]; }
__device__ __noinline__ int b(int x) { return x < 3 ? x : a(x - 2) + a(x - 3); }
__device__ __noinline__ int far(int x) { return x * 3; }
__global__ void three(int *p) { *p = far(*p) + 1; }
__global__ void around(int *p) { *p = a(*p); }
"""
TARGETS = [word for sm in (80, 90) for word in ("-gencode", f"arch=compute_{sm},code=sm_{sm}")]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two objects, a library of both, a static library, and whole-program code."""
    if shutil.which("gcc") is None:
        pytest.skip("nvcc needs a host compiler")
    folder = tmp_path_factory.mktemp("separate")
    nvcc = oracle.find("nvcc")
    common = ("-Xcompiler", "-fPIC", *TARGETS)
    for name, text in (("first", FIRST), ("second", SECOND)):
        source = folder / f"{name}.cu"
        source.write_text(text)
        nvcc.run("-rdc=true", "-c", *common, source, "-o", folder / f"{name}.o").check()
    objects = (folder / "first.o", folder / "second.o")
    libraries = oracle.cuda_home() / "lib"
    nvcc.run(
        *("-shared", "-rdc=true", f"-L{libraries}", *common, *objects, "-o", folder / "both.so")
    ).check()
    nvcc.run("-lib", "-rdc=true", *objects, "-o", folder / "both.a").check()
    nvcc.run("-c", *common, folder / "second.cu", "-o", folder / "whole.o").check()
    return folder


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, str]]:
    """Rows of every function."""
    assert main(["kernels", "--all", "--mangled", "--csv", *words]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


@pytest.mark.oracle("nvcc", "cuobjdump")
@pytest.mark.parametrize("name", ["both.so", "both.a", "first.o", "whole.o"])
def test_functions_are_those_of_res_usage(
    built: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = built / name
    usage = usage_of(oracle.find("cuobjdump").run("-res-usage", path).check().stdout)
    theirs = Counter(figures[:2] for figures in usage.elements())
    rows = [row for row in listed(capsys, str(path)) if not row["name"].startswith("$")]
    assert Counter((row["arch"], row["name"]) for row in rows) == theirs
    assert {row["type"] for row in rows} == {"exe" if name in ("both.so", "whole.o") else "rel"}


@pytest.mark.oracle("nvcc")
def test_the_other_images_come_on_request(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys, str(built / "both.so"), "--relocatable")
    kernels = Counter(row["type"] for row in rows if row["kind"] == "kernel")
    assert kernels == {"exe": 8, "rel": 8}


@pytest.mark.oracle("nvcc")
def test_the_reason_of_an_unknown_stack(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reasons = {
        (row["name"], row["type"]): row["stack_unknown"]
        for row in listed(capsys, str(built / "both.so"), "--relocatable", "--arch", "90")
        if row["kind"] == "kernel"
    }
    circle = "recursion: _Z1ai → _Z1bi → _Z1ai"
    assert reasons == {
        ("_Z3onePi", "exe"): "",
        ("_Z3twoPii", "exe"): "",
        ("_Z5threePi", "exe"): "",
        ("_Z6aroundPi", "exe"): circle,
        ("_Z3onePi", "rel"): "external _Z3fari",
        ("_Z3twoPii", "rel"): "external _Z3fari",
        ("_Z5threePi", "rel"): "",
        ("_Z6aroundPi", "rel"): circle,
    }
