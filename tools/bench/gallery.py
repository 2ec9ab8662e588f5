"""The format gallery's `elf.ksy` as a Python class, as a peer of the bench.

The compiled class comes out of the PyPI wheel of a viewer that carries it. There it was compiled
with the compiler's debug option; the lines which that option adds are taken out again, so that the
peer is measured at the speed of an ordinary build.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from tools.bench.inputs import CACHE
from tools.oracle.toolchains import fetch_wheel

PACKAGE, VERSION = "pytai-hex", "0.2.9"
SHA256 = "1dca8c7996728747f88d02ba07cae76358a4e971ed3184bfd9680856133e9d47"
MEMBER = "pytai/kaitai/formats/elf.py"


def folder() -> Path:
    """A folder with `elf.py`, fetched at the first call.

    Raises:
        OracleError: the wheel could not be fetched.
    """
    target = CACHE / "gallery" / "elf.py"
    if not target.is_file():
        wheel = fetch_wheel(PACKAGE, VERSION, SHA256, CACHE / "wheels")
        with zipfile.ZipFile(wheel) as archive:
            lines = archive.read(MEMBER).decode("utf-8").splitlines(keepends=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(line for line in lines if "_debug" not in line), "utf-8")
        wheel.unlink()
    return target.parent
