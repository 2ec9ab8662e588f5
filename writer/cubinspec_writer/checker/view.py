"""What the rules ask about one file, read once."""

from __future__ import annotations

from functools import cached_property

from cubinspec.errors import CubinError
from cubinspec.reader import elf, streams
from cubinspec.reader.elf import Elf
from cubinspec_writer.emitter import bodies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.reader.elf import SectionRow, SymbolRow
    from cubinspec.reader.streams import InfoRow

OSABI_8 = 0x41
STT_OBJECT, STT_FUNC, STT_SECTION, STT_CUDA_OBJECT = 1, 2, 3, 13
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STO_ENTRY = 0x10


class View:
    """Rows and names of a cubin; broken parts read as empty, their own rules report them."""

    def __init__(self, data: bytes, file: str) -> None:
        self.data = data
        self.file = file
        self.elf = Elf(data, file)
        self.rows: list[SectionRow] = self.elf.section_rows
        self.names = self.elf.section_names

    @cached_property
    def is_abi_8(self) -> bool:
        """Whether e_flags has the layout of CUDA 12.7 and later."""
        return self.elf.ident[7] == OSABI_8

    @cached_property
    def sm(self) -> int:
        """Number of the architecture, such as 90."""
        flags = self.elf.ehdr[6]
        return flags >> 8 & 0xFFFF if self.is_abi_8 else flags & 0xFF

    @cached_property
    def is_executable(self) -> bool:
        """ET_EXEC; ET_REL and ET_EWP keep the CUDA section types."""
        return self.elf.ehdr[0] == 2

    @cached_property
    def is_table_first(self) -> bool:
        """Whether the second writer made the file (section headers right behind the header)."""
        return self.elf.ehdr[5] == self.elf.ehdr[7]

    def of_type(self, *kinds: int) -> list[int]:
        """Indices of the sections of some types."""
        return [at for at, row in enumerate(self.rows) if row[1] in kinds]

    @cached_property
    def places(self) -> dict[str, int]:
        """Index of the first section of each name."""
        found: dict[str, int] = {}
        for index, name in enumerate(self.names):
            found.setdefault(name, index)
        return found

    def index(self, name: str) -> int:
        """Index of the first section of a name, 0 when there is none."""
        return self.places.get(name, 0)

    def is_mercury(self, index: int) -> bool:
        """Whether a section belongs to the Mercury half."""
        return bool(self.rows[index][2] & elf.SHF_CUDA_MERCURY)

    def body(self, index: int) -> bytes:
        """The bytes of a section, empty when it has none or they are outside the file."""
        try:
            return self.elf.section_bytes(index)
        except CubinError:
            return b""

    @cached_property
    def symtab(self) -> int:
        """Index of ``.symtab``, or 0."""
        return self.elf.find_section(elf.SHT_SYMTAB) or 0

    @cached_property
    def mercury_symtab(self) -> int:
        """Index of ``.nv.merc.symtab``, or 0."""
        return self.elf.find_section(bodies.SHT_CUDA_MERC_SYMTAB) or 0

    def _symbols(self, index: int) -> list[SymbolRow]:
        if not index:
            return []
        try:
            return self.elf.symbol_rows(index)
        except CubinError:
            return []

    @cached_property
    def symbols(self) -> list[SymbolRow]:
        """``.symtab``."""
        return self._symbols(self.symtab)

    @cached_property
    def mercury_symbols(self) -> list[SymbolRow]:
        """``.nv.merc.symtab``."""
        return self._symbols(self.mercury_symtab)

    def symbols_for(self, index: int) -> list[SymbolRow]:
        """The symbol table that the records of a section count in."""
        return self.mercury_symbols if self.is_mercury(index) else self.symbols

    def symbol_name(self, row: SymbolRow) -> str | None:
        """Name of a symbol; ``None`` when it has no proper one."""
        try:
            return self.elf.string_table(self.rows[self.symtab][6]).get(row[0])
        except CubinError:
            return None

    def string(self, offset: int) -> str | None:
        """A string of ``.strtab``."""
        try:
            return self.elf.string_table(self.rows[self.symtab][6]).get(offset)
        except CubinError:
            return None

    @cached_property
    def last_string(self) -> int:
        """Offset of the last NUL byte of ``.strtab``; a string that begins behind it has no end."""
        table = self.rows[self.symtab][6]
        return self.body(table).rfind(b"\0") if table < len(self.rows) else -1

    @cached_property
    def infos(self) -> dict[int, list[InfoRow]]:
        """Attribute streams by section index; those that cannot be read are left out."""
        found: dict[int, list[InfoRow]] = {}
        for index in self.of_type(*bodies.INFO_TYPES):
            try:
                found[index] = streams.info_rows(self.body(index), 0, self.file, "")
            except CubinError:
                continue
        return found

    def attributes(self) -> Iterator[tuple[int, list[InfoRow]]]:
        """Attribute streams with the index of their section, without ``.nv.compat``."""
        for index, records in self.infos.items():
            if self.rows[index][1] != bodies.SHT_CUDA_COMPAT:
                yield index, records

    def pairs(self, index: int) -> list[tuple[int, int]]:
        """Two-word records of a call graph or prototype section."""
        try:
            return streams.pair_rows(self.body(index), 0, self.file, "")
        except CubinError:
            return []
