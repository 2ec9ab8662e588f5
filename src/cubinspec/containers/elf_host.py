"""Just enough ELF for a host file and for the length of a cubin that lies in other data."""

from __future__ import annotations

from struct import Struct

from cubinspec.errors import BadStructureError, TruncatedError
from cubinspec.format.sections import occupies_file
from cubinspec.limits import MAX_IMAGE_BYTES
from cubinspec_generated import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.containers.source import Source

ELF_MAGIC = b"\x7fELF"
EM_CUDA = 190
SHT_NULL, SHT_NOBITS = 0, 8
SHN_XINDEX = 0xFFFF

#: Records by class and byte order; the spec has the little-endian ones.
_HEADER = {
    (2, 1): records.ELF_HEADER_64,
    (1, 1): records.ELF_HEADER_32,
    (2, 2): Struct(records.ELF_HEADER_64.format.replace("<", ">")),
    (1, 2): Struct(records.ELF_HEADER_32.format.replace("<", ">")),
}
_SECTION = {
    (2, 1): records.SECTION_HEADER_64,
    (1, 1): records.SECTION_HEADER_32,
    (2, 2): Struct(records.SECTION_HEADER_64.format.replace("<", ">")),
    (1, 2): Struct(records.SECTION_HEADER_32.format.replace("<", ">")),
}
_SEGMENT = {
    (2, 1): records.PROGRAM_HEADER_64,
    (1, 1): records.PROGRAM_HEADER_32,
    (2, 2): Struct(records.PROGRAM_HEADER_64.format.replace("<", ">")),
    (1, 2): Struct(records.PROGRAM_HEADER_32.format.replace("<", ">")),
}
_RELA = {
    (2, 1): Struct("<QQq"),
    (1, 1): Struct("<IIi"),
    (2, 2): Struct(">QQq"),
    (1, 2): Struct(">IIi"),
}
_SYMBOL = {
    (2, 1): records.SYMBOL_64,
    (1, 1): records.SYMBOL_32,
    (2, 2): Struct(records.SYMBOL_64.format.replace("<", ">")),
    (1, 2): Struct(records.SYMBOL_32.format.replace("<", ">")),
}
_WORD = {1: "I", 2: "Q"}
_ORDER = {1: "<", 2: ">"}
ET_REL = 1
PT_LOAD, PT_DYNAMIC, PF_W = 1, 2, 2
DT_RELA, DT_RELASZ = 7, 8
SHT_RELA = 4
#: Relocations read at a time; a large library has a million.
_RELOCATIONS = 1 << 16

MACHINES = {
    3: "x86",
    20: "PowerPC",
    21: "PowerPC64",
    40: "ARM",
    62: "x86-64",
    183: "AArch64",
    190: "CUDA",
    224: "AMDGPU",
    243: "RISC-V",
}


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

    def __init__(
        self,
        source: Source,
        base: int = 0,
        limit: int | None = None,
        *,
        sections: bool = True,
    ) -> None:
        ident = source.exactly(base, 16, "e_ident")
        form = (ident[4], ident[5])
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
        ) = header.unpack(source.exactly(base + 16, header.size, "elf_header"))
        self.sections: list[tuple[int, ...]] = []
        self._names: bytes | None = None
        self._limit = limit
        self._segments: list[tuple[int, int, int, int, int]] | None = None
        if sections:
            self.read_sections()

    def read_sections(self) -> None:
        """Fill ``sections``, if the file has a section table.

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
            count = row.unpack(first)[5]
        if self.e_shoff + count * row.size > available:
            raise TruncatedError(
                f"{count} section headers at {self.e_shoff:#x}",
                file=self._source.name,
                offset=self.base + self.e_shoff,
                field="section_headers",
                expected=f"a table that ends before {available:#x}",
            )
        table = self._source.exactly(self.base + self.e_shoff, count * row.size, "section_headers")
        self.sections = list(row.iter_unpack(table))

    def name(self, index: int) -> str:
        """Name of a section; empty when it has none that can be read."""
        if self._names is None:
            strings = self.e_shstrndx
            if strings == SHN_XINDEX and self.sections:
                strings = self.sections[0][6]
            self._names = b""
            if strings < len(self.sections):
                _, _, _, _, offset, size, *_ = self.sections[strings]
                if size < MAX_IMAGE_BYTES:
                    self._names = self._source.read(self.base + offset, size)
        start = self.sections[index][0]
        end = self._names.find(b"\0", start)
        return self._names[start : end if end >= 0 else start].decode("utf-8", "replace")

    @property
    def length(self) -> int:
        """Bytes from the header to the end of the last thing that the headers point at."""
        ends = [
            16 + _HEADER[self.form].size,
            self.e_shoff + len(self.sections) * self.e_shentsize,
        ]
        if self.e_phoff:
            ends.append(self.e_phoff + self.e_phnum * _SEGMENT[self.form].size)
        ends.extend(s[4] + s[5] for s in self.sections if occupies_file(s[1], s[2]))
        return int(max(ends))

    def regions(self) -> list[tuple[int, int, str]]:
        """Start, end and name of the sections with bytes, in file order."""
        rows = [
            (s[4], s[4] + s[5], i)
            for i, s in enumerate(self.sections)
            if s[5] and s[1] not in (SHT_NULL, SHT_NOBITS)
        ]
        rows.sort()
        return [(a, b, self.name(i)) for a, b, i in rows]

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
            if self.form[0] == 2:
                self._segments = [(r[0], r[1], r[2], r[3], r[5]) for r in rows]
            else:
                self._segments = [(r[0], r[6], r[1], r[2], r[4]) for r in rows]
        return self._segments

    def offset_of(self, address: int) -> int | None:
        """Where in the source the byte is that is loaded at ``address``; ``None`` for none."""
        for kind, _, offset, start, size in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return self.base + offset + address - start
        return None

    @property
    def word(self) -> int:
        """Bytes of an address."""
        return 4 * self.form[0]

    def words(self, offset: int, count: int) -> list[int]:
        """Up to ``count`` pointers at an offset of the source."""
        word = Struct(_ORDER[self.form[1]] + _WORD[self.form[0]])
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
                count = size // self.word
                pairs = self.words(self.base + offset, min(count, 2 * _RELOCATIONS))
                table = dict(zip(pairs[::2], pairs[1::2], strict=False))
        start = self.offset_of(table.get(DT_RELA, 0)) if DT_RELA in table else None
        found: dict[int, int] = {}
        if start is None:
            return found
        record = _RELA[self.form]
        end = min(start + table.get(DT_RELASZ, 0), self._source.size)
        step = _RELOCATIONS * record.size
        shift = 32 if self.form[0] == 2 else 8
        for at in range(start, end, step):
            data = self._source.read(at, min(step, end - at))
            rows = record.iter_unpack(data[: len(data) // record.size * record.size])
            found.update((o, a) for o, info, a in rows if o in wanted and not info >> shift)
        return found

    def relocated(self, index: int) -> dict[int, int]:
        """Offsets in the source that the relocations of section ``index`` of an object file mean.

        By the place in the section that they fill in.
        """
        found: dict[int, int] = {}
        record, symbol = _RELA[self.form], _SYMBOL[self.form]
        shift = 32 if self.form[0] == 2 else 8
        for row in self.sections:
            if row[1] != SHT_RELA or row[7] != index or row[6] >= len(self.sections):
                continue
            symbols = self.sections[row[6]]
            size = min(row[5], _RELOCATIONS * record.size)
            data = self._source.read(self.base + row[4], size)
            whole = data[: len(data) // record.size * record.size]
            for place, info, addend in record.iter_unpack(whole):
                at = (info >> shift) * symbol.size
                raw = self._source.read(self.base + symbols[4] + at, symbol.size)
                if at + symbol.size > symbols[5] or len(raw) != symbol.size:
                    continue
                fields = symbol.unpack(raw)
                shndx, value = fields[3:5] if self.form[0] == 2 else (fields[5], fields[1])
                if 0 < shndx < len(self.sections) and self.sections[shndx][1] != SHT_NOBITS:
                    found[place] = self.base + self.sections[shndx][4] + value + addend
        return found


def cubin_length(source: Source, offset: int) -> int:
    """Length of the cubin whose ELF header is at ``offset``.

    Raises:
        TruncatedError: it reaches past the end of the source.
    """
    frame = ElfFrame(source, offset)
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
    """The sm number in ``e_flags``: bits 8-23 with EI_OSABI 0x41, bits 0-7 before."""
    return (e_flags >> 8) & 0xFFFF if ident[7] == 0x41 else e_flags & 0xFF


def is_cubin_header(head: bytes) -> bool:
    """Whether bytes start an ELF header of EM_CUDA, little-endian."""
    return (
        len(head) >= 20
        and head[:4] == ELF_MAGIC
        and head[4] in (1, 2)
        and head[5] == 1
        and head[18] == EM_CUDA
        and head[19] == 0
    )
