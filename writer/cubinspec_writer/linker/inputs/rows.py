"""Rows of relocatable cubins as they were read; `model.InputObject` has those of one input.

Sections and symbols have no constructor, which would take half of the time of reading them: who
makes one fills all of its fields.

Some symbols no tool writes: here stands which of them nvlink passes over, and which are refused.
`make link-sweep` puts every binding and type into every section. nvlink takes some of them apart in
ways that depend on its own memory; those are refused by name, so that nothing is linked by guess.
"""

from __future__ import annotations

from cubinspec.format.sections import (
    CALLGRAPH_TYPES,
    PROTOTYPE_TYPES,
    SYMBOL_TABLE_TYPES,
)
from cubinspec.reader.elf import table_rows
from cubinspec_generated import records
from cubinspec_generated.codes import (
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHN_UNDEF,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_RELA,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_UFT,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STO_CUDA_ENTRY,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
    STO_CUDA_VISIBILITY_MASK,
    STT_CUDA_OBJECT,
    STT_CUDA_SAMPLER,
    STT_CUDA_SURFACE,
    STT_CUDA_TEXTURE,
    STT_FUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STV_INTERNAL,
)
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: What textures, samplers and surfaces are to the host: names without a size.
_HANDLES: Final = frozenset((STT_CUDA_TEXTURE, STT_CUDA_SAMPLER, STT_CUDA_SURFACE))
_BOUND: Final = _HANDLES | {STT_FUNC, STT_OBJECT, STT_CUDA_OBJECT}
_BINDINGS: Final[tuple[int, ...]] = (STB_LOCAL, STB_GLOBAL, STB_WEAK)
#: Sections that tell about a file, and that every link makes anew; no variable can lie in one.
_DESCRIBING = CALLGRAPH_TYPES | PROTOTYPE_TYPES | SYMBOL_TABLE_TYPES
_DESCRIBING |= {
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_RELA,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
}
#: Notes of the tools; others can hold a symbol (rule E3).
_NOTES: Final[tuple[str, ...]] = (".note.nv.tkinfo", ".note.nv.cuinfo")


class InSection:
    """One section header of an input and its bytes (empty for types without bytes)."""

    __slots__ = (
        "align",
        "data",
        "entsize",
        "flags",
        "index",
        "info",
        "link",
        "name",
        "sh_type",
        "size",
    )

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

    def cut(self, size: int) -> InSection:
        """The same with fewer bytes."""
        cut = InSection()
        cut.index, cut.name = self.index, self.name
        cut.sh_type, cut.flags = self.sh_type, self.flags
        cut.size, cut.link, cut.info = size, self.link, self.info
        cut.align, cut.entsize = self.align, self.entsize
        cut.data = self.data[:size]
        return cut


class InSymbol:
    """One symbol row of an input."""

    __slots__ = ("bind", "index", "kind", "name", "other", "shndx", "size", "value")

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
        return (self.other & STO_CUDA_SPACE_MASK) >> STO_CUDA_SPACE_SHIFT


#: One relocation row: offset, type, symbol number, addend (0 in a REL section). Of a fixed length
#: it would be taken apart and put together again wherever a compiled module moves it.
InReloc = tuple[int, ...]


class InRelocs:
    """The relocation section of one input section.

    Attributes:
        body: its bytes, from which `rows` makes the rows whenever it is asked, as they take six
            times the memory.
        read: the rows, as long as they are kept; all of an input are made at once.
    """

    __slots__ = ("_changed", "body", "is_rela", "read", "section", "target")

    def __init__(self, section: int, target: int, is_rela: bool, body: bytes) -> None:
        self.section: int = section
        self.target: int = target
        self.is_rela: bool = is_rela
        self.body: bytes = body
        self.read: list[InReloc] | None = None
        self._changed: list[InReloc] | None = None

    @property
    def rows(self) -> list[InReloc]:
        """The rows, in the order of the input."""
        if self._changed is not None:
            return self._changed
        if self.read is not None:
            return self.read
        return unpacked(self.body, is_rela=self.is_rela)

    @rows.setter
    def rows(self, rows: list[InReloc]) -> None:
        self._changed = rows


def unpacked(table: bytes, *, is_rela: bool) -> list[InReloc]:
    """The rows of whole tables of relocations."""
    if is_rela:
        return table_rows(records.RELA_64, table)
    return [(*row, 0) for row in records.REL_64.iter_unpack(table)]


class CallGraph:
    """The four lists of `.nv.callgraph`, as (a, b) pairs of raw numbers."""

    __slots__ = ("address_taken", "calls", "indirect", "references")

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []
        self.address_taken: list[tuple[int, int]] = []
        self.indirect: list[tuple[int, int]] = []
        self.references: list[tuple[int, int]] = []


def section_index(section: InSection) -> int:
    """The key of the order of sections in an input."""
    return section.index


def named_symbols(symbols: list[InSymbol], sections: list[InSection]) -> list[InSymbol]:
    """The symbols that can be bound: nvlink passes over those of other types (rule E5).

    Names of reserved shared memory have no type in older files, but a size (rule S18); undefined
    local names are notes of the compiler.

    Raises:
        UnsupportedLinkError: a symbol that no tool writes, and that nvlink takes in a way of its
            own.
    """
    found = []
    shapes: dict[tuple[int, int, int, int, bool], InSymbol] = {}
    num_sections = len(sections)
    for row in symbols:
        kind, shndx = row.kind, row.shndx
        if not row.name:
            if row.bind != STB_LOCAL:
                # nvlink takes all of them for one (rule X19).
                raise UnsupportedLinkError(f"symbol {row.index}, which is not local, has no name")
            continue
        is_placed = shndx < num_sections and row.bind in _BINDINGS
        if kind == STT_FUNC and is_placed and sections[shndx].flags & SHF_EXECINSTR:
            pass  # the most frequent case, which is never refused: a function in code
        elif kind in _BOUND:
            shapes[row.bind, kind, shndx, row.other, row.size > 0] = row
        elif kind != STT_NOTYPE or not _is_note(row, sections):
            continue
        found.append(row)
    for row in shapes.values():
        why = _refusal(row, sections)
        if why:
            raise UnsupportedLinkError(f"symbol '{row.name}' {why}")
    return found


def check_bindings(symbols: list[InSymbol]) -> None:
    """Refuse symbols of a binding that ELF does not have, as the finalizer does.

    Raises:
        UnsupportedLinkError: there is one.
    """
    if {row.bind for row in symbols}.issubset(_BINDINGS):
        return
    wrong = next(row for row in symbols if row.bind not in _BINDINGS)
    raise UnsupportedLinkError(f"symbol '{wrong.name}' with the binding {wrong.bind}")


def _is_note(row: InSymbol, sections: list[InSection]) -> bool:
    if row.shndx == SHN_UNDEF:
        return row.bind == STB_LOCAL
    section = sections[row.shndx] if row.shndx < len(sections) else None
    return section is not None and section.sh_type == SHT_CUDA_RESERVED_SHARED and row.size > 0


def _refusal(row: InSymbol, sections: list[InSection]) -> str:
    """Why a symbol is not linked; empty: it is."""
    kind, shndx = row.kind, row.shndx
    if row.bind not in _BINDINGS:
        return f"with the binding {row.bind}"
    if shndx == SHN_UNDEF or shndx >= len(sections):
        return "of a texture, with a size" if kind in _HANDLES and row.size else ""
    section = sections[shndx]
    is_code = bool(section.flags & SHF_EXECINSTR)
    if kind == STT_FUNC:
        is_wrong = not is_code and section.sh_type != SHT_CUDA_UFT
    elif kind in _HANDLES:
        is_wrong = not is_code or row.bind != STB_LOCAL or row.size > 0
    else:
        is_parameter = row.other & STO_CUDA_VISIBILITY_MASK == STV_INTERNAL
        is_wrong = section.sh_type in _DESCRIBING
        is_wrong |= section.name in _NOTES
        is_bank = section.sh_type == SHT_CUDA_CONSTANT_B0 and section.flags & SHF_INFO_LINK
        is_wrong |= bool(is_bank) and not is_parameter
    return f"in section '{section.name}', which holds nothing of its kind" if is_wrong else ""
