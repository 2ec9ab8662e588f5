"""A file that is being described: its header columns, names and symbols."""

from __future__ import annotations

from _operator import add, le, lt
from itertools import compress

from cubinspec.errors import CubinError
from cubinspec.format.sections import NO_BYTES_TYPES, occupies_file
from cubinspec.format.strings import StringTable, string_offsets
from cubinspec.reader.elf import Elf
from cubinspec_generated import records
from cubinspec_generated.codes import SHT_CUDA_RESERVED_SHARED, SHT_STRTAB, SHT_SYMTAB
from cubinspec_writer.emitter.model import Fill
from cubinspec_writer.emitter.symbols import NO_SYMBOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cubinspec.reader.columns import Rows
    from cubinspec.reader.elf import Buffer
    from cubinspec_writer.emitter.strings import Candidates
    from cubinspec_writer.emitter.symbols import SymbolRows


class Source:
    """What a description is made of and checked against.

    Attributes:
        data, elf: the file; other attributes with the name of a header field are that field.
        columns: the fields of every section header, by index.
        types: all section types.
        names: of the sections.
        section_places, places: first place of every name in ``.shstrtab`` and ``.strtab``.
        symtab, strtab_index: of the symbol table and its names; 0 where there is none.
        strtab: the names of symbols.
        symbol_rows, symbol_names: the symbols, once they are read.
        reasons: why the file is not fully computed.
    """

    e_type: int
    e_version: int
    e_entry: int
    phoff: int
    shoff: int
    e_flags: int
    ehsize: int
    phentsize: int
    columns: list[Sequence[int]]
    sh_name: Sequence[int]
    sh_type: Sequence[int]
    sh_flags: Sequence[int]
    sh_offset: Sequence[int]
    sh_size: Sequence[int]
    sh_link: Sequence[int]
    sh_info: Sequence[int]
    types: set[int]
    section_places: dict[str, int]
    names: list[str]
    symtab: int
    strtab_index: int
    strtab: StringTable
    places: dict[str, int]

    def __init__(self, data: Buffer, file: str) -> None:
        self.data = data
        self.elf: Elf = Elf(data, file)
        (
            self.e_type,
            _,
            self.e_version,
            self.e_entry,
            self.phoff,
            self.shoff,
            self.e_flags,
            self.ehsize,
            self.phentsize,
            *_,
        ) = self.elf.ehdr
        self.columns = columns = self.elf.section_columns
        self.sh_name, self.sh_type, self.sh_flags = columns[:3]
        self.sh_offset, self.sh_size, self.sh_link, self.sh_info = columns[4:8]
        self.types = {*self.sh_type}
        self.section_places = string_offsets(self.elf.shstrtab.data)
        self.names = _names_at(self.section_places, self.elf.shstrtab, self.sh_name)
        self.reasons: list[str] = []
        self.symtab = self.elf.find_section(SHT_SYMTAB) or 0
        self.strtab_index = self._find_strtab()
        self.strtab = (
            self.elf.string_table(self.strtab_index)
            if self.strtab_index
            else StringTable(b"\0", 0, file, ".strtab")
        )
        self.symbol_rows: Rows = NO_SYMBOLS
        self.symbol_names: list[str] = []
        self.places = string_offsets(self.strtab.data, self.section_places)

    def _find_strtab(self) -> int:
        linked = self.sh_link[self.symtab] if self.symtab else 0
        if self._is_strtab(linked):
            return linked
        named = [at for at, name in enumerate(self.names) if name == ".strtab"]
        return named[0] if named and self._is_strtab(named[0]) else 0

    def _is_strtab(self, index: int) -> bool:
        return 0 < index < len(self.sh_type) and self.sh_type[index] == SHT_STRTAB

    @property
    def string_tables(self) -> Candidates:
        """Both string tables, with the first place of every name, until these are forgotten."""
        if not self.section_places:
            return ()
        return (
            (self.elf.shstrtab.data, self.section_places),
            (self.strtab.data, self.places),
        )

    def read_symbols(self) -> bool:
        """Read the symbols, where there are any; whether they are well formed."""
        try:
            if self.symtab:
                rows = self.elf.symbol_table(self.symtab)
                check_null_symbol(rows)
                self.symbol_names = _names_at(self.places, self.strtab, rows.columns[0])
                self.symbol_rows = rows
        except CubinError:
            return False
        return True

    def forget_names(self) -> None:
        """Free the memory of the places of names."""
        self.section_places, self.places = {}, {}

    def fills(self) -> list[Fill]:
        """Bytes outside of all sections and headers that are not zero."""
        data, count = self.data, len(self.names)
        stored = [kind not in NO_BYTES_TYPES for kind in self.sh_type]
        if SHT_CUDA_RESERVED_SHARED in self.types:
            for at, kind in enumerate(self.sh_type):
                if kind == SHT_CUDA_RESERVED_SHARED:
                    stored[at] = occupies_file(kind, self.sh_flags[at])
        if self.elf.is_64:
            section, segment = records.SECTION_HEADER_64.size, records.PROGRAM_HEADER_64.size
        else:
            section, segment = records.SECTION_HEADER_32.size, records.PROGRAM_HEADER_32.size
        tables = (
            (self.shoff, count * section),
            (self.phoff, self.elf.num_segments * segment),
        )
        others = [(start, length) for start, length in tables if length]

        starts = [0, *compress(self.sh_offset, stored), *[start for start, _ in others]]
        sizes = [self.ehsize, *compress(self.sh_size, stored), *[size for _, size in others]]
        found: list[Fill] = []
        for at, start in gaps(starts, sizes, len(data)):
            content = bytes(data[at:start])
            if content.count(0) != len(content):
                found.append(Fill(at, content))
        return found


def check_null_symbol(rows: SymbolRows) -> None:
    """Refuse a symbol table without its null symbol.

    Raises:
        CubinError: there is none.
    """
    if not rows or any(rows[0]):
        raise CubinError("no null symbol")


def _names_at(places: dict[str, int], table: StringTable, offsets: Sequence[int]) -> list[str]:
    """The names at some offsets of a table, most of which are first places of a name."""
    names = dict(zip(places.values(), places, strict=True))
    if not table.data.startswith(b"\0"):
        del names[0]  # the empty name is nowhere, or not there
    try:
        return [*map(names.__getitem__, offsets)]
    except KeyError:
        return [*map(table.get, offsets)]


def gaps(starts: list[int], sizes: list[int], size: int) -> Iterator[tuple[int, int]]:
    """Start and end of each part of a file that no span covers, in order.

    Args:
        starts, sizes: of the spans; in most files each stands behind the one before.
        size: of the file.
    """
    ends = [0, *map(add, starts, sizes)]
    behind = [*starts, size]
    if not all(map(le, ends, behind)):
        # nothing lies between the n-th end and the start after it if that is not the smaller one
        ends.sort()
        behind = [*sorted(starts), size]
    return compress(zip(ends, behind, strict=True), map(lt, ends, behind))
