"""The page docs/link-parity.md."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tools.linkcases import build, exceptions, outcomes, versions
from tools.linkcases.outcomes import Outcome

_HEAD = """\
# Parity with nvlink

Written by `make link-cases`; do not edit. Every case of `tests/link/cases` is built with the CUDA
13.0.88 tools and linked by nvlink and by `cubinspec link --tkinfo-from` nvlink's result, so that
every byte of the file can be the same.

* *identical*: the whole file, all messages and the exit status are nvlink's.
* *same error*: both refuse, with the same messages and exit status.
* *named exception*: the link succeeds and differs in a way that the list below explains.
* *refused*: this linker ends with an error where nvlink does not; see the list below.
* *different*: anything else.
* *not built*: the inputs could not be made on the machine that wrote this page.

"""
_SEEDS = """\
## Random programs that rules rest on

The programs of `tests/link/seeds`, which [rules](linking.md#rules) name.

"""


_VERSIONS = """\
## Nvlinks of other toolkits

`python -m tools.linkcases.versions` links the same inputs with the nvlink of each toolkit and here
with `--toolkit`. A cell says how many links have the same file, messages and status, of how many.
The lists also name the exceptions above, links in which that nvlink crashes, and those with `-v` or
`--dump-callgraph` that are the same but for the barriers of kernels without any, which nvlink from
13.1 on takes from its memory. nvJitLink is that of 13.0.88, asked for the cases that have cubins
and no options. No public wheel of CUDA 12 has an nvlink: 12.0 to 12.9 are measured with the
nvJitLink of the version, in which the same linker is, on the cases that are PTX and need no
options; files only.

"""

_OWN = """\
### With inputs of their own

`python -m tools.linkcases.versions --own` has the ptxas of each toolkit make the inputs of the
cases that are PTX and unified indices. From sm_100 on only such links are imitated; other inputs
are refused by name.

"""


def _versions(path: Path) -> str:
    """The columns of the other toolkits, and what is not the same by name."""
    rows = versions.table(path)
    names = sorted({row[0] for row in rows})
    cells = {(version, arch): f"{same} of {links}" for version, arch, links, same, _ in rows}
    lines = ["| target | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for arch in dict.fromkeys(row[1] for row in rows):
        found = " | ".join(cells.get((name, arch), "-") for name in names)
        lines.append(f"| sm_{arch} | {found} |")
    lines.append("")
    for name in names:
        by_case: dict[str, list[str]] = {}
        for version, arch, _, _, others in rows:
            for other in others if version == name else ():
                by_case.setdefault(other, []).append(arch)
        listed = ", ".join(f"`{case}` ({', '.join(where)})" for case, where in by_case.items())
        lines.append(f"* {name} differs in: {listed or 'nothing'}.")
    return "\n".join(lines) + "\n"


def render(found: list[Outcome]) -> str:
    """The page for the outcomes of all links."""
    seeds = {path.name for path in build.SEEDS.glob("*/")}
    cases = [outcome for outcome in found if outcome.case not in seeds]
    random = [outcome for outcome in found if outcome.case in seeds]
    parts = [_HEAD + _table(cases), "## Exceptions\n\n" + _exceptions(found, exceptions.cases())]
    if random:
        names = list(dict.fromkeys(outcome.case for outcome in random))
        parts.append(_SEEDS + _table(random) + "\n" + _exceptions(found, names))
    if versions.TABLE.exists():
        parts.append(_VERSIONS + _versions(versions.TABLE))
    if versions.OWN_TABLE.exists():
        parts.append(_OWN + _versions(versions.OWN_TABLE))
    other = _others(found)
    if other:
        parts.append("## Everything else\n\n" + other)
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _table(found: list[Outcome]) -> str:
    arches = list(dict.fromkeys(outcome.arch for outcome in found))
    arches.sort(key=lambda arch: (int(arch.rstrip("abcdef")), arch))
    lines = [
        "| target | cases | " + " | ".join(outcomes.ALL) + " |",
        "|---" * (len(outcomes.ALL) + 2) + "|",
    ]
    for arch in arches:
        count = Counter(outcome.kind for outcome in found if outcome.arch == arch)
        cells = " | ".join(str(count[kind]) for kind in outcomes.ALL)
        lines.append(f"| sm_{arch} | {sum(count.values())} | {cells} |")
    return "\n".join(lines) + "\n"


def _exceptions(found: list[Outcome], names: list[str]) -> str:
    lines = []
    for name in names:
        for exception in exceptions.load():
            where = [
                outcome.arch
                for outcome in found
                if outcome.case == name
                and outcome.kind == exception.outcome
                and exceptions.find(name, outcome.arch) is exception
            ]
            if where:
                targets = ", ".join(where)
                lines.append(f"* `{name}` ({targets}), {exception.outcome}: {exception.cause}.")
    return "\n".join(lines) + "\n"


def _others(found: list[Outcome]) -> str:
    lines = []
    for kind in (outcomes.DIFFERENT, outcomes.NOT_BUILT):
        for name in dict.fromkeys(outcome.case for outcome in found if outcome.kind == kind):
            where = [o.arch for o in found if o.case == name and o.kind == kind]
            lines.append(f"* `{name}` ({', '.join(where)}): {kind}.")
    return "\n".join(lines)
