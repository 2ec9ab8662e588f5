"""The table of stubs of unified functions (`.nv.uft`) from sm_100 on.

Up to sm_90 the stubs just follow each other in the order of their slots. From sm_100 on the
finalizer makes the SASS table from a Mercury table in which every slot is two instructions wider.
It removes the padding after each stub, fills the slot up with the stub's last instruction, and
writes the padding once, at the end of the table. The symbols of stubs hold offsets in the table as
it was before it was widened. The finalizer takes them for offsets in the wide table and moves them
to the SASS instruction that lies there (rule U15).
"""

from __future__ import annotations

from struct import Struct

from cubinspec_generated.codes import (
    CAPSULE_COUNT,
    CAPSULE_COUNT_SHIFT,
    CAPSULE_SHORT,
    CAPSULE_UNIT,
)
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.model import SLOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import Symbol

_INSTRUCTION = CAPSULE_UNIT
#: Bytes by which a Mercury slot is wider, and its length then.
_WIDER = 2 * _INSTRUCTION
MERCURY_SLOT = SLOT + _WIDER
#: Length, in instructions of 16 bytes, of the Mercury code of each SASS instruction of a slot.
_UNITS = (2, 2, 1, 1, 1, 1, 1, 1)

#: The capsule of one stub: index of the SASS section, mark, number of items, a bitmap of one
#: word, a record with 4 bytes of a Mercury instruction, and a record of padding.
_CAPSULE = Struct("<IIII4sH")
_NUM_ITEMS, _BITS = 7, 0x3E
#: Its two records: a short one of an instruction of two units, and the padding behind the code.
_TWO_UNITS, _PADDING_INSTRUCTIONS = CAPSULE_SHORT | 2, 2
_HEAD = Struct("<III")
_WORD = 32
#: Record of padding: a count of SASS instructions.
_PADDING = Struct("<H")


def capsule(stubs: list[bytes]) -> bytes:
    """The Mercury code of a table; its first word is set when the file is written."""
    per_slot = SLOT // _INSTRUCTION
    records: list[bytes] = []
    mark = 0
    for stub in stubs:
        if len(stub) != _CAPSULE.size:
            raise _unknown_form()
        _, mark, num_items, bits, record, padding = _CAPSULE.unpack(stub)
        expected = (_NUM_ITEMS, _BITS, _TWO_UNITS, _padding(_PADDING_INSTRUCTIONS))
        if (num_items, bits, record[0], padding) != expected:
            raise _unknown_form()
        records.append(record)
    num_items = per_slot * len(stubs) + 1
    # In every slot only the first instruction has a record; the padding has one, too.
    bits = sum(((1 << per_slot) - 2) << per_slot * slot for slot in range(len(stubs)))
    num_words = -(-num_items // _WORD)
    return b"".join(
        (
            _HEAD.pack(0, mark, num_items),
            bits.to_bytes(num_words * _WORD // 8, "little"),
            *records,
            _PADDING.pack(_padding(per_slot)),
        )
    )


def _padding(instructions: int) -> int:
    """The record of so many instructions of padding."""
    return CAPSULE_COUNT | instructions << CAPSULE_COUNT_SHIFT


def finalized(stubs: list[bytes]) -> bytes:
    """The SASS code that the finalizer makes from a table (rule U14)."""
    slots: list[bytes] = []
    padding = b""
    for stub in stubs:
        if len(stub) != SLOT:
            raise _unknown_form()
        body, padding = stub[:-_WIDER], stub[-_WIDER:]
        slots.append(body + body[-_INSTRUCTION:] * (_WIDER // _INSTRUCTION))
    loop, idle = padding[:_INSTRUCTION], padding[_INSTRUCTION:]
    return b"".join(slots) + loop + idle * (SLOT // _INSTRUCTION - 1)


def finalize_symbols(stubs: list[Symbol], size: int) -> int:
    """Give the symbols of stubs the values and sizes that the finalizer gives them.

    Args:
        stubs: symbols in the order of slots; their values are offsets before the widening.
        size: bytes of the SASS table.

    Returns:
        The code length that the frame of the first stub has.
    """
    starts = {sum(_UNITS[:number]): number for number in range(len(_UNITS))}
    for stub in stubs:
        slot, unit = divmod(stub.value // _INSTRUCTION, sum(_UNITS))
        stub.value = SLOT * slot + _INSTRUCTION * starts[unit]
    ends = [*(stub.value for stub in stubs[1:]), size]
    for stub, end in zip(stubs, ends, strict=True):
        # The first symbol of a code section has the size of the whole section.
        stub.size = end - stub.value if stub.value else size
    return ends[0]


def _unknown_form() -> UnsupportedLinkError:
    return UnsupportedLinkError("a stub of a unified function of an unknown form")
