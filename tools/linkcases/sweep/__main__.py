"""`make link-sweep`: link every variation with nvlink and with this linker, and count.

A link that differs needs an entry of `exceptions.yaml`, and an entry needs links that differ. Only
where nvlink crashes nothing is compared.

python -m tools.linkcases.sweep [--arch 80,90] [--match TEXT] [--cache DIR] [--list]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools import oracle
from tools.linkcases import build
from tools.linkcases.sweep import attributes, exceptions, relocations, sections, stored, symbols
from tools.linkcases.sweep.programs import SOURCES, bases
from tools.linkcases.sweep.variation import Nvlink, Variation, difference, link_here

KINDS = {
    "attributes": attributes.variations,
    "sections": sections.variations,
    "relocations": relocations.variations,
    "symbols": symbols.variations,
}
CRASHED, SAME, EXCEPTION, WRONG = "nvlink crashed", "the same", "exceptions", "wrong"


@dataclass(frozen=True)
class Found:
    """What became of one link."""

    kind: str
    arch: str
    name: str
    outcome: str
    text: str = ""


def variations(kind: str, arch: str, folder: Path) -> Iterator[Variation]:
    for program in SOURCES:
        yield from KINDS[kind](program, bases(arch, program, folder))


def _link_all(task: tuple[str, str, int, int, str, Path]) -> list[Found]:
    """The outcomes of one share of the links: target, name, difference."""
    kind, arch, share, shares, match, cache = task
    nvlink = Nvlink(cache / "links.sqlite")
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        note = folder / "note.cubin"
        for number, variation in enumerate(variations(kind, arch, cache / "bases")):
            if number % shares != share or match not in variation.name:
                continue
            variation.write(folder)
            theirs = nvlink.link(variation, arch, folder)
            if theirs.status < 0:
                found.append(Found(kind, arch, variation.name, CRASHED))
                continue
            if theirs.data:
                note.write_bytes(theirs.data)
            ours = link_here(variation, arch, folder, note if theirs.data else None)
            found.append(_judged(kind, arch, variation.name, difference(theirs, ours)))
    return found


def _judged(kind: str, arch: str, name: str, text: str) -> Found:
    """What a link is, whose difference is told by a text."""
    known = exceptions.find(kind, arch, name)
    if known is None:
        return Found(kind, arch, name, WRONG if text else SAME, text)
    if text:
        return Found(kind, arch, name, EXCEPTION, text)
    return Found(kind, arch, name, WRONG, "is the same, but has an exception")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare this linker with nvlink.")
    parser.add_argument("--arch", default="75,80,90,100", help="targets, such as 80,90a")
    parser.add_argument("--kind", default=",".join(KINDS))
    parser.add_argument("--match", default="", help="only variations whose name has this text")
    parser.add_argument("--cache", type=Path, default=build.ROOT / "build" / "linksweep")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--store", action="store_true", help="write the part that is stored")
    options = parser.parse_args()
    why = oracle.missing("ptxas", "nvlink")
    if why is not None:
        print(f"cannot compare: {why}", file=sys.stderr)
        return 2
    options.cache.mkdir(parents=True, exist_ok=True)
    if options.store:
        stored.write(options.cache)
        return 0
    arches = options.arch.split(",")
    for arch in arches:
        for program in SOURCES:
            bases(arch, program, options.cache / "bases")
    shares = options.jobs
    tasks = [
        (kind, arch, share, shares, options.match, options.cache)
        for arch in arches
        for kind in options.kind.split(",")
        for share in range(shares)
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        found = [row for rows in pool.map(_link_all, tasks) for row in rows]
    for one in found:
        if one.outcome == WRONG:
            print(f"sm_{one.arch} {one.name}: {one.text}")
    idle = [] if options.match else _idle(found)
    for line in idle:
        print(line)
    for kind, arch in dict.fromkeys((one.kind, one.arch) for one in found):
        counts = Counter(one.outcome for one in found if (one.kind, one.arch) == (kind, arch))
        told = ", ".join(f"{counts[word]} {word}" for word in (SAME, EXCEPTION, CRASHED, WRONG))
        print(f"sm_{arch} {kind}: {told}")
    return int(bool(idle) or any(one.outcome == WRONG for one in found))


def _idle(found: list[Found]) -> list[str]:
    """Exceptions that explain nothing."""
    lines = []
    for kind, arch in dict.fromkeys((one.kind, one.arch) for one in found):
        names = [f.name for f in found if (f.kind, f.arch) == (kind, arch) and f.outcome != CRASHED]
        for name in exceptions.idle_names(kind, arch, names):
            lines.append(f"sm_{arch} {kind}: the exception {name!r} explains no link")
    return lines


if __name__ == "__main__":
    sys.exit(main())
