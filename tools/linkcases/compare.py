"""Compares a link of this linker with what nvlink said and wrote."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from cubinspec.errors import CubinError
from cubinspec.format.sections import occupies_file
from cubinspec.reader.elf import Elf
from cubinspec_writer.linker import command
from tools import oracle
from tools.linkcases import outcomes


def compare_built(folder: Path, ptxas: Path | None = None) -> tuple[str, str]:
    """(outcome, detail) of a built case.

    Args:
        ptxas: the program that assembles PTX inputs; None: that of the CUDA tools.
    """
    record = json.loads((folder / "cmd.json").read_text(encoding="utf-8"))
    expected = folder / "expected.cubin"
    words = record["argv"][1:]
    if expected.exists() and expected.stat().st_size:  # nvlink leaves an empty file when it crashes
        words.append(f"--tkinfo-from={expected.resolve()}")
    words.append(f"--ptxas={ptxas or oracle.find('ptxas').path}")
    status, messages, actual = link(words, folder / "inputs")
    wanted = our_words(record["stdout"] + record["stderr"])
    if (status, messages) != (record["exit"], wanted):
        theirs_said = f"{record['exit']}, {wanted!r}"
        return outcomes.DIFFERENT, f"exit {status}, {messages!r}; nvlink {theirs_said}"
    other = difference_of_files(folder / "inputs", record.get("files", {}))
    if other:
        return outcomes.DIFFERENT, other
    if not expected.exists():
        return outcomes.SAME_ERROR, ""
    theirs = expected.read_bytes()
    if theirs == actual:
        return outcomes.IDENTICAL, ""
    return outcomes.DIFFERENT, first_difference(theirs, actual or b"")


def our_words(messages: str) -> str:
    """nvlink's messages as this linker prints them."""
    return messages.replace("nvlink ", "cubinspec link ")


def link(words: Sequence[str], folder: Path) -> tuple[int, str, bytes | None]:
    """Exit status, messages and output of a link here.

    Args:
        words: the words of the command line, among them `-o` and a name, which is not used.
        folder: where relative names of inputs begin.
    """
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as temporary:
        output = Path(temporary) / "actual.cubin"
        words = list(words)
        words[words.index("-o") + 1] = str(output)
        with contextlib.chdir(folder), contextlib.redirect_stderr(said):
            status = command.run(words)
        data = output.read_bytes() if output.exists() else None
    return status, said.getvalue(), data


def difference_of_files(folder: Path, wanted: Mapping[str, str]) -> str:
    """How files that a link left in a folder, and that go now, differ from nvlink's; empty: not."""
    for name, text in wanted.items():
        path = folder / name
        found = path.read_text(encoding="utf-8") if path.exists() else None
        path.unlink(missing_ok=True)
        if found != text:
            return f"{name}: {found!r}; nvlink {text!r}"
    return ""


def first_difference(expected: bytes, actual: bytes) -> str:
    """One line: the first section (or header) that is not the same in both files.

    Both files are read as ELF again, so that the answer does not depend on the linker's data.
    """
    try:
        a, b = Elf(expected, "expected"), Elf(actual, "actual")
        if a.section_names != b.section_names:
            return f"sections {_first(a.section_names, b.section_names)}"
        for index, (row_a, row_b) in enumerate(zip(a.section_rows, b.section_rows, strict=True)):
            name = a.section_names[index]
            sh_name, sh_type, sh_flags, address, _, *others = row_a
            offset = row_b[4]  # follows from what stands in front, so it may differ
            if (sh_name, sh_type, sh_flags, address, offset, *others) != tuple(row_b):
                return f"header of {name}: {row_a} / {row_b}"
            if not occupies_file(sh_type, sh_flags):
                continue
            data_a, data_b = a.section_bytes(index), b.section_bytes(index)
            if data_a != data_b:
                return f"bytes of {name}: {_place(data_a, data_b)}"
        if a.segment_rows != b.segment_rows:
            return f"program headers {_first(a.segment_rows, b.segment_rows)}"
        return f"bytes outside of sections: {_place(expected, actual)}"
    except CubinError as error:
        return f"unreadable: {error}"


def _first(a: Sequence[object], b: Sequence[object]) -> str:
    for index, item in enumerate(a):
        if index >= len(b) or b[index] != item:
            return f"[{index}]: {item} / {b[index] if index < len(b) else 'nothing'}"
    return f"{len(b) - len(a)} more"


def _place(a: bytes, b: bytes) -> str:
    pairs = enumerate(zip(a, b, strict=False))
    at = next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))
    parts = f"{a[at : at + 16].hex()} / {b[at : at + 16].hex()}"
    return f"{len(a)}/{len(b)} bytes, first at {at:#x}: {parts}"
