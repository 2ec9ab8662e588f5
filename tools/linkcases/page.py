"""The page docs/link-parity.md."""

from __future__ import annotations

from collections import Counter

from tools.linkcases import kinds
from tools.linkcases.known import KNOWN

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


def render(outcomes: list[tuple[str, str, str]]) -> str:
    """The page for (case, architecture, kind) of all links."""
    arches = list(dict.fromkeys(arch for _, arch, _ in outcomes))
    arches.sort(key=lambda arch: (int(arch.rstrip("abcdef")), arch))
    lines = [
        "| target | cases | " + " | ".join(kinds.ALL) + " |",
        "|---" * (len(kinds.ALL) + 2) + "|",
    ]
    for arch in arches:
        count = Counter(kind for _, a, kind in outcomes if a == arch)
        cells = " | ".join(str(count[kind]) for kind in kinds.ALL)
        lines.append(f"| sm_{arch} | {sum(count.values())} | {cells} |")
    lines += ["", "## Exceptions", ""]
    for name, known in KNOWN.items():
        where = [a for c, a, kind in outcomes if c == name and kind == known.kind]
        if where:
            lines.append(f"* `{name}` ({', '.join(where)}), {known.kind}: {known.why}.")
    other = [(c, a, k) for c, a, k in outcomes if k in (kinds.DIFFERENT, kinds.NOT_BUILT)]
    if other:
        lines += ["", "## Everything else", ""]
        for kind in (kinds.DIFFERENT, kinds.NOT_BUILT):
            for name in dict.fromkeys(c for c, _, k in other if k == kind):
                where = [a for c, a, k in other if c == name and k == kind]
                lines.append(f"* `{name}` ({', '.join(where)}): {kind}.")
    return _HEAD + "\n".join(lines) + "\n"
