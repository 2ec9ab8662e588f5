"""Mercury code: values of applied relocations go into the capsule.

A capsule is: word 0 the SASS section's index, word 1 a version, word 2 the number of instructions,
a bitmap with one bit per instruction, records. An instruction whose bit is one is taken from the
SASS code and needs nothing here; every other one has a record, in order. The first byte of a record
tells its length; a prefix of two bytes may precede a record.

Relocation offsets count in Mercury code, where an instruction takes 16 or 32 bytes; where it starts
is not said. The instruction is found by its number, which is the number of the SASS instruction
that has the same relocation (observed for every relocated record of the cases const_files,
jump_tables and tex_refs), and a relocation lies in the last 16 bytes of its instruction.
"""

from __future__ import annotations

from collections import defaultdict

from .diagnostics import UnsupportedLinkError
from .model import OutSection, Reloc, Symbol
from .relocate import ACTIONS, field_value, write_field

_HEAD, _WORD, _UNIT = 12, 4, 16
#: First byte of a record -> its length, and the first bytes of prefixes.
_LENGTHS = {0x01: 16, 0x02: 32, 0x41: 4, 0x42: 4, 0x50: 2, 0xD0: 2}
_PREFIXES = {0x51: 2, 0xD1: 2}


def records(data: bytes | bytearray) -> dict[int, tuple[int, int]]:
    """Instruction number -> (offset, length) of its record.

    Raises:
        UnsupportedLinkError: the capsule has a kind of record that is not known.
    """
    count = int.from_bytes(data[8:12], "little")
    at = _HEAD + -(-count // 32) * _WORD
    found = {}
    for number in range(count):
        if data[_HEAD + number // 8] >> number % 8 & 1:
            continue
        if at < len(data) and data[at] in _PREFIXES:
            at += _PREFIXES[data[at]]
        length = _LENGTHS.get(data[at]) if at < len(data) else None
        if length is None:
            raise UnsupportedLinkError("a relocation in Mercury code of an unknown form")
        found[number] = (at, length)
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
    known: dict[int, tuple[int, int]] | None = None
    for reloc in sorted(applied, key=lambda r: r.offset):
        waiting = numbers[reloc.symbol.name]
        if not waiting:
            raise UnsupportedLinkError(
                f"Mercury relocation of '{reloc.symbol.name}' without a twin in SASS code"
            )
        number = waiting.pop(0)
        if number >= int.from_bytes(code.data[8:12], "little"):
            raise UnsupportedLinkError(
                f"Mercury relocation of '{reloc.symbol.name}' behind calls that SASS expands"
            )
        if code.data[_HEAD + number // 8] >> number % 8 & 1:
            continue
        if known is None:
            known = records(code.data)
        at, length = known[number]
        place = at + length - _UNIT + reloc.offset % _UNIT
        # Behind a call that SASS expands the numbers drift; a field that holds something already
        # belongs to another instruction (case mbarrier).
        if length < _UNIT or any(code.data[place : place + _WORD]):
            continue
        for action in ACTIONS[reloc.r_type]:
            value = slots.get(reloc.symbol, reloc.symbol.value) + reloc.addend
            write_field(code.data, place, action, field_value(action, value))
