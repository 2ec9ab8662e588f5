"""Starting up costs little: what the short way to a kernel table must not import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.malformed.recipe import SAMPLES

SLOW = (
    *("numpy", "yaml", "rich", "click", "typer", "dataclasses", "re", "importlib.metadata"),
    *("json", "argparse", "typing", "jsonschema", "kaitaistruct", "pathlib", "enum", "inspect"),
    *("collections", "importlib.resources", "logging", "tempfile", "zipfile", "concurrent"),
)
SCRIPT = """
import sys
before = set(sys.modules)
from cubinspec.cli import main
status = main(sys.argv[1:])
print("MODULES", *sorted(set(sys.modules) - before))
sys.exit(status)
"""


def imported(*words: str) -> set[str]:
    """Modules that a command line imports beyond what the interpreter itself has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=True
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("MODULES"))
    return set(line.split()[1:])


@pytest.mark.parametrize("stem", ["small.sm_90.exe", "small.sm_100.exe", "small.sm_35.exe.11.8.89"])
def test_kernels_of_a_small_cubin_imports_nothing_slow(stem: str) -> None:
    modules = imported("kernels", str(SAMPLES / f"{stem}.cubin"))
    assert "cubinspec.model.function" in modules
    assert not modules & set(SLOW)
    assert not {name for name in modules if name.startswith("cubinspec.containers")}


def test_the_version_needs_one_module_of_the_package() -> None:
    modules = {name for name in imported("--version") if name.startswith("cubinspec")}
    assert modules == {"cubinspec", "cubinspec.cli"}


def test_importing_the_package_imports_nothing_else() -> None:
    script = "import sys; b = set(sys.modules); import cubinspec; print(*(set(sys.modules) - b))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= {"cubinspec", "__future__"}


def test_public_names_come_when_asked_for() -> None:
    import cubinspec

    assert set(cubinspec.__all__) <= {*dir(cubinspec), *cubinspec._HOMES}
    assert cubinspec.Cubin.__name__ == "Cubin"
    assert issubclass(cubinspec.CubinError, Exception)
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        cubinspec.absent  # noqa: B018
