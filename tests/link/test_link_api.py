"""What `cubinspec_writer.link` refuses in a program, where the command follows nvlink."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import cubinspec_writer
from cubinspec.errors import CubinError, NotCubinError
from cubinspec_writer.editor import Edit
from cubinspec_writer.linker import LinkOptions, Named, link
from cubinspec_writer.linker.command import run
from cubinspec_writer.linker.inputs import options as options_module
from tests.malformed.recipe import SAMPLES

INPUT = SAMPLES / "calls.sm_90.rel.cubin"
LINKED = SAMPLES / "calls.sm_90.exe.cubin"
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("what", [INPUT, str(INPUT), INPUT.read_bytes(), Named("a", b"")])
def test_a_single_input_is_no_list_of_letters(what: object) -> None:
    if isinstance(what, Named):
        what = Named("a", INPUT.read_bytes())
    alone = link(what, arch="sm_90")  # type: ignore[arg-type]
    assert alone.bytes == link([INPUT], "sm_90").bytes


def test_a_single_name_or_folder_is_no_list_of_letters(tmp_path: Path) -> None:
    kernels = cubinspec_names(link([INPUT], "sm_90").bytes)
    kept = link([INPUT], arch="sm_90", kernels_used=kernels[0]).bytes
    assert kept == link([INPUT], arch="sm_90", kernels_used=[kernels[0]]).bytes
    library = cubinspec_writer.linker.Library("absent")
    for paths in (tmp_path, str(tmp_path)):
        link([INPUT, library], arch="sm_90", library_paths=paths)
    edit = Edit(LINKED.read_bytes())
    with pytest.raises(CubinError, match="absent"):
        edit.keep("absent")


def cubinspec_names(data: bytes) -> list[str]:
    from cubinspec import Cubin

    return [kernel.name for kernel in Cubin.parse(data).kernels]


@pytest.mark.parametrize("kind", ["executable", "empty", "broken"])
def test_what_cannot_be_linked_is_refused_unless_asked(kind: str, tmp_path: Path) -> None:
    whole = LINKED.read_bytes()
    data = {"executable": whole, "empty": b"", "broken": INPUT.read_bytes()[:700]}[kind]
    path = tmp_path / "odd.cubin"
    path.write_bytes(data)
    with pytest.raises(CubinError) as caught:
        link([INPUT, path], arch="sm_90")
    assert str(path) in str(caught.value)
    if kind != "broken":
        assert isinstance(caught.value, NotCubinError)
        assert "ignore_unlinkable" in str(caught.value)
    passed = link([INPUT, path], arch="sm_90", ignore_unlinkable=True)
    assert passed.bytes == link([INPUT], arch="sm_90").bytes
    assert run(["-arch=sm_90", str(INPUT), str(path), "-o", str(tmp_path / "out")]) == 0


def test_misspelt_options_are_refused_at_run_time() -> None:
    with pytest.raises(TypeError, match="did you mean 'relocatable'"):
        link([INPUT], arch="sm_90", relocateable=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="needs a target"):
        link([INPUT])
    with pytest.raises(TypeError, match="given twice"):
        link([INPUT], "sm_90", arch="sm_80")
    with pytest.raises(TypeError, match="as an object already"):
        link([INPUT], LinkOptions("sm_90"), debug=True)


def test_misspelt_options_are_refused_by_mypy(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import cubinspec_writer\n"
        "cubinspec_writer.link(['a'], arch='sm_90', debug=True)\n"
        "cubinspec_writer.link(['a'], arch='sm_90', relocateable=True)\n"
        "cubinspec_writer.link(['a'], arch='sm_90', debug='yes')\n"
    )
    words = ["--config-file", str(ROOT / "pyproject.toml"), "--no-incremental"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words, "--follow-imports=silent", str(program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if "program.py" in line]
    assert not [line for line in lines if "program.py:2:" in line]
    assert any("program.py:3:" in line and "relocateable" in line for line in lines), done.stdout
    assert any("program.py:4:" in line and "debug" in line for line in lines), done.stdout


def test_the_typed_keywords_are_the_options() -> None:
    import ast

    tree = ast.parse(Path(options_module.__file__).read_text(encoding="utf-8"))
    (settings,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == "LinkSettings"
    ]
    names = [node.target.id for node in settings.body if isinstance(node, ast.AnnAssign)]  # type: ignore[union-attr]
    assert sorted(names) == sorted(LinkOptions.__match_args__)
