"""Files of 32 bits (`ptxas -m32` of CUDA 11.8 and 12.0), built again from their code and facts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cubinspec.errors import BadStructureError
from cubinspec_writer.builder import CubinBuilder
from tests.roundtrip.ptxas_facts import builder_of
from tests.roundtrip.symbolic import differences
from tools.corpus import samples
from tools.oracle import toolchains

SOURCES = Path(__file__).parents[1] / "data" / "src"
TOOLKITS = ("11.8.89", "12.0.140")
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89")
MODES = {
    "exe": [],
    "rel": ["-c"],
    "ewp": ["-ewp"],
    "line": ["-c", "-lineinfo"],
    "lineexe": ["-lineinfo"],
    "debug": ["-c", "-g"],
    "debugexe": ["-g"],
    "debugewp": ["-ewp", "-g"],
    "preserverel": ["-c", "-preserve-relocs"],
    "preserve": ["-preserve-relocs"],
    "preserveewp": ["-ewp", "-preserve-relocs"],
}
#: PTX of 64 bits is taken, too: addresses then lose their upper halves.
NAMES = (
    *("atomics_sm70", "bindless", "callee", "calls", "data", "data_only", "empty_module"),
    *("extern_calls", "jump_tables", "kernels", "managed", "metadata", "names", "params"),
    *("params_32", "patch", "queries", "samplers", "small", "spills", "syscalls"),
    *("system_atomics_sm60", "textures", "warp"),
)
#: ptxas 11.8 crashes on these, with 64 bits, too.
CRASHES = {("11.8.89", "preserveewp"): ("callee", "data")}
#: One target always, the rest with `-m slow`.
QUICK = "sm_80"


def compare(name: str, data: bytes, arch: str) -> None:
    builder = builder_of(data, arch)
    built = builder.to_bytes()
    assert builder.address_size == 32, name
    assert differences(data, built) == set(), name
    assert built == data, name


@pytest.mark.parametrize(
    "file",
    [
        file
        for arch in ("sm_75", "sm_86")
        for file in sorted(samples.CUBINS.glob(f"params_32.{arch}.*.cubin"))
    ],
    ids=lambda file: file.stem,
)
def test_same_file_as_the_sample(file: Path) -> None:
    compare(file.stem, file.read_bytes(), file.name.split(".")[1])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", TOOLKITS)
@pytest.mark.parametrize(
    "arch",
    [pytest.param(arch, marks=() if arch == QUICK else pytest.mark.slow) for arch in ARCHES],
)
def test_same_files_as_ptxas(arch: str, version: str, mode: str, tmp_path: Path) -> None:
    if not toolchains.is_fetched(version):
        pytest.skip(f"ptxas {version} is not fetched (make samples does)")
    ptxas = toolchains.tool(version, "ptxas")
    source, output = tmp_path / "a.ptx", tmp_path / "out.cubin"
    for name in NAMES:
        if name == "extern_calls" and "-c" not in MODES[mode]:
            continue  # what it calls stands elsewhere
        if name in CRASHES.get((version, mode), ()):
            continue
        text = (SOURCES / f"{name}.ptx").read_text(encoding="utf-8")
        for line in (".version 7.8", f".target {arch}", ".address_size 32"):
            directive, _ = line.split()
            text = re.sub(rf"(?m)^\{directive} [\w.]+", line, text, count=1)
        source.write_text(text, encoding="utf-8")
        ptxas.run("-m32", f"-arch={arch}", *MODES[mode], source, "-o", output).check()
        compare(name, output.read_bytes(), arch)


@pytest.mark.parametrize(
    ("arch", "toolkit", "fields", "message"),
    [
        ("sm_80", 130, {}, r"32 bits, toolkit 130.*118 \(11.8\), 120 \(12.0\)"),
        ("sm_90", 118, {}, "32 bits, toolkit 118.*below sm_90"),
        ("sm_80", 118, {"address_size": 16}, "addresses of 16 bits"),
    ],
)
def test_refused_by_name(arch: str, toolkit: int, fields: dict[str, object], message: str) -> None:
    builder = CubinBuilder(arch, address_size=32, toolkit=toolkit)
    for name, value in fields.items():
        setattr(builder, name, value)
    with pytest.raises(BadStructureError, match=message):
        builder.to_bytes()
