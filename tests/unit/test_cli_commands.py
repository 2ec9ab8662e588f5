"""The command table: which module a command stands in, and who may import whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cubinspec.cli import COMMANDS, load
from cubinspec.errors import CubinError, MissingPackageError

SRC = Path(__file__).resolve().parents[2] / "src" / "cubinspec"
WRITER = "cubinspec_writer"
#: Runs a command line in an interpreter that cannot import the writer.
WITHOUT_WRITER = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == {WRITER!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from cubinspec.cli import main
sys.exit(main(sys.argv[1:]))
"""


def imported_modules(source: str) -> Iterator[str]:
    """Every absolute name that a module imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def imports_writer(source: str) -> bool:
    return any(name.split(".")[0] == WRITER for name in imported_modules(source))


def test_an_import_of_the_writer_would_be_seen() -> None:
    assert imports_writer("def f():\n    from cubinspec_writer.checker import check\n")
    assert imports_writer("import cubinspec_writer.linker as linker\n")
    assert not imports_writer("from cubinspec.cli import main\nNAME = 'cubinspec_writer'\n")


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda p: str(p.relative_to(SRC)))
def test_what_reads_does_not_import_what_writes(path: Path) -> None:
    assert not imports_writer(path.read_text("utf-8"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_what_the_dispatcher_uses(command: str) -> None:
    module = load(command)
    assert isinstance(module.USAGE, str)
    assert isinstance(module.OPTIONS, tuple)
    entry = "run_words" if getattr(module, "TAKES_WORDS", False) else "run"
    assert callable(getattr(module, entry))


@pytest.mark.parametrize("command", ["link", "check", "set", "to-yaml"])
def test_without_the_writer_a_writing_command_says_what_is_missing(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_WRITER, command, "--help"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"cubinspec: the Python package cubinspec_writer is needed for {command!r} and is not "
        "installed (expected pip install cubinspec)\n"
    )


@pytest.mark.parametrize("words", [["--help"], ["kernels", "--help"], ["pack", "--help"]])
def test_without_the_writer_the_rest_works(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_WRITER, *words], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout.startswith("usage: cubinspec")


def test_a_missing_package_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "check", ("cubinspec_writer_absent.command", "a command"))
    monkeypatch.setattr("cubinspec.cli._WRITER", "cubinspec_writer_absent")
    with pytest.raises(MissingPackageError, match="is needed for 'check'") as caught:
        load("check")
    assert isinstance(caught.value, CubinError)
    assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize("package", ["emitter", "checker", "editor", "builder", "yaml_form"])
def test_only_linking_imports_the_linker(package: str) -> None:
    script = f"import sys, {WRITER}.{package}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not {name for name in done.stdout.split() if name.startswith(f"{WRITER}.linker")}


def test_the_writer_gives_the_function_that_links() -> None:
    import cubinspec_writer

    assert callable(cubinspec_writer.link)
    assert set(cubinspec_writer.__all__) == {"link"}
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        cubinspec_writer.absent  # noqa: B018
