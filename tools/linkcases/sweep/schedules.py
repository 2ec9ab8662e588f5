"""Barriers of every form of PTX: how often code has nvlink's, from sm_100 on.

    python -m tools.linkcases.sweep.schedules [--arch 100a,120a] [--family TEXT]

Every form that ptxas takes stands in six kernels: behind a load, in code that not all threads
run, in a loop, among results that take all numbers, both of that, and twice with other registers
between. Each has a loop, so that the load of the stack pointer sets a barrier (rule F8). A kernel
is the same, stays as it is with a reason in the map (rule X1), or differs in silence. The exit
status is 1 if one differs in silence.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cubinspec_writer.linker import link
from cubinspec_writer.linker.command import linker_note
from cubinspec_writer.linker.diagnostics import LinkError
from tools import oracle
from tools.linkcases import ptxsweep
from tools.linkcases.functions import code_of
from tools.linkcases.ptxforms import Family, body, families, head, needed, statement

FORMS = Path(__file__).with_name("schedules.yaml")
_AT_ONCE = 12
_BUSY = (
    "ld.global.b32 %r10,[%d1+128]; ld.global.b32 %r11,[%d1+132]; ld.shared.b32 %r16,[%r8];"
    " shfl.sync.bfly.b32 %r14,%r7,1,31,-1; ex2.approx.ftz.f32 %f1,%f0;"
    " ld.global.b32 %r15,[%d1+136];\n"
)
_USE = (
    "xor.b32 %r0,%r0,%r10; xor.b32 %r0,%r0,%r11; xor.b32 %r0,%r0,%r16; xor.b32 %r0,%r0,%r14;"
    " xor.b32 %r0,%r0,%r15; mov.b32 %r10,%f1; xor.b32 %r0,%r0,%r10;\n"
)
_LOAD, _USE_LOAD = "ld.global.b32 %r10,[%d1+128];\n", "xor.b32 %r0,%r0,%r10;\n"
_SOME = "setp.lt.s32 %p0,%r8,5; @%p0 bra $Mif;\n"
_AGAIN = "add.s32 %r14,%r14,1; setp.lt.s32 %p0,%r14,%r8; @%p0 bra"
_LOOP = 'mov.u32 %r14,0; .pragma "nounroll";'
_END = f"{_LOOP} $Mend: st.volatile.global.b32 [%d1+64],%r0; {_AGAIN} $Mend;\n"
_CHANGE = (
    "add.s32 %r1,%r1,%r12; add.s32 %r2,%r2,%r13; add.s32 %r3,%r3,%r7; add.s32 %r5,%r5,%r6;"
    " add.s64 %d3,%d3,%d6; add.s32 %r4,%r4,%r7;\n"
)
#: Shapes whose registers are not loaded one after the other.
_EARLY = ("use", "if")


class Kernel(NamedTuple):
    """One form in one shape, and what became of its code: same, unchanged, kept or different."""

    arch: str
    family: str
    form: str
    shape: str
    kind: str
    why: str


def shapes(form: str) -> dict[str, list[str]]:
    """A form in code of different shapes."""
    text = statement(form, 0)
    again = text.replace("$L0_", "$L1_")
    return {
        "use": [_LOAD, text, _USE_LOAD, _END],
        "if": [_SOME, text, "$Mif: add.s32 %r0,%r0,1;\n", _END],
        "loop": [f"{_LOOP} $Mloop:\n", text, _LOAD, _USE_LOAD, f"{_AGAIN} $Mloop;\n"],
        "full": [_BUSY, text, _USE, _END],
        "fullif": [_BUSY, _SOME, text, "$Mif:\n", _USE, _END],
        "twice": [text, _CHANGE, again, _END],
    }


def kernel(name: str, lines: Sequence[str], is_early: bool) -> str:
    """A kernel with these lines.

    Args:
        is_early: whether its values are loaded where they are needed.
    """
    text = body(lines, "ld.param.u64 %d1,[p];\n", "")
    if "%f0" in text:
        text = text.replace(".reg .pred", ".reg .f32 %f<2>; .reg .pred", 1)
        text = text.replace("%p3,%r5,%r6;", "%p3,%r5,%r6; cvt.rn.f32.s32 %f0,%r7;", 1)
    if is_early:
        text = text.replace("ld.volatile", "ld")
    return f".visible .entry {name}(.param .u64 p)\n{text}"


def all_families(arch: str) -> Iterator[tuple[Family, list[str]]]:
    """Families of instructions, and their forms that ptxas takes for a target."""
    accepted = ptxsweep.accepted()
    for family in (*families(), *families(FORMS)):
        if family.data or family.params or family.entry or family.attribute or family.behind:
            continue
        taken = accepted.get((family.name, arch), (True,) * len(family.units))
        yield family, [unit for unit, good in zip(family.units, taken, strict=True) if good]


def run(family: Family, forms: Sequence[str], arch: str, folder: Path) -> Iterator[Kernel]:
    """What becomes of the kernels of some forms; those that ptxas refuses are left out."""
    made = {
        f"k{number}_{shape}": (form, shape, kernel(f"k{number}_{shape}", lines, shape in _EARLY))
        for number, form in enumerate(forms)
        for shape, lines in shapes(form).items()
    }
    if not _assemble(family, [text for _, _, text in made.values()], arch, folder):
        if len(forms) > 1:
            for form in forms:
                yield from run(family, [form], arch, folder)
            return
        made = {
            name: row for name, row in made.items() if _assemble(family, [row[2]], arch, folder)
        }
        if not made:
            return
        _assemble(family, [text for _, _, text in made.values()], arch, folder)
    for name, kind, why in _compare(arch, folder):
        if name in made:
            form, shape, _ = made[name]
            yield Kernel(arch, family.name, form, shape, kind, why)


def _assemble(family: Family, texts: Sequence[str], arch: str, folder: Path) -> bool:
    module = "".join(f"{line}\n".replace("$", "$M_") for line in family.module)
    text = "".join(texts)
    source = folder / "a.ptx"
    source.write_text(head(arch, family.mode) + needed(text + module) + module + text, "utf-8")
    done = oracle.find("ptxas").run(f"-arch=sm_{arch}", "-c", source, "-o", folder / "a.cubin")
    return done.returncode == 0


def _compare(arch: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    source, linked = folder / "a.cubin", folder / "linked.cubin"
    oracle.find("nvlink").run(f"-arch=sm_{arch}", source, "-o", linked).check()
    expected = linked.read_bytes()
    theirs, before = code_of(expected, "nvlink's file"), code_of(source.read_bytes(), "input")
    try:
        result = link([source], arch=f"sm_{arch}", tkinfo=linker_note(expected, "nvlink"))
    except LinkError as error:
        yield from ((name, "kept", str(error)) for name in theirs)
        return
    ours = code_of(result.bytes, "ours")
    reasons = {
        one["name"]: one["unfinished"] for one in result.map["kernels"] if "unfinished" in one
    }
    for name, code in theirs.items():
        if ours.get(name) == code:
            yield name, "unchanged" if before.get(name) == code else "same", ""
        else:
            yield name, "kept" if name in reasons else "different", reasons.get(name, "")


def main() -> int:
    """Print the sums, and what differs."""
    parser = argparse.ArgumentParser(description="Compare barriers of every form of PTX.")
    parser.add_argument("--arch", default="100a,103a,120a,121a")
    parser.add_argument("--family", default="", help="only families whose names have this text")
    options = parser.parse_args()
    silent = 0
    for arch in options.arch.split(","):
        found: list[Kernel] = []
        with tempfile.TemporaryDirectory() as folder:
            for family, forms in all_families(arch):
                if options.family in family.name:
                    for at in range(0, len(forms), _AT_ONCE):
                        found += run(family, forms[at : at + _AT_ONCE], arch, Path(folder))
        print(f"sm_{arch}: {dict(Counter(one.kind for one in found))}")
        for row, count in sorted(Counter((k.kind, k.family, k.why) for k in found).items()):
            if row[0] in ("kept", "different"):
                print(f"{count:6} {' | '.join(row)}")
        for one in found:
            if one.kind == "different":
                silent += 1
                print(f"       {one.shape}: {one.form}")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
