"""Records of Mercury capsules: what they count, where they lie, and what is refused."""

from __future__ import annotations

import struct

import pytest

from cubinspec_generated import columns
from cubinspec_writer.linker import UnsupportedLinkError
from cubinspec_writer.linker.finalizer.capsules import patch, records
from cubinspec_writer.linker.model import OutSection, Symbol, relocation

_CONSTANT = 0x10004


def _counted(nibble: int, count: int) -> bytes:
    return (0x50 | nibble | count << 7).to_bytes(2, "little")


def _capsule(flags: int, items: int, *parts: bytes) -> bytes:
    return struct.pack("<4I", 7, 0xC0000001, items, flags) + b"".join(parts)


_ONE, _TWO, _SHORT = b"\x01" + bytes(15), b"\x02" + bytes(31), b"\x42\x33\x00\x0e"
#: From the code, one unit, three instructions of two units, 4 bytes, from the code, padding.
_SAMPLE = _capsule(0b010001, 6, _ONE, _counted(1, 3), _TWO, _SHORT, _counted(0, 9))


def test_records_belong_to_the_instructions_that_they_become() -> None:
    assert records(_SAMPLE) == {
        1: (16, 16),
        **dict.fromkeys((2, 3, 4), (34, 32)),
        5: (66, 4),
    }


@pytest.mark.parametrize(
    "data",
    [
        _SAMPLE[:40],
        _capsule(0, 1, b"\x83" + bytes(40)),
        _capsule(0, 1, _counted(1, 2)),
        struct.pack("<4I", 7, 0xC0000001, 1 << 31, 0),
    ],
    ids=["cut", "unknown", "prefix alone", "too many"],
)
def test_broken_capsules_are_refused(data: bytes) -> None:
    with pytest.raises(UnsupportedLinkError):
        records(data)


def _relocated(number: int, offset: int, r_type: int = _CONSTANT) -> bytearray:
    """The sample after a value is written for one instruction."""
    code = OutSection(".text.f", 1, 6, 128)
    code.content = _SAMPLE
    symbol = Symbol("v", 0, 1, 0, value=0x1230)
    staying = relocation(16 * number, 66, symbol, 0, 0)
    patch(code, [relocation(offset, r_type, symbol, 0, 0)], [staying], {})
    return code.data


def test_a_value_lies_in_the_last_unit_of_its_instruction() -> None:
    changed = [at for at, byte in enumerate(_relocated(3, 0x48)) if byte != _SAMPLE[at]]
    assert changed
    assert all(34 + 16 + 8 <= at < 34 + 32 for at in changed)
    assert _relocated(5, 0x48) == _SAMPLE
    assert _relocated(0, 0x48) == _SAMPLE


def test_relocations_that_do_not_fit_are_refused() -> None:
    assert 0x1FFFF not in columns.ACTIONS
    with pytest.raises(UnsupportedLinkError):
        _relocated(1, 0x4F)
    with pytest.raises(UnsupportedLinkError):
        _relocated(1, 0x48, 0x1FFFF)
