"""Scoreboard barriers: the load of a stack pointer that nothing uses sets none.

The finalizer's SASS is that of ptxas, except in kernels that load their stack pointer (R1) and
never use it. Where such a kernel jumps through a table, ptxas does not see that R1 is unused: the
load sets a barrier in the input, and none in the output. Then the barriers of other instructions
are assigned again. Each takes the lowest free number, global loads and textures keep theirs, and
what waited for the old number waits for the new one. This holds for all 114 such kernels of random
programs for sm_100, sm_103, sm_110, sm_120 and sm_121 (rule F8).

A kernel keeps its code where this model ends: when all six barriers are in use, when an instruction
names a barrier as an operand, or when there is no jump table (nvlink changes some kernels of the
device runtime in another way, rule X1). It also keeps its code when a check over all paths does not
find every wait of the old assignment in the new one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    #: Barriers that an instruction sets for its result and for its operands, and mask of its waits.
    Assignment = tuple[int, int, int]

_UNIT = 16
#: `LDC R1, c[0][...]`: opcode, R1, no index.
_LOAD = bytes.fromhex("827b01ff")
#: First bits of the fields: barrier for the result, barrier for the operands, mask of waits.
_WRITE, _READ, _WAIT = 110, 113, 116
_NONE, _BARRIERS = 7, 6
_STACK = 1
_BRANCH, _BRANCH_INDIRECT, _EXIT, _PUSH, _NOP = 0x147, 0x149, 0x14D, 0x145, 0x118
_POP = (0x141, 0x142)
#: Calls, returns, jumps to registers, divergent code, and instructions that name a barrier.
_UNMODELLED = frozenset((0x143, 0x144, 0x148, 0x14A, 0x14B, 0x14C, 0x14E, 0x150, 0x11A, 0x1AF))
#: LDG, LD, textures, LDL: their results take long and keep their barrier.
_LONG = frozenset((0x180, 0x181, 0x1A1, 0x183, *range(0x160, 0x168)))


class _Instruction:
    """What an instruction does to barriers.

    Attributes:
        opcode: its low nine bits, which do not tell the kinds of operands.
        write: the barrier that it sets for its result.
        read: the barrier that it sets until its operands are read.
        wait: mask of the barriers that it waits for.
        target: number of the instruction that it jumps to; -1: none.
        goes_on: whether the next instruction can follow it.
    """

    __slots__ = ("goes_on", "opcode", "read", "target", "wait", "write")

    def __init__(
        self, opcode: int, write: int, read: int, wait: int, target: int, goes_on: bool
    ) -> None:
        self.opcode = opcode
        self.write = write
        self.read = read
        self.wait = wait
        self.target = target
        self.goes_on = goes_on


def without_stack_load(code: bytes | bytearray) -> bytes | None:
    """The code of a kernel with new barriers; None when it stays as it is."""
    if code[:4] != _LOAD or len(code) % _UNIT:
        return None
    instructions = list(_decode(code))
    if instructions[0].write == _NONE or _uses_stack(code, instructions):
        return None
    if all(instruction.opcode != _BRANCH_INDIRECT for instruction in instructions):
        return None
    assigned = _assign(instructions)
    if assigned is None or not _waits_enough(instructions, assigned):
        return None
    out = bytearray(code)
    for at, (write, read, wait) in enumerate(assigned):
        word = int.from_bytes(code[at * _UNIT : (at + 1) * _UNIT], "little")
        word &= ~(0xFFF << _WRITE)
        word |= write << _WRITE | read << _READ | wait << _WAIT
        out[at * _UNIT : (at + 1) * _UNIT] = word.to_bytes(_UNIT, "little")
    return bytes(out)


def _decode(code: bytes | bytearray) -> Iterator[_Instruction]:
    for at in range(0, len(code), _UNIT):
        word = int.from_bytes(code[at : at + _UNIT], "little")
        opcode = word & 0x1FF
        is_unpredicated = word >> 12 & 15 == _NONE
        target = -1
        if opcode in (_BRANCH, _PUSH):
            distance = word >> 16 & 0xFF | (word >> 34 & (1 << 48) - 1) << 8
            distance -= (distance >> 55 & 1) << 56
            target = at // _UNIT + 1 + distance * 4 // _UNIT
        is_unconditional = not word >> 24 & 0xFF and word >> 82 & 0x3FFF == 0xE0
        ends = opcode in (_EXIT, _BRANCH_INDIRECT) or (opcode == _BRANCH and is_unconditional)
        yield _Instruction(
            opcode,
            word >> _WRITE & 7,
            word >> _READ & 7,
            word >> _WAIT & 63,
            target,
            not (is_unpredicated and ends),
        )


def _uses_stack(code: bytes | bytearray, instructions: list[_Instruction]) -> bool:
    """Whether any byte that can be a register is R1, or code outside of the kernel can run."""
    for number, instruction in enumerate(instructions):
        if instruction.opcode in _UNMODELLED:
            return True
        if not number or instruction.opcode in (_BRANCH, _PUSH, _NOP):
            continue
        at = number * _UNIT
        has_immediate = code[at + 1] >> 1 & 7 in (2, 4, 5, 6)
        registers = (code[at + 2], code[at + 3], code[at + 8])
        if _STACK in registers or (code[at + 4] == _STACK and not has_immediate):
            return True
    return False


def _assign(instructions: list[_Instruction]) -> list[Assignment] | None:
    """The new barriers of every instruction; None where the model ends.

    `pending` maps the old number of a barrier to the new one for as long as an instruction can
    still wait for it. The barrier of the first load becomes none.
    """
    out: list[Assignment] = []
    #: What is pending where branches forward, and jumps through tables, arrive.
    at_targets: dict[int, dict[int, int]] = {}
    at_table: dict[int, int] = {}
    pending: dict[int, int] = {}
    reached = True
    for number, instruction in enumerate(instructions):
        if number in at_targets:
            pending = {**at_targets.pop(number), **(pending if reached else {})}
        elif not reached:
            pending = dict(at_table)
        wait = 0
        for old in range(_BARRIERS):
            if instruction.wait >> old & 1:
                new = pending.pop(old, old)
                wait |= 1 << new if new != _NONE else 0
        if number:
            write = _new_barrier(instruction.write, pending, instruction.opcode in _LONG)
            read = _new_barrier(instruction.read, pending, False)
            if write is None or read is None:
                return None
        else:
            pending.update(dict.fromkeys((instruction.write, instruction.read), _NONE))
            pending.pop(_NONE, None)
            write = read = _NONE
        out.append((write, read, wait))
        if instruction.opcode == _BRANCH and instruction.target > number:
            at_targets.setdefault(instruction.target, {}).update(pending)
        elif instruction.opcode == _BRANCH_INDIRECT:
            at_table = dict(pending)
        reached = instruction.goes_on
    return out


def _new_barrier(old: int, pending: dict[int, int], is_long: bool) -> int | None:
    """The new number of a barrier that an instruction sets; None where the model ends."""
    if old == _NONE:
        return _NONE
    if pending.get(old) == _NONE or (old not in pending and len(pending) == _BARRIERS):
        return None
    if old not in pending:
        free = [barrier for barrier in range(_BARRIERS) if barrier not in pending.values()]
        pending[old] = old if is_long or not free else free[0]
    return pending[old]


def _waits_enough(instructions: list[_Instruction], assigned: list[Assignment]) -> bool:
    """Whether on every path each new wait covers all that the old wait covered.

    Every jump through a table is taken to lead to all places that no instruction falls into, and
    every end of divergent code to all places where such code joins.
    """
    count = len(instructions)
    #: Numbers of nodes that are no instructions -> where they lead.
    hubs = {
        count: [at for at in range(1, count) if not instructions[at - 1].goes_on],
        count + 1: [i.target for i in instructions if i.opcode == _PUSH],
    }
    before: list[set[tuple[int, int]]] = [set() for _ in range(count + len(hubs))]
    seen = [False] * (count + len(hubs))
    waiting = [0]

    def lead(after: set[tuple[int, int]], following: list[int]) -> None:
        for to in following:
            if not seen[to] or not after <= before[to]:
                before[to] |= after
                seen[to] = True
                waiting.append(to)

    if not all(0 <= i.target < count for i in instructions if i.opcode in (_BRANCH, _PUSH)):
        return False
    while waiting:
        at = waiting.pop()
        if at in hubs:
            lead(before[at], hubs[at])
            continue
        instruction, (write, read, wait) = instructions[at], assigned[at]
        after = set()
        for old, new in before[at]:
            if not instruction.wait >> old & 1:
                after.add((old, new))
            elif not wait >> new & 1:
                return False
        if at:
            after.update(
                pair
                for pair in ((instruction.write, write), (instruction.read, read))
                if pair[0] != _NONE
            )
        following = [at + 1] if instruction.goes_on and at + 1 < count else []
        if instruction.opcode == _BRANCH:
            following.append(instruction.target)
        elif instruction.opcode == _BRANCH_INDIRECT:
            following.append(count)
        elif instruction.opcode in _POP:
            following.append(count + 1)
        lead(after, following)
    return True
