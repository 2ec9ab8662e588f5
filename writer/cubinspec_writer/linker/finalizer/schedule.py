"""SASS of sm_100 and later: the load of a stack pointer that nothing uses sets no barrier.

nvlink translates Mercury code to SASS again. That is the SASS of ptxas, except in kernels that load
their stack pointer (R1) and never use it. ptxas does not know that where code jumps through a
table: the load sets a barrier in the input, and none in the output. The barriers of other
instructions follow: each takes the lowest number that is not in use, global loads and textures keep
theirs, and what waited for the old number waits for the new one. So it is in all 114 such kernels
of random programs for sm_100, sm_103, sm_110, sm_120 and sm_121 (jump_tables).

A kernel keeps its code where this model does not reach: all six barriers in use, barriers named by
an instruction, no table (kernels of the device runtime, of which nvlink changes some in another
way). It also does where a check over all paths does not find every wait.
"""

from __future__ import annotations

from cubinspec_writer.plain import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_UNIT = 16
#: `LDC R1, c[0][...]`: opcode, R1, no index.
_LOAD = bytes.fromhex("827b01ff")
#: Bits of the barriers that an instruction sets for its result and for its operands, and waits for.
_WRITE, _READ, _WAIT = 110, 113, 116
_NONE, _BARRIERS = 7, 6
_STACK = 1
_BRANCH, _BRANCH_INDIRECT, _EXIT, _PUSH, _NOP = 0x147, 0x149, 0x14D, 0x145, 0x118
_POP = (0x141, 0x142)
#: Calls, returns, jumps to anywhere, code for some threads; instructions that name a barrier.
_UNKNOWN = frozenset((0x143, 0x144, 0x148, 0x14A, 0x14B, 0x14C, 0x14E, 0x150, 0x11A, 0x1AF))
#: LDG, LD, textures, LDL.
_LONG = frozenset((0x180, 0x181, 0x1A1, 0x183, *range(0x160, 0x168)))


class _Instruction(NamedTuple):
    """What an instruction does to barriers."""

    opcode: int
    write: int
    read: int
    wait: int
    target: int
    goes_on: bool


def without_stack_load(code: bytes | bytearray) -> bytes | None:
    """The code of a kernel whose first load sets no barrier; None when it stays as it is."""
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
        always = word >> 12 & 15 == _NONE
        target = -1
        if opcode in (_BRANCH, _PUSH):
            distance = word >> 16 & 0xFF | (word >> 34 & (1 << 48) - 1) << 8
            distance -= (distance >> 55 & 1) << 56
            target = at // _UNIT + 1 + distance * 4 // _UNIT
        plain = not word >> 24 & 0xFF and word >> 82 & 0x3FFF == 0xE0
        ends = opcode in (_EXIT, _BRANCH_INDIRECT) or (opcode == _BRANCH and plain)
        yield _Instruction(
            opcode,
            word >> _WRITE & 7,
            word >> _READ & 7,
            word >> _WAIT & 63,
            target,
            not (always and ends),
        )


def _uses_stack(code: bytes | bytearray, instructions: list[_Instruction]) -> bool:
    """Whether any byte that may be a register is R1, or code elsewhere may run."""
    for number, instruction in enumerate(instructions):
        if instruction.opcode in _UNKNOWN:
            return True
        if not number or instruction.opcode in (_BRANCH, _PUSH, _NOP):
            continue
        at = number * _UNIT
        has_immediate = code[at + 1] >> 1 & 7 in (2, 4, 5, 6)
        registers = (code[at + 2], code[at + 3], code[at + 8])
        if _STACK in registers or (code[at + 4] == _STACK and not has_immediate):
            return True
    return False


def _assign(instructions: list[_Instruction]) -> list[tuple[int, int, int]] | None:
    """New barriers (result, operands, waits) of every instruction; None where the model ends.

    `flying` maps an old number to the new one while something may still be waited for; the first
    load has none.
    """
    out: list[tuple[int, int, int]] = []
    at_targets: dict[int, dict[int, int]] = {}
    at_table: dict[int, int] = {}
    flying: dict[int, int] = {}
    reached = True
    for number, instruction in enumerate(instructions):
        if number in at_targets:
            flying = {**at_targets.pop(number), **(flying if reached else {})}
        elif not reached:
            flying = dict(at_table)
        wait = 0
        for old in range(_BARRIERS):
            if instruction.wait >> old & 1:
                new = flying.pop(old, old)
                wait |= 1 << new if new != _NONE else 0
        sets = []
        for old in (instruction.write, instruction.read):
            if old == _NONE or not number:
                if old != _NONE:
                    flying[old] = _NONE
                sets.append(_NONE)
                continue
            if flying.get(old) == _NONE or (old not in flying and len(flying) == _BARRIERS):
                return None
            if old not in flying:
                free = [b for b in range(_BARRIERS) if b not in flying.values()]
                is_long = instruction.opcode in _LONG and not sets
                flying[old] = old if is_long or not free else free[0]
            sets.append(flying[old])
        out.append((sets[0], sets[1], wait))
        if instruction.opcode == _BRANCH and instruction.target > number:
            known = at_targets.setdefault(instruction.target, {})
            known.update(flying)
        elif instruction.opcode == _BRANCH_INDIRECT:
            at_table = dict(flying)
        reached = instruction.goes_on
    return out


def _waits_enough(instructions: list[_Instruction], assigned: list[tuple[int, int, int]]) -> bool:
    """Whether on all paths every wait is for all that the old one was for.

    All tables lead to all places that nothing falls into, all ends of divergence to all joins.
    """
    count = len(instructions)
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
