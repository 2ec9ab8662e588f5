"""The load of an unused stack pointer sets no barrier; every wait is still for the same."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from cubinspec_generated.codes_sass import SASS_OPCODE_MASK
from cubinspec_generated.tables.sass import NAMES
from cubinspec_writer.linker import link
from cubinspec_writer.linker.command import linker_note
from cubinspec_writer.linker.finalizer import flow, operands, schedule
from tools.fuzz.scaling import MOST, calls_of
from tools.linkcases.sweep import schedules
from tools.oracle import Tool

KERNELS = Path(__file__).with_name("stack_load.ptx")

#: Families of PTX whose every form is linked.
_SWEPT = (
    "tcgen05 memory",
    "tcgen05 copies",
    "tcgen05.mma",
    "clusterlaunchcontrol",
    "multimem",
    "cp.async",
    "cp.async.bulk",
    "fence",
    "tex",
    "txq",
    "miscellaneous",
    "tensor memory loads",
    "groups of copies",
)
_LOAD, _LOAD_2, _ADD, _TABLE, _EXIT = 0xFF017B82, 0xFF027B82, 0x03037210, 0x04047949, 0x0000794D
_CALL = 0x00007943
_ATOMIC = 0x0300798E
_BRANCH = 0x000FEA000383FFFFFFFFFFFC00FC7947


def _instruction(word: int, write: int = 7, read: int = 7, wait: int = 0) -> bytes:
    return (word | write << 110 | read << 113 | wait << 116).to_bytes(16, "little")


def _barriers(code: bytes) -> list[tuple[int, int]]:
    words = [int.from_bytes(code[at : at + 16], "little") for at in range(0, len(code), 16)]
    return [(word >> 110 & 7, word >> 116 & 63) for word in words]


def _kernel(*more: bytes) -> bytes:
    return b"".join(
        (
            _instruction(_LOAD, write=0),
            _instruction(_LOAD_2, write=1),
            _instruction(_ADD, wait=0b10),
            *more,
            _instruction(_TABLE, wait=0b01),
            _instruction(_LOAD_2, write=0),
            _instruction(_ADD, wait=0b01),
            _instruction(_EXIT),
        )
    )


def test_other_loads_take_the_lowest_barrier() -> None:
    changed, reason = schedule.without_stack_load(_kernel())
    assert changed is not None
    assert not reason
    assert _barriers(changed) == [(7, 0), (0, 0), (7, 1), (7, 0), (0, 0), (7, 1), (7, 0)]


@pytest.mark.parametrize(
    "code",
    [
        _kernel()[16:],
        _kernel(_instruction(_CALL)),
        _kernel(_instruction(0x01037210)),
        _kernel(_instruction(0x0000000002027607)),
        _instruction(_LOAD, write=0, read=1) + _kernel()[16:],
        _kernel()[:-1],
    ],
    ids=["no load", "call", "uses it", "uses it in a pair", "not optimised", "cut"],
)
def test_other_code_stays(code: bytes) -> None:
    assert schedule.without_stack_load(code) == (None, "")


def test_code_stays_where_the_new_barriers_are_not_certain() -> None:
    code = _kernel(_instruction(_LOAD_2, write=3), _instruction(_ADD, wait=0b1000))
    assert schedule.without_stack_load(code) == (
        None,
        "a barrier in the input is not the expected one",
    )


def _ways(number: int, waits: int = 0) -> bytes:
    """A kernel with so many atomic operations in branches, which wait for some barriers."""
    skip = flow.with_target(_BRANCH & ~0xF000, 0, 2).to_bytes(16, "little")
    way = skip + _instruction(_ATOMIC, read=2, wait=waits)
    return _kernel(way * number)


def test_the_time_for_barriers_grows_as_the_code() -> None:
    few, many = (
        calls_of(partial(schedule.without_stack_load, _ways(number))) for number in (100, 200)
    )
    assert many < MOST * few


def test_code_with_very_many_waits_stays_by_name() -> None:
    assert schedule.without_stack_load(_ways(300, 0b100)) == (
        None,
        "too many instructions wait for barriers of other blocks",
    )


def test_what_shares_a_barrier_with_the_load_is_no_doubt() -> None:
    code = _kernel(_instruction(_LOAD_2, write=0), _instruction(_ADD, wait=0b01))
    changed, reason = schedule.without_stack_load(code)
    assert (changed is None, reason) == (False, "")


@pytest.mark.parametrize("register", [1, 9], ids=["may use the stack", "does not"])
def test_code_with_an_opcode_of_no_row_stays_by_name(register: int) -> None:
    opcode = next(opcode for opcode in range(1, 512) if opcode not in NAMES)
    code = _kernel(_instruction(opcode | 0x7000 | 9 << 16 | register << 24))
    assert schedule.without_stack_load(code) == (
        None,
        f"operands are not known: {opcode:#05x}",
    )


def test_an_opcode_of_no_row_is_no_doubt_where_another_uses_the_stack() -> None:
    opcode = next(opcode for opcode in range(1, 512) if opcode not in NAMES)
    unknown = _instruction(opcode | 0x7000 | 1 << 24)
    assert schedule.without_stack_load(_kernel(unknown, _instruction(0x01037210))) == (None, "")


def test_code_with_a_barrier_that_does_not_exist_stays() -> None:
    code = _kernel(_instruction(0x7919, write=6))
    assert schedule.without_stack_load(code) == (
        None,
        "an instruction sets a barrier that does not exist",
    )


def test_a_wait_that_is_missing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assign = schedule.assign

    def forgets(
        found: list[flow.Instruction], *, waits_for_loops: bool
    ) -> tuple[list[tuple[int, int, int]], str]:
        new, doubt = assign(found, waits_for_loops=waits_for_loops)
        return [(write, read, 0) for write, read, _ in new], doubt

    monkeypatch.setattr(schedule, "assign", forgets)
    assert schedule.without_stack_load(_kernel()) == (None, "a wait would be lost")


def test_a_branch_leads_where_it_is_sent() -> None:
    assert flow.Instruction(_BRANCH, 9).target == 9
    for target in (0, 9, 10, 70000):
        moved = flow.Instruction(flow.with_target(_BRANCH, 9, target), 9)
        assert (moved.target, moved.goes_on) == (target, False)


@pytest.mark.parametrize(
    ("before", "order"),
    [(0, [0, 2, 1]), (1, [0, 1, 2, 3]), (3, [0, 1, 2, 3, 4, 5]), (4, [0, 1, 2, 3, 4, 6, 5])],
)
def test_of_two_ways_the_set_tells_which_comes_first(before: int, order: list[int]) -> None:
    """Blocks of one instruction that follow each other, then two ways that come together."""
    way = before + 1
    after = [[at + 1] for at in range(before)] + [[way, way + 1], [way + 2], [way + 2], []]
    assert flow.visiting_order(list(range(way + 3)), after) == [*order, way + 2]


def test_a_block_ends_where_divergent_code_comes_together() -> None:
    code = [flow.Instruction(word, at) for at, word in enumerate((_ADD, 0x7941, _ADD, _EXIT))]
    assert flow.blocks(code, flow.followers(code)) == [0, 2]


@pytest.mark.parametrize(
    ("word", "written", "read"),
    [
        pytest.param(0x78E00FF0000000C0B167225, {22, 23}, {11, 12}, id="IMAD.WIDE R22, R11, R12"),
        pytest.param(
            0xC1E1B0000000804020C7981, {12, 13}, {2, 3, 260, 261}, id="LDG.64 R12, [UR4][R2.64]"
        ),
        pytest.param(
            0xC101D240000000828007986,
            set(),
            {8, 9, 10, 11, 40, 41, 292, 293},
            id="STG.128 [UR36][R40.64], R8",
        ),
        pytest.param(0x8000A0000007100FF2877AC, {296, 297}, set(), id="LDCU.64 UR40"),
        pytest.param(0x10E00000000140E7229, {14, 15}, {14, 15, 20, 21}, id="DADD R14, -R20, R14"),
        pytest.param(0x20180000000014000E7310, {14, 15}, {20}, id="F2F.F64.F32 R14, R20"),
        pytest.param(0xC000B0000000C0D0E7389, {14}, {11, 12, 13}, id="SHFL.IDX R14, R13, R12, R11"),
        pytest.param(0xE000000000000180672CA, {262}, {24}, id="R2UR UR6, R24"),
        pytest.param(0xA000000080602007388, set(), {2, 6, 7}, id="STS.64 [R2+8], R6"),
        pytest.param(0xF8010FF00000010040A7291, {266}, {260, 272}, id="ULEA UR10, UR4, UR16"),
        pytest.param(
            0xC12E1080000000D0200798E, set(), {2, 3, 13, 264, 265}, id="REDG [UR8][R2.64], R13"
        ),
        pytest.param(0xB72CC, {267}, {0}, id="CREDUX UR11, R0"),
        pytest.param(0x2027607, {2, 3}, {0, 1, 2, 3}, id="SEL.64 R2, R2, R0, P0"),
        pytest.param(
            0x800001FFFFFFFF04047407, {4, 5}, {4, 5}, id="SEL.64 R4, R4, 0xffffffffffffffff, P1"
        ),
        pytest.param(0x10F000000001000027202, {2, 3}, {16, 17}, id="MOV.64 R2, R16"),
        pytest.param(
            0x3F140700000000E1000720C, set(), {14, 15, 16, 17}, id="ISETP.GT.U64 R16, R14"
        ),
        pytest.param(0xFFE0000000000010A04784A, {260}, {266}, id="UVIMNMX.U32 UR4, UR10, 0x1"),
        pytest.param(
            0x800000C0000000806087255, {264}, {262, 264, 268}, id="UFFMA UR8, UR6, UR8, UR12"
        ),
        pytest.param(0xBF04000000000FF04007253, set(), {260}, id="UFSETP.GT UR4, URZ"),
        pytest.param(0x8201000000000040004725E, {260}, {260}, id="UI2FP.F32.U32 UR4, UR4"),
        pytest.param(0x820F100000000000A0004725C, {260}, {266}, id="UF2I.TRUNC.NTZ UR4, UR10"),
        pytest.param(
            0xF8E000400000006050472A6, {260}, {260, 261, 262}, id="UIMAD.HI.U32 UR4, UR5, UR6, UR4"
        ),
        pytest.param(
            0xBFFE4000000040008087885, {264, 265}, {264, 265}, id="UIMNMX.U64 UR8, UR8, 0x400"
        ),
        pytest.param(0x1520000000000000878CB, {264, 265}, set(), id="CS2UR UR8"),
        pytest.param(0x200000000005050783B, {80, 81, 82, 83}, {80}, id="LDSM.16.M88.4 R80, [R80]"),
        pytest.param(0x78000070000000506067276, {6}, {5, 6, 7}, id="FMNMX3 R6, R6, R5, R7"),
        pytest.param(
            0xC10E7048000000702FF79A2,
            set(),
            {2, 3, 7, 260, 261},
            id="ATOM.E.ADD.BF16x2 RZ, [UR4][R2.64], R7",
        ),
        pytest.param(0x100B060000000002007385, set(), {2, 3, 6, 7}, id="ST.E.64 [R2], R6"),
        pytest.param(0x100B000000000002087980, {8, 9}, {2, 3}, id="LD.E.64 R8, [R2]"),
        pytest.param(0x78E020000000008040A7235, {10, 11}, {4, 5, 8, 9}, id="IADD.64 R10, R4, R8"),
        pytest.param(
            0x1800406000000040300758D, set(), {3, 4, 5, 6, 7}, id="ATOMS.CAST.SPIN.64 [R3], R4, R6"
        ),
        pytest.param(0x80008050000000007057254, {261}, {261, 263}, id="UFADD UR5, UR7, -UR5"),
        pytest.param(0xB80000000000002604E07947, set(), {260}, id="BRA.DIV UR4"),
        pytest.param(0xB83FFFFFFFFFF8047C7958, set(), {260, 261}, id="BRXU UR4"),
        pytest.param(0x38000000000000000007948, set(), set(), id="WARPSYNC.ALL"),
        pytest.param(0x3C000000000000000007943, set(), set(), id="CALL.ABS to an address in it"),
    ],
)
def test_registers_are_those_that_nvdisasm_names(
    word: int, written: set[int], read: set[int]
) -> None:
    masks = operands.registers(flow.Instruction(word, 0))
    assert tuple({bit for bit in range(512) if mask >> bit & 1} for mask in masks) == (
        written,
        read,
    )


@pytest.mark.parametrize("arch", ["sm_100", "sm_103", "sm_110", "sm_120", "sm_121"])
def test_barriers_are_those_of_nvlink(arch: str, ptxas: Tool, nvlink: Tool, tmp_path: Path) -> None:
    """Branches, a loop, two ways that come together, and more barriers than numbers."""
    source, theirs = tmp_path / "a.cubin", tmp_path / "theirs.cubin"
    ptxas.run(f"-arch={arch}", "-c", KERNELS, "-o", source).check()
    nvlink.run(f"-arch={arch}", source, "-o", theirs).check()
    expected = theirs.read_bytes()
    result = link([source], arch=arch, tkinfo=linker_note(expected, "nvlink"))
    assert result.bytes == expected
    assert not any("unfinished" in kernel for kernel in result.map["kernels"])


def test_the_map_names_an_opcode_that_has_no_row(
    ptxas: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a.cubin"
    ptxas.run("-arch=sm_120", "-c", KERNELS, "-o", source).check()
    load = _LOAD & SASS_OPCODE_MASK
    for table in ("NAMES", "OPERANDS"):
        rows = {at: row for at, row in getattr(schedule, table).items() if at != load}
        monkeypatch.setattr(schedule, table, rows)
    kernels = link([source], arch="sm_120").map["kernels"]
    reasons = {kernel.get("unfinished") for kernel in kernels}
    assert f"operands are not known: {load:#05x}" in reasons


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["100a", "120a"])
def test_barriers_of_forms_do_not_differ_in_silence(
    arch: str, ptxas: Tool, nvlink: Tool, tmp_path: Path
) -> None:
    """Of families of tensor memory, copies and fences: each form in six shapes."""
    kinds: Counter[str] = Counter()
    for family, forms in schedules.all_families(arch):
        if family.name in _SWEPT:
            kinds.update(one.kind for one in schedules.run(family, forms, arch, tmp_path))
    assert kinds["same"] > kinds["kept"]
    assert not kinds["different"]
