"""The table of stubs of unified functions (`.nv.uft`): its code in the order of the slots.

Up to sm_90 the stubs just follow each other. From sm_100 on the finalizer makes the SASS table out
of a Mercury one, in which every slot has been widened by two instructions: the padding behind the
stub goes, the slot is filled up with the instruction in front of it, and the padding comes once, at
the end. The symbols of stubs say the place of their slot before that; the finalizer carries them
over to whatever SASS instruction lies there now (unified_slots).
"""

from __future__ import annotations

from struct import Struct

from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.model import SLOT, Symbol

_INSTRUCTION = 16
#: Bytes by which Mercury slots are widened, and length of a slot of Mercury code then.
_WIDER = 2 * _INSTRUCTION
MERCURY_SLOT = SLOT + _WIDER
#: Units of Mercury code in which the SASS instructions of a slot are written.
_UNITS = (2, 2, 1, 1, 1, 1, 1, 1)

#: A capsule: index of the SASS section, version, number of items, one word of bits; then a record
#: that tells 4 bytes of a Mercury instruction, and one of padding.
_CAPSULE = Struct("<IIII4sH")
_NUM_ITEMS, _BITS, _TWO_UNITS = 7, 0x3E, 0x42
_HEAD = Struct("<III")
_WORD = 32
#: Record of padding: how many SASS instructions, from bit 7 on.
_PADDING = Struct("<H")
_PADDING_KIND, _COUNT_BIT = 0x50, 7


def capsule(stubs: list[bytes]) -> bytes:
    """The Mercury code of a table; word 0 is filled in when the file is written."""
    per_slot = SLOT // _INSTRUCTION
    records: list[bytes] = []
    version = 0
    for stub in stubs:
        if len(stub) != _CAPSULE.size:
            raise _unknown_form()
        _, version, num_items, bits, record, padding = _CAPSULE.unpack(stub)
        known = (_NUM_ITEMS, _BITS, _TWO_UNITS, _PADDING_KIND | 2 << _COUNT_BIT)
        if (num_items, bits, record[0], padding) != known:
            raise _unknown_form()
        records.append(record)
    num_items = per_slot * len(stubs) + 1
    # Of every slot only the first instruction has a record, and so has the padding.
    bits = sum(((1 << per_slot) - 2) << per_slot * slot for slot in range(len(stubs)))
    num_words = -(-num_items // _WORD)
    return b"".join(
        (
            _HEAD.pack(0, version, num_items),
            bits.to_bytes(num_words * _WORD // 8, "little"),
            *records,
            _PADDING.pack(_PADDING_KIND | per_slot << _COUNT_BIT),
        )
    )


def finalized(stubs: list[bytes]) -> bytes:
    """The SASS code that the finalizer makes of a table."""
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
    """Give the symbols of stubs the places and sizes that the finalizer gives them.

    Args:
        stubs: symbols with the place of their slot before the widening, in the order of slots.
        size: bytes of the SASS table.

    Returns:
        What is the length of the first one in its frame.
    """
    starts = {sum(_UNITS[:number]): number for number in range(len(_UNITS))}
    for stub in stubs:
        slot, unit = divmod(stub.value // _INSTRUCTION, sum(_UNITS))
        stub.value = SLOT * slot + _INSTRUCTION * starts[unit]
    ends = [*(stub.value for stub in stubs[1:]), size]
    for stub, end in zip(stubs, ends, strict=True):
        # The first symbol of a section of code has the size of all of it.
        stub.size = end - stub.value if stub.value else size
    return ends[0]


def _unknown_form() -> UnsupportedLinkError:
    return UnsupportedLinkError("a stub of a unified function of an unknown form")
