"""Bodies and fields of sections that both writers make alike."""

from __future__ import annotations

from cubinspec.format.sections import CAPSULE_PREFIX, CONSTANT_BANK_TYPES, MERCURY_PREFIX
from cubinspec_generated import records
from cubinspec_generated.codes import (
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_CALLS,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
    SHF_EXECINSTR,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_INFO,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_RESOLVED_RELA,
    SHT_CUDA_SHARED,
    SHT_CUDA_UDT,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT_ENTRY,
    SHT_CUDA_UIDX,
    SHT_NOBITS,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec_writer.linker.model import OutSection, Symbol
    from cubinspec_writer.linker.state import LinkState

    #: Offset of a signature in `.strtab`.
    OffsetOf = Callable[[str], int]

#: CUDA types of data without bytes, which are NOBITS in an executable.
_RESERVED_MEMORY = (SHT_CUDA_GLOBAL, SHT_CUDA_SHARED, SHT_CUDA_RESERVED_SHARED)


def output_type(state: LinkState, sh_type: int) -> int:
    """The type of a section in the file; executables have ELF types in place of CUDA's for data."""
    if state.options.relocatable:
        return sh_type
    if sh_type in _RESERVED_MEMORY:
        return SHT_NOBITS
    if sh_type == SHT_CUDA_GLOBAL_INIT or sh_type in CONSTANT_BANK_TYPES:
        return SHT_PROGBITS
    return sh_type


def reloc_bytes(section: OutSection) -> bytes:
    """Relocations in reverse order of merging, as nvlink writes them."""
    rows = reversed(section.relocs)
    if section.sh_type == SHT_REL:
        pack = records.REL_64.pack
        return b"".join([pack(row.offset, row.r_type, row.symbol.index) for row in rows])
    pack = records.RELA_64.pack
    return b"".join([pack(row.offset, row.r_type, row.symbol.index, row.addend) for row in rows])


def callgraph_bytes(state: LinkState, offset_of: OffsetOf) -> bytes:
    """`.nv.callgraph`: four parts, of pairs of functions or of a function and a signature."""
    graph, functions = state.graph, state.symbols.functions
    pack = records.CALLGRAPH_ENTRY.pack

    def edges(by_function: dict[Symbol, list[Symbol]]) -> list[bytes]:
        return [
            pack(function.index, other.index)
            for function in functions
            if function in by_function
            for other in reversed(by_function[function])
        ]

    def signatures(by_function: dict[Symbol, list[str]]) -> list[bytes]:
        return [
            pack(function.index, offset_of(text))
            for function in functions
            if function in by_function
            for text in reversed(by_function[function])
        ]

    rows = [pack(0, CALLGRAPH_CALLS)]
    rows += edges(graph.calls) if graph.calls else ()
    rows.append(pack(0, CALLGRAPH_ADDRESS_TAKEN))
    rows += signatures(graph.address_taken) if graph.address_taken else ()
    rows.append(pack(0, CALLGRAPH_INDIRECT_CALLS))
    rows += signatures(graph.indirect) if graph.indirect else ()
    rows.append(pack(0, CALLGRAPH_REFERENCES))
    rows += edges(graph.references) if graph.references else ()
    return b"".join(rows)


def prototype_bytes(state: LinkState, offset_of: OffsetOf) -> bytes:
    """`.nv.prototype`: external functions whose address is not taken, with their signature."""
    graph = state.graph
    return b"".join(
        records.PROTOTYPE_ENTRY.pack(function.index, offset_of(graph.prototypes[function]))
        for function in state.symbols.functions
        if function in graph.prototypes and function not in graph.address_taken
    )


#: Types that the Mercury half has copies of, beside constant banks.
_COPIED_TYPES = frozenset(
    (
        SHT_REL,
        SHT_RELA,
        SHT_CUDA_RESOLVED_RELA,
        SHT_PROGBITS,
        SHT_CUDA_INFO,
        SHT_CUDA_GLOBAL_INIT,
        SHT_CUDA_RESERVED_SHARED,
        SHT_CUDA_UDT,
        SHT_CUDA_UFT_ENTRY,
        SHT_CUDA_UDT_ENTRY,
        SHT_CUDA_UIDX,
    )
)


def has_mercury_copy(section: OutSection) -> bool:
    """Whether a section of the Mercury half is written beside its SASS twin."""
    return section.sh_type in _COPIED_TYPES or section.sh_type in CONSTANT_BANK_TYPES


def mercury_copy_name(section: OutSection) -> str:
    """The name of the Mercury copy of a section in the file."""
    is_code = section.flags & SHF_EXECINSTR
    return (CAPSULE_PREFIX if is_code else MERCURY_PREFIX) + section.name
