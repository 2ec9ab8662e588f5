"""Capsules: the values of applied relocations are also written into Mercury code.

A capsule (`.nv.capmerc.text.F`) holds the Mercury code of one function. It starts with three words:
the index of the SASS section, a mark, and the number of items. A bitmap with one bit per item
follows, then records. An item whose bit is set is an instruction that equals the one in the SASS
section; it has no record and nothing to change. Every other item has a record, in order.

The low nibble of a record's first byte is the length of its Mercury instruction in units of 16
bytes. If bit 6 is set, the record holds only 4 bytes of the instruction, otherwise all of it. If
bits 4 and 6 are both set, the record starts with a 16-bit word whose bits 7 to 15 are a number of
SASS instructions. With the nibble 0 there is nothing else: this is the padding at the end of the
code. With the nibble 1 a record follows whose Mercury instruction becomes that many SASS
instructions. If bits 4 and 5 are set, it becomes none, as checks of tensor memory that ptxas left
out. All other items are one SASS instruction each. Counted like this, the items are exactly the
instructions of the SASS section in 19,685 of 19,685 functions that ptxas wrote.

The offset of a Mercury relocation counts bytes of Mercury code. Where an instruction starts there
cannot be computed, as the capsule does not give the length of the items without a record. So the
item is found through the SASS relocation of the same symbol with the same ordinal number, and the
relocated field is in the last unit of the instruction. Where ptxas moved instructions, that is
another item; a field that is not empty is none of a relocation and stays.
"""

from __future__ import annotations

from collections import defaultdict

from cubinspec_generated import columns
from cubinspec_generated.codes import (
    CAPSULE_COUNT,
    CAPSULE_COUNT_SHIFT,
    CAPSULE_NONE,
    CAPSULE_SHORT,
    CAPSULE_SHORT_BYTES,
    CAPSULE_UNIT,
    CAPSULE_UNITS_MASK,
)
from cubinspec_generated.codes_sizes import SIZEOF_CAPSULE_HEADER
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.library.fields import actions_of, field_value, read_field, write_field
from cubinspec_writer.linker.library.outsymbols import NO_ADDRESS, is_lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import OutSection, Reloc, Symbol

_WORD, _LEN_COUNT = 4, 2
#: Bits of a record's first byte that tell how many SASS instructions there are.
_COUNTS = CAPSULE_COUNT | CAPSULE_NONE
#: Those of a record itself.
_OF_RECORD = CAPSULE_UNITS_MASK | CAPSULE_SHORT


class Item:
    """One item of a capsule.

    Attributes:
        number: the first SASS instruction that it becomes.
        count: how many it becomes.
        at, start, end: offset of its record, of the Mercury instruction in it, and behind it; all
            are equal when the SASS instruction is taken.
    """

    __slots__ = ("at", "count", "end", "number", "start")

    def __init__(self, number: int, count: int, at: int, start: int, end: int) -> None:
        self.number: int = number
        self.count: int = count
        self.at: int = at
        self.start: int = start
        self.end: int = end

    @property
    def is_padding(self) -> bool:
        return self.at < self.start == self.end


def items(data: bytes | bytearray) -> list[Item]:
    """The items of a capsule, in order.

    Raises:
        UnsupportedLinkError: the capsule has a kind of record that was never observed.
    """
    num_items = int.from_bytes(data[8:12], "little")
    at = SIZEOF_CAPSULE_HEADER + -(-num_items // 32) * _WORD
    if at > len(data):
        raise UnsupportedLinkError("a capsule of Mercury code that is shorter than it says")
    found: list[Item] = []
    number = 0
    for item in range(num_items):
        count, first = 1, at
        if data[SIZEOF_CAPSULE_HEADER + item // 8] >> item % 8 & 1:
            found.append(Item(number, 1, at, at, at))
            number += 1
            continue
        kind = data[at] if at < len(data) else 0
        if kind & _COUNTS == CAPSULE_COUNT:
            count = int.from_bytes(data[at : at + _LEN_COUNT], "little") >> CAPSULE_COUNT_SHIFT
            at += _LEN_COUNT
            if not kind & CAPSULE_UNITS_MASK:
                found.append(Item(number, count, first, at, at))
                number += count
                continue
            kind = data[at] if at < len(data) else 0
        elif kind & ~CAPSULE_UNITS_MASK == CAPSULE_NONE:
            count, kind = 0, kind & CAPSULE_UNITS_MASK
        units = kind & CAPSULE_UNITS_MASK
        length = CAPSULE_SHORT_BYTES if kind & CAPSULE_SHORT else units * CAPSULE_UNIT
        if units not in (1, 2) or kind & ~_OF_RECORD or at + length > len(data):
            raise UnsupportedLinkError("a relocation in Mercury code of an unknown form")
        found.append(Item(number, count, first, at, at + length))
        number += count
        at += length
    return found


def records(data: bytes | bytearray) -> dict[int, tuple[int, int]]:
    """Number of a SASS instruction -> (offset, length) of the record that it comes from."""
    found: dict[int, tuple[int, int]] = {}
    for item in items(data):
        if item.start < item.end:
            numbers = range(item.number, item.number + item.count)
            found |= dict.fromkeys(numbers, (item.start, item.end - item.start))
    return found


def rewritten(data: bytes, old: list[Item], new: dict[int, tuple[int, bytes] | None]) -> bytes:
    """A capsule some of whose items become another number of SASS instructions.

    Args:
        old: its items.
        new: number of an item -> how many instructions it becomes, and its record; an empty one
            is that of the padding. None: the SASS instruction is taken.
    """
    bits = bytearray(data[: SIZEOF_CAPSULE_HEADER + -(-len(old) // 32) * _WORD])
    parts: list[bytes] = []
    for number, item in enumerate(old):
        if number not in new:
            parts.append(data[item.at : item.end])
            continue
        made = new[number]
        if made is None:
            bits[SIZEOF_CAPSULE_HEADER + number // 8] |= 1 << number % 8
            continue
        count, record = made
        bits[SIZEOF_CAPSULE_HEADER + number // 8] &= ~(1 << number % 8)
        if count > 1 or not record:
            head = CAPSULE_COUNT | bool(record)
            parts.append((head | count << CAPSULE_COUNT_SHIFT).to_bytes(_LEN_COUNT, "little"))
        parts.append(record)
    return bytes(bits) + b"".join(parts)


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
        instructions[reloc.symbol.name].append(reloc.offset // CAPSULE_UNIT)
    found = records(code.data)
    for reloc in sorted(applied, key=lambda r: r.offset):
        waiting = instructions[reloc.symbol.name]
        if not waiting:
            raise UnsupportedLinkError(
                f"Mercury relocation of '{reloc.symbol.name}' without a twin in SASS code"
            )
        at, length = found.get(waiting.pop(0), (0, 0))
        if length < CAPSULE_UNIT:
            continue
        place = at + length - CAPSULE_UNIT + reloc.offset % CAPSULE_UNIT
        actions = actions_of(reloc.r_type)
        if reloc.r_type not in columns.ACTIONS:
            raise UnsupportedLinkError(f"a Mercury relocation of type {reloc.r_type:#x}")
        for action in actions:
            if place + (action.bit + action.width + 7) // 8 > at + length:
                raise UnsupportedLinkError("a relocation across the end of a Mercury instruction")
            # Where the item is not that of the relocation, another value stands there.
            if read_field(code.data, place, action):
                continue
            known = NO_ADDRESS if is_lost(reloc.symbol) else reloc.symbol.value
            value = slots.get(reloc.symbol, known) + reloc.addend
            write_field(code.data, place, action, field_value(action, value))
