"""Merging: what is known about one input, and where the bytes of its sections go."""

from __future__ import annotations

from cubinspec.format.packing import align_up
from cubinspec.format.sections import CONSTANT_BANK_TYPES, MERCURY_PREFIX, SHNDX
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
    STT_SECTION,
)
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.library.copies import (
    accepted_here,
    behind_aliases,
    defined_here,
    left_relocations,
)
from cubinspec_writer.linker.model import (
    FRAMES,
    LINE_TABLES,
    REGISTER_TABLE,
    SHF_UNSAID,
    OutSection,
    Symbol,
    written_flags,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Final

    from cubinspec_writer.linker.finalizer.kept import Kept
    from cubinspec_writer.linker.inputs.rows import InSection, InSymbol
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import (
        Attributes,
        Constants,
        Debug,
        Job,
        Maker,
        Names,
        Reach,
        Relocations,
        Sections,
        Symbols,
        Unified,
    )

#: Debug tables with an entry for every function.
TABLES_OF_CODE: Final = (FRAMES, *LINE_TABLES)
SHARED: Final = ".nv.shared."


class OneInput:
    """What merging has to know about one input, and the parts of the output that it fills.

    Attributes:
        owner: code section -> its function, for copies that are linked or were for a time.
        duplicates: the same for duplicates; of these, constants and shared variables stay.
        seen_duplicates: sections of such copies that were merged.
        duplicate_places: where their constants went; only their relocations ask.
        num_parts: parts of banks of compiler constants so far.
        skipped: code sections that are not linked.
        dropped: of these, where names are kept, those of functions that nothing reaches.
        named_ends: for every section the end of its last named part; None: not computed yet.
        functions: symbols of functions.
        aliases: functions of which the code is that of another one.
        linked: output symbol by symbol number, of those that relocations named so far and that are
            linked as they stand in the input.
        cut: what stayed of debug tables, where entries of functions that are not linked go.
        is_counted: whether relocations are numbered in the order of merging.
    """

    __slots__ = (
        "aliases",
        "attributes",
        "constants",
        "cut",
        "debug",
        "dropped",
        "duplicate_places",
        "duplicates",
        "functions",
        "is_counted",
        "job",
        "linked",
        "maker",
        "named_ends",
        "names",
        "num_parts",
        "obj",
        "owner",
        "reach",
        "relocations",
        "sections",
        "seen_duplicates",
        "skipped",
        "symbols",
        "unified",
    )

    def __init__(
        self,
        obj: InputObject,
        job: Job,
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
        self.obj: InputObject = obj
        self.job: Job = job
        self.names: Names = names
        self.symbols: Symbols = symbols
        self.sections: Sections = sections
        self.relocations: Relocations = relocations
        self.constants: Constants = constants
        self.unified: Unified = unified
        self.attributes: Attributes = attributes
        self.debug: Debug = debug
        self.reach: Reach = reach
        self.maker: Maker = maker
        self.owner: dict[int, Symbol] = {}
        self.duplicates: dict[int, Symbol] = {}
        self.seen_duplicates: set[int] = set()
        self.duplicate_places: dict[int, tuple[OutSection, int]] = {}
        self.num_parts: int = 0
        self.skipped: set[int] = set()
        self.dropped: set[int] = set()
        self.named_ends: dict[int, int] | None = None
        self.functions: list[tuple[InSymbol, Symbol]] = []
        self.aliases: list[tuple[Symbol, InSymbol]] = []
        self.linked: list[Symbol | None] = [None] * len(obj.symbols)
        self.cut: dict[int, Kept] = {}
        self.is_counted: bool = job.options.preserve_relocs or job.options.relocatable


def is_dead(one: OneInput, index: int) -> bool:
    """Whether a symbol is a function that is not linked; what names it goes (rule X8)."""
    symbol = one.obj.bound[index]
    return symbol is not None and symbol.is_function and not symbol.live


def is_forgotten(one: OneInput, index: int) -> bool:
    """Whether the entry of a replaced copy loses its relocations.

    nvlink takes them from frame and line tables, of those with addends, when the code of any
    copy that gave way had relocations with addends (rule W3), in CUDA 13.5
    also when its jump tables had some (rule K33).
    """
    symbol = one.obj.bound[index]
    if symbol is None or not symbol.replaced or defined_here(one.obj, index):
        return False
    if not accepted_here(one.obj, index):
        return False
    return left_relocations(symbol, with_tables=not one.job.toolkit.leaves_relocations)


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
            is_first = info in one.dropped or (last and sh_type in CONSTANT_BANK_TYPES)
            if is_first and one.names.kept is not None:
                one.names.kept.enter(name)
            if sh_type == SHT_CUDA_SHARED:
                # Variables of a kernel that an option removed leave this name (rule N2).
                one.names.add(name)
            return None
        owner = one.owner.get(info)
        if sh_type == SHT_CUDA_CONSTANT_B3 and one.sections.find(name) is not None:
            owner = None  # the bank of the program takes it (rule E3)
    section = _known_section(one, source, owner)
    is_bank = sh_type in CONSTANT_BANK_TYPES
    strays = one.sections.strays
    if strays and section in strays and owner is not None:  # rule W18
        section = next((p for p in owner.parts if p.name == name and p not in strays), None)
    if section is None:
        # Constants of a device function move into the banks of kernels: no name, no section.
        nameless = is_bank and owner is not None and not owner.is_entry
        nameless = nameless and not (one.job.options.relocatable or last)
        if flags & SHF_UNSAID:
            flags = _flags(one, source, owner)
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
    base = _merge_bytes(one, source, section, last=last)
    one.obj.placed[index] = (section, base)
    return section, base


def _flags(one: OneInput, source: InSection, owner: Symbol | None) -> int:
    """The flags of the output section: of old banks those of bank 0 and of functions stay (O1)."""
    is_kernels = owner is None or owner.is_entry or one.job.options.relocatable
    says_owner = is_kernels and source.sh_type != SHT_CUDA_CONSTANT_B0
    return written_flags(source.flags, says_owner=says_owner)


def _merge_bytes(one: OneInput, source: InSection, section: OutSection, *, last: bool) -> int:
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
            _take_laid_out(one, source, section, source.size)
        elif last:
            _take_laid_out(one, source, section, source.size)  # rule K22
        return 0
    if one.job.family.drops_dead_frames and sh_type not in CONSTANT_BANK_TYPES:
        if name in TABLES_OF_CODE:
            return _table_of_code(one, source, section)
        if name == REGISTER_TABLE:
            return section.append(_register_table(one, source), source.size, source.align)
    return _append(one, source, section)


def shared_without_names(one: OneInput) -> list[InSection]:
    """Sections of shared memory in which no symbol is.

    They are in extensible whole programs, where `-g` leaves them out (rule S17); and `-r` makes
    them for kernels that have nothing but arrays of dynamic size, which later linkers place (rule
    K22).
    """
    sources = one.obj.of_type(SHT_CUDA_SHARED)
    if debugger_sees(one.job.options):
        return []
    if one.obj.is_extensible:
        return sources
    if not one.job.toolkit.fills_shared_of_arrays:
        return []
    named = {row.shndx for row in one.obj.symbols if row.kind != STT_SECTION}
    return [s for s in sources if s.index not in named and s.info in one.owner]


def _take_laid_out(one: OneInput, source: InSection, section: OutSection, size: int) -> None:
    """Take shared memory that ptxas has laid out (rule S17).

    Its variables have no symbols; nvlink treats it as one variable, that of the null symbol.
    """
    section.align = max(section.align, source.align)
    is_first = one.job.options.relocatable and not one.symbols.null_value
    if is_first and section.owner is not None and one.reach.is_merged_as_kernel(section.owner):
        one.symbols.null_value = source.align
    members = one.sections.members.setdefault(section, [])
    if size:
        # That of a duplicate lies behind it.
        start = align_up(sum(x.size for x in members), source.align)
        other = STO_CUDA_SHARED << STO_CUDA_SPACE_SHIFT
        memory = Symbol(
            "",
            STB_LOCAL,
            STT_CUDA_OBJECT,
            other,
            start + size,
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
    if section is not None or owner is None:
        return section
    is_shared = source.name.startswith(SHARED) and source.name == SHARED + owner.name
    return one.maker.shared_section(owner) if is_shared else None


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
        # The first copy has no constants: these get a section that nothing uses, whose flags stay
        # (rule O1).
        flags = written_flags(source.flags, says_owner=False)
        section = one.maker.create_section(source.name, source.sh_type, flags, 0, owner)
        section.info_section = owner.section
        one.sections.strays.add(section)
    if section is None or source.index in one.seen_duplicates:
        return (section, 0) if section and source.sh_type == SHT_CUDA_SHARED else None
    one.seen_duplicates.add(source.index)
    if source.sh_type == SHT_CUDA_SHARED:
        section.append(b"", source.size, source.align)
        section.emitted = True
        if one.obj.is_extensible:
            _take_laid_out(one, source, section, source.size)
            one.obj.placed[source.index] = section, 0
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


def _table_of_code(one: OneInput, source: InSection, section: OutSection) -> int:
    """Append the entries of a debug table that are those of linked functions."""
    from cubinspec_writer.linker.finalizer.frames import keep_frames, shared_frame
    from cubinspec_writer.linker.library.unified import later_stubs

    starts = {
        offset: index
        for relocs in one.obj.relocs
        if relocs.target == source.index
        for offset, _, index, _ in relocs.rows
    }

    def is_linked(offset: int) -> bool:
        index = starts.get(offset)
        if index is None:
            return True
        here = defined_here(one.obj, index) or (
            (source.name == FRAMES or index in won)
            and accepted_here(one.obj, index)
            and not is_forgotten(one, index)
        )
        return here and not is_dead(one, index)

    def other(offset: int) -> bytes:
        index = starts.get(offset)
        symbol = one.obj.bound[index] if index is not None else None
        if index is not None and (symbol in behind_alias or symbol in behind_first):
            return shared_frame(one.obj, index, offset, is_first=False)
        if index is None or symbol is None or not symbol.replaced:
            return b""
        is_first = symbol not in one.debug.framed
        one.debug.framed.add(symbol)
        if is_first and defined_here(one.obj, index):
            return b""
        return shared_frame(one.obj, index, offset, is_first=is_first)

    won = {} if source.name == FRAMES else _winners(one, starts.values())
    behind_alias = _behind_alias(one)
    behind_first = later_stubs(one.job, one.unified, one.obj)
    if source.name == FRAMES:
        kept = keep_frames(source.data, is_linked, other)
    else:
        kept = _kept_lines(one, source, starts, is_linked, behind_alias, won)
    if kept is None:
        return section.append(source.data, source.size, source.align)
    if source.size and not kept.data:
        one.debug.emptied.add(section)
    base = section.append(kept.data, len(kept.data), source.align)
    for place, cie in kept.pointers:
        section.data[base + place : base + place + 8] = (base + cie).to_bytes(8, "little")
    one.cut[source.index] = kept
    return base


def _kept_lines(
    one: OneInput,
    source: InSection,
    starts: dict[int, int],
    is_linked: Callable[[int], bool],
    behind_alias: set[Symbol],
    won: dict[int, tuple[dict[int, int], int]],
) -> Kept | None:
    """The sequences of a line table that stay.

    Args:
        starts: symbol numbers of functions by the offsets of their addresses.
        won: as `_winners` gives it.
    """
    from cubinspec_writer.linker.finalizer.kept_lines import MercuryLines, keep_lines
    from cubinspec_writer.linker.finalizer.line_tables import END_OF_SEQUENCE

    def is_behind(index: int) -> bool:
        return one.obj.bound[index] in behind_alias

    is_sass = one.job.family.capsule and not one.job.family.keeps_symbols
    empty = END_OF_SEQUENCE if is_sass and one.job.toolkit.ends_empty_units else b""
    if not behind_alias and not won:
        return keep_lines(source.data, starts, is_linked, empty=empty)
    twin = MERCURY_PREFIX + source.name
    data = next((s.data for s in one.obj.sections if s.name == twin), b"")
    mercury = MercuryLines(data, one.obj.mercury_debug.get(source.name, {}))
    return keep_lines(source.data, starts, is_linked, mercury, is_behind, won, empty=empty)


def _winners(one: OneInput, indexes: Iterable[int]) -> dict[int, tuple[dict[int, int], int]]:
    """Of replaced copies, the places of the winning copy's instructions and the size of its code.

    Rule D9.

    Args:
        indexes: of functions.
    """
    found = {}
    for index in indexes:
        symbol = one.obj.bound[index]
        if symbol is None or not symbol.replaced or symbol.definition is None:
            continue
        if defined_here(one.obj, index):
            continue
        from cubinspec_writer.linker.finalizer.offsets import sass_offsets

        linked, row = symbol.definition
        places = sass_offsets(linked, row.shndx)
        if places:
            found[index] = places, linked.sections[row.shndx].size
    return found


def _behind_alias(one: OneInput) -> set[Symbol]:
    """Functions that the finalizer looks for under an alias."""
    if not one.job.toolkit.sizes_aliases:
        return set()
    pairs = [(alias, one.owner.get(row.shndx)) for alias, row in one.aliases]
    return behind_aliases([(a, owner) for a, owner in pairs if owner], one.symbols.globals)


def _register_table(one: OneInput, source: InSection) -> bytes:
    """The table of registers with the places of functions that are linked as they stand here.

    Of a name the first function counts, whosever it is (rule D5); none is found that has an alias
    in front of it (rule A4).
    """
    from cubinspec_writer.linker.finalizer.registers import clear_places

    first, functions = one.debug.first, one.symbols.functions
    for symbol in functions[one.debug.num_named :]:
        first.setdefault(symbol.name, symbol)
    one.debug.num_named = len(functions)
    behind_alias = _behind_alias(one)

    def is_here(name: str) -> bool:
        symbol = first.get(name)
        if symbol is None or symbol.definition is None or symbol in behind_alias:
            return False
        return symbol.definition[0] is one.obj

    return clear_places(source.data, is_here)
