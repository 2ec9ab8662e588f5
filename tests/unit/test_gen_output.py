"""What the generator does with its files: order, check, leftovers, the compiler's output."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.gen import __main__ as gen
from tools.gen import fields, kaitai, packages
from tools.gen.kaitai import CompileError
from tools.gen.spec import SpecError, load_spec, load_specs

ROOT = Path(__file__).resolve().parents[2]

needs_node = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="node and npm are not here"
)


@pytest.fixture(scope="module")
def generated() -> dict[Path, str]:
    """What is in generated folders; `make check-gen` holds it against what is generated now."""
    files = [file for folder in gen.OWNED_FOLDERS for file in (ROOT / folder).rglob("*.*")]
    sources = [file for file in files if file.suffix in (".py", ".js")]
    return {file.relative_to(ROOT): file.read_text(encoding="utf-8") for file in sources}


@needs_node
def test_the_compiler_is_deterministic() -> None:
    runs = [kaitai.npm_compile(ROOT / "ksy", ["javascript"]) for _ in range(2)]
    assert runs[0] == runs[1]


def test_every_generated_file_names_its_source(generated: dict[Path, str]) -> None:
    for path, text in generated.items():
        if path.suffix in (".py", ".js"):
            assert "enerated" in text.splitlines()[0], path


def test_python_modules_import_each_other_relatively(generated: dict[Path, str]) -> None:
    names = set(load_specs(ROOT / "ksy"))
    for path, text in generated.items():
        if path.parent.name in ("kaitai", "kaitai_debug"):
            imported = {
                line.split()[-1] for line in text.splitlines() if line.startswith("import ")
            }
            assert not imported & names, path


@needs_node
def test_a_spec_that_does_not_compile_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.ksy").write_text("meta:\n  id: broken\nseq:\n  - {id: a, type: nosuch}\n")
    with pytest.raises(CompileError, match=r"python: broken\.ksy: (.|\n)*nosuch"):
        kaitai.npm_compile(tmp_path, ["python"])


def test_a_missing_official_compiler_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.ksy").write_text("meta:\n  id: a\n")
    with pytest.raises(CompileError, match="no-such-compiler"):
        kaitai.ksc_compile("no-such-compiler", tmp_path, ["python"])


def test_the_official_compiler_gets_the_right_arguments(tmp_path: Path) -> None:
    """A stand-in for the compiler writes what it was asked for into its output."""
    (tmp_path / "a.ksy").write_text("meta:\n  id: a\n")
    stand_in = tmp_path / "ksc"
    stand_in.write_text(
        '#!/bin/sh\nfor w; do [ "$p" = -d ] && d=$w; p=$w; done\necho "$@" > $d/a.py\n'
    )
    stand_in.chmod(0o755)
    result = kaitai.ksc_compile(str(stand_in), tmp_path, ["python", "python:debug"])
    plain, debug = result["python"]["a.py"].split(), result["python:debug"]["a.py"].split()
    assert plain[:2] == ["-t", "python"]
    assert plain[-3:] == ["--python-package", ".", str(tmp_path / "a.ksy")]
    assert set(debug) - set(plain) >= {"--no-auto-read", "--read-pos"}


def test_check_lists_missing_changed_and_left_over_files(tmp_path: Path) -> None:
    folder = packages.javascript.FOLDER
    files = {folder / "A.js": "a\n", folder / "B.js": "b\n"}
    assert gen.write(tmp_path, files) == 2
    assert gen.write(tmp_path, files) == 0
    (tmp_path / folder / "A.js").write_text("changed\n")
    (tmp_path / folder / "B.js").unlink()
    (tmp_path / folder / "Old.js").write_text("old\n")
    assert gen.differences(tmp_path, files) == [
        f"differs: {folder / 'A.js'}",
        f"missing: {folder / 'B.js'}",
        f"left over: {folder / 'Old.js'}",
    ]
    assert gen.write(tmp_path, files) == 3
    assert gen.differences(tmp_path, files) == []


def test_a_key_given_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.ksy"
    file.write_text("meta:\n  id: a\n  title: one\n  title: two\n")
    with pytest.raises(SpecError, match=r"a\.ksy:4: key 'title' occurs twice"):
        load_spec(file)


def test_fields_tell_owned_instances_bodies_and_bits(tmp_path: Path) -> None:
    (tmp_path / "demo.ksy").write_text(
        """meta:
  id: demo
seq:
  - {id: body, size-eos: true, -opaque: SASS}
instances:
  owned: {pos: 0, type: u1}
  looked_up: {io: _root._io, pos: 0, type: u1}
  shared: {pos: 0, type: u1, -alias: true}
  computed: {value: 1}
types:
  bit_pair:
    seq:
      - {id: a, type: b4}
      - {id: b, type: b4}
"""
    )
    scope: dict[str, object] = {}
    exec(fields.emit(load_specs(tmp_path)), scope)
    assert scope["OWNED_INSTANCES"] == {"Demo": ("owned",)}
    assert scope["OPAQUE"] == {"Demo": {"body": "SASS"}}
    assert scope["BIT_FIELDS"] == frozenset({"Demo.BitPair"})


def test_lockfile_names_no_registry() -> None:
    # `resolved` fields would pin the downloads to the registry of whoever wrote the file
    text = (ROOT / "tools/gen/package-lock.json").read_text()
    assert "resolved" not in text
    assert "https://" not in text.replace("https://github.com/sponsors/", "")
