"""Links random programs with nvlink and with this linker and compares every byte.

    python -m tools.linkcases.randomly --kind wide --arch 80,90,100 --first 0 --count 200

Files, messages and exit statuses are compared. Prints one line per difference with the seed and
where the files differ first, and counts at the end; the exit status is 1 when there was a
difference that `random_known.yaml` does not name. With `--cache` inputs and nvlink's outputs are
kept. `--link="-r --kernels-used=k1"` gives all programs other options than they draw; which of
these links differ is not recorded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tools import oracle
from tools.linkcases import kinds
from tools.linkcases.programs import Program
from tools.linkcases.unify import UnifiedProgram
from tools.linkcases.wide import WideProgram

KINDS = ("plain", "wide", "unified")
_INDEX = "index.uidx"
IDENTICAL, SAME_ERROR, REFUSED = "identical", "same error", "refused"
KNOWN, DIFFERENT, NOT_ASSEMBLED = "known", "DIFFERENT", "not assembled"
#: Outcomes that a run may have without failing.
GOOD = frozenset((IDENTICAL, SAME_ERROR, REFUSED, KNOWN, NOT_ASSEMBLED))
#: What a refusal by this linker says.
_UNSUPPORTED = "not supported by this linker"
_KNOWN = Path(__file__).with_name("random_known.yaml")


@cache
def known_differences() -> dict[tuple[str, str, int], str]:
    """(kind, architecture, seed) -> cause, for all seeds that are known to differ."""
    found = {}
    for entry in yaml.safe_load(_KNOWN.read_text(encoding="utf-8")):
        for arch, seeds in entry["seeds"].items():
            for seed in seeds:
                found[entry["kind"], str(arch), seed] = entry["cause"]
    return found


def build(
    kind: str, seed: int, arch: str, folder: Path, link: list[str] | None = None
) -> str | None:
    """Make the inputs, nvlink's output and `cmd.json` of a program, unless they are there.

    Args:
        link: options of the link in place of those that the program draws.

    Returns:
        what ptxas said when it refused a file.
    """
    program: Program | WideProgram | UnifiedProgram = Program(seed)
    options: list[str] = []
    index: bytes | None = None
    if kind == "wide":
        program = WideProgram(seed, int(arch.rstrip("af")))
        options = program.options
    elif kind == "unified":
        program = UnifiedProgram(seed)
        options, index = program.options, program.index
    options = options if link is None else link
    texts = "\0".join([*program.files, *options]).encode()
    digest = hashlib.sha256(texts + (index or b"")).hexdigest()
    record = folder / "cmd.json"
    if record.exists():
        made: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        if made["digest"] == digest:
            refused: str | None = made.get("refused")
            return refused
    shutil.rmtree(folder, ignore_errors=True)
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    names = []
    found: dict[str, Any] = {"digest": digest}
    for number, text in enumerate(program.files):
        source = inputs / f"p{number}.ptx"
        source.write_text(text, encoding="utf-8")
        names.append(f"p{number}.cubin")
        ptxas = oracle.find("ptxas")
        done = ptxas.run(f"-arch=sm_{arch}", "-c", source.name, "-o", names[-1], cwd=inputs)
        if done.returncode:
            found["refused"] = done.stderr.strip().splitlines()[0][:120]
            record.write_text(json.dumps(found), encoding="utf-8")
            return str(found["refused"])
    if index is not None:
        (inputs / _INDEX).write_bytes(index)
        names.append(f"-uidx={_INDEX}")
    words = [f"-arch=sm_{arch}", *options, *names, "-o", "../expected.cubin"]
    done = oracle.find("nvlink").run(*words, cwd=inputs)
    if done.returncode:
        (folder / "expected.cubin").unlink(missing_ok=True)
    found |= {"argv": ["nvlink", *words], "exit": done.returncode}
    found |= {"stdout": done.stdout, "stderr": done.stderr}
    record.write_text(json.dumps(found), encoding="utf-8")
    return None


def compare_one(
    seed: int, arch: str, folder: Path, kind: str = "plain", link: list[str] | None = None
) -> tuple[str, str]:
    """(outcome, detail) of one program on one architecture; `folder` is used for this one only."""
    from tools.linkcases.__main__ import compare_built

    refused = build(kind, seed, arch, folder, link)
    if refused is not None:
        return NOT_ASSEMBLED, refused
    result, detail = compare_built(folder)
    if result == kinds.IDENTICAL:
        return IDENTICAL, ""
    if result == kinds.SAME_ERROR:
        return SAME_ERROR, ""
    if _UNSUPPORTED in detail:
        return REFUSED, detail
    cause = known_differences().get((kind, arch, seed)) if link is None else None
    return (KNOWN, cause) if cause else (DIFFERENT, detail)


def main() -> int:
    """Run a range of seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, default="plain")
    parser.add_argument("--arch", default="80,90,100")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--link", type=str.split)
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        for arch in options.arch.split(","):
            tally: Counter[str] = Counter()
            for seed in range(options.first, options.first + options.count):
                folder = Path(temporary) / "program"
                if options.cache is not None:
                    folder = options.cache / options.kind / arch / str(seed)
                outcome, detail = compare_one(seed, arch, folder, options.kind, options.link)
                tally[outcome] += 1
                if outcome not in (IDENTICAL, SAME_ERROR):
                    print(f"sm_{arch} seed {seed}: {outcome}: {detail[:200]}", flush=True)
                failed |= outcome not in GOOD
            print(f"sm_{arch}:", dict(sorted(tally.items())), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
