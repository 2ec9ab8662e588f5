"""Puts the parts of a cubin together: sections, symbols and names in the order of ptxas 13.0.

names, symbols, notes, .nv.info, .nv.compat
for each function: code, attributes, shared memory; behind the first one the module's own
    sections and symbols; then constants, inner functions, relocations, parameters
.debug_frame, relocations of data and frames, call graph, prototypes
sm_90 and later: parameter banks;  sm_100 and later: the Mercury half
"""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec.format.compat import written_records
from cubinspec.format.notes import OWNER
from cubinspec.format.packing import abi_7_flags, abi_8_flags
from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec.format.targets import FINALIZER
from cubinspec_generated.codes import (
    ABI_7,
    EF_CUDA_V2_CAPSULE,
    EF_CUDA_V2_SASS_ONLY,
    ELFCLASS32,
    ELFCLASS64,
    ELFOSABI_CUDA,
    ET_EWP,
    ET_EXEC,
    ET_REL,
    NT_NV_CUINFO,
    NT_NV_TKINFO,
    SHF_CUDA_MERCURY,
    SHF_INFO_LINK,
    SHF_NOTE_NV_CUINFO,
    SHF_NOTE_NV_TKINFO,
    SHN_LORESERVE,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_INFO,
    SHT_CUDA_METADATA,
    SHT_NOTE,
    SHT_REL,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
)
from cubinspec_generated.codes_sizes import SIZEOF_SYMBOL_32, SIZEOF_SYMBOL_64
from cubinspec_writer.builder import attributes
from cubinspec_writer.builder.assembly import Assembly
from cubinspec_writer.builder.data import add_module, unified_rows
from cubinspec_writer.builder.frames import default_frame
from cubinspec_writer.builder.functions import (
    add_alias,
    add_function,
    add_inner,
    name_all_handles,
)
from cubinspec_writer.builder.mercury import Mercury
from cubinspec_writer.builder.parts import ADDRESS_TAKEN, INDIRECT_CALLS, INSTANCE, SHARED
from cubinspec_writer.builder.records import (
    metadata_nodes,
    module_records,
    module_rows,
    no_index,
    num_later_rows,
    numbered,
    with_library_record,
)
from cubinspec_writer.builder.refusals import check_parts
from cubinspec_writer.builder.tables import (
    add_call_graph,
    add_frames,
    add_relocation_actions,
    data_rank,
    graph_rows,
    prototype_rows,
)
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.layout import Planner
from cubinspec_writer.emitter.model import Description, Dropped, Header, Section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.builder.parts import CubinParts
    from cubinspec_writer.emitter.bodies import AttributeRecord

_OWNER = OWNER.rstrip(b"\0").decode()
_INDICES = ".symtab_shndx"
#: Version of the layout of both notes.
_NOTE_VERSION = 2


def assemble(parts: CubinParts) -> Description:
    """The description of a cubin.

    Raises:
        CubinError: parts contradict each other, or name something that is not there.
    """
    assembly = Assembly(parts)
    _check(assembly)
    check_parts(parts, assembly.target)
    _add_head(assembly)
    if parts.is_library:
        add_module(assembly)
    for number, function in enumerate(parts.functions):
        add_function(assembly, function, first=not number)
        if not number:
            assembly.num_first_data = len(assembly.data_sections)
    if not parts.written.notes:
        # older toolkits make second names, which have no size, behind all functions
        for function in parts.functions:
            second = [one for one in function.inner if not one.size]
            add_inner(assembly, _section(assembly, function.section), second)
    for alias, name in parts.aliases.items():
        add_alias(assembly, alias, name)
    frame = parts.frame or default_frame(parts.functions, relocatable=parts.relocatable)
    if not parts.written.notes:
        _name_signatures(assembly)
    if parts.metadata:
        _add_metadata(assembly)
    add_frames(assembly, frame)
    for symbol in assembly.undefined:
        assembly.mention(symbol)
    add_call_graph(assembly)
    assembly.history += assembly.deferred
    name_all_handles(assembly)
    assembly.history += assembly.last
    if parts.keeps_relocations and not (parts.written.notes or assembly.instances):
        has_dynamic = any(one.space == SHARED and not one.size for one in parts.variables)
        assembly.history += [Dropped(INSTANCE)] if has_dynamic and not parts.relocatable else []
    if assembly.final and not assembly.finalizer and parts.written.rel_action:
        add_relocation_actions(assembly)
    assembly.history += assembly.instances
    number = assembly.num_first_data
    assembly.data_sections[:number] = sorted(assembly.data_sections[:number], key=data_rank)
    assembly.data_sections[number:] = sorted(assembly.data_sections[number:], key=data_rank)
    mercury = Mercury(assembly) if assembly.has_capsule else None
    if mercury is not None:
        assembly.history += mercury.sections()
    _extend_indices(assembly)
    description = Description(
        _header(assembly), assembly.history, assembly.globals, _profile(assembly)
    )
    _resolve(assembly, description)
    if mercury is not None:
        mercury.resolve(description)
    return description


def _extend_indices(assembly: Assembly) -> None:
    """Write the table of section indices where those of symbols are too small.

    ptxas makes it at once, and drops it from all other files. Where only both halves of a file
    together have so many sections, it drops it and makes it again with what it makes last. One half
    has so many when the next section would be the first that symbols cannot name; the table itself
    counts, and so does what executables of the finalizer make and drop for older drivers.
    """
    history = assembly.history
    sections = [entry for entry in history if isinstance(entry, Section)]
    near = 1 + sum(not one.sh_flags & SHF_CUDA_MERCURY for one in sections)
    made = near + 1 + (assembly.final and assembly.finalizer)
    if not assembly.finalizer:
        # relocations of the parameters of each kernel were made, too, in executables twice
        kernels = sum(function.kernel for function in assembly.parts.functions)
        made += (1 + assembly.final) * kernels
    is_early = made + 1 >= SHN_LORESERVE
    if not is_early and len(sections) + 1 < SHN_LORESERVE:
        return
    table = _index_table(_INDICES, bodies.Computed("symtab_shndx"))
    if is_early:
        names = [getattr(entry, "name", "") for entry in history]
        history[names.index(_INDICES)] = table
    else:
        table.deferred = True
        last = {id(section) for section in (*assembly.deferred, *assembly.last)}
        is_last = [
            id(entry) in last or (isinstance(entry, Section) and entry.sh_flags & SHF_CUDA_MERCURY)
            for entry in history
        ]
        history.insert(is_last.index(True), table)
    if assembly.has_capsule:
        twin = _index_table(MERCURY_PREFIX + _INDICES, bodies.Computed("merc_symtab_shndx"))
        twin.sh_flags = SHF_CUDA_MERCURY
        # behind the capsules, or in front of the symbol table of that half
        is_capsule = [getattr(entry, "sh_type", 0) == SHT_CUDA_CAPMERC for entry in history]
        behind = len(history) - is_capsule[::-1].index(True) if is_early else len(history) - 1
        history.insert(behind, twin)


def _index_table(name: str, words: bodies.Computed) -> Section:
    size = bodies.WORD.size
    return Section(name, SHT_SYMTAB_SHNDX, words, sh_addralign=size, sh_entsize=size)


def _check(assembly: Assembly) -> None:
    parts, target = assembly.parts, assembly.target
    names: set[str] = set()
    for name in (
        *(function.name for function in parts.functions),
        *(variable.name for variable in parts.variables),
    ):
        if not name or "\0" in name:
            raise BadStructureError(f"{name!r} is no name")
        if name in names:
            raise BadStructureError(f"two parts are named {name!r}")
        names.add(name)
    if parts.extensible and parts.relocatable:
        raise BadStructureError(
            "a file is both relocatable and extensible",
            expected="one of the two; a whole program is not relocatable",
        )
    given = any(function.capsule is not None for function in parts.functions)
    if given and not target.family.capsule:
        raise BadStructureError(f"{target.name} has no Mercury capsules")
    for function in parts.functions:
        if (function.capsule is not None) != assembly.has_capsule:
            raise BadStructureError("every function needs a capsule, or none", field=function.name)


def _header(assembly: Assembly) -> Header:
    parts, goal = assembly.parts, assembly.target
    if not parts.written.notes:
        virtual_sm = goal.sm if parts.virtual_sm is None else parts.virtual_sm
        return Header(
            ELFCLASS64 if parts.is_64 else ELFCLASS32,
            ELFOSABI_CUDA,
            ABI_7,
            e_type=_file_type(assembly),
            e_version=parts.toolkit,
            e_flags=abi_7_flags(
                goal.sm,
                virtual_sm,
                specific=goal.is_specific,
                is_64=parts.is_64,
                independent=parts.independent_samplers,
            ),
        )
    kind = EF_CUDA_V2_CAPSULE if assembly.has_capsule else EF_CUDA_V2_SASS_ONLY
    return Header(
        e_type=_file_type(assembly),
        e_flags=abi_8_flags(kind, goal.sm),
    )


def _file_type(assembly: Assembly) -> int:
    if assembly.parts.extensible:
        return ET_EWP
    return ET_REL if assembly.relocatable else ET_EXEC


def _profile(assembly: Assembly) -> str:
    """The name of the producer; without capsules it is that of the family before."""
    family = assembly.target.family
    if family.capsule and not assembly.has_capsule:
        family = FINALIZER
    return assembly.parts.written.producers[family.name]


def _add_head(assembly: Assembly) -> None:
    """Make what stands in front of the functions."""
    parts = assembly.parts
    if parts.written.notes:
        _name_signatures(assembly)
    if parts.metadata and parts.written.notes:
        texts = bodies.Metadata(metadata_nodes(parts)).texts()
        assembly.history += [Dropped(text) for text in dict.fromkeys(texts) if text]
        assembly.history.append(Dropped("", erased=1))  # the name of the node that ends them
    assembly.add_section(".shstrtab", SHT_STRTAB, bodies.Computed("shstrtab"))
    assembly.add_section(".strtab", SHT_STRTAB, bodies.Computed("strtab"))
    symtab = bodies.Computed("symtab")
    align, size = (8, SIZEOF_SYMBOL_64) if parts.is_64 else (4, SIZEOF_SYMBOL_32)
    assembly.add_section(".symtab", SHT_SYMTAB, symtab, align=align, entry_size=size)
    assembly.drop_section(_INDICES)
    if parts.written.notes:
        _add_notes(assembly)
    has_table = parts.written.stale_links and not parts.relocatable
    if has_table or (parts.extensible and parts.written.notes):
        assembly.drop_section(".nv.uft.entry")
    records = _module_records(assembly, with_numbers=False)
    if not records and not parts.written.notes:
        assembly.drop_section(".nv.info")
    else:
        assembly.add_section(".nv.info", SHT_CUDA_INFO, bodies.InfoRecords(records), align=4)
    if assembly.finalizer:
        given = {attributes.record_code(record): record for record in parts.compat}
        computed = written_records(assembly.target)
        records = [given.pop(attributes.record_code(record), record) for record in computed]
        compat = bodies.InfoRecords([*records, *given.values()])
        assembly.add_section(".nv.compat", SHT_CUDA_COMPAT_INFO, compat, align=4)


def _add_metadata(assembly: Assembly) -> None:
    """Make the metadata; older toolkits name its texts in front of it and its nodes behind it."""
    parts = assembly.parts
    names = [] if parts.written.notes else [name for _, name, _ in parts.metadata]
    for _, _, values in parts.metadata if names else ():
        for text in values:
            if isinstance(text, str):
                assembly.drop_name(text)
    body = bodies.Metadata(metadata_nodes(parts))
    assembly.add_section(".nv.metadata", SHT_CUDA_METADATA, body, align=4)
    assembly.history += [Dropped(name) for name in names]
    assembly.history += [Dropped("", erased=1)] if names else []


def _name_signatures(assembly: Assembly) -> None:
    parts = assembly.parts
    signatures = list(parts.declared)
    signatures += [function.signature for function in parts.functions if function.signature]
    signatures += parts.signatures.values()
    signatures += [text for kind, _, text in parts.edges if kind in (ADDRESS_TAKEN, INDIRECT_CALLS)]
    assembly.history += [Dropped(text) for text in dict.fromkeys(signatures)]


def _add_notes(assembly: Assembly) -> None:
    parts = assembly.parts
    tool = parts.tool
    said = bodies.ToolNote(
        _NOTE_VERSION, tool.object_file, tool.name, tool.version, tool.branch, tool.arguments
    )
    note = bodies.Note(NT_NV_TKINFO, _OWNER, said)
    assembly.add_section(".note.nv.tkinfo", SHT_NOTE, bodies.Notes([note]), SHF_NOTE_NV_TKINFO, 4)
    virtual_sm = assembly.target.sm if parts.virtual_sm is None else parts.virtual_sm
    about = bodies.CuinfoNote(_NOTE_VERSION, virtual_sm, parts.toolkit)
    note = bodies.Note(NT_NV_CUINFO, _OWNER, about)
    flags = SHF_NOTE_NV_CUINFO | (SHF_INFO_LINK if assembly.finalizer else 0)
    assembly.add_section(".note.nv.cuinfo", SHT_NOTE, bodies.Notes([note]), flags, 4)


def _module_records(assembly: Assembly, *, with_numbers: bool) -> list[AttributeRecord]:
    """``.nv.info``; without symbol numbers as long as they are not known."""
    index = assembly.index if with_numbers else no_index
    rows = module_rows(assembly)
    records, number = module_records(rows, index), num_later_rows(assembly, rows)
    return with_library_record(assembly.parts, assembly.target, records, number)


def _resolve(assembly: Assembly, description: Description) -> None:
    """Number the symbols, and write the numbers where they are needed."""
    parts = assembly.parts
    planner = Planner(description)
    planner.number_symbols()
    assembly.numbers = {id(entry): at for at, entry in enumerate(planner.symbol_entries) if at}
    records = _module_records(assembly, with_numbers=True)
    if records or parts.written.notes:
        _section(assembly, ".nv.info").body = bodies.InfoRecords(records)
    for section, rows in assembly.relocated:
        is_rela = section.sh_type != SHT_REL
        with_numbers = assembly.relocation_rows(rows, rela=is_rela)
        section.body = bodies.Relocations.from_rows(with_numbers, is_rela, parts.is_64)
    for function, section in assembly.infos:
        body = section.body
        assert isinstance(body, bodies.InfoRecords)
        body.records = [numbered(assembly, function, record) for record in body.records]
    for section in assembly.unified:
        section.body = bodies.UftEntries(unified_rows(assembly, section.name))
    if parts.has_call_graph:
        _section(assembly, ".nv.callgraph").body = bodies.Pairs(graph_rows(assembly))
    prototypes = assembly.by_name.get(".nv.prototype")
    if isinstance(prototypes, Section):
        prototypes.body = bodies.Pairs(prototype_rows(assembly))


def _section(assembly: Assembly, name: str) -> Section:
    section = assembly.by_name[name]
    assert isinstance(section, Section)
    return section
