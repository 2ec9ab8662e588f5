"""Which registers an instruction names.

Registers are bytes of an instruction: the result in byte 2, operands A, B and C in bytes 3, 4 and
8. Bits 9 to 11 are the form: the kind of B, or of C, which is then in the place of B and B in that
of C. Opcodes are the low nine bits. What is said here are the names and operands in nvdisasm's text
of 7,900 instructions with 215 opcodes and forms, out of real programs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cubinspec_writer.linker.finalizer.flow import Instruction

#: Operands that are registers -> opcodes of arithmetic, whose B and C can be something else.
_ARITHMETIC = {
    "": (0x1C, 0x9C),
    "d": (0x03, 0x05, 0x06, 0x83, 0x86),
    "a": (0x04,),
    "db": (
        *(0x02, 0x13, 0x30, 0x45, 0x82, 0xBD, 0xBF, *range(0x100, 0x102), *range(0x105, 0x10A)),
        *range(0x110, 0x114),
    ),
    "da": (0xCA,),
    "ab": (0x0B, 0x0C, 0x2A, 0x8C, 0x102),
    "dab": (*(0x07, 0x08, 0x09, 0x0A, 0x17, 0x1A, 0x1B, 0x20, 0x21, 0x28, 0x36, 0x3E, 0x48, 0x87),),
    "dac": (0x29,),
    "dabc": (
        *(0x0F, 0x10, 0x11, 0x12, 0x16, 0x19, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2B, 0x31, 0x35),
        *(0x37, 0x3C, 0x46, 0x90, 0x91, 0x92, 0x96, 0x97, 0x99, 0xA4, 0xA5),
    ),
}
#: Operands that are registers -> opcodes of everything else; the form does not matter.
_OTHERS = {
    "": (
        *(0x118, 0x11B, 0x11C, 0x11D, 0x141, 0x142, 0x144, 0x145, 0x146, 0x147, 0x14D, 0x15C),
        *(0x18F, 0x192, 0x1AB, 0x1B0, 0x1C6, 0x1C7, 0x158),
    ),
    "d": (0x119, 0x153, 0x155, 0x1C3),
    "a": (0x143, 0x148, 0x149, 0x150, 0x1AA),
    "b": (0x152, 0x156, 0x15D),
    "da": (0x180, 0x181, 0x182, 0x183, 0x184, 0x1A1, 0x199, 0x1AC, 0x1C4, 0x1AE),
    "ab": (0x185, 0x186, 0x187, 0x188, 0x1B2, 0x19D),
    "dab": (0x160, 0x18A, 0x18C, 0x1A3, 0x1A7, 0x1A8),
    "dabc": (0x189, 0x18B, 0x18D),
}
_BYTES = {"d": 2, "a": 3, "b": 4, "c": 8}
#: Opcodes whose registers are uniform ones, which are counted by themselves.
_UNIFORM = frozenset((*range(0x80, 0xC8), 0x158, 0x1AC, 0x1B2))
#: The form in which B is a register in its place, and those in which C is; else B is there.
_B_IN_PLACE = 1
_C_IN_PLACE = (1, 4, 5, 6)
_UNIFORM_FORMS = (6, 7)


def _by_opcode(table: Mapping[str, Iterable[int]]) -> dict[int, str]:
    return {opcode: operands for operands, opcodes in table.items() for opcode in opcodes}


_ROLES = (_by_opcode(_ARITHMETIC), _by_opcode(_OTHERS))


#: Arithmetic on 64 bits: DADD and its kin, IADD.64, UIADD3.64; IMAD.WIDE, of A and B with 32.
_DOUBLE = frozenset((0x28, 0x29, 0x2A, 0x2B, 0x35, 0x97))
_WIDE = frozenset((0x25, 0xA5))
#: F2F, F2I, I2F, FRND of 64 bits: the sizes of the result and of B are in bits 75 and 84.
_CONVERT, _RESULT_SIZE, _B_SIZE, _SIZE_64 = range(0x110, 0x114), 75, 84, 3
_MATRIX = frozenset((0x37, 0x3C))
#: Registers for each size of a load or a store, which is in bits 73 to 75.
_SIZES, _SIZE = (1, 1, 1, 1, 1, 2, 4, 8), 73
#: Loads and stores -> registers of the result, of A, B and C; 0 stands for the size. R2UR and its
#: kin write uniform registers. C of loads and stores is uniform, and so is B of LD and LDG.
_MEMORY = {
    0x119: (1, 0, 0, 0),
    0x153: (1, 0, 0, 0),
    0x155: (1, 0, 0, 0),
    0x180: (-1, 2, 2, 0),
    0x181: (-1, 2, 2, 0),
    0x182: (-1, 1, 0, 0),
    0x183: (-1, 1, 0, 0),
    0x184: (-1, 1, 0, 1),
    0x185: (0, 2, -1, 2),
    0x186: (0, 2, -1, 2),
    0x187: (0, 1, -1, 0),
    0x188: (0, 1, -1, 1),
    0x18A: (2, 2, 2, 2),
    0x1A3: (1, 2, 1, 2),
    0x1A8: (2, 2, 2, 2),
    0x1A1: (1, 2, 0, 0),
    0x160: (4, 4, 4, 0),
}
#: LDS and STS, which have a uniform register where bit 91 is set.
_SHARED, _HAS_UNIFORM = frozenset((0x184, 0x188)), 91
_UNIFORM_B = frozenset((0x180, 0x181))
_CS2R, _R2UR, _S2UR, _LDCU, _REDUX, _SHFL = 0x05, 0xCA, 0x1C3, 0x1AC, 0x1C4, 0x189
#: Shuffles, tests and atomic operations: bits 81 to 83 are a predicate that they write.
_PREDICATES = frozenset(
    (_SHFL, 0x102, 0x2A, 0x18A, 0x18B, 0x18C, 0x18D, 0x1A8, 0x1A3, 0x1A7, 0x1AA)
)
_FIRST_UNIFORM, _NONE, _TRUE = 256, 255, 7


def registers(instruction: Instruction) -> tuple[int, int]:
    """Masks of the registers that an instruction writes and reads.

    Uniform registers begin at bit 256; predicates are left out. Where a size is not known, more
    registers are in the masks.
    """
    word, opcode = instruction.word, instruction.opcode
    if opcode in _ROLES[0]:
        written, read = _arithmetic(word, opcode)
    else:
        written, read = _other(word, opcode)
    return written, read


def writes_predicate(instruction: Instruction) -> bool:
    """Whether something that takes long writes a predicate, too."""
    return instruction.opcode in _PREDICATES and instruction.word >> 81 & 7 != _TRUE


def _span(register: int, count: int, first: int = 0) -> int:
    """A mask of neighbours; RZ and URZ are none."""
    return 0 if register == _NONE else (1 << count) - 1 << register + first


def _arithmetic(word: int, opcode: int) -> tuple[int, int]:
    roles = _ROLES[0][opcode]
    file = _FIRST_UNIFORM if opcode in _UNIFORM else 0
    d = a = b = c = 1
    if opcode in _DOUBLE:
        d = a = b = c = 2
    elif opcode in _WIDE:
        d = c = 2
    elif opcode in _MATRIX:
        d = a = c = 4
        b = 2
    elif opcode in _CONVERT:
        d = 2 if word >> _RESULT_SIZE & 3 == _SIZE_64 else 1
        b = 2 if word >> _B_SIZE & 3 == _SIZE_64 else 1
    elif opcode == _CS2R:
        d = 2
    written = read = 0
    if "d" in roles:
        written = _span(word >> 16 & 0xFF, d, _FIRST_UNIFORM if opcode == _R2UR else file)
    if "a" in roles and opcode != _R2UR:
        read = _span(word >> 24 & 0xFF, a, file)
    elif "a" in roles:
        read = _span(word >> 24 & 0xFF, a)
    form = word >> 9 & 7
    has_b, has_c = "b" in roles, "c" in roles
    if form == _B_IN_PLACE:
        read |= _span(word >> 32 & 0xFF, b, file) if has_b else 0
    elif form in _UNIFORM_FORMS:
        read |= _span(word >> 32 & 0xFF, max(b, c), _FIRST_UNIFORM)
    if form in _C_IN_PLACE:
        read |= _span(word >> 64 & 0xFF, c, file) if has_c else 0
    elif has_b and has_c:
        read |= _span(word >> 64 & 0xFF, b, file)
    return written, read


def _other(word: int, opcode: int) -> tuple[int, int]:
    d, a, b, c = (word >> bit & 0xFF for bit in (16, 24, 32, 64))
    if opcode in (_S2UR, _REDUX):
        return _span(d, 1, _FIRST_UNIFORM), _span(a, 1) if opcode == _REDUX else 0
    size = _SIZES[word >> _SIZE & 7]
    if opcode == _LDCU:
        return _span(d, size, _FIRST_UNIFORM), _span(a, 1, _FIRST_UNIFORM)
    if opcode == _SHFL:
        form = word >> 9 & 7
        read = _span(b, 1) if form in (1, 2) else 0
        return _span(d, 1), read | _span(a, 1) | (_span(c, 1) if form in (1, 4) else 0)
    counts = _MEMORY.get(opcode)
    if counts is not None:
        of_d, of_a, of_b, of_c = (size if count < 0 else count for count in counts)
        if opcode in _SHARED and not word >> _HAS_UNIFORM & 1:
            of_c = 0
        read = _span(a, of_a) | _span(c, of_c, _FIRST_UNIFORM)
        read |= _span(b, of_b, _FIRST_UNIFORM if opcode in _UNIFORM_B else 0)
        return _span(d, of_d), read
    roles = _ROLES[1].get(opcode, "dabc")
    file = _FIRST_UNIFORM if opcode in _UNIFORM else 0
    read = 0
    for role, register in zip("abc", (a, b, c), strict=True):
        if role in roles:
            read |= _span(register, 2, file)
    return _span(d, 4, file) if "d" in roles else 0, read


def may_read(instruction: Instruction, register: int) -> bool:
    """Whether an instruction reads a register (not a uniform one), or may do so.

    An opcode that is not known may read all of its bytes.
    """
    word, opcode = instruction.word, instruction.opcode
    fields = (word >> 24 & 0xFF, word >> 32 & 0xFF, word >> 64 & 0xFF)
    if register not in fields or opcode in _UNIFORM:
        return False
    arithmetic, others = _ROLES
    places = others.get(opcode)
    if places is not None:
        return any(word >> 8 * _BYTES[place] & 0xFF == register for place in places.strip("d"))
    places = arithmetic.get(opcode)
    if places is None:
        return True
    a, b, c = fields
    form = word >> 9 & 7
    if "a" in places and a == register:
        return True
    if b == register and form == _B_IN_PLACE and "b" in places:
        return True
    if c != register:
        return False
    return "c" in places if form in _C_IN_PLACE else "b" in places and "c" in places
