"""Extensible whole programs: the PTX of all link cases, assembled with `ptxas -ewp`.

Every file alone, and all files of a case together, is linked by nvlink and by this linker, with
debug data and without, and with options that change what a link keeps. What this linker refuses by
name counts for itself.

python -m tools.linkcases.sweep.extensible [--arch 75,90,100,120] [--match TEXT] [--jobs N]
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
from tools.linkcases.sweep.variation import (
    FILES,
    Nvlink,
    Outcome,
    Variation,
    difference,
    link_here,
)

ARCHES = ("75", "90", "100", "120")
#: What ptxas is told beside `-ewp`.
DEBUG = ((), ("-lineinfo",), ("-g",))
LINKS = ((), ("-r",), ("--preserve-relocs",), ("--kernels-used=k1",))
SAME, REFUSED, WRONG = "the same", "refused by name", "different"
CRASHED, GAVE_UP = "nvlink crashed", "nvlink ended with an internal error"
NOT_ASSEMBLED = "not assembled"
OUTCOMES = (SAME, REFUSED, CRASHED, GAVE_UP, WRONG)
_REFUSAL = "not supported by this linker: "
_INTERNAL = "cubinspec link fatal   : Internal error: "


@dataclass(frozen=True)
class Found:
    """What became of one link, or of a program that ptxas does not take."""

    arch: str
    program: str
    outcome: str
    text: str = ""


def programs() -> dict[str, tuple[Path, ...]]:
    """Name -> files: every PTX file alone, equal ones once, and the files of every case."""
    alone: dict[bytes, Path] = {}
    found: dict[str, tuple[Path, ...]] = {}
    for folder in sorted(build.CASES.iterdir()):
        files = sorted(folder.glob("*.ptx"))
        for path in files:
            if alone.setdefault(path.read_bytes(), path) is path:
                found[f"{folder.name}/{path.name}"] = (path,)
        if 1 < len(files) <= len(FILES):
            found[folder.name] = tuple(files)
    return found


def _assemble(paths: tuple[Path, ...], words: tuple[str, ...], arch: str) -> tuple[bytes, ...]:
    """The objects of some files; empty when ptxas refuses one."""
    made = []
    with tempfile.TemporaryDirectory() as temporary:
        output = Path(temporary) / "out.cubin"
        for path in paths:
            asked = [f"-arch=sm_{arch}", "-ewp", *words, str(path), "-o", str(output)]
            if oracle.find("ptxas").run(*asked).returncode:
                return ()
            made.append(output.read_bytes())
    return tuple(made)


def _variations(name: str, paths: tuple[Path, ...], arch: str) -> Iterator[Variation]:
    for words in DEBUG:
        files = _assemble(paths, words, arch)
        if not files:
            continue
        for options in LINKS:
            yield Variation(" ".join((name, *words, *options)), files, options)


def _link_all(task: tuple[str, str, tuple[Path, ...], Path]) -> list[Found]:
    """The outcomes of one program on one target."""
    arch, name, paths, cache = task
    nvlink = Nvlink(cache / "links.sqlite")
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        note = folder / "note.cubin"
        for variation in _variations(name, paths, arch):
            variation.write(folder)
            theirs = nvlink.link(variation, arch, folder)
            if theirs.status < 0:
                found.append(Found(arch, variation.name, CRASHED))
                continue
            if theirs.data:
                note.write_bytes(theirs.data)
            ours = link_here(variation, arch, folder, note if theirs.data else None)
            text = difference(theirs, ours)
            found.append(Found(arch, variation.name, _judged(theirs, ours, text), text))
    return found or [Found(arch, name, NOT_ASSEMBLED)]


def _judged(theirs: Outcome, ours: Outcome, text: str) -> str:
    """What a link is, whose difference is told by a text."""
    if not text:
        return SAME
    if _REFUSAL in ours.messages:
        return REFUSED
    gave_up = theirs.messages.startswith(ours.messages + _INTERNAL)
    return GAVE_UP if gave_up else WRONG


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare links of extensible whole programs.")
    parser.add_argument("--arch", default=",".join(ARCHES), help="targets, such as 80,90a")
    parser.add_argument("--match", default="", help="only programs whose name has this text")
    parser.add_argument("--cache", type=Path, default=build.ROOT / "build" / "linksweep")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    why = oracle.missing("ptxas", "nvlink")
    if why is not None:
        print(f"cannot compare: {why}", file=sys.stderr)
        return 2
    options.cache.mkdir(parents=True, exist_ok=True)
    tasks = [
        (arch, name, paths, options.cache)
        for arch in options.arch.split(",")
        for name, paths in programs().items()
        if options.match in name
    ]
    counts: dict[str, Counter[str]] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for rows in pool.map(_link_all, tasks):
            counts.setdefault(rows[0].arch, Counter()).update(row.outcome for row in rows)
            for row in rows:
                if row.outcome in (WRONG, REFUSED):
                    print(f"sm_{row.arch} {row.program}: {row.outcome}: {row.text}", flush=True)
    for arch, outcomes in counts.items():
        told = ", ".join(f"{outcomes[word]} {word}" for word in OUTCOMES)
        print(f"sm_{arch}: {told}; {outcomes[NOT_ASSEMBLED]} programs {NOT_ASSEMBLED}")
    return int(any(outcomes[WRONG] for outcomes in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
