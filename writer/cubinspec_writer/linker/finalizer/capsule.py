"""Mercury code: values of applied relocations go into the capsule.

A capsule is: word 0 the SASS section's index, word 1 a version, word 2 the number of items, a
bitmap with one bit per item, records. An item whose bit is one is an instruction that is taken from
the SASS code and needs nothing here; every other one has a record, in order.

The low nibble of a record's first byte is the length of its Mercury instruction in units of 16
bytes. Bit 6 means that only 4 bytes of it are told; without it the whole instruction is. Bits 4 and
6 together begin a word of which bits 7 to 15 count SASS instructions: with the nibble 0 (the
padding behind the code) this is the whole record, with 1 the Mercury instruction of the record
behind it becomes that many SASS instructions. All other items are one SASS instruction each. So the
items are as many SASS instructions as the section has (16,174 of 16,174 functions of ptxas).

Relocation offsets count in Mercury code; where an instruction starts there is not said, because the
length of one that is taken from the SASS code is not. The item is found by the SASS relocation that
has the same symbol, counted from the start, and a relocation lies in the last unit of its
instruction.
"""

from __future__ import annotations

from collections import defaultdict

from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.model import OutSection, Reloc, Symbol
from cubinspec_writer.linker.passes.relocate import ACTIONS, field_value, write_field

_HEAD, _WORD, _UNIT = 12, 4, 16
#: Bits of a record's first byte.
_UNITS, _MARK, _SHORT = 0x0F, 0x10, 0x40
_COUNT_BIT = 7
_COUNTED, _KINDS = _MARK | _SHORT, _UNITS | _MARK | _SHORT
_LEN_SHORT, _LEN_COUNT = 4, 2


def records(data: bytes | bytearray) -> dict[int, tuple[int, int]]:
    """Number of a SASS instruction -> (offset, length) of the record that it comes from.

    Raises:
        UnsupportedLinkError: the capsule has a kind of record that is not known.
    """
    items = int.from_bytes(data[8:12], "little")
    at = _HEAD + -(-items // 32) * _WORD
    if at > len(data):
        raise UnsupportedLinkError("a capsule of Mercury code that is shorter than it says")
    found: dict[int, tuple[int, int]] = {}
    number = 0
    for item in range(items):
        if data[_HEAD + item // 8] >> item % 8 & 1:
            number += 1
            continue
        count = 1
        kind = data[at] & _KINDS if at < len(data) else 0
        if kind & ~_UNITS == _COUNTED:
            count = int.from_bytes(data[at : at + _LEN_COUNT], "little") >> _COUNT_BIT
            at += _LEN_COUNT
            if kind == _COUNTED:
                number += count
                continue
            kind = data[at] if at < len(data) else 0
        units = kind & _UNITS
        length = _LEN_SHORT if kind & _SHORT else units * _UNIT
        if units not in (1, 2) or kind & ~_KINDS or at + length > len(data):
            raise UnsupportedLinkError("a relocation in Mercury code of an unknown form")
        found |= dict.fromkeys(range(number, number + count), (at, length))
        number += count
        at += length
    return found


def patch(
    code: OutSection, applied: list[Reloc], plain: list[Reloc], slots: dict[Symbol, int]
) -> None:
    """Write the values of applied Mercury relocations into a capsule.

    Args:
        applied: Mercury relocations whose target has its final place.
        plain: the same of the SASS code, which say the instruction.
    """
    numbers: dict[str, list[int]] = defaultdict(list)
    for reloc in sorted(plain, key=lambda r: r.offset):
        numbers[reloc.symbol.name].append(reloc.offset // _UNIT)
    known = records(code.data)
    for reloc in sorted(applied, key=lambda r: r.offset):
        waiting = numbers[reloc.symbol.name]
        if not waiting:
            raise UnsupportedLinkError(
                f"Mercury relocation of '{reloc.symbol.name}' without a twin in SASS code"
            )
        at, length = known.get(waiting.pop(0), (0, 0))
        if length < _UNIT:
            continue
        place = at + length - _UNIT + reloc.offset % _UNIT
        actions = ACTIONS.get(reloc.r_type)
        if actions is None:
            raise UnsupportedLinkError(f"a Mercury relocation of type {reloc.r_type:#x}")
        for action in actions:
            if place + (action.bit + action.width + 7) // 8 > at + length:
                raise UnsupportedLinkError("a relocation across the end of a Mercury instruction")
            value = slots.get(reloc.symbol, reloc.symbol.value) + reloc.addend
            write_field(code.data, place, action, field_value(action, value))
