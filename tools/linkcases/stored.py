"""What is kept of nvlink's results, so that links can be checked where NVIDIA's tools cannot run.

`tests/link/stored/expected.tsv` has one row for each case and target: the exit status, the number
of bytes and SHA-256 of the linked file, and the SHA-256 of the messages. Where this linker does
something else (`exceptions.yaml`), a last column has the SHA-256 of that. `inputs.tar.xz` has,
under `<case>/<target>/`:

    inputs/        the built inputs of the link
    command.json   the words of the command line, nvlink's messages, and other files that it wrote
    tkinfo         nvlink's own note (`.note.nv.tkinfo`), without which no byte behind it can agree
    ptxas.*        what ptxas made of a PTX input during the link, with its options and messages

Cases that link libraries of NVIDIA have a row, but no inputs. A case that shows a rule of another
toolkit is there once more as that toolkit's linker links it (`weak_vars@13.4`). A run of `make
link-cases` over everything writes both files again.

One archive for all targets is 2.5 times smaller than one for each, because most inputs differ
little from target to target.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from cubinspec.reader.elf import Elf
from cubinspec_generated import codes, records
from cubinspec_writer.linker.command import linker_note
from tools.archive import read_archive, unpack_archive, write_archive
from tools.linkcases import build, outcomes
from tools.linkcases.compare import difference_of_files, link, our_words

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "link" / "stored"
TABLE = FOLDER / "expected.tsv"
ARCHIVE = FOLDER / "inputs.tar.xz"
_HEAD = (
    "case\ttarget\texit\tsize\tsha256 of the output\tsha256 of the messages\t"
    "sha256 of what this linker does"
)
#: In place of size and hash where nvlink wrote no file.
_NONE = "-"
#: Stands for the folder of NVIDIA's libraries in a recipe.
_LIBRARIES = "{LIBDIR}"
#: Prints the options of ptxas, which stand in front of the text or its name.
_OPTIONS = "for w; do case $w in -ias|*.ptx) break;; esac; printf '%s ' \"$w\"; done"
#: Runs ptxas and keeps what it made, its options and its messages.
_RECORD = f"""\
#!/bin/sh
({_OPTIONS}) > '{{1}}.options'
'{{0}}' "$@" 2> '{{1}}.messages'; status=$?
cat '{{1}}.messages' >&2
[ $status = 0 ] && cp elf.o '{{1}}.cubin'
exit $status
"""
#: Does what ptxas once did, for the same options.
_REPLAY = f"""\
#!/bin/sh
[ "$({_OPTIONS})" = "$(cat '{{0}}.options')" ] || exit 1
cat '{{0}}.messages' >&2
[ -f '{{0}}.cubin' ] || exit 1
cp '{{0}}.cubin' elf.o
"""
_PTXAS = "ptxas"
_PTXAS_FILES = tuple(f"{_PTXAS}.{kind}" for kind in ("cubin", "options", "messages"))
_NOTE = "tkinfo"
_NOTE_SECTION = ".note.nv.tkinfo"


@dataclass(frozen=True)
class Expected:
    """What nvlink did with one case on one target.

    Attributes:
        size: bytes of the linked file; None: there is none.
        output: SHA-256 of the linked file, or "-".
        messages: SHA-256 of the messages, as this linker prints them.
        own: SHA-256 of exit status, messages and file of this linker, where they are others; or "".
    """

    case: str
    arch: str
    status: int
    size: int | None
    output: str
    messages: str
    own: str = ""


def recorder(ptxas: Path, folder: Path) -> Path:
    """A program in a folder that does what ptxas does and leaves its output there, too."""
    return _script(folder / "ptxas.sh", _RECORD.format(ptxas, folder / _PTXAS))


def _script(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


# -- writing -----------------------------------------------------------------------------------


def renew(cases: Iterable[build.Case], cache: Path) -> None:
    """Store some built cases again or for the first time; cases that are gone go, all others stay.

    Args:
        cache: where the cases are built.
    """
    rows: dict[tuple[str, str], str] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        name, arch, _ = line.split("\t", 2)
        rows[name, arch] = line
    members: dict[tuple[str, str], list[tuple[str, bytes]]] = {}
    for path, data in read_archive(ARCHIVE):
        name, arch, file = path.split("/", 2)
        members.setdefault((name, arch), []).append((file, data))
    for case in cases:
        built, key = cache / case.name / case.arch, (case.name, case.arch)
        rows[key] = row(*key, built)
        members[key] = [] if needs_libraries(case) else _members(built)
    present = {(case.name, case.arch) for case in build.find((build.CASES, build.SEEDS))}
    keys = sorted(key for key in rows if (base(key[0]), key[1]) in present)
    _write(
        FOLDER,
        [rows[key] for key in keys],
        ((f"{'/'.join(key)}/{file}", data) for key in keys for file, data in members.get(key, [])),
    )


def base(name: str) -> str:
    """The case of a stored link; behind an `@` stands the toolkit whose linker linked it."""
    return name.partition("@")[0]


def _write(folder: Path, rows: list[str], members: Iterable[tuple[str, bytes]]) -> None:
    """Write the rows of the table, and the files of the archive."""
    (folder / TABLE.name).write_text("\n".join([_HEAD, *rows]) + "\n", encoding="utf-8")
    write_archive(folder / ARCHIVE.name, members)


def needs_libraries(case: build.Case) -> bool:
    """Whether the link reads libraries that come with CUDA."""
    return any(_LIBRARIES in word for word in case.recipe["link"])


def row(case: str, arch: str, folder: Path) -> str:
    """The row of the table for one built case on one target."""
    record = json.loads((folder / "cmd.json").read_text(encoding="utf-8"))
    output = folder / "expected.cubin"
    data = output.read_bytes() if output.exists() else None
    size = _NONE if data is None else str(len(data))
    messages = _hash(our_words(record["stdout"] + record["stderr"]).encode())
    status = str(record["exit"])
    return "\t".join((case, arch, status, size, _hash(data), messages))


def _hash(data: bytes | None) -> str:
    return _NONE if data is None else hashlib.sha256(data).hexdigest()


def _members(folder: Path) -> list[tuple[str, bytes]]:
    record = json.loads((folder / "cmd.json").read_text(encoding="utf-8"))
    said = our_words(record["stdout"] + record["stderr"])
    command = {"words": record["argv"][1:], "messages": said}
    if record.get("files"):
        command["files"] = record["files"]
    members = [
        (f"inputs/{path.name}", path.read_bytes()) for path in sorted((folder / "inputs").iterdir())
    ]
    members.append(("command.json", json.dumps(command).encode()))
    output = folder / "expected.cubin"
    if output.exists() and _NOTE_SECTION in Elf(output.read_bytes(), str(output)).section_names:
        members.append((_NOTE, linker_note(output.read_bytes(), str(output))))
    made = [folder / name for name in _PTXAS_FILES]  # nothing was made where ptxas refused the text
    members += [(path.name, path.read_bytes()) for path in made if path.exists()]
    return members


# -- reading -----------------------------------------------------------------------------------


@cache
def table() -> dict[tuple[str, str], Expected]:
    """What nvlink did, by case and target."""
    rows = map(parse, TABLE.read_text(encoding="utf-8").splitlines()[1:])
    return {(row.case, row.arch): row for row in rows}


def parse(line: str) -> Expected:
    """A row of a table, which may have no last column, or others behind that."""
    case, arch, status, size, output, messages, *others = line.split("\t")
    length = None if size == _NONE else int(size)
    return Expected(case, arch, int(status), length, output, messages, *others[:1])


def unpack(folder: Path, arches: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """Unpack the inputs of some targets (None: all) into a folder; returns (case, target) pairs."""
    wanted = None if arches is None else set(arches)
    names = unpack_archive(
        ARCHIVE, folder, lambda name: wanted is None or name.split("/")[1] in wanted
    )
    pairs = (name.split("/", 2)[:2] for name in names)
    return list(dict.fromkeys((case, arch) for case, arch in pairs))


def note_holder(note: bytes) -> bytes:
    """A cubin with nothing but a tool note, for `--tkinfo-from`."""
    names = b"\0.shstrtab\0" + _NOTE_SECTION.encode() + b"\0"
    ident = records.ELF_IDENT.pack(
        b"\x7fELF", codes.ELFCLASS64, codes.ELFDATA2LSB, codes.EV_CURRENT, 0, 0, bytes(7)
    )
    size = records.ELF_HEADER_64.size + len(ident)
    row = records.SECTION_HEADER_64
    at = size + len(names)
    table = at + len(note)
    head = (codes.ET_EXEC, codes.EM_CUDA, codes.EV_CURRENT, 0, 0, table, 0, size, 0, 0, row.size)
    rows = (
        row.pack(*bytes(10)),
        row.pack(1, codes.SHT_STRTAB, 0, 0, size, len(names), 0, 0, 1, 0),
        row.pack(names.index(b".note"), codes.SHT_NOTE, 0, 0, at, len(note), 0, 0, 1, 0),
    )
    num_sections, name_section = len(rows), 1
    fields = (*head, num_sections, name_section)
    return ident + records.ELF_HEADER_64.pack(*fields) + names + note + b"".join(rows)


def compare(folder: Path, expected: Expected) -> tuple[str, str]:
    """(outcome, detail) of a link of unpacked inputs; an exception is the one that is stored.

    Args:
        folder: the case's own, `<where it was unpacked>/<case>/<target>`.
    """
    status, messages, output = relink(folder)
    other = difference_of_files(folder / "inputs", _command(folder).get("files", {}))
    if (status, _hash(messages.encode())) != (expected.status, expected.messages):
        detail = f"exit {status}, {messages!r}; nvlink {_command(folder)['messages']!r}"
    elif other:
        return outcomes.DIFFERENT, other
    elif expected.size is None:
        return outcomes.SAME_ERROR, ""
    elif _hash(output) == expected.output:
        return outcomes.IDENTICAL, ""
    else:
        detail = f"{len(output or b'')} bytes, nvlink's file has {expected.size}"
    is_stored = own_hash(status, messages, output) == expected.own
    return outcomes.EXCEPTION if is_stored else outcomes.DIFFERENT, detail


def own_hash(status: int, messages: str, output: bytes | None) -> str:
    """What is stored of a link of this linker that is not as nvlink's."""
    return _hash(f"{status}\n{messages}\n{_hash(output)}".encode())


def write_own(folder: Path, links: Iterable[tuple[str, str]]) -> None:
    """Store what this linker makes of some links that nvlink links in another way.

    Args:
        folder: where the inputs are unpacked.
    """
    rows = dict(table())
    for case, arch in links:
        own = own_hash(*relink(folder / case / arch))
        rows[case, arch] = replace(rows[case, arch], own=own)
    lines = [_HEAD, *map(_line, rows.values())]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    table.cache_clear()


def _line(row: Expected) -> str:
    size = _NONE if row.size is None else str(row.size)
    fields = (row.case, row.arch, str(row.status), size, row.output, row.messages, row.own)
    return "\t".join(fields).rstrip("\t")


def _command(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "command.json").read_text(encoding="utf-8"))
    return found


def relink(folder: Path) -> tuple[int, str, bytes | None]:
    """Link unpacked inputs here: exit status, messages and file."""
    command = _command(folder)
    words = list(command["words"])
    if (folder / _NOTE).exists():
        holder = folder / "tkinfo.cubin"
        holder.write_bytes(note_holder((folder / _NOTE).read_bytes()))
        words.append(f"--tkinfo-from={holder.resolve()}")
    if (folder / f"{_PTXAS}.options").exists():
        replay = _REPLAY.format((folder / _PTXAS).resolve())
        words.append(f"--ptxas={_script(folder / 'ptxas.sh', replay).resolve()}")
    return link(words, folder / "inputs")
