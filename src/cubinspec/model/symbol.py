"""Symbols with their CUDA bits."""

from __future__ import annotations

from cubinspec_generated.codes import (
    SHN_UNDEF,
    ST_BIND_SHIFT,
    ST_TYPE_MASK,
    STO_CUDA_ENTRY,
    STO_CUDA_VISIBILITY_MASK,
    STT_FUNC,
    STT_SECTION,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    from cubinspec.format.strings import StringTable
    from cubinspec.model.section import Section, SectionList
    from cubinspec.reader.elf import SymbolRow

    class SymbolOwner(Protocol):
        """A cubin as its symbols see it."""

        @property
        def sections(self) -> SectionList:
            """All sections."""


class Symbol:
    """One entry of ``.symtab`` or ``.nv.merc.symtab``."""

    __slots__ = ("_table", "index", "row")

    def __init__(self, symbols: SymbolList, index: int, row: SymbolRow) -> None:
        self._table = symbols
        #: Index in its table.
        self.index: int = index
        #: ``st_name st_info st_other st_shndx st_value st_size``
        self.row: SymbolRow = row

    def __repr__(self) -> str:
        return f"<Symbol {self.index} {self.name!r} {self.type_name or self.st_type}>"

    @property
    def name(self) -> str:
        """The symbol's own name, mangled; empty for section symbols."""
        return self._table.strings.get(self.row[0]) if self.row[0] else ""

    @property
    def display_name(self) -> str:
        """The name, or for a section symbol that of its section."""
        if self.st_type == STT_SECTION and not self.row[0]:
            section = self.section
            return section.name if section else ""
        return self.name

    @property
    def st_name(self) -> int:
        """Index of the name in the string table."""
        return self.row[0]

    @property
    def st_info(self) -> int:
        """Type in bits 0-3, binding in bits 4-7."""
        return self.row[1]

    @property
    def st_other(self) -> int:
        """Visibility in bits 0-1, CUDA bits above."""
        return self.row[2]

    @property
    def st_shndx(self) -> int:
        """Section index, extended indices already resolved."""
        return self.row[3]

    @property
    def st_value(self) -> int:
        """Offset in the section."""
        return self.row[4]

    @property
    def st_size(self) -> int:
        """Size in bytes."""
        return self.row[5]

    @property
    def st_type(self) -> int:
        """Bits 0-3 of ``st_info``."""
        return self.row[1] & ST_TYPE_MASK

    @property
    def st_bind(self) -> int:
        """Bits 4-7 of ``st_info``."""
        return self.row[1] >> ST_BIND_SHIFT

    @property
    def visibility(self) -> int:
        """Bits 0-1 of ``st_other``."""
        return self.row[2] & STO_CUDA_VISIBILITY_MASK

    @property
    def type_name(self) -> str | None:
        """``STT_…`` name."""
        from cubinspec_generated.tables.symbols import TYPE_NAMES

        return TYPE_NAMES.get(self.row[1] & ST_TYPE_MASK)

    @property
    def bind_name(self) -> str | None:
        """``STB_…`` name."""
        from cubinspec_generated.tables.symbols import BIND_NAMES

        return BIND_NAMES.get(self.row[1] >> ST_BIND_SHIFT)

    @property
    def is_entry(self) -> bool:
        """Whether this is a kernel."""
        return self.st_type == STT_FUNC and bool(self.row[2] & STO_CUDA_ENTRY)

    @property
    def is_defined(self) -> bool:
        """Whether the symbol has a section in this file."""
        return self.row[3] != SHN_UNDEF

    @property
    def section(self) -> Section | None:
        """The section it is defined in; ``None`` for undefined and special indices."""
        sections = self._table.file.sections
        index = self.row[3]
        return sections[index] if 0 < index < len(sections) else None


class SymbolList:
    """A symbol table, by index or by name. Objects are made when asked for."""

    __slots__ = ("_by_name", "file", "rows", "section_index", "strings")

    def __init__(
        self,
        file: SymbolOwner,
        section_index: int | None,
        rows: list[SymbolRow],
        strings: StringTable,
    ) -> None:
        #: The cubin that the table belongs to.
        self.file: SymbolOwner = file
        #: Index of the table's section; ``None`` when the file has no such table.
        self.section_index: int | None = section_index
        self.rows: list[SymbolRow] = rows
        self.strings: StringTable = strings
        self._by_name: dict[str, int] | None = None

    def __repr__(self) -> str:
        return f"<SymbolList: {len(self)} symbols>"

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table

        head = (
            "index",
            "display_name",
            "type_name",
            "bind_name",
            "st_shndx",
            "st_value",
            "st_size",
        )
        rows = [[getattr(symbol, name) for name in head] for symbol in self]
        return html_table(f"{len(self)} symbols", head, rows)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``, one row per symbol.

        Raises:
            MissingPackageError: pyarrow is not installed.
        """
        from cubinspec.model.frames import SYMBOL_COLUMNS, arrow_table

        return arrow_table(self, SYMBOL_COLUMNS)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Symbol]:
        for index, row in enumerate(self.rows):
            yield Symbol(self, index, row)

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __getitem__(self, key: int | str) -> Symbol:
        if isinstance(key, str):
            key = self._names()[key]
        if key < 0:
            key += len(self.rows)
        if not 0 <= key < len(self.rows):
            raise IndexError(key)
        return Symbol(self, key, self.rows[key])

    def get(self, key: int | str) -> Symbol | None:
        """The symbol with that index or (the first) of that name, if there is one."""
        index = self._names().get(key) if isinstance(key, str) else key
        if index is None or not 0 <= index < len(self.rows):
            return None
        return Symbol(self, index, self.rows[index])

    def name_of(self, index: int) -> str | None:
        """Display name of symbol ``index``; ``None`` when there is no such symbol."""
        symbol = self.get(index)
        return None if symbol is None else symbol.display_name

    @property
    def names(self) -> list[str]:
        """All names in index order, empty where a symbol has none."""
        return self.strings.get_many([row[0] for row in self.rows])

    def _names(self) -> dict[str, int]:
        names = self._by_name
        if names is None:
            names = {}
            for index, name in enumerate(self.names):
                names.setdefault(name, index)
            names.pop("", None)
            self._by_name = names
        return names
