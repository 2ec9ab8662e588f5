"""`make link-cases`: link every case with nvlink and with this linker; write docs/link-parity.md.

    python -m tools.linkcases [--arch 80,90] [--case NAME,...] [--cases DIR] [--cache DIR]

The page is written only by a run over all cases and architectures. The exit status is 1 when a case
differs that `known.py` does not name.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cubinspec_writer.linker import command
from tools import oracle
from tools.linkcases import build, kinds, page
from tools.linkcases.compare import first_difference
from tools.linkcases.known import KNOWN

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "link" / "cases"
PAGE = ROOT / "docs" / "link-parity.md"


@dataclass(frozen=True)
class Outcome:
    """How one case went on one architecture."""

    case: str
    arch: str
    kind: str
    detail: str = ""


def run_case(case: build.Case, cache: Path) -> Outcome:
    """Build a case, link it here, compare files, messages and exit statuses."""
    try:
        folder = build.build(case, cache)
    except oracle.OracleError as error:
        return Outcome(case.name, case.arch, kinds.NOT_BUILT, str(error).splitlines()[-1][:100])
    kind, detail = compare_built(folder)
    if kind == kinds.DIFFERENT:
        kind = KNOWN[case.name].kind if _is_known(case) else kind
    return Outcome(case.name, case.arch, kind, detail)


def _is_known(case: build.Case) -> bool:
    return case.name in KNOWN and KNOWN[case.name].applies(case.arch)


def compare_built(folder: Path) -> tuple[str, str]:
    """(kind, detail) of a built case."""
    record = json.loads((folder / "cmd.json").read_text(encoding="utf-8"))
    expected = folder / "expected.cubin"
    with tempfile.TemporaryDirectory() as temporary:
        actual = Path(temporary) / "actual.cubin"
        words = record["argv"][1:]
        words[words.index("-o") + 1] = str(actual)
        if expected.exists():
            words.append(f"--tkinfo-from={expected.resolve()}")
        words.append(f"--ptxas={oracle.find('ptxas').path}")
        status, messages = _link(words, folder / "inputs")
        wanted = (record["stdout"] + record["stderr"]).replace("nvlink ", "cubinspec link ")
        if (status, messages) != (record["exit"], wanted):
            theirs_said = f"{record['exit']}, {wanted!r}"
            return kinds.DIFFERENT, f"exit {status}, {messages!r}; nvlink {theirs_said}"
        if not expected.exists():
            return kinds.SAME_ERROR, ""
        theirs, ours = expected.read_bytes(), actual.read_bytes()
        if theirs == ours:
            return kinds.IDENTICAL, ""
        return kinds.DIFFERENT, first_difference(theirs, ours)


def _link(words: list[str], folder: Path) -> tuple[int, str]:
    said = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stderr(said):
        status = command.run(words)
    return status, said.getvalue()


def main() -> int:
    """Run the cases."""
    parser = argparse.ArgumentParser(description="Compare this linker with nvlink.")
    parser.add_argument("--arch", help="only these architectures, such as 80,90a")
    parser.add_argument("--case", help="only these cases")
    parser.add_argument("--cases", type=Path, default=CASES, help="folder of cases")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "linkcases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    why = oracle.missing("ptxas", "nvlink", "nvcc", "fatbinary")
    if why is not None:
        print(f"cannot compare: {why}", file=sys.stderr)
        return 2
    arches = options.arch.split(",") if options.arch else None
    names = options.case.split(",") if options.case else None
    cases = build.find(options.cases, arches, names)
    with ProcessPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(run_case, cases, [options.cache] * len(cases)))
    for o in outcomes:
        if o.kind not in (kinds.IDENTICAL, kinds.SAME_ERROR):
            print(f"{o.case} sm_{o.arch}: {o.kind}: {o.detail}")
    for arch in dict.fromkeys(o.arch for o in outcomes):
        print(f"sm_{arch}:", dict(Counter(o.kind for o in outcomes if o.arch == arch)))
    if arches is None and names is None and options.cases == CASES:
        PAGE.write_text(page.render([(o.case, o.arch, o.kind) for o in outcomes]), encoding="utf-8")
    return int(any(o.kind == kinds.DIFFERENT for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
