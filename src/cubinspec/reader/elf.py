"""The ELF skeleton of a cubin as rows of integers.

Rows have one order for both classes, that of the ELF64 records of the spec, so that nothing above
this module knows ELF32 (made by ``ptxas -m32`` up to CUDA 12.0):

* section row: ``sh_name sh_type sh_flags sh_addr sh_offset sh_size sh_link sh_info sh_addralign
  sh_entsize``
* symbol row: ``st_name st_info st_other st_shndx st_value st_size`` (``st_shndx`` already
  replaced by its ``.symtab_shndx`` word where it was ``SHN_XINDEX``)
* relocation row: ``r_offset r_type r_sym r_addend`` (addend ``None`` for ``SHT_REL``)
* program header row: ``p_type p_flags p_offset p_vaddr p_paddr p_filesz p_memsz p_align``
"""

from __future__ import annotations

from _operator import itemgetter
from _struct import calcsize

from cubinspec.errors import (
    BadIndexError,
    BadOffsetError,
    BadStructureError,
    NotCubinError,
    TruncatedError,
)
from cubinspec.files import FileBytes
from cubinspec.format.packing import split, words
from cubinspec.format.sections import occupies_file
from cubinspec.format.strings import StringTable
from cubinspec.limits import MAX_SECTION_OVERLAP
from cubinspec_generated import records
from cubinspec_generated.codes import (
    EI_CLASS,
    EI_DATA,
    EI_NIDENT,
    ELFCLASS32,
    ELFCLASS64,
    ELFDATA2LSB,
    EM_386,
    EM_AARCH64,
    EM_AMDGPU,
    EM_ARM,
    EM_CUDA,
    EM_RISCV,
    EM_X86_64,
    PN_XNUM,
    SHF_CUDA_MERCURY,
    SHN_XINDEX,
    SHT_REL,
    SHT_STRTAB,
    SHT_SYMTAB_SHNDX,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from struct import Struct
    from typing import Any, Final

    from cubinspec.files import ClosedBytes
    from cubinspec.reader.columns import Rows

    Buffer = bytes | memoryview | FileBytes | ClosedBytes
    # Of a fixed length they would be taken apart and put together again wherever a compiled module
    # moves them.
    SectionRow = tuple[int, ...]
    SymbolRow = tuple[int, ...]
    RelocationRow = tuple[int, int, int, int | None]
    SegmentRow = tuple[int, int, int, int, int, int, int, int]

#: ``r_info`` of ELF32: the type in bits 0-7, the symbol above (gABI).
_TYPE_MASK_32: Final = 0xFF
_SYMBOL_SHIFT_32: Final = 8
#: Where `e_machine` stands.
_MACHINE: Final = EI_NIDENT + 2
_MACHINE_END: Final = _MACHINE + 2
#: Tables from this size on are worth loading the native module.
_LARGE_TABLE: Final = 1 << 13
#: Parts of a file up to this size are held a second time while their sections are cut out.
_WHOLE_BYTES: Final = 64 << 20
#: Fields of section rows, and of symbol rows: a function of C, as compiled loops box each number.
_name_of: Final = itemgetter(0)
_type_of: Final = itemgetter(1)
_offset_of: Final = itemgetter(4)
_size_of: Final = itemgetter(5)
#: Machines of other programs, which users hand over by mistake.
MACHINES: Final = {
    EM_386: "x86",
    EM_ARM: "ARM",
    EM_X86_64: "x86-64",
    EM_AARCH64: "AArch64",
    EM_AMDGPU: "AMDGPU",
    EM_RISCV: "RISC-V",
}


def is_cubin_header(head: bytes) -> bool:
    """Whether bytes start an ELF header of EM_CUDA, little-endian."""
    return (
        len(head) >= _MACHINE_END
        and head[:4] == b"\x7fELF"
        and head[EI_CLASS] in (ELFCLASS32, ELFCLASS64)
        and head[EI_DATA] == ELFDATA2LSB
        and head[_MACHINE:_MACHINE_END] == EM_CUDA.to_bytes(2, "little")
    )


def table_rows(record: Struct, table: bytes) -> list[tuple[int, ...]]:
    """The rows of a table."""
    if len(table) < _LARGE_TABLE:
        return list(record.iter_unpack(table))
    from cubinspec.format.bulk import rows  # large tables only

    return rows(table, record)


class Elf:
    """Header and tables of one cubin; everything but the header is read on demand.

    Args:
        data: the whole file.
        file: name for error messages.

    Raises:
        NotCubinError: not an ELF file of machine 190 (EM_CUDA), little-endian.
        TruncatedError, BadOffsetError, BadStructureError, BadIndexError: broken header fields.
    """

    __slots__ = (
        "_first",
        "_names",
        "_section_columns",
        "_section_rows",
        "_segment_rows",
        "_shndx_tables",
        "_shstrtab",
        "_strtabs",
        "_symbol_rows",
        "_types",
        "data",
        "ehdr",
        "file",
        "ident",
        "is_64",
        "num_sections",
        "num_segments",
        "shstrndx",
        "size",
    )
    num_sections: int
    num_segments: int
    shstrndx: int

    def __init__(self, data: Buffer, file: str) -> None:
        self.data: Buffer = data
        self.file: str = file
        self.size: int = len(data)
        self._names: list[str] | None = None
        self._section_columns: list[Sequence[int]] | None = None
        self._section_rows: list[SectionRow] | None = None
        self._segment_rows: list[SegmentRow] | None = None
        self._shstrtab: StringTable | None = None
        self._strtabs: dict[int, StringTable] = {}
        self._first: dict[int, int | None] = {}
        self._types: list[int] | None = None
        self._shndx_tables: dict[int, int] | None = None
        self._symbol_rows: dict[int, list[SymbolRow]] = {}
        self.ident: bytes = bytes(data[:EI_NIDENT])
        self._check_ident()
        self.is_64: bool = self.ident[EI_CLASS] == ELFCLASS64
        header = records.ELF_HEADER_64 if self.is_64 else records.ELF_HEADER_32
        if self.size < EI_NIDENT + header.size:
            raise self._truncated(EI_NIDENT, header.size, "header")
        #: e_type e_machine e_version e_entry e_phoff e_shoff e_flags e_ehsize e_phentsize e_phnum
        #: e_shentsize e_shnum e_shstrndx
        self.ehdr: tuple[int, ...] = header.unpack(data[EI_NIDENT : EI_NIDENT + header.size])
        self._check_header()

    # -- checked access -------------------------------------------------------------------------

    def bytes_at(self, offset: int, size: int, field: str) -> bytes:
        """A copy of ``size`` bytes at absolute ``offset``.

        Raises:
            BadOffsetError: it starts behind the end of the file.
            TruncatedError: it starts inside and ends behind.
        """
        end = offset + size
        if end > self.size:
            raise self._beyond(offset, size, field)
        return self.between(offset, end)

    def between(self, start: int, end: int) -> bytes:
        """A copy of the bytes between two places in the file."""
        data = self.data
        if isinstance(data, FileBytes):
            return data.between(start, end)
        return bytes(data[start:end])

    def _beyond(self, offset: int, size: int, field: str) -> BadOffsetError | TruncatedError:
        if offset <= self.size:
            return self._truncated(offset, size, field)
        return BadOffsetError(
            f"offset {offset:#x} is past the end of the file",
            file=self.file,
            offset=offset,
            field=field,
            expected=f"at most {self.size:#x}",
        )

    def _truncated(self, offset: int, size: int, field: str) -> TruncatedError:
        return TruncatedError(
            f"{size} bytes are declared, {max(self.size - offset, 0)} are left in the file",
            file=self.file,
            offset=offset,
            field=field,
            expected=f"a file of at least {offset + size} bytes",
        )

    # -- header ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Elf {self.file!r}, {self.size} bytes>"

    def _check_ident(self) -> None:
        ident = self.ident
        if not ident:
            raise TruncatedError(
                "the file is empty", file=self.file, offset=0, expected="an ELF header"
            )
        if len(ident) < EI_NIDENT and b"\x7fELF".startswith(ident[:4]):
            raise self._truncated(0, EI_NIDENT, "header.e_ident")
        if ident[:4] != b"\x7fELF":
            raise NotCubinError(
                "not an ELF file",
                file=self.file,
                offset=0,
                field="header.e_ident",
                expected="the magic 7f 45 4c 46",
            )
        if ident[EI_CLASS] not in (ELFCLASS32, ELFCLASS64):
            raise NotCubinError(
                f"ELF class {ident[EI_CLASS]} is neither 32-bit nor 64-bit",
                file=self.file,
                offset=4,
                field="header.e_ident.ei_class",
                expected="1 or 2",
            )
        if ident[EI_DATA] != ELFDATA2LSB:
            raise NotCubinError(
                f"ELF data encoding {ident[EI_DATA]} is not little-endian",
                file=self.file,
                offset=5,
                field="header.e_ident.ei_data",
                expected="1",
            )
        machine = int.from_bytes(self.data[18:20], "little")
        if self.size >= 20 and machine != EM_CUDA:
            name = MACHINES.get(machine)
            raise NotCubinError(
                f"ELF file of machine {machine}" + (f" ({name})" if name else "") + ", not a cubin",
                file=self.file,
                offset=18,
                field="header.e_machine",
                expected=f"{EM_CUDA} (EM_CUDA)",
            )

    def _check_header(self) -> None:
        _, _, _, _, phoff, shoff, _, ehsize, phentsize, phnum, shentsize, shnum, shstrndx = (
            self.ehdr
        )
        header_end = (
            EI_NIDENT + (records.ELF_HEADER_64 if self.is_64 else records.ELF_HEADER_32).size
        )
        if ehsize != header_end:
            raise BadStructureError(
                f"e_ehsize is {ehsize}",
                file=self.file,
                offset=self._place_of("e_ehsize"),
                field="header.e_ehsize",
                expected=str(header_end),
            )
        section = records.SECTION_HEADER_64 if self.is_64 else records.SECTION_HEADER_32
        if shoff:
            self._check_table(
                "section_headers", shoff, max(shnum, 1), shentsize, section.size, header_end
            )
            # gABI extended numbering: what does not fit stands in the header of section 0
            first = self.bytes_at(shoff, section.size, "section_headers[0]")
            _, _, _, _, _, sh_size, sh_link, sh_info, _, _ = section.unpack(first)
            if shnum == 0:
                shnum = sh_size
                self._check_table(
                    "section_headers", shoff, shnum, shentsize, section.size, header_end
                )
            if shstrndx == SHN_XINDEX:
                shstrndx = sh_link
            if phnum == PN_XNUM:
                phnum = sh_info
        elif shnum:
            raise BadOffsetError(
                f"{shnum} sections are declared without a section header table",
                file=self.file,
                offset=self._place_of("e_shoff"),
                field="header.e_shoff",
                expected="a non-zero offset",
            )
        if shstrndx and shstrndx >= shnum:
            raise BadIndexError(
                f"section {shstrndx} is declared to hold the section names, there are {shnum}",
                file=self.file,
                offset=self._place_of("e_shstrndx"),
                field="header.e_shstrndx",
                expected=f"an index below {shnum}",
            )
        self.num_sections = shnum
        self.num_segments = phnum
        self.shstrndx = shstrndx
        if phnum:
            segment = records.PROGRAM_HEADER_64 if self.is_64 else records.PROGRAM_HEADER_32
            self._check_table("program_headers", phoff, phnum, phentsize, segment.size, header_end)
            self._check_apart(shoff, shnum * section.size, phoff, phnum * segment.size)

    def _place_of(self, field: str) -> int:
        """Absolute offset of a field of the header behind ``e_ident``, for a message."""
        from cubinspec_generated import record_fields

        header = records.ELF_HEADER_64 if self.is_64 else records.ELF_HEADER_32
        before = 1 + record_fields.ELF_HEADER_64_FIELDS.index(field)
        return EI_NIDENT + calcsize(header.format[:before])

    def _check_apart(self, shoff: int, sections_size: int, phoff: int, segments_size: int) -> None:
        section_end = shoff + sections_size
        if shoff and phoff < section_end and shoff < phoff + segments_size:
            raise BadStructureError(
                "program headers overlap the section headers",
                file=self.file,
                offset=phoff,
                field="program_headers",
                expected=f"tables apart, section headers are {shoff:#x}..{section_end:#x}",
            )

    def _check_table(
        self, name: str, offset: int, count: int, entsize: int, expected: int, header_end: int
    ) -> None:
        if entsize != expected:
            raise BadStructureError(
                f"entries are declared to have {entsize} bytes",
                file=self.file,
                offset=offset,
                field=name,
                expected=f"{expected}",
            )
        if offset < header_end:
            raise BadStructureError(
                f"table at {offset:#x} overlaps the ELF header",
                file=self.file,
                offset=offset,
                field=name,
                expected=f"an offset of at least {header_end:#x}",
            )
        if offset > self.size:
            raise BadOffsetError(
                f"table at {offset:#x} is past the end of the file",
                file=self.file,
                offset=offset,
                field=name,
                expected=f"at most {self.size:#x}",
            )
        if offset + count * entsize > self.size:
            raise self._truncated(offset, count * entsize, f"{name} ({count} entries)")

    # -- sections and segments ------------------------------------------------------------------

    @property
    def section_rows(self) -> list[SectionRow]:
        """All section headers, index 0 included."""
        rows = self._section_rows
        if rows is None:
            rows = table_rows(*self._section_table())
            self._check_overlap(map(_size_of, rows), rows)
            self._section_rows = rows
        return rows

    @property
    def section_columns(self) -> list[Sequence[int]]:
        """:attr:`section_rows` field by field, in a tenth of the memory."""
        columns = self._section_columns
        if columns is None:
            columns = split(*self._section_table())
            self._check_overlap(columns[5], zip(*columns, strict=True))
            self._section_columns = columns
        return columns

    def _section_table(self) -> tuple[Struct, bytes]:
        record = records.SECTION_HEADER_64 if self.is_64 else records.SECTION_HEADER_32
        if not self.num_sections:
            return record, b""
        size = self.num_sections * record.size
        return record, self.bytes_at(self.ehdr[5], size, "section_headers")

    def _check_overlap(self, sizes: Iterable[int], rows: Iterable[tuple[int, ...]]) -> None:
        limit = MAX_SECTION_OVERLAP * self.size
        if sum(sizes) <= limit:
            return
        # sections outside the file are refused when they are read
        total = sum(
            max(min(size, self.size - offset), 0)
            for _, sh_type, flags, _, offset, size, *_ in rows
            if occupies_file(sh_type, flags)
        )
        if total > limit:
            raise BadStructureError(
                f"the sections overlap: together they take {total} bytes of {self.size}",
                file=self.file,
                offset=self.ehdr[5],
                field="section_headers",
                expected=f"at most {limit} bytes",
            )

    @property
    def segment_rows(self) -> list[SegmentRow]:
        """All program headers, fields in ELF64 order."""
        rows = self._segment_rows
        if rows is None:
            if not self.num_segments:
                rows = []
            elif self.is_64:
                record = records.PROGRAM_HEADER_64
                raw = self.bytes_at(
                    self.ehdr[4], self.num_segments * record.size, "program_headers"
                )
                rows = list(record.iter_unpack(raw))
            else:
                record = records.PROGRAM_HEADER_32
                raw = self.bytes_at(
                    self.ehdr[4], self.num_segments * record.size, "program_headers"
                )
                rows = [
                    (t, flags, offset, vaddr, paddr, filesz, memsz, align)
                    for t, offset, vaddr, paddr, filesz, memsz, flags, align in record.iter_unpack(
                        raw
                    )
                ]
            self._segment_rows = rows
        return rows

    @property
    def shstrtab(self) -> StringTable:
        """The section name table; empty when the file names none."""
        table = self._shstrtab
        if table is None:
            if self.shstrndx:
                table = self.string_table(self.shstrndx)
            else:
                table = StringTable(b"\0", 0, self.file, "header.e_shstrndx")
            self._shstrtab = table
        return table

    def section_name(self, index: int) -> str:
        """Name of section ``index``."""
        names = self._names
        if names is not None:
            return names[index]
        return self.shstrtab.get(self.section_rows[index][0])

    @property
    def section_names(self) -> list[str]:
        """All section names, in index order."""
        names = self._names
        if names is None:
            names = self.shstrtab.get_many(list(map(_name_of, self.section_rows)))
            self._names = names
        return names

    def section_row(self, index: int, field: str) -> SectionRow:
        """Section ``index``, which ``field`` refers to.

        Raises:
            BadIndexError: there is no such section.
        """
        if not 0 <= index < self.num_sections:
            raise BadIndexError(
                f"section {index} does not exist",
                file=self.file,
                field=field,
                offset=self.ehdr[5],
                expected=f"an index below {self.num_sections}",
            )
        rows = self._section_rows
        if rows is not None:
            return rows[index]
        if self._section_columns is not None:
            return tuple([column[index] for column in self._section_columns])
        return self.section_rows[index]

    def section_bytes(self, index: int) -> bytes:
        """The body of section ``index``; empty for sections that hold no bytes."""
        _, sh_type, flags, _, offset, size, _, _, _, _ = self.section_row(index, "section")
        if not occupies_file(sh_type, flags):
            return b""
        return self.bytes_at(offset, size, f"sections[{index}]")

    def section_view(self, index: int) -> memoryview:
        """As :meth:`section_bytes`, without a copy of bytes in memory, for who looks once."""
        _, sh_type, flags, _, offset, size, _, _, _, _ = self.section_row(index, "section")
        if not occupies_file(sh_type, flags):
            return memoryview(b"")
        if offset + size > self.size:
            raise self._beyond(offset, size, f"sections[{index}]")
        data = self.data
        if isinstance(data, memoryview):
            return data[offset : offset + size]
        if isinstance(data, bytes):
            return memoryview(data)[offset : offset + size]
        return memoryview(data[offset : offset + size])

    def bodies(self, indices: list[int]) -> list[bytes] | None:
        """:meth:`section_bytes` of many sections; ``None`` if one is not in the file.

        What the file has between the first and the last is read at once, unless it is too large.
        """
        all_rows = self.section_rows
        rows = [
            row for row in [all_rows[index] for index in indices] if row[4] + row[5] <= self.size
        ]
        if len(rows) < len(indices):
            return None
        start = min(map(_offset_of, rows), default=0)
        end = max([row[4] + row[5] for row in rows], default=0)
        if end - start <= _WHOLE_BYTES:
            data = bytes(self.data[start:end])
        else:
            data, start = self.data, 0  # type: ignore[assignment]
        found = []
        for row in rows:
            at = row[4] - start
            found.append(data[at : at + row[5]] if occupies_file(row[1], row[2]) else b"")
        return found

    def check_bodies(self) -> None:
        """Make sure that the file holds every section whole.

        Raises:
            BadOffsetError, TruncatedError: a section lies behind the end or is cut off.
        """
        for index, row in enumerate(self.section_rows):
            _, sh_type, flags, _, offset, size, _, _, _, _ = row
            if offset + size > self.size and occupies_file(sh_type, flags):
                self.bytes_at(offset, size, f"sections[{index}]")

    def string_table(self, index: int) -> StringTable:
        """The string table in section ``index``.

        Raises:
            BadStructureError: the section is no string table.
        """
        table = self._strtabs.get(index)
        if table is None:
            _, sh_type, _, _, offset, _, _, _, _, _ = self.section_row(index, "sh_link")
            if sh_type != SHT_STRTAB:
                raise BadStructureError(
                    f"section {index} of type {sh_type:#x} is used as a string table",
                    file=self.file,
                    offset=offset,
                    field=f"section_headers[{index}].sh_type",
                    expected=f"{SHT_STRTAB} (SHT_STRTAB)",
                )
            table = StringTable(self.section_bytes(index), offset, self.file, f"sections[{index}]")
            self._strtabs[index] = table
        return table

    def rows_of(self, index: int, record: Struct, field: str) -> Iterator[tuple[int, ...]]:
        """The body of section ``index`` as a table of ``record``.

        Raises:
            BadStructureError: its size is not a multiple of the record's.
        """
        return record.iter_unpack(self._whole_rows(index, record, field))

    def _whole_rows(self, index: int, record: Struct, field: str) -> bytes:
        body = self.section_bytes(index)
        if len(body) % record.size:
            raise BadStructureError(
                f"size {len(body)} of section {index} is not a whole number of entries",
                file=self.file,
                offset=self.section_rows[index][4],
                field=f"sections[{index}] ({field})",
                expected=f"a multiple of {record.size}",
            )
        return body

    # -- symbols and relocations ----------------------------------------------------------------

    def find_section(self, sh_type: int) -> int | None:
        """Index of the first section of a type."""
        if sh_type in self._first:
            return self._first[sh_type]
        types = self._types
        if self._section_columns is not None:
            types = list(self._section_columns[1])  # few ask who want columns to save memory
        elif types is None:
            types = self._types = list(map(_type_of, self.section_rows))
        found = self._first[sh_type] = types.index(sh_type) if sh_type in types else None
        return found

    def symbol_rows(self, index: int) -> list[SymbolRow]:
        """The symbol table in section ``index``."""
        rows = self._symbol_rows.get(index)
        if rows is None:
            rows = self._symbol_rows[index] = self._read_symbols(index)
        return rows

    def _read_symbols(self, index: int) -> list[SymbolRow]:
        if self.is_64:
            record = records.SYMBOL_64
            rows: list[SymbolRow] = table_rows(record, self._whole_rows(index, record, "symbols"))
        else:
            rows = [
                (name, info, other, shndx, value, size)
                for name, value, size, info, other, shndx in self.rows_of(
                    index, records.SYMBOL_32, "symbols"
                )
            ]
        for row in rows:
            if row[3] == SHN_XINDEX:
                self._extend_indices(index, rows)
                break
        return rows

    def symbol_table(self, index: int) -> Rows:
        """:meth:`symbol_rows` in a tenth of the memory, each row made when it is asked for."""
        from cubinspec.reader.columns import Rows  # only the emitter asks for columns

        if self.is_64:
            record = records.SYMBOL_64
            columns = split(record, self._whole_rows(index, record, "symbols"))
            if SHN_XINDEX not in columns[3]:
                return Rows(columns)
        return Rows.of(self.symbol_rows(index))

    def _shndx_table(self, index: int) -> int | None:
        """The section with the extended indices of the symbol table in section ``index``."""
        tables = self._shndx_tables
        if tables is None:
            tables = self._shndx_tables = {}
            for number in [
                number
                for number, (_, sh_type, flags, _, _, _, _, _, _, _) in enumerate(self.section_rows)
                if sh_type == SHT_SYMTAB_SHNDX or flags & SHF_CUDA_MERCURY
            ]:
                _, sh_type, _, _, _, _, sh_link, _, _, _ = self.section_rows[number]
                # no real file has one in its Mercury half, so its type there is not known
                if (
                    sh_type == SHT_SYMTAB_SHNDX
                    or self.section_name(number) == ".nv.merc.symtab_shndx"
                ):
                    tables.setdefault(sh_link, number)
        return tables.get(index)

    def _extend_indices(self, index: int, rows: list[SymbolRow]) -> None:
        number = self._shndx_table(index)
        if number is None:
            return
        _, _, _, _, offset, _, _, _, _, _ = self.section_rows[number]
        indices = words(self.section_bytes(number))
        if len(indices) < len(rows):
            raise BadStructureError(
                f"{len(indices)} extended section indices for {len(rows)} symbols",
                file=self.file,
                offset=offset,
                field=f"sections[{number}] (symtab_shndx)",
                expected="one word per symbol",
            )
        for at, (name, info, other, shndx, value, size) in enumerate(rows):
            if shndx == SHN_XINDEX:
                rows[at] = (name, info, other, indices[at], value, size)

    def relocation_tables(
        self, indices: list[int], bodies: list[bytes]
    ) -> list[list[RelocationRow]] | None:
        """:meth:`relocation_rows` of many sections, of ELF64 with addends; ``None`` if one is not.

        All rows are split at once.

        Args:
            bodies: of the sections.
        """
        rows = self.section_rows
        record = records.RELA_64
        if not self.is_64 or SHT_REL in [rows[index][1] for index in indices]:
            return None
        counts = [len(body) // record.size for body in bodies]
        if any(map(record.size.__rmod__, map(len, bodies))):
            return None
        split: list[Any] = table_rows(record, b"".join(bodies))
        found, at = [], 0
        for count in counts:
            found.append(split[at : at + count])
            at += count
        return found

    def relocation_rows(self, index: int) -> list[RelocationRow]:
        """The relocations in section ``index`` (REL or RELA, unresolved, resolved or Mercury)."""
        rela = self.section_rows[index][1] != SHT_REL
        if self.is_64:
            if rela:
                return list(self.rows_of(index, records.RELA_64, "relocations"))  # type: ignore[arg-type]
            return [
                (offset, kind, symbol, None)
                for offset, kind, symbol in self.rows_of(index, records.REL_64, "relocations")
            ]
        if rela:
            return [
                (offset, info & _TYPE_MASK_32, info >> _SYMBOL_SHIFT_32, addend)
                for offset, info, addend in self.rows_of(index, records.RELA_32, "relocations")
            ]
        return [
            (offset, info & _TYPE_MASK_32, info >> _SYMBOL_SHIFT_32, None)
            for offset, info in self.rows_of(index, records.REL_32, "relocations")
        ]
