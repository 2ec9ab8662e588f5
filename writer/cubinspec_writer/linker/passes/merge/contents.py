"""Merging: the bytes of one input's sections."""

from __future__ import annotations

from cubinspec.format.packing import align_up
from cubinspec.format.sections import CONSTANT_BANK_TYPES, SHNDX
from cubinspec_generated.codes import (
    SHF_INFO_LINK,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_CONSTANT_B3,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_SHARED,
    SHT_NULL,
    SHT_SYMTAB_SHNDX,
    STB_LOCAL,
    STO_CUDA_SHARED,
    STO_CUDA_SPACE_SHIFT,
    STT_CUDA_OBJECT,
)
from cubinspec_writer.linker.model import (
    REGISTER_TABLE,
    SHF_UNSAID,
    OutSection,
    Symbol,
)
from cubinspec_writer.linker.passes.merge.one_input import SHARED, TABLES_OF_CODE, OneInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.inputs.rows import InSection


def place_section(
    one: OneInput, source: InSection, *, last: bool = False
) -> tuple[OutSection, int] | None:
    """Where an input section's bytes lie in the output, merging them at the first call.

    Args:
        last: no symbol will ask for this section.
    """
    index, name, sh_type, flags = source.index, source.name, source.sh_type, source.flags
    info = source.info
    known = one.obj.placed[index]
    if known is not None:
        return known
    if sh_type == SHT_NULL:
        return None
    owner = None
    if flags & SHF_INFO_LINK:
        if info in one.duplicates:
            return _place_duplicate(one, source, one.duplicates[info], last)
        if info in one.skipped:
            if sh_type == SHT_CUDA_SHARED:
                # Variables of a kernel that an option removed leave this name (rule N2).
                one.names.add(name)
            return None
        owner = one.owner.get(info)
        if sh_type == SHT_CUDA_CONSTANT_B3 and one.sections.find(name) is not None:
            owner = None  # the bank of the program takes it (rule E3)
    section = _known_section(one, source, owner)
    is_bank = sh_type in CONSTANT_BANK_TYPES
    if section is None:
        # Constants of a device function move into the banks of kernels: no name, no section.
        nameless = is_bank and owner is not None and not owner.is_entry
        nameless = nameless and not (one.job.options.relocatable or last)
        if flags & SHF_UNSAID:
            flags &= ~(SHF_UNSAID | SHF_INFO_LINK)
        if nameless:
            section = one.maker.staging_section(name, sh_type, flags, 0, owner)
        else:
            is_far = sh_type == SHT_SYMTAB_SHNDX
            place = one.names.entries.index(SHNDX) if is_far else None
            entsize = 4 if is_far else 0
            section = one.maker.create_section(name, sh_type, flags, 0, owner, entsize, place=place)
        if owner is not None:
            section.info_section = owner.section
    if is_bank and owner is not None and not last:
        source = _named_part(one, source)
    base = _merge_bytes(one, source, section)
    one.obj.placed[index] = (section, base)
    return section, base


def _merge_bytes(one: OneInput, source: InSection, section: OutSection) -> int:
    """Merge the bytes of an input section; returns where they begin."""
    name, sh_type = source.name, source.sh_type
    if sh_type == SHT_CUDA_RESERVED_SHARED:
        section.align = max(section.align, source.align)
        if not one.job.options.relocatable:
            # Rule S12.
            section.nobits_size = max(section.nobits_size, one.job.family.reserved_start)
        return 0
    if sh_type == SHT_CUDA_SHARED:
        # Executables get their size from the pass `shared`, which packs the variables one by one.
        # These have the alignment; that of the section may be `-r`'s, for arrays (rule R8).
        section.emitted = True
        if one.obj.is_extensible:
            _take_laid_out(one, source, section)
        return 0
    if one.job.family.drops_dead_frames and sh_type not in CONSTANT_BANK_TYPES:
        if name in TABLES_OF_CODE:
            from cubinspec_writer.linker.passes.merge.debug_tables import table_of_code

            return table_of_code(one, source, section)
        if name == REGISTER_TABLE:
            from cubinspec_writer.linker.passes.merge.debug_tables import register_table

            return section.append(register_table(one, source), source.size, source.align)
    return _append(one, source, section)


def _take_laid_out(one: OneInput, source: InSection, section: OutSection) -> None:
    """Take shared memory that ptxas has laid out (rule S17).

    Its variables have no symbols; nvlink treats it as one variable, that of the null symbol.
    """
    section.align = max(section.align, source.align)
    if one.job.options.relocatable and not one.symbols.null_value:
        one.symbols.null_value = source.align
    members = one.sections.members.setdefault(section, [])
    if source.size:
        # That of a duplicate lies behind it.
        start = align_up(sum(x.size for x in members), source.align)
        other = STO_CUDA_SHARED << STO_CUDA_SPACE_SHIFT
        memory = Symbol(
            "",
            STB_LOCAL,
            STT_CUDA_OBJECT,
            other,
            start + source.size,
            section=section,
            definition=(one.obj, one.obj.symbols[0]),
        )
        memory.alignment = source.align
        members[:] = [memory]


def _named_part(one: OneInput, source: InSection) -> InSection:
    """Constants of a function as far as symbols name them.

    A link with `-r` keeps those of duplicates without names; they are left out here (rule R9).
    """
    if one.named_ends is None:
        ends = one.named_ends = {}
        for row in one.obj.symbols:
            end = row.value + row.size
            if end > ends.get(row.shndx, -1):
                ends[row.shndx] = end
    end = min(one.named_ends.get(source.index, source.size), source.size)
    return source if end == source.size else source.cut(end)


def _known_section(one: OneInput, source: InSection, owner: Symbol | None) -> OutSection | None:
    """The output section that an input section goes to, if there is one so far."""
    section = one.sections.find(source.name, owner)
    if section is not None or owner is None or source.name != SHARED + owner.name:
        return section
    return one.maker.shared_section(owner)


def _append(one: OneInput, source: InSection, section: OutSection) -> int:
    """Append a block, but no second parameter bank while all copies of the kernel are weak."""
    owner = section.owner
    if section.sh_type == SHT_CUDA_CONSTANT_B0 and section.content and owner is not None:
        # Where the finalizer makes these banks, it makes them from one copy (rule W12).
        once = one.job.family.constant0_deferred or owner not in one.symbols.strong
        if once:
            return 0
    section.emitted = section.emitted or section not in one.sections.staging
    return section.append(source.data, source.size, source.align)


def _place_duplicate(
    one: OneInput, source: InSection, owner: Symbol, last: bool
) -> tuple[OutSection, int] | None:
    """Constants and shared variables of a function that another copy already defines.

    nvlink leaves them behind the first copy's (rules W7, W8). Between weak kernels the parameter
    bank is the one exception (rule W11).
    """
    section = _known_section(one, source, owner)
    if section is None and source.sh_type == SHT_CUDA_SHARED:
        section = one.maker.shared_section(owner, make=True)
    if section is None and last and source.sh_type in CONSTANT_BANK_TYPES:
        # The first copy has no constants: these get a section that nothing uses.
        section = one.maker.create_section(source.name, source.sh_type, source.flags, 0, owner)
        section.info_section = owner.section
    if section is None or source.index in one.seen_duplicates:
        return (section, 0) if section and source.sh_type == SHT_CUDA_SHARED else None
    one.seen_duplicates.add(source.index)
    if source.sh_type == SHT_CUDA_SHARED:
        section.append(b"", source.size, source.align)
        section.emitted = True
        if one.obj.is_extensible:
            _take_laid_out(one, source, section)
        return section, 0
    if source.sh_type not in CONSTANT_BANK_TYPES:
        return None
    at = _append(one, source, section)
    if source.sh_type == SHT_CUDA_CONSTANT_B0:
        # The name of the parameters shows with `-r` and `--preserve-relocs` (rule P3).
        one.obj.placed[source.index] = (section, at)
        return section, at
    one.constants.mixed.add(section)
    one.constants.tables.setdefault(section, []).append((at, source.size))
    one.duplicate_places[source.index] = (section, at)
    if section in one.sections.staging:
        one.constants.lost.append((section, at))
    return None
