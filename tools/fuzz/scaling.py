"""How the work on a file grows with the number of things in it: calls, memory and output.

Each case makes a file with `n`, `2n` and `4n` of one thing and runs a command on it. What is
measured does not depend on the machine or its load: function calls of the interpreter, the most
memory that Python holds, bytes printed. A step to the next size may cost 2.5 times as much.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tracemalloc
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from cubinspec.cli import main
from cubinspec_writer.builder import CubinBuilder, Relocation
from cubinspec_writer.yaml_form import from_yaml
from tools.fuzz import hostile

#: Growth that is allowed where the thing doubles.
MOST = 2.5
_STEPS = (1, 2, 4)
_NOP = bytes.fromhex("18790000000000000000000000c00f00")
_EXIT = bytes.fromhex("4d790000000000000000800300ea0f00")
#: Code that ends at once.
CODE = _EXIT + 15 * _NOP
#: Costs that do not depend on the number of things: caches, tables, modules.
_BASE_BYTES = 1 << 20
#: One line more or less says nothing about growth.
_BASE_OUTPUT = 1 << 10


class Case(NamedTuple):
    """One thing that a file can have many of.

    Attributes:
        make: makes a file with so many of them.
        number: how many to begin with.
        command: what is run; `{file}` and `{out}` stand for paths.
        status: how the command ends.
    """

    make: Callable[[int], bytes]
    number: int
    command: str
    status: int = 0


class Cost(NamedTuple):
    """What a run took: calls, most bytes held, bytes printed."""

    calls: int
    peak: int
    output: int


@cache
def kernels(number: int, relocatable: bool = False) -> bytes:
    """A cubin of so many kernels, each with parameters, attributes, and exits."""
    builder = CubinBuilder("sm_90", relocatable=relocatable)
    for at in range(number):
        builder.kernel(f"k{at}", CODE, registers=8, parameters=[8], exit_offsets=[0])
    return builder.to_bytes()


@cache
def linkable(number: int) -> bytes:
    """A relocatable cubin of so many kernels."""
    return kernels(number, relocatable=True)


def call_chain(number: int) -> bytes:
    """Functions that call each other in a row, and the kernel that calls the first."""
    builder = CubinBuilder("sm_90", relocatable=True)
    builder.kernel("f0", CODE, registers=8, parameters=[8], exit_offsets=[0])
    for at in range(1, number):
        builder.function(f"f{at}", _EXIT + 7 * _NOP, registers=8)
        builder.call(f"f{at - 1}", f"f{at}")
    return builder.to_bytes()


def variables(number: int) -> bytes:
    """So many variables, and a kernel with a relocation to each."""
    builder = CubinBuilder("sm_90", relocatable=True)
    code = _NOP * number + _EXIT + 16 * _NOP
    code += _NOP * (-(len(code) // len(_NOP)) % 8)
    kernel = builder.kernel("k", code, registers=8, parameters=[8], exit_offsets=[16 * number])
    for at in range(number):
        builder.variable(f"v{at}", "global", bytes(4))
        kernel.relocations.append(Relocation(16 * at, "R_CUDA_ABS32_LO_32", f"v{at}"))
    return builder.to_bytes()


def call_fan(number: int) -> bytes:
    """A kernel that calls so many functions."""
    builder = CubinBuilder("sm_90", relocatable=True)
    builder.kernel("k", CODE, registers=8, parameters=[8], exit_offsets=[0])
    for at in range(number):
        builder.function(f"f{at}", _EXIT + 7 * _NOP, registers=8)
        builder.call("k", f"f{at}")
    return builder.to_bytes()


def notes(number: int) -> bytes:
    """A section of so many notes of an owner that nobody knows."""
    text = "".join(f"  - {{type: {at}, owner: x, data: '00000000'}}\n" for at in range(number))
    head = f"{hostile.YAML_HEAD}contents:\n- section: .note.x\n  type: SHT_NOTE\n  notes:\n"
    return from_yaml(head + text, "notes.yaml")


def long_names(number: int) -> bytes:
    """A kernel with so many letters."""
    builder = CubinBuilder("sm_90")
    name = "k" * number
    builder.kernel(name, CODE, registers=8, parameters=[8], exit_offsets=[0])
    return builder.to_bytes()


def exits(number: int) -> bytes:
    """A kernel with one attribute of so many words."""
    builder = CubinBuilder("sm_90")
    code = _EXIT * number + 16 * _NOP
    code += _NOP * (-(len(code) // len(_NOP)) % 8)
    builder.kernel("k", code, registers=8, parameters=[8], exit_offsets=range(0, 16 * number, 16))
    return builder.to_bytes()


def parameters(number: int) -> bytes:
    """A kernel of so many parameters, each with an attribute record of its own."""
    builder = CubinBuilder("sm_90")
    code = CODE
    builder.kernel("k", code, registers=8, parameters=[4] * number, exit_offsets=[0])
    return builder.to_bytes()


def document(number: int) -> bytes:
    """A document about so many sections."""
    lines = [f"- {{section: .data{at}, type: SHT_PROGBITS, data: '00'}}\n" for at in range(number)]
    return hostile.YAML_HEAD.encode() + b"contents:\n" + "".join(lines).encode()


def fills(number: int) -> bytes:
    """A document with so many bytes of its own between the sections."""
    lines = [f"- {{offset: {0x1000 + 16 * at}, data: '01'}}\n" for at in range(number)]
    head = f"{hostile.YAML_HEAD}contents: []\nfile_size: {0x1000 + 16 * number}\nfills:\n"
    return (head + "".join(lines)).encode()


def zip_members(number: int) -> bytes:
    """A zip archive of so many members of one name in different folders."""
    return hostile.zip_of((f"{at}/k.ptx", hostile.PTX) for at in range(number))


CASES: dict[str, Case] = {
    "ar members": Case(lambda n: hostile.ar_label("k.ptx", n), 200, "images {file}"),
    "ar name table": Case(hostile.ar_endless_name, 2000, "images {file}", 1),
    "tar members": Case(hostile.tar_plain, 200, "images {file}"),
    "tar headers": Case(hostile.tar_chain, 15, "images {file}"),
    "tar keys": Case(hostile.tar_pax_globals, 60, "images {file}"),
    "zip members": Case(zip_members, 100, "images {file}"),
    "extracted names": Case(zip_members, 100, "extract -q -o {out} {file}"),
    "fatbin entries": Case(hostile.fatbin_entries, 200, "images {file}"),
    "fatbins": Case(hostile.fatbin_containers, 500, "images {file}", 1),
    "host sections": Case(hostile.elf_one_name, 300, "images {file}", 1),
    "heads of cubins": Case(hostile.elf_magics, 300, "images {file}", 1),
    "kernels, listed": Case(kernels, 40, "kernels {file}"),
    "kernels, dumped": Case(kernels, 20, "dump {file}"),
    "kernels, checked": Case(kernels, 20, "check {file}"),
    "kernels, compared": Case(kernels, 20, "diff {file} {file}"),
    "kernels, hashed": Case(kernels, 20, "fingerprint {file}"),
    "kernels, sized": Case(kernels, 20, "size {file}"),
    "kernels, as text": Case(kernels, 20, "to-yaml {file}"),
    "kernels, kept": Case(kernels, 20, "keep {file} k0 --no-fsync -o {out}/a"),
    "kernels, removed": Case(kernels, 20, "remove {file} k0 --no-fsync -o {out}/a"),
    "kernels, renamed": Case(kernels, 20, "rename {file} k0 k --no-fsync -o {out}/a"),
    "kernels, set": Case(
        kernels, 20, "set {file} --kernel k0 --registers 40 --no-fsync -o {out}/a"
    ),
    "kernels, stripped": Case(kernels, 20, "strip --tkinfo {file} --no-fsync -o {out}/a"),
    "kernels, noted": Case(
        kernels, 20, "retarget-note --toolkit 12.9 {file} --no-fsync -o {out}/a"
    ),
    "kernels, reported": Case(kernels, 20, "report -j 1 {file} --no-fsync -o {out}/a.html"),
    "kernels, packed": Case(kernels, 20, "pack {file} --no-fsync -o {out}/a"),
    "kernels, linked": Case(linkable, 20, "link -arch=sm_90 --no-fsync {file} -o {out}/a"),
    "calls, linked": Case(call_chain, 20, "link -arch=sm_90 --no-fsync {file} -o {out}/a"),
    "calls, shown": Case(call_chain, 100, "callgraph {file}"),
    "calls of one kernel, shown": Case(call_fan, 50, "callgraph {file}"),
    "calls of one kernel, linked": Case(
        call_fan, 20, "link -arch=sm_90 --no-fsync {file} -o {out}/a"
    ),
    "variables, dumped": Case(variables, 50, "dump {file}"),
    "variables, checked": Case(variables, 50, "check {file}"),
    "variables, as text": Case(variables, 50, "to-yaml {file}"),
    "variables, linked": Case(variables, 50, "link -arch=sm_90 --no-fsync {file} -o {out}/a"),
    "notes, dumped": Case(notes, 60, "dump {file}"),
    "notes, as text": Case(notes, 60, "to-yaml {file}"),
    "letters of a name": Case(long_names, 5000, "dump {file}"),
    "letters of a name, listed": Case(long_names, 5000, "kernels {file}"),
    "words of an attribute": Case(exits, 200, "dump {file}"),
    "attribute records": Case(parameters, 60, "dump {file}"),
    "attribute records, listed": Case(parameters, 240, "params {file}"),
    "sections of a document": Case(
        document, 60, "from-yaml --no-check {file} --no-fsync -o {out}/a"
    ),
    "fills of a document": Case(fills, 60, "from-yaml --no-check {file} --no-fsync -o {out}/a"),
}


def cost(case: Case, number: int, folder: Path) -> Cost:
    """What the command takes on a file with so many things."""
    file, out = folder / "in.bin", folder / f"out{number}"
    file.write_bytes(case.make(number))
    out.mkdir(exist_ok=True)
    words = [word.format(file=file, out=out) for word in case.command.split()]
    printed = run_quietly(words, case.status)  # fills caches, loads modules
    calls = calls_of(lambda: run_quietly(words, case.status))
    tracemalloc.start()
    try:
        run_quietly(words, case.status)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return Cost(calls, peak + _BASE_BYTES, printed + _BASE_OUTPUT)


def calls_of(work: Callable[[], object]) -> int:
    """How many functions the interpreter calls."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def run_quietly(words: list[str], expected: int) -> int:
    """Run a command line, which ends as expected; the number of characters that it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    if status != expected:
        raise ValueError(f"{words}: {err.getvalue()[:500]}")
    return len(out.getvalue()) + len(err.getvalue())


def growth(case: Case, folder: Path) -> list[dict[str, float]]:
    """How many times as much each step takes, by what is measured."""
    costs = [cost(case, case.number * step, folder) for step in _STEPS]
    return [
        {name: getattr(after, name) / max(getattr(before, name), 1) for name in Cost._fields}
        for before, after in pairwise(costs)
    ]
