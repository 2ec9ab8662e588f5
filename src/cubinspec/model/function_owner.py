"""A cubin as its functions see it, for type checkers only."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from cubinspec.model.header import Header
    from cubinspec.model.info import InfoRecord
    from cubinspec.model.section import SectionList
    from cubinspec.model.symbol import SymbolList
    from cubinspec.reader.elf import Elf

    class FunctionOwner(Protocol):
        """A cubin; see :class:`cubinspec.model.cubin.Cubin`."""

        elf: Elf

        @property
        def name(self) -> str:
            """The file name given on opening."""

        @property
        def arch(self) -> str:
            """The target."""

        @property
        def header(self) -> Header:
            """The ELF header."""

        @property
        def sections(self) -> SectionList:
            """All sections."""

        def symbol_table(self, index: int) -> SymbolList:
            """The symbol table in section ``index``."""

        def info_records_of(self, index: int) -> list[InfoRecord]:
            """Attributes of the stream in section ``index``."""
