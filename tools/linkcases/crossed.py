"""`make link-crossed`: every link case in 36 variants of options and of the order of its inputs.

    python -m tools.linkcases.crossed [--arch 80,90] [--case NAME,...] [--variant NAME] [--page]

The inputs are those that `make link-cases` has built. Each case is linked once per variant by
nvlink and here; files, messages and exit statuses are compared. The exit status is 1 when a link
differs that `crossed.yaml` does not name, or is the same although it is named there. With `--page`
the run counts its targets anew in `tests/link/crossed.tsv` and writes docs/link-crossed.md from
that table. All of them take a quarter of an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import yaml

from tools import oracle
from tools.linkcases import build, outcomes
from tools.linkcases.compare import first_difference, link, our_words
from tools.linkcases.outcomes import Outcome

PAGE = build.ROOT / "docs" / "link-crossed.md"
TABLE = build.ROOT / "tests" / "link" / "crossed.tsv"
_HEADER = "target\tvariant\toutcome\tlinks\tcases\tcause"
_NAMED = Path(__file__).with_name("crossed.yaml")
_SECONDS = 60
_CRASH = "nvlink crashes"
#: Options whose value is the next word.
_WITH_VALUE = frozenset((
    "-o", "-L", "-l", "-m", "-arch", "-dot", "-optf", "-uidx", "-ghls", "--kernels-used",
    "--options-file", "--uidx-file", "--register-link-binaries", "--variables-used",
))  # fmt: skip
#: What a variant adds to the words of a case.
_ADDED = {
    "-r": ["-r"],
    "-g": ["-g"],
    "-r -g": ["-r", "-g"],
    "-v": ["-v"],
    "-Werror": ["-Werror"],
    "-extrawarn": ["-extrawarn"],
    "-disable-infos": ["-disable-infos"],
    "-report-arch -v": ["-report-arch", "-v"],
    "-suppress-stack-size-warning": ["-suppress-stack-size-warning"],
    "-suppress-arch-warning": ["-suppress-arch-warning"],
    "-g -suppress-debug-info": ["-g", "-suppress-debug-info"],
    "-r -g -suppress-debug-info": ["-r", "-g", "-suppress-debug-info"],
    "--preserve-relocs": ["--preserve-relocs"],
    "--preserve-relocs -g": ["--preserve-relocs", "-g"],
    "--preserve-relocs -r": ["--preserve-relocs", "-r"],
    "--kernels-used=*": ["--kernels-used=*"],
    "--kernels-used=none": ["--kernels-used=none_has_this"],
    "--kernels-used=none -r": ["--kernels-used=none_has_this", "-r"],
    "--kernels-used=none -g": ["--kernels-used=none_has_this", "-g"],
    "--kernels-used=k": ["--kernels-used=k"],
    "--kernels-used=k -r": ["--kernels-used=k", "-r"],
    "--kernels-used=k -g": ["--kernels-used=k", "-g"],
    "--kernels-used=k --preserve-relocs": ["--kernels-used=k", "--preserve-relocs"],
    "--kernels-used=k --dump-callgraph": ["--kernels-used=k", "--dump-callgraph"],
    "--kernels-used=k --variables-used=v -v": ["--kernels-used=k", "--variables-used=v", "-v"],
    "--variables-used=v": ["--variables-used=v"],
    "-use-host-info": ["-use-host-info"],
    "-ignore-host-info": ["-ignore-host-info"],
    "-keep-system-libraries": ["-keep-system-libraries"],
    "--dump-callgraph": ["--dump-callgraph"],
    "--allow-undefined-globals": ["--allow-undefined-globals"],
    "--disable-smem-reservation": ["--disable-smem-reservation=true"],
}


@dataclass(frozen=True)
class Crossed(Outcome):
    """The result of one case on one target in one variant."""

    variant: str = ""


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The inputs and the options of a command line."""
    inputs, options = [], []
    rest = iter(words)
    for word in rest:
        if word.startswith("-"):
            options.append(word)
            options += [next(rest)] if word in _WITH_VALUE else []
        else:
            inputs.append(word)
    return inputs, options


def _reversed(words: Sequence[str], *more: str) -> list[str] | None:
    inputs, options = _split(words)
    return [*inputs[::-1], *options, *more] if len(inputs) > 1 else None


def _doubled(words: Sequence[str]) -> list[str]:
    inputs, options = _split(words)
    return [*inputs, *inputs, *options]


def _with(added: list[str]) -> Callable[[Sequence[str]], list[str] | None]:
    def words_with(words: Sequence[str]) -> list[str] | None:
        given = {word.partition("=")[0] for word in words}
        return None if given.intersection(w.partition("=")[0] for w in added) else [*added, *words]

    return words_with


#: Name -> the words of a link; None where the variant is no other link.
VARIANTS: dict[str, Callable[[Sequence[str]], list[str] | None]] = {
    **{name: _with(added) for name, added in _ADDED.items()},
    "inputs reversed": _reversed,
    "inputs reversed, -r": lambda words: _reversed(words, "-r"),
    "inputs reversed, -g": lambda words: _reversed(words, "-g"),
    "inputs twice": _doubled,
}


@cache
def causes() -> dict[tuple[str, str, str], str]:
    """(case, target, variant) -> why it differs."""
    return {
        (case, str(target), variant): entry["cause"].strip()
        for entry in yaml.safe_load(_NAMED.read_text(encoding="utf-8"))
        for case in entry["cases"]
        for target in entry["targets"]
        for variant in entry["variants"]
    }


def cause(job: Crossed) -> str:
    """Why a link is known to differ; empty: it is not."""
    return causes().get((job.case, job.arch, job.variant), "")


def run(job: Crossed, cache_folder: Path) -> Crossed | None:
    """Link one case in one variant by both; None where the variant is no other link."""
    folder = cache_folder / job.case / job.arch
    words = json.loads((folder / "cmd.json").read_text(encoding="utf-8"))["argv"][1:]
    crossed = VARIANTS[job.variant](words)
    if crossed is None:
        return None
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        kind, detail = _compared(crossed, folder, place)
    if detail != _CRASH and cause(job):
        is_idle = kind != outcomes.DIFFERENT
        kind = outcomes.DIFFERENT if is_idle else outcomes.EXCEPTION
        detail = f"named, but {detail or 'the same'}" if is_idle else detail
    return replace(job, kind=kind, detail=detail)


def _compared(words: list[str], folder: Path, place: Path) -> tuple[str, str]:
    expected, inputs = place / "expected.cubin", place / "inputs"
    words[words.index("-o") + 1] = str(expected)
    shutil.copytree(folder / "inputs", inputs)
    theirs = subprocess.run(
        [oracle.find("nvlink").path, *words],
        capture_output=True, text=True, cwd=inputs, timeout=_SECONDS, check=False,
    )  # fmt: skip
    if theirs.returncode < 0:
        return outcomes.EXCEPTION, _CRASH
    shutil.rmtree(inputs)  # with what nvlink has written beside the output
    shutil.copytree(folder / "inputs", inputs)
    wanted = expected.read_bytes() if expected.exists() else None
    if wanted is not None:
        words.append(f"--tkinfo-from={expected}")
    status, said, data = link([*words, f"--ptxas={oracle.find('ptxas').path}"], inputs)
    told = our_words(theirs.stdout + theirs.stderr)
    if (status, said) != (theirs.returncode, told):
        return outcomes.DIFFERENT, f"exit {status}, {said!r}; nvlink {theirs.returncode}, {told!r}"
    if wanted is None:
        return outcomes.SAME_ERROR, ""
    if data == wanted:
        return outcomes.IDENTICAL, ""
    return outcomes.DIFFERENT, first_difference(wanted, data or b"")


def jobs(
    cache_folder: Path, arches: Iterable[str] | None, cases: Iterable[str] | None, names: list[str]
) -> Iterator[Crossed]:
    """All links of what was built."""
    for record in sorted(cache_folder.glob("*/*/cmd.json")):
        case, arch = record.parent.parent.name, record.parent.name
        if "@" in case:
            continue  # linked by the linker of another toolkit
        if (arches is None or arch in arches) and (cases is None or case in cases):
            yield from (Crossed(case, arch, "", variant=name) for name in names)


@dataclass(frozen=True)
class Counted:
    """A row of the table: how many links of a target in a variant had an outcome.

    Attributes:
        cases: their names, where something was not the same.
        cause: why; empty if nothing is named.
    """

    arch: str
    variant: str
    kind: str
    links: int
    cases: tuple[str, ...] = ()
    cause: str = ""

    def line(self) -> str:
        """The row as text."""
        words = (self.arch, self.variant, self.kind, str(self.links), ",".join(self.cases))
        return "\t".join((*words, self.cause))

    @classmethod
    def parse(cls, line: str) -> Counted:
        """The row that `line` wrote."""
        arch, variant, kind, links, cases, why = line.split("\t")
        return cls(arch, variant, kind, int(links), tuple(filter(None, cases.split(","))), why)


def count(found: Iterable[Crossed]) -> list[Counted]:
    """The rows of links."""
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for one in found:
        named = one.kind == outcomes.EXCEPTION
        why = " ".join(cause(one).split()) or one.detail if named else ""
        groups.setdefault((one.arch, one.variant, one.kind, why), []).append(one.case)
    same = (outcomes.IDENTICAL, outcomes.SAME_ERROR)
    return [
        Counted(arch, variant, kind, len(cases), () if kind in same else tuple(cases), why)
        for (arch, variant, kind, why), cases in groups.items()
    ]


def table() -> list[Counted]:
    """The rows of crossed.tsv."""
    return [Counted.parse(line) for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]


def store(found: Sequence[Crossed]) -> None:
    """Put whole targets in the place of what the table has of them, and write the page."""
    arches = {one.arch for one in found}
    rows = [row for row in (table() if TABLE.exists() else ()) if row.arch not in arches]
    lines = sorted(row.line() for row in (*rows, *count(found)))
    TABLE.write_text("\n".join((_HEADER, *lines)) + "\n", encoding="utf-8")
    PAGE.write_text(render(table()), encoding="utf-8")


def render(rows: list[Counted]) -> str:
    """The page: counts by target and by variant, and the causes."""
    lines = [_HEAD.strip()]
    kinds = (outcomes.IDENTICAL, outcomes.SAME_ERROR, outcomes.EXCEPTION, outcomes.DIFFERENT)
    places = {name: at for at, name in enumerate(VARIANTS)}
    for title, key in (("target", "arch"), ("variant", "variant")):
        lines += ["", f"| {title} | links | {' | '.join(kinds)} |", "|---|" + "---|" * 5]
        for value in sorted({getattr(row, key) for row in rows}, key=lambda v: places.get(v, v)):
            counts: Counter[str] = Counter()
            for row in rows:
                if getattr(row, key) == value:
                    counts[row.kind] += row.links
            shown = f"sm_{value}" if key == "arch" else f"`{value}`"
            cells = [shown, counts.total(), *(counts[kind] for kind in kinds)]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    named: dict[str, list[Counted]] = {}
    for row in rows:
        if row.kind == outcomes.EXCEPTION:
            named.setdefault(row.cause, []).append(row)
    totals = {why: sum(row.links for row in of) for why, of in named.items()}
    lines += ["", "## Named", ""]
    for why, links in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
        cases = sorted({f"`{case}`" for row in named[why] for case in row.cases})
        more = f" and {len(cases) - 8} more" if len(cases) > 8 else ""
        lines.append(f"* {links} links: {why} ({', '.join(cases[:8])}{more}).")
    return "\n".join(lines) + "\n"


_HEAD = """
# Every link case in 36 variants

Written by `make link-crossed`; do not edit. The inputs of every case of `tests/link/cases` and
`tests/link/seeds` are linked once more in the variants below (options that change what is linked or
told, several together, inputs in reverse order and twice), by nvlink 13.0.88 and by `cubinspec
link`. Files, messages and exit statuses are compared. *Named exceptions*, one by one in
`tools/linkcases/crossed.yaml`, are counted below by cause; a link that is named and yet the same
counts as different. Targets are counted one by one, `tests/link/crossed.tsv` keeps the counts.
"""


def main() -> int:
    """Run the links."""
    parser = argparse.ArgumentParser(description="Link every case in every variant.")
    parser.add_argument("--arch", help="only these targets, such as 80,90a")
    parser.add_argument("--case", help="only these cases")
    parser.add_argument("--variant", action="append", help="only this variant")
    parser.add_argument("--cache", type=Path, default=build.ROOT / "build" / "linkcases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--page", action="store_true", help="count these targets anew, write the page"
    )
    options = parser.parse_args()
    if options.page and (options.case or options.variant):
        parser.error("--page counts whole targets")
    why = oracle.missing("ptxas", "nvlink")
    if why is not None:
        print(f"cannot compare: {why}", file=sys.stderr)
        return 2
    arches = options.arch.split(",") if options.arch else None
    cases = options.case.split(",") if options.case else None
    wanted = list(jobs(options.cache, arches, cases, options.variant or list(VARIANTS)))
    with ProcessPoolExecutor(options.jobs) as pool:
        every = pool.map(run, wanted, [options.cache] * len(wanted), chunksize=8)
        found = [one for one in every if one is not None]
    for one in found:
        if one.kind == outcomes.DIFFERENT:
            print(f"{one.case} sm_{one.arch} {one.variant}: {one.detail}")
    if options.page:
        store(found)
    print(dict(Counter(one.kind for one in found)))
    return int(any(one.kind == outcomes.DIFFERENT for one in found))


if __name__ == "__main__":
    sys.exit(main())
