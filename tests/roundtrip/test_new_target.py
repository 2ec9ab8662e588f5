"""A new architecture and a new toolkit are rows of two tables, and no change of code.

The tables get a made-up ``sm_123`` and a made-up CUDA 13.9, the Python data is generated into a
temporary folder, and a fresh interpreter builds, links, checks, reads and writes cubins for them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.corpus.samples import CUBINS
from tools.gen import codes, targets
from tools.gen.spec import load_specs
from tools.gen.tables import check_and_load, emit

ROOT = Path(__file__).resolve().parents[2]
_TOOLKIT = """\
- version: '13.9'
  producers: {classic: classic, finalizer: finalizer, mercury: mercury}
  linked: {classic: classic, finalizer: classic, mercury: mercury}
  compat:
  - {record: EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET, value: variant}
  - {record: EICOMPAT_ATTR_ISA_CLASS, value: 1}
  - {record: EICOMPAT_ATTR_INST_TCGEN05_MMA, value: 7}
  release: 13.9.1
  evidence: inferred
"""

_USE = """
import sys
from pathlib import Path

from cubinspec.format.targets import WRITTEN, target
from cubinspec.model.cubin import Cubin
from cubinspec.report.archs import Facts
from cubinspec_writer.builder import CubinBuilder
from cubinspec_writer.checker import check
from cubinspec_writer.emitter import describe, emit
from cubinspec_writer.linker import LinkError, Named, link
from cubinspec_writer.yaml_form import from_yaml, to_yaml
from tests.roundtrip.ptxas_facts import builder_of

assert WRITTEN.version == "13.9"
assert target("sm_123a").architecture.param_base == 0x3A0
objects = []
for name in ("callee", "extern_calls"):
    # functions of a file for sm_120, put together for sm_123
    builder = builder_of((Path(sys.argv[1]) / f"{name}.sm_120.rel.cubin").read_bytes(), "sm_120")
    builder.arch = "sm_123"
    builder.compat = []
    objects.append(Named(f"{name}.o", builder.to_bytes()))
for item in objects:
    assert check(item.data, item.name) == [], check(item.data, item.name)
result = link(objects, arch="sm_123")
assert check(result.bytes) == [], check(result.bytes)
for data in (result.bytes, *(item.data for item in objects)):
    cubin = Cubin.parse(data)
    assert cubin.arch == "sm_123", cubin.arch
    codes = [record.code for record in cubin.compat]
    # nvlink adds the records that it takes for missing
    assert codes == ([9, 2, 5, 3, 12, 13] if data is result.bytes else [9, 2, 5]), codes
    assert [note.toolkit_version for note in cubin.notes if note.toolkit_version] == [139]
    assert bytes(emit(describe(data))) == data
    text = to_yaml(data)
    assert "arch: sm_123" in text, text[:600]
    assert from_yaml(text) == data
    without = text.replace("profile: mercury\\n", "")  # it is what this toolkit writes
    assert without != text and from_yaml(without) == data
try:
    link(objects, arch="sm_121")
except LinkError as error:
    assert "arch does not match" in str(error), error
else:
    raise AssertionError("code for a later architecture was linked")
try:
    CubinBuilder("sm_124").to_bytes()
except Exception as error:
    assert "sm_123a" in str(error), error
facts = Facts()
assert facts.verdict("cubin", "sm_120", facts.devices[123]).runs
assert not facts.verdict("cubin", "sm_123", facts.devices[121]).runs
print("built", "linked", "checked", "written")
"""


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated Python with both rows added to the tables."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "ksy", folder / "ksy")
    arch = folder / "ksy/tables/arch.yaml"
    text = arch.read_text("utf-8")
    row = text[text.index("- sm: 121\n") :].replace("- sm: 121\n", "- sm: 123\n")
    row = row.replace("param_base: 0x380", "param_base: 0x3a0")
    arch.write_text(text.rstrip("\n") + "\n" + re.sub("'12.9'", "'13.9'", row), "utf-8")
    toolkits = folder / "ksy/tables/toolkits.yaml"
    text = toolkits.read_text("utf-8").replace("written: '13.0'", "written: '13.9'")
    toolkits.write_text(text + _TOOLKIT, "utf-8")

    tables = check_and_load(folder)
    python = folder / "generated/python"
    shutil.copytree(ROOT / "generated/python", python)
    files = {path: text for path, text in emit(tables).items() if path.suffix != ".md"}
    groups = codes.constants(tables, load_specs(folder / "ksy"))
    names = {code.name: code.value for _, group in groups for code in group}
    package = Path("generated/python/cubinspec_generated")
    files[package / "targets.py"] = targets.emit(tables, names)
    files[package / "producers.py"] = targets.emit_producers(tables)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return python


def test_a_row_is_enough_to_build_link_check_and_write(generated: Path) -> None:
    path = [str(generated), *(str(ROOT / part) for part in ("src", "writer", "")), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(
        [sys.executable, "-c", _USE, str(CUBINS)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "built linked checked written\n"


def test_the_program_itself_knows_neither(generated: Path) -> None:
    from cubinspec.format.targets import WRITTEN, target

    assert generated.is_dir()
    assert target("sm_123") is None
    assert WRITTEN.version == "13.0"
