"""Containers against NVIDIA's tools: the same images, the same figures, the same fatbins.

Each difference is one of the named exceptions below; anything else fails.
"""

from __future__ import annotations

import hashlib
import itertools
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from cubinspec import images
from cubinspec.containers import Image
from cubinspec.containers.fatbin_write import container, entry_for, parse
from cubinspec.containers.source import BytesSource
from cubinspec_generated.codes import FATBIN_FLAG_COMPRESSED_LZ4, STACK_SIZE_UNKNOWN
from tests.differential.res_usage import COLUMN, FUNCTION
from tools import oracle
from tools.corpus import fetch
from tools.corpus.containers import CUBINS, PTX
from tools.oracle import Result

#: What cuobjdump 13.5 says of a file that it refuses, and why our longer list is right.
REFUSALS = {
    "Support for 'sm_": "a target that it no longer reads makes it refuse the whole library",
    "does not contain device code": "it looks for fatbins in their sections only, not for cubins "
    "or fatbins that lie in other data",
}
SECTIONS = (".nv_fatbin", "__nv_relfatbin")
WHEELS = fetch.ROOT / ".cache" / "wheels"


def libraries(folder: Path) -> list[Path]:
    """The libraries of the development wheels, unpacked."""
    found = []
    for wheel in fetch.wheels():
        with zipfile.ZipFile(WHEELS / wheel.wheel) as book:
            for name in book.namelist():
                if ".so" in name.rsplit("/", 1)[-1] or name.endswith(".a"):
                    out = folder / wheel.package / wheel.version
                    found.append(Path(book.extract(name, out)))
    assert found
    return found


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All libraries of the development wheels that hold device code."""
    return [
        path
        for path in libraries(tmp_path_factory.mktemp("wheels"))
        if any(image.kind == "cubin" for image in images(path))
    ]


def refused(result: Result) -> bool:
    """Whether cuobjdump refuses for one of the accepted reasons."""
    if result.returncode == 0:
        return False
    said = result.stdout + result.stderr
    assert any(words in said for words in REFUSALS), said[-300:]
    return True


def visible(image: Image) -> bool:
    """Whether cuobjdump looks where the image lies."""
    return image.section in SECTIONS


@pytest.mark.corpus
@pytest.mark.oracle("cuobjdump")
def test_the_images_of_the_wheels_are_those_that_cuobjdump_extracts(
    unpacked: list[Path], tmp_path: Path
) -> None:
    tool = oracle.find("cuobjdump")
    compared = 0
    for number, library in enumerate(unpacked):
        out = tmp_path / str(number)
        out.mkdir()
        ours = Counter(
            (image.kind, hashlib.sha256(image.data).hexdigest())
            for image in images(library)
            if image.kind in ("cubin", "ptx") and visible(image)
        )
        result = tool.run("-all", "-xelf", "all", library.resolve(), cwd=out)
        if refused(result):
            continue
        tool.run("-all", "-xptx", "all", library.resolve(), cwd=out)
        theirs = Counter(
            (path.suffix[1:], hashlib.sha256(path.read_bytes()).hexdigest())
            for path in out.iterdir()
        )
        assert ours == theirs, library.name
        compared += len(theirs)
    assert compared > 100


Figures = tuple[str, ...]


def usage_of(text: str) -> Counter[Figures]:
    """Target, name, registers, shared memory and stack of every function that is listed."""
    usage: Counter[Figures] = Counter()
    arch = name = ""
    for line in text.splitlines():
        if line.startswith("arch = "):
            arch = line[7:]
        elif match := FUNCTION.match(line):
            name = match[1]
        elif name:
            columns = dict(COLUMN.findall(line))
            usage[arch, name, columns["REG"], columns["SHARED"], columns["STACK"]] += 1
            name = ""
    return usage


@pytest.mark.corpus
@pytest.mark.oracle("cuobjdump")
def test_the_figures_of_every_kernel_are_those_of_res_usage(unpacked: list[Path]) -> None:
    tool = oracle.find("cuobjdump")
    compared = 0
    for library in unpacked:
        result = tool.run("-all", "-res-usage", library)
        if refused(result):
            continue
        theirs = usage_of(result.stdout)
        unlinked = Counter(figures[:-1] for figures in theirs.elements())
        names = Counter(figures[:2] for figures in theirs.elements())
        linked, relocatable, kernels = Counter[Figures](), Counter[Figures](), Counter[Figures]()
        for image in images(library):
            if image.kind != "cubin" or not visible(image):
                continue
            cubin = image.cubin()
            for kernel in cubin.kernels:
                unbounded = kernel.min_stack_size == STACK_SIZE_UNKNOWN
                stack = "UNKNOWN" if unbounded else str(kernel.stack or 0)
                key = (image.arch, kernel.name)
                figures = (*key, str(kernel.registers or 0), str(kernel.shared))
                kernels[key] += 1
                if cubin.header.is_relocatable:
                    relocatable[figures] += 1  # its stack is known after the final link only
                else:
                    linked[(*figures, stack)] += 1
        assert not linked - theirs, library.name
        assert not relocatable - unlinked, library.name
        assert all(names[key] == count for key, count in kernels.items()), library.name
        compared += sum(kernels.values())
    assert compared > 1000


@pytest.mark.corpus
def test_the_fatbins_of_the_wheels_are_written_back_identically() -> None:
    seen = 0
    for wheel in fetch.wheels():
        done: set[tuple[str, int]] = set()
        for image in images(WHEELS / wheel.wheel):
            for step in image.provenance:
                if step.kind != "fatbin" or (image.file, step.offset) in done:
                    continue
                done.add((image.file, step.offset))
                data = image._source.read(step.offset, step.size)
                assert container(parse(BytesSource(data, wheel.wheel))) == data
        seen += len(done)
    assert seen > 20


PACKED = [
    ("calls.sm_90.exe.cubin", "elf", "sm_90"),
    ("calls.sm_90.rel.cubin", "elf", "sm_90"),
    ("calls.sm_100.exe.cubin", "elf", "sm_100"),
    ("calls.sm_100.exe.cubin", "elf", "sm_100f"),
    ("k.ptx", "ptx", "sm_80"),
]


@pytest.mark.oracle("fatbinary")
@pytest.mark.parametrize("mode", ["default", "balance", "size", "none", "speed"])
def test_packing_writes_what_fatbinary_writes(mode: str, tmp_path: Path) -> None:
    tool = oracle.find("fatbinary")
    (tmp_path / "k.ptx").write_bytes(b"// head\n" + PTX + b"\t// .globl  k\n")
    for (name, kind, target), every, debug, ident in itertools.product(
        PACKED, (False, True), (False, True), (None, "id", "12345678")
    ):
        path = tmp_path / name if kind == "ptx" else CUBINS / name
        out = tmp_path / "out.fatbin"
        words = ["-64", f"--create={out}", f"--compress-mode={mode}"]
        words += [f"--image3=kind={kind},file={path},sm={target[3:]}"]
        words += ["--compress-all"] * every + ["-g"] * debug
        words += [f"--ident={ident}"] if ident else []
        if kind == "ptx":
            words += ["--cmdline=-O1 "]
        tool.run(*words).check()
        ours = entry_for(
            path.read_bytes(),
            variant=target.lstrip("sm_0123456789") or None,
            mode=mode,
            compress_all=every,
            debug=debug,
            options=b"-O1 ",
            ident=ident.encode() if ident else None,
        )
        theirs = out.read_bytes()
        if mode != "speed" or not ours.flags & FATBIN_FLAG_COMPRESSED_LZ4:
            assert container([ours]) == theirs
            continue
        # LZ4: another encoder of the same format; all but the compressed bytes must agree.
        (other,) = parse(BytesSource(theirs, "theirs"))
        assert ours.payload != b""
        for field in ours.__slots__:
            if field != "payload":
                assert getattr(ours, field) == getattr(other, field), field
        (one,), (two,) = images(container([ours])), images(theirs)
        assert one.data == two.data


@pytest.mark.oracle("fatbinary", "cuobjdump")
def test_cuobjdump_reads_what_we_pack(tmp_path: Path) -> None:
    tool = oracle.find("cuobjdump")
    names = ["calls.sm_90.exe.cubin", "calls.sm_100.exe.cubin"]
    for mode in ("default", "size", "speed", "none"):
        path = tmp_path / f"{mode}.fatbin"
        entries = [
            entry_for((CUBINS / name).read_bytes(), mode=mode, compress_all=True) for name in names
        ]
        path.write_bytes(container([*entries, entry_for(PTX, mode=mode)]))
        out = tmp_path / mode
        out.mkdir()
        tool.run("-xelf", "all", path, cwd=out).check()
        written = sorted(hashlib.sha256(p.read_bytes()).hexdigest() for p in out.iterdir())
        expected = sorted(
            hashlib.sha256((CUBINS / name).read_bytes()).hexdigest() for name in names
        )
        assert written == expected
