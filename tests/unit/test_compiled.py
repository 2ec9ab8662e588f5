"""Compiled wheels: the build hook, and that the tests run on the modules that they are to test."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import inspect
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hatchling")

from tools.package import COMPILED_TESTS
from tools.package.compile_hook import (
    LICENSES_PLACE,
    NATIVE_PLACE,
    WISH,
    CompileError,
    CompileHook,
    chosen,
    crate_licenses,
    native,
)
from tools.package.docstrings import docstrings, documented

ROOT = Path(__file__).parents[2]
#: Of several suffixes the one that every platform has in common.
EXTENSION = importlib.machinery.EXTENSION_SUFFIXES[-1]


def hook() -> dict[str, Any]:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    return dict(wheel["targets"]["wheel"]["hooks"]["custom"])


def packages(folder: Path) -> Path:
    for package in (
        "src/cubinspec",
        "writer/cubinspec_writer",
        "generated/python/cubinspec_generated",
    ):
        shutil.copytree(ROOT / package, folder / Path(package).name)
    return folder


def names(tmp_path: Path) -> list[str]:
    paths = chosen(packages(tmp_path), hook()["compile"])
    return [path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in paths]


def test_what_runs_here_is_compiled_when_it_should_be(tmp_path: Path) -> None:
    expected = bool(os.environ.get(COMPILED_TESTS))
    listed = names(tmp_path)
    assert len(listed) > 20
    for name in listed:
        file = importlib.import_module(name).__file__
        assert file is not None
        assert file.endswith(EXTENSION) == expected, file


def test_compiled_modules_have_their_docstrings(tmp_path: Path) -> None:
    folder = packages(tmp_path)
    seen = 0
    for path in chosen(folder, hook()["compile"]):
        source = ast.parse((folder / path).read_text())
        name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        module = importlib.import_module(name)
        for (owner, entry), text in docstrings(source).items():
            if entry.startswith("__"):
                continue  # what Python says of all of that name
            thing = getattr(module, owner) if owner else module
            thing = inspect.getattr_static(thing, entry) if entry else thing
            assert inspect.getdoc(thing) == text, (name, owner, entry)
            seen += 1
    assert seen > 500


def test_docstrings_in_c() -> None:
    texts = {("", ""): 'Of "m".', ("_A", ""): "Of \\ ü?", ("_A", "p"): "p", ("", "f"): "f"}
    source = """\
static PyGetSetDef m____A_getseters[] = {
    {"p", (getter)get, NULL, NULL, NULL},
    {"q", (getter)get, NULL, NULL, NULL},
PyTypeObject CPyType_m____A_template_ = {
    .tp_doc = PyDoc_STR("_A(x=\\'a\\')\\n--\\n\\n"),
static PyMethodDef mmodule_methods[] = {
    {"f", PyDoc_STR(NULL)},
static struct PyModuleDef mmodule = {
    PyModuleDef_HEAD_INIT, "m", NULL, /* docstring */
"""
    assert documented(source, {"m": texts}).splitlines() == [
        "static PyGetSetDef m____A_getseters[] = {",
        '    {"p", (getter)get, NULL, "p", NULL},',
        '    {"q", (getter)get, NULL, NULL, NULL},',
        "PyTypeObject CPyType_m____A_template_ = {",
        """    .tp_doc = PyDoc_STR("_A(x=\\'a\\')\\n--\\n\\nOf \\\\ \\303\\274\\?"),""",
        "static PyMethodDef mmodule_methods[] = {",
        '    {"f", PyDoc_STR("f")},',
        "static struct PyModuleDef mmodule = {",
        '    PyModuleDef_HEAD_INIT, "m", "Of \\"m\\".", /* docstring */',
    ]


def test_every_group_of_compiled_modules_has_a_reason() -> None:
    for row in hook()["compile"]:
        assert row["why"]


def test_a_module_that_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / "one.py").touch()
    assert chosen(tmp_path, [{"modules": ["*.py"]}]) == ["one.py"]
    with pytest.raises(CompileError, match=r"there is no module gone\.py"):
        chosen(tmp_path, [{"modules": ["gone.py"]}])
    with pytest.raises(CompileError, match=r"two\.py is not among the modules"):
        chosen(tmp_path, [{"modules": ["*.py"], "except": ["two.py"]}])


def test_only_who_asks_for_it_needs_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> CompileHook:
        return CompileHook(str(ROOT), hook(), None, None, "", "wheel")  # type: ignore[arg-type]

    data: dict[str, Any] = {"force_include": {}}
    monkeypatch.delenv(WISH, raising=False)
    assert made().dependencies() == []
    made().initialize("standard", data)
    monkeypatch.setenv(WISH, "1")
    assert made().dependencies() == hook()["requires"]
    made().initialize("editable", data)
    assert data == {"force_include": {}}


def test_without_cargo_there_is_no_native_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert native(ROOT, tmp_path) is None
    assert "no cargo: the wheel will have no native module" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo is here")
def test_the_native_module_is_left_out_when_cargo_cannot_get_its_crates(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a machine without network, or with a cargo that is too old for the manifest."""

    def refuse(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert words[:2] == ["cargo", "fetch"]
        return subprocess.CompletedProcess(words, 101, "", "no route\n")

    monkeypatch.setattr(subprocess, "run", refuse)
    assert native(ROOT, tmp_path) is None
    assert "no route\ncargo cannot get what it needs" in capsys.readouterr().err


def described(folder: Path, **needed: dict[str, str | None]) -> dict[str, Any]:
    """What cargo says of packages and of what each needs: for a build (`build`) or more (None)."""
    return {
        "packages": [
            {"id": name, "name": name, "version": "1", "manifest_path": f"{folder}/{name}/x.toml"}
            for name in needed
        ],
        "resolve": {
            "root": next(iter(needed)),
            "nodes": [
                {
                    "id": name,
                    "deps": [
                        {"pkg": other, "dep_kinds": [{"kind": kind}]}
                        for other, kind in others.items()
                    ],
                }
                for name, others in needed.items()
            ],
        },
    }


def test_licences_of_what_is_linked_go_into_the_wheel(tmp_path: Path) -> None:
    metadata = described(
        tmp_path, us={"one": None, "tool": "build"}, one={"two": None}, two={"one": None}, tool={}
    )
    for name in ("us", "one", "two", "tool"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "LICENSE-MIT").touch()
    (tmp_path / "two" / "NOTICE").touch()
    assert crate_licenses(metadata) == {
        tmp_path / "one" / "LICENSE-MIT": f"{LICENSES_PLACE}/one-1/LICENSE-MIT",
        tmp_path / "two" / "LICENSE-MIT": f"{LICENSES_PLACE}/two-1/LICENSE-MIT",
        tmp_path / "two" / "NOTICE": f"{LICENSES_PLACE}/two-1/NOTICE",
    }
    (tmp_path / "one" / "LICENSE-MIT").unlink()
    with pytest.raises(CompileError, match="crate one-1 has no file with its licence"):
        crate_licenses(metadata)


@pytest.mark.skipif(not os.environ.get(COMPILED_TESTS), reason="only compiled wheels have them")
def test_the_installed_wheel_has_the_licences_of_its_crates() -> None:
    module = Path(importlib.import_module("cubinspec.format").__file__ or "").parent
    folder = module / Path(LICENSES_PLACE).name
    if not (module / Path(NATIVE_PLACE).name).exists():
        assert not folder.exists()
        return
    crates = tomllib.loads((ROOT / "native" / "Cargo.lock").read_text())["package"]
    locked = {f"{crate['name']}-{crate['version']}" for crate in crates} | {"rust"}
    there = {place.name for place in folder.iterdir()}
    assert there <= locked
    assert {name.rpartition("-")[0] for name in there} >= {"pyo3", "pyo3-ffi", "libc", "memoffset"}
    assert all(file.stat().st_size for place in folder.iterdir() for file in place.iterdir())
