"""Arithmetic of 64 bits in code for sm_100 that is linked for sm_103, which has other units for it.

On sm_100 its results are there after a fixed time. For sm_103 the finalizer lets them set barriers
and puts NOPs between such instructions, 64 cycles in all (rule X23).
"""

from __future__ import annotations

from itertools import pairwise

from cubinspec_generated.codes_sass import (
    SASS_FAST_DOUBLES,
    SASS_FIRST_CONVERSION_64,
    SASS_LAST_CONVERSION_64,
    SASS_NO_BARRIER,
)
from cubinspec_generated.tables.sass import SLOW
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer.flow import blocks, decode, followers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.finalizer.flow import Instruction


def doubt(code: bytes | bytearray, name: str, made_for: int, target: int) -> str:
    """Why code stays as it is although the finalizer changes it; empty: it does not.

    Args:
        name: of its section.
        made_for, target: the numbers of the architectures.

    Raises:
        UnsupportedLinkError: the code needs barriers that it does not have.
    """
    if made_for != SASS_FAST_DOUBLES or target == SASS_FAST_DOUBLES:
        return ""
    instructions = decode(code)
    wide = [number for number, one in enumerate(instructions) if _is_wide(one)]
    for number in wide:
        if instructions[number].write == SASS_NO_BARRIER:
            raise UnsupportedLinkError(
                f"arithmetic of 64 bits in code for sm_{made_for} ('{name}'), which sm_{target} "
                "does in other units"
            )
    if len(wide) > 1:
        heads = frozenset(blocks(instructions, followers(instructions)))
        for first, second in pairwise(wide):
            if heads.isdisjoint(range(first + 1, second + 1)):
                return f"sm_{target} has to wait between conversions of 64 bits"
    return ""


def _is_wide(one: Instruction) -> bool:
    """Whether an instruction goes through the units for 64 bits, or for products of integers."""
    is_conversion = SASS_FIRST_CONVERSION_64 <= one.opcode <= SASS_LAST_CONVERSION_64
    return is_conversion or one.opcode in SLOW
