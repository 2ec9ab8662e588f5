"""A plain ``.debug_frame`` for functions whose frames nobody described.

One common entry, and one entry per function that says: the frame is where it was at entry. Tools
need the section to find functions; only a debugger needs more than this.
"""

from __future__ import annotations

from struct import pack

from cubinspec_writer.build.parts import Frame, Relocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.build.parts import Function

R_CUDA_64, R_CUDA_UNUSED_CLEAR64 = 0x02, 0x49
SECTION = ".debug_frame"
_CIE_ID = (1 << 64) - 1
_DWARF64_MARK = 0xFFFFFFFF
#: version 3, no augmentation, code factor 4, data factor -4, return column unset; then the rules
#: of the CFA and of registers 0x80ff and 0x8081 as every file of ptxas has them.
_CIE_BODY = bytes.fromhex("0300047cffffffff0f0c818080280008ff8180280881808028000000")
#: the CFA is register 0x8081 plus 0; padding
_FDE_BODY = bytes.fromhex("0c8180802800000000")[:8]


def default_frame(functions: list[Function], *, relocatable: bool) -> Frame:
    """Frame data for functions in the order in which they were made."""
    data = bytearray(_entry(pack("<Q", _CIE_ID) + _CIE_BODY))
    relocations = []
    for function in functions:
        at = len(data) + 12
        if relocatable:
            relocations.append(Relocation(at, R_CUDA_64, SECTION, None))
        relocations.append(Relocation(at + 8, R_CUDA_64, function.name, None))
        if relocatable:
            relocations.append(Relocation(at + 16, R_CUDA_UNUSED_CLEAR64, function.name, 0))
        data += _entry(pack("<QQQ", 0, 0, len(function.code)) + _FDE_BODY)
    return Frame(bytes(data), relocations)


def _entry(body: bytes) -> bytes:
    return pack("<IQ", _DWARF64_MARK, len(body)) + body
