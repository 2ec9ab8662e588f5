"""How much of the packages a type checker understands, as pyright measures it."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.test_stability import PUBLIC

ROOT = Path(__file__).resolve().parents[2]
#: Part of the public names that must have a known type.
LEAST = 0.95


def pyright() -> list[str]:
    """The words that start pyright; where it was not installed, or node is missing, a skip."""
    beside = Path(sys.executable).with_name("pyright")
    program = str(beside) if beside.exists() else shutil.which("pyright")
    if program is None or shutil.which("node") is None:
        pytest.skip("pyright (which needs node) is not installed")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("pyright does not start: it fetches its program when it is first used")
    return [program]


@pytest.mark.parametrize("package", ["cubinspec", "cubinspec_writer"])
def test_public_names_have_types(package: str) -> None:
    words = ["--pythonpath", sys.executable, "--ignoreexternal", "--outputjson"]
    # pyright does not follow the .pth file of an editable installation here.
    sources = os.pathsep.join(str(ROOT / name) for name in ("src", "writer", "generated/python"))
    done = subprocess.run(
        [*pyright(), *words, "--verifytypes", package],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": sources},
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)["typeCompleteness"]
    unknown = [
        symbol["name"]
        for symbol in found["symbols"]
        if symbol["isExported"] and not (symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"])
    ]
    assert found["completenessScore"] >= LEAST, unknown[:20]


WRONG = "no_such_option"


def functions_with_options() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Module, path and value of every public function, class and method that has options."""
    for module in PUBLIC:
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            if not callable(value):
                continue
            found = [(name, value)]
            if inspect.isclass(value):
                found += [
                    (f"{name}.{method}", getattr(value, method))
                    for method in vars(value)
                    if not method.startswith("_") and inspect.isroutine(getattr(value, method))
                ]
            for path, function in found:
                if has_options(function):
                    yield module, path, function


def has_options(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return False
    return any(
        p.default is not p.empty or p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters
    )


OPTIONS = list(functions_with_options())


def test_every_option_has_a_type_and_a_name() -> None:
    assert len(OPTIONS) > 60
    for module, path, function in OPTIONS:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                assert str(parameter.annotation).startswith("Unpack["), f"{module}.{path}"
            assert parameter.kind is not parameter.VAR_POSITIONAL, f"{module}.{path}"
            is_typed = parameter.annotation is not parameter.empty
            assert is_typed or parameter.name == "self", f"{module}.{path}: {parameter}"


@pytest.mark.parametrize(("module", "path"), [(module, path) for module, path, _ in OPTIONS])
def test_a_misspelt_option_fails_at_run_time(module: str, path: str) -> None:
    value: Any = importlib.import_module(module)
    for name in path.split("."):
        value = getattr(value, name)
    needed = [
        None
        for p in inspect.signature(value).parameters.values()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    keywords = {
        name: None
        for name, p in inspect.signature(value).parameters.items()
        if p.default is p.empty and p.kind is p.KEYWORD_ONLY
    }
    with pytest.raises(TypeError, match=WRONG):
        value(*needed, **keywords, **{WRONG: 1})


def test_a_misspelt_option_fails_with_mypy(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    lines = [f"import {module}" for module in PUBLIC]
    lines += [f"{module}.{path}({WRONG}=1)" for module, path, _ in OPTIONS]
    script = tmp_path / "misspelt.py"
    script.write_text("\n".join(lines) + "\n")
    out, err, _ = api.run([str(script), "--config-file", str(ROOT / "pyproject.toml")])
    assert not err
    complaints = [line for line in out.splitlines() if f'keyword argument "{WRONG}"' in line]
    told = {int(line.split(":")[1]) for line in complaints}
    unseen = [lines[n - 1] for n in range(len(PUBLIC) + 1, len(lines) + 1) if n not in told]
    assert unseen == []
