"""Relocations with the meaning the relocation table gives them."""

from __future__ import annotations

from cubinspec_generated.tables import relocations as table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from cubinspec.model.section import Section, SectionList
    from cubinspec.model.symbol import Symbol, SymbolList
    from cubinspec.reader.elf import Elf, RelocationRow

    class RelocationOwner(Protocol):
        """A cubin as its relocations see it."""

        elf: Elf

        @property
        def sections(self) -> SectionList:
            """All sections."""

        def linked_symbols(self, index: int) -> SymbolList:
            """The symbol table that section ``index`` refers to."""


class Relocation:
    """One entry of a relocation section."""

    __slots__ = ("_file", "index", "row", "section_index")

    def __init__(
        self, file: RelocationOwner, section_index: int, index: int, row: RelocationRow
    ) -> None:
        self._file = file
        #: Index of the relocation section that holds the entry.
        self.section_index: int = section_index
        #: Position in that section.
        self.index: int = index
        #: ``r_offset r_type r_sym r_addend``
        self.row: RelocationRow = row

    def __repr__(self) -> str:
        return f"<Relocation {self.name or self.r_type} at {self.r_offset:#x}>"

    @property
    def name(self) -> str | None:
        """``R_CUDA_…`` or ``R_MERCURY_…``; ``None`` for a type nobody has named."""
        return table.NAMES.get(self.row[1])

    @property
    def r_offset(self) -> int:
        """Byte offset in the target section."""
        return self.row[0]

    @property
    def r_type(self) -> int:
        """Relocation type; Mercury types start at 0x10000."""
        return self.row[1]

    @property
    def symbol_index(self) -> int:
        """Index in the linked symbol table."""
        return self.row[2]

    @property
    def r_addend(self) -> int | None:
        """The addend; ``None`` in ``SHT_REL`` sections, where the field itself holds it."""
        return self.row[3]

    @property
    def symbol(self) -> Symbol | None:
        """The symbol referred to, from the table the section is linked to."""
        return self._file.linked_symbols(self.section_index).get(self.row[2])

    @property
    def section(self) -> Section:
        """The relocation section that holds the entry."""
        return self._file.sections[self.section_index]

    @property
    def target(self) -> Section | None:
        """The section the relocation changes."""
        index = self._file.elf.section_rows[self.section_index][7]
        sections = self._file.sections
        return sections[index] if 0 < index < len(sections) else None

    @property
    def meaning(self) -> str | None:
        """One line: which bits get which value."""
        kind = table.TYPES.get(self.row[1])
        if kind is None:
            return None
        parts = [
            f"bits {action.bit}..{action.bit + action.width - 1} = {action.value}"
            + (f" >> {action.shift}" if action.shift else "")
            for action in kind.actions
        ]
        return "; ".join(parts) or "nothing to write"
