"""The things of a link: its inputs, and the sections, symbols and relocations of its output.

An input has its rows (`inputs.rows`), which stay as they were read, and beside them what the passes
find out about it. The passes create, fill, move and drop what is of the output. All sizes and
offsets are bytes.
"""

from __future__ import annotations

from cubinspec.format.attributes import RecordSplitter
from cubinspec.format.notes import CUINFO, CUVER, toolkit_in, virtual_in
from cubinspec.format.packing import align_up
from cubinspec.values import final
from cubinspec_generated.codes import (
    EF_CUDA_V2_SM_MASK,
    EF_CUDA_V2_SM_SHIFT,
    EF_CUDA_VIRTUAL_SM_MASK,
    EF_CUDA_VIRTUAL_SM_SHIFT,
    SHF_INFO_LINK,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_SHARED,
    SHT_NOBITS,
    SHT_NOTE,
    STB_LOCAL,
    STO_CUDA_ENTRY,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
    STT_CUDA_SAMPLER,
    STT_CUDA_SURFACE,
    STT_CUDA_TEXTURE,
    STT_FUNC,
    STT_SECTION,
)
from cubinspec_writer.linker.inputs.rows import CallGraph, named_symbols, section_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Final

    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.inputs.rows import InRelocs, InSection, InSymbol

#: Types of references to textures, samplers and surfaces, whose indices only the driver knows.
HANDLE_KINDS: Final[tuple[int, ...]] = (STT_CUDA_TEXTURE, STT_CUDA_SAMPLER, STT_CUDA_SURFACE)
#: No input has more; a larger value is a broken file, not a wish for gigabytes of padding.
LARGEST_ALIGNMENT: Final = 1 << 20
#: Of arrays of dynamic size in shared memory.
DYNAMIC_ALIGN: Final = 16

#: Tables of unified functions and data, and of their identifiers.
UFT: Final = ".nv.uft"
UDT: Final = ".nv.udt"
UFT_ENTRY: Final = ".nv.uft.entry"
#: What stands for arrays of dynamic size with `-r`.
INSTANCE: Final = "externsharedinstance"
UDT_ENTRY: Final = ".nv.udt.entry"
#: Code of the stub of a unified function.
STUB_CODE: Final = ".nv.uft.rel."
#: Variables and arrays in shared memory that no kernel owns.
SHARED_POOL: Final = ".nv_debug.shared"
_CUDA_NOTES: Final[tuple[str, ...]] = (CUINFO, CUVER)
#: Of the linker alone: `sh_info` is the owner although the input's flags do not say so.
SHF_UNSAID: Final = 1 << 32


#: Debug tables with places in code; those of the SASS half are made anew by the finalizer.
FRAMES: Final = ".debug_frame"
REGISTER_TABLE: Final = ".nv_debug_info_reg_sass"
LINE_TABLES: Final[tuple[str, ...]] = (".debug_line", ".nv_debug_line_sass")


class InputObject:
    """One relocatable cubin as read: rows only.

    Attributes:
        named: rows of `symbols` that can be bound.
        functions: those of functions.
        kinds, others: the types of symbols among `named`, and all that their `st_other` hold.
        barriers: the number of barriers in the flags of code of older toolkits, by section.
        info: records of attribute sections that were asked for, by section; see `records`.
        is_extensible: `ptxas -ewp` wrote it, which places the shared memory of kernels itself.
        told_frames: by symbol number the size of a frame that the finalizer tells instead.
        is_system: it comes from the library of the device runtime.
        made_by: the number of the toolkit in the ELF header, where it was before CUDA 13; 0: none.
        pooled: numbers of symbols of arrays of dynamic size that a link with `-r` defined.
        mercury_debug: of the SASS half, by debug table of the Mercury half the number of the
            function that each place of the table names.
        bound: output symbol of every input symbol, filled by `resolve`; None for symbols without
            a place.
        called: those of them that are functions, filled by `liveness`.
        placed: where every input section went: output section and offset inside it, filled by
            `merge`.
        repeats: parts of sections, (start, end), that only repeat a weak variable, by section;
            filled by `resolve`.
    """

    __slots__ = (
        "_by_type",
        "_split",
        "_splitter",
        "_texts",
        "barriers",
        "bound",
        "called",
        "callgraph",
        "flags",
        "functions",
        "info",
        "is_extensible",
        "is_system",
        "kinds",
        "made_by",
        "mercury_debug",
        "name",
        "named",
        "others",
        "placed",
        "pooled",
        "prototypes",
        "relocs",
        "repeats",
        "sections",
        "strtab",
        "symbols",
        "told_frames",
    )
    functions: list[InSymbol]
    kinds: set[int]
    others: set[int]
    named: list[InSymbol]

    def __init__(
        self,
        name: str,
        flags: int,
        sections: list[InSection],
        symbols: list[InSymbol],
        strtab: bytes,
        splitter: RecordSplitter | None = None,
    ) -> None:
        self.name: str = name
        self.flags: int = flags
        self.sections: list[InSection] = sections
        self.symbols: list[InSymbol] = symbols
        self.named = named_symbols(symbols, sections)
        self.functions = [row for row in self.named if row.kind == STT_FUNC]
        self.kinds = {row.kind for row in self.named}
        self.others = {row.other for row in self.named}
        self.strtab: bytes = strtab
        self.relocs: list[InRelocs] = []
        self.barriers: dict[int, int] = {}
        self.is_extensible: bool = False
        self.told_frames: dict[int, int] = {}
        self.is_system: bool = False
        self.made_by: int = 0
        self.pooled: set[int] = set()
        self.mercury_debug: dict[str, dict[int, int]] = {}
        self.info: dict[int, list[RawRecord]] = {}
        self._by_type: dict[int, list[InSection]] = {}
        self._texts: dict[int, str] = {}
        self._split: dict[bytes, list[RawRecord]] = {}
        self._splitter = splitter or RecordSplitter()
        self.callgraph: CallGraph = CallGraph()
        self.prototypes: list[tuple[int, int]] = []
        self.bound: list[Symbol | None] = []
        self.called: dict[int, Symbol] = {}
        self.placed: list[tuple[OutSection, int] | None] = [None] * len(sections)
        self.repeats: dict[int, list[tuple[int, int]]] = {}

    @property
    def sm(self) -> int:
        return (self.flags & EF_CUDA_V2_SM_MASK) >> EF_CUDA_V2_SM_SHIFT

    @property
    def virtual_target(self) -> int | None:
        """The virtual architecture that it was compiled for.

        It is in a CUDA note, or in bits 16-23 of `e_flags` before CUDA 13.
        """
        for section in self.of_type(SHT_NOTE):
            found = virtual_in(section.data) if section.name in _CUDA_NOTES else None
            if found is not None:
                return found
        return (self.flags & EF_CUDA_VIRTUAL_SM_MASK) >> EF_CUDA_VIRTUAL_SM_SHIFT or None

    @property
    def toolkit(self) -> int:
        """The number of the toolkit that made it, in its CUDA note or in the header; 0: unknown."""
        found = (s for s in self.of_type(SHT_NOTE) if s.name == CUINFO)
        return next((toolkit_in(section.data) for section in found), self.made_by)

    def place(self, section: int) -> tuple[OutSection, int] | None:
        """Where a section went; None, too, for the reserved numbers."""
        return self.placed[section] if section < len(self.placed) else None

    def string(self, offset: int) -> str:
        """A text of the string table; few signatures serve many functions."""
        text = self._texts.get(offset)
        if text is None:
            text = self._texts[offset] = self._string(offset)
        return text

    def _string(self, offset: int) -> str:
        end = self.strtab.find(b"\0", offset)
        return self.strtab[offset : end if end >= 0 else len(self.strtab)].decode(
            "utf-8", "surrogateescape"
        )

    def records(self, section: int) -> list[RawRecord]:
        """The records of an attribute section, taken apart at the first call."""
        found = self.info.get(section)
        if found is None:
            # Most device functions have the same few records.
            data = self.sections[section].data
            found = self._split.get(data)
            if found is None:
                found = self._split[data] = self._splitter.split(data)
            self.info[section] = found
        return found

    def of_type(self, sh_type: int) -> list[InSection]:
        """The sections of a type, in index order; who asks does not change the list."""
        by_type = self._by_type or self._sorted_by_type()
        return by_type.get(sh_type, [])

    def of_types(self, types: Iterable[int]) -> list[InSection]:
        """The sections of some types, in index order."""
        by_type = self._by_type or self._sorted_by_type()
        lists = [by_type[sh_type] for sh_type in types if sh_type in by_type]
        if len(lists) < 2:
            return lists[0] if lists else []
        return sorted((s for part in lists for s in part), key=section_index)

    def _sorted_by_type(self) -> dict[int, list[InSection]]:
        by_type = self._by_type
        for section in self.sections:
            found = by_type.get(section.sh_type)
            if found is None:
                by_type[section.sh_type] = [section]
            else:
                found.append(section)
        return by_type

    def find(self, sh_type: int, name: str) -> InSection | None:
        """The first section of a type and a name."""
        return next((s for s in self.of_type(sh_type) if s.name == name), None)


def written_flags(flags: int, *, says_owner: bool) -> int:
    """The flags of an output section, of those of an input section.

    Args:
        says_owner: they say that `sh_info` is the owner also where those of the input do not.
    """
    if not flags & SHF_UNSAID:
        return flags
    return flags & ~SHF_UNSAID if says_owner else flags & ~(SHF_UNSAID | SHF_INFO_LINK)


def lowest_virtual(objects: list[InputObject], sm: int) -> int:
    """The lowest virtual architecture of some inputs; that of the target where none says it."""
    found = [virtual for obj in objects if (virtual := obj.virtual_target) is not None]
    return min(found, default=sm)


@final
class Symbol:
    """One symbol of the output, shared by all inputs that mean the same thing.

    Attributes:
        definition: the winning definition: input object and its symbol row.
        replaced: copies of a function that were in the output until a better one came.
        first: first input that mentions the name (for messages).
        parts: sections that belong to this function, as they were made.
        internal: serves relocations only; executables do not list it.
        in_globals: in the second part of the symbol table, whatever the binding became.
    """

    __slots__ = (
        "alignment",
        "bind",
        "common",
        "definition",
        "entered",
        "first",
        "in_globals",
        "index",
        "internal",
        "kind",
        "live",
        "name",
        "other",
        "parts",
        "replaced",
        "section",
        "size",
        "value",
    )

    def __init__(
        self,
        name: str,
        bind: int,
        kind: int,
        other: int,
        size: int = 0,
        value: int = 0,
        section: OutSection | None = None,
        first: InputObject | None = None,
        entered: bool = False,
        in_globals: bool = False,
        definition: tuple[InputObject, InSymbol] | None = None,
    ) -> None:
        self.name: str = name
        self.bind: int = bind
        self.kind: int = kind
        self.other: int = other
        self.size: int = size
        self.value: int = value
        self.section: OutSection | None = section
        self.definition: tuple[InputObject, InSymbol] | None = definition
        self.replaced: Sequence[tuple[InputObject, InSymbol]] = ()
        self.parts: list[OutSection] = []
        self.first: InputObject | None = first
        self.common: bool = False
        self.alignment: int = 1
        self.live: bool = True
        self.internal: bool = False
        self.entered: bool = entered
        self.in_globals: bool = in_globals
        self.index: int = 0

    @property
    def is_function(self) -> bool:
        return self.kind == STT_FUNC

    @property
    def is_entry(self) -> bool:
        return self.other & STO_CUDA_ENTRY != 0 and self.kind == STT_FUNC

    @property
    def is_defined(self) -> bool:
        return self.definition is not None

    @property
    def space(self) -> int:
        return (self.other & STO_CUDA_SPACE_MASK) >> STO_CUDA_SPACE_SHIFT


class Reloc:
    """One relocation of the output, against a place inside an output section.

    Attributes:
        serial: running number in the order of merging, with `--preserve-relocs` and `-r`; else 0.
    """

    __slots__ = ("addend", "offset", "r_type", "serial", "symbol")

    offset: int
    r_type: int
    symbol: Symbol
    addend: int
    serial: int

    def at(self, offset: int) -> Reloc:
        """The same at another place."""
        return relocation(offset, self.r_type, self.symbol, self.addend, self.serial)

    def naming(self, symbol: Symbol) -> Reloc:
        """The same with another symbol."""
        return relocation(self.offset, self.r_type, symbol, self.addend, self.serial)

    def of_type(self, r_type: int) -> Reloc:
        """The same with another type."""
        return relocation(self.offset, r_type, self.symbol, self.addend, self.serial)


def relocation(offset: int, r_type: int, symbol: Symbol, addend: int, serial: int) -> Reloc:
    """One entry; `Reloc` has no constructor, as loops over many fill the fields themselves."""
    made = Reloc()
    made.offset, made.r_type, made.symbol = offset, r_type, symbol
    made.addend, made.serial = addend, serial
    return made


#: The rows of a section without any, as most are; a test sees to it that nobody adds to it.
NO_ROWS: Final[list[Any]] = []
#: Takes attributes of the output apart.
_SPLITTER: Final = RecordSplitter()
_WITHOUT_BYTES: Final = frozenset(
    (SHT_NOBITS, SHT_CUDA_GLOBAL, SHT_CUDA_SHARED, SHT_CUDA_RESERVED_SHARED)
)


@final
class OutSection:
    """One section of the output.

    Attributes:
        index: number of the section, set when the file is written.
        has_symbol: whether the kind of section has a section symbol.
        symbol_index: number of that symbol.
        nobits_size: size when there are no bytes in the file; otherwise `len(data)` counts.
        barriers: their number, which flags of code say in files before CUDA 13 and with `-r`.
        reserved: bytes in front of `nobits_size` that the hardware keeps for itself.
        content: bytes of the input as long as nobody changes them; `data` is for changes.
        info_section, info_value: `sh_info`: a section (its index), or a number made by a later
            pass.
    """

    __slots__ = (
        "_records",
        "align",
        "barriers",
        "content",
        "emitted",
        "entsize",
        "flags",
        "has_symbol",
        "index",
        "info_section",
        "info_value",
        "is_nobits",
        "made_symbol",
        "name",
        "nobits_size",
        "owner",
        "relocs",
        "reserved",
        "sh_type",
        "symbol_index",
    )
    nobits_size: int

    def __init__(
        self,
        name: str,
        sh_type: int,
        flags: int,
        align: int,
        entsize: int = 0,
        owner: Symbol | None = None,
        emitted: bool = True,
        has_symbol: bool = False,
    ) -> None:
        self.name: str = name
        self.sh_type: int = sh_type
        self.flags: int = flags
        self.align: int = align
        self.barriers: int = 0
        self.entsize: int = entsize
        self.content: bytes | bytearray = b""
        self.nobits_size = 0
        self.reserved: int = 0
        self.owner: Symbol | None = owner
        self.has_symbol: bool = has_symbol
        self.symbol_index: int = 0
        self.made_symbol: Symbol | None = None
        self.info_section: OutSection | None = None
        self.info_value: int = 0
        self.relocs: list[Reloc] = NO_ROWS
        self._records: list[RawRecord] | None = NO_ROWS
        self.emitted: bool = emitted
        self.index: int = 0
        self.is_nobits: bool = sh_type in _WITHOUT_BYTES

    @property
    def symbol(self) -> Symbol | None:
        """The section symbol, made when somebody needs more than its number."""
        symbol = self.made_symbol
        if symbol is None and self.has_symbol:
            symbol = Symbol("", STB_LOCAL, STT_SECTION, 0, section=self, entered=True)
            if self.symbol_index:
                symbol.index = self.symbol_index
            self.made_symbol = symbol
        return symbol

    @property
    def records(self) -> list[RawRecord]:
        """Attributes, to be changed; what is done to them is in the contents when they are joined.

        They are taken apart when somebody asks for one: of most nobody does.
        """
        found = self._records
        if found is None:
            found = self._records = _SPLITTER.split(bytes(self.content))
        return found

    @records.setter
    def records(self, records: list[RawRecord]) -> None:
        self._records = records

    @property
    def is_joined(self) -> bool:
        """Whether the contents have the attributes as they are."""
        return self._records is None

    def hold(self, stream: bytes) -> None:
        """Take attributes that are not taken apart."""
        self.content, self._records = stream, None

    def join(self) -> None:
        """Write the attributes into the contents."""
        if self._records is not None:
            self.content = b"".join(self._records)

    @property
    def data(self) -> bytearray:
        """The contents, to be changed in place."""
        content = self.content
        if not isinstance(content, bytearray):
            content = self.content = bytearray(content)
        return content

    @data.setter
    def data(self, data: bytes | bytearray) -> None:
        self.content = data

    @property
    def size(self) -> int:
        return self.nobits_size + self.reserved if self.is_nobits else len(self.content)

    def append(self, data: bytes | bytearray, size: int, alignment: int) -> int:
        """Append one block and return its offset; a NOBITS section only grows."""
        if alignment > self.align:
            self.align = alignment
        if self.is_nobits:
            at = align_up(self.size, alignment)
            self.nobits_size = at + size
        elif not self.content:
            at, self.content = 0, data
        else:
            content = self.data
            at = align_up(len(content), alignment)
            content.extend(bytes(at - len(content)))
            content += data
        return at


class UnifiedRow:
    """One row of a table of unified functions or data of the output."""

    __slots__ = ("flags", "identifier", "offset", "stub", "symbol")

    def __init__(
        self, symbol: Symbol, flags: int, identifier: tuple[int, int], stub: Symbol | None
    ) -> None:
        self.symbol: Symbol = symbol
        self.flags: int = flags
        self.identifier: tuple[int, int] = identifier
        #: The stub of a function; None: a variable, or the stub is in no table (`-r`).
        self.stub: Symbol | None = stub
        #: Its place in the table, when the index has said it; till then that of the symbol counts.
        self.offset: int | None = None
