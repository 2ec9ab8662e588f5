"""Merging: the relocations of one input."""

from __future__ import annotations

from cubinspec.format.sections import CONSTANT_BANK_TYPES
from cubinspec_generated.codes import (
    SHF_EXECINSTR,
    SHN_UNDEF,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_INFO,
    SHT_CUDA_PROTOTYPE,
    SHT_CUDA_RELOCINFO,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_RESOLVED_RELA,
    SHT_CUDA_SHARED,
    SHT_CUDA_UFT,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_NULL,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    STB_LOCAL,
    STB_WEAK,
    STT_FUNC,
    STT_NOTYPE,
    STT_SECTION,
)
from cubinspec_generated.columns import CLEARING
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.library.copies import accepted_here, defined_here
from cubinspec_writer.linker.model import FRAMES, UFT, OutSection, Reloc, Symbol, relocation
from cubinspec_writer.linker.passes.merge.one_input import (
    TABLES_OF_CODE,
    OneInput,
    is_dead,
    is_forgotten,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.rows import InReloc, InRelocs
    from cubinspec_writer.linker.state import KeptNames

    #: The output symbol of a row, what its addend grows by, and what becomes of the row.
    _Meaning = tuple[Symbol | None, int, str]

#: A row goes into the output; it clears a field; it only brings the name of its section; it counts
#: as if the input did not have it.
_TAKEN: Final = "taken"
_CLEARED: Final = "cleared"
_NAMED: Final = "named"
_PASSED_OVER: Final = "passed over"
_WRITTEN: Final[tuple[str, ...]] = (_TAKEN, _CLEARED)
#: Types of sections that have no relocations (rules M16, E2).
_NEVER_RELOCATED: Final = frozenset(
    (
        SHT_NULL,
        SHT_SYMTAB,
        SHT_STRTAB,
        SHT_RELA,
        SHT_REL,
        SHT_NOTE,
        SHT_CUDA_INFO,
        SHT_CUDA_CALLGRAPH,
        SHT_CUDA_PROTOTYPE,
        SHT_CUDA_COMPAT_INFO,
        SHT_CUDA_GLOBAL,
        SHT_CUDA_SHARED,
        SHT_CUDA_CAPMERC,
        SHT_CUDA_RELOCINFO,
        SHT_CUDA_RESERVED_SHARED,
        SHT_CUDA_RESOLVED_RELA,
        SHT_NOBITS,
        SHT_SYMTAB_SHNDX,
    )
)
#: Types of sections that are made anew: what names the section of an input has no place there.
_UNPLACED: Final = frozenset(
    (SHT_NOTE, SHT_CUDA_INFO, SHT_CUDA_CALLGRAPH, SHT_CUDA_PROTOTYPE, SHT_CUDA_COMPAT_INFO)
)


def merge_relocations(one: OneInput, relocs: InRelocs, diagnostics: Diagnostics) -> None:
    """Merge one relocation section, if its target is in the output.

    Raises:
        LinkError: the target is of a kind that has no relocations, or a type is none of Mercury
            code, whose half this is (rule M22).
    """
    if one.obj.sections[relocs.target].sh_type in _NEVER_RELOCATED:
        raise diagnostics.fatal("Internal error: unexpected reloc section")
    place = one.obj.placed[relocs.target] or one.duplicate_places.get(relocs.target)
    if place is None:
        if relocs.target in one.dropped and one.names.kept is not None:
            _keep_names(one.names.kept, one.obj.sections[relocs.target].name, relocs)
        return
    target, base = place
    if one.job.family.keeps_symbols:
        from cubinspec_generated.codes_relocation import R_CUDA_NONE, R_MERCURY_NONE

        types = {r_type for _, r_type, _, _ in relocs.rows}
        if any(R_CUDA_NONE < r_type <= R_MERCURY_NONE for r_type in types):
            raise diagnostics.fatal("Internal error: unexpected reloc")
    is_code = target.flags & SHF_EXECINSTR and target.name not in TABLES_OF_CODE
    if is_code and not (one.cut or one.is_counted) and _take_unchanged(one, relocs, target, base):
        return  # the most frequent case: relocations of code stay as they are
    _Relocations(one, relocs, target, base).run()


def _keep_names(kept: KeptNames, target: str, relocs: InRelocs) -> None:
    """Enter the names that relocations of code bring which is not linked (rules K16, N3)."""
    kept.enter((".rela" if relocs.is_rela else ".rel") + target)
    if relocs.is_rela and any(addend == 0 for _, _, _, addend in relocs.rows[1:]):
        kept.enter(".rel" + target)


class _Relocations:
    """One relocation section of an input.

    Attributes:
        foreign: code sections that the target must not describe.
        skips: whether entries of duplicates lose their relocations.
        is_odd: whether some entries move, go elsewhere or are left out.
    """

    __slots__ = (
        "base",
        "cut",
        "foreign",
        "is_bank",
        "is_odd",
        "is_staged",
        "meanings",
        "names",
        "obj",
        "of_code",
        "one",
        "relocs",
        "repeats",
        "skips",
        "target",
    )

    def __init__(self, one: OneInput, relocs: InRelocs, target: OutSection, base: int) -> None:
        obj = one.obj
        self.one = one
        self.obj = obj
        self.relocs = relocs
        self.target = target
        self.base = base
        # Entries of a duplicate function must not describe the other copy; other debug data does
        # (rule D1).
        self.of_code = target.name in TABLES_OF_CODE
        self.skips = one.job.toolkit.tables_skip_duplicates  # rule K12
        self.foreign: Collection[int] = one.skipped if self.of_code and self.skips else ()
        self.cut = one.cut.get(relocs.target)
        self.is_staged = not target.emitted and target in one.sections.staging
        self.is_bank = target.sh_type in CONSTANT_BANK_TYPES and not target.owner
        self.names = _RelocNames(one, relocs, target)
        # Initial values that only repeat a weak variable point nowhere (rule W13).
        is_initial = target.sh_type == SHT_CUDA_GLOBAL_INIT
        self.repeats = obj.repeats.get(relocs.target, ()) if is_initial else ()
        self.is_odd = bool(self.cut or one.cut or self.is_staged or self.is_bank or self.repeats)
        #: By symbol number of the input.
        self.meanings: dict[int, _Meaning] = {}

    def run(self) -> None:
        """Merge the rows."""
        one, relocs, names, base = self.one, self.relocs, self.names, self.base
        is_odd, counted = self.is_odd, one.is_counted
        unchanged = not (is_odd or self.foreign or counted)
        if unchanged and _take_unchanged(one, relocs, self.target, base):
            return
        section, meanings = names.section, self.meanings
        is_staged, is_frames = self.is_staged, self.target.name == FRAMES
        serial = one.relocations.num_merged
        for number, (offset, r_type, index, stated) in enumerate(relocs.rows):
            addend = stated
            if is_odd:
                if self._repeats(offset):
                    names.skip(number)
                    continue
                found = self._moved_to(offset, index)
                if found is None:
                    continue
                offset = found
            meaning = meanings.get(index)
            if meaning is None:
                meaning = meanings[index] = self._meaning(index)
            symbol, shift, fate = meaning
            if fate not in _WRITTEN:
                if fate == _NAMED:
                    names.section_for(number, stated)
                else:
                    names.skip(number)
                    if is_frames:
                        names.ensure()  # rule N10
                continue
            if shift or is_odd:
                addend += shift + self._shift(index, addend)
            if is_staged and symbol is not None:
                self._stage(number, relocation(base + offset, r_type, symbol, addend, 0))
                continue
            if section is None or (names.without_rel and stated + shift == 0):
                section = names.section_for(number, stated + shift)
            if symbol is None:
                if r_type in CLEARING:
                    from cubinspec_writer.linker.library.fields import clear

                    clear(self.target, base + offset, r_type)
                continue
            serial += counted
            if base:
                offset += base  # most blocks stay where they are: no new number then
            reloc = Reloc()
            reloc.offset, reloc.r_type, reloc.symbol = offset, r_type, symbol
            reloc.addend, reloc.serial = addend, serial
            section.relocs.append(reloc)
        one.relocations.num_merged = serial

    def _repeats(self, offset: int) -> bool:
        """Whether a row is of an initial value that only repeats a weak variable (rule W13)."""
        return any(start <= offset < end for start, end in self.repeats)

    def _moved_to(self, offset: int, index: int) -> int | None:
        """The offset of a row whose entry may move; None: the entry is left out here."""
        if self.cut is None:
            return offset
        return None if self.obj.symbols[index].kind == STT_SECTION else self.cut.new_offset(offset)

    def _shift(self, index: int, addend: int) -> int:
        """How far the byte of a debug table moved that a row means by a section and an addend."""
        row = self.obj.symbols[index]
        is_table = self.one.cut and row.kind == STT_SECTION
        return moved(self.one, row.shndx, addend) if is_table else 0

    def _meaning(self, index: int) -> _Meaning:
        """What all rows mean that name one symbol of the input."""
        one, foreign = self.one, self.foreign
        row, symbol = self.obj.symbols[index], self.obj.bound[index]
        if not self.is_odd and row.shndx not in foreign:
            linked = one.linked[index] or _linked_symbol(one, index)
            if linked is not None:
                return linked, 0, _TAKEN
        shift = 0
        if symbol is None or not symbol.live or row.shndx in foreign:
            symbol, shift = reloc_symbol(one, index, foreign)
        if self.of_code and self.skips and self.relocs.is_rela and is_forgotten(one, index):
            return None, 0, _NAMED
        if self.is_bank and is_outdone(one, index):
            return None, 0, _PASSED_OVER
        if symbol is not None:
            return symbol, shift, _TAKEN
        is_duplicate = self.of_code and self.skips and not accepted_here(self.obj, index)
        if is_duplicate or not is_dead(one, index):
            return None, 0, _PASSED_OVER  # a duplicate (rule N4)
        # A relocation to a dropped function goes; the section name it created stays in
        # `.strtab` (rule N4).
        clears = accepted_here(self.obj, index) or not self.skips
        return None, 0, _CLEARED if clears else _NAMED

    def _stage(self, number: int, reloc: Reloc) -> None:
        """Keep a row until the bytes of its section have moved."""
        one, target = self.one, self.target
        if one.job.options.preserve_relocs and number == 0:
            one.names.add(".nv.resolvedrela" + target.name)
        one.relocations.staged.setdefault(target, []).append(reloc)


def _take_unchanged(one: OneInput, relocs: InRelocs, target: OutSection, base: int) -> bool:
    """Merge the rows if all that they name is linked as it stands here; else do nothing."""
    linked = one.linked
    taken: list[Reloc] = []
    rows = relocs.rows
    for offset, r_type, index, addend in rows:
        symbol = linked[index] or _linked_symbol(one, index)
        if symbol is None:
            return False
        reloc = Reloc()
        reloc.offset = base + offset if base else offset
        reloc.r_type, reloc.symbol, reloc.addend, reloc.serial = r_type, symbol, addend, 0
        taken.append(reloc)
    if taken:
        _RelocNames(one, relocs, target).add_all(taken, rows)
    return True


def _linked_symbol(one: OneInput, index: int) -> Symbol | None:
    """What a symbol number means, if that is linked as it stands here."""
    row, symbol = one.obj.symbols[index], one.obj.bound[index]
    if row.kind == STT_SECTION:
        place = one.obj.place(row.shndx)
        symbol = None if place is None or place[1] else place[0].symbol
    if symbol is None or not symbol.live or symbol.replaced:
        return None
    one.linked[index] = symbol
    return symbol


def is_outdone(one: OneInput, index: int) -> bool:
    """Whether relocations of constants lose the weak symbol that they name (rule W17).

    Of functions this happens to duplicates, of variables to all copies but the winning one.
    """
    row, symbol = one.obj.symbols[index], one.obj.bound[index]
    if symbol is None or row.bind != STB_WEAK or row.shndx == SHN_UNDEF:
        return False
    if row.kind == STT_FUNC:
        return not accepted_here(one.obj, index)
    return not defined_here(one.obj, index)


def moved(one: OneInput, section: int, offset: int) -> int:
    """How far a byte of a debug table moved because entries in front of it are gone (rule D2)."""
    table = one.cut.get(section)
    new = table.new_offset(offset) if table is not None else None
    return new - offset if new is not None else 0


def reloc_symbol(one: OneInput, index: int, foreign: Collection[int]) -> tuple[Symbol | None, int]:
    """The output symbol a relocation means, and what its addend grows by.

    Args:
        foreign: code sections that the target must not describe.
    """
    row, symbol = one.obj.symbols[index], one.obj.bound[index]
    if row.kind == STT_SECTION:
        place = one.obj.place(row.shndx)
        if place is None and one.obj.sections[row.shndx].sh_type in _UNPLACED:
            name = one.obj.sections[row.shndx].name
            raise UnsupportedLinkError(f"a relocation that names section '{name}'")
        return (place[0].symbol, place[1]) if place else (None, 0)
    if symbol is not None and symbol.is_function and not symbol.live:
        return None, 0
    if row.shndx in foreign:
        return None, 0
    if symbol is None:
        # Relocations that change an instruction name no symbol (rule N5).
        return Symbol("", STB_LOCAL, STT_NOTYPE, 0), 0
    return symbol, 0


class _RelocNames:
    """The output section of one input section's relocations, with the names it brings."""

    __slots__ = (
        "first",
        "maker",
        "obj",
        "relocs",
        "section",
        "target",
        "without_rel",
    )

    def __init__(self, one: OneInput, relocs: InRelocs, target: OutSection) -> None:
        self.maker = one.maker
        self.obj = one.obj
        self.relocs = relocs
        self.target = target
        self.section = one.maker.reloc_section(target, relocs.is_rela)
        self.without_rel = relocs.is_rela and one.job.toolkit.names_both_relocations
        #: Number of the row that does not bring the second name; None: the next one.
        self.first: int | None = 0

    def skip(self, number: int) -> None:
        """Pass over a row as if the input did not have it."""
        if self.first == number:
            self.first = None

    def add_all(self, taken: list[Reloc], rows: list[InReloc]) -> None:
        """Take over all rows, none of which changes but for its symbol and its place."""
        _, _, _, first_addend = rows[0]
        section = self.section or self.section_for(0, first_addend)
        if self.without_rel:
            for number, (_, _, _, addend) in enumerate(rows[1:], 1):
                if addend == 0:
                    self.section_for(number, addend)
                    break
        section.relocs += taken

    def ensure(self) -> OutSection:
        """The section, made with its own name only."""
        if self.section is None:
            source = self.obj.sections[self.relocs.section]
            is_stub = self.target.sh_type == SHT_CUDA_UFT and not self.maker.job.options.relocatable
            name = UFT if is_stub else self._target_name()
            name = (".rela" if self.relocs.is_rela else ".rel") + name
            self.section = self.maker.create_reloc_section(
                name, self.target, self.relocs.is_rela, source.align, source.entsize
            )
        return self.section

    def section_for(self, number: int, addend: int) -> OutSection:
        """The section; names are entered when a row first needs them."""
        if self.first is None:
            self.first = number
        section = self.ensure()
        if addend == 0 and self.without_rel and number != self.first:
            # Such a row asks for the REL section by name first (the first row of an
            # input section does not, rules N3, K5).
            self.maker.ask_for_rel(self._target_name())
            self.without_rel = False
        return section

    def _target_name(self) -> str:
        """The name that the target has here; code may get that of an alias (rule A8)."""
        if self.target.flags & SHF_EXECINSTR and self.target.owner is not None:
            return self.obj.sections[self.relocs.target].name
        return self.target.name
