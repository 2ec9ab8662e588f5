"""The finder that the console script of a compiled wheel takes modules from."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from graphlib import CycleError
from pathlib import Path

import pytest

from cubinspec.cli import bundle
from tools.package import COMPILED_TESTS
from tools.package.compile_hook import bundle as written

FAILING = "def fail():\n    raise KeyError\n"


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """The bundle of a package that Python itself would not find."""
    package = tmp_path / "bundled"
    package.mkdir()
    package.joinpath("__init__.py").write_text("from bundled.one import fail\nHERE = __file__\n")
    package.joinpath("one.py").write_text(FAILING)
    path = tmp_path / "cubinspec" / "cli" / "modules.bundle"
    path.parent.mkdir(parents=True)
    path.write_bytes(written(tmp_path, ["bundled"], tmp_path / "lib"))
    kept = sys.meta_path[:]
    yield path
    sys.meta_path[:] = kept
    for name in [name for name in sys.modules if name.partition(".")[0] == "bundled"]:
        del sys.modules[name]


def test_modules_look_as_if_python_had_found_them(path: Path) -> None:
    bundle.install(str(path))
    package = importlib.import_module("bundled")
    place = path.parents[2] / "bundled"
    assert str(place / "__init__.py") == package.HERE
    assert list(package.__path__) == [str(place)]
    module = sys.modules["bundled.one"]
    assert (module.__file__, module.__package__) == (str(place / "one.py"), "bundled")
    assert module.__spec__ is not None
    assert module.__spec__.has_location
    assert inspect.getsource(module) == FAILING
    with pytest.raises(KeyError) as caught:
        module.fail()
    (_, frame) = traceback.extract_tb(caught.tb)
    assert (frame.filename, frame.line) == (module.__file__, "raise KeyError")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("bundled.two")


def rebuilt(path: Path, **modules: str) -> None:
    """The bundle with more modules in its package."""
    folder = path.parents[2]
    for name, text in modules.items():
        folder.joinpath("bundled", f"{name}.py").write_text(text)
    path.write_bytes(written(folder, ["bundled"], folder / "lib"))
    bundle.install(str(path))


def test_what_a_module_imports_is_loaded_with_it_in_its_order(path: Path) -> None:
    rebuilt(
        path,
        first="import bundled.second\nfrom bundled import third\nORDER = third.ORDER\n",
        second="ORDER = ['second']\n",
        third="from bundled.second import ORDER\nORDER.append('third')\n",
    )
    assert importlib.import_module("bundled.first").ORDER == ["second", "third"]
    package = sys.modules["bundled"]
    for name in ("one", "first", "second", "third"):
        assert getattr(package, name) is sys.modules[f"bundled.{name}"]


def test_a_circle_of_imports_makes_no_bundle(path: Path) -> None:
    with pytest.raises(CycleError):
        rebuilt(path, first="import bundled.second\n", second="import bundled.first\n")


def test_a_module_that_fails_is_not_kept(path: Path) -> None:
    rebuilt(path, first="import bundled.second\n", second="raise ImportError('no parts')\n")
    for _ in range(2):
        with pytest.raises(ImportError, match="no parts"):
            importlib.import_module("bundled.first")
        assert "bundled.second" not in sys.modules


def test_a_bundle_of_another_python_is_not_used(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    bundle.install(str(path))
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("bundled")


def test_a_closed_stream_does_not_become_the_bundle(path: Path) -> None:
    program = """if True:
        import os, sys
        from cubinspec.cli.bundle import install
        os.close(0)
        install(sys.argv[1])
        print(os.open(sys.argv[1], os.O_RDONLY))
    """
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "0\n"


@pytest.mark.skipif(not os.environ.get(COMPILED_TESTS), reason="only compiled wheels have a bundle")
def test_the_command_takes_its_modules_from_the_bundle() -> None:
    program = """if True:
        import sys
        from pathlib import Path
        import cubinspec.cli
        from cubinspec.cli.bundle import install
        install(str(Path(cubinspec.cli.__file__).with_name("modules.bundle")))
        import cubinspec_writer.linker.command
        import cubinspec_writer.linker.passes.merge
        for name in ("format.targets", "reader.elf"):
            print(type(sys.modules[f"cubinspec.{name}"].__spec__.loader).__name__)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["_SourceLoader", "_CompiledLoader"], "")
