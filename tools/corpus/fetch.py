"""`make corpus`: the development wheels, by name, version and sha256, and the cubins in them.

Nothing of them is committed. `.cache/corpus` gets one file per unique cubin, named after the start
of its sha256, and `manifest.tsv` that says where each was found first. The wheels stay in
`.cache/wheels`.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

import cubinspec
from tools.oracle import OracleError
from tools.oracle.toolchains import fetch_wheel

ROOT = Path(__file__).resolve().parents[2]
WHEELS = Path(__file__).with_name("dev-wheels.tsv")
CACHE = ROOT / ".cache" / "corpus"
MANIFEST = CACHE / "manifest.tsv"
COLUMNS = ("sha256", "bytes", "arch", "package", "version", "where")


@dataclass(frozen=True)
class Wheel:
    """One line of dev-wheels.tsv."""

    package: str
    version: str
    wheel: str
    sha256: str
    unique_cubins: int
    what: str


def wheels() -> list[Wheel]:
    """The wheels that the corpus is made of."""
    with WHEELS.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [
            Wheel(
                row["package"],
                row["version"],
                row["wheel"],
                row["sha256"],
                int(row["unique_cubins"]),
                row["what"],
            )
            for row in rows
        ]


def files() -> list[Path]:
    """The fetched cubins, sorted by name; empty when `make corpus` has not been run."""
    return sorted(CACHE.glob("*.cubin"))


def manifest() -> list[dict[str, str]]:
    """One row per unique cubin, in the order of the wheels."""
    if not MANIFEST.is_file():
        return []
    with MANIFEST.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def extract(wheel: Wheel, path: Path, seen: set[str]) -> tuple[list[dict[str, object]], int]:
    """Write the wheel's cubins that are not in `seen`.

    Returns:
        The manifest rows of the new ones, and how many unique cubins the wheel holds in all.

    Raises:
        CubinError: an image could not be read.
    """
    rows: list[dict[str, object]] = []
    own: set[str] = set()
    for image in cubinspec.images(path):
        if image.error is not None:
            raise image.error
        if image.kind != "cubin":
            continue
        data = image.data
        digest = hashlib.sha256(data).hexdigest()
        own.add(digest)
        if digest in seen:
            continue
        seen.add(digest)
        (CACHE / f"{digest[:16]}.cubin").write_bytes(data)
        where = str(image).split(path.name, 1)[-1].lstrip(" :/→")
        rows.append(
            dict(
                zip(
                    COLUMNS,
                    (digest, len(data), image.arch, wheel.package, wheel.version, where),
                    strict=True,
                )
            )
        )
    return rows, len(own)


def main() -> int:
    CACHE.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    rows: list[dict[str, object]] = []
    status = 0
    for wheel in wheels():
        kept = ROOT / ".cache" / "wheels" / wheel.wheel
        try:
            if not kept.is_file():
                kept = fetch_wheel(wheel.package, wheel.version, wheel.sha256, kept.parent)
            new, unique = extract(wheel, kept, seen)
        except (OracleError, cubinspec.CubinError) as error:
            print(f"{wheel.package} {wheel.version}: {error}", file=sys.stderr)
            status = 1
            continue
        rows += new
        expected = "" if unique == wheel.unique_cubins else f", expected {wheel.unique_cubins}"
        status |= unique != wheel.unique_cubins
        print(f"{wheel.package} {wheel.version}: {unique} unique cubins{expected}")
    with MANIFEST.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    known = {f"{str(row['sha256'])[:16]}.cubin" for row in rows}
    for stale in files():
        if stale.name not in known:
            stale.unlink()
    print(f"{len(rows)} cubins in {CACHE.relative_to(ROOT)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
