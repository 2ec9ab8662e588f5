"""`make samples`: rebuild tests/data/cubins from our own sources, with the exact tools named.

`tests/data/recipes.yaml` is the matrix written by hand; `tests/data/samples.yaml` the list of its
results with sha256. A rebuild compares against that list and fails on a difference; `--bless`
takes the new results over. The tools are deterministic, so a difference means a changed source,
recipe or tool.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools import oracle
from tools.oracle import OracleError, Tool, toolchains

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
SOURCES, CUBINS = DATA / "src", DATA / "cubins"
RECIPES, LIST = DATA / "recipes.yaml", DATA / "samples.yaml"

DEFAULT = "13.0.88"
LIMIT = 5_000_000
"""Bytes all samples together may take in the repository."""

NEUTRAL = "/usr/src/cubinspec/tests/data/src"
"""What debug information says the source folder was, instead of a folder of the machine at hand."""


@dataclass(frozen=True)
class Sample:
    """One cubin to build: how, and from what."""

    name: str
    sources: tuple[str, ...]
    arch: str
    tool: str
    options: tuple[str, ...]
    nvcc: tuple[str, ...] = ()
    linker: bool = False
    compiler: str = DEFAULT
    compile_options: tuple[str, ...] = ("-c",)
    libraries: tuple[str, ...] = ()


def expand(recipes: dict[str, Any]) -> Iterator[Sample]:
    """Every sample of the matrix, in its order."""
    variants = recipes["variants"]
    for build in recipes["ptxas"]:
        version = build.get("tool", DEFAULT)
        source = build["source"]
        for arch, variant in itertools.product(build["arch"], build["variant"]):
            yield Sample(
                name=_name(source.split(".")[0], arch, variant, version),
                sources=(source,),
                arch=arch,
                tool=version,
                options=(*variants[variant], *build.get("options", ())),
                nvcc=tuple(build.get("nvcc", ())),
            )
    for build in recipes["link"]:
        version = build.get("tool", DEFAULT)
        for arch, (variant, options) in itertools.product(build["arch"], build["variant"].items()):
            yield Sample(
                name=_name(build["name"], arch, f"link-{variant}", version),
                sources=tuple(build["inputs"]),
                arch=arch,
                tool=version,
                options=tuple(options),
                linker=True,
                compiler=build.get("compiler", DEFAULT if "jit" in version else version),
                compile_options=("-c", *build.get("compile", ())),
                libraries=tuple(build.get("libraries", ())),
            )


def _name(stem: str, arch: str, variant: str, version: str) -> str:
    suffix = "" if version == DEFAULT else f".{version}"
    return f"{stem}.{arch}.{variant}{suffix}.cubin"


def _tool(version: str, name: str) -> Tool:
    if version == DEFAULT:
        tool = oracle.find(name)
        if tool.version != DEFAULT:
            raise OracleError(f"{name} is {tool.version}, the samples need {DEFAULT}")
        return tool
    return toolchains.tool(version, name)


class Workshop:
    """A scratch folder whose path has a fixed length, so that it can be replaced in debug data.

    nvcc writes the folder of the source into DWARF, as text and as lists of byte values; offsets
    in DWARF depend on the length. The replacement has the same length.

    Args:
        base: where the folder is made.
        is_neutral: whether its name is replaced.
    """

    def __init__(self, base: Path, *, is_neutral: bool = True) -> None:
        filler = len(NEUTRAL) - len(str(base)) - 1 if is_neutral else 1
        if filler < 1:
            raise OracleError(f"{base}: too long a name for a scratch folder")
        self._is_neutral = is_neutral
        self.folder = base / ("s" * filler)
        self.folder.mkdir()
        for source in SOURCES.iterdir():
            shutil.copy(source, self.folder)
        self._ptx: dict[tuple[str, tuple[str, ...]], Path] = {}

    def ptx(self, source: str, options: tuple[str, ...]) -> Path:
        """The PTX of a source: itself, or what nvcc makes of it (once per set of options)."""
        if source.endswith(".ptx"):
            return self.folder / source
        key = (source, options)
        if key not in self._ptx:
            stem = "-".join([source.removesuffix(".cu"), *(o.strip("-") for o in options)])
            path = self.folder / f"{stem}.ptx"
            cccl = toolchains.path("cccl-13.0.85", "include")
            _tool(DEFAULT, "nvcc").run(
                *("-std=c++17", "-rdc=true", "-ptx", "-arch=compute_75", f"-I{cccl}"),
                *options,
                *(source, "-o", path.name),
                cwd=self.folder,
            ).check()
            if self._is_neutral:
                text = path.read_text(encoding="utf-8")
                for encode in (str, _byte_list):
                    text = text.replace(encode(str(self.folder)), encode(NEUTRAL))
                path.write_text(text, encoding="utf-8")
            self._ptx[key] = path
        return self._ptx[key]

    def build(self, sample: Sample) -> bytes:
        """The bytes of one sample.

        Raises:
            OracleError: a tool is absent or refused.
        """
        place = self.folder / sample.name.removesuffix(".cubin")
        place.mkdir()
        inputs = []
        for source in sample.sources:
            ptx = self.ptx(source, sample.nvcc)
            shutil.copy(ptx, place)
            out = f"{ptx.stem}.cubin"
            version = sample.compiler if sample.linker else sample.tool
            options = sample.compile_options if sample.linker else sample.options
            _tool(version, "ptxas").run(
                f"-arch={sample.arch}", *options, ptx.name, "-o", out, cwd=place
            ).check()
            inputs.append(out)
        if not sample.linker:
            return (place / inputs[0]).read_bytes()
        self._link(sample, inputs, place)
        return (place / "linked").read_bytes()

    def _link(self, sample: Sample, inputs: list[str], place: Path) -> None:
        target = f"-arch={sample.arch}"
        if sample.tool.startswith("nvjitlink"):
            if sample.tool == f"nvjitlink-{DEFAULT}":
                library = oracle.cuda_home() / "lib" / "libnvJitLink.so.13"
            else:
                library = toolchains.path(sample.tool, "nvJitLink")
            argv = (sys.executable, "-m", "tools.oracle.nvjitlink", str(library), "linked")
            root = str(Path(__file__).resolve().parents[2])
            oracle.run(
                [*argv, target, *sample.options, *inputs], cwd=place, env={"PYTHONPATH": root}
            ).check()
            return
        libraries = [f"-l{name}" for name in sample.libraries]
        for name in sample.libraries:  # the tool note holds the folder's name
            shutil.copy(oracle.cuda_home() / "lib" / f"lib{name}.a", place)
        _tool(sample.tool, "nvlink").run(
            *(target, *sample.options, *inputs),
            *(["-L.", *libraries] if libraries else []),
            *("-o", "linked"),
            cwd=place,
        ).check()


def _byte_list(text: str) -> str:
    return ",".join(str(byte) for byte in text.encode())


def record(sample: Sample, data: bytes) -> dict[str, Any]:
    """The row of samples.yaml."""
    row: dict[str, Any] = {
        "name": sample.name,
        "source": list(sample.sources),
        "tool": f"{'link' if sample.linker else 'ptxas'} {sample.tool}".replace("link nv", "nv"),
        "options": [f"-arch={sample.arch}", *sample.options],
    }
    if sample.linker:
        row["tool"] = row["tool"].replace("link ", "nvlink ")
        row["compiled"] = [f"ptxas {sample.compiler}", *sample.compile_options]
    if any(source.endswith(".cu") for source in sample.sources):
        row["nvcc"] = [DEFAULT, *sample.nvcc]
    row["bytes"] = len(data)
    row["sha256"] = hashlib.sha256(data).hexdigest()
    return row


def dump(rows: list[dict[str, Any]]) -> str:
    """samples.yaml: one row, one line."""
    head = (
        "# Written by `make samples` from recipes.yaml: every sample, how it was made, its hash.\n"
    )
    lines = []
    for row in rows:
        line = yaml.safe_dump(row, default_flow_style=True, sort_keys=False, width=10**6).strip()
        lines.append(f"- {line}\n")
    return head + "samples:\n" + "".join(lines)


def load() -> list[dict[str, Any]]:
    """The rows of samples.yaml."""
    rows: list[dict[str, Any]] = yaml.safe_load(LIST.read_text(encoding="utf-8"))["samples"]
    return rows


def build_all(samples: list[Sample]) -> tuple[dict[str, bytes], dict[str, str]]:
    """The bytes of every sample by name, and the message of every one that could not be built."""
    with tempfile.TemporaryDirectory() as base:
        return side_by_side(Workshop(Path(base)), samples)


def side_by_side(shop: Workshop, samples: list[Sample]) -> tuple[dict[str, bytes], dict[str, str]]:
    """As :func:`build_all`, in one workshop."""
    built: dict[str, bytes] = {}
    failed: dict[str, str] = {}
    for sample in samples:
        for source in sample.sources:
            shop.ptx(source, sample.nvcc)  # nvcc once, before the builds run side by side
        if sample.tool != DEFAULT and not sample.tool.startswith("nvjitlink-13"):
            toolchains.path(sample.tool, next(iter(toolchains.TABLE[sample.tool]["files"])))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {sample.name: pool.submit(shop.build, sample) for sample in samples}
        for name, future in futures.items():
            try:
                built[name] = future.result()
            except OracleError as error:
                failed[name] = str(error)
    return built, failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="make samples", description=__doc__)
    parser.add_argument("--bless", action="store_true", help="take the results over")
    parser.add_argument("--only", metavar="TEXT", default="", help="samples whose name has TEXT")
    options = parser.parse_args()

    samples = list(expand(yaml.safe_load(RECIPES.read_text(encoding="utf-8"))))
    names = [sample.name for sample in samples]
    if len(set(names)) != len(names):
        print(f"recipes.yaml: named twice: {sorted({n for n in names if names.count(n) > 1})}")
        return 1
    chosen = [sample for sample in samples if options.only in sample.name]
    if options.bless and len(chosen) != len(samples):
        parser.error("--bless needs all samples")
    built, failed = build_all(chosen)
    for name, message in failed.items():
        print(f"{name}: {message.strip()}", file=sys.stderr)
    if failed:
        return 1

    rows = [record(sample, built[sample.name]) for sample in chosen]
    total = sum(len(data) for data in built.values())
    if options.bless:
        if total > LIMIT:
            print(f"{total} bytes of samples, more than {LIMIT}", file=sys.stderr)
            return 1
        CUBINS.mkdir(exist_ok=True)
        for stale in CUBINS.glob("*.cubin"):
            if stale.name not in built:
                stale.unlink()
        for name, data in built.items():
            (CUBINS / name).write_bytes(data)
        LIST.write_text(dump(rows), encoding="utf-8")
        print(f"{len(rows)} samples, {total} bytes")
        return 0

    known = {row["name"]: row for row in load()}
    changed = [row["name"] for row in rows if known.get(row["name"]) != row]
    for name in changed:
        print(f"{name}: differs from samples.yaml", file=sys.stderr)
    for name, data in built.items():
        (CUBINS / name).write_bytes(data)
    print(f"{len(rows)} samples rebuilt, {len(changed)} differ")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
