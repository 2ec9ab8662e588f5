"""`make link-cases`: link every case with nvlink and with this linker.

    python -m tools.linkcases [--arch 80,90] [--case NAME,...] [--cases DIR] [--cache DIR]

A run over all cases and targets writes docs/link-parity.md and `tests/link/stored` (inputs, and
hashes of what nvlink did); `--store` with `--case` stores only the named cases anew, beside what is
stored of all others. With `--stored` nothing of NVIDIA runs: the stored inputs are linked
here and compared with the stored hashes. The exit status is 1 when a case differs that
`exceptions.yaml` does not name, or another way than is stored; `--own` stores how these differ now.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tools import oracle
from tools.linkcases import build, exceptions, outcomes, page, stored
from tools.linkcases.compare import compare_built
from tools.linkcases.outcomes import Outcome

PAGE = build.ROOT / "docs" / "link-parity.md"


def run_case(case: build.Case, cache: Path) -> Outcome:
    """Build a case, link it here, compare files, messages and exit statuses."""
    try:
        folder = build.build(case, cache)
    except oracle.OracleError as error:
        detail = str(error).splitlines()[-1][:100]
        return Outcome(case.name, case.arch, outcomes.NOT_BUILT, detail)
    recorder = stored.recorder(oracle.find("ptxas").path, folder)
    return explained(case.name, case.arch, *compare_built(folder, recorder))


def run_stored(case: str, arch: str, folder: Path) -> Outcome:
    """Link the unpacked inputs of a case and compare with what is stored of nvlink's result.

    Where this linker is known to do something else, that has to be what is stored, too.
    """
    expected = stored.table()[case, arch]
    kind, detail = stored.compare(folder / case / arch, expected)
    if kind == outcomes.EXCEPTION:
        return explained(case, arch, outcomes.DIFFERENT, detail)
    return Outcome(case, arch, kind, detail)


def explained(case: str, arch: str, kind: str, detail: str) -> Outcome:
    """An outcome; a difference that has a named cause counts as that."""
    if kind == outcomes.DIFFERENT:
        exception = exceptions.find(case, arch)
        kind = exception.outcome if exception else kind
    return Outcome(case, arch, kind, detail)


def main() -> int:
    """Run the cases."""
    parser = argparse.ArgumentParser(description="Compare this linker with nvlink.")
    parser.add_argument("--arch", help="only these targets, such as 80,90a")
    parser.add_argument("--case", help="only these cases")
    parser.add_argument("--cases", type=Path, action="append", help="folder of cases")
    parser.add_argument("--cache", type=Path, default=build.ROOT / "build" / "linkcases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--stored", action="store_true", help="without NVIDIA's tools")
    parser.add_argument("--store", action="store_true", help="store what nvlink did with --case")
    parser.add_argument("--own", action="store_true", help="store how exceptions differ")
    options = parser.parse_args()
    arches = options.arch.split(",") if options.arch else None
    names = options.case.split(",") if options.case else None
    if options.own:
        _store_own()
    if options.stored:
        return _report(_all_stored(arches, names, options.jobs))
    why = oracle.missing("ptxas", "nvlink", "nvcc", "fatbinary")
    if why is not None:
        print(f"cannot compare: {why}", file=sys.stderr)
        return 2
    cases = build.find(options.cases or (build.CASES, build.SEEDS), arches, names)
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(run_case, cases, [options.cache] * len(cases)))
    if arches is None and names is None and options.cases is None:
        PAGE.write_text(page.render(found), encoding="utf-8")
        if all(outcome.kind != outcomes.NOT_BUILT for outcome in found):
            stored.renew(cases, options.cache)
            _store_own()
    elif options.store and names is not None:
        wrong = (outcomes.DIFFERENT, outcomes.NOT_BUILT)
        if all(outcome.kind not in wrong for outcome in found):
            stored.renew(cases, options.cache)
            _store_own()
    return _report(found)


def _store_own() -> None:
    """Store what this linker does with the cases that `exceptions.yaml` names."""
    with tempfile.TemporaryDirectory() as temporary:
        links = stored.unpack(Path(temporary))
        stored.write_own(Path(temporary), [link for link in links if exceptions.find(*link)])


def _all_stored(arches: list[str] | None, names: list[str] | None, jobs: int) -> list[Outcome]:
    with tempfile.TemporaryDirectory() as temporary:
        links = stored.unpack(Path(temporary), arches)
        links = [link for link in links if names is None or link[0] in names]
        with ProcessPoolExecutor(jobs) as pool:
            columns = zip(*links, strict=True) if links else ((), ())
            return list(pool.map(run_stored, *columns, [Path(temporary)] * len(links)))


def _report(found: list[Outcome]) -> int:
    """Print what is not the same, and counts; returns the exit status."""
    for outcome in found:
        if outcome.kind not in (outcomes.IDENTICAL, outcomes.SAME_ERROR):
            print(f"{outcome.case} sm_{outcome.arch}: {outcome.kind}: {outcome.detail}")
    for arch in dict.fromkeys(outcome.arch for outcome in found):
        counts = Counter(outcome.kind for outcome in found if outcome.arch == arch)
        print(f"sm_{arch}:", dict(counts))
    return int(any(outcome.kind == outcomes.DIFFERENT for outcome in found))


if __name__ == "__main__":
    sys.exit(main())
