"""Scoreboard barriers: the load of a stack pointer that nothing uses sets none.

The finalizer's SASS is that of ptxas, except in kernels that call nothing, load their stack pointer
(R1) and never use it. With `-c`, ptxas has that load set a barrier as soon as a kernel has several
blocks, as if something behind it could need the stack. The finalizer knows that nothing does: the
load sets no barrier, and the barriers of other instructions are assigned again (rule F8). This was
counted in 5,881 kernels of public libraries, assembled again for sm_100 and sm_120: the 4,639 with
such a load changed, no other did.

A kernel keeps its code where the new assignment is not certain to be the finalizer's, and where a
check over all paths does not find every wait of the input in the new code. The map tells which
(rule X1).
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise, product

from cubinspec_generated.codes_sass import (
    SASS_ARITHMETIC_AFTER,
    SASS_BARRIERS,
    SASS_BEHIND_BRANCH,
    SASS_BRA,
    SASS_BYTES,
    SASS_CGA_SIZE,
    SASS_LOAD_STACK,
    SASS_MEMBAR_OF_BLOCK,
    SASS_NO_BARRIER,
    SASS_NO_PREDICATE,
    SASS_OPCODE_MASK,
    SASS_PREDICATE_AFTER,
    SASS_REGISTER_A_SHIFT,
    SASS_REGISTER_B_SHIFT,
    SASS_REGISTER_C_SHIFT,
    SASS_S2UR,
    SASS_SPECIAL_REGISTER_MASK,
    SASS_SPECIAL_REGISTER_SHIFT,
    SASS_STACK_REGISTER,
    SASS_STALL_MASK,
    SASS_STALL_SHIFT,
    SASS_WAITABLE_AFTER,
)
from cubinspec_generated.tables.sass import NAMES, OPERANDS, OUTSIDE
from cubinspec_writer.linker.finalizer.barriers import (
    assign,
    assign_all,
    assign_later,
    assign_more,
)
from cubinspec_writer.linker.finalizer.flow import (
    MEANING,
    NO_TABLES,
    Instruction,
    blocks,
    collectives,
    decode,
    encode,
    followers,
    is_unscheduled,
    with_barriers,
)
from cubinspec_writer.linker.finalizer.lifetimes import Code, WaitsError, set_barriers
from cubinspec_writer.linker.finalizer.operands import (
    may_read,
    predicate_after,
    predicates,
    registers,
)
from cubinspec_writer.linker.finalizer.paths import Region, listed, without

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from cubinspec_writer.linker.finalizer.barriers import Assignment
    from cubinspec_writer.linker.finalizer.flow import Tables

#: Instructions that tell whether code is without optimisation.
_FIRST_FEW = 4
_BARRIERS = (*range(SASS_BARRIERS), SASS_NO_BARRIER)
_LOAD = SASS_LOAD_STACK.to_bytes(4, "little")
#: Bytes that can be a register that is read.
_OPERANDS = (SASS_REGISTER_A_SHIFT // 8, SASS_REGISTER_B_SHIFT // 8, SASS_REGISTER_C_SHIFT // 8)
#: The register, and that of a pair with it (`SEL.64` names such pairs).
_NAMING_STACK = (SASS_STACK_REGISTER, SASS_STACK_REGISTER - 1)
#: Bits of an opcode that are in the second byte of an instruction.
_, _SECOND_BYTE = SASS_OPCODE_MASK.to_bytes(2, "little")


def without_stack_load(
    code: bytes | bytearray, tables: Tables = NO_TABLES, *, waits_for_loops: bool = False
) -> tuple[bytes | None, str]:
    """The code of a kernel with new barriers.

    Args:
        tables: where its jumps through tables lead.
        waits_for_loops: whether code waits in front of loops (rule K36).

    Returns:
        the new code, None if it stays as it is; why it stays although the finalizer changes it.
    """
    loses, doubt = _loses_load(code)
    if not loses:
        return None, doubt
    return _assigned(decode(code, tables), partial(assign, waits_for_loops=waits_for_loops), 1)


def with_stack_load(
    code: bytes | bytearray, size: int, tables: Tables = NO_TABLES
) -> tuple[bytes | None, str]:
    """The code of a kernel whose stack pointer could be needed, as it does not stay alone.

    `ptxas -ewp` knows that nothing needs it, and lets its load set no barrier (rule F19).

    Args:
        size: where the kernel ends, and the functions begin that only it calls.
        tables: where its jumps through tables lead.

    Returns:
        the new code, None if it stays as it is; why it stays although the finalizer changes it.
    """
    if code[: len(_LOAD)] != _LOAD or len(code) % SASS_BYTES:
        return None, ""
    load = Instruction(int.from_bytes(code[:SASS_BYTES], "little"), 0)
    if load.write != SASS_NO_BARRIER or load.read != SASS_NO_BARRIER:
        return None, ""
    instructions = decode(code[:size], tables)
    after = followers(instructions)
    if _reached(after).isdisjoint(blocks(instructions, after)[1:]):
        return None, ""
    new, doubt = _assigned(instructions, assign_more, 0)
    return new and new + code[size:], doubt


def with_later_ends(
    code: bytes, added: Collection[int], tables: Tables = NO_TABLES
) -> tuple[bytes | None, str]:
    """The code of a function in which instructions in front of EXIT were added.

    More time has passed where such a block ends, so it waits for more (rule F20).

    Args:
        added: the numbers of these instructions.
        tables: where jumps through tables lead.

    Returns:
        as for `without_stack_load`.
    """
    instructions = decode(code, tables)
    if _is_unscheduled(instructions):
        return None, ""
    return _assigned(instructions, lambda found: assign_later(found, added), 0)


def _assigned(
    instructions: list[Instruction],
    assign_to: Callable[[list[Instruction]], tuple[list[Assignment], str]],
    gone: int,
) -> tuple[bytes | None, str]:
    """The code with other barriers, if they are certain.

    Args:
        assign_to: which barriers; none where nothing changes.
        gone: how many of the first barriers need no wait.
    """
    doubt = _unclear(instructions)
    if doubt:
        return None, doubt
    try:
        assigned, doubt = assign_to(instructions)
        if not assigned:
            return None, doubt
        if not doubt and not waits_enough(instructions, assigned, gone):
            doubt = "a wait would be lost"
    except WaitsError as error:
        doubt = str(error)
    if doubt:
        return None, doubt
    _forget_waits(instructions, assigned)
    return _with(instructions, assigned), ""


def _reached(after: list[list[int]]) -> set[int]:
    """The instructions that the first one leads to."""
    seen: set[int] = set()
    waiting = [0]
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting += after[at]
    return seen


def with_new_barriers(
    code: bytes | bytearray, tables: Tables = NO_TABLES, *, is_final: bool
) -> tuple[bytes | None, str]:
    """Code of ptxas before CUDA 13 with the barriers that the finalizer gives it (rule F18).

    Args:
        tables: where jumps through tables lead.
        is_final: whether a load of the stack pointer can be without a barrier.

    Returns:
        as for `without_stack_load`.
    """
    if len(code) % SASS_BYTES:
        return None, ""
    try:
        return _all_new(code, tables, is_final=is_final)
    except WaitsError as error:
        return None, str(error)


def _all_new(
    code: bytes | bytearray, tables: Tables, *, is_final: bool
) -> tuple[bytes | None, str]:
    """What `with_new_barriers` returns for whole instructions."""
    loses, doubt = _loses_load(code) if is_final else (False, "")
    if doubt:
        return None, doubt
    instructions = decode(code, tables)
    if _is_unscheduled(instructions):
        return None, ""
    doubt = _unclear(instructions) or _changed_otherwise(instructions)
    if doubt:
        return None, doubt
    _wait_late(instructions)
    assigned, doubt = assign_all(instructions, loses_first=loses)
    if doubt:
        return None, doubt
    if not waits_enough(instructions, assigned, loses):
        return None, "a wait would be lost"
    _forget_waits(instructions, assigned)
    new = _with(instructions, assigned)
    # What the new code waits for tells the same lifetimes, so it must lead to the same barriers.
    again, _ = assign_all(decode(new, tables), loses_first=False)
    if not again or _with(decode(new, tables), again) != new:
        return None, "the new barriers would lead to others"
    return new, ""


def left_out(instructions: list[Instruction]) -> str:
    """Why the steps do not tell the barriers of code; empty: they can."""
    if _is_unscheduled(instructions):
        return "code without optimisation"
    return _unclear(instructions)


def _is_unscheduled(instructions: list[Instruction]) -> bool:
    """Whether code is without optimisation, as its first instructions tell."""
    return all(is_unscheduled(one.word) for one in instructions[:_FIRST_FEW])


def _changed_otherwise(instructions: list[Instruction]) -> str:
    """What the finalizer makes other instructions of; empty: nothing that is known."""
    for one, following in pairwise(instructions):
        if one.opcode == SASS_S2UR:
            number = (one.word & SASS_SPECIAL_REGISTER_MASK) >> SASS_SPECIAL_REGISTER_SHIFT
            if number == SASS_CGA_SIZE:
                return "the size of the cluster is read by other instructions now"
        is_fence = one.word & MEANING == SASS_MEMBAR_OF_BLOCK
        if is_fence and following.opcode == one.opcode:
            return "a NOP between two fences is wanted now"
    return ""


def _wait_late(instructions: list[Instruction]) -> None:
    """Let code wait again, as now, for what WARPSYNC.COLLECTIVE has waited for.

    ENDCOLLECTIVE does so, but for what an instruction in front of it needs, which waits itself.
    """
    if not collectives(instructions):
        return
    code = Code(instructions)
    lives = set_barriers(code)
    for start, end in code.collective.items():
        for number in range(SASS_BARRIERS):
            if not code.waits_for(start, number):
                continue
            pending = [o for o in lives if o.number == number and o.is_there(start)]
            needs = (at for at in range(start + 1, end) if any(code.names(o, at) for o in pending))
            _wait(code.instructions[next(needs, end)], number)


def _wait(one: Instruction, number: int) -> None:
    """Let an instruction wait for a barrier as well."""
    one.word = with_barriers(one.word, one.write, one.read, one.wait | 1 << number)
    one.wait |= 1 << number


def _forget_waits(instructions: list[Instruction], assigned: list[Assignment]) -> None:
    """Let no time pass for barriers for which the next instruction does not wait any more."""
    heads: set[int] = set()
    for at, one in enumerate(instructions[:-1]):
        write, read, _ = assigned[at]
        wait = instructions[at + 1].wait
        waits = (assigned[at + 1][2] >> write | assigned[at + 1][2] >> read) & 1
        is_late = one.word & SASS_STALL_MASK == SASS_WAITABLE_AFTER << SASS_STALL_SHIFT
        if is_late and (wait >> one.write | wait >> one.read) & 1 and not waits:
            heads = heads or {len(instructions), *blocks(instructions, followers(instructions))}
            branch = _branch_for_predicate(instructions, at, heads)
            one.word -= 1 << SASS_STALL_SHIFT
            if branch >= 0:
                instructions[branch].word += 1 << SASS_STALL_SHIFT


def _branch_for_predicate(instructions: list[Instruction], at: int, heads: set[int]) -> int:
    """The branch at the end of a block that stalls for a predicate of it; -1: there is none.

    The predicate is written at an instruction, or in front of it, and is there for the next block.
    """
    end = next(number for number in range(at, len(instructions)) if number + 1 in heads)
    if instructions[end].opcode != SASS_BRA or _stall(instructions[end].word) <= SASS_BEHIND_BRANCH:
        return -1
    cycles = 0
    later: set[int] = {SASS_NO_PREDICATE}
    for number in range(end, -1, -1):
        one = instructions[number]
        cycles += _stall(one.word)
        written = set(predicates(one)) - later
        if number <= at and written and cycles == predicate_after(one):
            return end
        later |= written
        if number in heads or cycles > SASS_PREDICATE_AFTER:
            break
    return -1


def _loses_load(code: bytes | bytearray) -> tuple[bool, str]:
    """Whether the first instruction loads a stack pointer that nothing uses (rule F8).

    Returns:
        whether it does; why that is not known.
    """
    if code[: len(_LOAD)] != _LOAD or len(code) % SASS_BYTES:
        return False, ""
    load = Instruction(int.from_bytes(code[:SASS_BYTES], "little"), 0)
    # At -O0, loads also wait until their operands are read; there nothing changes.
    if load.write == SASS_NO_BARRIER or load.read != SASS_NO_BARRIER:
        return False, ""
    uses, unknown = _uses_stack(code)
    if uses or unknown:
        return False, "" if uses else _unknown(unknown)
    return True, ""


def _unclear(instructions: list[Instruction]) -> str:
    """Why the barriers of code cannot be known from its instructions; empty: they can."""
    unknown = {instruction.opcode for instruction in instructions} - OPERANDS.keys()
    if unknown:
        return _unknown(unknown)
    set_here = {one.read for one in instructions} | {one.write for one in instructions}
    if not set_here.issubset(_BARRIERS):
        return "an instruction sets a barrier that does not exist"
    return ""


def _with(instructions: list[Instruction], assigned: list[Assignment]) -> bytes:
    """The code with other barriers."""
    words = [
        with_barriers(instruction.word, *new)
        for instruction, new in zip(instructions, assigned, strict=True)
    ]
    _let_see(instructions, words, assigned)
    return encode(words)


def _let_see(instructions: list[Instruction], words: list[int], assigned: list[Assignment]) -> None:
    """Give each barrier the cycles to be seen that the next instruction needs to wait for it.

    What followed later because of an instruction in front follows as late as before.
    """
    heads: set[int] = set()
    for at, (write, read, _) in enumerate(assigned[:-1]):
        wait = assigned[at + 1][2]
        stall = _stall(words[at])
        if not (wait >> write | wait >> read) & 1 or stall >= SASS_WAITABLE_AFTER:
            continue
        words[at] += SASS_WAITABLE_AFTER - stall << SASS_STALL_SHIFT
        heads = heads or {len(words), *blocks(instructions, followers(instructions))}
        late = _late_for_others(instructions, at, heads)
        if late >= 0:
            spared = min(SASS_WAITABLE_AFTER - stall, _stall(words[late]) - 1)
            words[late] -= spared << SASS_STALL_SHIFT


def _stall(word: int) -> int:
    return (word & SASS_STALL_MASK) >> SASS_STALL_SHIFT


def _named(instruction: Instruction) -> int:
    written, read = registers(instruction)
    return written | read


def _late_for_others(instructions: list[Instruction], at: int, heads: set[int]) -> int:
    """The next instruction of the block behind which one stalls; -1: its own result needs that.

    So it is where one behind `at` has a result that is soon needed. Who needs a predicate is not
    known.
    """
    written = 0
    for number in range(at + 1, len(instructions)):
        result, _ = registers(instructions[number])
        if not result or number + 1 in heads:
            return -1
        written |= result
        cycles = _stall(instructions[number].word)
        if cycles > 1:
            break
    for following in range(number + 1, len(instructions)):
        if following in heads:
            break
        if written & _named(instructions[following]):
            return -1
        if cycles >= SASS_ARITHMETIC_AFTER:
            break
        cycles += _stall(instructions[following].word)
    return number


def waits_enough(instructions: list[Instruction], assigned: list[Assignment], gone: int) -> bool:
    """Whether on every path what has to wait for a barrier of the input waits for the new one.

    An instruction has to wait if it names the registers that the barrier stands for, unless it did
    without in the input, or runs behind operands in their order.

    Args:
        gone: how many of the first barriers need no wait.
    """
    code = Code(instructions)
    stops: list[list[int]] = [[] for _ in range(SASS_BARRIERS)]
    for at, place in enumerate(code.places):
        wait = assigned[place][2]
        for number in range(SASS_BARRIERS):
            if wait >> number & 1:
                stops[number].append(at)
    for life in set_barriers(code)[gone:]:
        write, read, _ = assigned[code.places[life.at]]
        new = write if life.is_result else read
        if new == SASS_NO_BARRIER:
            return False
        region, reached = code.walk(life.at, listed(stops[new]))
        is_known = not life.is_result or not code.has_unknown_users(life) or life.is_unused
        risky = code.overtaking(life) if is_known else _every
        safe = Region((*life.there.pieces(), *((at, at + 1) for at in reached)))
        lost = [at for at in region.chosen(sorted(life.over)) if risky(at) == at]
        if set(lost) - set(reached):
            return False
        find = without(risky, safe)
        for first, beyond in region.pieces():
            if safe.gap_behind(first) < beyond and find(first) < beyond:
                return False
    return True


def _every(at: int) -> int:
    """Stops at every instruction."""
    return at


def _unknown(opcodes: set[int]) -> str:
    names = ", ".join(NAMES.get(opcode, f"{opcode:#05x}") for opcode in sorted(opcodes))
    return f"operands are not known: {names}"


def _uses_stack(code: bytes | bytearray) -> tuple[bool, set[int]]:
    """Whether an instruction reads R1, or code outside of the kernel can run.

    Most code does one of both, so a look at one byte of every instruction comes first.

    Returns:
        whether it does; opcodes whose operands are not known and that have the number of R1 in a
        place where it can be a register.
    """
    unknown: set[int] = set()
    for opcode in OUTSIDE:
        first, second = opcode.to_bytes(2, "little")
        for at in _with_byte(code, 0, first):
            if code[at + 1] & _SECOND_BYTE == second:
                return True, unknown
    for place, number in product(_OPERANDS, _NAMING_STACK):
        for at in _with_byte(code, place, number):
            word = int.from_bytes(code[at : at + SASS_BYTES], "little")
            instruction = Instruction(word, at // SASS_BYTES)
            if not at or not may_read(instruction, SASS_STACK_REGISTER):
                continue
            if instruction.opcode in OPERANDS:
                return True, unknown
            unknown.add(instruction.opcode)
    return False, unknown


def _with_byte(code: bytes | bytearray, place: int, value: int) -> Iterator[int]:
    """Offsets of instructions that have a value in one of their bytes."""
    column = bytes(code[place::SASS_BYTES])
    at = column.find(value)
    while at >= 0:
        yield at * SASS_BYTES
        at = column.find(value, at + 1)
