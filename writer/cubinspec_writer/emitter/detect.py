"""Which writer made a file: the key of ``cubinspec_generated.producers.PRODUCERS`` that fits it."""

from __future__ import annotations

from itertools import pairwise

from cubinspec.format.sections import RELOCATION_TYPES, TEXT, UNIFIED_ENTRY_TYPES
from cubinspec.format.targets import toolkit_of
from cubinspec_generated.codes import (
    ET_EXEC,
    SHF_CUDA_MERCURY,
    SHI_SYMBOL_MASK,
    SHT_CUDA_MERC_SYMTAB,
    ST_BIND_SHIFT,
    STB_GLOBAL,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_generated.producers import Producer
    from cubinspec_writer.emitter.source import Source

#: Bytes behind .shstrtab where only this name was dropped.
_HOLE_SHNDX = len(".symtab_shndx") + 1
_MERCURY_SHNDX = ".nv.merc.symtab_shndx"
#: How .shstrtab begins where names stand in the order in which they were made.
_NAMED_FIRST = b"\0.shstrtab\0.strtab\0.symtab\0.symtab_shndx\0"
_WORD = 8
_BANK = ".nv.constant0."


def producer_name(source: Source) -> str:
    """The name of the writer."""
    if source.shoff == source.ehsize:
        return _table_first(source)
    hole = 0
    if source.elf.shstrndx == 1 and source.strtab_index == 2:
        hole = source.sh_offset[2] - source.sh_offset[1] - source.sh_size[1]
    if SHT_CUDA_MERC_SYMTAB in source.types:
        return _mercury(source, hole)
    if hole > 0 or _keeps_hole(source) or _constants_follow_code(source):
        return _finalizer(source, hole)
    return _classic(source)


def _table_first(source: Source) -> str:
    if not source.phentsize:
        return "table_first_no_entsize"
    named = zip(source.names, source.sh_info, strict=True)
    has_symbols = any(info & SHI_SYMBOL_MASK for name, info in named if name.startswith(".text"))
    if source.elf.shstrtab.data.startswith(b"\0.nv.compat\0"):
        return "table_first_13_3"
    return "table_first" if has_symbols else "table_first_9"


def _mercury(source: Source, hole: int) -> str:
    if _MERCURY_SHNDX in source.names and source.elf.shstrtab.data.startswith(_NAMED_FIRST):
        return "mercury"  # nothing was dropped, so there is no hole
    if hole == _HOLE_SHNDX:
        return "mercury_12_7"
    if not hole and _has_other_entry_links(source):
        return "mercury_13_5_linked"
    if not hole:
        return "mercury_13_5" if source.shoff % _WORD else "mercury_13_4"
    if ".note.nv.cuver" in source.names:
        return "mercury_12"
    return "mercury" if _counts_all(source) else "mercury_12_9"


def _has_other_entry_links(source: Source) -> bool:
    """Whether the rows of unified functions and data refer to another section than .symtab."""
    return any(
        link not in (0, source.symtab)
        for kind, link, flags in zip(source.sh_type, source.sh_link, source.sh_flags, strict=True)
        if kind in UNIFIED_ENTRY_TYPES and not flags & SHF_CUDA_MERCURY
    )


def _finalizer(source: Source, hole: int) -> str:
    if not hole and _keeps_hole(source):
        return "finalizer_13_5" if source.shoff % _WORD else "finalizer_13_4"
    small = hole <= _HOLE_SHNDX and any(name.startswith(TEXT) for name in source.names)
    if toolkit_of(source.e_version).stale_links:
        return "finalizer_12_0" if small else "finalizer_12_3"
    if small:
        return "finalizer_11_8"
    return "finalizer" if _counts_all(source) else "finalizer_12"


def _classic(source: Source) -> str:
    segments = source.elf.segment_rows
    toolkit = toolkit_of(source.e_version)
    if toolkit.stale_links:
        return "classic_12_0"
    if _counts_last_local(source):
        if not toolkit.sums_segments:
            return "classic_11_1"
        return "classic_8" if _names_banks_first(source) else "classic_10"
    if source.e_type != ET_EXEC or not source.names:
        return "classic"
    if not segments:
        return "classic_bare" if source.phentsize else "classic_bare_no_entsize"
    _, _, last_offset, *_ = segments[-1]
    return "classic" if last_offset == source.phoff else "classic_11"


def _counts_all(source: Source) -> bool:
    """Whether ``sh_info`` of ``.symtab`` is the number of symbols, as far as it could be."""
    symtab = source.symtab
    total = symtab and source.sh_info[symtab] == len(source.symbol_rows)
    return bool(total) or not _has_banks(source)


def _names_banks_first(source: Source) -> bool:
    """Whether ``.strtab`` has ``.nv.constant0.<k>`` before its ``.rel.nv.constant0.<k>``."""
    names = source.strtab.data.split(b"\0")
    bank = _BANK.encode()
    return any(after == b".rel" + name for name, after in pairwise(names) if name.startswith(bank))


def _counts_last_local(source: Source) -> bool:
    """Whether ``sh_info`` of ``.symtab`` is one less than the index of the first global."""
    rows = source.symbol_rows
    info = source.sh_info[source.symtab] if source.symtab else 0
    if not 0 <= info < len(rows) or rows[info][1] >> ST_BIND_SHIFT == STB_GLOBAL:
        return False
    return info + 1 == len(rows) or rows[info + 1][1] >> ST_BIND_SHIFT == STB_GLOBAL


def _has_banks(source: Source) -> bool:
    return any(
        name.startswith(_BANK) and kind not in RELOCATION_TYPES
        for name, kind in zip(source.names, source.sh_type, strict=True)
    )


def _keeps_hole(source: Source) -> bool:
    """Whether ``.shstrtab`` ends with the room of the dropped name."""
    return bytes(source.elf.shstrtab.data[-_HOLE_SHNDX:]) == bytes(_HOLE_SHNDX)


def _constants_follow_code(source: Source) -> bool:
    code = False
    for name in source.names:
        if name.startswith(TEXT):
            code = True
        elif code and name.startswith(_BANK):
            return True
    return False


def first_global(source: Source, producer: Producer) -> int:
    """Index of the first symbol of the global list."""
    rows = source.symbol_rows
    info = source.sh_info[source.symtab]
    if producer.constant0_deferred:
        if SHT_CUDA_MERC_SYMTAB in source.types:
            table = source.elf.find_section(SHT_CUDA_MERC_SYMTAB) or 0
            return min(max(source.sh_info[table], 1), len(rows))
        if info == len(rows):
            _, infos, _, _, _, _ = rows.columns
            for at, st_info in enumerate(infos):
                if st_info >> ST_BIND_SHIFT == STB_GLOBAL:
                    return at
    return min(max(info + producer.info_is_last_local, 1), len(rows))
