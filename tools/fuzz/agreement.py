"""`python -m tools.fuzz.agreement`: damaged objects through nvlink and this linker.

    python -m tools.fuzz.agreement --runs 2000 [--first N] [--seed N]     links so many mutants
    python -m tools.fuzz.agreement --runs 20000 --count                   and keeps the figures

Both link the same relocatable sample after the mutators of the campaign damaged it. Nothing
promises that nvlink does something sensible with such a file, so that a difference is a hint and no
fault. It is a fault when this linker takes what nvlink refuses with a reason. Of every kind of
difference the first is stored in `.cache/fuzz/agreement` with its story.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import yaml

from cubinspec.output_files import write_file
from tools import oracle
from tools.corpus import samples
from tools.fuzz.mutate import Mutator
from tools.fuzz.oracle import OracleError
from tools.fuzz.run import STORE, store
from tools.fuzz.seeds import LARGEST
from tools.linkcases.compare import first_difference, link

COUNTS = Path(__file__).with_name("agreement.yaml")
_HEAD = "# What `python -m tools.fuzz.agreement --count` ran: mutants by outcome.\n"
#: nvlink runs for ever on some damaged files.
_SECONDS = 5.0

SAME = "linked by both to the same bytes"
BOTH_REFUSE = "refused by both"
NVLINK_FAILS = "nvlink crashes or does not end"
WE_REFUSE = "linked by nvlink, refused here"
DIFFERENT = "linked by both to different bytes"
NVLINK_REFUSES = "refused by nvlink, linked here"
OUTCOMES = (SAME, BOTH_REFUSE, NVLINK_FAILS, WE_REFUSE, DIFFERENT, NVLINK_REFUSES)
_STORED = frozenset((WE_REFUSE, DIFFERENT, NVLINK_REFUSES))


def compare(data: bytes, arch: str, nvlink: oracle.Tool, folder: Path) -> tuple[str, str]:
    """The outcome for one object, and what differs or was said."""
    output = folder / "out.cubin"
    output.unlink(missing_ok=True)
    (folder / "in.cubin").write_bytes(data)
    words = ["-arch", arch, "in.cubin", "-o", "out.cubin"]
    try:
        theirs = nvlink.run(*words, cwd=folder, timeout=_SECONDS)
    except oracle.OracleError:
        return NVLINK_FAILS, "no end"
    expected = output.read_bytes() if output.exists() else None
    note = [f"--tkinfo-from={output}"] if expected is not None else []
    _, said, actual = link([*words, *note], folder)
    if theirs.returncode < 0:
        return NVLINK_FAILS, f"signal {-theirs.returncode}"
    if theirs.returncode or expected is None:
        reason = (theirs.stdout + theirs.stderr).strip()
        return (BOTH_REFUSE if actual is None else NVLINK_REFUSES), reason
    if actual is None:
        return WE_REFUSE, said.strip()
    if actual == expected:
        return SAME, ""
    return DIFFERENT, first_difference(expected, actual)


def kind_of(detail: str) -> str:
    """A detail without its names and numbers, so that those of one cause are one line."""
    line = detail.splitlines()[-1] if detail else ""
    line = re.sub(r"'[^']*'|_Z\w+", "…", line.partition(": in.cubin: ")[2] or line)
    return re.sub(r"\b(0x[0-9a-f]+|\d+)\b", "N", line)[:90]


def run(seed: int, first: int, runs: int) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Link mutants by both; count outcomes, and kinds of those that differ."""
    files = sorted(samples.CUBINS.glob("*.rel.cubin"))
    sources = [
        (Mutator(file.read_bytes()), file.name) for file in files if file.stat().st_size < LARGEST
    ]
    nvlink = oracle.find("nvlink")
    outcomes: Counter[str] = Counter()
    kinds: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        for number in range(first, first + runs):
            chance = Random(f"agreement:{seed}:{number}")
            source, name = chance.choice(sources)
            data, story = source.mutate(chance)
            arch = name.split(".")[1]
            outcome, detail = compare(data, arch, nvlink, Path(temporary))
            outcomes[outcome] += 1
            if outcome not in _STORED:
                continue
            kind = (outcome, kind_of(detail))
            kinds[kind] += 1
            if kinds[kind] == 1:
                told = f"agreement, seed {seed}, run {number}: {name}: {story}\n{detail}"
                store(data, told, OracleError(outcome), STORE / "agreement")
                print(f"{number} {name}: {outcome}: {detail}\n  {story}", flush=True)
    return outcomes, kinds


def add(outcomes: Counter[str]) -> None:
    """Add what was run to the file of figures."""
    known = counts()
    sums = {outcome: known[outcome] + outcomes[outcome] for outcome in OUTCOMES}
    write_file(COUNTS, (_HEAD + yaml.safe_dump(sums, sort_keys=False)).encode())


def counts() -> Counter[str]:
    """Mutants by outcome, of all runs that were counted."""
    return Counter(yaml.safe_load(COUNTS.read_text()) if COUNTS.exists() else {})


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fuzz.agreement",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", action="store_true", help="add the outcomes to agreement.yaml")
    options = parser.parse_args()
    if reason := oracle.missing("nvlink"):
        print(reason, file=sys.stderr)
        return 2
    outcomes, kinds = run(options.seed, options.first, options.runs)
    for (outcome, kind), count in kinds.most_common():
        print(f"{count:6} {outcome}: {kind}")
    for outcome in OUTCOMES:
        print(f"{outcomes[outcome]:6} {outcome}")
    if options.count:
        add(outcomes)
    return 1 if outcomes[NVLINK_REFUSES] else 0


if __name__ == "__main__":
    sys.exit(main())
