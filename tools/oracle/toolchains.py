"""Older and newer toolchains, fetched with pip into `.cache/oracle` when samples are rebuilt."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import yaml

from tools.oracle import OracleError, Tool

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "oracle"
TABLE: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("toolchains.yaml").read_text(encoding="utf-8")
)["toolchains"]


def is_fetched(label: str) -> bool:
    """Whether every file of this toolchain lies in the cache."""
    return all((CACHE / label / file).exists() for file in TABLE[label]["files"].values())


def fetch_wheel(package: str, version: str, sha256: str, folder: Path) -> Path:
    """`pip download` of one wheel, without dependencies, checked against its sha256.

    Raises:
        OracleError: pip failed, or the file is not the one named.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        process = subprocess.run(
            [*pip, "--only-binary=:all:", "--dest", scratch, f"{package}=={version}"],
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = list(Path(scratch).glob("*.whl"))
        if process.returncode or len(wheels) != 1:
            raise OracleError(f"pip download {package}=={version} failed:\n{process.stderr}")
        digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
        if digest != sha256:
            raise OracleError(f"{wheels[0].name}: sha256 is {digest}, expected {sha256}")
        kept = folder / wheels[0].name
        os.replace(wheels[0], kept)
    return kept


def _unpack(label: str, scratch: Path) -> None:
    entry = TABLE[label]
    version = entry.get("version", label)
    wheel = fetch_wheel(entry["package"], version, entry["sha256"], scratch)
    wanted = tuple(entry["files"].values())
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.startswith(wanted) and not member.endswith("/"):
                place = CACHE / label / member
                place.parent.mkdir(parents=True, exist_ok=True)
                file = Path(archive.extract(member, scratch))
                file.chmod(0o755)
                os.replace(file, place)


def path(label: str, name: str) -> Path:
    """A file (or folder) of a toolchain, fetching the wheel first when it is not in the cache."""
    entry = TABLE[label]
    if not is_fetched(label):
        CACHE.mkdir(parents=True, exist_ok=True)
        # Other processes may fetch the same wheel, so each file comes to its place by a rename.
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            _unpack(label, Path(scratch))
    return CACHE / label / str(entry["files"][name])


def tool(label: str, name: str) -> Tool:
    """An executable of a fetched toolchain."""
    return Tool(name, label, path(label, name))
