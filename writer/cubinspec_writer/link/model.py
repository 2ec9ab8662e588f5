"""The data that the passes hand to each other.

Inputs are read once into `InputObject` (rows of one relocatable cubin, nothing decided). All that
will be in the output is an `OutSection`, a `Symbol` or a `Reloc`; the passes create, fill, move and
drop these. All sizes and offsets are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION = 0, 1, 2, 3
STT_CUDA_TEXTURE, STT_CUDA_SAMPLER, STT_CUDA_SURFACE, STT_CUDA_OBJECT = 10, 11, 12, 13
#: Kinds of references to what only the driver knows.
HANDLE_KINDS = (STT_CUDA_TEXTURE, STT_CUDA_SAMPLER, STT_CUDA_SURFACE)
SHN_UNDEF, SHN_COMMON = 0, 0xFFF2
STV_INTERNAL = 1
STO_CUDA_MANAGED, STO_CUDA_ENTRY = 0x04, 0x10
STO_CUDA_SPACE = 0xE0

SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA = 0, 1, 2, 3, 4
SHT_NOTE, SHT_NOBITS, SHT_REL = 7, 8, 9
SHT_CUDA_INFO, SHT_CUDA_CALLGRAPH, SHT_CUDA_PROTOTYPE = 0x70000000, 0x70000001, 0x70000002
SHT_CUDA_RESOLVED_RELA = 0x70000003
SHT_CUDA_GLOBAL, SHT_CUDA_GLOBAL_INIT = 0x70000007, 0x70000008
SHT_CUDA_SHARED, SHT_CUDA_RELOCINFO = 0x7000000A, 0x7000000B
SHT_CUDA_UFT, SHT_CUDA_UDT_ENTRY = 0x7000000E, 0x70000014
SHT_CUDA_SHARED_RESERVED = 0x70000015
SHT_CUDA_CONSTANT_B0, SHT_CUDA_CONSTANT_B17 = 0x70000064, 0x70000075
SHT_CUDA_COMPAT = 0x70000086
SHT_CUDA_MERC_CODE = 0x70000016
SHT_CUDA_MERC_CONSTANT_IMAGES = 0x70000079
SHT_CUDA_MERC_CONSTANT_USER, SHT_CUDA_MERC_CONSTANT_PIC = 0x7000007C, 0x7000007D
SHT_CUDA_MERC_RELA, SHT_CUDA_MERC_INFO = 0x70000082, 0x70000083
SHT_CUDA_MERC_CONSTANT_OPTIMIZER, SHT_CUDA_MERC_SYMTAB = 0x70000084, 0x70000085
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_INFO_LINK = 1, 2, 4, 0x40
SHF_MERCURY = 0x10000000


class Space(IntEnum):
    """Memory space of a symbol: `st_other` bits 5-7, shifted down."""

    NONE = 0
    GLOBAL = 1
    SHARED = 2
    LOCAL = 3
    CONSTANT = 4
    RESERVED_SHARED = 5


def is_constant(sh_type: int) -> bool:
    """Whether the type is one of the numbered constant banks."""
    return SHT_CUDA_CONSTANT_B0 <= sh_type <= SHT_CUDA_CONSTANT_B17


def align_up(value: int, alignment: int) -> int:
    """The next multiple of `alignment` (0 and 1 mean none)."""
    return value if alignment < 2 else -(-value // alignment) * alignment


# ---------------------------------------------------------------- inputs


@dataclass(slots=True)
class InSection:
    """One section header of an input and its bytes (empty for NOBITS-like types)."""

    index: int
    name: str
    sh_type: int
    flags: int
    size: int
    link: int
    info: int
    align: int
    entsize: int
    data: bytes


@dataclass(slots=True)
class InSymbol:
    """One symbol row of an input."""

    index: int
    name: str
    bind: int
    kind: int
    other: int
    shndx: int
    value: int
    size: int

    @property
    def is_entry(self) -> bool:
        return self.kind == STT_FUNC and bool(self.other & STO_CUDA_ENTRY)

    @property
    def space(self) -> int:
        return (self.other & STO_CUDA_SPACE) >> 5


@dataclass(slots=True)
class InReloc:
    """One relocation row; `addend` is 0 for rows of a REL section."""

    offset: int
    r_type: int
    symbol: int
    addend: int


@dataclass(slots=True)
class InRelocs:
    """The relocation section of one input section."""

    section: int
    target: int
    is_rela: bool
    rows: list[InReloc]


@dataclass(slots=True)
class InfoRecord:
    """One `.nv.info` record: format, attribute code, immediate value or payload."""

    fmt: int
    code: int
    value: int
    payload: bytes = b""

    def encode(self) -> bytes:
        head = bytes((self.fmt, self.code))
        if self.fmt == 4:
            return head + len(self.payload).to_bytes(2, "little") + self.payload
        return head + self.value.to_bytes(2, "little")


@dataclass(slots=True)
class CallGraph:
    """The four lists of `.nv.callgraph`, as (a, b) pairs of raw numbers."""

    calls: list[tuple[int, int]] = field(default_factory=list)
    address_taken: list[tuple[int, int]] = field(default_factory=list)
    indirect: list[tuple[int, int]] = field(default_factory=list)
    references: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class InputObject:
    """One relocatable cubin as read: rows only."""

    name: str
    flags: int
    sections: list[InSection]
    symbols: list[InSymbol]
    strtab: bytes
    relocs: list[InRelocs]
    info: dict[int, list[InfoRecord]]
    callgraph: CallGraph
    prototypes: list[tuple[int, int]]
    #: Output symbol of every input symbol, filled by `resolve`; None for symbols without a place.
    bound: list[Symbol | None] = field(default_factory=list)
    #: Where an input section went: output section and offset inside it, filled by `merge`.
    placed: dict[int, tuple[OutSection, int]] = field(default_factory=dict)

    @property
    def sm(self) -> int:
        return (self.flags >> 8) & 0xFFFF

    def string(self, offset: int) -> str:
        end = self.strtab.find(b"\0", offset)
        return self.strtab[offset : end if end >= 0 else len(self.strtab)].decode(
            "utf-8", "surrogateescape"
        )

    def find(self, name: str) -> InSection | None:
        return next((s for s in self.sections if s.name == name and s.sh_type != SHT_NULL), None)


# ---------------------------------------------------------------- outputs


@dataclass(slots=True, eq=False)
class Symbol:
    """One symbol of the output, shared by all inputs that mean the same thing."""

    name: str
    bind: int
    kind: int
    other: int
    size: int = 0
    value: int = 0
    section: OutSection | None = None
    #: The winning definition: input object and its symbol row.
    definition: tuple[InputObject, InSymbol] | None = None
    #: First input that mentions the name (for messages).
    first: InputObject | None = None
    common: bool = False
    alignment: int = 1
    live: bool = True
    #: Serves relocations only; executables do not list it.
    internal: bool = False
    entered: bool = False
    #: In the second part of the symbol table, whatever the binding became.
    in_globals: bool = False
    index: int = 0

    @property
    def is_function(self) -> bool:
        return self.kind == STT_FUNC

    @property
    def is_entry(self) -> bool:
        return self.kind == STT_FUNC and bool(self.other & STO_CUDA_ENTRY)

    @property
    def is_defined(self) -> bool:
        return self.definition is not None

    @property
    def space(self) -> int:
        return (self.other & STO_CUDA_SPACE) >> 5


@dataclass(slots=True, eq=False)
class Reloc:
    """One relocation of the output, against a place inside an output section."""

    offset: int
    r_type: int
    symbol: Symbol
    addend: int
    #: Running number in the order of merging.
    serial: int = 0


@dataclass(slots=True, eq=False)
class OutSection:
    """One section of the output."""

    name: str
    sh_type: int
    flags: int
    align: int
    entsize: int = 0
    data: bytearray = field(default_factory=bytearray)
    #: Size when there are no bytes in the file; otherwise `len(data)` counts.
    nobits_size: int = 0
    #: Bytes in front of `nobits_size` that the hardware keeps for itself.
    reserved: int = 0
    owner: Symbol | None = None
    symbol: Symbol | None = None
    #: `sh_info`: a section (its index), or a number made by a later pass.
    info_section: OutSection | None = None
    info_value: int = 0
    relocs: list[Reloc] = field(default_factory=list)
    records: list[InfoRecord] = field(default_factory=list)
    index: int = 0
    offset: int = 0
    emitted: bool = True

    @property
    def is_nobits(self) -> bool:
        return self.sh_type in (
            SHT_NOBITS,
            SHT_CUDA_GLOBAL,
            SHT_CUDA_SHARED,
            SHT_CUDA_SHARED_RESERVED,
        )

    @property
    def size(self) -> int:
        return self.nobits_size + self.reserved if self.is_nobits else len(self.data)

    def append(self, data: bytes | bytearray, size: int, alignment: int) -> int:
        """Append one block and return its offset; a NOBITS section only grows."""
        self.align = max(self.align, alignment)
        at = align_up(self.size, alignment)
        if self.is_nobits:
            self.nobits_size = at + size
        else:
            self.data.extend(bytes(at - len(self.data)))
            self.data += data
        return at
