"""Relocatable cubins that are changed to hold what ptxas never writes."""

from __future__ import annotations

from dataclasses import dataclass, field

from cubinspec.format.sections import occupies_file
from cubinspec.reader.elf import Elf
from cubinspec_generated import codes, records

_HEADER = records.SECTION_HEADER_64
_SYMBOL = records.SYMBOL_64


@dataclass
class Section:
    """One section: its header without the offset, and its bytes."""

    name: str
    sh_type: int
    flags: int = 0
    data: bytes = b""
    size: int = 0
    link: int = 0
    info: int = 0
    align: int = 4
    entsize: int = 0
    address: int = 0
    at: int = field(default=1 << 62, repr=False)
    name_at: int = -1


class Object:
    """A cubin as a list of sections, which may be changed, and grows only at its ends.

    Indices of what the file has already never change.
    """

    def __init__(self, data: bytes) -> None:
        elf = Elf(data, "base")
        self.head = bytearray(data[: len(elf.ident) + records.ELF_HEADER_64.size])
        self.shstrndx = elf.ehdr[-1]
        self.sections = [
            Section(
                name, kind, flags,
                elf.section_bytes(i) if occupies_file(kind, flags) and kind else b"",
                size, link, info, align, entsize, address, at, name_at,
            )
            for i, (name, (name_at, kind, flags, address, at, size, link, info, align, entsize))
            in enumerate(zip(elf.section_names, elf.section_rows, strict=True))
        ]  # fmt: skip

    def find(self, name: str) -> int:
        """The index of a section."""
        return next(i for i, s in enumerate(self.sections) if s.name == name)

    def has(self, name: str) -> bool:
        return any(section.name == name for section in self.sections)

    def add_section(self, section: Section) -> int:
        """Append a section; returns its index."""
        names = self.sections[self.shstrndx]
        section.name_at = len(names.data)
        names.data += section.name.encode() + b"\0"
        self.sections.append(section)
        return len(self.sections) - 1

    def _table(self, mercury: bool) -> Section:
        kind = codes.SHT_CUDA_MERC_SYMTAB if mercury else codes.SHT_SYMTAB
        return next(s for s in self.sections if s.sh_type == kind)

    def symbols(self, mercury: bool = False) -> list[tuple[int, ...]]:
        return list(_SYMBOL.iter_unpack(self._table(mercury).data))

    def name_of(self, row: tuple[int, ...], mercury: bool = False) -> str:
        strings = self.sections[self._table(mercury).link].data
        return strings[row[0] : strings.index(b"\0", row[0])].decode()

    def symbol(self, name: str, mercury: bool = False) -> int:
        """The number of a symbol."""
        return next(
            i for i, r in enumerate(self.symbols(mercury)) if self.name_of(r, mercury) == name
        )

    def set_symbol(self, index: int, mercury: bool = False, **fields: int) -> None:
        """Change fields of a symbol row: `info`, `other`, `shndx`, `value`, `size`."""
        table = self._table(mercury)
        row = list(_SYMBOL.unpack_from(table.data, index * _SYMBOL.size))
        for at, key in enumerate(("name", "info", "other", "shndx", "value", "size")):
            row[at] = fields.get(key, row[at])
        start = index * _SYMBOL.size
        table.data = table.data[:start] + _SYMBOL.pack(*row) + table.data[start + _SYMBOL.size :]

    def add_symbol(
        self, name: str, info: int, other: int, shndx: int, value: int = 0, size: int = 0,
        mercury: bool = False,
    ) -> int:  # fmt: skip
        """Append a symbol; returns its number."""
        table = self._table(mercury)
        strings = self.sections[table.link]
        at = len(strings.data) if name else 0
        if name:
            strings.data += name.encode() + b"\0"
        table.data += _SYMBOL.pack(at, info, other, shndx, value, size)
        return len(table.data) // _SYMBOL.size - 1

    def bytes(self) -> bytes:
        """The file."""
        out = bytearray(self.head)
        order = sorted(range(1, len(self.sections)), key=lambda i: (self.sections[i].at, i))
        places = dict.fromkeys(range(len(self.sections)), 0)
        for index in order:
            section = self.sections[index]
            out += bytes(-len(out) % max(section.align, 1))
            places[index] = len(out)
            if occupies_file(section.sh_type, section.flags):
                section.size = len(section.data)
                out += section.data
        out += bytes(-len(out) % 8)
        table = len(out)
        for index, s in enumerate(self.sections):
            out += _HEADER.pack(
                max(s.name_at, 0), s.sh_type, s.flags, s.address, places[index], s.size, s.link,
                s.info, s.align, s.entsize,
            )  # fmt: skip
        start = codes.EI_NIDENT
        fields = list(records.ELF_HEADER_64.unpack_from(self.head, start))
        fields[5], fields[-2] = table, len(self.sections)
        records.ELF_HEADER_64.pack_into(out, start, *fields)
        return bytes(out)
