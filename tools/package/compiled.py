"""``make test-compiled``: the tests on an installed wheel with compiled modules.

    python -m tools.package.compiled [--quick] [WORD FOR PYTEST ...]

The wheel is built and installed into ``build/compiled``, an environment of its own, which `make
bench` measures, too. The tests run there with the tools of the environment that runs this, so they
import the installed package and not the checkout; `tests/unit/test_compiled.py` makes sure of it.
Where no C compiler is, this says so and counts as passed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tools.package import COMPILED_TESTS
from tools.package.compile_hook import LEVEL, WISH

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "compiled"
#: What CI runs: the tests of what is compiled.
QUICK = (
    "tests/unit/test_api.py",
    "tests/unit/test_bulk.py",
    "tests/unit/test_compiled.py",
    "tests/unit/test_emit_parts.py",
    "tests/unit/test_public_classes.py",
    "tests/unit/test_reader_columns.py",
    "tests/unit/test_reader_elf.py",
    "tests/unit/test_reader_index.py",
    "tests/malformed",
    "tests/link",
    # `make test` holds these against nvlink. Here the same inputs, and those of all other targets,
    # are held against what nvlink made of them when they were stored.
    "--deselect=tests/link/test_parity.py::test_case_is_linked_as_nvlink_does",
)


def missing() -> str | None:
    """What a build with compiled modules lacks on this machine; ``None`` when it lacks nothing."""
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        return f"no C compiler ({compiler}) is on this machine"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "the headers of Python are not on this machine"
    return None


def install() -> str:
    """Build the wheel and install it into a fresh environment; the interpreter there."""
    shutil.rmtree(HOME, ignore_errors=True)
    wheels = HOME / "wheel"
    words = ["build", "--wheel", "--no-isolation", "--outdir", str(wheels), str(ROOT)]
    subprocess.run([sys.executable, "-m", *words], env={**os.environ, WISH: "1"}, check=True)
    subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
    python = str(HOME / "bin" / "python")
    (wheel,) = wheels.glob("*.whl")
    # By the pip of this environment: that of a fresh one may make slower console scripts.
    pip = [sys.executable, "-m", "pip", "--python", python]
    subprocess.run([*pip, "install", "--quiet", f"{wheel}[scan]"], check=True)
    return python


def test(python: str, words: list[str]) -> int:
    """Run tests with what is installed there; the exit status of pytest."""
    packages = Path(sysconfig.get_path("purelib"))
    there = HOME / f"lib/python{sysconfig.get_python_version()}/site-packages"
    if (packages / "nvidia").is_dir():
        (there / "nvidia").symlink_to(packages / "nvidia")  # where `tools.oracle` looks
    # Only the packages: files that lead to the checkout are read in site folders alone.
    environment = {**os.environ, "PYTHONPATH": str(packages), COMPILED_TESTS: "1"}
    command = [python, "-m", "pytest", "-m", "not corpus and not browser", *words]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    """Build, install, test."""
    parser = argparse.ArgumentParser(description="Test a wheel with compiled modules.")
    parser.add_argument(
        "--quick", action="store_true", help="compile quickly; only the tests of what is compiled"
    )
    parser.add_argument("--no-tests", action="store_true", help="only build and install")
    options, words = parser.parse_known_args()
    why = missing()
    if why is not None:
        print(f"SKIPPED test-compiled: {why}")
        return 0
    if options.quick:
        os.environ.setdefault(LEVEL, "1")
        words += QUICK
    os.environ.pop("PYTHONPATH", None)  # it could bring the checkout back
    python = install()
    return 0 if options.no_tests else test(python, words)


if __name__ == "__main__":
    sys.exit(main())
