"""Whether the linked code allows the finalizer's fast path (a record of `.nv.compat`).

Every input has one record for all its functions: a mask of what its code allows. The linked program
has the bits that all linked code allows. Where only some functions of an input are linked, the
answer is that of the linked ones, so their code is looked at (rule I11).

Which instructions forbid it was found by assembling some hundred kinds of single PTX instructions
for sm_100 and reading the record that ptxas writes: arithmetic in double precision, matrix products
of integers or doubles, and a comparison of a float with an immediate. A product of integers in
tensor memory, which later targets do not have, does so for the whole input, linked or not
(rule I12).
"""

from __future__ import annotations

from cubinspec_generated.codes import FAST_PATH
from cubinspec_generated.codes_sass import (
    SASS_BYTES,
    SASS_OPCODE_MASK,
    SASS_OPERATION_MASK,
    SASS_SLOW_FSETP,
    SASS_TENSOR_INTEGERS,
    SASS_TENSOR_PRODUCT,
    SASS_TENSOR_VALUES_MASK,
    SASS_TENSOR_VALUES_SHIFT,
)
from cubinspec_generated.tables.sass import SLOW
from cubinspec_writer.linker.finalizer.flow import words_of
from cubinspec_writer.linker.library.copies import defined_here

#: First byte of a matrix product in tensor memory.
_TENSOR_PRODUCT = SASS_TENSOR_PRODUCT.to_bytes(2, "little")[0]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.format.targets import Toolkit
    from cubinspec_writer.linker.inputs.rows import InSymbol
    from cubinspec_writer.linker.model import InputObject, Symbol


def merged_mask(
    inputs: Iterable[tuple[InputObject, int | None]], unrestricted: int, toolkit: Toolkit
) -> int:
    """The mask of a linked program.

    Args:
        inputs: every input with the mask of its record; None: it has no record (CUDA 12), so that
            its code says it.
        unrestricted: the mask of code that forbids nothing.
        toolkit: whose nvlink merges them (rule K29).
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
        found = found or bool(linked)
        partly = mask is None or len(linked) < len(code)
        if (linked and not partly) or _is_slow(obj, linked, code):
            allowed &= ~FAST_PATH if mask is None else mask
    return allowed if found or not toolkit.clears_fast_path else 0


def _is_slow(obj: InputObject, linked: list[InSymbol], code: list[tuple[InSymbol, Symbol]]) -> bool:
    """Whether linked code, or an instruction that later targets lack, forbids the fast path."""
    return any(_restricts(obj.sections[row.shndx].data) for row in linked) or any(
        _has_integers(obj.sections[row.shndx].data) for row, _ in code
    )


def _restricts(code: bytes) -> bool:
    """Whether SASS has an instruction that forbids the fast path."""
    for at in range(0, len(code) - 1, SASS_BYTES):
        operation = int.from_bytes(code[at : at + 2], "little") & SASS_OPERATION_MASK
        if operation & SASS_OPCODE_MASK in SLOW or operation == SASS_SLOW_FSETP:
            return True
    return False


def _has_integers(code: bytes) -> bool:
    """Whether SASS has a matrix product of integers in tensor memory."""
    if _TENSOR_PRODUCT not in code[::SASS_BYTES]:
        return False
    return any(
        word & SASS_OPCODE_MASK == SASS_TENSOR_PRODUCT
        and word & SASS_TENSOR_VALUES_MASK == SASS_TENSOR_INTEGERS << SASS_TENSOR_VALUES_SHIFT
        for word in words_of(code)
    )
