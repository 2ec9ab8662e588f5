"""Control flow of SASS code: what an instruction does to barriers, and where it leads.

Where a branch or a push of divergent code leads is a signed distance, counted from the next
instruction. That of a branch is cut in two pieces. An instruction names barriers of the scoreboard:
the one that it sets for its result, the one that it sets until its operands are read, and a mask of
those that it waits for. The fields and the opcodes stand in `ksy/tables/sass.yaml`.
"""

from __future__ import annotations

from types import MappingProxyType

from cubinspec_generated.codes_sass import (
    SASS_ADDRESS_DISTANCE_MASK,
    SASS_ADDRESS_DISTANCE_SHIFT,
    SASS_ALWAYS,
    SASS_BRA,
    SASS_BRANCH_CONDITION_MASK,
    SASS_BRANCH_CONDITION_SHIFT,
    SASS_BRANCH_UNIFORM_MASK,
    SASS_BSSY,
    SASS_BSYNC,
    SASS_BYTES,
    SASS_DISTANCE_HIGH_MASK,
    SASS_DISTANCE_HIGH_SHIFT,
    SASS_DISTANCE_LOW_MASK,
    SASS_DISTANCE_LOW_SHIFT,
    SASS_DISTANCE_UNIT,
    SASS_ENDCOLLECTIVE,
    SASS_EXIT,
    SASS_FMUL2,
    SASS_GUARD_MASK,
    SASS_GUARD_SHIFT,
    SASS_IS_EXCLUSIVE,
    SASS_LEPC,
    SASS_NO_CONDITION,
    SASS_NO_PREDICATE,
    SASS_OPCODE_MASK,
    SASS_PUSH_DISTANCE_MASK,
    SASS_PUSH_DISTANCE_SHIFT,
    SASS_READ_BARRIER_MASK,
    SASS_READ_BARRIER_SHIFT,
    SASS_RESULT_PREDICATE_MASK,
    SASS_RESULT_PREDICATE_SHIFT,
    SASS_SCOREBOARD_MASK,
    SASS_STALL_MASK,
    SASS_STALL_SHIFT,
    SASS_UNSCHEDULED_STALL,
    SASS_UVIMNMX,
    SASS_WAIT_MASK,
    SASS_WAIT_SHIFT,
    SASS_WARPSYNC_COLLECTIVE,
    SASS_WRITE_BARRIER_MASK,
    SASS_WRITE_BARRIER_SHIFT,
)
from cubinspec_generated.tables.sass import CALL, ENDS_BLOCK, THROUGH_TABLE, WAITS_FOR_ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    #: Number of a jump through a table -> numbers of the instructions that it leads to.
    Tables = Mapping[int, Sequence[int]]

#: Code without jumps through tables, or of which it is not known where they lead.
NO_TABLES: Tables = MappingProxyType({})
#: What a branch tests and what its guard is, when it is always taken.
_TESTS = SASS_GUARD_MASK | SASS_BRANCH_UNIFORM_MASK | SASS_BRANCH_CONDITION_MASK
_TESTS_NOTHING = SASS_ALWAYS << SASS_GUARD_SHIFT | SASS_NO_CONDITION << SASS_BRANCH_CONDITION_SHIFT
_ENDS = THROUGH_TABLE | {SASS_EXIT}
_ENDS_BLOCK = ENDS_BLOCK | {SASS_EXIT, SASS_BSYNC}
#: Bits of an instruction without its guard and without those that say when it runs.
MEANING = (1 << SASS_STALL_SHIFT) - 1 & ~SASS_GUARD_MASK
#: Stalls in code without optimisation.
_UNSCHEDULED = (0, SASS_UNSCHEDULED_STALL << SASS_STALL_SHIFT)
#: Mask of all barriers.
ALL_BARRIERS = SASS_WAIT_MASK >> SASS_WAIT_SHIFT
#: Start and factor of the hash FNV-1a, the bytes it is made of, and the places in a set.
_HASH_START, _HASH_FACTOR = 0x811C9DC5, 0x01000193  # not a spec number: those of FNV-1a
_HASH_BYTES, _PLACES = 4, 8
#: Number of bits of the lower piece of a distance.
_LOW_BITS = (SASS_DISTANCE_LOW_MASK >> SASS_DISTANCE_LOW_SHIFT).bit_length()
#: The highest bits of distances, which are their signs.
_SIGN = 1 << SASS_DISTANCE_HIGH_MASK.bit_length() - SASS_DISTANCE_HIGH_SHIFT + _LOW_BITS - 1
_ADDRESS_SIGN = 1 << SASS_ADDRESS_DISTANCE_MASK.bit_length() - SASS_ADDRESS_DISTANCE_SHIFT - 1
_PUSH_SIGN = 1 << SASS_PUSH_DISTANCE_MASK.bit_length() - SASS_PUSH_DISTANCE_SHIFT - 1


class Instruction:
    """One instruction.

    Attributes:
        word: its 128 bits.
        opcode: its low nine bits, which do not tell the kinds of operands; FMUL2 has a number of
            its own.
        write: the barrier that it sets for its result.
        read: the barrier that it sets until its operands are read.
        wait: mask of the barriers that it waits for.
        waits_for_all: whether it waits for all of them, which `wait` leaves out: that ends no use
            of a barrier (rule F8).
        target: number of the instruction that it jumps to, or where divergent code joins; -1: none.
        table: numbers of the instructions that a jump through a table leads to; empty: not known.
        goes_on: whether the next instruction can follow it.
    """

    __slots__ = (
        "goes_on",
        "opcode",
        "read",
        "table",
        "target",
        "wait",
        "waits_for_all",
        "word",
        "write",
    )

    def __init__(self, word: int, number: int) -> None:
        self.word: int = word
        opcode = _opcode(word)
        self.opcode: int = opcode
        self.write: int = (word & SASS_WRITE_BARRIER_MASK) >> SASS_WRITE_BARRIER_SHIFT
        self.read: int = (word & SASS_READ_BARRIER_MASK) >> SASS_READ_BARRIER_SHIFT
        wait = (word & SASS_WAIT_MASK) >> SASS_WAIT_SHIFT
        self.waits_for_all: bool = wait == ALL_BARRIERS and opcode in WAITS_FOR_ALL
        self.wait: int = 0 if self.waits_for_all else wait
        self.target: int = -1
        self.table: Sequence[int] = ()
        self.goes_on: bool = True
        if opcode == SASS_BRA:
            self.target = target_of(word, number)
            self.goes_on = word & _TESTS != _TESTS_NOTHING
        elif opcode == SASS_BSSY:
            self.target = target_of(word, number)
        elif opcode in _ENDS:
            self.goes_on = (word & SASS_GUARD_MASK) >> SASS_GUARD_SHIFT != SASS_ALWAYS

    def sets(self, number: int) -> bool:
        """Whether it sets a barrier."""
        return number in (self.read, self.write)


def is_unscheduled(word: int) -> bool:
    """Whether an instruction has a stall that only code without optimisation has.

    Before CUDA 13.3 that is the longest in every instruction, then none (rule K30).
    """
    return word & SASS_STALL_MASK in _UNSCHEDULED


def _opcode(word: int) -> int:
    """The number of an instruction in the table: FMUL2 has the opcode of UVIMNMX."""
    opcode = word & SASS_OPCODE_MASK
    if opcode == SASS_UVIMNMX:
        predicate = (word & SASS_RESULT_PREDICATE_MASK) >> SASS_RESULT_PREDICATE_SHIFT
        return opcode if predicate == SASS_NO_PREDICATE else SASS_FMUL2
    return opcode


def decode(code: bytes | bytearray, tables: Tables = NO_TABLES) -> list[Instruction]:
    """The instructions of a function."""
    found = [Instruction(word, number) for number, word in enumerate(words_of(code))]
    for number, targets in tables.items():
        if number < len(found) and found[number].opcode in THROUGH_TABLE:
            found[number].table = [to for to in targets if to < len(found)]
    return found


def jumps_through_tables(code: bytes | bytearray) -> bool:
    """Whether a function jumps through a table."""
    # A look at one byte of every instruction is enough for most functions.
    first_bytes = bytes(code[::SASS_BYTES])
    if not any(opcode.to_bytes(2, "little")[0] in first_bytes for opcode in THROUGH_TABLE):
        return False
    return any(word & SASS_OPCODE_MASK in THROUGH_TABLE for word in words_of(code))


def words_of(code: bytes | bytearray) -> list[int]:
    """The instructions of a function as numbers."""
    return [
        int.from_bytes(code[at : at + SASS_BYTES], "little")
        for at in range(0, len(code), SASS_BYTES)
    ]


def encode(words: Iterable[int]) -> bytes:
    """The bytes of instructions."""
    return b"".join(word.to_bytes(SASS_BYTES, "little") for word in words)


def with_barriers(word: int, write: int, read: int, wait: int) -> int:
    """An instruction that sets and waits for other barriers."""
    return (
        word & ~SASS_SCOREBOARD_MASK
        | write << SASS_WRITE_BARRIER_SHIFT
        | read << SASS_READ_BARRIER_SHIFT
        | wait << SASS_WAIT_SHIFT
    )


def target_of(word: int, number: int) -> int:
    """The number of the instruction that a branch, a push or LEPC, instruction `number`, names."""
    if word & SASS_OPCODE_MASK == SASS_LEPC:
        distance = (word & SASS_ADDRESS_DISTANCE_MASK) >> SASS_ADDRESS_DISTANCE_SHIFT
        return number + 1 + ((distance ^ _ADDRESS_SIGN) - _ADDRESS_SIGN) // SASS_BYTES
    return number + 1 + _distance(word) * SASS_DISTANCE_UNIT // SASS_BYTES


def with_target(word: int, number: int, target: int) -> int:
    """A branch, a push or LEPC, as instruction `number`, that leads to another instruction."""
    if word & SASS_OPCODE_MASK == SASS_LEPC:
        distance = (target - number - 1) * SASS_BYTES
        return _with(word, SASS_ADDRESS_DISTANCE_MASK, distance << SASS_ADDRESS_DISTANCE_SHIFT)
    distance = (target - number - 1) * SASS_BYTES // SASS_DISTANCE_UNIT
    if word & SASS_OPCODE_MASK == SASS_BSSY:
        return _with(word, SASS_PUSH_DISTANCE_MASK, distance << SASS_PUSH_DISTANCE_SHIFT)
    word = _with(word, SASS_DISTANCE_LOW_MASK, distance << SASS_DISTANCE_LOW_SHIFT)
    upper = distance >> _LOW_BITS << SASS_DISTANCE_HIGH_SHIFT
    return _with(word, SASS_DISTANCE_HIGH_MASK, upper)


def followers(instructions: list[Instruction]) -> list[list[int]]:
    """For every instruction the numbers of those that can follow it.

    A jump through a table that is not known is assumed to lead to all instructions that the one in
    front does not lead to.
    """
    count = len(instructions)
    apart = [at for at in range(1, count) if not instructions[at - 1].goes_on]
    found = []
    for number, instruction in enumerate(instructions):
        after = [number + 1] if instruction.goes_on and number + 1 < count else []
        if instruction.opcode == SASS_BRA and 0 <= instruction.target < count:
            after.append(instruction.target)
        elif instruction.opcode in THROUGH_TABLE:
            after += instruction.table or apart
        found.append(list(dict.fromkeys(after)))
    return found


def _with(word: int, mask: int, bits: int) -> int:
    """An instruction with other bits in one field."""
    return word & ~mask | bits & mask


def blocks(instructions: list[Instruction], after: list[list[int]]) -> list[int]:
    """The numbers of instructions that begin a block.

    A block also ends in front of a call, behind an EXIT that not all threads take, behind
    WARPSYNC.COLLECTIVE and WARPSYNC.EXCLUSIVE, and where divergent code comes together.
    """
    heads = {0, *(to for at, found in enumerate(after) for to in found if to != at + 1)}
    heads.update(
        at + 1
        for at in range(len(after) - 1)
        if after[at] != [at + 1] or _ends_block(instructions[at])
    )
    heads.update(at for at, one in enumerate(instructions) if one.opcode in CALL)
    heads.update(start + 1 for start in collectives(instructions))
    return sorted(heads)


def _ends_block(one: Instruction) -> bool:
    """Whether a block ends behind an instruction, though code goes on."""
    is_exclusive = one.opcode == SASS_WARPSYNC_COLLECTIVE and one.word & SASS_IS_EXCLUSIVE
    return one.opcode in _ENDS_BLOCK or bool(is_exclusive)


def collectives(instructions: list[Instruction]) -> dict[int, int]:
    """Every WARPSYNC.COLLECTIVE and the ENDCOLLECTIVE behind it."""
    found = {}
    start = -1
    for at, one in enumerate(instructions):
        if one.opcode == SASS_WARPSYNC_COLLECTIVE:
            start = at
        elif one.opcode == SASS_ENDCOLLECTIVE and start >= 0:
            found[start] = at
            start = -1
    return found


def visiting_order(heads: list[int], after: list[list[int]]) -> list[int]:
    """The blocks in the order in which the finalizer goes through them.

    That is the reverse postorder of a depth-first search. The successors of a block are in a hash
    set, so the search meets them in the order of `_place_in_set` (rule F8).

    Args:
        heads: the first instructions of the blocks.
    """
    number = {head: index for index, head in enumerate(heads)}
    ends = [*heads[1:], len(after)]
    follows = [sorted((number[to] for to in after[end - 1]), key=_place_in_set) for end in ends]
    left: list[int] = []
    seen = {0}
    open_blocks = [(0, iter(follows[0]))]
    while open_blocks:
        block, rest = open_blocks[-1]
        to = next((to for to in rest if to not in seen), None)
        if to is None:
            left.append(block)
            open_blocks.pop()
        else:
            seen.add(to)
            open_blocks.append((to, iter(follows[to])))
    unreached = [block for block in range(len(heads)) if block not in seen]
    return [*reversed(left), *unreached]


def _place_in_set(block: int) -> int:
    """The place of a block's number in a set with eight places.

    It is the hash FNV-1a of the four bytes of the number. That was found with a branch behind 0 to
    33 others: which of its two ways comes first repeats after eight.
    """
    value = _HASH_START
    for byte in block.to_bytes(_HASH_BYTES, "little"):
        value = (value ^ byte) * _HASH_FACTOR
    return value % _PLACES


def _distance(word: int) -> int:
    """The signed distance of a branch or a push."""
    if word & SASS_OPCODE_MASK == SASS_BSSY:
        distance, sign = (word & SASS_PUSH_DISTANCE_MASK) >> SASS_PUSH_DISTANCE_SHIFT, _PUSH_SIGN
    else:
        low = (word & SASS_DISTANCE_LOW_MASK) >> SASS_DISTANCE_LOW_SHIFT
        high = (word & SASS_DISTANCE_HIGH_MASK) >> SASS_DISTANCE_HIGH_SHIFT
        distance, sign = high << _LOW_BITS | low, _SIGN
    return (distance ^ sign) - sign
