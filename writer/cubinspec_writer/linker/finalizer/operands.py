"""Which registers an instruction names, as `ksy/tables/sass.yaml` says.

The form of arithmetic tells what stands in the places of the operands B and C: both in their own
places, or C in that of B and B in that of C.
"""

from __future__ import annotations

from functools import cache

from cubinspec_generated.codes_sass import (
    SASS_BRA,
    SASS_BRANCH_IS_UNIFORM,
    SASS_BRANCH_UNIFORM_NUMBER_MASK,
    SASS_BRANCH_UNIFORM_NUMBER_SHIFT,
    SASS_DSETP,
    SASS_EXIT,
    SASS_EXIT_OPERAND_MASK,
    SASS_EXIT_OPERAND_SHIFT,
    SASS_FORM_MASK,
    SASS_FORM_SHIFT,
    SASS_GUARD_MASK,
    SASS_GUARD_NOT,
    SASS_GUARD_SHIFT,
    SASS_IS_WIDE,
    SASS_LONG_PREDICATE_AFTER,
    SASS_NO_BARRIER,
    SASS_NO_PREDICATE,
    SASS_PREDICATE_AFTER,
    SASS_REGISTER_A_SHIFT,
    SASS_REGISTER_B_SHIFT,
    SASS_REGISTER_C_SHIFT,
    SASS_REGISTER_D_MASK,
    SASS_REGISTER_D_SHIFT,
    SASS_REGISTER_G_SHIFT,
    SASS_REGISTER_H_SHIFT,
    SASS_RESULT_PREDICATE_MASK,
    SASS_RESULT_PREDICATE_SHIFT,
    SASS_SECOND_PREDICATE_MASK,
    SASS_SECOND_PREDICATE_SHIFT,
    SASS_SUM_IS_WIDE,
    SASS_UNIFORM_PREDICATE_AFTER,
    SASS_ZERO_REGISTER,
)
from cubinspec_generated.rows import Operand
from cubinspec_generated.tables.sass import (
    ALL_PREDICATES,
    ANY_OPERANDS,
    BY_FORM,
    OPERANDS,
    PLACES,
    PREDICATE,
    SOON_PREDICATE,
    TWO_PREDICATES,
    UNIFORM,
    UNIFORM_PREDICATE,
    WIDE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_generated.rows import RegisterCount
    from cubinspec_writer.linker.finalizer.flow import Instruction

#: The result, and a second one.
_RESULT, _MORE_RESULT = _RESULTS = ("d", "e")
#: Registers of an operand of 64 bits.
_PAIR = 2
#: Operand -> first bit of its register's number.
_SHIFTS = {
    _RESULT: SASS_REGISTER_D_SHIFT,
    "a": SASS_REGISTER_A_SHIFT,
    "b": SASS_REGISTER_B_SHIFT,
    "c": SASS_REGISTER_C_SHIFT,
    _MORE_RESULT: SASS_REGISTER_C_SHIFT,
    "f": SASS_REGISTER_D_SHIFT,
    "g": SASS_REGISTER_G_SHIFT,
    "h": SASS_REGISTER_H_SHIFT,
    "i": SASS_REGISTER_C_SHIFT,
}
_NUMBER = SASS_REGISTER_D_MASK >> SASS_REGISTER_D_SHIFT
#: Bits that tell that operands are pairs.
_PAIRS = (SASS_IS_WIDE, SASS_SUM_IS_WIDE)
#: In masks uniform registers stand behind the others.
_FIRST_UNIFORM = _NUMBER + 1
#: The mask of the first of them; a mask with one of them is no smaller.
FIRST_UNIFORM = 1 << _FIRST_UNIFORM


def registers(instruction: Instruction) -> tuple[int, int]:
    """Masks of the registers that an instruction writes and reads.

    Uniform registers begin at bit 256; predicates are left out. Where a size is not known, more
    registers are in the masks.
    """
    word = instruction.word
    written = read = 0
    for shift, operand in _places(instruction.opcode, _form(word)):
        number = word >> shift & _NUMBER
        if number == SASS_ZERO_REGISTER or (operand.flag and not word & operand.flag):
            continue
        count = operand.registers
        if operand.count is not None:
            count = _count(operand.count, word)
        first = number + _FIRST_UNIFORM if operand.is_uniform else number
        named = (1 << count) - 1 << first
        if operand.name in _RESULTS:
            written |= named
        else:
            read |= named
    return written, read


def _count(size: RegisterCount, word: int) -> int:
    """How many registers an operand has."""
    half = len(size.registers) // 2 if word & size.flag else 0
    return size.registers[half + ((word & size.mask) >> size.shift)]


def writes_predicate(instruction: Instruction) -> bool:
    """Whether something that takes long writes a predicate, too."""
    if instruction.opcode not in PREDICATE:
        return False
    predicate = (instruction.word & SASS_RESULT_PREDICATE_MASK) >> SASS_RESULT_PREDICATE_SHIFT
    return predicate != SASS_NO_PREDICATE


def predicates(instruction: Instruction) -> tuple[int, ...]:
    """The predicates that an instruction writes, or may write."""
    word, opcode = instruction.word, instruction.opcode
    if opcode in ALL_PREDICATES:
        return tuple(range(SASS_NO_PREDICATE))
    first = (word & SASS_RESULT_PREDICATE_MASK) >> SASS_RESULT_PREDICATE_SHIFT
    if opcode in TWO_PREDICATES:
        return first, (word & SASS_SECOND_PREDICATE_MASK) >> SASS_SECOND_PREDICATE_SHIFT
    return (first,) if opcode in PREDICATE or opcode in SOON_PREDICATE else ()


def asked(end: Instruction) -> list[tuple[int, bool]]:
    """The predicates that a branch or an EXIT asks, and whether they are uniform."""
    word = end.word
    found = [((word & SASS_GUARD_MASK & ~SASS_GUARD_NOT) >> SASS_GUARD_SHIFT, False)]
    if end.opcode in (SASS_BRA, SASS_EXIT):
        found.append(((word & SASS_EXIT_OPERAND_MASK) >> SASS_EXIT_OPERAND_SHIFT, False))
    if end.opcode == SASS_BRA and word & SASS_BRANCH_IS_UNIFORM:
        number = (word & SASS_BRANCH_UNIFORM_NUMBER_MASK) >> SASS_BRANCH_UNIFORM_NUMBER_SHIFT
        found.append((number, True))
    return [one for one in found if one[0] != SASS_NO_PREDICATE]


def predicate_after(instruction: Instruction, *, is_uniform: bool = False) -> int:
    """Cycles until a branch, a guard or an EXIT can ask what an instruction writes.

    Returns:
        0: a barrier tells it.
    """
    if not instruction.read == instruction.write == SASS_NO_BARRIER:
        return 0
    if is_uniform:
        return SASS_UNIFORM_PREDICATE_AFTER
    is_long = instruction.opcode == SASS_DSETP or has_pairs(instruction)
    return SASS_LONG_PREDICATE_AFTER if is_long else SASS_PREDICATE_AFTER


def writes(instruction: Instruction, predicate: int, *, is_uniform: bool) -> bool:
    """Whether an instruction writes, or may write, a predicate."""
    if not is_uniform:
        return predicate in predicates(instruction)
    first = (instruction.word & SASS_RESULT_PREDICATE_MASK) >> SASS_RESULT_PREDICATE_SHIFT
    return instruction.opcode in UNIFORM_PREDICATE and predicate == first


def has_pairs(instruction: Instruction) -> bool:
    """Whether an instruction works on pairs of registers as it does on single ones."""
    word, opcode = instruction.word, instruction.opcode
    if (opcode, _form(word)) in WIDE:
        return True
    return any(
        operand.count is not None and operand.count.mask in _PAIRS and operand.count.mask & word
        for operand in OPERANDS.get(opcode, ())
    )


def may_read(instruction: Instruction, register: int) -> bool:
    """Whether an instruction reads a register (not a uniform one), or may do so.

    An opcode that is not known may read all of its bytes. Of an operand without an exact size only
    the first register counts.
    """
    word = instruction.word
    for shift, operand in _places(instruction.opcode, _form(word)):
        if operand.name in _RESULTS or operand.is_uniform:
            continue
        count = _exact_count(instruction, operand)
        if word >> shift & _NUMBER in range(register - count + 1, register + 1):
            return True
    return False


def _exact_count(instruction: Instruction, operand: Operand) -> int:
    size = operand.count
    if size is not None:
        return _count(size, instruction.word)
    return _PAIR if (instruction.opcode, _form(instruction.word)) in WIDE else 1


def _form(word: int) -> int:
    return (word & SASS_FORM_MASK) >> SASS_FORM_SHIFT


@cache
def _places(opcode: int, form: int) -> tuple[tuple[int, Operand], ...]:
    """First bit and operand of the registers that stand in an instruction of one opcode and form.

    `b` can then stand in the place of C.
    """
    operands = OPERANDS.get(opcode)
    if operands is None:
        operands = tuple(
            Operand(o.name, o.registers, o.count, opcode in UNIFORM) for o in ANY_OPERANDS
        )
    if opcode not in BY_FORM:
        return tuple((_SHIFTS[o.name], o) for o in operands if not o.forms or form in o.forms)
    in_b, in_c = PLACES[form]
    wide = WIDE.get((opcode, form))
    if wide is not None:
        in_b = wide
        operands = tuple(Operand(o.name, _PAIR, None, o.is_uniform) for o in operands)
    found = [(_SHIFTS[o.name], o) for o in operands if o.name in (_RESULT, "a")]
    named = {o.name: o for o in operands}
    b, c = named.get("b"), named.get("c")
    first, behind = (b, c) if in_c == "c" else (c, b)
    if in_b == "uniform":
        # What has one operand only has it here, whichever it is.
        uniform = first or b or c
        count = uniform.count if uniform is not None else None
        found.append((SASS_REGISTER_B_SHIFT, Operand("b", _registers(uniform), count, True)))
    elif in_b == "b" and b is not None:
        found.append((SASS_REGISTER_B_SHIFT, b))
    if behind is not None and (behind is c or c is not None):
        found.append((SASS_REGISTER_C_SHIFT, behind))
    return tuple(found)


def _registers(operand: Operand | None) -> int:
    return operand.registers if operand is not None else 1
