"""Capsules: the values of applied relocations are also written into Mercury code.

A capsule (`.nv.capmerc.text.F`) holds the Mercury code of one function. It starts with three words:
the index of the SASS section, a version, and the number of items. A bitmap with one bit per item
follows, then records. An item whose bit is set is an instruction that equals the one in the SASS
section; it has no record and nothing to change. Every other item has a record, in order.

The low nibble of a record's first byte is the length of its Mercury instruction in units of 16
bytes. If bit 6 is set, the record holds only 4 bytes of the instruction, otherwise all of it. If
bits 4 and 6 are both set, the record starts with a 16-bit word whose bits 7 to 15 are a number of
SASS instructions. With the nibble 0 there is nothing else: this is the padding at the end of the
code. With the nibble 1 a record follows whose Mercury instruction becomes that many SASS
instructions. All other items are one SASS instruction each. Counted like this, the items are
exactly the instructions of the SASS section in 16,174 of 16,174 functions that ptxas wrote.

The offset of a Mercury relocation counts bytes of Mercury code. Where an instruction starts there
cannot be computed, as the capsule does not give the length of the items without a record. So the
item is found through the SASS relocation of the same symbol with the same ordinal number, and the
relocated field is in the last unit of the instruction.
"""

from __future__ import annotations

from collections import defaultdict

from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.library.fields import ACTIONS, field_value, write_field
from cubinspec_writer.linker.model import OutSection, Reloc, Symbol

_HEAD, _WORD, _UNIT = 12, 4, 16
#: Bits of a record's first byte: length, the two marks.
_UNITS, _MARK, _SHORT = 0x0F, 0x10, 0x40
_COUNT_BIT = 7
_COUNTED, _KINDS = _MARK | _SHORT, _UNITS | _MARK | _SHORT
_LEN_SHORT, _LEN_COUNT = 4, 2


def records(data: bytes | bytearray) -> dict[int, tuple[int, int]]:
    """Number of a SASS instruction -> (offset, length) of the record that it comes from.

    Raises:
        UnsupportedLinkError: the capsule has a kind of record that was never observed.
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
    code: OutSection, applied: list[Reloc], sass: list[Reloc], slots: dict[Symbol, int]
) -> None:
    """Write the values of applied Mercury relocations into a capsule.

    Rule F2.

    Args:
        code: the section of the capsule.
        applied: Mercury relocations whose symbol has its final value.
        sass: the applied relocations of the SASS section, which tell the instruction.
        slots: symbol -> offset of its slot in parameter banks; it counts instead of its value.
    """
    #: Symbol name -> numbers of the SASS instructions that name it.
    instructions: dict[str, list[int]] = defaultdict(list)
    for reloc in sorted(sass, key=lambda r: r.offset):
        instructions[reloc.symbol.name].append(reloc.offset // _UNIT)
    found = records(code.data)
    for reloc in sorted(applied, key=lambda r: r.offset):
        waiting = instructions[reloc.symbol.name]
        if not waiting:
            raise UnsupportedLinkError(
                f"Mercury relocation of '{reloc.symbol.name}' without a twin in SASS code"
            )
        at, length = found.get(waiting.pop(0), (0, 0))
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
