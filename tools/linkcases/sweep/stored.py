"""A part of the sweep with stored results, which needs no tool of NVIDIA.

`tests/link/stored/sweep.tar.xz` has the objects of the programs, nvlink's tool note for every
target, and `expected.tsv`: a row for each link with kind, target and name, nvlink's exit status,
the beginning of the SHA-256 of its file and of its messages. Links that crash nvlink have no row.
What differs is in `exceptions.yaml`.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.archive import unpack_archive, write_archive
from tools.linkcases.stored import FOLDER, note_holder
from tools.linkcases.sweep import attributes, exceptions, relocations, sections, symbols
from tools.linkcases.sweep.programs import bases
from tools.linkcases.sweep.variation import Nvlink, Outcome, Variation, link_here

ARCHIVE = FOLDER / "sweep.tar.xz"
PROGRAM = "two"
#: What is stored: kind of sweep, targets.
KINDS = {
    "attributes": (attributes.variations, ("80", "90", "100")),
    "sections": (sections.variations, ("80", "90", "100")),
    "relocations": (relocations.variations, ("80",)),
    "symbols": (symbols.variations, ("80", "90", "100")),
}
#: What of a kind is stored: links whose name has a text.
_PARTS = {
    "attributes": re.compile(r" words2$"),
    "relocations": re.compile(rf"^{PROGRAM} \.rela\.text\.k1 t"),
    "symbols": re.compile(r" (local|weak) (0|2|13)$"),
}


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    kind: str
    arch: str
    name: str
    status: int
    output: str
    messages: str

    def text(self) -> str:
        fields = (self.kind, self.arch, self.name, str(self.status), self.output, self.messages)
        return "\t".join(fields)


def read_row(line: str) -> Row:
    kind, arch, name, status, output, messages = line.split("\t")
    return Row(kind, arch, name, int(status), output, messages)


def links(kind: str, arch: str, folder: Path) -> Iterator[Variation]:
    """The stored links of a kind."""
    make, _ = KINDS[kind]
    for variation in make(PROGRAM, bases(arch, PROGRAM, folder)):
        if kind not in _PARTS or _PARTS[kind].search(variation.name):
            yield variation


def digest(outcome: Outcome) -> tuple[int, str, str]:
    """What of an outcome is stored."""
    data = hashlib.sha256(outcome.data).hexdigest()[:16] if outcome.data else "-"
    return outcome.status, data, hashlib.sha256(outcome.messages.encode()).hexdigest()[:16]


def write(cache: Path) -> None:
    """Write the archive from what nvlink does."""
    from cubinspec_writer.linker.command import linker_note

    nvlink, rows = Nvlink(cache / "links.sqlite"), []
    members: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for kind, (_, arches) in KINDS.items():
            for arch in arches:
                plain = Variation("plain", bases(arch, PROGRAM, cache / "bases"))
                plain.write(folder)
                note = linker_note(nvlink.link(plain, arch, folder).data or b"", "plain")
                members[f"note.sm_{arch}"] = note
                for variation in links(kind, arch, cache / "bases"):
                    variation.write(folder)
                    theirs = nvlink.link(variation, arch, folder)
                    if theirs.status < 0:
                        continue
                    rows.append(Row(kind, arch, variation.name, *digest(theirs)))
                for path in (cache / "bases").glob(f"{PROGRAM}?.sm_{arch}.cubin"):
                    members[f"bases/{path.name}"] = path.read_bytes()
    members["expected.tsv"] = "".join(f"{row.text()}\n" for row in rows).encode()
    write_archive(ARCHIVE, sorted(members.items()))


def unpack(folder: Path) -> None:
    """Unpack the objects, notes and the table."""
    unpack_archive(ARCHIVE, folder)


def check(kind: str, arch: str, folder: Path, match: str = "") -> tuple[list[str], int]:
    """Links that are not what they should be, and how many are the same.

    Args:
        folder: where the archive is unpacked.
        match: only the link of this name.
    """
    table = (folder / "expected.tsv").read_text(encoding="utf-8").splitlines()
    rows = {(row.kind, row.arch, row.name): row for row in map(read_row, table)}
    (folder / "note").write_bytes(note_holder((folder / f"note.sm_{arch}").read_bytes()))
    wrong, num_same = [], 0
    for variation in links(kind, arch, folder / "bases"):
        row = rows.get((kind, arch, variation.name))
        if row is None or match not in ("", variation.name):
            continue
        variation.write(folder)
        found = digest(link_here(variation, arch, folder, folder / "note"))
        is_same = found == (row.status, row.output, row.messages)
        num_same += is_same
        if is_same != (exceptions.find(kind, arch, variation.name) is None):
            wrong.append(variation.name)
    return wrong, num_same
