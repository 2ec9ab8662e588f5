"""Whether the linked code allows the finalizer's fast path (a record of `.nv.compat`).

Every input has one record for all its functions: a mask of what its code allows. The linked program
has the bits that all linked code allows. Where only some functions of an input are linked, the
answer is that of the linked ones, so their code is looked at (rule I11).

Which instructions forbid it was found by assembling some hundred kinds of single PTX instructions
for sm_100 and reading the record that ptxas writes: arithmetic in double precision, matrix products
of integers or doubles, and a comparison of a float with an immediate (rule I12).
"""

from __future__ import annotations

from cubinspec_generated.codes import FAST_PATH
from cubinspec_generated.codes_sass import (
    SASS_BYTES,
    SASS_OPCODE_MASK,
    SASS_OPERATION_MASK,
    SASS_SLOW_FSETP,
)
from cubinspec_generated.tables.sass import SLOW
from cubinspec_writer.linker.library.copies import defined_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec_writer.linker.model import InputObject


def merged_mask(inputs: Iterable[tuple[InputObject, int | None]], unrestricted: int) -> int:
    """The mask of a linked program.

    Args:
        inputs: every input with the mask of its record; None: it has no record (CUDA 12), so that
            its code says it.
        unrestricted: the mask of code that forbids nothing.
    """
    found = False
    allowed = unrestricted
    for obj, mask in inputs:
        code = [
            (row, symbol)
            for row in obj.functions
            if row.shndx and (symbol := obj.bound[row.index]) is not None
        ]
        linked = [row for row, symbol in code if symbol.live and defined_here(obj, row.index)]
        if not linked:
            continue
        found = True
        partly = mask is None or len(linked) < len(code)
        if not partly or any(_restricts(obj.sections[row.shndx].data) for row in linked):
            allowed &= ~FAST_PATH if mask is None else mask
    return allowed if found else 0


def _restricts(code: bytes) -> bool:
    """Whether SASS has an instruction that forbids the fast path."""
    for at in range(0, len(code) - 1, SASS_BYTES):
        operation = int.from_bytes(code[at : at + 2], "little") & SASS_OPERATION_MASK
        if operation & SASS_OPCODE_MASK in SLOW or operation == SASS_SLOW_FSETP:
            return True
    return False
