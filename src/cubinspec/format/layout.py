"""Where sections stand: their order in the section header table, and the program headers.

The ranks are those of `sections.yaml`; sections of one rank keep the order in which they were made.
A style of program headers takes the sections in file order, each as ``(sh_type, sh_flags,
sh_offset, sh_size, sh_addralign)``, and gives rows ``(p_type, p_flags, p_offset, p_vaddr, p_paddr,
p_filesz, p_memsz, p_align)``. Neighbours of one style, type and flags may be given as one section.

* ``index_rank(name, sh_type)``, ``mercury_rank(name, sh_type, …)``: the rank of a section of either
  half; writers with a loop of their own read the columns themselves
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
    SHT_CUDA_INFO,
    SHT_CUDA_UFT_ENTRY,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_PROGBITS,
)
from cubinspec_generated.columns import (
    MERCURY_RANK_OF_NAME,
    MERCURY_RANK_OF_OTHERS,
    MERCURY_RANK_OF_PREFIX,
    MERCURY_RANK_OF_TYPE,
    MERCURY_RANKS_WHEN,
    RANK_OF_NAME,
    RANK_OF_OTHERS,
    RANK_OF_PREFIX,
    RANK_OF_TYPE,
    RANKS_WHEN,
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

#: nvlink makes the rows of the table of jump slots of an executable right behind the notes.
RANK_OF_UFT_ENTRY_WITH_TABLE: Final = RANKS_WHEN["slot_table"][SHT_CUDA_UFT_ENTRY]
#: Of a parameter bank that is made after everything else.
RANK_OF_DEFERRED_BANK: Final = RANKS_WHEN["deferred"][".nv.constant0."]
#: Of the table of section indices where ptxas makes it a second time.
RANK_OF_DEFERRED_INDICES: Final = RANKS_WHEN["deferred"][".symtab_shndx"]
#: Of its Mercury twin where it is made at once.
RANK_OF_EARLY_TWIN: Final = MERCURY_RANKS_WHEN["early_indices"][".nv.merc.symtab_shndx"]
_OF_BEGINNING: Final = {prefix: rank for prefix, _, rank in RANK_OF_PREFIX}
RANK_OF_BANK: Final = _OF_BEGINNING[".nv.constant"]
RANK_OF_TEXT: Final = _OF_BEGINNING[".text"]
#: That of debug data.
_RANK_OF_DEBUG: Final = _OF_BEGINNING[".debug_"]


def index_rank(name: str, sh_type: int, flags: int = SHF_ALLOC) -> int:
    """Rank of a section of the SASS half; unknown data that no memory holds are as debug data."""
    rank = RANK_OF_NAME.get(name)
    if sh_type == SHT_NOTE and not name.startswith(".note.nv."):
        return RANK_OF_TYPE[SHT_CUDA_INFO]
    if rank is None:
        rank = RANK_OF_TYPE.get(sh_type)
    if rank is not None:
        return rank
    for prefix, wanted, rank in RANK_OF_PREFIX:
        if name.startswith(prefix) and wanted in (None, sh_type):
            return rank
    is_plain = sh_type == SHT_PROGBITS and not flags & (SHF_ALLOC | SHF_EXECINSTR)
    return _RANK_OF_DEBUG if is_plain else RANK_OF_OTHERS


def mercury_rank(name: str, sh_type: int, *, capsules_last: bool, has_table: bool) -> int:
    """Rank of a section of the Mercury half, which stands behind the SASS half.

    Args:
        capsules_last: the file is of CUDA 13.4 or later.
        has_table: it has a table of jump slots.
    """
    rank = MERCURY_RANK_OF_NAME.get(name)
    if rank is None and capsules_last:
        rank = MERCURY_RANKS_WHEN["capsules_last"].get(sh_type)
    if rank is None and has_table:
        rank = MERCURY_RANKS_WHEN["slot_table"].get(sh_type)
    if rank is None:
        rank = MERCURY_RANK_OF_TYPE.get(sh_type)
    if rank is not None:
        return rank
    for prefix, wanted, rank in MERCURY_RANK_OF_PREFIX:
        if name.startswith(prefix) and wanted in (None, sh_type):
            return rank
    return MERCURY_RANK_OF_OTHERS


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
