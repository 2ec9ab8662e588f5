"""Every form of fence in PTX, one per kernel: `python -m tools.linkcases.fences`.

    python -m tools.linkcases.fences [--arch 100,120] [--random N] [--option=WORD] [--link=WORD]

Each form stands in a straight kernel, in a loop and in a kernel with shared memory; `--random`
adds kernels of several forms with branches, loops and early ends. Programs are linked with nvlink
and here; what is not about numbers of barriers has to be the same in every section, and functions
that differ in numbers of barriers are counted. The exit status is 1 when anything else differs.
"""

from __future__ import annotations

import argparse
import random
import re
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cubinspec.format.sections import occupies_file
from cubinspec.reader.elf import Elf
from tools import oracle
from tools.linkcases.compare import link

_SCOPES = ("cta", "cluster", "gpu", "sys")
_VALUES = {"u32": "%r2", "u64": "%rd3", "f32": "%f1", "v2.u32": "{%r2,%r3}"}
_ATOMS = (
    ("add", "u32"),
    ("exch", "b32"),
    ("cas", "b32"),
    ("min", "s32"),
    ("add", "u64"),
    ("add", "f32"),
    ("inc", "u32"),
)
_REGISTERS = (
    ".reg .u64 %rd<8>; .reg .u32 %r<12>; .reg .f32 %f<4>; .reg .b16 %h<5>; .reg .pred %p<4>;"
)
_PLAIN = ("st.global.u32 [%rd1],1;", "st.global.u32 [%rd1+4],2; st.global.u32 [%rd1+8],%r2;")
_LOOP = (
    "L0: add.u32 %r3,%r3,1; st.global.u32 [%rd1],%r3;",
    "ld.global.u32 %r6,[%rd1+64]; st.global.u32 [%rd1+8],%r6; setp.lt.u32 %p2,%r3,%r6;"
    " @%p2 bra L0; st.global.u32 [%rd1+4],%r2;",
)
_SHARED = (
    "st.shared.u32 [%r4+64],%r3;",
    "ld.shared.u32 %r6,[%r4+68]; st.global.u32 [%rd1+8],%r6; st.global.u32 [%rd1+4],%r2;",
)
#: Forms that ptxas makes more than one block of code of.
_BRANCHING = re.compile(
    r"atom\.\w+\.\w+\.(add\.u32|shared|global\.add\.u32|global\.cas\.b16)|barrier\.cluster"
    r"|mbarrier\.try_wait|trap|(fence|membar)\.proxy\.alias"
)
#: Bits of an instruction that number barriers.
_BARRIERS = 0xFFF << 110


def forms() -> dict[str, str]:
    """Name of a form -> its PTX; sm_100 and all later targets take them."""
    found: dict[str, str] = {}

    def add(text: str, also: str = "") -> None:
        found[re.sub(r"\W+", "_", text.split("[")[0].strip(" ;")) + also] = text

    for scope in ("cta", "gl", "sys"):
        add(f"membar.{scope};")
    for proxy in ("alias", "async", "async.global", "async.shared::cta", "async.shared::cluster"):
        add(f"fence.proxy.{proxy};")
    add("membar.proxy.alias;")
    add("fence.acquire.sync_restrict::shared::cluster.cluster;")
    add("fence.release.sync_restrict::shared::cta.cluster;")
    add("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;")
    add("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;")
    add("fence.mbarrier_init.release.cluster;")
    for scope in _SCOPES:
        add(f"fence.{scope};")
        for semantics in ("sc", "acq_rel", "acquire", "release"):
            add(f"fence.{semantics}.{scope};")
        add(f"fence.proxy.tensormap::generic.release.{scope};")
        add(f"fence.proxy.tensormap::generic.acquire.{scope} [%rd1], 128;")
        for of, value in _VALUES.items():
            add(f"st.release.{scope}.global.{of} [%rd1+16], {value};")
            add(f"ld.acquire.{scope}.global.{of} {value}, [%rd1+16];", f"_{of[:2]}")
        for space, place in ((".shared", "%r4"), ("", "%rd1+16")):
            add(f"st.release.{scope}{space}.u32 [{place}], %r2;")
            add(f"ld.acquire.{scope}{space}.u32 %r2, [{place}];")
        for semantics in ("relaxed", "acquire", "release", "acq_rel"):
            _atomics(add, semantics, scope)
        for semantics in ("relaxed", "release"):
            add(f"red.{semantics}.{scope}.global.add.u32 [%rd1+16],%r2;")
            add(f"red.{semantics}.{scope}.global.add.f32 [%rd1+16],%f1;")
            add(f"red.{semantics}.{scope}.shared.add.u32 [%r4],%r2;")
            add(f"multimem.st.{semantics}.{scope}.global.u32 [%rd1+16],%r2;")
            add(f"multimem.red.{semantics}.{scope}.global.add.u32 [%rd1+16],%r2;")
        for semantics in ("relaxed", "acquire"):
            add(f"multimem.ld_reduce.{semantics}.{scope}.global.add.u32 %r2,[%rd1+16];")
    _barriers(add)
    return found


def _atomics(add: Callable[..., None], semantics: str, scope: str) -> None:
    for operation, of in _ATOMS:
        value = {"u64": "%rd3", "f32": "%f1"}.get(of, "%r2")
        operands = f"{value},%r3" if operation == "cas" else value
        text = f"atom.{semantics}.{scope}.global.{operation}.{of}"
        add(f"{text} {value},[%rd1+16],{operands};")
    add(f"atom.{semantics}.{scope}.global.cas.b16 %h1,[%rd1+16],%h2,%h3;")
    add(f"atom.{semantics}.{scope}.add.u32 %r2,[%rd1+16],%r2;")
    add(f"atom.{semantics}.{scope}.shared.add.u32 %r2,[%r4],%r2;")


def _barriers(add: Callable[..., None]) -> None:
    """What waits for other threads, and what works on objects of type mbarrier."""
    for aligned in ("", ".aligned"):
        add(f"barrier.cluster.arrive{aligned}; barrier.cluster.wait{aligned};")
    add("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;")
    add("barrier.cluster.arrive.relaxed; barrier.cluster.wait;")
    add("griddepcontrol.launch_dependents; griddepcontrol.wait;")
    add("bar.sync 0;")
    for scope in ("cta", "cluster"):
        for semantics in ("release", "relaxed"):
            add(f"mbarrier.arrive.{semantics}.{scope}.shared.b64 %rd3,[%r4];")
        for semantics in ("acquire", "relaxed"):
            add(f"mbarrier.try_wait.{semantics}.{scope}.shared.b64 %p1,[%r4],%rd3;")
    add("mbarrier.init.shared.b64 [%r4],1; fence.acq_rel.gpu;")
    add("mbarrier.inval.shared.b64 [%r4]; fence.acq_rel.gpu;")
    add("mbarrier.pending_count.b64 %r2,%rd3; fence.acq_rel.sys;")
    add("cp.async.mbarrier.arrive.shared.b64 [%r4]; fence.acq_rel.gpu;")
    add("cp.async.mbarrier.arrive.noinc.shared.b64 [%r4]; fence.acq_rel.gpu;")
    add("cp.async.ca.shared.global [%r4],[%rd1],4; cp.async.wait_all; fence.acq_rel.gpu;")
    add("ld.volatile.global.u32 %r2,[%rd1]; st.volatile.global.u32 [%rd1],%r2;")
    add("st.mmio.relaxed.sys.global.u32 [%rd1],%r2; membar.sys;")
    add("discard.global.L2 [%rd1],128; fence.acq_rel.gpu;")
    add("nanosleep.u32 20; fence.acq_rel.gpu;")
    add("trap; fence.acq_rel.gpu;")


def program(kind: str) -> str:
    """PTX with one kernel per form: `plain`, `loop`, `shared`, or `straight` (plain, no branch)."""
    around = {"loop": _LOOP, "shared": _SHARED}.get(kind, _PLAIN)
    kernels = [
        _kernel(f"k_{name}", text, around, kind == "shared")
        for name, text in forms().items()
        if kind != "straight" or not _BRANCHING.match(text)
    ]
    return head("100") + "".join(kernels)


def random_program(seed: int, kernels: int = 40) -> str:
    """PTX with kernels of several forms, with branches, loops and early ends."""
    draw = random.Random(seed)
    texts = list(forms().values())
    parts = [head("100")]
    for number in range(kernels):
        body = []
        for step in range(draw.randint(2, 7)):
            chance, text = draw.random(), draw.choice(texts)
            label = f"L{number}_{step}"
            if chance < 0.75:
                body.append(text)
            elif chance < 0.85:
                body.append(f"setp.gt.u32 %p2,%r2,{step}; @%p2 bra {label}; {text} {label}:")
            elif chance < 0.93:
                body.append(f"{label}: {text} ld.global.u32 %r6,[%rd1+{4 * step}];")
                body.append(f"setp.gt.u32 %p2,%r6,%r3; @%p2 bra {label};")
            else:
                body.append(f"setp.gt.u32 %p2,%r2,{step}; @%p2 exit;")
        parts.append(_kernel(f"k{number}", "\n".join(body), _PLAIN, draw.random() < 0.3))
    return "".join(parts)


def head(arch: str) -> str:
    """The first lines of a PTX file."""
    return f".version 9.0\n.target sm_{arch}\n.address_size 64\n"


def _kernel(name: str, body: str, around: tuple[str, str], is_shared: bool) -> str:
    before, after = around
    shared = ".shared .align 16 .b8 sm[256];" if is_shared else ""
    place = "mov.u32 %r4,sm;" if is_shared else "ld.param.u32 %r4,[q];"
    return (
        f".visible .entry {name}(.param .u64 p,.param .u32 q,.param .u64 u){{\n{shared}"
        f" {_REGISTERS}\nld.param.u64 %rd1,[p]; {place} mov.u32 %r2,%tid.x; mov.u32 %r3,%tid.y;"
        " ld.param.u64 %rd3,[u]; mov.f32 %f1,0f3f800000; mov.b16 %h2,1; mov.b16 %h3,2;\n"
        f"{before}\n{body}\n{after} st.global.u64 [%rd1+32],%rd3; st.global.f32 [%rd1+40],%f1;"
        " ret; }\n"
    )


def differences(ours: bytes, theirs: bytes) -> tuple[list[str], list[str]]:
    """Sections that differ, and code sections that differ in nothing but numbers of barriers."""
    a, b = Elf(ours, "ours"), Elf(theirs, "theirs")
    if a.section_names != b.section_names:
        return ["names of sections"], []
    wrong: list[str] = []
    numbers: list[str] = []
    for index, name in enumerate(a.section_names):
        if not occupies_file(*a.section_rows[index][1:3]):
            continue
        mine, other = bytes(a.section_bytes(index)), bytes(b.section_bytes(index))
        if mine == other:
            continue
        is_code = name.startswith(".text.") and len(mine) == len(other)
        (numbers if is_code and _unnumbered(mine) == _unnumbered(other) else wrong).append(name)
    return wrong, numbers


def _unnumbered(code: bytes) -> list[int]:
    pairs = struct.iter_unpack("<QQ", code)
    return [(low | high << 64) & ~_BARRIERS for low, high in pairs]


def _compare(text: str, arch: str, options: argparse.Namespace, folder: Path) -> Counter[str]:
    """Link one program with both; prints what differs."""
    source, rel, out = folder / "a.ptx", folder / "a.cubin", folder / "out.cubin"
    source.write_text(text.replace(".target sm_100", f".target sm_{arch}"))
    ptxas = [f"-arch=sm_{arch}", "-c", *options.option, str(source), "-o", str(rel)]
    oracle.find("ptxas").run(*ptxas).check()
    words = [f"-arch=sm_{arch}", *options.link, "a.cubin", "-o", "out.cubin"]
    oracle.find("nvlink").run(*words, cwd=folder).check()
    theirs = out.read_bytes()
    _, said, ours = link([*words, f"--tkinfo-from={out}"], folder)
    if ours is None:
        raise oracle.OracleError(said)
    wrong, numbers = differences(ours, theirs)
    kernels = text.count(".visible .entry")
    for name in wrong:
        print(f"sm_{arch}: {name}")
    return Counter(programs=1, kernels=kernels, barriers=len(numbers), different=len(wrong))


def main() -> int:
    """Sweep the forms."""
    parser = argparse.ArgumentParser(description="Compare fences with nvlink's.")
    parser.add_argument("--arch", default="100,103,110,120", help="targets")
    parser.add_argument("--random", type=int, default=0, help="random programs for each target")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--option", action="append", default=[], help="a word for ptxas")
    parser.add_argument("--link", action="append", default=[], help="a word for both linkers")
    options = parser.parse_args()
    failed = False
    for arch in options.arch.split(","):
        counts: Counter[str] = Counter()
        texts = [program(kind) for kind in ("plain", "loop", "shared")]
        last = options.first + options.random
        texts += [random_program(seed) for seed in range(options.first, last)]
        with tempfile.TemporaryDirectory() as folder:
            for text in texts:
                counts += _compare(text, arch, options, Path(folder))
        print(f"sm_{arch}:", dict(counts))
        failed |= bool(counts["different"])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
