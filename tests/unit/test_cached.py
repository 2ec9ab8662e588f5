"""The finder that the console script takes modules from where there is no bundle."""

from __future__ import annotations

import importlib
import inspect
import os
import py_compile
import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest

from cubinspec.cli import cached

WORKING = "def work():\n    return __name__\n"


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    """A package with a module and a package in it, all of them with bytecode."""
    package = tmp_path / "quick"
    for folder in (package, package / "inner"):
        folder.mkdir()
        folder.joinpath("__init__.py").write_text('"""A package."""\n')
    package.joinpath("one.py").write_text(WORKING)
    package.joinpath("inner", "two.py").write_text("from quick.one import work\n")
    for source in package.rglob("*.py"):
        py_compile.compile(str(source))
    kept = sys.meta_path[:], sys.path[:]
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    yield package
    sys.meta_path[:], sys.path[:] = kept
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "quick"]:
        del sys.modules[name]


def loaded(name: str) -> tuple[ModuleType, str]:
    """A module, and the name of the class of its loader."""
    module = importlib.import_module(name)
    return module, type(module.__spec__.loader if module.__spec__ else None).__name__


def looks(module: ModuleType) -> list[object]:
    spec = module.__spec__
    assert spec is not None
    names = ("__name__", "__file__", "__cached__", "__package__", "__path__", "__doc__")
    seen = [getattr(module, name, None) for name in names]
    return [*map(str, seen), spec.origin, spec.has_location, spec.cached, spec.name]


@pytest.mark.parametrize("name", ["quick.one", "quick.inner", "quick.inner.two"])
def test_modules_look_as_if_python_had_found_them(package: Path, name: str) -> None:
    usual, loader = loaded(name)
    assert loader == "SourceFileLoader"
    forget()
    cached.install("quick")
    quick, loader = loaded(name)
    assert (looks(quick), loader) == (looks(usual), "_Loader")
    assert inspect.getsource(quick) == inspect.getsource(usual)
    assert quick.__spec__ is not None
    code = quick.__spec__.loader.get_code(name)  # type: ignore[union-attr]
    assert code is not None
    assert code.co_filename == quick.__file__
    if name != "quick.inner":
        assert quick.work() == "quick.one"


def _newer(package: Path) -> None:
    source = package / "one.py"
    source.write_text(WORKING.replace("__name__", "'new'"))
    os.utime(source, (1, 1))


def _longer(package: Path) -> None:
    source = package / "one.py"
    status = source.stat()
    source.write_text(WORKING + "\n")
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))


def _of_another_python(package: Path) -> None:
    (code,) = package.joinpath("__pycache__").glob("one.*")
    code.write_bytes(b"\0\0\0\0" + code.read_bytes()[4:])


def _without(package: Path) -> None:
    (code,) = package.joinpath("__pycache__").glob("one.*")
    code.unlink()


def _by_hash(package: Path) -> None:
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    py_compile.compile(str(package / "one.py"), invalidation_mode=mode)


@pytest.mark.parametrize("change", [_newer, _longer, _of_another_python, _without, _by_hash])
def test_bytecode_that_is_not_surely_of_the_source_is_left_to_python(
    package: Path, change: object
) -> None:
    assert callable(change)
    change(package)
    cached.install("quick")
    module, loader = loaded("quick.one")
    assert (module.work(), loader) == (
        "new" if change is _newer else "quick.one",
        "SourceFileLoader",
    )


def test_what_is_compiled_is_left_to_python(package: Path) -> None:
    package.joinpath("one" + EXTENSION_SUFFIXES[0]).write_bytes(b"")
    cached.install("quick")
    with pytest.raises(ImportError, match="one"):
        loaded("quick.one")


def test_what_is_not_there_is_not_found(package: Path) -> None:
    cached.install("quick")
    with pytest.raises(ModuleNotFoundError):
        loaded("quick.three")
    assert loaded("json.decoder")[1] == "SourceFileLoader"
