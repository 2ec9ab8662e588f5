"""Merges the sections and symbols of all inputs.

The order of everything in the output follows from the order in which this pass meets it. For each
input:

1. function symbols, in symbol order: the symbol, `.text.F`, and for a kernel `.nv.info.F` and the
   name `.nv.shared.F`;
2. all other symbols, in symbol order; a defined one first creates its section;
3. the remaining sections with content (debug data, constant banks) in section order;
4. `.nv.info.F` of device functions in section order, and metadata;
5. relocations in section order; `.rela.X` or `.rel.X` is created at its first relocation.

Sections of a dropped function and of a duplicate weak function are skipped in every step.
"""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import CONSTANT_BANK_TYPES
from cubinspec_generated.codes import (
    EMFMT_STRING,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHF_WRITE,
    SHI_REGISTERS_MASK,
    SHI_SYMBOL_MASK,
    SHN_COMMON,
    SHN_UNDEF,
    SHT_CUDA_CONSTANT,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_CONSTANT_B17,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_INFO,
    SHT_CUDA_METADATA,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_SHARED,
    SHT_CUDA_UDT,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT,
    SHT_CUDA_UFT_ENTRY,
    SHT_CUDA_UIDX,
    SHT_NOTE,
    SHT_PROGBITS,
    STB_GLOBAL,
    STB_LOCAL,
    STO_CUDA_ENTRY,
    STO_CUDA_SHARED,
    STT_FUNC,
    STT_NOTYPE,
)
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.inputs.rows import section_index
from cubinspec_writer.linker.library.copies import (
    accepted_here,
    checked_alignment,
    defined_here,
    function_at,
    named_functions,
    states_signature,
)
from cubinspec_writer.linker.library.sorting import split_sort
from cubinspec_writer.linker.model import (
    LARGEST_ALIGNMENT,
    SHARED_POOL,
    STUB_CODE,
    OutSection,
    Symbol,
)
from cubinspec_writer.linker.passes.merge.one_input import (
    SHARED,
    OneInput,
    place_section,
    shared_without_names,
)
from cubinspec_writer.linker.passes.merge.relocations import merge_relocations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.rows import InSection, InSymbol
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import (
        Attributes,
        Constants,
        Debug,
        Job,
        KeptNames,
        Maker,
        Names,
        Reach,
        Relocations,
        Sections,
        Symbols,
        Unified,
    )

_OPTIMIZER: Final = SHT_CUDA_CONSTANT_B2
_UNIFIED_ENTRIES: Final[tuple[int, ...]] = (SHT_CUDA_UFT_ENTRY, SHT_CUDA_UDT_ENTRY)
#: Types of sections that are looked at again when all symbols are merged, as data of type PROGBITS
#: are.
_WITH_CONTENT: Final = frozenset(
    (
        SHT_CUDA_GLOBAL_INIT,
        *range(SHT_CUDA_CONSTANT_B0, SHT_CUDA_CONSTANT_B17 + 1),
        SHT_CUDA_UFT,
        *_UNIFIED_ENTRIES,
    )
)

#: Types of sections that are merged as they are when the link has no index of its own.
_KEPT: Final[tuple[int, ...]] = (SHT_CUDA_CONSTANT, SHT_CUDA_UIDX)

#: Types of sections whose variables are packed one by one.
_SHARED_TYPES: Final[tuple[int, ...]] = (SHT_CUDA_SHARED, SHT_CUDA_RESERVED_SHARED)

#: Notes that the output has anyway, and those of old toolkits.
_KNOWN_NOTES: Final = ".note.nv."

READS = (
    "object.bound object.called object.repeats symbol.bind symbol.definition symbol.first "
    "symbol.in_globals symbol.kind symbol.live symbol.other symbol.replaced"
)
WRITES = (
    "attributes.order constants.lost constants.mixed constants.tables content.attributes "
    "content.notes debug.emptied debug.first debug.framed debug.num_named names.entries "
    "names.kept names.loose names.reserved object.placed relocations.listings "
    "relocations.num_merged relocations.resolved relocations.sections relocations.staged "
    "section.align section.content section.emitted section.info_section section.info_value "
    "section.nobits_size section.relocs sections.by_type sections.made sections.members "
    "sections.staging sections.strays sections.unowned sections.vacated symbol.alignment "
    "symbol.entered symbol.internal symbol.name symbol.parts symbol.section symbol.value "
    "symbols.functions symbols.globals symbols.null_value symbols.strong unified.rows "
    "unified.stubs"
)
FREEZES = (
    "attributes.order constants.lost constants.mixed constants.tables debug.emptied debug.first "
    "debug.framed debug.num_named names.loose relocations.num_merged relocations.staged "
    "sections.members sections.staging sections.strays symbol.alignment symbol.entered symbol.name "
    "symbols.functions symbols.strong unified.rows unified.stubs"
)


def run(
    job: Job,
    objects: list[InputObject],
    diagnostics: Diagnostics,
    names: Names,
    symbols: Symbols,
    sections: Sections,
    relocations: Relocations,
    constants: Constants,
    unified: Unified,
    attributes: Attributes,
    debug: Debug,
    reach: Reach,
    maker: Maker,
) -> None:
    """Merge all inputs, in order (rule B1)."""
    for obj in objects:
        one = OneInput(
            obj,
            job,
            names,
            symbols,
            sections,
            relocations,
            constants,
            unified,
            attributes,
            debug,
            reach,
            maker,
        )
        _find_owners(one)
        _functions(one)
        _symbols(one)
        _content(one, diagnostics)
        _function_info(one)
        for source in obj.of_type(SHT_CUDA_METADATA):
            _metadata(one, source)
        if names.kept is not None:
            _keep_signatures(one, names.kept)
        for relocs in obj.relocs:
            merge_relocations(one, relocs, diagnostics)
            relocs.read = None  # few ask for the rows again
        for source in shared_without_names(one):
            place_section(one, source, last=True)
        _notes(one)
    for section in sections.by_type.get(SHT_CUDA_RESERVED_SHARED, ()):
        _place_reserved(section, sections.members.get(section, []), job.options.relocatable)


def _find_owners(one: OneInput) -> None:
    functions = named_functions(one.obj)
    if one.obj.is_extensible:
        # A section belongs to the kernel at its start, whatever comes first (rule A5).
        functions = sorted(functions, key=_value)
    for row in functions:
        symbol = one.obj.bound[row.index]
        if symbol is None:
            continue
        one.functions.append((row, symbol))
        shndx = row.shndx
        if shndx == SHN_UNDEF:
            continue
        behind_another = one.obj.is_extensible and shndx in one.skipped
        if shndx in one.owner or behind_another:
            one.aliases.append((symbol, row))
            continue
        if symbol.live and accepted_here(one.obj, row.index):
            one.owner[shndx] = symbol
            if row.bind == STB_GLOBAL:
                one.symbols.strong.add(symbol)
        else:
            one.skipped.add(shndx)
            if symbol.live:
                one.duplicates[shndx] = symbol


def _in_symbol_order(one: OneInput) -> dict[int, tuple[InSymbol, Symbol]]:
    """Sort the functions of an extensible whole program; returns owners by their section."""
    owners = {row.shndx: (row, f) for row, f in one.functions if one.owner.get(row.shndx) is f}
    one.functions.sort(key=_index)
    return owners


def _value(row: InSymbol) -> int:
    return row.value


def _index(function: tuple[InSymbol, Symbol]) -> int:
    return function[0].index


def _functions(one: OneInput) -> None:
    obj = one.obj
    info = {s.info: s for s in obj.of_type(SHT_CUDA_INFO) if s.info}
    starting = _in_symbol_order(one) if obj.is_extensible else {}
    kept = one.names.kept
    for row, symbol in one.functions:
        if kept is not None and row.shndx == SHN_UNDEF and symbol.name not in kept.strings:
            kept.strings.setdefault("")  # that of no section
        if not symbol.live:
            _dead_kernel(one, symbol)
            if kept is not None:
                _keep_function(one, kept, row, symbol)
            if obj.is_extensible and row.value:
                one.maker.enter_name(symbol)  # rule A5
            continue
        kernel = starting.pop(row.shndx, None)
        if kernel is not None and kernel[1] is not symbol:
            # The first symbol of a section makes it, whoever owns it.
            one.maker.enter(kernel[1])
            _code(one, *kernel, info)
            one.maker.enter(symbol)
            continue
        one.maker.enter(symbol)
        if one.owner.get(row.shndx) is symbol and obj.placed[row.shndx] is None:
            _code(one, row, symbol, info)
    for alias, row in one.aliases:
        owner = one.owner.get(row.shndx) or one.duplicates.get(row.shndx)
        if alias.live and owner is not None and defined_here(obj, row.index):
            alias.section, alias.value = owner.section, row.value


def _code(one: OneInput, row: InSymbol, symbol: Symbol, info: dict[int, InSection]) -> None:
    """Merge the code of a function and what belongs to it.

    Args:
        info: the attributes of functions, by the section of their code.
    """
    # What the host says takes effect when all is merged (rule R6).
    by_host = one.reach.filter is not None and one.reach.filter.by_host
    joins_stubs = one.job.index is not None and not one.job.options.relocatable
    text = one.obj.sections[row.shndx]
    index, name, data = text.index, _named_after(one, text, symbol, text.info), text.data
    if joins_stubs and name.startswith(STUB_CODE):
        from cubinspec_writer.linker.passes.merge.unified import merge_stub

        merge_stub(one, symbol, text, info.get(index))
        return
    is_new = symbol.section is None
    if symbol.section is not None:
        _replace(one, symbol, row)
        section = symbol.section
    else:
        section = one.maker.create_section(
            name, text.sh_type, text.flags, text.align, symbol, text.entsize
        )
    if section.is_nobits or not is_new:
        section.append(data, text.size, 0)
    else:
        section.content = data
    section.info_value = text.info & SHI_REGISTERS_MASK
    symbol.section = section
    one.obj.placed[index] = (section, 0)
    # One that an input in front has named is known as a kernel by then (rule L6).
    is_known = is_new and symbol.first is not one.obj
    if not symbol.other & STO_CUDA_ENTRY:
        return
    is_kernel = one.reach.is_merged_as_kernel(symbol)
    if is_kernel or by_host or is_known:
        own = info.get(index)
        if own is not None:
            _info_section(one, own, symbol, is_new=is_new)
        name = SHARED + symbol.name
        if is_new or not ((name, symbol) in one.names.reserved or one.sections.find(name, symbol)):
            one.names.reserve(name, symbol)


def _named_after(one: OneInput, source: InSection, owner: Symbol, info: int) -> str:
    """The name of a section of a function, which may be an alias that came first (rule A8).

    Args:
        info: `sh_info` of its code, which says whose it was in the input.
    """
    bound, index = one.obj.bound, info & SHI_SYMBOL_MASK
    before = bound[index] if index < len(bound) else None
    if before is None or before is owner or not one.aliases:
        return source.name
    return source.name.removesuffix(before.name) + owner.name


def _replace(one: OneInput, symbol: Symbol, row: InSymbol) -> None:
    """Empty what an earlier copy of a function left, so that this one takes its place.

    Places in all lists stay, and so do shared variables. A parameter bank that a strong kernel
    brings is appended (`_place`), except where the finalizer makes it.
    """
    for section in symbol.parts:
        if one.sections.find(section.name, symbol) is not section:
            one.constants.mixed.add(section)
            continue  # nvlink empties the first of a name (rule W18)
        if section.sh_type == SHT_CUDA_CONSTANT_B0:
            if one.job.family.constant0_deferred:
                section.content = b""
            continue
        if section.flags & SHF_EXECINSTR or section.sh_type in CONSTANT_BANK_TYPES:
            section.content = b""
            if section is not symbol.section and section not in one.sections.staging:
                section.emitted = False
                one.sections.vacated.append(section)
            one.constants.lost = [x for x in one.constants.lost if x[0] is not section]
            if section is symbol.section:
                section.align = one.obj.sections[row.shndx].align
            one.sections.members.pop(section, None)
        if section.sh_type in CONSTANT_BANK_TYPES:
            one.constants.mixed.add(section)
            one.constants.tables.pop(section, None)
            if not one.job.toolkit.leaves_relocations:
                _forget_relocations(one, section)
            continue  # else they stay (rule F4)
        for is_rela in (False, True):
            relocs = one.maker.reloc_section(section, is_rela)
            if relocs is not None:
                relocs.relocs.clear()


def _forget_relocations(one: OneInput, bank: OutSection) -> None:
    """Remove what a copy that gave way has told about its jump tables (rule K33)."""
    one.relocations.staged.pop(bank, None)
    relocs = one.relocations.sections.get((bank, True))
    if relocs is not None:
        relocs.relocs.clear()


def _dead_kernel(one: OneInput, kernel: Symbol) -> None:
    """Enter the name of a shared section that a removed kernel leaves behind (rule N2)."""
    wanted = one.reach.filter
    if kernel.is_entry and wanted is not None and wanted.by_host:
        one.names.add(".nv.shared." + kernel.name)


def _keep_function(one: OneInput, kept: KeptNames, row: InSymbol, function: Symbol) -> None:
    """Enter the names of a function that is not linked (rule K16)."""
    kept.enter(function)
    if row.shndx != SHN_UNDEF and accepted_here(one.obj, row.index):
        kept.enter(one.obj.sections[row.shndx].name)
        one.dropped.add(row.shndx)


def _keep_signatures(one: OneInput, kept: KeptNames) -> None:
    """Enter the texts of the call graph of an input where they are met (rule K16)."""
    obj = one.obj
    taken = [(a, b) for a, b in obj.callgraph.address_taken if _is_stated(obj, a)]
    called = [
        (a, b)
        for a, b in obj.callgraph.indirect
        if function_at(obj, a) is not None and accepted_here(obj, a)
    ]
    for _, offset in (*taken, *called, *obj.prototypes):
        kept.strings.setdefault(obj.string(offset))


def _is_stated(obj: InputObject, index: int) -> bool:
    return function_at(obj, index) is None or states_signature(obj, index)


def _info_section(one: OneInput, source: InSection, owner: Symbol, *, is_new: bool) -> None:
    """Take attributes over.

    Args:
        is_new: nothing of the function was merged before.
    """
    index = source.index
    name = _named_after(one, source, owner, one.obj.sections[source.info].info)
    section = None if is_new else one.sections.find(name, owner)
    if section is None:
        section = one.maker.create_section(
            name, source.sh_type, source.flags, source.align, owner, 0, False
        )
    else:
        one.attributes.order.pop(owner, None)
    section.info_section = owner.section
    section.hold(source.data)
    one.attributes.order[owner] = None
    one.obj.placed[index] = (section, 0)


def _symbols(one: OneInput) -> None:
    obj = one.obj
    for row in obj.named:
        symbol = obj.bound[row.index]
        if symbol is None or row.kind == STT_FUNC:
            continue
        note = row.shndx == SHN_UNDEF and row.bind == STB_LOCAL
        is_label = row.kind == STT_NOTYPE and not row.size  # rule D2
        if note and (is_label or not one.job.options.relocatable):
            if one.names.kept is not None:
                one.names.kept.enter(symbol)
            continue  # a note of the compiler (rule N8)
        if row.shndx == SHN_UNDEF or row.shndx == SHN_COMMON:
            if symbol.space == STO_CUDA_SHARED and row.size == 0:
                _dynamic_array(one, symbol, row.value)
            one.maker.enter(symbol)
        elif accepted_here(obj, row.index):
            _defined_symbol(one, row, symbol)


def _dynamic_array(one: OneInput, symbol: Symbol, alignment: int) -> None:
    """Arrays of dynamic size live in the pool of variables that no kernel owns.

    Args:
        alignment: 0, but for what stands for arrays since a link with `-r`: its place there,
            which nvlink takes for an alignment (rule R8).
    """
    pool = one.sections.find(SHARED_POOL) or one.maker.create_section(
        SHARED_POOL, SHT_CUDA_SHARED, SHF_WRITE | SHF_ALLOC, 0
    )
    if alignment > LARGEST_ALIGNMENT:
        raise BadStructureError(
            f"'{symbol.name}' has alignment {alignment:#x}",
            file=one.obj.name,
            expected=f"up to {LARGEST_ALIGNMENT:#x}",
        )
    if not symbol.entered:
        pool.align = max(pool.align, alignment)
        symbol.alignment = max(symbol.alignment, alignment)
        one.sections.members.setdefault(pool, []).append(symbol)


def _defined_symbol(one: OneInput, row: InSymbol, symbol: Symbol) -> None:
    source = one.obj.sections[row.shndx]
    # Those of duplicates count, too (rule R4).
    one.num_parts += source.sh_type == _OPTIMIZER
    place = place_section(one, source)
    if place is None:
        if source.info in one.dropped and one.names.kept is not None:
            one.names.kept.enter(symbol)
        return
    if source.sh_type in _SHARED_TYPES and not symbol.space:
        place[0].append(b"", source.size, source.align)  # nothing packs it (rule E3)
    if source.sh_type == _OPTIMIZER:
        one.constants.tables.setdefault(place[0], []).append((place[1] + row.value, row.size))
    if not defined_here(one.obj, row.index):
        # A better definition comes later, but the name stands here. In shared memory the variable
        # takes up space twice (rule W14).
        if symbol.space == STO_CUDA_SHARED:
            one.sections.members.setdefault(place[0], []).append(symbol)
        one.maker.enter(symbol)
        return
    section, base = place
    symbol.section = section
    symbol.value = base + row.value
    if source.sh_type == SHT_CUDA_RESERVED_SHARED:
        # As for shared variables, the row holds the alignment (rule R1).
        symbol.alignment = checked_alignment(one.obj, row)
        symbol.value = row.value
    if symbol.space == STO_CUDA_SHARED:
        symbol.alignment = symbol.value = checked_alignment(one.obj, row)
        section.align = max(section.align, row.value)
    symbol.internal = _is_internal(section, symbol)
    members = one.sections.members.setdefault(section, [])
    members.append(symbol)
    is_part = one.job.family.capsule and section.sh_type in CONSTANT_BANK_TYPES
    if is_part and section.owner and one.job.toolkit.renames_parts:
        symbol.name = f".nv.constant.optimizer.{section.owner.name}.{one.num_parts}"
    one.maker.enter(symbol)


def _place_reserved(section: OutSection, members: list[Symbol], is_relocatable: bool) -> None:
    """Give reserved variables their places, those with the largest alignment first (rule S15)."""
    packed = [symbol for symbol in members if symbol.space]
    for symbol in split_sort(packed, _larger_alignment):
        placed = section.append(b"", symbol.size, symbol.alignment)
        if not is_relocatable:
            symbol.value = placed


def _larger_alignment(a: Symbol, b: Symbol) -> bool:
    return a.alignment >= b.alignment


def _content(one: OneInput, diagnostics: Diagnostics) -> None:
    obj = one.obj
    code = obj.of_type(SHT_PROGBITS)
    others = [section for section in code if not section.flags & SHF_EXECINSTR]
    if one.job.index is None:
        # Sections of unknown kinds are kept (rule E1).
        others += obj.of_types(_KEPT)
    if one.job.options.relocatable:
        # Duplicates of weak variables stay there (rule R16).
        others += obj.of_type(SHT_CUDA_UDT)
    for section in sorted(others + obj.of_types(_WITH_CONTENT), key=section_index):
        if section.sh_type == SHT_CUDA_UFT:
            is_open = obj.placed[section.index] is None and section.index not in one.skipped
            if is_open and section.name.startswith(STUB_CODE):
                _unnamed_stub(one, section, diagnostics)
        elif section.sh_type in _UNIFIED_ENTRIES:
            from cubinspec_writer.linker.passes.merge.unified import merge_entries

            merge_entries(one, section)
        elif not section.flags & SHF_EXECINSTR:
            # Initial values come, too, where nothing names them (rule B4).
            place_section(one, section, last=True)


def _unnamed_stub(one: OneInput, section: InSection, diagnostics: Diagnostics) -> None:
    """A section of the kind of stubs that no function names stays as it is (rule E3).

    Raises:
        LinkError: nvlink looks for the symbol of its function, or for its place in the index.
    """
    if one.job.index is not None:
        raise UnsupportedLinkError(f"code in section '{section.name}' that no symbol names")
    if section.info and one.job.family.registers_in_sh_info:
        raise diagnostics.fatal("Internal error: reference to deleted symbol")
    name, size, align = section.name, section.size, section.align
    made = one.sections.find(name) or one.maker.create_section(
        name, section.sh_type, section.flags, align, entsize=section.entsize
    )
    made.info_value = section.info
    one.obj.placed[section.index] = made, made.append(section.data, size, align)


def _function_info(one: OneInput) -> None:
    kept = one.names.kept
    for section in one.obj.of_type(SHT_CUDA_INFO):
        if not section.flags & SHF_INFO_LINK:
            continue
        owner = one.owner.get(section.info)
        if owner is None and kept is not None:
            kept.enter(section.name)  # rule K16
        elif owner is not None and one.obj.placed[section.index] is None:
            _info_section(one, section, owner, is_new=len(owner.parts) == 1)


def _metadata(one: OneInput, source: InSection) -> None:
    """Append nodes of metadata; the pass `callgraph` gives their texts places (rule E6).

    Raises:
        UnsupportedLinkError: the section is no whole number of nodes; nvlink crashes then.
    """
    from cubinspec.format.metadata import metadata_size  # few inputs have any

    if metadata_size(source.data) != source.size:
        raise UnsupportedLinkError(f"section '{source.name}', which ends inside a node")
    if not source.size:
        return
    if one.names.kept is not None:
        _keep_texts(one, one.names.kept, source)
    section = one.sections.find(source.name) or one.maker.create_section(
        source.name, source.sh_type, source.flags, source.align, entsize=source.entsize
    )
    one.obj.placed[source.index] = section, section.append(source.data, source.size, source.align)


def _keep_texts(one: OneInput, kept: KeptNames, source: InSection) -> None:
    """Enter the texts of metadata: of a node those of its values, then its name (rule K16)."""
    from cubinspec.format.metadata import metadata_rows

    for _, ofs_name, values, _ in metadata_rows(source.data):
        texts = [one.obj.string(value) for form, value in values if form == EMFMT_STRING]
        kept.strings.update(dict.fromkeys(texts))
        kept.enter(source.name)
        kept.strings.setdefault(one.obj.string(ofs_name))


def _notes(one: OneInput) -> None:
    """Notes that no tool of NVIDIA writes stay as they are; where a symbol is in one, it is twice.

    Rule E1.
    """
    for section in one.obj.of_type(SHT_NOTE):
        if not section.name.startswith(_KNOWN_NOTES):
            known = one.obj.placed[section.index]
            if known is not None:
                known[0].append(section.data, section.size, section.align)
            else:
                place_section(one, section, last=True)


def _is_internal(section: OutSection, symbol: Symbol) -> bool:
    """Whether a name serves relocations only: shared variables and parts of a kernel's bank."""
    if symbol.space == STO_CUDA_SHARED:
        return True
    return section.sh_type in CONSTANT_BANK_TYPES and section.owner is not None
