"""Everything that PTX has, linked by nvlink and here: `ptx_families.yaml` in eight places.

    python -m tools.linkcases.ptxsweep [--arch 80,100] [--family NAME,...] [--place NAME,...]
        [--option NAME,...] [--cache DIR] [--page] [--single]

For every family and target ptxas is asked which forms it takes (`tests/link/ptx_accepted.tsv`). All
these forms together make a program for every place and for options that change from family to
family, place to place and target to target, so that each place of a family meets all of them.
`--single` makes a program of each form that differs. Inputs and nvlink's results stay in the cache,
so that a second run takes a fraction of the time; `--page` writes docs/link-coverage.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools import oracle
from tools.linkcases import build, outcomes, ptxplaces
from tools.linkcases.compare import compare_built
from tools.linkcases.ptxforms import Family, families, head, statement
from tools.linkcases.ptxplaces import PARTNER, PLACES

CACHE = build.ROOT / "build" / "ptxsweep"
ACCEPTED = build.ROOT / "tests" / "link" / "ptx_accepted.tsv"
PAGE = build.ROOT / "docs" / "link-coverage.md"
TARGETS = (
    *("75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "103", "103a"),
    *("110", "110a", "120", "120a", "121", "121a"),
)
NOT_ASSEMBLED = "not assembled"
_ERROR = re.compile(r"line (\d+); (?:error|fatal)")


@dataclass(frozen=True)
class Option:
    """Words for ptxas and for the link."""

    name: str
    ptxas: tuple[str, ...] = ()
    link: tuple[str, ...] = ()


PLAIN = Option("none")
OPTIONS = (
    PLAIN,
    Option("-lineinfo", ptxas=("-lineinfo",)),
    Option("-g in ptxas", ptxas=("-g",)),
    Option("-O0", ptxas=("-O0",)),
    Option("-maxrregcount=40", ptxas=("-maxrregcount=40",)),
    Option("-g", link=("-g",)),
    Option("-r", link=("-r",)),
    Option("--preserve-relocs", link=("--preserve-relocs",)),
    Option("-v", link=("-v",)),
    Option("--dump-callgraph", link=("--dump-callgraph",)),
    Option("--kernels-used=k", link=("--kernels-used=k",)),
)


@dataclass(frozen=True)
class Result:
    """One link that both did."""

    family: str
    place: str
    option: str
    arch: str
    kind: str
    detail: str


# -- what ptxas takes --------------------------------------------------------------------------


def _assembles(text: str, arch: str, folder: Path) -> tuple[bool, str]:
    source = folder / "probe.ptx"
    source.write_text(text, encoding="utf-8")
    done = oracle.find("ptxas").run(f"-arch=sm_{arch}", "-c", source.name, "-o", "x", cwd=folder)
    return done.returncode == 0, done.stdout + done.stderr


def probe(family: Family, arch: str, folder: Path) -> list[bool]:
    """Which units of a family ptxas takes for a target."""
    taken = [True] * len(family.units)
    for _ in range(6):
        left = [i for i, good in enumerate(taken) if good]
        units = [family.units[i] for i in left]
        if not units:
            return taken
        text = ptxplaces.files(family, units, "kernel", arch)[0]
        good, said = _assembles(text, arch, folder)
        if good:
            return taken
        bad = _units_of(text, {int(line) for line in _ERROR.findall(said)}, family, units)
        if not bad:
            break
        for index in bad:
            taken[left[index]] = False
    for index, unit in enumerate(family.units):
        if taken[index]:
            text = ptxplaces.files(family, [unit], "kernel", arch)[0]
            taken[index] = _assembles(text, arch, folder)[0]
    return taken


def _units_of(text: str, bad: set[int], family: Family, units: Sequence[str]) -> set[int]:
    """The units in which ptxas found errors: their statements are one line each."""
    lines = text.split("\n")
    found: set[int] = set()
    if family.data or family.params or family.entry:
        return found
    for number, unit in enumerate(units):
        written = statement(unit, number).rstrip("\n")
        first = lines.index(written.split("\n")[0]) + 1
        if bad & set(range(first, first + written.count("\n") + 1)):
            found.add(number)
    return found


@cache
def accepted() -> dict[tuple[str, str], tuple[bool, ...]]:
    """The stored answers of ptxas, by family and target."""
    found = {}
    if ACCEPTED.exists():
        for line in ACCEPTED.read_text(encoding="utf-8").splitlines()[1:]:
            name, bits, targets = line.split("\t")
            for target in targets.split(","):
                found[name, target] = tuple(bit == "1" for bit in bits)
    return found


def store_accepted(found: dict[tuple[str, str], tuple[bool, ...]]) -> None:
    """Write the answers of ptxas."""
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (name, arch), bits in found.items():
        rows[name, "".join("01"[bit] for bit in bits)].append(arch)
    order = {family.name: index for index, family in enumerate(families())}
    lines = ["family\tforms that ptxas takes\ttargets"]
    for (name, text), arches in sorted(
        rows.items(), key=lambda item: (order[item[0][0]], item[0][1])
    ):
        lines.append(f"{name}\t{text}\t{','.join(sorted(arches, key=TARGETS.index))}")
    ACCEPTED.write_text("\n".join(lines) + "\n", encoding="utf-8")


# -- links -------------------------------------------------------------------------------------


def options_of(family: int, place: int, target: int) -> tuple[Option, ...]:
    """The options with which a program is linked; link options cost no new inputs."""
    option = OPTIONS[(family + 5 * place + 7 * target) % len(OPTIONS)]
    return (PLAIN, option) if option.link else (option,)


def _slug(text: str) -> str:
    return re.sub(r"[^\w.=-]+", "_", text)


def make(
    family: Family, units: Sequence[str], place: str, arch: str, option: Option, folder: Path
) -> str | None:
    """Build a program and nvlink's result; returns what ptxas said when it refused a file."""
    texts = [*ptxplaces.files(family, units, place, arch), head(arch, family.mode) + PARTNER]
    inputs = folder.parent / f"inputs.{_slug(' '.join(option.ptxas))}"
    record = folder / "cmd.json"
    sources = "\0".join(texts)
    kept = inputs / "sources"
    if not kept.exists() or kept.read_text(encoding="utf-8") != sources:
        shutil.rmtree(folder.parent, ignore_errors=True)
        inputs.mkdir(parents=True)
        for number, text in enumerate(texts):
            (inputs / f"p{number}.ptx").write_text(text, encoding="utf-8")
            words = [f"-arch=sm_{arch}", "-c", *option.ptxas, f"p{number}.ptx"]
            done = oracle.find("ptxas").run(*words, "-o", f"p{number}.cubin", cwd=inputs)
            if done.returncode:
                said = done.stderr.strip().splitlines()
                (inputs / "refused").write_text(said[0][:200] if said else "no reason")
                break
        kept.write_text(sources, encoding="utf-8")
    refused = inputs / "refused"
    if refused.exists():
        return refused.read_text()
    if record.exists():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "inputs").symlink_to(Path("..") / inputs.name)
    names = [f"p{number}.cubin" for number in range(len(texts))]
    words = [f"-arch=sm_{arch}", *option.link, *names, "-o", f"../{folder.name}/expected.cubin"]
    done = oracle.find("nvlink").run(*words, cwd=folder / "inputs")
    if done.returncode:
        (folder / "expected.cubin").unlink(missing_ok=True)
    found = {"argv": ["nvlink", *words], "exit": done.returncode}
    record.write_text(json.dumps(found | {"stdout": done.stdout, "stderr": done.stderr}))
    return None


def link_one(
    family: Family, units: Sequence[str], place: str, arch: str, option: Option, folder: Path
) -> Result:
    """Build and compare one link."""
    refused = make(family, units, place, arch, option, folder)
    if refused is not None:
        return Result(family.name, place, option.name, arch, NOT_ASSEMBLED, refused)
    try:
        kind, detail = compare_built(folder)
    except Exception as error:  # a fault of this linker is a result, too
        kind, detail = outcomes.DIFFERENT, f"{type(error).__name__}: {error}"
    return Result(family.name, place, option.name, arch, kind, detail)


@dataclass(frozen=True)
class Job:
    """What one process does at a time: a family on a target."""

    family: int
    arch: str
    places: tuple[str, ...]
    options: tuple[str, ...] | None
    cache: Path
    single: bool


def run_job(job: Job) -> tuple[tuple[bool, ...], list[Result]]:
    """Ask ptxas, build, link, compare."""
    family = families()[job.family]
    known = accepted().get((family.name, job.arch))
    if known is None or len(known) != len(family.units):
        with tempfile.TemporaryDirectory() as temporary:
            known = tuple(probe(family, job.arch, Path(temporary)))
    units = [unit for unit, good in zip(family.units, known, strict=True) if good]
    found: list[Result] = []
    if not units:
        return known, found
    for place in job.places:
        number, target = PLACES.index(place), TARGETS.index(job.arch)
        options: Iterable[Option] = options_of(job.family, number, target)
        if job.options is not None:
            options = [option for option in OPTIONS if option.name in job.options]
        for option in options:
            at = job.cache / job.arch / _slug(family.name) / _slug(place)
            folder = at / _slug(option.name)
            result = link_one(family, units, place, job.arch, option, folder)
            found.append(result)
            if job.single and result.kind == outcomes.DIFFERENT:
                found += _singles(family, units, place, job.arch, option, at)
    return known, found


def _singles(
    family: Family, units: Sequence[str], place: str, arch: str, option: Option, at: Path
) -> list[Result]:
    """The forms that differ by themselves."""
    found = []
    for number, unit in enumerate(units):
        folder = at / f"single{number}" / _slug(option.name)
        result = link_one(family, [unit], place, arch, option, folder)
        if result.kind == outcomes.DIFFERENT:
            detail = f"{unit}: {result.detail}"
            found.append(Result(family.name, place, option.name, arch, "single", detail))
    return found


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description="Link every family of PTX in every place.")
    for name in ("arch", "family", "place", "option"):
        parser.add_argument(f"--{name}", help="only these, with commas")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--page", action="store_true", help="write docs/link-coverage.md")
    parser.add_argument("--single", action="store_true")
    options = parser.parse_args()
    why = oracle.missing("ptxas", "nvlink")
    if why is not None:
        print(f"cannot compare: {why}", file=sys.stderr)
        return 2

    def chosen(value: str | None, all_names: Sequence[str]) -> tuple[str, ...]:
        return tuple(value.split(",")) if value else tuple(all_names)

    names = set(chosen(options.family, [family.name for family in families()]))
    places = chosen(options.place, PLACES)
    own = chosen(options.option, ()) or None
    results: list[Result] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for arch in chosen(options.arch, TARGETS):
            jobs = [
                Job(number, arch, places, own, options.cache, options.single)
                for number, family in enumerate(families())
                if family.name in names
            ]
            found = _run(pool, jobs)
            if not (options.family or options.place or options.option):
                _store(found, options.cache / "results" / f"{arch}.jsonl")
            print(f"sm_{arch}:", dict(Counter(result.kind for result in found)), flush=True)
            results += found
    if options.page:
        from tools.linkcases import ptxpage

        text = ptxpage.render(ptxpage.load(options.cache / "results"), accepted())
        PAGE.write_text(text, encoding="utf-8")
    return int(any(result.kind == outcomes.DIFFERENT for result in results))


def _run(pool: ProcessPoolExecutor, jobs: list[Job]) -> list[Result]:
    """All links of some jobs; prints what differs, and stores what ptxas takes."""
    answers = dict(accepted())
    results: list[Result] = []
    for job, (known, found) in zip(jobs, pool.map(run_job, jobs, chunksize=4), strict=True):
        answers[families()[job.family].name, job.arch] = known
        for result in found:
            results.append(result)
            if result.kind in (outcomes.DIFFERENT, "single"):
                where = f"sm_{result.arch} {result.family} / {result.place} / {result.option}"
                print(f"{where}: {result.kind}: {result.detail[:240]}", flush=True)
    if answers != accepted():
        store_accepted(answers)
        accepted.cache_clear()
    return results


def _store(found: list[Result], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(vars(result)) + "\n" for result in found)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
