"""Program headers: which ones each generation of the writers makes, from the sections in the file.

A style takes the sections in file order, each as ``(sh_type, sh_flags, sh_offset, sh_size,
sh_addralign)``, and gives rows ``(p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz,
p_align)``. Neighbours of one style, type and flags may be given as one section.

* ``SEGMENT_STYLES``: the styles by name
* ``classic(...)``: that of executables for targets below sm_90
"""

from __future__ import annotations

from cubinspec.format.packing import align_up
from cubinspec_generated.codes import (
    PF_R,
    PF_W,
    PF_X,
    PT_LOAD,
    PT_PHDR,
    SHF_ALLOC,
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHT_NOBITS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Final

    #: sh_type, sh_flags, sh_offset, sh_size, sh_addralign
    Loaded = tuple[int, int, int, int, int]
    #: p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align
    SegmentRow = tuple[int, int, int, int, int, int, int, int]
    Style = Callable[[Iterable[Loaded], int, int, int], list[SegmentRow]]

P_ALIGN: Final = 8
P_ALIGN_32: Final = 4
_CODE: Final = PF_R | PF_X
_DATA: Final = PF_R | PF_W
_LOADED: Final = SHF_ALLOC | SHF_CUDA_MERCURY
#: Size of a section header by that of a program header.
_SECTION_HEADER_BYTES: Final = {56: 64, 32: 40}


def _runs(sections: Iterable[Loaded], *, split: bool) -> list[tuple[int, list[Loaded]]]:
    """Neighbouring sections with the same permissions, and those permissions.

    Args:
        split: constants are read only; else they stand in one segment with code.
    """
    loaded = [section for section in sections if section[1] & _LOADED == SHF_ALLOC]

    def access(section: Loaded) -> int:
        flags = section[1]
        if flags & SHF_WRITE:
            return _DATA
        return _CODE if flags & SHF_EXECINSTR or not split else PF_R

    runs: list[tuple[int, list[Loaded]]] = []
    for section in loaded:
        permissions = access(section)
        if not runs or runs[-1][0] != permissions:
            runs.append((permissions, []))
        runs[-1][1].append(section)
    return runs


def _load(access: int, sections: list[Loaded]) -> SegmentRow:
    """One PT_LOAD: the file span of its sections, then the memory of those without bytes."""
    start = end = sections[0][2]
    reserved = 0
    for sh_type, _, offset, size, alignment in sections:
        if sh_type == SHT_NOBITS:
            end = max(end, offset)
            reserved = align_up(reserved, alignment) + size
        else:
            end = offset + size
    return (PT_LOAD, access, start, 0, 0, end - start, end - start + reserved, P_ALIGN)


def _table(access: int, kind: int, at: int, count: int, entry: int) -> SegmentRow:
    """The segment of the program header table itself."""
    return (kind, access, at, 0, 0, count * entry, count * entry, P_ALIGN)


def classic(sections: Iterable[Loaded], count: int, at: int, entry: int) -> list[SegmentRow]:
    """PT_PHDR, constants with code, data, the table itself.

    Args:
        count: section headers in the file.
        at: offset of the table.
        entry: bytes of a program header.
    """
    loads = [_load(access, run) for access, run in _runs(sections, split=False)]
    rows = len(loads) + 2
    return [
        _table(_CODE, PT_PHDR, at, rows, entry),
        *loads,
        _table(_CODE, PT_LOAD, at, rows, entry),
    ]


def _split(sections: Iterable[Loaded], count: int, at: int, entry: int) -> list[SegmentRow]:
    """PT_PHDR, the table itself, then one segment for each run of equal permissions."""
    loads = [_load(access, run) for access, run in _runs(sections, split=True)]
    rows = len(loads) + 2
    return [
        _table(PF_R, PT_PHDR, at, rows, entry),
        _table(PF_R, PT_LOAD, at, rows, entry),
        *loads,
    ]


def _classic_10(sections: Iterable[Loaded], count: int, at: int, entry: int) -> list[SegmentRow]:
    """PT_PHDR, code, data (CUDA 8 to 11.0); a segment without sections is all zero.

    Sizes are sums without padding, reserved memory is the largest section. The file part of the
    data segment reaches up to the section headers.
    """
    end = at - count * _SECTION_HEADER_BYTES[entry]
    loads: dict[int, SegmentRow] = {}
    for access, run in _runs(sections, split=False):
        start = run[0][2]
        stored = sum(size for sh_type, _, _, size, _ in run if sh_type != SHT_NOBITS)
        reserved = max((size for sh_type, _, _, size, _ in run if sh_type == SHT_NOBITS), default=0)
        in_file = end - start if access & PF_W else stored
        loads[access] = (PT_LOAD, access, start, 0, 0, in_file, stored + reserved, P_ALIGN)
    return [
        _table(_CODE, PT_PHDR, at, 3, entry),
        *[
            loads.get(access, (PT_LOAD, access, 0, 0, 0, 0, 0, P_ALIGN))
            for access in (_CODE, _DATA)
        ],
    ]


def _classic_11(sections: Iterable[Loaded], count: int, at: int, entry: int) -> list[SegmentRow]:
    """PT_PHDR, code, data, but not the table itself (CUDA 11.1)."""
    loads = [_load(access, run) for access, run in _runs(sections, split=False)]
    return [_table(_CODE, PT_PHDR, at, len(loads) + 1, entry), *loads]


def _none(sections: Iterable[Loaded], count: int, at: int, entry: int) -> list[SegmentRow]:
    return []


#: How program headers are made, by the names that producers give.
SEGMENT_STYLES: Final[dict[str, Style]] = {
    "classic": classic,
    "classic_10": _classic_10,
    "classic_11": _classic_11,
    "split": _split,
    "none": _none,
}
