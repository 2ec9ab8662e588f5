"""`make link-sweep`: link every variation with nvlink and with this linker, and count.

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
from pathlib import Path

from tools import oracle
from tools.linkcases import build
from tools.linkcases.sweep import attributes, sections, stored
from tools.linkcases.sweep.programs import SOURCES, bases
from tools.linkcases.sweep.variation import Nvlink, Variation, difference, link_here

KINDS = {"attributes": attributes.variations, "sections": sections.variations}
Found = tuple[str, str, str]


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
            if theirs.data:
                note.write_bytes(theirs.data)
            ours = link_here(variation, arch, folder, note if theirs.data else None)
            found.append((arch, variation.name, difference(theirs, ours)))
    return found


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
    for arch, name, text in found:
        if text:
            print(f"sm_{arch} {name}: {text}")
    for arch in arches:
        counts = Counter(bool(text) for a, _, text in found if a == arch)
        print(f"sm_{arch}: {counts[False]} the same, {counts[True]} different")
    return int(any(text for _, _, text in found))


if __name__ == "__main__":
    sys.exit(main())
