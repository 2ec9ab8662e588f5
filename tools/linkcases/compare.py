"""Where two cubins differ, in words; independent of the linker's own data."""

from __future__ import annotations

from collections.abc import Sequence

from cubinspec.errors import CubinError
from cubinspec.reader.elf import Elf, occupies_file


def first_difference(expected: bytes, actual: bytes) -> str:
    """One line: the first section (or header) that is not the same in both files."""
    try:
        a, b = Elf(expected, "expected"), Elf(actual, "actual")
        if a.section_names != b.section_names:
            return f"sections {_first(a.section_names, b.section_names)}"
        for index, (row_a, row_b) in enumerate(zip(a.section_rows, b.section_rows, strict=True)):
            name = a.section_names[index]
            if (*row_a[:4], *row_a[5:]) != (*row_b[:4], *row_b[5:]):
                return f"header of {name}: {row_a} / {row_b}"
            if occupies_file(row_a[1], row_a[2]) and a.section_bytes(index) != b.section_bytes(
                index
            ):
                return f"bytes of {name}: {_place(a.section_bytes(index), b.section_bytes(index))}"
        if a.segment_rows != b.segment_rows:
            return f"program headers {_first(a.segment_rows, b.segment_rows)}"
        return f"bytes outside of sections: {_place(expected, actual)}"
    except CubinError as error:
        return f"unreadable: {error}"


def _first(a: Sequence[object], other: Sequence[object]) -> str:
    for index, item in enumerate(a):
        if index >= len(other) or other[index] != item:
            return f"[{index}]: {item} / {other[index] if index < len(other) else 'nothing'}"
    return f"{len(other) - len(a)} more"


def _place(a: bytes, b: bytes) -> str:
    at = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    parts = f"{a[at : at + 16].hex()} / {b[at : at + 16].hex()}"
    return f"{len(a)}/{len(b)} bytes, first at {at:#x}: {parts}"
