"""Which symbols the output has, under which names, and with which fields."""

from __future__ import annotations

from cubinspec.format.sections import CONSTANT_BANK_TYPES
from cubinspec_generated.codes import (
    SHF_EXECINSTR,
    SHT_CUDA_CONSTANT,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_SHARED,
    SHT_CUDA_UFT,
    SHT_CUDA_UIDX,
    SHT_NOTE,
    SHT_PROGBITS,
    STB_LOCAL,
    STO_CUDA_CONSTANT,
    STO_CUDA_ENTRY,
    STO_CUDA_GLOBAL,
    STO_CUDA_MANAGED,
    STO_CUDA_SHARED,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
    STT_CUDA_OBJECT,
    STT_FUNC,
    STT_OBJECT,
    STV_INTERNAL,
)
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.model import INSTANCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.model import OutSection, Symbol
    from cubinspec_writer.linker.state import Debug, Handles, Job, Sections, SharedMemory

#: Size of the parameter bank of the kernel that runs; a final link has none (rule L3).
BANK_SIZE: Final = ".nv.ptx.const0.size"

#: The value of this size, and the place of an array of dynamic size for code that no kernel
#: reaches.
NO_ADDRESS: Final = -1

#: Names of the unified function and data tables; without such tables their address is 0.
_TABLES: Final[tuple[str, ...]] = ("__UFT", "__UDT")


def is_table_placeholder(symbol: Symbol) -> bool:
    """Whether the symbol stands for a unified table that this link does not have."""
    return not symbol.is_defined and symbol.name.startswith(_TABLES)


def is_linked(shared: SharedMemory, symbol: Symbol) -> bool:
    """Whether a symbol is in the program: a function is live, a shared variable is reached."""
    return symbol.live and symbol not in shared.unreached


def has_place(shared: SharedMemory, symbol: Symbol) -> bool:
    """Whether a shared variable or compiler constant is in the output.

    Names of arrays of dynamic size, variables that no kernel reaches and constants that were copied
    into the banks of kernels are not.
    """
    if symbol.section is None or not symbol.section.emitted:
        return False
    return is_linked(shared, symbol)


_VISIBILITY: Final = 3

#: Value of a variable that is not defined yet.
_UNKNOWN_ADDRESS: Final = (1 << 64) - 1

_SHARED_BITS: Final = STO_CUDA_SHARED << STO_CUDA_SPACE_SHIFT


def is_deferred(job: Job, handles: Handles, section: OutSection) -> bool:
    """Whether a section is made by the finalizer, after everything else was named."""
    deferred = job.family.constant0_deferred and section.sh_type == SHT_CUDA_CONSTANT_B0
    return deferred and not job.family.keeps_symbols and section.owner not in handles.kernels


def deferred_sections(job: Job, sections: Sections, handles: Handles) -> list[OutSection]:
    """What the finalizer makes: parameter banks in the order of the kernels' code (rule F7)."""
    code = [s.owner for s in sections.made if s.flags & SHF_EXECINSTR]
    position = {function: i for i, function in enumerate(code)}
    deferred = [s for s in sections.made if s.emitted and is_deferred(job, handles, s)]
    return sorted(deferred, key=lambda s: position.get(s.owner, -1) if s.owner is not None else -1)


#: Types of sections with bytes that have no section symbol when they are empty (rule N7).
MAYBE_EMPTY: Final = CONSTANT_BANK_TYPES | {
    SHT_CUDA_CONSTANT,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_UFT,
    SHT_CUDA_UIDX,
    SHT_NOTE,
    SHT_PROGBITS,
}


def has_symbol(job: Job, sections: Sections, debug: Debug, section: OutSection) -> bool:
    """A section of size 0 is in the output without a section symbol (debug_frame without code).

    The finalizer adds the reserved bytes after symbols were made (rule N7).
    """
    if section.sh_type == SHT_CUDA_SHARED:
        size = section.nobits_size if job.family.constant0_deferred else section.size
        if size == 0 or (job.options.relocatable and not has_variables(sections, section)):
            return False
    elif section.sh_type in MAYBE_EMPTY and not section.content and section not in debug.emptied:
        # Notes of the link get their bytes later.
        return sections.fixed.get(section.name) is section
    return section.has_symbol and section.emitted


def is_nameless(job: Job, shared: SharedMemory, symbol: Symbol) -> bool:
    """Whether not even the name of a symbol is in the string table."""
    options = job.options
    if options.relocatable or not (symbol.internal or symbol.space == STO_CUDA_SHARED):
        return False
    if symbol.space == STO_CUDA_SHARED and debugger_sees(job.options):
        if symbol.name == INSTANCE:  # rule R10
            keeps_names = job.family.names_dynamic and job.reserved_shared
            is_named = keeps_names or is_beside_variables(symbol)
            return not (options.preserve_relocs and is_named)
        return symbol.is_defined and not has_place(shared, symbol)
    return not (options.preserve_relocs and has_place(shared, symbol))


def is_beside_variables(symbol: Symbol) -> bool:
    """Whether variables that kernels have in common lie in front of an array of dynamic size."""
    return symbol.section is not None and symbol.section.nobits_size > 0


def is_ordinary(symbol: Symbol) -> bool:
    """Whether a symbol is of the common kind that no rule drops or hides."""
    shared = symbol.other & STO_CUDA_SPACE_MASK == _SHARED_BITS
    return symbol.definition is not None and not symbol.internal and not shared and symbol.live


def is_dropped(job: Job, shared: SharedMemory, symbol: Symbol) -> bool:
    """Whether a symbol that was entered is left out of the symbol table of an executable."""
    if not symbol.live:
        return True
    if job.options.relocatable:
        return False
    is_idle = job.index is None and is_table_placeholder(symbol)
    return is_idle or is_nameless(job, shared, symbol)


def bits_of_functions(job: Job) -> int | None:
    """What a function keeps of `st_other`; None: `symbol_fields` says it."""
    if job.family.keeps_symbols or job.options.relocatable:
        return None
    return STO_CUDA_ENTRY | STO_CUDA_MANAGED | _VISIBILITY


def symbol_fields(job: Job, shared: SharedMemory, symbol: Symbol) -> tuple[int, int, int]:
    """`st_info`, `st_other` and `st_value` as the output has them."""
    kind, other, value = symbol.kind, symbol.other, symbol.value
    if kind == STT_FUNC and not job.family.keeps_symbols:
        bits = bits_of_functions(job)
        return symbol.bind << 4 | kind, other if bits is None else other & bits, value
    if job.options.relocatable and _is_wanted(job, symbol):
        value = _UNKNOWN_ADDRESS
    if job.family.keeps_symbols:
        seen = symbol.space == STO_CUDA_SHARED and debugger_sees(job.options)
        if symbol.internal and not job.options.relocatable and not seen:
            other |= STV_INTERNAL
        kind = _reserved_kind(job, symbol)
        if kind == STT_OBJECT and symbol.is_defined:
            kind = STT_CUDA_OBJECT
        bind = STB_LOCAL if is_hidden(job, symbol) else symbol.bind
        return bind << 4 | kind, other, value
    if not job.options.relocatable:
        if kind in (STT_OBJECT, STT_CUDA_OBJECT):
            # A symbol in no memory space of CUDA, as its section is of an unknown kind (rule E1).
            is_spaceless = symbol.is_defined and not symbol.other & STO_CUDA_SPACE_MASK
            kind = STT_CUDA_OBJECT if is_spaceless else STT_OBJECT
        if symbol.internal and not (symbol.space == STO_CUDA_SHARED and debugger_sees(job.options)):
            other = STV_INTERNAL
        else:
            # On a variable the bit of kernels says that it is a unified one.
            other &= STO_CUDA_ENTRY | STO_CUDA_MANAGED | _VISIBILITY
        section = symbol.section
        # With -g the finalizer counts arrays of dynamic size as in use (rule S16).
        seen = job.family.capsule and debugger_sees(job.options)
        in_use = section is not None and (section.nobits_size > 0 or seen)
        if symbol.space == STO_CUDA_SHARED and (symbol.is_defined or in_use):
            # The finalizer does not know of `--disable-smem-reservation`.
            kept = job.family.reserved_shared if job.family.capsule else job.reserved_shared
            is_again = symbol in shared.again and not job.family.capsule
            value += 2 * kept if is_again else kept  # rule W14
            if is_hidden(job, symbol):
                return STB_LOCAL << 4 | kind, other, value
    if symbol.kind in (STT_OBJECT, STT_CUDA_OBJECT) and not symbol.is_defined and not symbol.space:
        kind = _reserved_kind(job, symbol)
    return symbol.bind << 4 | kind, other, value


def is_hidden(job: Job, symbol: Symbol) -> bool:
    """Whether a shared variable is local, as it lies in the memory of a kernel (rule K8)."""
    if job.options.relocatable or symbol.space != STO_CUDA_SHARED:
        return False
    section = symbol.section
    return section is not None and section.owner is not None and job.toolkit.hides_moved_shared


def is_lost(symbol: Symbol) -> bool:
    """Whether a link with `-r` writes -1 for a name, and leaves nothing to resolve it by.

    So it is for constants and shared variables of a known size that no input defines (rule R60).
    """
    if symbol.is_defined or symbol.space not in (STO_CUDA_CONSTANT, STO_CUDA_SHARED):
        return False
    return symbol.space == STO_CUDA_CONSTANT or symbol.size > 0


def _is_wanted(job: Job, symbol: Symbol) -> bool:
    """Whether a variable has to come from another link (rule R2)."""
    if symbol.is_defined or symbol.common or symbol.kind not in (STT_OBJECT, STT_CUDA_OBJECT):
        return False
    if symbol.name == BANK_SIZE:
        return symbol.value == NO_ADDRESS
    if job.options.undefined_globals:
        return False
    return symbol.space == STO_CUDA_GLOBAL or is_lost(symbol)


def _reserved_kind(job: Job, symbol: Symbol) -> int:
    """Undefined weak objects (reserved shared memory) become CUDA objects from sm_100 on."""
    if symbol.is_defined or symbol.space or symbol.kind not in (STT_OBJECT, STT_CUDA_OBJECT):
        return symbol.kind
    if job.family.constant0_deferred or symbol.name == BANK_SIZE:
        return STT_CUDA_OBJECT
    return symbol.kind if job.options.relocatable else STT_OBJECT


def has_variables(sections: Sections, section: OutSection) -> bool:
    """Whether a shared section has variables of a known size, or room in front of its arrays.

    Only then it has a symbol.
    """
    has_room = section in sections.before_arrays
    return has_room or any(v.is_defined for v in sections.members.get(section, ()))
