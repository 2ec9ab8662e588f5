"""Tables of call frames, damaged: what is cut off or unknown is refused, and never read past."""

from __future__ import annotations

import struct

import pytest

from cubinspec.errors import BadStructureError
from cubinspec.format.call_frames import frame_entries

_CIE = b"\xff\xff\xff\xff" + b"\x03" + b"\0" + b"\x04" + b"\x7c" + b"\x10"
_FDE = struct.pack("<IQQ", 0, 0x40, 0x80)


def _table(*bodies: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(body)) + body for body in bodies)


def _read(data: bytes) -> list[str]:
    return [entry.fields["kind"] for entry in frame_entries(data, 8, 0x100, "f", "sections[4]")]


def test_whole_entries_are_read() -> None:
    assert _read(_table(_CIE, _FDE + b"\x44\0", _FDE)) == ["CIE", "FDE", "FDE"]


@pytest.mark.parametrize(
    "body",
    [
        _CIE[:2],
        _CIE[:5] + b"zR",  # the augmentation has no end
        _CIE[:-1],
        _FDE[:10],
        _FDE[:-1],
        _FDE + b"\x01\0\0",  # DW_CFA_set_loc with half an address
        _FDE + b"\x0f\x05\0",  # an expression longer than the entry
        _FDE + b"\x3f",  # no operation of DWARF
        _FDE + b"\x0e\x80",  # a number without an end
    ],
)
def test_a_damaged_entry_is_refused_where_it_begins(body: bytes) -> None:
    whole = _table(_CIE)
    with pytest.raises(BadStructureError) as caught:
        _read(whole + _table(body))
    assert caught.value.offset == 0x100 + len(whole)
    assert caught.value.field == "sections[4]"
