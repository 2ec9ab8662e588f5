"""Extensible whole programs: the PTX of all link cases, assembled with `ptxas -ewp`.

Every file alone, and all files of a case together, is linked by nvlink and by this linker, with
debug data and without, and with options that change what a link keeps. What this linker refuses by
name counts for itself.

python -m tools.linkcases.sweep.extensible [--arch 75,90,100,120] [--match TEXT] [--jobs N]
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tools import oracle
from tools.linkcases import build, outcomes
from tools.linkcases.sweep import both
from tools.linkcases.sweep.variation import FILES, Nvlink, Outcome, Variation, difference

ARCHES = ("75", "90", "100", "120")
#: What ptxas is told beside `-ewp`.
DEBUG = ((), ("-lineinfo",), ("-g",))
LINKS = (
    (),
    ("-r",),
    ("-g",),
    ("-r", "-g"),
    ("--preserve-relocs",),
    ("--dump-callgraph",),
    ("--kernels-used=k1",),
    ("--kernels-used=k1", "-r"),
    ("--kernels-used=k1", "--preserve-relocs"),
)
SAME, REFUSED, WRONG = "the same", "refused by name", "different"
CRASHED, GAVE_UP = "nvlink crashed", "nvlink ended with an internal error"
NOT_ASSEMBLED = "not assembled"
OUTCOMES = (SAME, REFUSED, CRASHED, GAVE_UP, WRONG)
_REFUSAL = "not supported by this linker: "
_INTERNAL = "cubinspec link fatal   : Internal error: "


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


def _link_all(task: tuple[str, str, tuple[Path, ...], Path]) -> list[outcomes.Outcome]:
    """The outcomes of one program on one target."""
    arch, name, paths, cache = task
    nvlink = Nvlink(cache / "links.sqlite")
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        for variation in _variations(name, paths, arch):
            linked = both.link(variation, arch, Path(temporary), nvlink)
            if linked is None:
                found.append(outcomes.Outcome(variation.name, arch, CRASHED))
                continue
            text = difference(*linked)
            found.append(outcomes.Outcome(variation.name, arch, _judged(*linked, text), text))
    return found or [outcomes.Outcome(name, arch, NOT_ASSEMBLED)]


def _judged(theirs: Outcome, ours: Outcome, text: str) -> str:
    """What a link is, whose difference is told by a text."""
    if not text:
        return SAME
    if _REFUSAL in ours.messages:
        return REFUSED
    gave_up = theirs.messages.startswith(ours.messages + _INTERNAL)
    return GAVE_UP if gave_up else WRONG


def main() -> int:
    parser = both.parser("Compare links of extensible whole programs.", ",".join(ARCHES))
    options = parser.parse_args()
    if not both.is_ready(options.cache):
        return 2
    tasks = [
        (arch, name, paths, options.cache)
        for arch in options.arch.split(",")
        for name, paths in programs().items()
        if options.match in name
    ]
    counts: dict[str, Counter[str]] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for rows in pool.map(_link_all, tasks):
            counts.setdefault(rows[0].arch, Counter()).update(row.kind for row in rows)
            for row in rows:
                if row.kind in (WRONG, REFUSED):
                    print(f"sm_{row.arch} {row.case}: {row.kind}: {row.detail}", flush=True)
    for arch, kinds in counts.items():
        told = ", ".join(f"{kinds[word]} {word}" for word in OUTCOMES)
        print(f"sm_{arch}: {told}; {kinds[NOT_ASSEMBLED]} programs {NOT_ASSEMBLED}")
    return int(any(kinds[WRONG] for kinds in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
