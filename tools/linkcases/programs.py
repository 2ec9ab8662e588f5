"""Real programs: CUDA sources compiled with `nvcc -dc`, linked by nvlink and here.

    python -m tools.linkcases.programs [--arch 80,100] [--program NAME,...] [--cache DIR] [--bless]

`tests/link/real/programs.yaml` names the programs. `tests/link/real/expected.tsv` keeps what nvlink
did with each: the exit status, size and SHA-256 of the linked file, SHA-256 of the messages, and
whether this linker did the same. A run fails when a link differs that was the same before, or when
nvlink did something else than what is stored; `--bless` writes the table and docs/link-real.md.

What is built lies in `<cache>/<program>/<target>/` in the form that `tools.linkcases.build` has:
`inputs/`, `expected.cubin`, `cmd.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Container
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tools import oracle
from tools.linkcases import build, outcomes, realpage, stored
from tools.linkcases.compare import compare_built
from tools.linkcases.outcomes import Outcome
from tools.oracle import toolchains

FOLDER = build.ROOT / "tests" / "link" / "real"
TABLE = FOLDER / "expected.tsv"
CACHE = build.ROOT / "build" / "linkreal"
_HEAD = "program\ttarget\texit\tsize\tsha256 of the output\tsha256 of the messages\there"
#: What made a link of this kind what it is; a newer recipe makes the folder out of date.
_RECIPE = "recipe.json"


@dataclass(frozen=True)
class Program:
    """One program, for all of its targets.

    Attributes:
        folder: the sources.
        headers: a toolchain of tools/oracle whose headers the sources need.
        library: the sources that go into a static library.
    """

    name: str
    folder: Path
    targets: tuple[str, ...]
    nvcc: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    headers: str | None = None
    sources: tuple[str, ...] = field(default=())


@cache
def load() -> tuple[Program, ...]:
    """All programs, in the order of their names."""
    content = yaml.safe_load((FOLDER / "programs.yaml").read_text(encoding="utf-8"))
    rows = {
        path.name: content["folders"].get(path.name, {})
        for path in FOLDER.iterdir()
        if path.is_dir()
    }
    found = [_program(name, name, row, content["targets"]) for name, row in rows.items()]
    for variant in content["variants"]:
        row = rows[variant["folder"]] | variant
        found.append(_program(variant["name"], variant["folder"], row, content["targets"]))
    return tuple(sorted(found, key=lambda program: program.name))


def _program(name: str, folder: str, row: dict[str, Any], targets: list[str]) -> Program:
    first = row.get("first", 0)
    return Program(
        name,
        FOLDER / folder,
        tuple(target for target in targets if int(target.rstrip("af")) >= first),
        tuple(row.get("nvcc", ())),
        tuple(row.get("link", ())),
        tuple(row.get("library", ())),
        row.get("headers"),
        tuple(sorted(path.name for path in (FOLDER / folder).glob("*.cu"))),
    )


# -- building ----------------------------------------------------------------------------------


def make(program: Program, cache: Path) -> None:
    """Compile a program for all of its targets, and link it with nvlink for each.

    Raises:
        OracleError: it does not compile.
    """
    target = cache / program.name
    recipe = json.dumps([program.nvcc, program.link, program.library, program.targets])
    texts = "".join(path.read_text(encoding="utf-8") for path in sorted(program.folder.iterdir()))
    recipe += texts
    made = target / _RECIPE
    if made.exists() and made.read_text(encoding="utf-8") == recipe:
        return
    # nvcc writes the working folder into host objects: a name that every run shares
    work = Path(tempfile.gettempdir()) / "linkcases" / f"real.{program.name}"
    with build.alone(work.with_name(work.name + ".lock")):
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(program.folder, work)
        try:
            _make(program, work, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    made.write_text(recipe, encoding="utf-8")


def _make(program: Program, work: Path, target: Path) -> None:
    inputs = work / "inputs"
    inputs.mkdir()
    include = [f"-I{oracle.cuda_home() / 'include' / 'cccl'}"]
    if program.headers is not None:
        include.append(f"-I{toolchains.path(program.headers, 'include')}")
    codes = [
        word
        for name in program.targets
        for word in ("-gencode", f"arch=compute_{name},code=sm_{name}")
    ]
    for source in program.sources:
        words = ["-std=c++17", "-w", "-dc", "--keep", "--keep-dir", ".", *codes, *include]
        out = inputs / Path(source).with_suffix(".o")
        _tool("nvcc", *words, *program.nvcc, source, "-o", str(out), cwd=work)
    if program.library:
        members = [Path(source).with_suffix(".o").name for source in program.library]
        _tool("ar", "rcsD", "library.a", *members, cwd=inputs)
        for member in members:
            (inputs / member).unlink()
    names = sorted(path.name for path in inputs.glob("*.o"))
    names += ["library.a"] if program.library else []
    for word in program.link:  # nvlink notes its command line: no folder of this machine in it
        if word.startswith("-l"):
            shutil.copy(oracle.cuda_home() / "lib" / f"lib{word[2:]}.a", inputs)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(inputs, target / "inputs")
    for arch in program.targets:
        _link(program, arch, names, target / arch)


def _link(program: Program, arch: str, names: list[str], folder: Path) -> None:
    folder.mkdir()
    (folder / "inputs").symlink_to(Path("..") / "inputs")
    leading = [word for word in program.link if not word.startswith("-l")]
    trailing = [word for word in program.link if word.startswith("-l")]
    words = [f"-arch=sm_{arch}", *leading, *names, *trailing, "-o", "expected.cubin"]
    inputs = (folder / "inputs").resolve()
    done = oracle.find("nvlink").run(*words, cwd=inputs)
    made = inputs / "expected.cubin"
    if made.exists():
        made.rename(folder / "expected.cubin")
    record = {
        "argv": ["nvlink", *words],
        "exit": done.returncode,
        "stdout": done.stdout,
        "stderr": done.stderr,
    }
    (folder / "cmd.json").write_text(json.dumps(record, indent=1), encoding="utf-8")


def _tool(name: str, *words: str, cwd: Path) -> None:
    path = f"{oracle.cuda_home() / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    argv = [str(oracle.find(name).path) if name != "ar" else "ar", *words]
    oracle.run(argv, cwd=cwd, timeout=600, env={"PATH": path}).check()


# -- comparing ---------------------------------------------------------------------------------


def run(program: Program, arches: Container[str] | None, cache: Path) -> list[Outcome]:
    """Build a program and compare the wanted targets (None: all)."""
    wanted = [arch for arch in program.targets if arches is None or arch in arches]
    try:
        make(program, cache)
    except oracle.OracleError as error:
        detail = str(error).splitlines()[-1][:100]
        return [Outcome(program.name, arch, outcomes.NOT_BUILT, detail) for arch in wanted]
    found = []
    for arch in wanted:
        kind, detail = compare_built(cache / program.name / arch)
        found.append(Outcome(program.name, arch, kind, detail))
    return found


def table() -> dict[tuple[str, str], str]:
    """The rows of expected.tsv by program and target."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()[1:] if TABLE.exists() else []
    return {(row.case, row.arch): line for line in lines if (row := stored.parse(line))}


def page() -> str:
    """The text of docs/link-real.md, from the stored table."""
    return realpage.render(table().values(), [len(program.sources) for program in load()])


def line(outcome: Outcome, cache: Path) -> str:
    """The row of expected.tsv for an outcome."""
    folder = cache / outcome.case / outcome.arch
    return f"{stored.row(outcome.case, outcome.arch, folder)}\t{outcome.kind}"


def complaint(outcome: Outcome, known: str | None, cache: Path) -> str | None:
    """What is not as the table says, or worse.

    Args:
        known: the row of the table.
    """
    if outcome.kind == outcomes.NOT_BUILT or known is None:
        return outcome.detail or "the table has no such row"
    now = line(outcome, cache)
    if now.rsplit("\t", 1)[0] != known.rsplit("\t", 1)[0]:
        return "nvlink's result is another one than the table says"
    if known.endswith((outcomes.IDENTICAL, outcomes.SAME_ERROR)) and now != known:
        return f"was the same as nvlink's: {outcome.detail}"
    return None


def main() -> int:
    """Run the programs."""
    parser = argparse.ArgumentParser(description="Link real programs with nvlink and here.")
    parser.add_argument("--arch", help="only these targets, such as 80,90a")
    parser.add_argument("--program", help="only these programs")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--bless", action="store_true", help="write expected.tsv again")
    options = parser.parse_args()
    why = oracle.missing("ptxas", "nvlink", "nvcc", "fatbinary")
    if why is not None:
        print(f"cannot compare: {why}", file=sys.stderr)
        return 2
    arches = options.arch.split(",") if options.arch else None
    names = options.program.split(",") if options.program else None
    programs = [program for program in load() if names is None or program.name in names]
    with ProcessPoolExecutor(options.jobs) as pool:
        count = len(programs)
        lists = pool.map(run, programs, [arches] * count, [options.cache] * count)
        found = []
        for outcome in (outcome for outcomes_of_one in lists for outcome in outcomes_of_one):
            found.append(outcome)
            if outcome.kind not in (outcomes.IDENTICAL, outcomes.SAME_ERROR):
                said = f"{outcome.case} sm_{outcome.arch}: {outcome.kind}: {outcome.detail[:200]}"
                print(said, flush=True)
    for arch in dict.fromkeys(outcome.arch for outcome in found):
        counts = Counter(outcome.kind for outcome in found if outcome.arch == arch)
        print(f"sm_{arch}:", dict(counts))
    known = table()
    if options.bless:
        made = [outcome for outcome in found if outcome.kind != outcomes.NOT_BUILT]
        rows = known if arches or names else {}
        rows |= {(one.case, one.arch): line(one, options.cache) for one in made}
        text = "\n".join([_HEAD, *(rows[key] for key in sorted(rows))])
        TABLE.write_text(text + "\n", encoding="utf-8")
        realpage.PAGE.write_text(page(), encoding="utf-8")
        return 0
    bad = False
    for outcome in found:
        why = complaint(outcome, known.get((outcome.case, outcome.arch)), options.cache)
        if why is not None:
            print(f"{outcome.case} sm_{outcome.arch}: {why[:200]}", file=sys.stderr)
            bad = True
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
