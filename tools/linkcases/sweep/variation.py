"""One link of a sweep, by nvlink and by this linker."""

from __future__ import annotations

import contextlib
import hashlib
import io
import sqlite3
import zlib
from dataclasses import dataclass
from pathlib import Path

from cubinspec_writer.linker import command
from tools import oracle
from tools.linkcases.compare import first_difference, our_words

OUTPUT = "out.cubin"
FILES = ("a.cubin", "b.cubin", "c.cubin")


@dataclass(frozen=True)
class Variation:
    """The inputs of one link.

    Attributes:
        name: words that say what is in it.
        files: bytes of its inputs, in order.
        options: words of the command line besides target, inputs and output.
    """

    name: str
    files: tuple[bytes, ...]
    options: tuple[str, ...] = ()

    def words(self, arch: str) -> list[str]:
        names = FILES[: len(self.files)]
        return [f"-arch=sm_{arch}", *self.options, *names, "-o", OUTPUT]

    def key(self, arch: str) -> str:
        digest = hashlib.sha256("\0".join(self.words(arch)).encode())
        for data in self.files:
            digest.update(hashlib.sha256(data).digest())
        return digest.hexdigest()

    def write(self, folder: Path) -> None:
        for name, data in zip(FILES, self.files, strict=False):
            (folder / name).write_bytes(data)


@dataclass(frozen=True)
class Outcome:
    """What a linker did.

    Attributes:
        status: the exit status; negative: the signal that ended it.
        messages: what it printed, in the words of this linker.
        data: the file that it wrote.
    """

    status: int
    messages: str
    data: bytes | None


class Nvlink:
    """nvlink, with a memory of what it did."""

    def __init__(self, cache: Path) -> None:
        self._memory = sqlite3.connect(cache, timeout=60)
        self._memory.execute(
            "create table if not exists links (key text primary key, status, messages, data)"
        )

    def link(self, variation: Variation, arch: str, folder: Path) -> Outcome:
        """Link; the files lie in the folder already."""
        key = variation.key(arch)
        query = "select status, messages, data from links where key = ?"
        row = self._memory.execute(query, (key,)).fetchone()
        if row is not None:
            return Outcome(row[0], row[1], None if row[2] is None else zlib.decompress(row[2]))
        output = folder / OUTPUT
        output.unlink(missing_ok=True)
        ran = oracle.find("nvlink").run(*variation.words(arch), cwd=folder)
        data = output.read_bytes() if output.exists() else None
        output.unlink(missing_ok=True)
        found = Outcome(ran.returncode, our_words(ran.stdout + ran.stderr), data)
        packed = None if data is None else zlib.compress(data)
        with self._memory:
            self._memory.execute(
                "insert or replace into links values (?, ?, ?, ?)",
                (key, found.status, found.messages, packed),
            )
        return found


def link_here(variation: Variation, arch: str, folder: Path, note: Path | None) -> Outcome:
    """Link with this linker; the files lie in the folder already.

    Args:
        note: a cubin with the tool note that the result gets.
    """
    said = io.StringIO()
    written: list[bytes] = []
    words = variation.words(arch)
    if note is not None:
        words.append(f"--tkinfo-from={note}")

    def write(_: str, data: bytes | list[bytes | bytearray]) -> None:
        written.append(data if isinstance(data, bytes) else b"".join(data))

    with contextlib.chdir(folder), contextlib.redirect_stderr(said):
        try:
            status = command.run(words, write)
        except Exception as error:
            return Outcome(-1, f"{type(error).__name__}: {error}", None)
    return Outcome(status, said.getvalue(), written[0] if written else None)


def difference(theirs: Outcome, ours: Outcome) -> str:
    """One line that says what is not the same; empty: nothing."""
    if (theirs.status, theirs.messages) != (ours.status, ours.messages):
        return (
            f"exit {ours.status} {ours.messages.strip()!r}; "
            f"nvlink {theirs.status} {theirs.messages.strip()!r}"
        )
    if theirs.data == ours.data:
        return ""
    if theirs.data is None or ours.data is None:
        return "only one wrote a file"
    return first_difference(theirs.data, ours.data)
