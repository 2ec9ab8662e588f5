"""Describes a linked program for the emitter.

Layout, string tables, symbol table and program headers are the emitter's work. Here it is only said
which sections and symbols there are, and in which order they were made.
"""

from __future__ import annotations

from struct import error as StructError

from cubinspec.errors import BadStructureError
from cubinspec.format.packing import abi_8_flags, is_far
from cubinspec.format.sections import SASS_RELOCATION_TYPES, SHNDX
from cubinspec_generated.codes import (
    ET_EXEC,
    ET_REL,
    SHF_BARRIERS_SHIFT,
    SHF_EXECINSTR,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
)
from cubinspec_writer.emitter import Description, bodies, emit
from cubinspec_writer.emitter import model as out
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.library.outsymbols import (
    has_symbol,
    is_dropped,
    is_nameless,
    symbol_fields,
)
from cubinspec_writer.linker.model import OutSection
from cubinspec_writer.linker.write.contents import (
    callgraph_bytes,
    entered,
    output_type,
    prototype_bytes,
    reloc_bytes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.emitter.model import Body, Context, Section
    from cubinspec_writer.linker.model import Symbol
    from cubinspec_writer.linker.state import LinkState

    #: What the string tables are made from, in order.
    History = list[out.Section | out.Symbol | out.Dropped]

_PRODUCER = "classic"


def write(state: LinkState) -> bytes:
    """The cubin of a program of one half.

    Raises:
        CubinError: a number does not fit its field.
    """
    return encoded(describe(DescribedHalf(state)))


def encoded(description: Description) -> bytes:
    """The bytes of a description.

    Raises:
        CubinError: a number does not fit its field.
    """
    try:
        return emit(description)
    except StructError as error:
        raise BadStructureError(f"a number does not fit its field: {error}") from error


def describe(half: DescribedHalf) -> Description:
    """The description of a program of one half."""
    state = half.state
    history = signatures(state)
    for entry in entered(state.names):
        if isinstance(entry, OutSection):
            history.append(half.made.get(entry) or out.Dropped(entry.name, in_shstrtab=True))
        elif isinstance(entry, str):
            history.append(bare_name(entry, is_large=is_far(len(half.made) + 1)))
        elif not is_nameless(state.job, state.shared, entry):
            history.append(half.symbol(entry))
    return half.description(history, _PRODUCER)


def signatures(state: LinkState) -> History:
    """The start of `.strtab`; an empty signature leaves a NUL there (rule N9)."""
    return [out.Dropped(text, erased=0 if text else 1) for text in state.names.signatures]


def bare_name(name: str, *, is_large: bool) -> out.Section | out.Dropped:
    """A name without a section; in a large file one of them has its section after all.

    Args:
        is_large: section indices do not fit into 16 bits.
    """
    if is_large and name == SHNDX:
        return out.Section(name, SHT_SYMTAB_SHNDX, bodies.Computed(name[1:]), 0, 0, 4, 4)
    return out.Dropped(name, in_shstrtab=True)


class DescribedHalf:
    """The sections and symbols of one half as the emitter takes them.

    Attributes:
        state: the linked half.
        made: the description of every section that is in the output.
    """

    made: dict[OutSection, Section]

    def __init__(self, state: LinkState) -> None:
        self.state = state
        self.made = {
            section: self._section(section) for section in state.sections.all() if section.emitted
        }
        for section, made in self.made.items():
            # Owners are named as objects, as several sections may have one name.
            if section.info_section is not None:
                made.info = self.section(section.info_section)
            elif section.flags & SHF_EXECINSTR:
                made.info = section.info_value

    def section(self, section: OutSection) -> out.Section:
        """The description of a section that something else refers to."""
        made = self.made.get(section)
        if made is None:
            raise UnsupportedLinkError(f"references to section '{section.name}', which is empty")
        return made

    def symbol(self, symbol: Symbol) -> out.Symbol | out.Dropped:
        """The description of a symbol."""
        if is_dropped(self.state.job, self.state.shared, symbol):
            return out.Dropped(symbol.name)
        return self.kept_symbol(symbol)

    def kept_symbol(self, symbol: Symbol) -> out.Symbol:
        """The description of a symbol that is in the symbol table."""
        info, other, value = symbol_fields(self.state.job, self.state.shared, symbol)
        place = self.section(symbol.section) if symbol.section is not None else 0
        return out.Symbol(symbol.name, info, other, place, value, symbol.size, symbol.in_globals)

    def description(self, history: History, producer: str) -> Description:
        """The whole file: what was made, then the globals."""
        state = self.state
        symbols = [
            self.symbol(s)
            for s in state.symbols.globals
            if not is_nameless(state.job, state.shared, s)
        ]
        header = out.Header(
            e_type=ET_REL if state.job.options.relocatable else ET_EXEC,
            e_flags=abi_8_flags(state.job.family.file_kind, state.job.target.sm),
        )
        return Description(header, history, symbols, producer, null_value=state.symbols.null_value)

    def _section(self, section: OutSection) -> out.Section:
        return out.Section(
            section.name,
            output_type(self.state.job, section.sh_type),
            section_body(self.state, section),
            section.flags | section.barriers << SHF_BARRIERS_SHIFT,
            0,
            section.align,
            section.entsize,
            has_symbol=has_symbol(self.state.job, self.state.sections, self.state.debug, section),
        )


def section_body(state: LinkState, section: OutSection) -> Body:
    """The contents of a section, of either half."""
    if section.sh_type in (SHT_STRTAB, SHT_SYMTAB):
        return bodies.Computed(section.name[1:])
    if section is state.sections.callgraph:
        return _CallGraphBody(state)
    if section is state.sections.prototype:
        return _PrototypeBody(state)
    if section.is_nobits:
        return bodies.NoBytes(section.size)
    if section.sh_type in SASS_RELOCATION_TYPES:
        return bodies.Blob(reloc_bytes(section))
    return bodies.Blob(bytes(section.content))


class _CallGraphBody:
    """`.nv.callgraph`, which has offsets of signatures."""

    __slots__ = ("state",)

    def __init__(self, state: LinkState) -> None:
        self.state = state

    @property
    def size(self) -> int:
        return len(callgraph_bytes(self.state.symbols, self.state.graph, _nowhere))

    def encode(self, context: Context) -> bytes:
        return callgraph_bytes(self.state.symbols, self.state.graph, context.signature_offset)


class _PrototypeBody:
    """`.nv.prototype`, which has offsets of signatures."""

    __slots__ = ("state",)

    def __init__(self, state: LinkState) -> None:
        self.state = state

    @property
    def size(self) -> int:
        return len(prototype_bytes(self.state.symbols, self.state.graph, _nowhere))

    def encode(self, context: Context) -> bytes:
        return prototype_bytes(self.state.symbols, self.state.graph, context.signature_offset)


def _nowhere(signature: str) -> int:
    """Stands for an offset in `.strtab` that is not known yet."""
    return 0
