"""How many functions of built links have nvlink's code, and why others do not.

    python -m tools.linkcases.functions --cache DIR [--arch 100,120]

A cache is what `python -m tools.linkcases` or `python -m tools.linkcases.programs` built: in every
folder `cmd.json`, the inputs and nvlink's file. Every link is done here, and the code of functions
is compared by name. A function whose code stays as it is in the input, because nvlink's is not
certain, counts with the reason that the map gives.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cubinspec.reader.elf import Elf
from tools import oracle
from tools.linkcases import compare

_CODE = ".text."
OTHER = "other code"
MISSING = "in one file only"


def code_of(data: bytes, name: str) -> dict[str, bytes]:
    """Function -> its code."""
    elf = Elf(data, name)
    return {
        section.removeprefix(_CODE): elf.section_bytes(index)
        for index, section in enumerate(elf.section_names)
        if section.startswith(_CODE)
    }


def differing(expected: bytes, actual: bytes) -> tuple[int, dict[str, str]]:
    """How many functions nvlink's file has, and how those differ that are not the same here."""
    theirs, ours = code_of(expected, "nvlink's file"), code_of(actual, "ours")
    found = dict.fromkeys(ours.keys() ^ theirs.keys(), MISSING)
    for name in theirs.keys() & ours.keys():
        if theirs[name] != ours[name]:
            found[name] = OTHER
    return len(theirs), found


def folders(cache: Path, arches: set[str]) -> Iterator[Path]:
    """What was built and linked by nvlink for some targets."""
    for record in sorted(cache.glob("*/*/cmd.json")):
        if record.parent.name in arches and (record.parent / "expected.cubin").exists():
            yield record.parent


def run(folder: Path) -> tuple[bool, int, Counter[str]]:
    """Whether the file is the same, how many functions it has, and why some are not the same."""
    record = json.loads((folder / "cmd.json").read_text(encoding="utf-8"))
    expected = folder / "expected.cubin"
    with tempfile.TemporaryDirectory() as temporary:
        where = Path(temporary) / "map.json"
        words = [
            *record["argv"][1:],
            f"--tkinfo-from={expected.resolve()}",
            f"--ptxas={oracle.find('ptxas').path}",
            f"--map={where}",
        ]
        _, messages, actual = compare.link(words, folder / "inputs")
        if actual is None:
            return False, 0, Counter([messages.strip().splitlines()[-1] if messages else "no file"])
        rows = json.loads(where.read_text(encoding="utf-8"))["unfinished"] if where.exists() else []
    reasons = {row["name"]: row["reason"] for row in rows}
    theirs = expected.read_bytes()
    count, others = differing(theirs, actual)
    return theirs == actual, count, Counter(reasons.get(n, how) for n, how in others.items())


def main() -> int:
    """Print one line per link that differs, and the sums."""
    parser = argparse.ArgumentParser(description="Compare the code of functions with nvlink's.")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--arch", default="100,103a,120")
    options = parser.parse_args()
    files = same = functions = 0
    why: Counter[str] = Counter()
    for folder in folders(options.cache, set(options.arch.split(","))):
        is_same, count, reasons = run(folder)
        files += 1
        same += is_same
        functions += count
        why += reasons
        if not is_same:
            print(f"{folder.parent.name} {folder.name}: {dict(reasons) or 'not in code'}")
    alike = functions - sum(why.values())
    print(f"the same: {same} of {files} files, {alike} of {functions} functions")
    for reason, number in why.most_common():
        print(f"{number:6} {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
