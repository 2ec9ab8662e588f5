"""`make link-sweep`: link every variation with nvlink and with this linker, and count.

A link that differs needs an entry of `exceptions.yaml`, and an entry needs links that differ. Only
where nvlink crashes nothing is compared.

python -m tools.linkcases.sweep [--arch 80,90] [--match TEXT] [--cache DIR] [--list]
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tools.linkcases.outcomes import Outcome
from tools.linkcases.sweep import (
    attributes,
    both,
    exceptions,
    relocations,
    sections,
    stored,
    symbols,
)
from tools.linkcases.sweep.programs import SOURCES, bases
from tools.linkcases.sweep.variation import Nvlink, Variation, difference

KINDS = {
    "attributes": attributes.variations,
    "sections": sections.variations,
    "relocations": relocations.variations,
    "symbols": symbols.variations,
}
CRASHED, SAME, EXCEPTION, WRONG = "nvlink crashed", "the same", "exceptions", "wrong"


def variations(kind: str, arch: str, folder: Path) -> Iterator[Variation]:
    for program in SOURCES:
        yield from KINDS[kind](program, bases(arch, program, folder))


def _link_all(task: tuple[str, str, int, int, str, Path]) -> list[tuple[str, Outcome]]:
    """One share of the links: the kind of the sweep, and what became of each."""
    kind, arch, share, shares, match, cache = task
    nvlink = Nvlink(cache / "links.sqlite")
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        for number, variation in enumerate(variations(kind, arch, cache / "bases")):
            if number % shares != share or match not in variation.name:
                continue
            linked = both.link(variation, arch, Path(temporary), nvlink)
            if linked is None:
                found.append((kind, Outcome(variation.name, arch, CRASHED)))
            else:
                found.append((kind, _judged(kind, arch, variation.name, difference(*linked))))
    return found


def _judged(kind: str, arch: str, name: str, text: str) -> Outcome:
    """What a link is, whose difference is told by a text."""
    known = exceptions.find(kind, arch, name)
    if known is None:
        return Outcome(name, arch, WRONG if text else SAME, text)
    if text:
        return Outcome(name, arch, EXCEPTION, text)
    return Outcome(name, arch, WRONG, "is the same, but has an exception")


def main() -> int:
    parser = both.parser("Compare this linker with nvlink.", "75,80,90,100")
    parser.add_argument("--kind", default=",".join(KINDS))
    parser.add_argument("--store", action="store_true", help="write the part that is stored")
    options = parser.parse_args()
    if not both.is_ready(options.cache):
        return 2
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
    for _, one in found:
        if one.kind == WRONG:
            print(f"sm_{one.arch} {one.case}: {one.detail}")
    idle = [] if options.match else _idle(found)
    for line in idle:
        print(line)
    for kind, arch in _sweeps(found):
        counts = Counter(one.kind for swept, one in found if (swept, one.arch) == (kind, arch))
        told = ", ".join(f"{counts[word]} {word}" for word in (SAME, EXCEPTION, CRASHED, WRONG))
        print(f"sm_{arch} {kind}: {told}")
    return int(bool(idle) or any(one.kind == WRONG for _, one in found))


def _sweeps(found: list[tuple[str, Outcome]]) -> list[tuple[str, str]]:
    """Kinds and targets that were swept."""
    return list(dict.fromkeys((kind, one.arch) for kind, one in found))


def _idle(found: list[tuple[str, Outcome]]) -> list[str]:
    """Exceptions that explain nothing."""
    lines = []
    for kind, arch in _sweeps(found):
        names = [
            one.case
            for swept, one in found
            if (swept, one.arch) == (kind, arch) and one.kind != CRASHED
        ]
        for name in exceptions.idle_names(kind, arch, names):
            lines.append(f"sm_{arch} {kind}: the exception {name!r} explains no link")
    return lines


if __name__ == "__main__":
    sys.exit(main())
