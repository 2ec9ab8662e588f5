"""Links random programs with nvlink and with this linker and compares every byte.

    python -m tools.linkcases.randomly --kind wide --arch 80,90,100 --first 0 --count 200

Files, messages and exit statuses are compared. Prints one line per difference with the seed and
where the files differ first, and counts at the end; the exit status is 1 when there was a
difference that `exceptions.yaml` does not name. With `--cache` inputs and nvlink's outputs stay.
`--link="-r --kernels-used=k1"` gives all programs other options than they draw; which of these
links differ is not recorded. `--keep` links nothing: it writes the programs to `tests/link/seeds`,
as cases of which `tools.linkcases` takes care.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import oracle
from tools.linkcases import exceptions, outcomes
from tools.linkcases.basic import BasicProgram
from tools.linkcases.build import SEEDS, Case, build_case
from tools.linkcases.compare import compare_built
from tools.linkcases.formed import FormProgram
from tools.linkcases.mixed import MixedProgram
from tools.linkcases.unified import UnifiedProgram
from tools.linkcases.wide import WideProgram

KINDS = ("basic", "wide", "unified", "forms", "mixed")
NOT_ASSEMBLED = "not assembled"
#: Outcomes that a run may have without failing.
GOOD = outcomes.ACCEPTED | {NOT_ASSEMBLED}
_INDEX = "index.uidx"
#: What a refusal by this linker says.
_UNSUPPORTED = "not supported by this linker"


@dataclass(frozen=True)
class Drawn:
    """What a seed stands for on one target.

    Attributes:
        sources: name of a file -> its bytes.
        steps: how the inputs of the link are made of them, as in `case.json`.
        options: of the link.
        inputs: of the link.
    """

    sources: dict[str, bytes]
    steps: list[dict[str, Any]]
    options: list[str]
    inputs: list[str]


def draw(kind: str, seed: int, arch: str) -> Drawn:
    """The program of a seed."""
    if kind == "mixed":
        mixed = MixedProgram(seed, arch)
        sources = {name: text.encode() for name, text in mixed.sources.items()}
        return Drawn(sources, mixed.steps, mixed.options, mixed.inputs)
    if kind == "wide":
        wide = WideProgram(seed, int(arch.rstrip("af")))
        return _plain(wide.files, wide.options)
    if kind == "unified":
        unified = UnifiedProgram(seed)
        return _plain(unified.files, unified.options, unified.index)
    if kind == "forms":
        formed = FormProgram(seed, arch)
        return _plain(formed.files, formed.options)
    return _plain(BasicProgram(seed).files, [])


def _plain(files: list[str], options: list[str], index: bytes | None = None) -> Drawn:
    """A program of PTX texts that are linked as they are, with an index of unified names."""
    drawn = Drawn({}, [], options, [])
    for number, text in enumerate(files):
        name = f"p{number}.cubin"
        drawn.sources[f"p{number}.ptx"] = text.encode()
        drawn.steps.append({"out": name, "ptx": f"p{number}.ptx"})
        drawn.inputs.append(name)
    if index is not None:
        drawn.sources[_INDEX] = index
        drawn.steps.append({"out": _INDEX, "copy": _INDEX})
        drawn.inputs.append(f"-uidx={_INDEX}")
    return drawn


def build(
    kind: str, seed: int, arch: str, folder: Path, link: list[str] | None = None
) -> str | None:
    """Make the inputs, nvlink's output and `cmd.json` of a program, unless they are there.

    Args:
        link: options of the link in place of those that the program draws.

    Returns:
        what the tool said that refused to make an input.
    """
    program = draw(kind, seed, arch)
    words = [*(program.options if link is None else link), *program.inputs]
    recipe = {"inputs": program.steps, "link": words}
    digest = hashlib.sha256(repr((arch, program.sources, recipe)).encode()).hexdigest()
    record = folder / "cmd.json"
    if record.exists():
        made: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        if made["digest"] == digest:
            refused: str | None = made.get("refused")
            return refused
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "source"
        _write(program, source)
        case = Case(exceptions.seed_name(kind, seed), arch, source, recipe)
        try:
            build_case(case, Path(temporary) / "work", folder)
            found = json.loads(record.read_text(encoding="utf-8"))
        except oracle.OracleError as error:
            found = {"refused": str(error).splitlines()[-1][:120]}
        shutil.copytree(source, folder / "source")
    record.write_text(json.dumps({"digest": digest, **found}), encoding="utf-8")
    refused = found.get("refused")
    return refused


def _write(program: Drawn, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, content in program.sources.items():
        (folder / name).write_bytes(content)


def compare_one(
    seed: int, arch: str, folder: Path, kind: str = "basic", link: list[str] | None = None
) -> tuple[str, str]:
    """(outcome, detail) of one program on one target; `folder` is used for this one only."""
    refused = build(kind, seed, arch, folder, link)
    if refused is not None:
        return NOT_ASSEMBLED, refused
    result, detail = compare_built(folder)
    if result != outcomes.DIFFERENT:
        return result, detail
    if _UNSUPPORTED in detail:
        return outcomes.REFUSED, detail
    name = exceptions.seed_name(kind, seed)
    exception = exceptions.find(name, arch) if link is None else None
    return (exception.outcome, exception.cause) if exception else (result, detail)


def keep(kind: str, seed: int, arches: list[str], folder: Path) -> Path:
    """Write a program as a case, so that it stays what it is when the generator changes.

    Raises:
        ValueError: the seed stands for other programs or options on some of the targets.
    """
    program = draw(kind, seed, arches[0])
    if any(draw(kind, seed, arch) != program for arch in arches):
        raise ValueError(f"{kind} {seed} is not the same on {', '.join(arches)}")
    case = folder / exceptions.seed_name(kind, seed)
    shutil.rmtree(case, ignore_errors=True)
    _write(program, case)
    recipe = {
        "about": f"random program {seed} of the kind `{kind}`",
        "archs": arches,
        "inputs": program.steps,
        "link": [*program.options, *program.inputs],
    }
    text = json.dumps(recipe, indent=1) + "\n"
    (case / "case.json").write_text(text, encoding="utf-8")
    return case


def main() -> int:
    """Run a range of seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, default="basic")
    parser.add_argument("--arch", default="80,90,100")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--link", type=str.split)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    arches = options.arch.split(",")
    seeds = range(options.first, options.first + options.count)
    if options.keep:
        for seed in seeds:
            keep(options.kind, seed, arches, SEEDS)
        return 0
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        for arch in arches:
            tally: Counter[str] = Counter()
            for seed in seeds:
                folder = Path(temporary) / "program"
                if options.cache is not None:
                    folder = options.cache / options.kind / arch / str(seed)
                outcome, detail = compare_one(seed, arch, folder, options.kind, options.link)
                tally[outcome] += 1
                if outcome not in (outcomes.IDENTICAL, outcomes.SAME_ERROR):
                    print(f"sm_{arch} seed {seed}: {outcome}: {detail[:200]}", flush=True)
                failed |= outcome not in GOOD
            print(f"sm_{arch}:", dict(sorted(tally.items())), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
