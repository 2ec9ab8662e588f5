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
from cubinspec_generated.codes_sass import (
    SASS_BYTES,
    SASS_STALL_MASK,
    SASS_STALL_SHIFT,
    SASS_STUB_BITMAP,
    SASS_STUB_BYTES,
    SASS_STUB_FIRST_UNITS,
    SASS_STUB_ITEMS,
    SASS_STUB_PADDING,
    SASS_UNSCHEDULED_STALL,
    SASS_UNSCHEDULED_WAIT,
    SASS_WAIT_MASK,
    SASS_WAIT_SHIFT,
    SASS_YIELDS,
)
from cubinspec_generated.tables.sass import STUB_UNITS
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer.flow import encode, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import Symbol

MERCURY_SLOT = sum(STUB_UNITS) * CAPSULE_UNIT
#: Bytes of the padding behind a stub.
_PADDING_BYTES = SASS_STUB_PADDING * SASS_BYTES
#: Instructions of a slot.
_PER_SLOT = SASS_STUB_BYTES // SASS_BYTES

_SCHEDULE = SASS_STALL_MASK | SASS_YIELDS | SASS_WAIT_MASK
_WAITING = SASS_UNSCHEDULED_STALL << SASS_STALL_SHIFT | SASS_UNSCHEDULED_WAIT << SASS_WAIT_SHIFT

#: The capsule of one stub: index of the SASS section, mark, number of items, a bitmap of one
#: word, a record with 4 bytes of a Mercury instruction, and a record of padding.
_CAPSULE = Struct("<IIII4sH")
_HEAD = Struct("<III")
#: Bytes of a word of the bitmap.
_WORD = 4
#: Record of padding: a count of SASS instructions.
_PADDING = Struct("<H")


def capsule(stubs: list[bytes]) -> bytes:
    """The Mercury code of a table; its first word is set when the file is written."""
    records: list[bytes] = []
    mark = 0
    for stub in stubs:
        if len(stub) != _CAPSULE.size:
            raise _unknown_form()
        _, mark, num_items, bits, record, padding = _CAPSULE.unpack(stub)
        first = CAPSULE_SHORT | SASS_STUB_FIRST_UNITS
        expected = (SASS_STUB_ITEMS, SASS_STUB_BITMAP, first, _padding(SASS_STUB_PADDING))
        if (num_items, bits, record[0], padding) != expected:
            raise _unknown_form()
        records.append(record)
    num_items = _PER_SLOT * len(stubs) + 1
    # In every slot only the first instruction has a record; the padding has one, too.
    bits = sum(((1 << _PER_SLOT) - 2) << _PER_SLOT * slot for slot in range(len(stubs)))
    num_words = -(-num_items // (8 * _WORD))
    return b"".join(
        (
            _HEAD.pack(0, mark, num_items),
            bits.to_bytes(num_words * _WORD, "little"),
            *records,
            _PADDING.pack(_padding(_PER_SLOT)),
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
        if len(stub) != SASS_STUB_BYTES:
            raise _unknown_form()
        body, padding = stub[:-_PADDING_BYTES], stub[-_PADDING_BYTES:]
        slots.append(body + body[-SASS_BYTES:] * SASS_STUB_PADDING)
    loop, idle = padding[:SASS_BYTES], padding[SASS_BYTES:]
    return b"".join(slots) + loop + idle * (_PER_SLOT - 1)


def unscheduled(stub: bytes) -> bytes:
    """The SASS code of a stub in a link for a debugger: each instruction waits (rule U18)."""
    body, padding = stub[:-_PADDING_BYTES], stub[-_PADDING_BYTES:]
    return encode(word & ~_SCHEDULE | _WAITING for word in words_of(body)) + padding


def finalize_symbols(stubs: list[Symbol], size: int) -> int:
    """Give the symbols of stubs the values and sizes that the finalizer gives them.

    Args:
        stubs: symbols in the order of slots; their values are offsets before the widening.
        size: bytes of the SASS table.

    Returns:
        The code length that the frame of the first stub has.
    """
    starts = {sum(STUB_UNITS[:number]): number for number in range(len(STUB_UNITS))}
    for stub in stubs:
        slot, unit = divmod(stub.value // CAPSULE_UNIT, sum(STUB_UNITS))
        stub.value = SASS_STUB_BYTES * slot + SASS_BYTES * starts[unit]
    ends = [*(stub.value for stub in stubs[1:]), size]
    for stub, end in zip(stubs, ends, strict=True):
        # The first symbol of a code section has the size of the whole section.
        stub.size = end - stub.value if stub.value else size
    return ends[0]


def _unknown_form() -> UnsupportedLinkError:
    return UnsupportedLinkError("a stub of a unified function of an unknown form")
