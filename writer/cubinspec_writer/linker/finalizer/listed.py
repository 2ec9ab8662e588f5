"""Lists of applied relocations (`--preserve-relocs`) that several functions share.

Functions of one name in several files share the list of the first one (rule P2). The finalizer
looks up the Mercury places of all its rows in the code of that function, also those of the others:
the list gets the place of the instruction that is there, and a type that goes with it (rule P40).
"""

from __future__ import annotations

from bisect import bisect_right

from cubinspec_generated import columns
from cubinspec_generated.codes import SHF_EXECINSTR
from cubinspec_generated.codes_relocation import R_CUDA_ABS32_32
from cubinspec_generated.codes_sass import (
    SASS_BYTES,
    SASS_CCTL,
    SASS_LOAD_NOTHING,
    SASS_MEMBAR_OF_BLOCK,
    SASS_MERCURY_KIND_AT,
    SASS_MERCURY_MOVE,
    SASS_OPCODE_MASK,
    SASS_OPERATION_MASK,
    SASS_PLAIN_CGAERRBAR,
    SASS_PLAIN_ERRBAR,
    SASS_PLAIN_NOP,
    SASS_WARPSYNC_OF_MASK,
)
from cubinspec_writer.linker.finalizer.flow import MEANING
from cubinspec_writer.linker.finalizer.offsets import mercury_code
from cubinspec_writer.linker.model import relocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.finalizer.capsules import Item
    from cubinspec_writer.linker.finalizer.offsets import MercuryCode
    from cubinspec_writer.linker.model import OutSection, Reloc
    from cubinspec_writer.linker.state import Relocations

_MEMBAR = SASS_MEMBAR_OF_BLOCK & SASS_OPERATION_MASK
#: Instructions in front of the main one of a Mercury instruction, and those behind that of a fence.
_IN_FRONT = frozenset(
    word & SASS_OPERATION_MASK
    for word in (
        SASS_MEMBAR_OF_BLOCK,
        SASS_PLAIN_ERRBAR,
        SASS_PLAIN_CGAERRBAR,
        SASS_WARPSYNC_OF_MASK,
    )
)
_BEHIND = frozenset((SASS_CCTL, SASS_PLAIN_NOP & SASS_OPCODE_MASK))


def look_up(mercury: Relocations, twins: dict[OutSection, OutSection]) -> None:
    """Give the rows of shared lists the places and types that the first function has there."""
    for code, listing in mercury.resolved.items():
        first = listing.info_section
        twin = twins.get(listing)
        if code is first or first is None or twin is None or not code.flags & SHF_EXECINSTR:
            continue
        serials = {reloc.serial for reloc in mercury.applied.get(code, ())}
        found = _code_of(twins.get(first))
        # Both halves list the same relocations in one order.
        if not serials or found is None or len(listing.relocs) != len(twin.relocs):
            continue
        twin.relocs = [
            _in_first(found, row, own) if row.serial in serials else own
            for row, own in zip(listing.relocs, twin.relocs, strict=True)
        ]


def _code_of(section: OutSection | None) -> MercuryCode | None:
    """The Mercury code of a linked section; None: its instructions cannot be told apart."""
    owner = section.owner if section is not None else None
    if owner is None or owner.definition is None:
        return None
    obj, row = owner.definition
    code = mercury_code(obj, row.shndx)
    return code if code is not None and code.items else None


def _in_first(code: MercuryCode, row: Reloc, own: Reloc) -> Reloc:
    """A row of a list, as the first function of its name gives it.

    Args:
        code: of that function.
        row, own: the row of the Mercury half, and that of the SASS half.
    """
    types = columns.ELSEWHERE.get(row.r_type)
    if types is None:
        return own
    usual, behind, of_operations = types
    if row.offset >= code.size:
        # nvlink writes what its memory holds for the place (rule X15).
        return relocation(0, behind, own.symbol, own.addend, own.serial)
    starts = list(code.items)
    item = code.items[starts[bisect_right(starts, row.offset) - 1]]
    number = item.number + _main(code, item)
    r_type = of_operations.get(code.words[number] & SASS_OPERATION_MASK, usual)
    if item.start < item.end:
        kind = code.capsule[item.start + SASS_MERCURY_KIND_AT]
        if kind == SASS_MERCURY_MOVE:
            r_type = R_CUDA_ABS32_32
        elif r_type == R_CUDA_ABS32_32:
            r_type = usual
    return relocation(number * SASS_BYTES, r_type, own.symbol, own.addend, own.serial)


def _main(code: MercuryCode, item: Item) -> int:
    """Which of the instructions that a Mercury instruction becomes has its place."""
    words = code.words[item.number : item.number + item.count]
    front = 0
    while front < len(words) and _is_in_front(words[front]):
        front += 1
    if front == len(words) or words[front] & SASS_OPCODE_MASK in _BEHIND:
        fences = [n for n in range(front) if words[n] & SASS_OPERATION_MASK == _MEMBAR]
        return fences[-1] if fences else 0
    return front


def _is_in_front(word: int) -> bool:
    return word & MEANING == SASS_LOAD_NOTHING or word & SASS_OPERATION_MASK in _IN_FRONT
