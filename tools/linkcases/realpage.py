"""The page docs/link-real.md: real programs and public wheels, linked by nvlink and here."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from tools.linkcases import build, outcomes, wheels

PAGE = build.ROOT / "docs" / "link-real.md"
_HEAD = """\
# Real code

Written by `make link-real`; do not edit. {programs} programs of {files} files (`tests/link/real`)
are compiled with `nvcc -dc` 13.0.88 for six targets: CUB, Thrust, libcu++, cooperative groups, the
device functions of curand, the device runtime, `printf`, `assert`, `malloc`, virtual functions,
textures, managed and constant memory and static libraries, with `-G`, `-lineinfo`, `-O0` or
`-maxrregcount`. nvlink 13.0.88 and `cubinspec link` link them; files, messages and exit statuses
are compared. `tests/link/real/expected.tsv` keeps hashes of what nvlink did.

"""
_WHEELS = """\
## Public wheels

NVSHMEM's library (`nvidia-nvshmem-cu13`) holds the relocatable cubins of its objects and what
nvlink (13.0.89 in version 3.4.5, 13.3.82 in 3.8.0) made of them when it was built.
`python -m tools.linkcases.wheels` links the same inputs here and compares every byte. From sm_100
on inputs of several toolkits are refused by name: 3.8.0 has an object of CUDA 13.0 among those of
13.3. Links of older nvlinks (bitsandbytes) are on
[link-parity-real.md](link-parity-real.md).

| wheel | target | inputs | bytes | here | functions | other functions |
|---|---|---|---|---|---|---|
"""
_PROJECTS = """
## Public projects

Sources of public projects, taken as they are and compiled with `nvcc -rdc=true` 13.0.88, one object
for each file; flashinfer has headers, whose kernels small files name. Each object is linked by both
linkers alone, with `-r` and with `-g`. A link that differs is named if the map tells it of every
function that differs (rule X1); in a silent one it does not for at least one. The last two figures
are the functions that differ in named and in silent ways. This table is
`tests/link/real/projects.tsv`, written when the projects were linked, before the last change of the
clock (rule F8). The first links of AMGX, flashinfer, PhysX and warp showed rules that are in these
figures; nothing was worked out on the others.

| project | target | links | functions | identical | named | silent | in functions | silent in |
|---|---|---|---|---|---|---|---|---|
"""
_PROJECT_TABLE = build.ROOT / "tests" / "link" / "real" / "projects.tsv"


def render(table: Iterable[str], num_sources: list[int]) -> str:
    """The text of the page.

    Args:
        table: the rows of `tests/link/real/expected.tsv`.
        num_sources: how many files each program has.
    """
    rows = [line.split("\t") for line in table]
    files = f"{min(num_sources)} to {max(num_sources)}"
    lines = [_HEAD.format(programs=len(num_sources), files=files)]
    lines += ["| target | programs | identical | same error | different |", "|---|---|---|---|---|"]
    by_target: dict[str, Counter[str]] = defaultdict(Counter)
    others: dict[str, list[str]] = defaultdict(list)
    for name, arch, *_, here in rows:
        by_target[arch][here] += 1
        if here not in (outcomes.IDENTICAL, outcomes.SAME_ERROR):
            others[name].append(arch)
    for arch in sorted(by_target, key=lambda arch: (int(arch.rstrip("af")), arch)):
        tally = by_target[arch]
        same, error = tally[outcomes.IDENTICAL], tally[outcomes.SAME_ERROR]
        total = tally.total()
        lines.append(f"| sm_{arch} | {total} | {same} | {error} | {total - same - error} |")
    listed = ", ".join(f"`{name}` ({', '.join(where)})" for name, where in others.items())
    lines += ["", f"Different: {listed or 'none'}.", ""]
    if wheels.TABLE.exists():
        lines.append(_WHEELS.rstrip("\n"))
        for wheel, arch, inputs, size, _, here, functions, other in wheels.table():
            cells = (wheel, f"sm_{arch}", inputs, f"{int(size):,}", here, functions, other)
            lines.append(f"| {' | '.join(cells)} |")
    if _PROJECT_TABLE.exists():
        lines.append(_PROJECTS.rstrip("\n"))
        for row in _PROJECT_TABLE.read_text(encoding="utf-8").splitlines():
            project, arch, *figures = row.split("\t")
            lines.append(f"| {' | '.join((project, f'sm_{arch}', *figures))} |")
    return "\n".join(lines) + "\n"
