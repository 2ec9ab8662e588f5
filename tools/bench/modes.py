"""The two forms of the package: the checkout, and an installed wheel with compiled modules.

`make test-compiled` installs that wheel into a folder below ``build``. It counts only while its
sources are those of the checkout.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.bench.inputs import ROOT

#: Where `tools.package.compiled` installs the wheel.
COMPILED_HOME = ROOT / "build" / "compiled"
PACKAGES = (
    ROOT / "src" / "cubinspec",
    ROOT / "writer" / "cubinspec_writer",
    ROOT / "generated" / "python" / "cubinspec_generated",
)
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Mode:
    """How our side of a comparison is run."""

    name: str
    python: Path

    @property
    def label(self) -> str:
        """Its name and the version of Python, which is that of this process."""
        return f"{self.name}, {platform.python_version()}"

    @property
    def cubinspec(self) -> Path:
        """The console script."""
        return self.python.with_name("cubinspec")


PURE = Mode("pure", Path(sys.executable))
COMPILED = Mode("compiled", COMPILED_HOME / "bin" / "python")


def why_not_compiled() -> str | None:
    """Why there is no compiled mode to measure; ``None`` when there is."""
    if not COMPILED.cubinspec.is_file():
        return "no compiled wheel is installed (make test-compiled)"
    if "PYTHONPATH" in os.environ:
        return "PYTHONPATH would lead the compiled wheel to other sources"
    (site,) = COMPILED_HOME.glob("lib/python*/site-packages")
    for package in PACKAGES:
        for source in package.rglob("*.py"):
            there = site / source.relative_to(package.parent)
            if not there.is_file() or not filecmp.cmp(source, there, shallow=False):
                return "the compiled wheel is of other sources (make test-compiled)"
    return None


def modes() -> list[Mode]:
    """What can be measured."""
    return [PURE] if why_not_compiled() else [PURE, COMPILED]


def output(argv: Sequence[str]) -> str:
    """A hash of everything that a command writes: output, messages, and what is behind ``-o``."""
    total = hashlib.sha256()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        while block := process.stdout.read(_BLOCK):
            total.update(block)
    total.update(str(process.returncode).encode())
    if "-o" in argv:
        place = Path(argv[list(argv).index("-o") + 1])
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for file in files:
            if file.is_file():
                total.update(str(file).encode() + b"\0" + file.read_bytes())
    return total.hexdigest()
