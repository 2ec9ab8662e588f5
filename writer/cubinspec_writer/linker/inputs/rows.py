"""What the inputs consist of: rows of relocatable cubins, read once, with nothing decided.

What the passes find out about an input stands beside its rows (see `InputObject`).
"""

from __future__ import annotations

from cubinspec.format.attributes import RecordSplitter
from cubinspec_generated.codes import (
    EF_CUDA_V2_SM_MASK,
    EF_CUDA_V2_SM_SHIFT,
    STO_CUDA_ENTRY,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
    STT_FUNC,
    STT_SECTION,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.model import OutSection, Symbol


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

    def __init__(
        self,
        index: int,
        name: str,
        sh_type: int,
        flags: int,
        size: int,
        link: int,
        info: int,
        align: int,
        entsize: int,
        data: bytes,
    ) -> None:
        self.index = index
        self.name = name
        self.sh_type = sh_type
        self.flags = flags
        self.size = size
        self.link = link
        self.info = info
        self.align = align
        self.entsize = entsize
        self.data = data

    def cut(self, size: int) -> InSection:
        """The same with fewer bytes."""
        return InSection(
            self.index,
            self.name,
            self.sh_type,
            self.flags,
            size,
            self.link,
            self.info,
            self.align,
            self.entsize,
            self.data[:size],
        )


class InSymbol:
    """One symbol row of an input."""

    __slots__ = ("bind", "index", "kind", "name", "other", "shndx", "size", "value")

    def __init__(
        self,
        index: int,
        name: str,
        bind: int,
        kind: int,
        other: int,
        shndx: int,
        value: int,
        size: int,
    ) -> None:
        self.index = index
        self.name = name
        self.bind = bind
        self.kind = kind
        self.other = other
        self.shndx = shndx
        self.value = value
        self.size = size

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
        self.section = section
        self.target = target
        self.is_rela = is_rela
        self.rows = rows


class CallGraph:
    """The four lists of `.nv.callgraph`, as (a, b) pairs of raw numbers."""

    __slots__ = ("address_taken", "calls", "indirect", "references")

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []
        self.address_taken: list[tuple[int, int]] = []
        self.indirect: list[tuple[int, int]] = []
        self.references: list[tuple[int, int]] = []


class InputObject:
    """One relocatable cubin as read: rows only.

    Attributes:
        named: rows of `symbols` that can be bound: not of sections, not without a name.
        functions: those of functions.
        kinds: the types of symbols among them.
        info: records of attribute sections that were asked for, by section; see `records`.
        bound: output symbol of every input symbol, filled by `resolve`; None for symbols without
            a place.
        called: those of them that are functions, filled by `mark_live`.
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
        "bound",
        "called",
        "callgraph",
        "flags",
        "functions",
        "info",
        "kinds",
        "name",
        "named",
        "placed",
        "prototypes",
        "relocs",
        "repeats",
        "sections",
        "strtab",
        "symbols",
    )

    def __init__(
        self,
        name: str,
        flags: int,
        sections: list[InSection],
        symbols: list[InSymbol],
        strtab: bytes,
    ) -> None:
        self.name = name
        self.flags = flags
        self.sections = sections
        self.symbols = symbols
        self.named = [row for row in symbols if row.kind != STT_SECTION and row.name]
        self.functions = [row for row in self.named if row.kind == STT_FUNC]
        self.kinds = {row.kind for row in self.named}
        self.strtab = strtab
        self.relocs: list[InRelocs] = []
        self.info: dict[int, list[RawRecord]] = {}
        self._by_type: dict[int, list[InSection]] = {}
        self._texts: dict[int, str] = {}
        self._split: dict[bytes, list[RawRecord]] = {}
        self._splitter = RecordSplitter()
        self.callgraph = CallGraph()
        self.prototypes: list[tuple[int, int]] = []
        self.bound: list[Symbol | None] = []
        self.called: dict[int, Symbol] = {}
        self.placed: list[tuple[OutSection, int] | None] = [None] * len(sections)
        self.repeats: dict[int, list[tuple[int, int]]] = {}

    @property
    def sm(self) -> int:
        return (self.flags & EF_CUDA_V2_SM_MASK) >> EF_CUDA_V2_SM_SHIFT

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

    def of_types(self, types: Iterable[int]) -> list[InSection]:
        """The sections of some types, in index order."""
        by_type = self._by_type
        if not by_type:
            for section in self.sections:
                try:
                    by_type[section.sh_type].append(section)
                except KeyError:
                    by_type[section.sh_type] = [section]
        lists = [by_type[sh_type] for sh_type in types if sh_type in by_type]
        return (
            lists[0]
            if len(lists) == 1
            else sorted((s for part in lists for s in part), key=section_index)
        )

    def find(self, sh_type: int, name: str) -> InSection | None:
        """The first section of a type and a name."""
        return next((s for s in self.of_types((sh_type,)) if s.name == name), None)


def section_index(section: InSection) -> int:
    """The key of the order of sections in an input."""
    return section.index
