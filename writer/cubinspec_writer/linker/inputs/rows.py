"""Rows of relocatable cubins as they were read; `model.InputObject` has those of one input.

Sections and symbols have no constructor, which would take half of the time of reading them: who
makes one fills all of its fields.
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    STO_CUDA_ENTRY,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
    STT_FUNC,
)


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


#: One relocation row: offset, type, symbol number, addend (0 in a REL section).
InReloc = tuple[int, int, int, int]


class InRelocs:
    """The relocation section of one input section."""

    __slots__ = ("is_rela", "rows", "section", "target")

    def __init__(self, section: int, target: int, is_rela: bool, rows: list[InReloc]) -> None:
        self.section: int = section
        self.target: int = target
        self.is_rela: bool = is_rela
        self.rows: list[InReloc] = rows


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
