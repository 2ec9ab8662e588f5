"""Gives every symbol its number, and code sections theirs.

Symbols come in two parts: sections, local and weak symbols in order of creation, then the globals.
Names of unified tables, shared variables and parts of a kernel's own constant bank get none.
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    SHF_EXECINSTR,
    SHI_SYMBOL_MASK,
    SHT_CUDA_SHARED,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT_ENTRY,
)
from cubinspec_writer.linker.library.outsymbols import (
    MAYBE_EMPTY,
    deferred_sections,
    has_symbol,
    is_dropped,
    is_hidden,
    is_ordinary,
)
from cubinspec_writer.linker.model import OutSection, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.state import (
        Debug,
        Handles,
        Job,
        Names,
        Sections,
        SharedMemory,
        Symbols,
        Unified,
    )

#: Types of tables whose contents later passes write.
_ROWS: Final[tuple[int, ...]] = (SHT_CUDA_UFT_ENTRY, SHT_CUDA_UDT_ENTRY)
#: Types of sections that have no section symbol when they are empty.
_MAYBE_EMPTY: Final = MAYBE_EMPTY | {SHT_CUDA_SHARED}

READS = (
    "content.notes debug.emptied handles.kernels names.entries section.content section.emitted "
    "section.flags section.has_symbol section.is_nobits section.name section.nobits_size "
    "section.owner section.reserved section.sh_type sections.before_arrays sections.fixed "
    "sections.made sections.members shared.unreached symbol.definition symbol.internal "
    "symbol.live symbol.name symbol.other symbol.section symbols.functions symbols.globals "
    "unified.rows"
)
WRITES = "section.info_value section.symbol_index symbol.index symbol.size symbols.numbered"
FREEZES = "section.symbol_index symbol.index symbol.size symbols.numbered"


def run(
    job: Job,
    names: Names,
    symbols: Symbols,
    sections: Sections,
    shared: SharedMemory,
    handles: Handles,
    unified: Unified,
    debug: Debug,
) -> None:
    """Give every symbol of the output its number (that of the null symbol is 0)."""
    numbered: list[Symbol | OutSection] = []
    deferred = deferred_sections(job, sections, handles) if job.family.constant0_deferred else []
    unnumbered = set(deferred)
    for entry in names.entries:
        if type(entry) is OutSection:
            if not entry.emitted or not entry.has_symbol:
                continue
            sh_type = entry.sh_type
            if sh_type in _MAYBE_EMPTY:
                if not (entry.content or has_symbol(job, sections, debug, entry)):
                    continue
            elif sh_type in _ROWS and not unified.rows.get(entry):
                continue
            if not deferred or entry not in unnumbered:
                numbered.append(entry)
        elif type(entry) is Symbol and (is_ordinary(entry) or not is_dropped(job, shared, entry)):
            numbered.append(entry)
    globals_ = symbols.globals
    if job.toolkit.names_hidden_first and job.family.capsule:
        globals_ = sorted(globals_, key=lambda symbol: not is_hidden(job, symbol))
    numbered += [s for s in globals_ if is_ordinary(s) or not is_dropped(job, shared, s)]
    numbered += [s for s in deferred if has_symbol(job, sections, debug, s)]
    for index, item in enumerate(numbered, 1):
        if type(item) is Symbol:
            item.index = index
            continue
        item.symbol_index = index
        if item.made_symbol is not None:
            item.made_symbol.index = index
    if job.family.constant0_deferred and not job.family.keeps_symbols:
        _size_aliases(job, symbols)
    symbols.numbered = numbered
    for function in symbols.functions:
        section = function.section
        if section is not None and section.owner is function and section.flags & SHF_EXECINSTR:
            count = section.info_value if job.family.registers_in_sh_info else 0
            section.info_value = function.index | count


def _size_aliases(job: Job, symbols: Symbols) -> None:
    """The finalizer gives the size of code to the first symbol of its section, too (rule A4).

    Other names have none, also where they were the first ones before. In CUDA 13.5 none of them has
    one (rule K33).
    """
    aliases = [
        (alias, owner)
        for alias in symbols.aliases()
        if alias.section and (owner := alias.section.owner) and not _owned_code(alias)
    ]
    sized: set[Symbol] = set()
    for alias, owner in sorted(aliases, key=_number_of_alias):
        is_first = alias.index < owner.index and owner not in sized
        is_sized = is_first and job.toolkit.sizes_aliases
        alias.size = owner.size if is_sized else 0
        sized.add(owner)


def _owned_code(function: Symbol) -> bool:
    """Whether the code was that of this name in its input; it keeps its size (rule A8)."""
    if function.definition is None:
        return False
    obj, row = function.definition
    return obj.sections[row.shndx].info & SHI_SYMBOL_MASK == row.index


def _number_of_alias(pair: tuple[Symbol, Symbol]) -> int:
    return pair[0].index
