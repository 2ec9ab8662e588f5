"""Brings capsules of CUDA 12.8 into the form of later toolkits.

They have no mark in front of the number of items. Some instructions have a short record in the one
form and none in the other; which ones, their SASS tells.

Rule O7.
"""

from __future__ import annotations

from struct import Struct

from cubinspec_generated.codes import (
    CAPSULE_MARK,
    CAPSULE_SHORT_BYTES,
    CAPSULE_UNMARKED,
)
from cubinspec_generated.codes_sass import (
    SASS_BARE_CALL,
    SASS_BARE_RETURN,
    SASS_BYTES,
    SASS_OPCODE_MASK,
    SASS_OPERATION_MASK,
    SASS_SHORT_CALL,
    SASS_SHORT_RETURN,
)
from cubinspec_generated.codes_sizes import SIZEOF_CAPSULE_HEADER
from cubinspec_generated.tables.sass import ONCE_SHORT
from cubinspec_writer.linker.finalizer import capsules

#: Bytes of the first word of a capsule; what takes the place of its second word.
_INDEX, _MARK = 4, Struct("<II")
#: Items in a word of the bitmap.
_BITS = 32
#: Opcode with form -> the short record of an instruction that had none.
_ADDED = {SASS_BARE_CALL: SASS_SHORT_CALL, SASS_BARE_RETURN: SASS_SHORT_RETURN}


def renewed(capsule: bytes, code: bytes) -> bytes:
    """The capsule in today's form.

    Args:
        code: its SASS.
    """
    items = int.from_bytes(capsule[_INDEX : _INDEX + _INDEX], "little")
    mark = _MARK.pack(CAPSULE_MARK, items & ~CAPSULE_UNMARKED)
    marked = capsule[:_INDEX] + mark + capsule[_INDEX + _INDEX :]
    bits, records = 0, bytearray()
    for number, item in enumerate(capsules.items(marked)):
        at = item.number * SASS_BYTES
        word = int.from_bytes(code[at : at + SASS_BYTES], "little")
        record = marked[item.at : item.end]
        added = _ADDED.get(word & SASS_OPERATION_MASK)
        if not record and added is not None:
            record = added.to_bytes(CAPSULE_SHORT_BYTES, "little")
        elif len(record) == CAPSULE_SHORT_BYTES and word & SASS_OPCODE_MASK in ONCE_SHORT:
            record = b""
        bits |= (not record) << number
        records += record
    words = -(-(items & ~CAPSULE_UNMARKED) // _BITS) * _INDEX
    return marked[:SIZEOF_CAPSULE_HEADER] + bits.to_bytes(words, "little") + bytes(records)
