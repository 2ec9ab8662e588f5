"""Pass 11: one or two linked programs -> the bytes of a cubin.

Layout, string tables, symbol table and program headers are the emitter's work; this pass only says
which sections and symbols there are, in the order in which they were made. With a Mercury half the
names were made by that half (the finalizer renames them), the contents of the plain sections are
those of the SASS half, and the Mercury sections follow at the end.
"""

from __future__ import annotations

from struct import error as StructError

from cubinspec.errors import BadStructureError
from cubinspec_generated import records
from cubinspec_generated.codes import (
    ET_EXEC,
    ET_REL,
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_CONSTANT_B3,
    SHT_CUDA_CONSTANT_B4,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_CONSTANT_IMAGE_INDICES,
    SHT_CUDA_MERC_CONSTANT_OPTIMIZER,
    SHT_CUDA_MERC_CONSTANT_PIC,
    SHT_CUDA_MERC_CONSTANT_USER,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_RELA,
    SHT_CUDA_MERC_RESOLVED_RELA,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_RESOLVED_RELA,
    SHT_CUDA_UDT,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT_ENTRY,
    SHT_CUDA_UIDX,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    STT_SECTION,
)
from cubinspec_writer.emitter import Description, bodies, emit
from cubinspec_writer.emitter import model as out
from cubinspec_writer.emitter.kinds import Kinds
from cubinspec_writer.emitter.layout import plan
from cubinspec_writer.emitter.producers import PRODUCERS
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer.join import twin_of
from cubinspec_writer.linker.graph import Graph
from cubinspec_writer.linker.library.notes import target_sm
from cubinspec_writer.linker.library.outsymbols import (
    has_symbol,
    is_dropped,
    is_hidden,
    late_sections,
    symbol_fields,
)
from cubinspec_writer.linker.model import OutSection, Symbol, align_up, is_constant
from cubinspec_writer.linker.state import LinkState
from cubinspec_writer.linker.write.direct import output_type, reloc_bytes
from cubinspec_writer.plain import dataclass

#: Kinds that the Mercury half has too, beside constant banks.
_COPIED = frozenset(
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
_MERCURY_PROFILE = "mercury"
_DEBUG_INFO = ".debug_info"
_CONSTANT2 = SHT_CUDA_CONSTANT_B2
#: Size of the record of `.nv.compat` that is the finalizer's.
_FASTPATH_RECORD = 12
_RELOCATIONS = (SHT_REL, SHT_RELA, SHT_CUDA_RESOLVED_RELA)
#: Kinds whose Mercury copy has a type of its own.
_MERCURY_TYPE = {
    SHT_CUDA_INFO: SHT_CUDA_MERC_INFO,
    SHT_RELA: SHT_CUDA_MERC_RELA,
    SHT_CUDA_RESOLVED_RELA: SHT_CUDA_MERC_RESOLVED_RELA,
    SHT_CUDA_CONSTANT_B0: SHT_CUDA_MERC_CONSTANT_IMAGE_INDICES,
    SHT_CUDA_CONSTANT_B2: SHT_CUDA_MERC_CONSTANT_OPTIMIZER,
    SHT_CUDA_CONSTANT_B3: SHT_CUDA_MERC_CONSTANT_USER,
    SHT_CUDA_CONSTANT_B4: SHT_CUDA_MERC_CONSTANT_PIC,
}


@dataclass(slots=True)
class _CallGraphBody:
    """`.nv.callgraph`: pairs of numbers, or of a function and a signature."""

    state: LinkState
    graph: Graph

    @property
    def size(self) -> int:
        graph = self.graph
        rows = sum(len(x) for edges in (graph.calls, graph.references) for x in edges.values())
        rows += sum(len(x) for by in (graph.address_taken, graph.indirect) for x in by.values())
        return records.CALLGRAPH_ENTRY.size * (4 + rows)

    def encode(self, context: bodies.Context) -> bytes:
        graph, functions = self.graph, self.state.symbols.functions
        rows: list[tuple[int, int]] = []
        for marker, edges in ((1, graph.calls), (4, graph.references)):
            part = [(f.index, t.index) for f in functions for t in reversed(edges.get(f, ()))]
            rows += [(0, (1 << 32) - marker), *part]
            if marker == 1:
                for number, texts in ((2, graph.address_taken), (3, graph.indirect)):
                    rows.append((0, (1 << 32) - number))
                    rows += [
                        (f.index, context.signature_offset(t))
                        for f in functions
                        for t in reversed(texts.get(f, ()))
                    ]
        return b"".join(records.CALLGRAPH_ENTRY.pack(*row) for row in rows)


@dataclass(slots=True)
class _PrototypeBody:
    """`.nv.prototype`: external functions whose address is not taken, with their signature."""

    state: LinkState
    graph: Graph

    @property
    def listed(self) -> list[Symbol]:
        graph = self.graph
        return [
            f
            for f in self.state.symbols.functions
            if f in graph.prototypes and f not in graph.address_taken
        ]

    @property
    def size(self) -> int:
        return records.PROTOTYPE_ENTRY.size * len(self.listed)

    def encode(self, context: bodies.Context) -> bytes:
        return b"".join(
            records.PROTOTYPE_ENTRY.pack(
                f.index, context.signature_offset(self.graph.prototypes[f])
            )
            for f in self.listed
        )


def write(half: LinkState, mercury: LinkState | None = None) -> bytes:
    """The cubin of one program, or of its SASS and Mercury halves.

    Raises:
        CubinError: the halves do not belong together, or a number does not fit its field.
    """
    try:
        return emit(_Writer(half, mercury).description())
    except StructError as error:
        raise BadStructureError(f"a number does not fit its field: {error}") from error


class _Writer:
    def __init__(self, half: LinkState, mercury: LinkState | None) -> None:
        self.mercury = mercury
        self.state = half
        self.made: dict[OutSection, out.Section] = {}

    def description(self) -> Description:
        state = self.state
        twins = self.mercury.sections.twins if self.mercury is not None else {}
        for section in (*state.sections.fixed.values(), *state.sections.made):
            if section.emitted:
                self.made[section] = self._section(section)
        for section, made in self.made.items():
            self._refer(section, made)
        named = self.mercury or state
        history: list[out.Section | out.Symbol | out.Dropped] = [
            out.Dropped(text, erased=0 if text else 1) for text in named.names.signatures
        ]
        for entry in named.names.entries:
            if isinstance(entry, OutSection):
                plain = twins.get(entry) if self.mercury else entry
                known = self.made.get(plain) if plain is not None else None
                if known is not None and known.name != entry.name:
                    known.made_as = entry.name
                history.append(known or out.Dropped(entry.name, in_shstrtab=True))
            elif isinstance(entry, str):
                history.append(out.Dropped(entry, in_shstrtab=True))
            elif not is_hidden(named, entry):
                history.append(self._symbol(named, entry))
        history += [self.made[s] for s in late_sections(state)]
        listed = {id(item) for item in history}
        missing = [s for s, made in self.made.items() if id(made) not in listed]
        if missing:
            raise UnsupportedLinkError(f"section '{missing[0].name}' has no Mercury twin")
        if self.mercury is not None:
            history += self._mercury_sections(self.mercury, twins)
        symbols = [self._symbol(state, s) for s in state.symbols.globals if not is_hidden(state, s)]
        relocatable = state.options.relocatable
        header = out.Header(
            e_type=ET_REL if relocatable else ET_EXEC,
            e_flags=target_sm(state.options.arch) << 8 | state.family.flags_kind,
        )
        profile = _MERCURY_PROFILE if self.mercury is not None else "classic"
        return Description(header, history, symbols, profile, null_value=state.symbols.null_value)

    def _section(self, section: OutSection) -> out.Section:
        return out.Section(
            section.name,
            output_type(self.state, section.sh_type),
            self._body(section),
            section.flags,
            0,
            section.align,
            section.entsize,
            has_symbol=has_symbol(self.state, section),
        )

    def _body(self, section: OutSection) -> bodies.Body:
        state = self.state
        if section.sh_type in (SHT_STRTAB, SHT_SYMTAB):
            return bodies.Computed(section.name[1:])
        if section is state.sections.callgraph:
            return _CallGraphBody(state, state.graph)
        if section is state.sections.prototype:
            return _PrototypeBody(state, state.graph)
        if section.is_nobits:
            return bodies.NoBytes(section.size)
        if section.sh_type in _RELOCATIONS:
            return bodies.Blob(reloc_bytes(section))
        return bodies.Blob(bytes(section.data))

    def _made(self, section: OutSection) -> out.Section:
        """The description of a section that something else refers to."""
        made = self.made.get(section)
        if made is None:
            raise UnsupportedLinkError(f"references to section '{section.name}', which is empty")
        return made

    def _refer(self, section: OutSection, made: out.Section) -> None:
        """Sections of one name may be several, so owners are named as objects."""
        if section.info_section is not None:
            made.info = self._made(section.info_section)
        elif section.flags & SHF_EXECINSTR:
            made.info = section.info_value

    def _symbol(self, state: LinkState, symbol: Symbol) -> out.Symbol | out.Dropped:
        if is_dropped(state, symbol):
            return out.Dropped(symbol.name)
        section = symbol.section
        if state is not self.state:
            twins = self.state.symbols.numbered
            twin = twins[symbol.index - 1] if symbol.index <= len(twins) else None
            if not isinstance(twin, Symbol):
                raise UnsupportedLinkError(f"Mercury symbol '{symbol.name}' without a twin")
            symbol, section = twin, twin.section
        st_info, st_other, st_value = symbol_fields(self.state, symbol)
        place = self._made(section) if section is not None else 0
        return out.Symbol(
            symbol.name, st_info, st_other, place, st_value, symbol.size, symbol.in_globals
        )

    # -- the Mercury half ----------------------------------------------------------------------

    def _mercury_sections(
        self, mercury: LinkState, twins: dict[OutSection, OutSection]
    ) -> list[out.Section]:
        state = mercury
        copies: dict[OutSection, out.Section] = {}
        for section in (mercury.sections.fixed[".nv.info"], *state.sections.made):
            if section.emitted and has_mercury_copy(section):
                copies[section] = self._mercury_copy(section, twins)
        for section, copy in copies.items():
            if section.info_section is not None:
                if section.info_section not in copies:
                    raise UnsupportedLinkError(
                        f"section '{section.name}' without '{section.info_section.name}'"
                    )
                copy.info = copies[section.info_section]
            elif section.flags & SHF_EXECINSTR:
                owner = section.owner
                copy.info = owner.index if owner is not None else section.info_value
        symtab = out.Section(
            ".nv.merc.symtab",
            SHT_CUDA_MERC_SYMTAB,
            bodies.MercurySymbols(
                [self._mercury_symbol(state, s, copies, twins) for s in mercury.symbols.numbered],
                null_value=state.symbols.null_value,
            ),
            SHF_CUDA_MERCURY,
            0,
            8,
            records.SYMBOL_64.size,
            has_symbol=False,
        )
        made = [*copies.values(), symtab]
        made.sort(key=lambda s: s.sh_type == SHT_CUDA_RESERVED_SHARED)
        return [made[at] for at in Kinds(PRODUCERS[_MERCURY_PROFILE], made).index_order(made)]

    def _mercury_copy(
        self, section: OutSection, twins: dict[OutSection, OutSection]
    ) -> out.Section:
        is_code = bool(section.flags & SHF_EXECINSTR)
        prefix = ".nv.capmerc" if is_code else ".nv.merc"
        body = self._body(section)
        if is_code and isinstance(body, bodies.Blob):
            body = _CapsuleBody(body.data, self._made(twin_of(twins, section)))
        if section.sh_type == SHT_CUDA_RESERVED_SHARED:
            body = bodies.Blob(self._stale_headers(section.size))
        # Bytes that the finalizer writes anew may be equal by chance and are apart even so.
        plain = twins.get(section)
        apart = (
            section.name == _DEBUG_INFO
            and plain is not None
            and plain in self.state.relocations.applied
        )
        apart = apart or section.sh_type == _CONSTANT2
        kind = SHT_CUDA_CAPMERC if is_code else _MERCURY_TYPE.get(section.sh_type, section.sh_type)
        flags = SHF_CUDA_MERCURY if is_code else section.flags | SHF_CUDA_MERCURY
        return out.Section(
            prefix + section.name,
            kind,
            body,
            flags,
            0,
            section.align,
            section.entsize,
            has_symbol=False,
            shares=False if apart else None,
        )

    def _stale_headers(self, size: int) -> bytes:
        """Bytes of the Mercury copy of reserved shared memory.

        nothing was ever stored there; what shows is what follows in the file that the finalizer
        read: padding, the null section header, that of `.shstrtab` and the first half of that of
        `.strtab` (tcgen05_thor).
        """
        assert self.mercury is not None
        names: dict[str, None] = {}
        for entry in self.mercury.names.entries:
            if not isinstance(entry, Symbol):
                names.setdefault(entry if isinstance(entry, str) else entry.name)
        length = 1 + sum(len(name.encode("utf-8", "surrogateescape")) + 1 for name in names)
        row = records.SECTION_HEADER_64
        stale = bytes(_padding_behind_reserved(self.mercury) + row.size)
        stale += row.pack(1, SHT_STRTAB, 0, 0, row.size, length, 0, 0, 1, 0)
        # The size, in the second half, is not made here.
        name = len("\0.shstrtab\0")
        stale += row.pack(name, SHT_STRTAB, 0, 0, row.size + length, 0, 0, 0, 1, 0)[: row.size // 2]
        if size > len(stale):
            raise UnsupportedLinkError(f"{size} bytes of reserved shared memory")
        return stale[:size]

    def _mercury_symbol(
        self,
        state: LinkState,
        item: Symbol | OutSection,
        copies: dict[OutSection, out.Section],
        twins: dict[OutSection, OutSection],
    ) -> bodies.MercurySymbol:
        symbol = item if isinstance(item, Symbol) else item.symbol
        assert symbol is not None
        section = symbol.section
        st_info, st_other, st_value = symbol_fields(state, symbol)
        place: out.Section | int = 0
        name = symbol.name
        if section is not None:
            place = copies[section] if section in copies else self._made(twin_of(twins, section))
            name = section.name if symbol.kind == STT_SECTION else name
        return bodies.MercurySymbol(name, st_info, st_other, place, st_value, symbol.size)


def _padding_behind_reserved(mercury: LinkState) -> int:
    """Bytes between reserved shared memory and the section headers of the Mercury file.

    Sections without bytes are aligned, too, so the place in that file counts where one behind has
    more alignment: the file is laid out with code as long as its symbols say, and without the
    record that the finalizer adds to `.nv.compat`.
    """
    kinds = [s for s in mercury.sections.made if s.emitted and s.is_nobits]
    reserved = [s for s in kinds if s.sh_type == SHT_CUDA_RESERVED_SHARED]
    behind = kinds[kinds.index(reserved[0]) + 1 :] if reserved else []
    if all(s.align <= reserved[0].align for s in behind):
        return 0
    writer = _Writer(mercury, None)
    description = writer.description()
    for section, made in writer.made.items():
        if section.flags & SHF_EXECINSTR and section.owner is not None:
            made.body = bodies.Blob(bytes(section.owner.size))
        elif section.sh_type == SHT_CUDA_COMPAT_INFO:
            made.body = bodies.Blob(bytes(len(section.content) - _FASTPATH_RECORD))
    rows = {id(s): row for s, row in zip(*_planned(description), strict=True)}
    offset = rows[id(writer.made[reserved[0]])][4]
    return align_up(max(rows[id(writer.made[s])][4] for s in kinds), 8) - offset


def _planned(description: Description) -> tuple[list[out.Section], list[tuple[int, ...]]]:
    """Sections of a file and their headers, in index order."""
    made = plan(description)
    return [s for s in made.sections if s is not None], list(made.section_rows[1:])


@dataclass(slots=True)
class _CapsuleBody:
    """Mercury code; its first word is the index of the SASS section of the same function."""

    data: bytes
    text: out.Section

    @property
    def size(self) -> int:
        return len(self.data)

    def encode(self, context: bodies.Context) -> bytes:
        return context.section_index(self.text).to_bytes(4, "little") + self.data[4:]


def has_mercury_copy(section: OutSection) -> bool:
    """Whether a section of the Mercury half is written beside its SASS twin."""
    return section.sh_type in _COPIED or is_constant(section.sh_type)
