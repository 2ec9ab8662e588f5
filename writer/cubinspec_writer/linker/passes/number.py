"""Pass 8: order of sections and numbers of symbols.

Sections keep their order of creation inside the groups that `emit.layout` knows; symbols come in
two parts: sections, local and weak symbols in order of creation, then the globals. Dropped: names
of unified tables, shared variables, parts of a kernel's own constant bank.

Fixed from here on: `Symbol.index`, which records, relocations and the call graph hold.
"""

from __future__ import annotations

from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.model import (
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_SHARED,
    SHT_PROGBITS,
    STO_CUDA_ENTRY,
    STO_CUDA_MANAGED,
    STO_CUDA_SPACE,
    STT_CUDA_OBJECT,
    STT_FUNC,
    STT_OBJECT,
    STV_INTERNAL,
    OutSection,
    Space,
    Symbol,
)
from cubinspec_writer.linker.passes.instances import has_variables
from cubinspec_writer.linker.passes.relocate import BANK_SIZE, has_place, is_table_placeholder
from cubinspec_writer.linker.state import LinkState

_VISIBILITY = 3
#: Types of sections that have no section symbol when they are empty.
_MAYBE_EMPTY = (SHT_CUDA_SHARED, SHT_PROGBITS)
#: Value of a variable that is not defined yet.
_UNKNOWN_ADDRESS = (1 << 64) - 1
_SHARED_BITS = Space.SHARED << 5


def is_late(state: LinkState, section: OutSection) -> bool:
    """Whether a section is made by the finalizer, after everything else was named."""
    late = state.family.constant0_deferred and section.sh_type == SHT_CUDA_CONSTANT_B0
    return late and not state.family.keeps_symbols and section.owner not in state.handles.kernels


def late_sections(state: LinkState) -> list[OutSection]:
    """What the finalizer makes: parameter banks in the order of the kernels (case weak_funcs)."""
    position = {function: i for i, function in enumerate(state.symbols.functions)}
    late = [s for s in state.sections.made if s.emitted and is_late(state, s)]
    return sorted(late, key=lambda s: position.get(s.owner, -1) if s.owner is not None else -1)


def has_symbol(state: LinkState, section: OutSection) -> bool:
    """A section of size 0 is in the output without a section symbol (debug_frame without code).

    The finalizer adds the reserved bytes after symbols were made (shared_dyn on sm_90 and 100).
    """
    if section.sh_type == SHT_CUDA_SHARED:
        size = section.nobits_size if state.family.constant0_deferred else section.size
        if size == 0 or (state.options.relocatable and not has_variables(state, section)):
            return False
    elif (
        section.sh_type == SHT_PROGBITS
        and not section.content
        and section not in state.debug.emptied
    ):
        return False
    return section.has_symbol and section.emitted


def is_hidden(state: LinkState, symbol: Symbol) -> bool:
    """Whether not even the name of a symbol is in the string table."""
    options = state.options
    if options.relocatable or not (symbol.internal or symbol.space == Space.SHARED):
        return False
    if symbol.space == Space.SHARED and debugger_sees(state.options):
        return symbol.is_defined and not has_place(symbol)
    return not (options.preserve_relocs and has_place(symbol))


def is_plain(symbol: Symbol) -> bool:
    """Whether a symbol is of the common kind that no rule drops or hides."""
    shared = symbol.other & STO_CUDA_SPACE == _SHARED_BITS
    return symbol.definition is not None and not symbol.internal and not shared


def is_dropped(state: LinkState, symbol: Symbol) -> bool:
    """Whether a symbol that was entered is left out of the symbol table of an executable."""
    if state.options.relocatable:
        return False
    is_idle = state.index is None and is_table_placeholder(symbol)
    return is_idle or is_hidden(state, symbol)


def number_symbols(state: LinkState) -> list[Symbol | OutSection]:
    """Give every symbol of the output its number.

    Returns:
        The symbols in that order (null excluded); a section stands for its section symbol.
    """
    symbols: list[Symbol | OutSection] = []
    late = late_sections(state) if state.family.constant0_deferred else []
    unnumbered = set(late)
    for entry in state.names.entries:
        if type(entry) is OutSection:
            if not entry.emitted or not entry.has_symbol:
                continue
            if entry.sh_type in _MAYBE_EMPTY and not (entry.content or has_symbol(state, entry)):
                continue
            if not late or entry not in unnumbered:
                symbols.append(entry)
        elif type(entry) is Symbol and (is_plain(entry) or not is_dropped(state, entry)):
            symbols.append(entry)
    symbols += [s for s in state.symbols.globals if is_plain(s) or not is_dropped(state, s)]
    symbols += [s for s in late if has_symbol(state, s)]
    for index, item in enumerate(symbols, 1):
        if type(item) is Symbol:
            item.index = index
            continue
        item.symbol_index = index
        if item.known_symbol is not None:
            item.known_symbol.index = index
    if (
        state.family.constant0_deferred
        and not state.family.keeps_symbols
        and not state.options.relocatable
    ):
        _size_aliases(state)
    return symbols


def _size_aliases(state: LinkState) -> None:
    """The finalizer gives the size of code to the first symbol of its section, too."""
    aliases = [
        (f, owner)
        for f in state.symbols.functions
        if f.section is not None and (owner := f.section.owner) is not None and owner is not f
    ]
    sized: set[Symbol] = set()
    for alias, owner in sorted(aliases, key=_number_of_alias):
        if alias.index < owner.index and owner not in sized:
            alias.size = owner.size
            sized.add(owner)


def _number_of_alias(pair: tuple[Symbol, Symbol]) -> int:
    return pair[0].index


def symbol_fields(state: LinkState, symbol: Symbol) -> tuple[int, int, int]:
    """`st_info`, `st_other` and `st_value` as the output has them."""
    kind, other, value = symbol.kind, symbol.other, symbol.value
    if kind == STT_FUNC and not state.family.keeps_symbols:
        if not state.options.relocatable:
            other &= STO_CUDA_ENTRY | STO_CUDA_MANAGED | _VISIBILITY
        return symbol.bind << 4 | kind, other, value
    if state.options.relocatable and _is_wanted(symbol):
        value = _UNKNOWN_ADDRESS
    if state.family.keeps_symbols:
        seen = symbol.space == Space.SHARED and debugger_sees(state.options)
        if symbol.internal and not state.options.relocatable and not seen:
            other |= STV_INTERNAL
        return symbol.bind << 4 | _reserved_kind(state, symbol), other, value
    if not state.options.relocatable:
        kind = STT_OBJECT if kind == STT_CUDA_OBJECT else kind
        if symbol.internal and not (symbol.space == Space.SHARED and debugger_sees(state.options)):
            other = STV_INTERNAL
        else:
            # On a variable the bit of kernels says that it is a unified one.
            other &= STO_CUDA_ENTRY | STO_CUDA_MANAGED | _VISIBILITY
        section = symbol.section
        in_use = section is not None and section.nobits_size > 0
        if symbol.space == Space.SHARED and (symbol.is_defined or in_use):
            value += state.family.reserved_shared
    if symbol.kind in (STT_OBJECT, STT_CUDA_OBJECT) and not symbol.is_defined and not symbol.space:
        kind = _reserved_kind(state, symbol)
    return symbol.bind << 4 | kind, other, value


def _is_wanted(symbol: Symbol) -> bool:
    """Whether a variable has to come from another link (err_undef_var with -r)."""
    if symbol.is_defined or symbol.common or symbol.kind not in (STT_OBJECT, STT_CUDA_OBJECT):
        return False
    return symbol.space in (Space.GLOBAL, Space.CONSTANT) or symbol.name == BANK_SIZE


def _reserved_kind(state: LinkState, symbol: Symbol) -> int:
    """Undefined weak objects (reserved shared memory) become CUDA objects from sm_100 on."""
    if symbol.is_defined or symbol.space or symbol.kind not in (STT_OBJECT, STT_CUDA_OBJECT):
        return symbol.kind
    if state.family.constant0_deferred or symbol.name == BANK_SIZE:
        return STT_CUDA_OBJECT
    return symbol.kind if state.options.relocatable else STT_OBJECT
