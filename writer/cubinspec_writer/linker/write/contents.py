"""Bodies and fields of sections that both writers make alike."""

from __future__ import annotations

from cubinspec.format.packing import join
from cubinspec.format.sections import CAPSULE_PREFIX, CONSTANT_BANK_TYPES, MERCURY_PREFIX
from cubinspec.format.targets import WRITTEN
from cubinspec_generated import records
from cubinspec_generated.codes import (
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_CALLS,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
    SHF_EXECINSTR,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_CONSTANT,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_INFO,
    SHT_CUDA_METADATA,
    SHT_CUDA_PROTOTYPE,
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
from cubinspec_writer.linker.model import OutSection, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from struct import Struct
    from typing import Final

    from cubinspec.format.targets import Toolkit
    from cubinspec_writer.linker.graph import Graph
    from cubinspec_writer.linker.state import Job, Names, Symbols

    #: Offset of a signature in `.strtab`.
    OffsetOf = Callable[[str], int]

#: CUDA types of data without bytes, which are NOBITS in an executable.
_RESERVED_MEMORY: Final[tuple[int, ...]] = (
    SHT_CUDA_GLOBAL,
    SHT_CUDA_SHARED,
    SHT_CUDA_RESERVED_SHARED,
)


def output_type(job: Job, sh_type: int) -> int:
    """The type of a section in the file; executables have ELF types in place of CUDA's for data."""
    if job.options.relocatable:
        return sh_type
    if sh_type in _RESERVED_MEMORY:
        return SHT_NOBITS
    if sh_type in (SHT_CUDA_GLOBAL_INIT, SHT_CUDA_CONSTANT) or sh_type in CONSTANT_BANK_TYPES:
        return SHT_PROGBITS
    return sh_type


def entered(names: Names) -> list[OutSection | Symbol | str]:
    """What was entered, in order; of equal bare names only the first."""
    loose = names.loose
    if not loose:
        return names.entries
    reserved = set(names.reserved.values())
    seen: set[str] = set()
    found: list[OutSection | Symbol | str] = []
    for at, entry in enumerate(names.entries):
        if type(entry) is OutSection:
            if entry.name in loose:
                seen.add(entry.name)
        elif type(entry) is str and entry in loose:
            if entry in seen and at not in reserved:
                continue
            seen.add(entry)
        found.append(entry)
    return found


def made_sections(names: Names) -> tuple[list[str], list[int]]:
    """Names and indices of all sections in the order of creation; -1: it is not in the output.

    A bare name whose section is in the output counts when that is made.
    """
    bare = {entry for entry in names.entries if type(entry) is str}
    if bare:
        bare.difference_update(
            [s.name for s in names.entries if type(s) is OutSection and s.emitted]
        )
    found: list[str] = []
    indices: list[int] = []
    for entry in entered(names):
        if type(entry) is OutSection:
            found.append(entry.name)
            indices.append(entry.index if entry.emitted else -1)
        elif type(entry) is str and entry in bare:
            found.append(entry)
            indices.append(-1)
    return found, indices


def reloc_bytes(section: OutSection) -> bytes:
    """Relocations in reverse order of merging, as nvlink writes them."""
    rows = reversed(section.relocs)
    if section.sh_type == SHT_REL:
        pack = records.REL_64.pack
        return b"".join([pack(row.offset, row.r_type, row.symbol.index) for row in rows])
    pack = records.RELA_64.pack
    return b"".join([pack(row.offset, row.r_type, row.symbol.index, row.addend) for row in rows])


def reloc_tables(run: list[OutSection]) -> list[bytes | bytearray]:
    """`reloc_bytes` of sections of one type; an input may have one that holds something else."""
    table = reloc_table(run)
    size = reloc_record(run[0].sh_type).size
    found: list[bytes | bytearray] = []
    at = 0
    for section in run:
        end = at + size * len(section.relocs)
        found.append(section.content or table[at:end])
        at = end
    return found


def reloc_record(sh_type: int) -> Struct:
    """The layout of the rows of a type of relocation sections."""
    return records.REL_64 if sh_type == SHT_REL else records.RELA_64


def reloc_table(run: list[OutSection]) -> bytearray:
    """The relocations of sections of one type, one section behind the other."""
    rows = [row for section in run for row in reversed(section.relocs)]
    columns = [
        [row.offset for row in rows],
        [row.r_type for row in rows],
        [row.symbol.index for row in rows],
    ]
    if run[0].sh_type != SHT_REL:
        columns.append([row.addend for row in rows])
    return join(reloc_record(run[0].sh_type), columns)


def _listed_calls(toolkit: Toolkit, symbols: Symbols, graph: Graph) -> dict[Symbol, list[Symbol]]:
    """The calls of every function that the call graph of the output lists (rule K20)."""
    if toolkit.resolves_indirect_calls:
        return _with_indirect(symbols, graph)
    if toolkit.lists_undefined_calls:
        return graph.calls
    calls = graph.calls.items()
    return {function: [c for c in called if c.is_defined] for function, called in calls}


def _with_indirect(symbols: Symbols, graph: Graph) -> dict[Symbol, list[Symbol]]:
    """What every function calls, then for each indirect call all that it may reach."""
    reached: dict[str, list[Symbol]] = {}
    for function in symbols.functions:
        text = graph.address_taken.get(function)
        if text is not None:
            reached.setdefault(text, []).append(function)
    calls, indirect = graph.calls, graph.indirect
    return {
        function: [
            *calls.get(function, ()),
            *(callee for text in indirect.get(function, ()) for callee in reached.get(text, ())),
        ]
        for function in symbols.functions
    }


def callgraph_bytes(
    symbols: Symbols, graph: Graph, offset_of: OffsetOf, toolkit: Toolkit = WRITTEN
) -> bytes:
    """`.nv.callgraph`: four parts, of pairs of functions or of a function and a signature."""
    calls = _listed_calls(toolkit, symbols, graph)
    functions = symbols.functions
    pack = records.CALLGRAPH_ENTRY.pack

    def edges(by_function: dict[Symbol, list[Symbol]]) -> list[bytes]:
        return [
            pack(function.index, other.index)
            for function in functions
            if function in by_function
            for other in reversed(by_function[function])
        ]

    rows = [pack(0, CALLGRAPH_CALLS)]
    rows += edges(calls) if calls else ()
    rows.append(pack(0, CALLGRAPH_ADDRESS_TAKEN))
    taken = graph.address_taken
    if taken:
        for function in functions:
            if function in taken:
                text = taken[function]
                rows.append(pack(function.index, 0 if text is None else offset_of(text)))
    rows.append(pack(0, CALLGRAPH_INDIRECT_CALLS))
    if graph.indirect:
        rows += [
            pack(function.index, offset_of(text))
            for function in functions
            if function in graph.indirect
            for text in reversed(graph.indirect[function])
        ]
    rows.append(pack(0, CALLGRAPH_REFERENCES))
    rows += edges(graph.references) if graph.references else ()
    return b"".join(rows)


def prototype_bytes(symbols: Symbols, graph: Graph, offset_of: OffsetOf) -> bytes:
    """`.nv.prototype`: external functions whose address is not taken, with their signature."""
    if not graph.prototypes:
        return b""
    return b"".join(
        records.PROTOTYPE_ENTRY.pack(function.index, offset_of(graph.prototypes[function]))
        for function in symbols.functions
        if function in graph.prototypes and function not in graph.address_taken
    )


#: Types that the Mercury half has copies of, beside constant banks.
_COPIED_TYPES: Final = frozenset(
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


#: Types of sections that later toolkits copy as well (rule K31).
_COPIED_LATER: Final = (SHT_CUDA_CALLGRAPH, SHT_CUDA_PROTOTYPE, SHT_CUDA_METADATA)


def has_mercury_copy(toolkit: Toolkit, section: OutSection) -> bool:
    """Whether a section of the Mercury half is written beside its SASS twin."""
    sh_type = section.sh_type
    if sh_type in _COPIED_LATER:
        return toolkit.copies_all
    return sh_type in _COPIED_TYPES or sh_type in CONSTANT_BANK_TYPES


def mercury_copy_name(section: OutSection) -> str:
    """The name of the Mercury copy of a section in the file."""
    is_code = section.flags & SHF_EXECINSTR
    return (CAPSULE_PREFIX if is_code else MERCURY_PREFIX) + section.name
