"""The linkers of other toolkits on the cases, and this linker with `--toolkit`.

    python -m tools.linkcases.versions [--toolkit 13.1,13.4] [--arch 80,90] [--case NAME,...]
        [--cache DIR] [--own] [--store | --keep]

Every case is linked by the nvlink of each toolkit (fetched as `tools.oracle.toolchains` says) from
the inputs that `make link-cases` built, and here. With `--own`, the ptxas of each toolkit makes the
inputs of the cases that are PTX and unified indices. So it is always from sm_100 on, where an
nvlink translates the code of older toolkits anew.

No wheel of CUDA 12 has an nvlink: there nvJitLink stands for it, with inputs of the last ptxas up
to that version, for the cases that nvlink 13.0 links, that need no option and no nvcc. `--store`
writes `tests/link/versions.tsv` and `versions_own.tsv`, from which docs/link-parity.md has its
columns: what is not the same, by name. `--keep` stores the links that show rules of other toolkits
(`toolkits` in rules.yaml) beside those of nvlink 13.0, as `case@13.4`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from cubinspec.format.targets import linker_toolkits, toolkit_number
from tools import oracle
from tools.linkcases import build, exceptions, outcomes, rules, stored
from tools.linkcases.compare import first_difference, link, our_words
from tools.linkcases.outcomes import Outcome
from tools.oracle import toolchains

TABLE = build.ROOT / "tests" / "link" / "versions.tsv"
#: Links of what the ptxas of the toolkit made.
OWN_TABLE = TABLE.with_name("versions_own.tsv")
#: The targets for which other nvlinks are imitated.
ARCHES = ("75", "80", "86", "89", "90", "90a")
#: Those for which inputs are always of the ptxas of the toolkit.
OWN_ARCHES = ("100", "103", "110", "120", "121")
#: The targets of links that are kept; of cases with none of them all are.
KEPT_ARCHES = ("80", "90", "100")
#: From 13.1 on `-v` tells a number of barriers that nobody set for kernels without any.
_BARRIERS = re.compile(r"used -?\d+ barriers")
GARBAGE = "numbers of barriers that nvlink takes from its memory"
#: Stands for nvJitLink 13.0.88 in place of a version.
JIT = "nvJitLink"
#: How the toolchains that have an nvJitLink are called.
_JITS = "nvjitlink-"
_HEAD = "toolkit\ttarget\tlinks\tsame\tnot the same"


def labels() -> dict[str, str]:
    """Version -> the toolchain that has its nvlink, for all but the toolkit of this linker."""
    known = {row.release: version for version, row in linker_toolkits().items()}
    return {
        known[label]: label
        for label, row in toolchains.TABLE.items()
        if label in known and "nvlink" in row["files"]
    }


@dataclass(frozen=True)
class Job:
    """One case on one target with one nvlink."""

    version: str
    nvlink: Path
    case: str
    arch: str
    folder: Path


def run(job: Job) -> Outcome:
    """Link with that nvlink and here; compare files, messages and exit statuses."""
    record = json.loads((job.folder / "cmd.json").read_text(encoding="utf-8"))
    case = build.Case(job.case, job.arch, job.folder, {})
    return _compare(job.version, job.nvlink, case, job.folder / "inputs", record["argv"][1:])


def _compare(
    version: str, nvlink: Path, case: build.Case, folder: Path, words: list[str]
) -> Outcome:
    """Link with an nvlink and here.

    Args:
        words: those of the command line, `-o` among them.
    """
    with tempfile.TemporaryDirectory() as temporary:
        output = Path(temporary) / "expected.cubin"
        words[words.index("-o") + 1] = str(output)
        done = oracle.Tool("nvlink", version, nvlink).run(*words, cwd=folder)
        theirs = output.read_bytes() if output.exists() else None
        words += [f"--toolkit={version}", f"--ptxas={nvlink.with_name('ptxas')}"]
        if theirs:
            words.append(f"--tkinfo-from={output}")
        status, messages, ours = link(words, folder)
    wanted = our_words(done.stdout + done.stderr)
    if _BARRIERS.sub("", messages) != _BARRIERS.sub("", wanted) or status != done.returncode:
        kind, detail = outcomes.DIFFERENT, f"{status}, {messages!r}; {done.returncode}, {wanted!r}"
    elif theirs is None:
        kind, detail = outcomes.SAME_ERROR, ""
    elif theirs == ours:
        kind, detail = outcomes.IDENTICAL, ""
    else:
        kind, detail = outcomes.DIFFERENT, first_difference(theirs, ours or b"")
    if kind in (outcomes.IDENTICAL, outcomes.SAME_ERROR) and messages != wanted:
        kind, detail = outcomes.EXCEPTION, GARBAGE
    if done.returncode < 0:
        kind, detail = outcomes.EXCEPTION, "nvlink crashes"
    if kind == outcomes.DIFFERENT and exceptions.find(case.name, case.arch):
        kind = outcomes.EXCEPTION
    return Outcome(case.name, case.arch, kind, detail)


def library() -> Path:
    """nvJitLink of the toolkit whose nvlink is imitated: the same linker inside a program."""
    return oracle.cuda_home() / "lib" / "libnvJitLink.so.13"


def older() -> dict[str, str]:
    """Version -> the toolchain that has its nvJitLink, for toolkits whose nvlink no wheel has."""
    made = {label: label.removeprefix(_JITS) for label in toolchains.TABLE if _JITS in label}
    known = {version: label for label, full in made.items() if (version := _short(full))}
    return {v: known[v] for v in linker_toolkits() if v in known and v not in labels()}


def _short(release: str) -> str:
    """12.8 of 12.8.93."""
    return release.rpartition(".")[0]


def rebuild(
    case: build.Case, version: str, cache: Path, *, with_options: bool = False
) -> Path | None:
    """The case with inputs of the last ptxas up to a version; None where it has none of its own.

    Only PTX of the case itself serves: nvcc writes PTX that older tools do not know.

    Args:
        with_options: whether cases with options and with unified indices are built, too.
    """
    number = toolkit_number(version) or 0
    fitting = {
        known: label
        for label, row in toolchains.TABLE.items()
        if "ptxas" in row["files"] and (known := toolkit_number(_short(label)) or 0) <= number
    }
    label = fitting[max(fitting)]
    folder = cache.with_name("linkcases-older") / label / case.name / case.arch
    steps = case.recipe["inputs"]
    names = [step["out"] for step in steps]
    words = case.recipe["link"]
    if with_options:
        words = [word for word in words if not word.startswith("-")]
        names = [name for name in names if name in words]
        steps = [step for step in steps if "uidx" not in step]
    if words != names or not steps or not all("ptx" in step for step in steps):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    for step in case.recipe["inputs"]:
        if (folder / step["out"]).exists():
            continue
        if "uidx" in step:
            shutil.copy(cache / case.name / case.arch / "inputs" / step["out"], folder)
            continue
        arch = step.get("arch", case.arch)
        words = [word.replace("{arch}", arch) for word in step.get("ptxas", [])]
        path = case.folder / step["ptx"]
        toolchains.tool(label, "ptxas").run(
            f"-arch=sm_{arch}", "-c", *words, str(path), "-o", str(folder / step["out"])
        )
    return folder if all((folder / name).exists() for name in names) else None


def run_own(version: str, nvlink: Path, cache: Path, case: build.Case) -> Outcome | None:
    """Link inputs of the ptxas of that toolkit; None for a case that has none."""
    folder = rebuild(case, version, cache, with_options=True)
    if folder is None:
        return None
    target = f"-arch=sm_{case.recipe.get('linkarch', case.arch)}"
    return _compare(version, nvlink, case, folder, [target, *case.recipe["link"], "-o", "out"])


def run_older(version: str, cache: Path, case: build.Case) -> Outcome | None:
    """Link with the nvJitLink of an older toolkit and here; None where it does not link."""
    expected = stored.table().get((case.name, case.arch))
    folder = rebuild(case, version, cache)
    if folder is None or expected is None or expected.status:
        return None
    names = case.recipe["link"]
    target = f"-arch=sm_{case.recipe.get('linkarch', case.arch)}"
    with tempfile.TemporaryDirectory() as temporary:
        output = Path(temporary) / "expected.cubin"
        _link_older(version, [target, *names], folder, output)
        if not output.exists():
            return None
        theirs = output.read_bytes()
    words = [target, *names, f"--toolkit={version}", "-o", "out"]
    status, messages, ours = link(words, folder)
    if ours is None:
        return Outcome(case.name, case.arch, outcomes.DIFFERENT, f"{status}, {messages!r}")
    if ours == theirs:
        return Outcome(case.name, case.arch, outcomes.IDENTICAL)
    detail = first_difference(theirs, ours)
    kind = outcomes.EXCEPTION if exceptions.find(case.name, case.arch) else outcomes.DIFFERENT
    return Outcome(case.name, case.arch, kind, detail)


def run_jit(job: Job) -> Outcome | None:
    """Link with nvJitLink in a process of its own; None for a case it cannot be asked."""
    record = json.loads((job.folder / "cmd.json").read_text(encoding="utf-8"))
    words = record["argv"][1:]
    at = words.index("-o")
    del words[at : at + 2]
    options = [word for word in words if word.startswith("-")]
    names = [word for word in words if not word.startswith("-")]
    if record["exit"] or len(options) > 1 or not all(name.endswith(".cubin") for name in names):
        return None
    with tempfile.TemporaryDirectory() as temporary:
        output = Path(temporary) / "expected.cubin"
        tool = [sys.executable, "-m", "tools.oracle.nvjitlink", str(library()), str(output)]
        inputs = [str(job.folder / "inputs" / name) for name in names]
        oracle.run([*tool, *options, *inputs], cwd=build.ROOT)
        if not output.exists():
            return Outcome(job.case, job.arch, outcomes.DIFFERENT, "nvJitLink refuses")
        theirs = output.read_bytes()
        words += [f"--tkinfo-from={output}", "-o", "out"]
        _, _, ours = link(words, job.folder / "inputs")
    if ours == theirs:
        return Outcome(job.case, job.arch, outcomes.IDENTICAL)
    detail = first_difference(theirs, ours or b"")
    kind = outcomes.EXCEPTION if exceptions.find(job.case, job.arch) else outcomes.DIFFERENT
    return Outcome(job.case, job.arch, kind, detail)


def keep(cache: Path) -> None:
    """Store the cases of rules about other toolkits as their linkers link them."""
    links = {
        (name, version)
        for rule in rules.load()
        for version in rule.toolkits
        for name in (*rule.cases, *rule.seeds)
    }
    kept = []
    for name, version in sorted(links):
        found = build.find((build.CASES, build.SEEDS), KEPT_ARCHES, [name])
        for case in found or build.find((build.CASES, build.SEEDS), None, [name]):
            linked = build.Case(f"{name}@{version}", case.arch, case.folder, case.recipe)
            if _link_kept(version, case, cache, cache / linked.name / linked.arch):
                kept.append(linked)
    stored.renew(kept, cache)


def _link_kept(version: str, case: build.Case, cache: Path, target: Path) -> bool:
    """Link one case with the linker of a toolkit, into the form of a built case."""
    is_older = version in older()
    is_own = case.arch in OWN_ARCHES
    if is_older and is_own:
        return False
    if is_older or is_own:
        source = rebuild(case, version, cache, with_options=is_own)
    else:
        source = build.build(case, cache) / "inputs"
    if source is None:
        return False
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    output = target / "expected.cubin"
    shutil.copytree(source, target / "inputs")
    if is_older:
        words = [f"-arch=sm_{case.recipe.get('linkarch', case.arch)}", *case.recipe["link"]]
        said = _link_older(version, words, target / "inputs", output)
        # nvJitLink leaves out the name of the tool.
        said = replace(said, stderr=re.sub("^(?=.)", "nvlink ", said.stderr, flags=re.MULTILINE))
    else:
        words = [f"-arch=sm_{case.recipe.get('linkarch', case.arch)}", *case.recipe["link"]]
        if not is_own:
            record = json.loads((source.parent / "cmd.json").read_text(encoding="utf-8"))
            words = record["argv"][1:-2]
        # Its numbers of barriers are not kept, as some come from nvlink's memory.
        words = [word for word in words if word != "-v"]
        nvlink = oracle.Tool("nvlink", version, toolchains.path(labels()[version], "nvlink"))
        said = nvlink.run(*words, "-o", output, cwd=target / "inputs")
    (target / "cmd.json").write_text(
        json.dumps(
            {
                "argv": ["nvlink", *words, f"--toolkit={version}", "-o", "../expected.cubin"],
                "exit": said.returncode,
                "stdout": said.stdout,
                "stderr": said.stderr,
            }
        ),
        encoding="utf-8",
    )
    if not is_older and any(word.endswith(".ptx") for word in words):
        # Our own link leaves behind what ptxas does for it.
        ptxas = stored.recorder(toolchains.path(labels()[version], "ptxas"), target)
        link([*words, "-o", "own", f"--toolkit={version}", f"--ptxas={ptxas}"], target / "inputs")
    return output.exists() or not is_older


def _link_older(version: str, words: list[str], folder: Path, output: Path) -> oracle.Result:
    """Link with the nvJitLink of an older toolkit, in a process of its own."""
    jit = toolchains.path(older()[version], "nvJitLink")
    tool = [sys.executable, "-m", "tools.oracle.nvjitlink", str(jit), str(output.resolve())]
    target, *names = words
    inputs = [str((folder / name).resolve()) for name in names]
    return oracle.run([*tool, target, *inputs], cwd=build.ROOT)


def table_rows(version: str, found: Iterable[Outcome]) -> list[str]:
    """Rows of the table for one toolkit."""
    by_arch: dict[str, list[Outcome]] = {}
    for outcome in found:
        by_arch.setdefault(outcome.arch, []).append(outcome)
    made = []
    for arch, links in by_arch.items():
        others = [o for o in links if o.kind not in (outcomes.IDENTICAL, outcomes.SAME_ERROR)]
        names = ",".join(sorted(outcome.case for outcome in others))
        made.append(f"{version}\t{arch}\t{len(links)}\t{len(links) - len(others)}\t{names}")
    return made


@cache
def table(path: Path = TABLE) -> tuple[tuple[str, str, int, int, tuple[str, ...]], ...]:
    """The rows of `tests/link/versions.tsv`, or of the other table."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        version, arch, links, same, names = line.split("\t")
        listed = tuple(name for name in names.split(",") if name)
        found.append((version, arch, int(links), int(same), listed))
    return tuple(found)


def main() -> int:
    """Run the versions."""
    parser = argparse.ArgumentParser(description="Compare with the nvlinks of other toolkits.")
    parser.add_argument("--toolkit", help="only these, such as 13.1,13.4")
    parser.add_argument("--arch", help="only these targets")
    parser.add_argument("--case", help="only these cases")
    parser.add_argument("--cache", type=Path, default=build.ROOT / "build" / "linkcases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--own", action="store_true", help="inputs of the ptxas of each toolkit")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--keep", action="store_true", help="store the links of rules.yaml")
    options = parser.parse_args()
    if options.keep:
        keep(options.cache)
        return 0
    arches = (*ARCHES, *OWN_ARCHES) if options.own else ARCHES
    arches = options.arch.split(",") if options.arch else arches
    names = options.case.split(",") if options.case else None
    versions = [*labels()] if options.own else [*older(), *labels(), JIT]
    versions = options.toolkit.split(",") if options.toolkit else versions
    path = OWN_TABLE if options.own else TABLE
    cases = build.find((build.CASES, build.SEEDS), arches, names)
    built = [c for c in cases if (options.cache / c.name / c.arch / "cmd.json").exists()]
    if not built and not set(versions) <= set(older()):
        print("the cases are not built (make link-cases)", file=sys.stderr)
        return 2
    lines = [_HEAD]
    for version in versions:
        with ProcessPoolExecutor(options.jobs) as pool:
            if options.own:
                nvlink = toolchains.path(labels()[version], "nvlink")
                work = partial(run_own, version, nvlink, options.cache)
                results = pool.map(work, cases, chunksize=8)
            elif version in older():
                results = pool.map(partial(run_older, version, options.cache), cases, chunksize=8)
            else:
                is_jit = version == JIT
                nvlink = library() if is_jit else toolchains.path(labels()[version], "nvlink")
                jobs = [
                    Job(version, nvlink, c.name, c.arch, options.cache / c.name / c.arch)
                    for c in built
                ]
                results = pool.map(run_jit if is_jit else run, jobs, chunksize=8)
            found = [outcome for outcome in results if outcome is not None]
        for outcome in found:
            if outcome.kind not in (outcomes.IDENTICAL, outcomes.SAME_ERROR):
                where = f"{version} {outcome.case} sm_{outcome.arch}"
                print(f"{where}: {outcome.kind}: {outcome.detail[:240]}", flush=True)
        print(version, dict(Counter(outcome.kind for outcome in found)), flush=True)
        lines += table_rows(version, found)
    if options.store:
        kept = [] if options.toolkit is None else path.read_text(encoding="utf-8").splitlines()[1:]
        lines += [line for line in kept if line.split("\t")[0] not in versions]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
