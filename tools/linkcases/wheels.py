"""Public wheels that hold both the inputs of a link and what nvlink made of them.

    python -m tools.linkcases.wheels [--wheel NAME] [--arch 80,90] [--store]

`__nv_relfatbin` of a library has the relocatable cubins of its objects, `.nv_fatbin` the linked
programs. They are linked here and compared with NVIDIA's own results, every byte. The wheels are
fetched as `tools/oracle/toolchains.yaml` says; `--store` writes `tests/link/real/wheels.tsv`.
(`tools.linkcases.real` has a wheel of older nvlinks, whose results are compared by section.)
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from cubinspec.containers.walk import images
from cubinspec.format.sections import occupies_file
from cubinspec.reader.elf import Elf
from cubinspec_generated.codes import ET_REL, SHF_EXECINSTR
from cubinspec_writer.linker import LinkError, Named, link
from cubinspec_writer.linker.command import linker_note
from tools.linkcases import build, outcomes
from tools.linkcases.compare import first_difference
from tools.oracle import toolchains

TABLE = build.ROOT / "tests" / "link" / "real" / "wheels.tsv"
#: Toolchains whose file `library` is such a library, and what linked it.
WHEELS = {"nvshmem-3.4.5": "nvlink 13.0.89", "nvshmem-3.8.0": "nvlink 13.3.82"}
_HEAD = "wheel\ttarget\tinputs\tsize\tsha256 of nvlink's file\there\tfunctions\tother functions"


@dataclass(frozen=True)
class Done:
    """A link that NVIDIA did.

    Attributes:
        inputs: the relocatable cubins, in the order of the library.
        result: what nvlink made of them.
    """

    wheel: str
    arch: str
    inputs: list[bytes]
    result: bytes


def links(wheel: str, arches: Iterable[str] | None = None) -> list[Done]:
    """The links in the library of a wheel, for some targets (None: all)."""
    data = toolchains.path(wheel, "library").read_bytes()
    inputs: dict[str, list[bytes]] = defaultdict(list)
    results: dict[str, bytes] = {}
    wanted = None if arches is None else {f"sm_{arch}" for arch in arches}
    for image in images(data, name=wheel):
        if image.kind != "cubin" or (wanted is not None and image.arch not in wanted):
            continue
        if Elf(image.data, wheel).ehdr[0] == ET_REL:
            inputs[image.arch].append(image.data)
        else:
            results[image.arch] = image.data
    return [Done(wheel, arch, inputs[arch], result) for arch, result in results.items()]


def functions(theirs: bytes, ours: bytes) -> tuple[int, int]:
    """Sections of code, and how many are not the same."""
    a, b = Elf(theirs, "theirs"), Elf(ours, "ours")
    places = {name: index for index, name in enumerate(b.section_names)}
    total = others = 0
    for index, name in enumerate(a.section_names):
        _, sh_type, sh_flags, *_ = a.section_rows[index]
        if sh_flags & SHF_EXECINSTR and occupies_file(sh_type, sh_flags):
            total += 1
            there = places.get(name)
            others += there is None or a.section_bytes(index) != b.section_bytes(there)
    return total, others


def run(done: Done) -> tuple[str, str]:
    """Link again; the row of the table, and where the files differ first."""
    named = [Named(f"{number}.cubin", data) for number, data in enumerate(done.inputs)]
    note = linker_note(done.result, done.wheel)
    total = others = ""
    try:
        ours = link(named, arch=done.arch, tkinfo=note, ignore_host_info=True).bytes
    except LinkError as error:
        here, detail = outcomes.REFUSED, str(error)
    else:
        same = ours == done.result
        here = outcomes.IDENTICAL if same else "differs"
        detail = "" if same else first_difference(done.result, ours)
        total, others = map(str, functions(done.result, ours))
    row = (
        *(done.wheel, done.arch.removeprefix("sm_"), str(len(done.inputs)), str(len(done.result))),
        *(hashlib.sha256(done.result).hexdigest(), here, total, others),
    )
    return "\t".join(row), detail


def table() -> list[list[str]]:
    """The rows of `tests/link/real/wheels.tsv`."""
    return [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]


def main() -> int:
    """Run the wheels."""
    parser = argparse.ArgumentParser(description="Link what public wheels say nvlink linked.")
    parser.add_argument("--wheel", choices=list(WHEELS), help="only this one")
    parser.add_argument("--arch", help="only these targets")
    parser.add_argument("--store", action="store_true", help="write wheels.tsv again")
    options = parser.parse_args()
    arches = options.arch.split(",") if options.arch else None
    known = {(row[0], row[1]): row for row in table()} if TABLE.exists() else {}
    rows, bad = [], False
    for wheel in [options.wheel] if options.wheel else WHEELS:
        for done in links(wheel, arches):
            row, detail = run(done)
            print(row.replace("\t", " "), detail, flush=True)
            rows.append(row)
            old = known.get((wheel, done.arch.removeprefix("sm_")))
            bad |= old is not None and old[5] == outcomes.IDENTICAL and bool(detail)
    if options.store:
        kept = {tuple(row.split("\t")[:2]): row for row in rows}
        others = {key: "\t".join(row) for key, row in known.items() if key not in kept}
        rows = sorted([*kept.values(), *others.values()])
        TABLE.write_text("\n".join([_HEAD, *rows]) + "\n", encoding="utf-8")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
