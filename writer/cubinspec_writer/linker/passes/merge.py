"""Pass 4: input sections and symbols into output sections and symbol lists.

The order of everything in the output follows from the order in which this pass meets it. Per input:

1. function symbols, in symbol order: the symbol, `.text.F`, and for an entry `.nv.info.F` and the
   name `.nv.shared.F`;
2. all other symbols, in symbol order; a defined one first creates its section;
3. the remaining content sections (debug data, constant banks) in section order;
4. `.nv.info.F` of device functions in section order;
5. relocations in section order; `.rela.X`/`.rel.X` is created at its first relocation.

Sections of a dead function and of a duplicate weak function are skipped at every step.

Fixed from here on: which sections exist, both symbol lists, the place of every block of data.
"""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec_writer.linker.model import (
    FRAMES,
    LARGEST_ALIGNMENT,
    LINE_TABLES,
    REGISTER_TABLE,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHF_MERCURY,
    SHF_UNSAID,
    SHF_WRITE,
    SHN_COMMON,
    SHN_UNDEF,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_CONSTANT_B17,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_INFO,
    SHT_CUDA_SHARED,
    SHT_CUDA_SHARED_RESERVED,
    SHT_PROGBITS,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STO_CUDA_ENTRY,
    STT_FUNC,
    STT_NOTYPE,
    STT_SECTION,
    InputObject,
    InReloc,
    InRelocs,
    InSection,
    InSymbol,
    OutSection,
    Reloc,
    Space,
    Symbol,
    is_constant,
)
from cubinspec_writer.linker.passes import unified
from cubinspec_writer.linker.passes.liveness import accepted_here, defined_here
from cubinspec_writer.linker.passes.relocate import clear, is_clear
from cubinspec_writer.linker.passes.resolve import checked_alignment
from cubinspec_writer.linker.state import LinkState
from cubinspec_writer.plain import itemgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from cubinspec_writer.linker.finalizer.kept import Kept

#: From this many relocations on, a look at all symbols first is worth it.
_MANY = 32
#: Makes a named tuple of a tuple without a call of its constructor.
_NEW = tuple.__new__
#: Debug tables with an entry for every function.
_TABLES_OF_CODE = (FRAMES, *LINE_TABLES)
SHARED_POOL = ".nv_debug.shared"
SHARED = ".nv.shared."
_OPTIMIZER = SHT_CUDA_CONSTANT_B0 + 2


_IN_ORDER = itemgetter(0)
#: Types of sections that are looked at again when all symbols are merged, as data of type PROGBITS
#: are.
_WITH_CONTENT = frozenset(
    (
        SHT_CUDA_GLOBAL_INIT,
        *range(SHT_CUDA_CONSTANT_B0, SHT_CUDA_CONSTANT_B17 + 1),
        *unified.ENTRY_TYPES,
    )
)


def merge(state: LinkState) -> None:
    """Merge all inputs, in order."""
    for obj in state.objects:
        _Merger(state, obj).run()


class _Merger:
    """The five steps for one input."""

    def __init__(self, state: LinkState, obj: InputObject) -> None:
        self.state = state
        self.obj = obj
        #: Code section index -> its function, for copies that are linked or were for a time.
        self.owner: dict[int, Symbol] = {}
        #: The same for copies that came too late; of these, constants and shared variables stay.
        self.late: dict[int, Symbol] = {}
        self.seen_late: set[int] = set()
        #: Where constants of late copies went; only their relocations ask.
        self.late_places: dict[int, tuple[OutSection, int]] = {}
        #: Parts of banks of compiler constants so far.
        self.num_parts = 0
        self.skipped: set[int] = set()
        #: Where what symbols name ends in every section; None: nobody asked.
        self.named_ends: dict[int, int] | None = None
        self.functions: list[tuple[InSymbol, Symbol]] = []
        #: Functions of which the code is that of another one.
        self.aliases: list[tuple[Symbol, InSymbol]] = []
        #: What stayed of this input's debug tables, where dead entries are dropped.
        self.cut: dict[int, Kept] = {}

    def run(self) -> None:
        self._find_owners()
        self._functions()
        self._symbols()
        self._content()
        self._function_info()
        for relocs in self.obj.relocs:
            self._relocations(relocs)

    def _find_owners(self) -> None:
        for row in self.obj.functions:
            symbol = self.obj.bound[row[0]]
            if symbol is None:
                continue
            self.functions.append((row, symbol))
            shndx = row[5]
            if shndx == SHN_UNDEF:
                continue
            if shndx in self.owner:
                self.aliases.append((symbol, row))
                continue
            if symbol.live and accepted_here(self.obj, row[0]):
                self.owner[shndx] = symbol
                if row[2] == STB_GLOBAL:
                    self.state.symbols.strong.add(symbol)
            else:
                self.skipped.add(shndx)
                if symbol.live:
                    self.late[shndx] = symbol

    def _functions(self) -> None:
        state, obj = self.state, self.obj
        # What the host says takes effect when all is merged (kernels_preserved).
        by_host = state.kernels is not None and state.kernels.by_host
        joins_stubs = state.index is not None and not state.options.relocatable
        info = {s[6]: s for s in obj.of_types((SHT_CUDA_INFO,)) if s[6]}
        for row, symbol in self.functions:
            if not symbol.live:
                self._dead_kernel(symbol)
                continue
            state.enter(symbol)
            if self.owner.get(row[5]) is not symbol:
                continue
            text = obj.sections[row[5]]
            index, name, sh_type, flags, size, _, owners, align, entsize, data = text
            if joins_stubs and unified.is_stub(text):
                unified.merge_stub(state, obj, symbol, text, info.get(index))
                continue
            is_new = symbol.section is None
            if symbol.section is not None:
                self._replace(symbol, row)
                section = symbol.section
            else:
                section = state.create_section(name, sh_type, flags, align, symbol, entsize)
            if section.is_nobits or not is_new:
                section.append(data, size, 0)
            else:
                section.content = data
            section.info_value = owners & 0xFF000000
            symbol.section = section
            obj.placed[index] = (section, 0)
            if symbol.other & STO_CUDA_ENTRY and (by_host or state.is_kernel(symbol)):
                own = info.get(index)
                if own is not None:
                    self._info_section(own, symbol, is_new=is_new)
                name = SHARED + symbol.name
                if is_new or not (
                    (name, symbol) in state.names.reserved or state.sections.find(name, symbol)
                ):
                    state.names.reserve(name, symbol)
        for alias, row in self.aliases:
            if alias.live and defined_here(obj, row[0]):
                alias.section, alias.value = self.owner[row[5]].section, row[6]

    def _replace(self, symbol: Symbol, row: InSymbol) -> None:
        """Empty what an earlier copy of a function left, so that this one takes its place.

        Places in all lists stay, and so do shared variables. A parameter bank that a strong kernel
        brings is appended (`_place`), except where the finalizer makes it.
        """
        state = self.state
        for section in symbol.parts:
            if section.sh_type == SHT_CUDA_CONSTANT_B0:
                if state.family.constant0_deferred:
                    section.content = b""
                continue
            if section.flags & SHF_EXECINSTR or is_constant(section.sh_type):
                section.content = b""
                if section is not symbol.section and section not in state.sections.staging:
                    section.emitted = False
                    state.sections.vacated.append(section)
                state.constants.lost = [x for x in state.constants.lost if x[0] is not section]
                if section is symbol.section:
                    section.align = self.obj.sections[row.shndx].align
                state.sections.members.pop(section, None)
            if is_constant(section.sh_type):
                # Their relocations stay (weak_jump_tables).
                state.constants.mixed.add(section)
                state.constants.tables.pop(section, None)
                continue
            for is_rela in (False, True):
                relocs = state.reloc_section(section, is_rela)
                if relocs is not None:
                    relocs.relocs.clear()

    def _dead_kernel(self, kernel: Symbol) -> None:
        """A kernel that the host does not name leaves a name (case host_unused)."""
        wanted = self.state.kernels
        if kernel.is_entry and wanted is not None and wanted.by_host:
            self.state.names.add(".nv.shared." + kernel.name)

    def _info_section(self, source: InSection, owner: Symbol, *, is_new: bool) -> None:
        """Take attributes over.

        Args:
            is_new: nothing of the function was merged before.
        """
        state = self.state
        index, name, sh_type, flags, _, _, _, align, _, _ = source
        section = None if is_new else state.sections.find(name, owner)
        if section is None:
            section = state.create_section(name, sh_type, flags, align, owner, 0, False)
        else:
            state.attributes.order.pop(owner, None)
        section.info_section = owner.section
        section.records = self.obj.records(index)
        state.attributes.order[owner] = None
        self.obj.placed[index] = (section, 0)

    def _symbols(self) -> None:
        obj = self.obj
        for row in obj.named:
            symbol = obj.bound[row[0]]
            if symbol is None or row[3] == STT_FUNC:
                continue
            note = row.shndx == SHN_UNDEF and row.bind == STB_LOCAL
            if note and not self.state.options.relocatable:
                continue  # a note of the compiler, such as `.nv.ptx.const0.size`
            if row.shndx == SHN_UNDEF or row.shndx == SHN_COMMON:
                if symbol.space == Space.SHARED and row.size == 0:
                    self._dynamic_array(symbol, row.value)
                self.state.enter(symbol)
            elif accepted_here(obj, row.index):
                self._defined_symbol(row, symbol)

    def _dynamic_array(self, symbol: Symbol, alignment: int) -> None:
        """Arrays of dynamic size live in the pool of variables that no kernel owns.

        Args:
            alignment: 0, but for what stands for arrays since a link with `-r`: its place there,
                which nvlink takes for an alignment (reloc_final).
        """
        state = self.state
        pool = state.sections.find(SHARED_POOL) or state.create_section(
            SHARED_POOL, SHT_CUDA_SHARED, SHF_WRITE | SHF_ALLOC, 0
        )
        if alignment > LARGEST_ALIGNMENT:
            raise BadStructureError(
                f"'{symbol.name}' has alignment {alignment:#x}",
                file=self.obj.name,
                expected=f"up to {LARGEST_ALIGNMENT:#x}",
            )
        if not symbol.entered:
            pool.align = max(pool.align, alignment)
            state.sections.members.setdefault(pool, []).append(symbol)

    def _defined_symbol(self, row: InSymbol, symbol: Symbol) -> None:
        source = self.obj.sections[row.shndx]
        # Those of copies that came too late count, too (optimizer_parts).
        self.num_parts += source.sh_type == _OPTIMIZER
        place = self._place(source)
        if place is None:
            return
        if source.sh_type == _OPTIMIZER:
            self.state.constants.tables.setdefault(place[0], []).append(
                (place[1] + row.value, row.size)
            )
        if not defined_here(self.obj, row.index):
            # Another one takes over later; this is where the name stands. In shared memory the
            # variable takes up place twice (weak_shared).
            if symbol.space == Space.SHARED:
                self.state.sections.members.setdefault(place[0], []).append(symbol)
            self.state.enter(symbol)
            return
        section, base = place
        symbol.section = section
        symbol.value = base + row.value
        if source.sh_type == SHT_CUDA_SHARED_RESERVED:
            # As for shared variables, the row holds the alignment.
            placed = section.append(b"", row.size, checked_alignment(self.obj, row))
            symbol.value = row.value if self.state.options.relocatable else placed
        if symbol.space == Space.SHARED:
            symbol.alignment = symbol.value = checked_alignment(self.obj, row)
            section.align = max(section.align, row.value)
        symbol.internal = is_internal(section, symbol)
        members = self.state.sections.members.setdefault(section, [])
        members.append(symbol)
        if self.state.family.capsule and is_constant(section.sh_type) and section.owner:
            symbol.name = f".nv.constant.optimizer.{section.owner.name}.{self.num_parts}"
        self.state.enter(symbol)

    def _content(self) -> None:
        obj = self.obj
        code = obj.of_types((SHT_PROGBITS,))
        others = [section for section in code if not section[3] & SHF_EXECINSTR]
        for section in sorted(others + obj.of_types(_WITH_CONTENT), key=_IN_ORDER):
            if unified.is_entries(section[2]):
                unified.merge_entries(self.state, obj, section)
            elif not section[3] & SHF_EXECINSTR:
                # Initial values come, too, where nothing names them (weak_vars).
                self._place(section, last=True)

    def _place(self, source: InSection, *, last: bool = False) -> tuple[OutSection, int] | None:
        """Where an input section's bytes lie in the output, merging them at the first call.

        Args:
            last: no symbol will ask for this section.
        """
        index, name, sh_type, flags, size, _, info, _, _, _ = source
        known = self.obj.placed[index]
        if known is not None:
            return known
        if flags & SHF_MERCURY:
            return None
        state = self.state
        owner = None
        if flags & SHF_INFO_LINK:
            if info in self.late:
                return self._place_late(source, self.late[info], last)
            if info in self.skipped:
                if sh_type == SHT_CUDA_SHARED:
                    # Variables of a kernel that an option removed leave this name (kernels_used).
                    state.names.add(name)
                return None
            owner = self.owner.get(info)
        section = self._known_section(source, owner)
        is_bank = is_constant(sh_type)
        if section is None:
            # Constants of a device function move into the banks of kernels: no name, no section.
            nameless = is_bank and owner is not None and not owner.is_entry
            nameless = nameless and not (state.options.relocatable or last)
            if flags & SHF_UNSAID:
                flags &= ~(SHF_UNSAID | SHF_INFO_LINK)
            create = state.staging_section if nameless else state.create_section
            section = create(name, sh_type, flags, 0, owner)
            if owner is not None:
                section.info_section = owner.section
        if is_bank:
            if owner is not None and not last:
                source = self._named_part(source)
            base = self._append(source, section)
        elif sh_type == SHT_CUDA_SHARED_RESERVED:
            section.align = max(section.align, source.align)
            if not state.options.relocatable:
                section.nobits_size = max(section.nobits_size, state.family.reserved_start)
            base = 0
        elif sh_type == SHT_CUDA_SHARED:
            # Executables get their size from `place`, which packs the variables one by one. These
            # have the alignment; that of the section may be `-r`'s, for arrays (reloc_final).
            section.emitted = True
            base = 0
        elif state.family.drops_dead_frames and name in _TABLES_OF_CODE:
            base = self._table_of_code(source, section)
        elif state.family.drops_dead_frames and name == REGISTER_TABLE:
            base = section.append(self._register_table(source), size, source.align)
        else:
            base = self._append(source, section)
        self.obj.placed[index] = (section, base)
        return section, base

    def _named_part(self, source: InSection) -> InSection:
        """Constants of a function as far as symbols name them.

        A link with `-r` keeps those of late copies without names; these go (reloc_final).
        """
        if self.named_ends is None:
            self.named_ends = {}
            for row in self.obj.symbols:
                end = max(row[6] + row[7], self.named_ends.get(row[5], 0))
                self.named_ends[row[5]] = end
        end = min(self.named_ends.get(source.index, source.size), source.size)
        return source if end == source.size else source._replace(data=source.data[:end], size=end)

    def _known_section(self, source: InSection, owner: Symbol | None) -> OutSection | None:
        """The output section that an input section goes to, if there is one so far."""
        section = self.state.sections.find(source.name, owner)
        if section is not None or owner is None or source.name != SHARED + owner.name:
            return section
        return self.state.shared_section(owner)

    def _append(self, source: InSection, section: OutSection) -> int:
        """Append a block; a second parameter bank of a kernel that is only weak so far goes."""
        state, owner = self.state, section.owner
        if section.sh_type == SHT_CUDA_CONSTANT_B0 and section.content and owner is not None:
            # Where the finalizer makes these banks, it makes them from one copy.
            once = state.family.constant0_deferred or owner not in state.symbols.strong
            if once:
                return 0
        section.emitted = section.emitted or section not in state.sections.staging
        return section.append(source.data, source.size, source.align)

    def _place_late(
        self, source: InSection, owner: Symbol, last: bool
    ) -> tuple[OutSection, int] | None:
        """Constants and shared variables of a function that another copy already defines.

        nvlink leaves them behind the first copy's (seed 305). Between weak kernels the parameter
        bank is the one exception (weak_funcs).
        """
        state = self.state
        section = self._known_section(source, owner)
        if section is None and source.sh_type == SHT_CUDA_SHARED:
            section = state.shared_section(owner, make=True)
        if section is None and last and is_constant(source.sh_type):
            # The first copy has no constants: these get a section that nothing uses.
            section = state.create_section(source.name, source.sh_type, source.flags, 0, owner)
            section.info_section = owner.section
        if section is None or source.index in self.seen_late:
            return (section, 0) if section and source.sh_type == SHT_CUDA_SHARED else None
        self.seen_late.add(source.index)
        if source.sh_type == SHT_CUDA_SHARED:
            section.append(b"", source.size, source.align)
            section.emitted = True
            return section, 0
        if not is_constant(source.sh_type):
            return None
        at = self._append(source, section)
        if source.sh_type == SHT_CUDA_CONSTANT_B0:
            # The name of the parameters shows with `-r` and `--preserve-relocs`.
            self.obj.placed[source.index] = (section, at)
            return section, at
        state.constants.mixed.add(section)
        state.constants.tables.setdefault(section, []).append((at, source.size))
        self.late_places[source.index] = (section, at)
        if section in state.sections.staging:
            state.constants.lost.append((section, at))
        return None

    def _table_of_code(self, source: InSection, section: OutSection) -> int:
        """Append the entries of linked functions only."""
        from cubinspec_writer.linker.finalizer.frames import (  # needed from sm_100 on only
            keep_frames,
            shared_frame,
        )
        from cubinspec_writer.linker.finalizer.lines import keep_lines

        starts = {
            offset: index
            for relocs in self.obj.relocs
            if relocs.target == source.index
            for offset, _, index, _ in relocs.rows
        }

        def is_linked(offset: int) -> bool:
            index = starts.get(offset)
            if index is None:
                return True
            here = defined_here(self.obj, index) or (
                source.name == FRAMES
                and accepted_here(self.obj, index)
                and not self._is_forgotten(index)
            )
            return here and not self._is_dead(index)

        def other(offset: int) -> bytes:
            index = starts.get(offset)
            symbol = self.obj.bound[index] if index is not None else None
            if index is not None and (symbol in behind_alias or symbol in later_stubs):
                return shared_frame(self.obj, index, is_first=False)
            if index is None or symbol is None or not symbol.replaced:
                return b""
            is_first = symbol not in self.state.debug.framed
            self.state.debug.framed.add(symbol)
            if is_first and defined_here(self.obj, index):
                return b""
            return shared_frame(self.obj, index, is_first=is_first)

        behind_alias = self._behind_alias()
        later_stubs = unified.later_stubs(self.state, self.obj)
        if source.name == FRAMES:
            kept = keep_frames(source.data, is_linked, other)
        else:
            kept = keep_lines(source.data, is_linked)
        if kept is None:
            return section.append(source.data, source.size, source.align)
        if source.size and not kept.data:
            self.state.debug.emptied.add(section)
        base = section.append(kept.data, len(kept.data), source.align)
        for place, cie in kept.pointers:
            section.data[base + place : base + place + 8] = (base + cie).to_bytes(8, "little")
        self.cut[source.index] = kept
        return base

    def _behind_alias(self) -> set[Symbol]:
        """Functions with an alias in front of them; the finalizer looks for that one's entry."""
        if not self.aliases:
            return set()
        order = {symbol: at for at, symbol in enumerate(self.state.symbols.globals)}
        pairs = [(alias, self.owner.get(row.shndx)) for alias, row in self.aliases]
        return {
            owner
            for alias, owner in pairs
            if owner in order and order.get(alias, len(order)) < order[owner]
        }

    def _register_table(self, source: InSection) -> bytes:
        linked = {symbol.name for symbol in self.owner.values()}
        from cubinspec_writer.linker.finalizer.registers import clear_places

        return clear_places(source.data, linked.__contains__)

    def _function_info(self) -> None:
        for section in self.obj.of_types((SHT_CUDA_INFO,)):
            if not section[3] & SHF_INFO_LINK:
                continue
            owner = self.owner.get(section[6])
            if owner is not None and self.obj.placed[section[0]] is None:
                self._info_section(section, owner, is_new=len(owner.parts) == 1)

    def _relocations(self, relocs: InRelocs) -> None:
        state, obj = self.state, self.obj
        place = obj.placed[relocs.target] or self.late_places.get(relocs.target)
        if place is None:
            return
        target, base = place
        # Entries of a duplicate function must not describe the other copy; other debug data does.
        of_code = target.name in _TABLES_OF_CODE
        foreign: Collection[int] = self.skipped if of_code else ()
        cut = self.cut.get(relocs.target)
        hidden = not target.emitted and target in state.sections.staging
        is_bank = is_constant(target.sh_type) and not target.owner
        names = _RelocNames(state, obj, relocs, target)
        # Initial values that only repeat a weak variable point nowhere (weak_tables).
        is_initial = target.sh_type == SHT_CUDA_GLOBAL_INIT
        repeats = obj.repeats.get(relocs.target, ()) if is_initial else ()
        #: Whether some entries move, go elsewhere or are left out.
        special = cut is not None or bool(self.cut) or hidden or is_bank
        is_long = len(relocs.rows) >= _MANY
        counted = state.options.preserve_relocs or state.options.relocatable
        if is_long and not (special or repeats or base or counted):
            known = self._plain_targets(relocs, foreign)
            if known is not None:
                names.add_all(known)
                return
        section = names.section
        bound, symbols = obj.bound, obj.symbols
        slow: dict[int, tuple[Symbol | None, int]] = {}
        serial = state.relocations.num_merged
        odd = special or of_code or bool(repeats)
        for row in relocs.rows:
            offset, r_type, index, addend = row
            symbol = bound[index]
            if odd or symbol is None or not symbol.live:
                if repeats and any(start <= offset < end for start, end in repeats):
                    continue
                if cut is not None:
                    moved = cut.new_offset(offset)
                    if moved is None or symbols[index].kind == STT_SECTION:
                        continue
                    offset = moved
                shift = 0
                if symbol is None or not symbol.live or symbols[index].shndx in foreign:
                    found = slow.get(index)
                    if found is None:
                        found = slow[index] = self._reloc_symbol(index, foreign)
                    symbol, shift = found
                if self.cut and symbols[index].kind == STT_SECTION:
                    shift += self._moved(symbols[index].shndx, addend)
                addend += shift
                if of_code and relocs.is_rela and self._is_forgotten(index):
                    names.section_for(row)
                    continue
                if is_bank and self._is_outdone(index):
                    names.skip(row)
                    continue
                if symbol is None and not (self._is_dead(index) and accepted_here(obj, index)):
                    # Names stay of what names functions that are not linked (86, 435).
                    if self._is_dead(index):
                        names.section_for(row)
                    elif symbols[index].shndx in self.skipped:
                        names.ensure()
                        names.skip(row)
                    continue
                if hidden and symbol is not None:
                    if state.options.preserve_relocs and row is relocs.rows[0]:
                        state.names.add(".nv.resolvedrela" + target.name)
                    state.relocations.staged.setdefault(target, []).append(
                        Reloc(base + offset, r_type, symbol, addend, 0)
                    )
                    continue
            if section is None or (row[3] == 0 and names.without_rel):
                section = names.section_for(row)
            if symbol is None:
                if is_clear(r_type):
                    clear(target, base + offset, r_type)
                continue
            serial += counted
            if base:
                offset += base  # most blocks stay where they are: no new number then
            section.relocs.append(_NEW(Reloc, (offset, r_type, symbol, addend, serial)))
        state.relocations.num_merged = serial

    def _plain_targets(
        self, relocs: InRelocs, foreign: Collection[int]
    ) -> dict[int, Symbol] | None:
        """What the rows name, by symbol number, if all of it is linked as it stands here."""
        obj, bound = self.obj, self.obj.bound
        known: dict[int, Symbol] = {}
        for index in {row[2] for row in relocs.rows}:
            symbol = bound[index]
            if symbol is None and obj.symbols[index].kind == STT_SECTION:
                symbol, shift = self._reloc_symbol(index, foreign)
                if shift:
                    return None
            if symbol is None or not symbol.live or symbol.replaced:
                return None
            if foreign and obj.symbols[index][5] in foreign:
                return None
            known[index] = symbol
        return known

    def _is_forgotten(self, index: int) -> bool:
        """Whether the entry of a copy that gave way loses its relocations.

        nvlink takes them from frame and line tables, of those with addends, when the code of any
        copy that gave way had relocations with addends (weak_replaced, weak_frames).
        """
        symbol = self.obj.bound[index]
        if symbol is None or not symbol.replaced or defined_here(self.obj, index):
            return False
        if not accepted_here(self.obj, index):
            return False
        return any(
            relocs.target == row.shndx and relocs.rows
            for obj, row in symbol.replaced
            for relocs in obj.relocs
        )

    def _is_outdone(self, index: int) -> bool:
        """Whether constants that name a weak symbol lose it, as nvlink has it (weak_constants).

        Of functions that happens to copies that came too late, of variables to all but the winner.
        """
        row, symbol = self.obj.symbols[index], self.obj.bound[index]
        if symbol is None or row.bind != STB_WEAK or row.shndx == SHN_UNDEF:
            return False
        if row.kind == STT_FUNC:
            return not accepted_here(self.obj, index)
        return not defined_here(self.obj, index)

    def _moved(self, section: int, offset: int) -> int:
        """How far a byte of a debug table moved because entries in front of it are gone."""
        table = self.cut.get(section)
        new = table.new_offset(offset) if table is not None else None
        return new - offset if new is not None else 0

    def _is_dead(self, index: int) -> bool:
        symbol = self.obj.bound[index]
        return symbol is not None and symbol.is_function and not symbol.live

    def _reloc_symbol(self, index: int, foreign: Collection[int]) -> tuple[Symbol | None, int]:
        """The output symbol a relocation means, and what its addend grows by.

        Args:
            foreign: code sections that the target must not describe.
        """
        row, symbol = self.obj.symbols[index], self.obj.bound[index]
        if row.kind == STT_SECTION:
            place = self.obj.place(row.shndx)
            return (place[0].symbol, place[1]) if place else (None, 0)
        if symbol is not None and symbol.is_function and not symbol.live:
            return None, 0
        if row.shndx in foreign:
            return None, 0
        if symbol is None:
            # Relocations that change an instruction name no symbol (atomics_misc on sm_75).
            return Symbol("", STB_LOCAL, STT_NOTYPE, 0), 0
        return symbol, 0


class _RelocNames:
    """The output section of one input section's relocations, with the names it brings."""

    __slots__ = ("first", "obj", "relocs", "section", "state", "target", "without_rel")

    def __init__(
        self, state: LinkState, obj: InputObject, relocs: InRelocs, target: OutSection
    ) -> None:
        self.state = state
        self.obj = obj
        self.relocs = relocs
        self.target = target
        self.section = state.reloc_section(target, relocs.is_rela)
        self.without_rel = relocs.is_rela
        #: The row that does not bring the second name; None: the next one.
        self.first = relocs.rows[0] if relocs.rows else None

    def skip(self, row: InReloc) -> None:
        """Pass over a row as if the input did not have it."""
        if self.first is row:
            self.first = None

    def add_all(self, known: dict[int, Symbol]) -> None:
        """Take all rows over, none of which changes but for its symbol."""
        rows = self.relocs.rows
        if not rows:
            return
        section = self.section or self.section_for(rows[0])
        if self.without_rel:
            second = next((row for row in rows[1:] if row[3] == 0), None)
            if second is not None:
                self.section_for(second)
        section.relocs += [
            _NEW(Reloc, (offset, r_type, known[index], addend, 0))
            for offset, r_type, index, addend in rows
        ]

    def ensure(self) -> OutSection:
        """The section, made with its own name only."""
        if self.section is None:
            source = self.obj.sections[self.relocs.section]
            name = source.name
            if self.target.name == unified.FUNCTIONS:
                name = (".rela" if self.relocs.is_rela else ".rel") + self.target.name
            self.section = self.state.create_reloc_section(
                name, self.target, self.relocs.is_rela, source.align, source.entsize
            )
        return self.section

    def section_for(self, row: InReloc) -> OutSection:
        """The section; names are entered when a row first needs them."""
        if self.first is None:
            self.first = row
        section = self.ensure()
        if row[3] == 0 and self.without_rel and row is not self.first:
            # Such a row asks for the REL section by name first (case debug_g shows that the
            # first row of an input section does not).
            self.state.names.add(".rel" + self.target.name)
            self.without_rel = False
        return section


def is_internal(section: OutSection, symbol: Symbol) -> bool:
    """Whether a name serves relocations only: shared variables and parts of a kernel's bank."""
    if symbol.space == Space.SHARED:
        return True
    return is_constant(section.sh_type) and section.owner is not None
