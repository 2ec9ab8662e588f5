"""A file laid out, and where the bodies of its sections find what they refer to."""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec.format.strings import empty_name
from cubinspec_generated.codes import ELFCLASS64
from cubinspec_writer.emitter.symbols import encode_symbols

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from cubinspec_writer.emitter.draft import Draft
    from cubinspec_writer.emitter.model import Section
    from cubinspec_writer.emitter.symbols import SymbolRows


def refuse(reason: str, field: str) -> NoReturn:
    """Raise because a description contradicts itself."""
    raise BadStructureError(reason, field=field)


class References:
    """Resolves string offsets and section indices while bodies are encoded.

    Attributes:
        strtab, strtab_offsets: ``.strtab``, and the place of every name in it.
        asked: the places that were asked for.
    """

    __slots__ = ("asked", "is_64", "section_index", "strtab", "strtab_offsets")

    def __init__(self, draft: Draft, strtab: bytes, offsets: dict[str, int]) -> None:
        self.section_index: Callable[[Section | int], int] = draft.index
        self.strtab: bytes = strtab
        self.strtab_offsets: dict[str, int] = offsets
        self.asked: dict[str, int] = {}
        self.is_64: bool = draft.header.ei_class == ELFCLASS64

    def string_offset(self, text: str) -> int:
        """Offset of a string in ``.strtab``."""
        offset = self.strtab_offsets.get(text)
        if offset is None:
            refuse(f"the string {text!r} is in no symbol name table", ".strtab")
        self.asked[text] = offset
        return offset

    def signature_offset(self, text: str) -> int:
        """Offset of a text; an empty one may have a place of its own in ``.strtab``."""
        if text:
            return self.string_offset(text)
        return empty_name(self.strtab) if b"\0\0" in self.strtab else 0


class Plan:
    """A file laid out: all numbers are known, no body is written yet.

    Attributes:
        draft: what is laid out.
        section_columns: the section headers field by field, in ELF64 order, without the null one.
        null_section: the null one.
        offsets, sizes: where the bytes of each section stand, and how many there are.
        tables_at: where the section headers and the program headers stand.
        symbol_rows: ``.symtab``, with real section indices.
        tables: bytes of both string tables, and of other computed tables once they are written.
        ehdr: the fields behind ``e_ident``.
        segment_rows: program headers, ELF64 field order.
        size: length of the file.
        context: resolves references while bodies are encoded.
    """

    __slots__ = (
        "context",
        "draft",
        "ehdr",
        "null_section",
        "offsets",
        "section_columns",
        "segment_rows",
        "size",
        "sizes",
        "symbol_rows",
        "tables",
        "tables_at",
    )

    def __init__(
        self,
        *,
        draft: Draft,
        section_columns: list[Sequence[int]],
        null_section: tuple[int, ...],
        offsets: Sequence[int],
        sizes: Sequence[int],
        tables_at: tuple[int, int],
        symbol_rows: SymbolRows,
        tables: dict[str, bytes],
        ehdr: tuple[int, ...],
        segment_rows: list[tuple[int, ...]],
        size: int,
        context: References,
    ) -> None:
        self.draft: Draft = draft
        self.section_columns: list[Sequence[int]] = section_columns
        self.null_section: tuple[int, ...] = null_section
        self.offsets: Sequence[int] = offsets
        self.sizes: Sequence[int] = sizes
        self.tables_at: tuple[int, int] = tables_at
        self.symbol_rows: SymbolRows = symbol_rows
        self.tables: dict[str, bytes] = tables
        self.ehdr: tuple[int, ...] = ehdr
        self.segment_rows: list[tuple[int, ...]] = segment_rows
        self.size: int = size
        self.context: References = context

    @property
    def is_64(self) -> bool:
        """Whether this is an ELF64 file."""
        return self.context.is_64

    @property
    def ehsize(self) -> int:
        """Bytes of the ELF header, as it says."""
        _, _, _, _, _, _, _, ehsize, *_ = self.ehdr
        return ehsize

    @property
    def section_rows(self) -> list[tuple[int, ...]]:
        """The section headers, the null one included."""
        return [self.null_section, *zip(*self.section_columns, strict=True)]

    @property
    def sections(self) -> list[Section | None]:
        """Sections of a description in index order; index 0 is ``None``."""
        return [None, *self.draft.section_objects]

    def table(self, kind: str) -> bytes | bytearray:
        """The bytes of a computed table."""
        if kind in self.tables:
            return self.tables[kind]
        # the other tables were made when their sizes were asked for
        return encode_symbols(self.symbol_rows, self.is_64)

    def is_same_as(self, other: Plan) -> bool:
        """Whether all headers, places and symbols are the same."""
        return (
            self.section_rows == other.section_rows
            and [*self.symbol_rows] == [*other.symbol_rows]
            and ([*self.offsets], [*self.sizes]) == ([*other.offsets], [*other.sizes])
            and (self.ehdr, self.segment_rows, self.size)
            == (other.ehdr, other.segment_rows, other.size)
        )
