"""Everything a cubin holds at once, as plain tuples: the fast way through a large file."""

from __future__ import annotations

from cubinspec.format.attributes import info_rows
from cubinspec.format.bulk import streams
from cubinspec.format.sections import INFO_TYPES, RELOCATION_TYPES, SYMBOL_TABLE_TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Protocol

    from cubinspec.format.attributes import InfoRow
    from cubinspec.model.symbol import SymbolList
    from cubinspec.reader.elf import Elf, RelocationRow, SectionRow, SymbolRow

    class TablesOwner(Protocol):
        """A cubin as this module sees it."""

        elf: Elf

        def symbol_table(self, index: int) -> SymbolList:
            """The symbol table in section ``index``."""

        def relocation_rows(self, index: int) -> list[RelocationRow]:
            """Rows of the relocation section ``index``."""


class Tables:
    """All rows of a file, names resolved. Row layouts are those of ``cubinspec.reader``.

    Attributes:
        file: name of the cubin.
        section_names, section_rows: one each per section.
        symbol_names, symbol_rows: symbol table section -> one each per symbol.
        relocation_rows: relocation section -> rows (``r_offset r_type r_sym r_addend``).
        info_rows: attribute section -> rows (``offset format code value payload``).
    """

    __slots__ = (
        "file",
        "info_rows",
        "relocation_rows",
        "section_names",
        "section_rows",
        "symbol_names",
        "symbol_rows",
    )
    file: str

    def __init__(self, file: TablesOwner) -> None:
        elf = file.elf
        self.file = elf.file
        self.section_rows: list[SectionRow] = elf.section_rows
        self.section_names: list[str] = elf.section_names
        self.symbol_names: dict[int, list[str]] = {}
        self.symbol_rows: dict[int, list[SymbolRow]] = {}
        self.relocation_rows: dict[int, list[RelocationRow]] = {}
        self.info_rows: dict[int, list[InfoRow]] = {}
        if not self._read_at_once(file):
            self._read_in_order(file)

    def _read_at_once(self, file: TablesOwner) -> bool:
        """Read a file of which no relocations and attributes are broken; whether it is one."""
        elf = file.elf
        relocations, infos = _indices(elf, RELOCATION_TYPES), _indices(elf, INFO_TYPES)
        bodies = elf.bodies([*relocations, *infos])
        if bodies is None:
            return False
        rows = elf.relocation_tables(relocations, bodies[: len(relocations)])
        records = streams(bodies[len(relocations) :])
        if rows is None or records is None:
            return False
        self.relocation_rows = dict(zip(relocations, rows, strict=True))
        self.info_rows = dict(zip(infos, records, strict=True))
        for index in _indices(elf, SYMBOL_TABLE_TYPES):
            self._read_symbols(file, index)
        return True

    def _read_in_order(self, file: TablesOwner) -> None:
        """Read any file section by section, so that the first broken one is told."""
        elf = file.elf
        for index, (_, sh_type, _, _, sh_offset, _, _, _, _, _) in enumerate(elf.section_rows):
            if sh_type in INFO_TYPES:
                self.info_rows[index] = info_rows(
                    elf.section_bytes(index), sh_offset, elf.file, f"sections[{index}]"
                )
            elif sh_type in RELOCATION_TYPES:
                self.relocation_rows[index] = file.relocation_rows(index)
            elif sh_type in SYMBOL_TABLE_TYPES:
                self._read_symbols(file, index)

    def _read_symbols(self, file: TablesOwner, index: int) -> None:
        symbols = file.symbol_table(index)
        self.symbol_rows[index] = symbols.rows
        self.symbol_names[index] = symbols.names

    def __repr__(self) -> str:
        return f"<Tables of {self.file!r}: {len(self.section_rows)} sections>"


def _indices(elf: Elf, types: Container[int]) -> list[int]:
    """The sections of some types."""
    return [index for index, row in enumerate(elf.section_rows) if row[1] in types]
