"""Every source with every mode, for one target of each family: `-m slow`.

`build_sweep.yaml` names what is not yet the same as from ptxas; BLESS=1 writes it anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from cubinspec import CubinError
from tests.roundtrip import test_build_ptxas as programs
from tests.roundtrip.ptxas_facts import builder_of
from tools.oracle import Tool

TABLE = Path(__file__).with_name("build_sweep.yaml")
TARGETS = ("sm_75", "sm_90", "sm_100")
KINDS = ("", "-c", "-ewp")
MODES = (
    "",
    "-O0",
    "-g",
    "-lineinfo",
    "-preserve-relocs",
    "-pic true",
    "-sanitize=memcheck",
    "-make-errors-visible-at-exit",
    "-g -pic true",
    "-g -preserve-relocs",
    "-g -sanitize=memcheck",
)
SOURCES = {
    name: text
    for name, text in vars(programs).items()
    if name.isupper() and isinstance(text, str) and ".version" in text
} | {file.stem: file.read_text(encoding="utf-8") for file in programs.SOURCES.glob("*.ptx")}


def outcome(data: bytes, arch: str) -> str:
    """Whether the builder makes the same file, another one or none."""
    try:
        return "same" if builder_of(data, arch).to_bytes() == data else "another file"
    except CubinError as error:
        return f"refused: {error.reason}"


@pytest.mark.slow
@pytest.mark.oracle("ptxas")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_same_files_as_ptxas_but_for_what_is_named(
    kind: str, mode: str, ptxas: Tool, tmp_path: Path
) -> None:
    table = yaml.safe_load(TABLE.read_text(encoding="utf-8")) if TABLE.is_file() else {}
    options = f"{kind} {mode}".split()
    source, output = tmp_path / "a.ptx", tmp_path / "out.cubin"
    found: dict[str, dict[str, str]] = {}
    made = 0
    for name, text in sorted(SOURCES.items()):
        source.write_text(text, encoding="utf-8")
        for arch in TARGETS:
            output.unlink(missing_ok=True)
            ptxas.run(f"-arch={arch}", *options, source, "-o", output)
            if not output.is_file():
                continue  # not for this target, or what it calls stands elsewhere
            made += 1
            what = outcome(output.read_bytes(), arch)
            if what != "same":
                found.setdefault(name, {})[arch] = what
    assert made
    key = " ".join(options) or "none"
    if os.environ.get("BLESS"):
        table[key] = {"files": made, "not_the_same": found}
        TABLE.write_text(yaml.safe_dump(table, width=100), encoding="utf-8")
    assert table[key] == {"files": made, "not_the_same": found}
