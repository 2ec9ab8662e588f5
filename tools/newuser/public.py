"""Public wheels, and what has to be true of every one of them."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

SECONDS = 1800
#: What `scan` says at its end when all is well.
_SUMMARY = re.compile(r"cubinspec: \d+ images with \d+ kernels$")


class NotFetchedError(Exception):
    """The package index did not give a wheel."""


class Complaint(Exception):
    """A command said something on stderr, or has not the status of success."""


def fetch(package: str, version: str, folder: Path) -> Path:
    """Download one wheel.

    Raises:
        NotFetchedError: pip failed.
    """
    place = folder / package
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    done = subprocess.run(
        [*pip, "--only-binary=:all:", "--dest", str(place), f"{package}=={version}"],
        capture_output=True,
        text=True,
        check=False,
    )
    wheels = list(place.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise NotFetchedError(done.stderr)
    return wheels[0]


def output(python: str, *words: str) -> str:
    """What a command prints.

    Raises:
        Complaint: it failed, or said something on stderr.
    """
    done = subprocess.run(
        [python, "-m", "cubinspec", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    lines = [line for line in done.stderr.splitlines() if not _SUMMARY.match(line)]
    if done.returncode or lines:
        raise Complaint(
            f"{words[0]}: exit status {done.returncode}, {len(lines)} lines on stderr\n"
            + "\n".join(lines[:5])
        )
    return done.stdout


def rows(python: str, *words: str) -> list[dict[str, str]]:
    """The rows that a command prints with ``--csv``."""
    return list(csv.DictReader(io.StringIO(output(python, *words, "--csv"))))


def has_kernels(python: str, wheel: Path) -> None:
    """Names, registers and parameters come without a complaint."""
    found = rows(python, "kernels", str(wheel))
    if not found:
        raise Complaint("no kernels")
    if any(not row["registers"].isdigit() for row in found):
        raise Complaint("a kernel without registers")


def names_are_readable(python: str, wheel: Path) -> None:
    """C++ names are demangled by what the base installation brings."""
    records = [row for row in rows(python, "scan", str(wheel)) if row["record"] == "kernel"]
    mangled = [row for row in records if row["name"].startswith("_Z")]
    left = [row for row in mangled if row["demangled"].startswith("_Z")]
    if len(left) > len(mangled) // 100:
        raise Complaint(f"{len(left)} of {len(mangled)} names stay mangled: {left[0]['name']}")


def commands_agree(python: str, wheel: Path) -> None:
    """``images`` and ``scan`` count the same images of the same targets."""
    listed = Counter((row["kind"], row["arch"]) for row in rows(python, "images", str(wheel)))
    scanned = Counter(
        (row["kind"], row["arch"])
        for row in rows(python, "scan", str(wheel))
        if row["record"] == "image"
    )
    if listed != scanned or not listed:
        raise Complaint(f"images: {sum(listed.values())}, scan: {sum(scanned.values())}")


def sizes_sum(python: str, wheel: Path) -> None:
    """``size`` accounts for every byte of the file."""
    total = 0
    for row in rows(python, "size", str(wheel)):
        if row["view"] == "content":
            total += int(row["file_bytes"])
    if total != wheel.stat().st_size:
        raise Complaint(f"{total} of {wheel.stat().st_size} bytes")


def others_work(python: str, wheel: Path) -> None:
    """The other commands that read have nothing to complain about."""
    kinds = {row["kind"] for row in rows(python, "images", str(wheel))}
    for command in ("archs", "params", *(["ptx"] if "ptx" in kinds else [])):
        output(python, command, str(wheel))


def device_runtime_links(python: str, wheel: Path) -> None:
    """The device runtime, if there is one, links from its static library."""
    with zipfile.ZipFile(wheel) as members, tempfile.TemporaryDirectory() as folder:
        for name in members.namelist():
            if name.endswith("/libcudadevrt.a"):
                output(python, "spec", "--copy", f"{folder}/spec")
                library = members.extract(name, folder)
                sample = f"{folder}/spec/samples/calls.sm_90.rel.cubin"
                linked = f"{folder}/linked.cubin"
                output(
                    python,
                    "link",
                    "-arch=sm_90",
                    "-suppress-stack-size-warning",
                    sample,
                    library,
                    "-o",
                    linked,
                )
                if not rows(python, "kernels", linked):
                    raise Complaint("the linked cubin has no kernels")


def _check(act: Callable[[str, Path], None]) -> Callable[[str, Path], str | None]:
    def checked(python: str, wheel: Path) -> str | None:
        try:
            act(python, wheel)
        except (Complaint, subprocess.TimeoutExpired) as error:
            return str(error)
        return None

    return checked


#: What is checked, in words, and the check; it tells what is wrong.
CHECKS = [
    (str(act.__doc__).rstrip("."), _check(act))
    for act in (
        *(has_kernels, names_are_readable, commands_agree, sizes_sum, others_work),
        device_runtime_links,
    )
]
