"""The tool that compares code function by function."""

from __future__ import annotations

from pathlib import Path

from tools.linkcases import functions

SAMPLE = Path(__file__).parents[1] / "data" / "cubins" / "calls.sm_90.rel.cubin"


def test_changed_code_is_found_by_name() -> None:
    data = SAMPLE.read_bytes()
    codes = functions.code_of(data, "sample")
    name, code = next(iter(codes.items()))
    other = bytearray(data)
    other[data.index(code)] ^= 1
    assert functions.differing(data, data) == (len(codes), {})
    assert functions.differing(data, bytes(other)) == (len(codes), {name: functions.OTHER})
