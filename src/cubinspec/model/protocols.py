"""What the parts of a cubin ask of each other, for type checkers only.

A section gives its relocations, and a relocation its symbol and its section. So that the modules
need not import each other in a circle, sections see the others through these protocols.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from cubinspec.model.info import InfoRecord
    from cubinspec.reader.elf import Elf, RelocationRow, SymbolRow

    class SymbolLike(Protocol):
        """A symbol; see :class:`cubinspec.model.symbol.Symbol`."""

        index: int
        row: SymbolRow

        @property
        def name(self) -> str:
            """The symbol's own name."""

        @property
        def display_name(self) -> str:
            """The name, or for a section symbol that of its section."""

    class RelocationLike(Protocol):
        """A relocation; see :class:`cubinspec.model.relocation.Relocation`."""

        section_index: int
        index: int
        row: RelocationRow

        @property
        def name(self) -> str | None:
            """Name of the type."""

        @property
        def r_offset(self) -> int:
            """Byte offset in the target section."""

        @property
        def r_type(self) -> int:
            """Relocation type."""

        @property
        def symbol_index(self) -> int:
            """Index in the linked symbol table."""

        @property
        def r_addend(self) -> int | None:
            """The addend, if the entry has one."""

        @property
        def symbol(self) -> SymbolLike | None:
            """The symbol referred to."""

        @property
        def meaning(self) -> str | None:
            """Which bits get which value."""

    class SectionOwner(Protocol):
        """A cubin as its sections see it."""

        elf: Elf

        def info_records_of(self, index: int) -> list[InfoRecord]:
            """Attributes of the stream in section ``index``."""

        def relocations_of(self, index: int) -> Sequence[RelocationLike]:
            """Relocations held by section ``index``."""
