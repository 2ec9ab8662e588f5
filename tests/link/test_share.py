"""`--share-constants`: banks get smaller, and every constant that code reads stays what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec_generated.codes import SHF_EXECINSTR, SHT_CUDA_CONSTANT_B0, STO_CUDA_CONSTANT
from cubinspec_writer.linker import LinkError, LinkResult, Named, link
from tools.linkcases import build
from tools.linkcases.basic import BasicProgram
from tools.oracle import Tool

pytestmark = pytest.mark.oracle("ptxas", "nvlink", "cuobjdump")
CASES = Path(__file__).parent / "cases"
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
#: Literals of a kernel or function; 0 and values in twice are among them.
LITERALS = {
    "k": ("3ff1111111111111", "3ff2222222222222", "3ff1111111111111", "0000000000000000"),
    "q": ("3ff2222222222222", "3ff3333333333333"),
    "f": ("3ff2222222222222", "3ff4444444444444", "3ff4444444444444"),
    "g": ("3ff4444444444444", "3ff1111111111111", "3ff5555555555555"),
    "h": ("3ff4444444444444", "3ff5555555555555"),
}
CALLS = {"k": ("f", "g", "h"), "q": ("g", "h")}


def source(name: str, called: tuple[str, ...]) -> str:
    """PTX of one kernel or function that multiplies with its literals."""
    registers = ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f64 %f<9>;"
    body = "".join(f"fma.rn.f64 %f1,%f1,0d{x},0d{x};\n" for x in LITERALS[name])
    calls = "".join(
        "{ .param .b32 x; .param .b32 y; st.param.b32 [x],%r1; "
        f"call (y),{c},(x); ld.param.b32 %r1,[y]; }}\n"
        for c in called
    )
    known = "".join(f".extern .func (.param .b32 r) {c}(.param .b32 a);\n" for c in called)
    work = f"cvt.rn.f64.s32 %f1,%r1;\n{body}cvt.rzi.s32.f64 %r1,%f1;\n{calls}"
    if name in ("k", "q"):
        return (
            f"{HEAD}{known}.visible .entry {name}(.param .u64 p) {{\n{registers}\n"
            f"ld.param.u64 %d1,[p]; ld.global.b32 %r1,[%d1];\n{work}"
            "st.global.b32 [%d1],%r1; ret; }\n"
        )
    return (
        f"{HEAD}{known}.visible .func (.param .b32 r) {name}(.param .b32 a) {{\n{registers}\n"
        f"ld.param.b32 %r1,[a];\n{work}st.param.b32 [r],%r1; ret; }}\n"
    )


def reads(result: LinkResult) -> dict[tuple[str, str, int], bytes]:
    """(kernel, function, place of the relocation) -> the constant read there."""
    state, graph = result.half, result.half.graph
    banks = {
        s.owner: bytes(s.data)
        for s in state.sections.made
        if s.sh_type == SHT_CUDA_CONSTANT_B0 + 2 and s.owner is not None
    }
    found = {}
    for kernel in [f for f in state.symbols.functions if f.is_entry and f.section is not None]:
        for function in graph.reachable(kernel):
            for code, applied in state.relocations.applied.items():
                if code.owner is not function or not code.flags & SHF_EXECINSTR:
                    continue
                for reloc in applied:
                    symbol = reloc.symbol
                    if symbol.space == STO_CUDA_CONSTANT and ".const_opt." in symbol.name:
                        value = banks[kernel][symbol.value : symbol.value + symbol.size]
                        assert len(value) == symbol.size
                        found[kernel.name, function.name, reloc.offset] = value
    return found


def bank_sizes(result: LinkResult) -> dict[str, int]:
    return {
        s.owner.name: s.size
        for s in result.half.sections.made
        if s.sh_type == SHT_CUDA_CONSTANT_B0 + 2 and s.owner is not None
    }


@pytest.mark.parametrize("arch", ["75", "80"])
def test_literals_of_several_functions_share_their_places(
    arch: str, ptxas: Tool, tmp_path: Path
) -> None:
    inputs = []
    for name in LITERALS:
        path = tmp_path / f"{name}.ptx"
        path.write_text(source(name, CALLS.get(name, ())))
        ptxas.run(f"-arch=sm_{arch}", "-c", path, "-o", tmp_path / f"{name}.cubin").check()
        inputs.append(tmp_path / f"{name}.cubin")
    plain = link(inputs, arch=f"sm_{arch}")
    shared = link(inputs, arch=f"sm_{arch}", share_constants=True)
    assert reads(plain) == reads(shared)
    assert len(reads(plain)) > 8
    before, after = bank_sizes(plain), bank_sizes(shared)
    assert all(after[name] < before[name] for name in before)
    notes = [text for level, text in shared.messages if level == "note"]
    assert "constants in '.nv.constant2.f': 16 bytes, 0 when shared" in notes
    assert any(".nv.constant2.g" in text for text in notes)
    told = shared.map["shared_constants"]
    assert {constant["function"] for constant in told} >= {"f", "g"}
    whole = sum(before.values()) - sum(after.values())
    assert 0 < sum(constant["size"] for constant in told) <= whole
    assert shared.summary["shared"]["constants"] == len(told)
    assert plain.map["shared_constants"] == []


@pytest.mark.parametrize("name", ["const_compiler", "const2_order", "const2_chain", "jump_tables"])
def test_constants_of_cases_stay(name: str, tmp_path: Path) -> None:
    (case,) = build.find([CASES], ["75"], [name])
    folder = build.build(case, tmp_path) / "inputs"
    files = [folder / word for word in case.recipe["link"]]
    plain = link(files, arch="sm_75")
    shared = link(files, arch="sm_75", share_constants=True)
    assert reads(plain) == reads(shared)
    assert sum(bank_sizes(shared).values()) <= sum(bank_sizes(plain).values())


def test_nothing_to_win_changes_nothing(ptxas: Tool, tmp_path: Path) -> None:
    path = tmp_path / "q.ptx"
    path.write_text(source("q", ()))
    ptxas.run("-arch=sm_75", "-c", path, "-o", tmp_path / "q.cubin").check()
    data = Named("q", (tmp_path / "q.cubin").read_bytes())
    assert (
        link([data], arch="sm_75").bytes == link([data], arch="sm_75", share_constants=True).bytes
    )


def test_random_programs_read_the_same_constants(
    ptxas: Tool, cuobjdump: Tool, tmp_path: Path
) -> None:
    for seed in range(6):
        inputs = []
        for number, text in enumerate(BasicProgram(seed).files):
            path = tmp_path / f"{number}.ptx"
            path.write_text(text)
            done = ptxas.run("-arch=sm_75", "-c", path, "-o", tmp_path / f"{number}.cubin")
            if done.returncode == 0:
                inputs.append(Named(path.name, (tmp_path / f"{number}.cubin").read_bytes()))
        try:
            plain = link(inputs, arch="sm_75")
        except LinkError:
            continue
        shared = link(inputs, arch="sm_75", share_constants=True)
        assert reads(plain) == reads(shared)
        (tmp_path / "out.cubin").write_bytes(shared.bytes)
        cuobjdump.run("-elf", tmp_path / "out.cubin").check()
