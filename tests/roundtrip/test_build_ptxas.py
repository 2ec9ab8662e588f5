"""The builder, given the code and the facts of a ptxas file, gives that file again."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from cubinspec import Cubin
from tests.roundtrip.ptxas_facts import builder_of
from tests.roundtrip.symbolic import differences
from tools.corpus import samples as recipes
from tools.oracle import Tool

SOURCES = Path(__file__).parents[1] / "data" / "src"
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120")
MODES = {
    "exe": [],
    "rel": ["-c"],
    "ewp": ["-ewp"],
    "pic": ["-c", "-pic", "true"],
    "line": ["-c", "-lineinfo"],
    "debug": ["-c", "-g"],
    "lineexe": ["-lineinfo"],
    "debugexe": ["-g"],
    "visible": ["-c", "-make-errors-visible-at-exit"],
}
#: Modes that are built for every target, and for one of each family; the rest are carried.
EVERYWHERE, SOMEWHERE = ("exe", "rel"), ("ewp", "pic", "line", "debug")
#: One target of each family, for the modes that few files have.
FAMILIES = ("sm_80", "sm_90", "sm_100")
#: Sources of PTX that every target takes and that cover what the builder offers.
NAMES = ("small", "kernels", "params", "calls", "data", "samplers")
MORE = (
    *("warp", "spills", "jump_tables", "managed", "extern_calls"),
    *("data_only", "empty_module", "textures", "samplers", "bindless", "inlined", "syscalls"),
)
#: sm_110 has a reserved variable of its own, which is not among the builder's facts.
SKIPPED = "*.sm_110*"


def accepted() -> list[dict[str, Any]]:
    text = Path(__file__).with_name("build_differences.yaml").read_text(encoding="utf-8")
    listed: list[dict[str, Any]] = yaml.safe_load(text)["differences"]
    return listed


def allowed(name: str) -> set[str]:
    """The parts in which the file of that name (source.arch.mode) may differ."""
    found = [row for row in accepted() if any(fnmatch(name, pattern) for pattern in row["files"])]
    assert len(found) < 2, f"{name} is listed twice"
    return set(found[0]["parts"]) if found else set()


def compare(name: str, data: bytes, arch: str) -> None:
    built = builder_of(data, arch).to_bytes()
    found = differences(data, built)
    listed = allowed(name)
    assert found <= listed, f"{name}: {sorted(found)}"
    assert bool(found) == bool(listed), f"{name} is the same; take it off build_differences.yaml"


def carried() -> list[Path]:
    names = []
    for row in recipes.load():
        source, _, mode, *tool = row["name"].removesuffix(".cubin").split(".")
        known = source in (*NAMES, *MORE) and mode in MODES and not tool
        if known and not fnmatch(row["name"], SKIPPED):
            names.append(recipes.CUBINS / row["name"])
    return names


def builds() -> list[tuple[str, str]]:
    return [
        (arch, mode)
        for modes, arches in ((EVERYWHERE, ARCHES), (SOMEWHERE, FAMILIES))
        for mode in modes
        for arch in arches
    ]


@pytest.mark.parametrize("file", carried(), ids=lambda file: file.stem)
def test_same_file_as_the_sample(file: Path) -> None:
    name = file.name.removesuffix(".cubin")
    compare(name, file.read_bytes(), name.split(".")[1])


@pytest.mark.oracle("ptxas")
@pytest.mark.parametrize(("arch", "mode"), builds())
@pytest.mark.parametrize("source", NAMES)
def test_same_file_as_ptxas(source: str, arch: str, mode: str, ptxas: Tool, tmp_path: Path) -> None:
    output = tmp_path / "out.cubin"
    ptxas.run(f"-arch={arch}", *MODES[mode], SOURCES / f"{source}.ptx", "-o", output).check()
    compare(f"{source}.{arch}.{mode}", output.read_bytes(), arch)


def test_every_listed_difference_names_a_reason() -> None:
    for row in accepted():
        assert row["files"]
        assert row["parts"]
        assert len(row["reason"]) > 20


@pytest.mark.oracle("ptxas", "cuobjdump", "nvdisasm", "nvlink")
@pytest.mark.parametrize(("arch", "mode"), builds())
def test_vendor_tools_take_a_file_with_the_builders_own_frames(
    arch: str,
    mode: str,
    ptxas: Tool,
    cuobjdump: Tool,
    nvdisasm: Tool,
    nvlink: Tool,
    tmp_path: Path,
) -> None:
    """Same code and same resources as in the file of ptxas, before and behind nvlink."""
    original, built = tmp_path / "original.cubin", tmp_path / "built.cubin"
    source = SOURCES / "kernels.ptx"
    ptxas.run(f"-arch={arch}", *MODES[mode], source, "-o", original).check()
    built.write_bytes(builder_of(original.read_bytes(), arch, frames=False).to_bytes())
    for option in ("-sass", "-res-usage"):
        expected = cuobjdump.run(option, original).check().stdout
        assert cuobjdump.run(option, built).check().stdout == expected
    dump = cuobjdump.run("-elf", built).check()
    assert ".debug_frame" in dump.stdout
    assert not dump.stderr
    assert "EXIT" in nvdisasm.run(built).check().stdout
    if mode not in ("exe", "debug"):
        # of debug files nvlink reads the frames
        linked = [file.with_suffix(".linked") for file in (original, built)]
        for file, output in zip((original, built), linked, strict=True):
            nvlink.run(f"-arch={arch}", file, "-o", output).check()
        assert _code(linked[0]) == _code(linked[1]) != {}


def _code(file: Path) -> dict[str, bytes]:
    with Cubin.open(str(file)) as cubin:
        return {s.name: bytes(s.data) for s in cubin.sections if s.name.startswith(".text.")}
