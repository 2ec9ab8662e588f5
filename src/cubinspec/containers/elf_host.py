"""Just enough ELF for a host file and for the length of a cubin that lies in other data."""

from __future__ import annotations

from struct import Struct

from cubinspec.errors import BadStructureError, TruncatedError
from cubinspec.format.packing import sm_of
from cubinspec.format.sections import occupies_file
from cubinspec.limits import MAX_HOST_NAME, MAX_IMAGE_BYTES
from cubinspec.reader.elf import MACHINES as MACHINES_OF_PROGRAMS
from cubinspec_generated import records
from cubinspec_generated.codes import (
    DT_RELA,
    DT_RELASZ,
    EI_CLASS,
    EI_DATA,
    EI_NIDENT,
    EI_OSABI,
    ELFCLASS32,
    ELFCLASS64,
    ELFDATA2LSB,
    ELFDATA2MSB,
    EM_CUDA,
    EM_PPC,
    EM_PPC64,
    PT_DYNAMIC,
    PT_LOAD,
    SHN_UNDEF,
    SHN_XINDEX,
    SHT_NOBITS,
    SHT_NULL,
    SHT_RELA,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.allowance import Budget
    from cubinspec.containers.source import Source

    #: index of the string table, offset of the name in it, st_shndx, st_value
    HostSymbol = tuple[int, int, int, int]

ELF_MAGIC = b"\x7fELF"
_LITTLE_64, _LITTLE_32 = (ELFCLASS64, ELFDATA2LSB), (ELFCLASS32, ELFDATA2LSB)
_BIG_64, _BIG_32 = (ELFCLASS64, ELFDATA2MSB), (ELFCLASS32, ELFDATA2MSB)


def _of_all_forms(of_64: Struct, of_32: Struct) -> dict[tuple[int, int], Struct]:
    """A record by class and byte order, from the little-endian ones of the spec."""
    return {
        _LITTLE_64: of_64,
        _LITTLE_32: of_32,
        _BIG_64: Struct(of_64.format.replace("<", ">")),
        _BIG_32: Struct(of_32.format.replace("<", ">")),
    }


_HEADER = _of_all_forms(records.ELF_HEADER_64, records.ELF_HEADER_32)
_SECTION = _of_all_forms(records.SECTION_HEADER_64, records.SECTION_HEADER_32)
_SEGMENT = _of_all_forms(records.PROGRAM_HEADER_64, records.PROGRAM_HEADER_32)
_SYMBOL = _of_all_forms(records.SYMBOL_64, records.SYMBOL_32)
#: Relocations of host machines have one word ``r_info``.
_RELA = _of_all_forms(Struct("<QQq"), records.RELA_32)
_POINTER = _of_all_forms(Struct("<Q"), Struct("<I"))
#: First bit of the symbol in ``r_info``, by class (gABI).
_SYMBOL_SHIFT = {ELFCLASS32: 8, ELFCLASS64: 32}
#: Bytes of a symbol's name that are read; that of a registration is short.
_MOST_NAME = 256
#: Relocations read at a time; a large library has a million.
_RELOCATIONS = 1 << 16

MACHINES = MACHINES_OF_PROGRAMS | {EM_PPC: "PowerPC", EM_PPC64: "PowerPC64", EM_CUDA: "CUDA"}


class ElfFrame:
    """Header and section table of an ELF file of any machine, at ``base`` in a source.

    Args:
        limit: bytes of the file; by default all that the source has from ``base`` on.
        sections: read the section table now; else :meth:`read_sections` does it.

    Attributes:
        machine: ``e_machine``.
        sections: rows ``sh_name sh_type sh_flags sh_addr sh_offset sh_size sh_link sh_info
            sh_addralign sh_entsize``; empty when the table is missing.

    Raises:
        TruncatedError, BadStructureError: the header or the section table is not readable.
    """

    e_type: int
    machine: int
    e_version: int
    e_phoff: int
    e_shoff: int
    e_flags: int
    e_phentsize: int
    e_phnum: int
    e_shentsize: int
    e_shnum: int
    e_shstrndx: int

    def __init__(
        self,
        source: Source,
        base: int = 0,
        limit: int | None = None,
        *,
        sections: bool = True,
    ) -> None:
        ident = source.exactly(base, EI_NIDENT, "e_ident")
        form = (ident[EI_CLASS], ident[EI_DATA])
        if ident[:4] != ELF_MAGIC or form not in _HEADER:
            raise BadStructureError(
                f"e_ident {ident[:6].hex()}",
                file=source.name,
                offset=base,
                field="e_ident",
                expected="7f454c46, class 1 or 2, data 1 or 2",
            )
        self._source = source
        self.base = base
        self.form = form
        self.ident = ident
        header = _HEADER[form]
        (
            self.e_type,
            self.machine,
            self.e_version,
            _,
            self.e_phoff,
            self.e_shoff,
            self.e_flags,
            _,
            self.e_phentsize,
            self.e_phnum,
            self.e_shentsize,
            self.e_shnum,
            self.e_shstrndx,
        ) = header.unpack(source.exactly(base + EI_NIDENT, header.size, "elf_header"))
        self.sections: list[tuple[int, ...]] = []
        self._names: bytes | None = None
        self._limit = limit
        self._relocations: dict[int, list[tuple[int, int, int]]] | None = None
        self._segments: list[tuple[int, int, int, int, int]] | None = None
        if sections:
            self.read_sections()

    def read_sections(self, budget: Budget | None = None) -> None:
        """Fill ``sections``, if the file has a section table.

        Args:
            budget: pays for it.

        Raises:
            TruncatedError, BadStructureError: it is not readable.
        """
        if not self.e_shoff:
            return
        available = self._source.size - self.base if self._limit is None else self._limit
        row = _SECTION[self.form]
        if self.e_shentsize != row.size:
            raise BadStructureError(
                f"e_shentsize {self.e_shentsize}",
                file=self._source.name,
                offset=self.base,
                field="elf_header.e_shentsize",
                expected=str(row.size),
            )
        count = self.e_shnum
        if count == 0:  # the count stands in sh_size of section 0
            first = self._source.exactly(self.base + self.e_shoff, row.size, "section_headers[0]")
            _, _, _, _, _, count, _, _, _, _ = row.unpack(first)
        if self.e_shoff + count * row.size > available:
            raise TruncatedError(
                f"{count} section headers at {self.e_shoff:#x}",
                file=self._source.name,
                offset=self.base + self.e_shoff,
                field="section_headers",
                expected=f"a table that ends before {available:#x}",
            )
        if budget is not None:
            budget.spend("work", count)
        table = self._source.exactly(self.base + self.e_shoff, count * row.size, "section_headers")
        self.sections = list(row.iter_unpack(table))

    def name(self, index: int) -> str:
        """Name of a section, cut to ``MAX_HOST_NAME``; empty when it has none that can be read."""
        if self._names is None:
            strings = self.e_shstrndx
            if strings == SHN_XINDEX and self.sections:
                _, _, _, _, _, _, strings, _, _, _ = self.sections[0]
            self._names = b""
            if strings < len(self.sections):
                _, _, _, _, offset, size, *_ = self.sections[strings]
                if size < MAX_IMAGE_BYTES:
                    self._names = self._source.read(self.base + offset, size)
        start, *_ = self.sections[index]
        end = self._names.find(b"\0", start, start + MAX_HOST_NAME)
        if end < 0:
            last = start + MAX_HOST_NAME
            end = last if last < len(self._names) else start
        return self._names[start:end].decode("utf-8", "replace")

    @property
    def length(self) -> int:
        """Bytes from the header to the end of the last thing that the headers point at."""
        ends = [
            EI_NIDENT + _HEADER[self.form].size,
            self.e_shoff + len(self.sections) * self.e_shentsize,
        ]
        if self.e_phoff:
            ends.append(self.e_phoff + self.e_phnum * _SEGMENT[self.form].size)
        ends.extend(
            offset + size
            for _, sh_type, flags, _, offset, size, *_ in self.sections
            if occupies_file(sh_type, flags)
        )
        return int(max(ends))

    def regions(self) -> list[tuple[int, int, str]]:
        """Start, end and name of the sections with bytes, in file order."""
        rows = [
            (offset, offset + size, index)
            for index, (_, sh_type, _, _, offset, size, *_) in enumerate(self.sections)
            if size and sh_type not in (SHT_NULL, SHT_NOBITS)
        ]
        rows.sort()
        return [(start, end, self.name(index)) for start, end, index in rows]

    # -- addresses --------------------------------------------------------------------------

    @property
    def segments(self) -> list[tuple[int, int, int, int, int]]:
        """Type, flags, offset, address and size in the file of each segment; none if cut off."""
        if self._segments is None:
            row = _SEGMENT[self.form]
            data = b""
            if self.e_phoff and self.e_phentsize == row.size:
                data = self._source.read(self.base + self.e_phoff, self.e_phnum * row.size)
            rows = row.iter_unpack(data[: len(data) // row.size * row.size])
            if self.form[0] == ELFCLASS64:
                self._segments = [
                    (kind, flags, offset, address, size)
                    for kind, flags, offset, address, _, size, _, _ in rows
                ]
            else:
                self._segments = [
                    (kind, flags, offset, address, size)
                    for kind, offset, address, _, size, _, flags, _ in rows
                ]
        return self._segments

    def offset_of(self, address: int) -> int | None:
        """Where in the source the byte is that is loaded at ``address``; ``None`` for none."""
        self.budget.spend("work", len(self.segments))
        for kind, _, offset, start, size in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return self.base + offset + address - start
        return None

    @property
    def budget(self) -> Budget:
        """Pays for steps through tables that headers can share."""
        return self._source.budget

    @property
    def word(self) -> int:
        """Bytes of an address."""
        return _POINTER[self.form].size

    def words(self, offset: int, count: int) -> list[int]:
        """Up to ``count`` pointers at an offset of the source."""
        word = _POINTER[self.form]
        data = self._source.read(offset, count * word.size)
        return [w for (w,) in word.iter_unpack(data[: len(data) // word.size * word.size])]

    def relative(self, wanted: set[int]) -> dict[int, int]:
        """What the loader adds the load address to: place -> address, for places in ``wanted``.

        From the dynamic relocations with an addend that name no symbol. Others have the address
        in place.
        """
        table = {}
        for kind, _, offset, _, size in self.segments:
            if kind == PT_DYNAMIC:
                count = min(size // self.word, 2 * _RELOCATIONS)
                self.budget.spend("work", count)
                pairs = self.words(self.base + offset, count)
                table = dict(zip(pairs[::2], pairs[1::2], strict=False))
        start = self.offset_of(table.get(DT_RELA, 0)) if DT_RELA in table else None
        found: dict[int, int] = {}
        if start is None:
            return found
        record = _RELA[self.form]
        end = min(start + table.get(DT_RELASZ, 0), self._source.size)
        step = _RELOCATIONS * record.size
        shift = _SYMBOL_SHIFT[self.form[0]]
        self.budget.spend("work", max(end - start, 0) // record.size)
        for at in range(start, end, step):
            data = self._source.read(at, min(step, end - at))
            rows = record.iter_unpack(data[: len(data) // record.size * record.size])
            found.update(
                (place, addend)
                for place, info, addend in rows
                if place in wanted and not info >> shift
            )
        return found

    def relocated(self, index: int) -> dict[int, int]:
        """Offsets in the source that the relocations of section ``index`` of an object file mean.

        By the place in the section that they fill in.
        """
        found: dict[int, int] = {}
        for place, _, (_, _, shndx, value), addend in self.references(index, _RELOCATIONS):
            if SHN_UNDEF < shndx < len(self.sections):
                _, kind, _, _, start, *_ = self.sections[shndx]
                if kind != SHT_NOBITS:
                    found[place] = self.base + start + value + addend
        return found

    def references(self, index: int, most: int) -> Iterator[tuple[int, int, HostSymbol, int]]:
        """The relocations of section ``index``: place, type, symbol and addend.

        Args:
            most: relocations that are read of one table.
        """
        record, symbol = _RELA[self.form], _SYMBOL[self.form]
        shift = _SYMBOL_SHIFT[self.form[0]]
        for offset, size, sh_link in self._tables_of_relocations().get(index, ()):
            _, _, _, _, symbols_offset, symbols_size, strings, *_ = self.sections[sh_link]
            size = min(size, most * record.size)
            data = self._source.read(self.base + offset, size)
            whole = data[: len(data) // record.size * record.size]
            self.budget.spend("work", len(whole) // record.size)
            for place, info, addend in record.iter_unpack(whole):
                at = (info >> shift) * symbol.size
                raw = self._source.read(self.base + symbols_offset + at, symbol.size)
                if at + symbol.size > symbols_size or len(raw) != symbol.size:
                    continue
                if self.form[0] == ELFCLASS64:
                    name, _, _, shndx, value, _ = symbol.unpack(raw)
                else:
                    name, value, _, _, _, shndx = symbol.unpack(raw)
                kind = info & (1 << shift) - 1
                yield place, kind, (strings, name, shndx, value), addend

    def _tables_of_relocations(self) -> dict[int, list[tuple[int, int, int]]]:
        """Offset, size and `sh_link` of the relocation tables of each section that has any.

        Found once: an object with templates has a table for each of thousands of sections.
        """
        if self._relocations is None:
            self.budget.spend("work", len(self.sections))
            self._relocations = {}
            for _, sh_type, _, _, offset, size, sh_link, sh_info, _, _ in self.sections:
                if sh_type == SHT_RELA and sh_link < len(self.sections):
                    self._relocations.setdefault(sh_info, []).append((offset, size, sh_link))
        return self._relocations

    def symbol_name(self, symbol: HostSymbol) -> str:
        """The name of a symbol; empty when it has none that can be read."""
        strings, name, _, _ = symbol
        if not name or strings >= len(self.sections):
            return ""
        _, _, _, _, offset, size, *_ = self.sections[strings]
        text = self._source.read(self.base + offset + name, min(_MOST_NAME, max(size - name, 0)))
        return text.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def cubin_length(source: Source, offset: int, budget: Budget | None = None) -> int:
    """Length of the cubin whose ELF header is at ``offset``.

    Args:
        budget: pays for the section table, which many headers could share.

    Raises:
        TruncatedError: it reaches past the end of the source.
    """
    frame = ElfFrame(source, offset, sections=False)
    frame.read_sections(budget)
    length = frame.length
    if offset + length > source.size:
        raise TruncatedError(
            f"the headers describe {length} bytes, {source.size - offset} are there",
            file=source.name,
            offset=offset,
            field="section_headers",
            expected="sections inside the file",
        )
    return length


def cubin_arch(ident: bytes, e_flags: int) -> int:
    """The sm number in ``e_flags``."""
    return sm_of(ident[EI_OSABI], e_flags)
