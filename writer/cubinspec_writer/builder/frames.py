"""A ``.debug_frame`` for functions whose frames the caller does not describe.

It has one common entry, and for each function an entry that says: the frame is where it was at
entry. Tools need the section to find functions; only a debugger needs more than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct, pack

from cubinspec_generated.codes_dwarf import DWARF64_MARK
from cubinspec_writer.builder.parts import Frame, Relocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.builder.parts import Function

SECTION = ".debug_frame"
_CIE_ID = (1 << 64) - 1
#: version 3, no augmentation, a code factor, data factor -4, return column unset; then the rules
#: of the CFA and of registers 0x80ff and 0x8081 as every file of ptxas has them.
_CIE_HEAD = bytes.fromhex("0300")
_CIE_BODY = bytes.fromhex("7cffffffff0f0c818080280008ff8180280881808028000000")
#: the CFA is register 0x8081 plus 0; padding
_FDE_BODY = bytes.fromhex("0c81808028000000")


@dataclass(frozen=True, slots=True)
class _Half:
    """What differs between ``.debug_frame`` and its Mercury copy.

    Attributes:
        factor: bytes that one unit of code stands for.
        pointer, location, length: relocation types of the CIE's offset, of the start of the code
            and of its length (cleared when the function is not linked).
    """

    factor: int
    pointer: str
    location: str
    length: str


_SASS = _Half(4, "R_CUDA_64", "R_CUDA_64", "R_CUDA_UNUSED_CLEAR64")
_MERCURY = _Half(1, "R_MERCURY_ABS64", "R_MERCURY_ABS_PROG_REL64", "R_MERCURY_UNUSED_CLEAR64")


def default_frame(functions: list[Function], *, relocatable: bool, mercury: bool = False) -> Frame:
    """Frame data for functions in the order in which they were made.

    Args:
        mercury: for the capsules instead of the code; nvlink crashes on a file without it.
    """
    half = _MERCURY if mercury else _SASS
    zero = 0 if mercury else None
    cie = _CIE_HEAD + bytes((half.factor,)) + _CIE_BODY
    data = bytearray(_entry(pack("<Q", _CIE_ID) + cie))
    relocations = []
    for function in functions:
        size = len(function.code)
        if mercury and function.capsule is not None:
            size = function.capsule.size
        at = len(data) + _HEAD.size
        if relocatable:
            relocations.append(Relocation(at, half.pointer, SECTION, zero))
        relocations.append(Relocation(at + 8, half.location, function.name, zero))
        if relocatable:
            relocations.append(Relocation(at + 16, half.length, function.name, 0))
        data += _entry(pack("<QQQ", 0, 0, size) + _FDE_BODY)
    return Frame(bytes(data), relocations)


_HEAD = Struct("<IQ")


def _entry(body: bytes) -> bytes:
    return _HEAD.pack(DWARF64_MARK, len(body)) + body
