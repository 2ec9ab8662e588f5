"""Archives and broken host objects: the same messages and files as nvlink."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cubinspec_writer.linker.command import run
from tools import oracle

pytestmark = pytest.mark.skipif(
    oracle.missing("nvcc", "ptxas", "nvlink") is not None or shutil.which("ar") is None,
    reason="no NVIDIA tools",
)
KERNEL = "extern __device__ int f(int); __global__ void k(int *o) { o[0] = f(o[1]); }\n"
CALLEE = "__device__ int f(int x) { return x * 3; }\n"
OTHER = "__global__ void other(int *o) { o[0] = 2; }\n"
#: How `l.a`, `x.o` or folders are made of k.o, f.o, other.o and s.a; the words of the link.
CASES = {
    "once": ("", "k.o s.a"),
    "repeated": ("", "k.o s.a other.o s.a"),
    "other name": ("ln -s s.a l.a", "k.o s.a l.a"),
    "copy": ("cp s.a l.a", "k.o s.a l.a"),
    "library": ("cp s.a liba.a", "k.o -L. -la -la"),
    "objects repeated": ("", "k.o f.o f.o"),
    "thin": ("rm -f l.a; ar rcsDT l.a f.o other.o", "k.o l.a"),
    "text first": ("echo text > t; ar rcD l.a t f.o", "k.o l.a"),
    "text last": ("echo text > t; ar rcD l.a f.o t other.o", "-v k.o l.a"),
    "empty member": ("touch t; ar rcD l.a t f.o", "k.o l.a"),
    "nested": ("ar rcD l.a s.a other.o", "k.o l.a f.o"),
    "no size": ("cp s.a l.a; printf zzz | dd of=l.a bs=1 seek=58 conv=notrunc", "k.o l.a"),
    "garbage behind": ("cp s.a l.a; echo >> l.a", "k.o l.a"),
    "cut": ("head -c 2000 s.a > l.a", "k.o l.a"),
    "only magic": ("head -c 8 s.a > l.a", "k.o l.a f.o"),
    "library of a later folder": (
        "mkdir -p l m; echo text > t; ar rcD l/libz.a t f.o; cp s.a m/libz.a",
        "k.o -Ll -Lm -lz",
    ),
    "library in no folder": ("mkdir -p l; : > l/libz.a", "k.o -Ll -Lm -lz -lz"),
    "library that is none": ("cp f.o libz.a", "k.o -L. -lz"),
    "library for another processor": ("cp s.a libz.a", "k.o f.o -L. -lz -cpu-arch=AARCH64 -Werror"),
    "object cut": ("head -c 2000 other.o > x.o", "k.o f.o x.o"),
    "object of a header": ("head -c 64 other.o > x.o", "k.o f.o x.o"),
    "object of less": ("head -c 20 other.o > x.o", "k.o f.o x.o"),
}


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with k.o, f.o, other.o and the archive s.a of f.o."""
    folder = tmp_path_factory.mktemp("objects")
    for name, text in (("k", KERNEL), ("f", CALLEE), ("other", OTHER)):
        (folder / f"{name}.cu").write_text(text)
        oracle.find("nvcc").run(
            "-arch=sm_90", "-dc", f"{name}.cu", "-o", f"{name}.o", cwd=folder
        ).check()
    subprocess.run(["ar", "rcsD", "s.a", "f.o"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_an_archive_is_read_as_nvlink_reads_it(
    name: str,
    objects: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made, line = CASES[name]
    for file in objects.iterdir():
        shutil.copy(file, tmp_path)
    subprocess.run(made, shell=True, cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    words = ["-arch=sm_90", *line.split()]
    theirs = oracle.find("nvlink").run(*words, "-o", "theirs", cwd=tmp_path)
    tool = [f"--tkinfo-from={tmp_path / 'theirs'}"] if (tmp_path / "theirs").exists() else []
    assert run([*words, *tool, "-o", "ours"]) == theirs.returncode
    said = capsys.readouterr().err.replace("cubinspec link ", "nvlink ")
    assert said == theirs.stdout + theirs.stderr
    if tool:
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
