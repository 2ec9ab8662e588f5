"""Program headers: which each generation of the writers makes, from the laid out sections."""

from __future__ import annotations

from itertools import groupby

from cubinspec.reader import elf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
_LOADED = SHF_ALLOC | elf.SHF_CUDA_MERCURY
PT_LOAD, PT_PHDR = 1, 6
PF_X, PF_W, PF_R = 1, 2, 4
P_ALIGN, P_ALIGN_32 = 8, 4
#: Size of a section header by that of a program header.
_SECTION_HEADER_BYTES = {56: 64, 32: 40}


def _runs(rows: Iterable[tuple[int, ...]], split: bool) -> list[tuple[int, list[tuple[int, ...]]]]:
    """Neighbouring loadable sections with the same permissions, and those permissions."""
    loaded = [row for row in rows if row[2] & _LOADED == SHF_ALLOC]

    def access(row: tuple[int, ...]) -> int:
        if row[2] & SHF_WRITE:
            return PF_R | PF_W
        return PF_R | PF_X if row[2] & SHF_EXECINSTR or not split else PF_R

    return [(key, list(run)) for key, run in groupby(loaded, access)]


def align(value: int, alignment: int) -> int:
    return value if alignment < 2 else (value + alignment - 1) // alignment * alignment


def _load(access: int, rows: list[tuple[int, ...]]) -> tuple[int, ...]:
    """One PT_LOAD: the file span of its sections, then the memory of those without bytes."""
    start = end = rows[0][4]
    reserved = 0
    for row in rows:
        if row[1] == elf.SHT_NOBITS:
            end = max(end, row[4])
            reserved = align(reserved, row[8]) + row[5]
        else:
            end = row[4] + row[5]
    return (PT_LOAD, access, start, 0, 0, end - start, end - start + reserved, P_ALIGN)


def _table(access: int, kind: int, at: int, count: int, entry: int) -> tuple[int, ...]:
    return (kind, access, at, 0, 0, count * entry, count * entry, P_ALIGN)


def _classic(
    rows: Iterable[tuple[int, ...]], count: int, at: int, entry: int
) -> list[tuple[int, ...]]:
    """PT_PHDR, constants with code, data, the table itself."""
    loads = [_load(*run) for run in _runs(rows, split=False)]
    count = len(loads) + 2
    access = PF_R | PF_X
    return [
        _table(access, PT_PHDR, at, count, entry),
        *loads,
        _table(access, PT_LOAD, at, count, entry),
    ]


def _split(
    rows: Iterable[tuple[int, ...]], count: int, at: int, entry: int
) -> list[tuple[int, ...]]:
    """PT_PHDR, the table itself, then one segment for each run of equal permissions."""
    loads = [_load(*run) for run in _runs(rows, split=True)]
    count = len(loads) + 2
    return [
        _table(PF_R, PT_PHDR, at, count, entry),
        _table(PF_R, PT_LOAD, at, count, entry),
        *loads,
    ]


def _old_loads(rows: Iterable[tuple[int, ...]], end: int) -> dict[int, tuple[int, ...]]:
    """CUDA 8 to 11.0: sizes are sums without padding, reserved memory is the largest section.

    The file part of the data segment reaches up to the section headers.
    """
    loads: dict[int, tuple[int, ...]] = {}
    for access, run in _runs(rows, split=False):
        start = run[0][4]
        stored = sum(row[5] for row in run if row[1] != elf.SHT_NOBITS)
        reserved = max((row[5] for row in run if row[1] == elf.SHT_NOBITS), default=0)
        in_file = end - start if access & PF_W else stored
        loads[access] = (PT_LOAD, access, start, 0, 0, in_file, stored + reserved, P_ALIGN)
    return loads


def _classic_10(
    rows: Iterable[tuple[int, ...]], count: int, at: int, entry: int
) -> list[tuple[int, ...]]:
    """PT_PHDR, code, data; a segment without sections is all zero."""
    loads = _old_loads(rows, at - count * _SECTION_HEADER_BYTES[entry])
    result = [_table(PF_R | PF_X, PT_PHDR, at, 3, entry)]
    for access in (PF_R | PF_X, PF_R | PF_W):
        result.append(loads.get(access, (PT_LOAD, access, 0, 0, 0, 0, 0, P_ALIGN)))
    return result


def _classic_11(
    rows: Iterable[tuple[int, ...]], count: int, at: int, entry: int
) -> list[tuple[int, ...]]:
    """PT_PHDR, code, data, but not the table itself (CUDA 11.1)."""
    loads = [_load(*run) for run in _runs(rows, split=False)]
    return [_table(PF_R | PF_X, PT_PHDR, at, len(loads) + 1, entry), *loads]


def _none(
    rows: Iterable[tuple[int, ...]], count: int, at: int, entry: int
) -> list[tuple[int, ...]]:
    return []


SEGMENT_STYLES: dict[
    str,
    Callable[[Iterable[tuple[int, ...]], int, int, int], list[tuple[int, ...]]],
] = {
    "classic": _classic,
    "classic_10": _classic_10,
    "classic_11": _classic_11,
    "split": _split,
    "none": _none,
}
"""How program headers are made from the sections."""
