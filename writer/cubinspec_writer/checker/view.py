"""What the rules ask about one file, read once."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from cubinspec.errors import CubinError
from cubinspec.format.attributes import info_rows
from cubinspec.format.sections import INFO_TYPES
from cubinspec.model.header import Header
from cubinspec.reader import streams
from cubinspec.reader.elf import Elf
from cubinspec_generated.codes import (
    ELFOSABI_CUDA_V2,
    ET_EXEC,
    SHF_CUDA_MERCURY,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_MERC_SYMTAB,
    SHT_SYMTAB,
    ST_BIND_SHIFT,
    ST_TYPE_MASK,
)
from cubinspec_generated.codes_sizes import (
    SIZEOF_SECTION_HEADER_32,
    SIZEOF_SECTION_HEADER_64,
    SIZEOF_SYMBOL_32,
    SIZEOF_SYMBOL_64,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.format.attributes import InfoRow


class SectionHeader(NamedTuple):
    """One section header, its fields named as in the gABI."""

    sh_name: int
    sh_type: int
    sh_flags: int
    sh_addr: int
    sh_offset: int
    sh_size: int
    sh_link: int
    sh_info: int
    sh_addralign: int
    sh_entsize: int


class SymbolEntry(NamedTuple):
    """One symbol table entry, its fields named as in the gABI."""

    st_name: int
    st_info: int
    st_other: int
    st_shndx: int
    st_value: int
    st_size: int

    @property
    def st_type(self) -> int:
        """The type in the low half of ``st_info``."""
        return self.st_info & ST_TYPE_MASK

    @property
    def st_bind(self) -> int:
        """The binding in the high half of ``st_info``."""
        return self.st_info >> ST_BIND_SHIFT


class View:
    """Headers, names and records of a cubin.

    A part that cannot be read is empty here; the rule that is about such parts reports it.

    Attributes:
        elf: the file as the reader sees it.
        header: its ELF header.
        sections: the section headers, in file order.
        names: the names of the sections.
    """

    sections: list[SectionHeader]
    names: list[str]

    def __init__(self, data: bytes, file: str) -> None:
        self.data = data
        self.file = file
        self.elf: Elf = Elf(data, file)
        self.header: Header = Header(self.elf)
        self.sections = list(map(SectionHeader._make, self.elf.section_rows))
        self.names = self.elf.section_names

    # -- the file as a whole ---------------------------------------------------------------------

    @cached_property
    def is_abi_8(self) -> bool:
        """Whether e_flags has the layout of CUDA 12.7 and later."""
        return self.header.os_abi == ELFOSABI_CUDA_V2

    @property
    def sm(self) -> int:
        """Number of the architecture, such as 90."""
        return self.header.sm

    @property
    def is_executable(self) -> bool:
        """Whether it is an ET_EXEC file; ET_REL and ET_EWP keep the CUDA section types."""
        return self.header.e_type == ET_EXEC

    @property
    def has_table_first(self) -> bool:
        """Whether the section headers stand right behind the ELF header.

        Files of the second of the two known writers of cubins are like that.
        """
        return self.header.e_shoff == self.header.e_ehsize

    @cached_property
    def section_header_size(self) -> int:
        """Bytes of one section header."""
        return SIZEOF_SECTION_HEADER_64 if self.header.is_64 else SIZEOF_SECTION_HEADER_32

    @cached_property
    def symbol_size(self) -> int:
        """Bytes of one symbol table entry."""
        return SIZEOF_SYMBOL_64 if self.header.is_64 else SIZEOF_SYMBOL_32

    # -- sections --------------------------------------------------------------------------------

    def of_type(self, *types: int) -> list[int]:
        """Indices of the sections of some types."""
        return [index for index, header in enumerate(self.sections) if header.sh_type in types]

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Index of the first section of each name."""
        found: dict[str, int] = {}
        for index, name in enumerate(self.names):
            found.setdefault(name, index)
        return found

    def find(self, name: str) -> int:
        """Index of the first section of a name, 0 when there is none."""
        return self.index_of.get(name, 0)

    def is_mercury(self, index: int) -> bool:
        """Whether a section belongs to the Mercury half."""
        return bool(self.sections[index].sh_flags & SHF_CUDA_MERCURY)

    def header_place(self, index: int) -> tuple[int, str]:
        """Where the header of a section stands, and its path for messages."""
        return self.header.e_shoff + index * self.section_header_size, self.path(index)

    def path(self, index: int) -> str:
        """A section in the terms of messages."""
        return f"sections[{index}] {self.names[index]}"

    def record_place(self, index: int, number: int, offset: int) -> tuple[int, str]:
        """Where an attribute record stands, and its path.

        Args:
            index: its section.
            number: which of the section's records it is.
            offset: its place in the section.
        """
        return (
            self.sections[index].sh_offset + offset,
            f"{self.path(index)}.records[{number}]",
        )

    def body(self, index: int) -> bytes:
        """The bytes of a section, empty when it has none or they are outside the file."""
        try:
            return self.elf.section_bytes(index)
        except CubinError:
            return b""

    # -- symbols and strings ---------------------------------------------------------------------

    @cached_property
    def symtab(self) -> int:
        """Index of ``.symtab``, or 0."""
        return self.elf.find_section(SHT_SYMTAB) or 0

    @cached_property
    def mercury_symtab(self) -> int:
        """Index of ``.nv.merc.symtab``, or 0."""
        return self.elf.find_section(SHT_CUDA_MERC_SYMTAB) or 0

    def _symbols(self, index: int) -> list[SymbolEntry]:
        if not index:
            return []
        try:
            return list(map(SymbolEntry._make, self.elf.symbol_rows(index)))
        except CubinError:
            return []

    @cached_property
    def symbols(self) -> list[SymbolEntry]:
        """``.symtab``."""
        return self._symbols(self.symtab)

    @cached_property
    def mercury_symbols(self) -> list[SymbolEntry]:
        """``.nv.merc.symtab``."""
        return self._symbols(self.mercury_symtab)

    def symbol_tables(self) -> tuple[tuple[int, list[SymbolEntry]], ...]:
        """Index and entries of both symbol tables; 0 and none where the file lacks one."""
        return (self.symtab, self.symbols), (self.mercury_symtab, self.mercury_symbols)

    def symbols_for(self, index: int) -> list[SymbolEntry]:
        """The symbol table that the symbol numbers in a section refer to."""
        return self.mercury_symbols if self.is_mercury(index) else self.symbols

    def string(self, offset: int) -> str | None:
        """The string of ``.strtab`` at an offset; ``None`` when no string starts there."""
        try:
            return self.elf.string_table(self.sections[self.symtab].sh_link).get(offset)
        except CubinError:
            return None

    @cached_property
    def last_string(self) -> int:
        """Offset of the last NUL byte of ``.strtab``; a string that begins behind it has no end."""
        table = self.sections[self.symtab].sh_link
        return self.body(table).rfind(b"\0") if table < len(self.sections) else -1

    # -- records ---------------------------------------------------------------------------------

    @cached_property
    def infos(self) -> dict[int, list[InfoRow]]:
        """Attribute streams by section index; those that cannot be read are left out."""
        found: dict[int, list[InfoRow]] = {}
        for index in self.of_type(*INFO_TYPES):
            try:
                found[index] = info_rows(self.body(index), 0, self.file, "")
            except CubinError:
                continue
        return found

    def attributes(self) -> Iterator[tuple[int, list[InfoRow]]]:
        """Attribute streams with the index of their section, without ``.nv.compat``."""
        for index, records in self.infos.items():
            if self.sections[index].sh_type != SHT_CUDA_COMPAT_INFO:
                yield index, records

    def pairs(self, index: int) -> list[tuple[int, int]]:
        """Two-word records of a call graph or prototype section."""
        try:
            return streams.pair_rows(self.body(index), 0, self.file, "")
        except CubinError:
            return []
