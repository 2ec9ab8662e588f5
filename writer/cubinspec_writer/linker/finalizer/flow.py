"""Control flow of SASS code: what an instruction does to barriers, and where it leads.

An instruction has 16 bytes; its opcode is in bits 0 to 8. Where a branch or a push of divergent
code leads is a signed distance in words of 4 bytes, counted from the next instruction. That of a
branch is cut in two pieces, bits 16 to 23 and 34 to 81, that of a push is in bits 34 to 65. Bits
110 to 121 name barriers of the scoreboard: the one
that the instruction sets for its result, the one that it sets until its operands are read, and a
mask of those that it waits for. nvdisasm's text for the programs of the link cases tells the fields
and names of opcodes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

UNIT = 16
"""Bytes of an instruction."""
BARRIERS = 6
NO_BARRIER = 7

BRANCH, EXIT, PUSH, NOP = 0x147, 0x14D, 0x145, 0x118
BRANCHES_INDIRECT = (0x149, 0x158)
"""BRX and BRXU: jumps through a table."""
POPS = (0x141, 0x142)
"""BSYNC and BREAK: divergent code comes together, or leaves."""

#: First bits of the fields: barrier for the result, barrier for the operands, mask of waits.
_WRITE, _READ, _WAIT = 110, 113, 116
_ALWAYS = 7
#: Pieces of a distance: first bit and width.
_LOW, _LOW_WIDTH, _HIGH, _HIGH_WIDTH = 16, 8, 34, 48
_PUSH_WIDTH = 32
_WORDS = 4


class Instruction:
    """One instruction.

    Attributes:
        word: its 128 bits.
        opcode: its low nine bits, which do not tell the kinds of operands.
        write: the barrier that it sets for its result.
        read: the barrier that it sets until its operands are read.
        wait: mask of the barriers that it waits for.
        target: number of the instruction that it jumps to, or where divergent code joins; -1: none.
        goes_on: whether the next instruction can follow it.
    """

    __slots__ = ("goes_on", "opcode", "read", "target", "wait", "word", "write")

    def __init__(self, word: int, number: int) -> None:
        self.word = word
        self.opcode = opcode = word & 0x1FF
        self.write = word >> _WRITE & 7
        self.read = word >> _READ & 7
        self.wait = word >> _WAIT & 63
        self.target = -1
        if opcode in (BRANCH, PUSH):
            self.target = target_of(word, number)
        is_always = word >> 12 & 15 == _ALWAYS
        # A branch also has a predicate, and one that counts uniform ones, as operands.
        is_plain = not word >> 24 & 0xFF and word >> 82 & 0x3FFF == 0xE0
        ends = opcode in (EXIT, *BRANCHES_INDIRECT) or (opcode == BRANCH and is_plain)
        self.goes_on = not (is_always and ends)


def decode(code: bytes | bytearray) -> list[Instruction]:
    """The instructions of a function."""
    return [Instruction(word, number) for number, word in enumerate(words_of(code))]


def words_of(code: bytes | bytearray) -> list[int]:
    """The instructions of a function as numbers."""
    return [int.from_bytes(code[at : at + UNIT], "little") for at in range(0, len(code), UNIT)]


def encode(words: Iterable[int]) -> bytes:
    """The bytes of instructions."""
    return b"".join(word.to_bytes(UNIT, "little") for word in words)


def with_barriers(word: int, write: int, read: int, wait: int) -> int:
    """An instruction that sets and waits for other barriers."""
    return word & ~(0xFFF << _WRITE) | write << _WRITE | read << _READ | wait << _WAIT


def target_of(word: int, number: int) -> int:
    """The number of the instruction that a branch or a push, as instruction `number`, names."""
    return number + 1 + _distance(word) * _WORDS // UNIT


def with_target(word: int, number: int, target: int) -> int:
    """A branch or a push, as instruction `number`, that leads to another instruction."""
    distance = (target - number - 1) * UNIT // _WORDS
    if word & 0x1FF == PUSH:
        mask = (1 << _PUSH_WIDTH) - 1
        return word & ~(mask << _HIGH) | (distance & mask) << _HIGH
    distance &= (1 << _LOW_WIDTH + _HIGH_WIDTH) - 1
    low, high = (1 << _LOW_WIDTH) - 1, (1 << _HIGH_WIDTH) - 1
    word &= ~(low << _LOW | high << _HIGH)
    return word | (distance & low) << _LOW | distance >> _LOW_WIDTH << _HIGH


def followers(instructions: list[Instruction]) -> list[list[int]]:
    """For every instruction the numbers of those that can follow it.

    Every jump through a table is taken to lead to all places that no instruction falls into.
    """
    count = len(instructions)
    apart = [at for at in range(1, count) if not instructions[at - 1].goes_on]
    found = []
    for number, instruction in enumerate(instructions):
        after = [number + 1] if instruction.goes_on and number + 1 < count else []
        if instruction.opcode == BRANCH and 0 <= instruction.target < count:
            after.append(instruction.target)
        elif instruction.opcode in BRANCHES_INDIRECT:
            after += apart
        found.append(after)
    return found


def _distance(word: int) -> int:
    """The signed distance of a branch or a push."""
    if word & 0x1FF == PUSH:
        width = _PUSH_WIDTH
        distance = word >> _HIGH & (1 << width) - 1
    else:
        width = _LOW_WIDTH + _HIGH_WIDTH
        distance = word >> _LOW & (1 << _LOW_WIDTH) - 1
        distance |= (word >> _HIGH & (1 << _HIGH_WIDTH) - 1) << _LOW_WIDTH
    return distance - (distance >> width - 1 << width)
