"""Inputs of the bench, made by the oracle's ptxas from generated PTX and kept in `.cache/bench`.

One is a public library. Nothing here is committed: ptxas is deterministic, so a fresh machine gets
the same bytes. The largest takes ptxas minutes, which is why they are cached.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cubinspec.containers.fatbin_write import container, entry_for
from tools import oracle
from tools.bench import programs
from tools.oracle.toolchains import fetch_wheel

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "bench"

_HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


def many_ptx(pairs: int, first: int = 0) -> Iterator[str]:
    """`pairs` kernels, numbered from `first` on, each calling a device function of its own.

    Relocatable output has six sections per pair: code, attributes, relocations and parameter bank
    of the kernel; code and attributes of the function.
    """
    yield _HEADER
    for i in range(first, first + pairs):
        yield (
            f".visible .func (.param .b32 r) device_function_{i:05d}(.param .b32 a) {{\n"
            f" .reg .b32 %r<4>; ld.param.b32 %r1, [a]; mad.lo.s32 %r2, %r1, %r1, {i};\n"
            " st.param.b32 [r], %r2; ret; }\n"
            f".visible .entry kernel_{i:05d}"
            "(.param .u64 out, .param .u32 n, .param .f32 scale) {\n"
            " .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %d<3>;\n"
            " ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n"
            " setp.ge.u32 %p1, %r2, %r1; @%p1 ret;\n"
            " { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2;\n"
            f" call.uni (y), device_function_{i:05d}, (x); ld.param.b32 %r3, [y]; }}\n"
            " mad.wide.u32 %d2, %r2, 4, %d1; st.global.u32 [%d2], %r3; ret; }\n"
        )


def big_ptx(kernels: int, stores: int, init_bytes: int) -> Iterator[str]:
    """A few kernels with a lot of code, and initialised data that fills most of the file."""
    yield _HEADER
    yield f".visible .global .align 16 .b8 weights[{init_bytes}] = {{1, 2, 3, 4}};\n"
    for k in range(kernels):
        yield (
            f".visible .entry unrolled_{k:03d}(.param .u64 out, .param .u32 n) {{\n"
            " .reg .b32 %r<4>; .reg .b64 %d<4>; ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n];\n"
            " mov.u64 %d2, weights;\n"
        )
        for i in range(stores):
            yield (
                f" ld.global.u32 %r2, [%d2+{4 * i}]; xor.b32 %r1, %r1, %r2;"
                f" st.volatile.global.u32 [%d1+{4 * i}], %r1;\n"
            )
        yield " ret; }\n"


@dataclass(frozen=True)
class Input:
    """One bench file: its PTX and how ptxas is called."""

    name: str
    about: str
    ptx: Callable[[], Iterator[str]]
    options: tuple[str, ...] = ("-arch=sm_90", "-c")

    @property
    def path(self) -> Path:
        """Where the cubin lies once it is made."""
        return CACHE / f"{self.name}.cubin"

    def make(self) -> Path:
        """The cubin, from the cache or from ptxas.

        Raises:
            OracleError: ptxas is absent or failed.
        """
        if not self.path.is_file():
            CACHE.mkdir(parents=True, exist_ok=True)
            source = CACHE / f"{self.name}.ptx"
            with source.open("w", encoding="utf-8") as file:
                file.writelines(self.ptx())
            partial = CACHE / f"{self.name}.partial"
            ptxas = oracle.find("ptxas")
            ptxas.run(*self.options, source, "-o", partial, timeout=3600).check()
            source.unlink()
            os.replace(partial, self.path)
        return self.path

    @property
    def size(self) -> int | None:
        """Bytes of the cubin; None while it is not made."""
        return self.path.stat().st_size if self.path.is_file() else None


@dataclass(frozen=True)
class Program:
    """A folder of relocatable cubins that are linked with each other."""

    name: str
    about: str
    ptx: Callable[[], Iterator[str]]

    @property
    def path(self) -> Path:
        """The folder once it is made; a command gets all its files."""
        return CACHE / self.name

    def make(self) -> Path:
        """The folder, from the cache or from ptxas.

        Raises:
            OracleError: ptxas is absent or failed.
        """
        if not self.path.is_dir():
            partial = CACHE / f"{self.name}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            ptxas = oracle.find("ptxas")
            source = CACHE / f"{self.name}.ptx"
            for number, text in enumerate(self.ptx()):
                source.write_text(text, encoding="utf-8")
                target = partial / f"{number:03d}.cubin"
                ptxas.run("-arch=sm_90", "-c", source, "-o", target).check()
            source.unlink()
            os.replace(partial, self.path)
        return self.path

    @property
    def size(self) -> int | None:
        """Bytes of all cubins; None while they are not made."""
        files = list(self.path.glob("*.cubin"))
        return sum(file.stat().st_size for file in files) if files else None


@dataclass(frozen=True)
class Library:
    """A file of a public wheel."""

    name: str
    about: str
    package: str
    version: str
    sha256: str
    """Of the wheel."""
    member: str

    @property
    def path(self) -> Path:
        """Where the file lies once it is fetched."""
        return CACHE / f"{self.name}-{Path(self.member).name}"

    def make(self) -> Path:
        """The file, from the cache or from its wheel.

        Raises:
            OracleError: the wheel could not be fetched.
        """
        if not self.path.is_file():
            wheel = fetch_wheel(self.package, self.version, self.sha256, CACHE / "wheels")
            partial = CACHE / f"{self.name}.partial"
            with (
                zipfile.ZipFile(wheel) as book,
                book.open(self.member) as member,
                partial.open("wb") as file,
            ):
                shutil.copyfileobj(member, file)
            wheel.unlink()
            os.replace(partial, self.path)
        return self.path

    @property
    def size(self) -> int | None:
        """Bytes of the file; None while it is not fetched."""
        return self.path.stat().st_size if self.path.is_file() else None


@dataclass(frozen=True)
class Part:
    """The last files of a program in which no file needs those before it.

    The very last one has a single function, and is not counted.
    """

    program: Program
    files: int

    @property
    def name(self) -> str:
        """Program and number of files."""
        return f"{self.program.name}_{self.files}"

    @property
    def path(self) -> Path:
        """The folder once it is made."""
        return CACHE / self.name

    def make(self) -> Path:
        """The folder; its files are those of the program.

        Raises:
            OracleError: ptxas is absent or failed.
        """
        files = sorted(self.program.make().iterdir())[-self.files - 1 :]
        self.path.mkdir(exist_ok=True)
        for file in files:
            place = self.path / file.name
            if not place.exists():
                os.link(file, place)
        return self.path


@dataclass(frozen=True)
class Linked:
    """What nvlink makes of an input."""

    source: Input | Program | Library

    @property
    def name(self) -> str:
        """That of the input, marked."""
        return f"{self.source.name}_linked"

    @property
    def path(self) -> Path:
        """Where the cubin lies once it is made."""
        return CACHE / f"{self.name}.cubin"

    def make(self) -> Path:
        """The cubin, from the cache or from nvlink.

        Raises:
            OracleError: a tool is absent or failed.
        """
        if not self.path.is_file():
            place = self.source.make()
            files = sorted(place.iterdir()) if place.is_dir() else [place]
            partial = CACHE / f"{self.name}.partial"
            oracle.find("nvlink").run("-arch=sm_90", *files, "-o", partial, timeout=600).check()
            os.replace(partial, self.path)
        return self.path


@dataclass(frozen=True)
class Images:
    """Fat binaries behind each other, as in a library; a cubin in each, compressed with zstd.

    No two cubins are equal: the names in them have a number, of five digits like the first.
    """

    count: int

    @property
    def name(self) -> str:
        """With the number of images."""
        return f"images_{self.count}"

    @property
    def path(self) -> Path:
        """Where the file lies once it is made."""
        return CACHE / f"{self.name}.fatbin"

    def make(self) -> Path:
        """The file, from the cache or made of input `small`.

        Raises:
            OracleError: ptxas is absent or failed.
        """
        if not self.path.is_file():
            cubin = INPUTS["small"].make().read_bytes()
            partial = CACHE / f"{self.name}.partial"
            with partial.open("wb") as file:
                for number in range(self.count):
                    data = cubin.replace(b"_00000", b"_%05d" % number)
                    file.write(container([entry_for(data, compress_all=True)]))
            os.replace(partial, self.path)
        return self.path


INPUTS: dict[str, Input | Program | Library] = {
    entry.name: entry
    for entry in (
        Input("small", "one kernel, one device function", lambda: many_ptx(1)),
        Input("many", "2,000 kernels + 2,000 device functions", lambda: many_ptx(2000)),
        Input(
            "mercury",
            "the same for sm_100, with a Mercury half beside the SASS half",
            lambda: many_ptx(2000),
            ("-arch=sm_100", "-c"),
        ),
        Input("sections_30k", "5,000 kernels + 5,000 device functions", lambda: many_ptx(5000)),
        Input(
            "sections_66k",
            "11,000 kernels + 11,000 device functions; section count beyond 16 bits",
            lambda: many_ptx(11000),
        ),
        Input(
            "big",
            "40 unrolled kernels and 80 MiB of initialised data, executable",
            lambda: big_ptx(40, 1500, 80 << 20),
            ("-arch=sm_90",),
        ),
        Program("pair", "a kernel and a device function in two files", programs.pair),
        Program(
            "sections_200k",
            "20 files of 1,667 kernels + 1,667 device functions each; 200,000 sections in all",
            lambda: ("".join(many_ptx(1667, 1667 * file)) for file in range(20)),
        ),
        Program(
            "objects",
            "200 files of 20 functions each, every file calls the next",
            lambda: programs.chain(200, 20),
        ),
        Library(
            "library",
            "libcusparse of CUDA 13: 1,370 cubins compressed with zstd for 10 GPUs, "
            "1.7 GB before compression",
            "nvidia-cusparse",
            "12.9.4.2",
            "072667e58c851a318738f5527a12eb225cbf058803f2ea451c722d8cf8edddec",
            "nvidia/cu13/lib/libcusparse.so.12",
        ),
        Library(
            "library_before",
            "an earlier version of it: 1,032 cubins compressed with zstd, 136 with LZ4",
            "nvidia-cusparse",
            "12.8.6.72",
            "a739f6ff51ea2a8a2990b267b9b4d3063a5d94890efb8ccf393bfcab9dd487aa",
            "nvidia/cu13/lib/libcusparse.so.12",
        ),
    )
}

#: What the curves of curves.py grow with, beside the inputs above.
THOUSANDS = Program(
    "thousands",
    "64 files of 1,000 functions each, every file calls the next, and the last one a single one",
    lambda: programs.chain(64, 1000, "last"),
)
_GROWING: tuple[Part | Linked | Images, ...] = (
    *(Part(THOUSANDS, files) for files in (1, 2, 4, 8, 16, 32, 64)),
    *(
        Linked(INPUTS[name])
        for name in ("small", "many", "sections_30k", "sections_66k", "sections_200k")
    ),
    *(Images(count) for count in (1, 1000, 3000, 10_000, 30_000, 100_000)),
)
GROWING = {entry.name: entry for entry in _GROWING}
