"""Just enough PE/COFF for programs and object files of Windows: sections, symbols, relocations.

Source of fact: the PE/COFF format of Microsoft; ``cudadevrt.lib`` of CUDA 12.9 and 13.5.
"""

from __future__ import annotations

from struct import Struct

from cubinspec.errors import BadStructureError, TruncatedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.containers.source import Source

#: Machine, number of sections, time, symbol table, number of symbols, size of the optional header,
#: characteristics.
_HEADER = Struct("<HHIIIHH")
#: Name, size in the file, offset, relocations, number of relocations, characteristics.
_SECTION = Struct("<8s8xIII4xH2xI")
#: Name, value, section number from 1 on, storage class, auxiliary rows behind it.
_SYMBOL = Struct("<8sIh2xBB")
#: Place, number of the symbol, type.
_RELOCATION = Struct("<IIH")
#: A name that does not fit: zeros, and its offset behind the symbol table.
_FAR_NAME = Struct("<II")
#: x86-64; no object of CUDA for another machine was seen.
_MACHINE = b"\x64\x86"
#: Flags of sections: the first relocation has the number of relocations; contents.
_MORE_RELOCATIONS = 0x01000000
_FULL_COUNT = 0xFFFF
_INITIALIZED, _EXECUTABLE, _WRITABLE = 0x40, 0x20000000, 0x80000000
_WORD = 4
#: Of a PE file: name, size in memory, address, size in the file, offset, characteristics.
_PE_SECTION = Struct("<8sIIII12xI")
#: What its optional header begins with.
_PE32, _PE32_PLUS = 0x10B, 0x20B
#: Bytes of a name that are read; those that are looked for are shorter.
_MOST_NAME = 256


def is_coff_object(head: bytes) -> bool:
    """Whether a file that begins so is a COFF object for x86-64."""
    if head[:2] != _MACHINE or len(head) < _HEADER.size:
        return False
    _, sections, _, symbols, count, optional, _ = _HEADER.unpack_from(head)
    tables_end = _HEADER.size + sections * _SECTION.size
    return bool(sections and count and not optional and symbols >= tables_end)


class CoffSection:
    """One section: ``number`` counts from 1 on, as symbols do."""

    __slots__ = ("count", "flags", "name", "number", "offset", "relocations", "size")

    def __init__(
        self, number: int, name: str, size: int, offset: int, places: tuple[int, int], flags: int
    ) -> None:
        self.number: int = number
        self.name: str = name
        self.size: int = size
        self.offset: int = offset
        self.relocations, self.count = places
        self.flags: int = flags

    @property
    def is_code(self) -> bool:
        """Whether it holds instructions."""
        return bool(self.flags & _EXECUTABLE)

    @property
    def is_read_only_data(self) -> bool:
        """Whether texts and other constants can be in it."""
        return bool(self.flags & _INITIALIZED) and not self.flags & (_EXECUTABLE | _WRITABLE)


class CoffFrame:
    """Section table of a COFF object.

    Raises:
        BadStructureError: the headers are not those of a COFF object.
        TruncatedError: they are cut off.
    """

    #: In the order of the file.
    sections: list[CoffSection]

    def __init__(self, source: Source) -> None:
        head = source.exactly(0, _HEADER.size, "coff_header")
        if not is_coff_object(head):
            raise BadStructureError(
                f"header {head.hex()}",
                file=source.name,
                offset=0,
                field="coff_header",
                expected="that of an x86-64 object with symbols",
            )
        _, count, _, self._symbols, self._num_symbols, _, _ = _HEADER.unpack(head)
        self._source = source
        self._names = self._symbols + self._num_symbols * _SYMBOL.size
        if self._names > source.size:
            raise TruncatedError(
                f"{self._num_symbols} symbols at {self._symbols:#x}",
                file=source.name,
                offset=8,
                field="coff_header",
                expected=f"a table that ends before {source.size:#x}",
            )
        table = source.exactly(_HEADER.size, count * _SECTION.size, "section_headers")
        self.sections = []
        for number, row in enumerate(_SECTION.iter_unpack(table), 1):
            raw, size, offset, relocations, num_relocations, flags = row
            name = raw.rstrip(b"\0").decode("utf-8", "replace")
            if name.startswith("/") and name[1:].isdigit():
                name = self._far_name(int(name[1:]))
            size = min(size, max(source.size - offset, 0)) if offset else 0
            places = relocations, num_relocations
            self.sections.append(CoffSection(number, name, size, offset, places, flags))

    def regions(self) -> list[tuple[int, int, str]]:
        """Start, end and name of the sections with bytes, in file order."""
        return sorted((s.offset, s.offset + s.size, s.name) for s in self.sections if s.size)

    def references(self, section: CoffSection, most: int) -> Iterator[tuple[int, bytes]]:
        """The relocations of a section: place and the row of the symbol.

        Args:
            most: relocations that are read.
        """
        start, count = section.relocations, section.count
        if section.flags & _MORE_RELOCATIONS and count == _FULL_COUNT:
            first = self._source.read(start, _RELOCATION.size)
            count = int.from_bytes(first[:_WORD], "little")
        data = self._source.read(start, min(count, most) * _RELOCATION.size)
        whole = data[: len(data) // _RELOCATION.size * _RELOCATION.size]
        self._source.budget.spend("work", len(whole) // _RELOCATION.size)
        for place, symbol, _ in _RELOCATION.iter_unpack(whole):
            if symbol < self._num_symbols:
                at = self._symbols + symbol * _SYMBOL.size
                yield place, self._source.read(at, _SYMBOL.size)

    def name_of(self, symbol: bytes) -> str:
        """The name of a symbol."""
        raw = symbol[: _FAR_NAME.size]
        zeros, offset = _FAR_NAME.unpack(raw)
        if zeros:
            return raw.rstrip(b"\0").decode("utf-8", "surrogateescape")
        return self._far_name(offset)

    def target_of(self, section: CoffSection, place: int, symbol: bytes) -> int | None:
        """Where in the file the thing is that a relocation means; ``None`` when it is not there.

        The addend stands in the place. For relative addresses it counts from where they are read.
        """
        _, value, number, _, _ = _SYMBOL.unpack(symbol)
        if not 0 < number <= len(self.sections):
            return None
        word = self._source.read(section.offset + place, _WORD)
        at = int(value) + int.from_bytes(word, "little", signed=True)
        target = self.sections[number - 1]
        return target.offset + at if 0 <= at < target.size else None

    def section_of(self, symbol: bytes) -> CoffSection | None:
        """The section that a symbol is in; ``None`` for one of another file."""
        _, _, number, _, _ = _SYMBOL.unpack(symbol)
        return self.sections[number - 1] if 0 < number <= len(self.sections) else None

    def relocated(self, section: CoffSection, most: int) -> dict[int, int]:
        """Offsets in the source that the relocations of a section mean, by place in the section.

        Args:
            most: relocations that are read.
        """
        found: dict[int, int] = {}
        for place, symbol in self.references(section, most):
            target = self.target_of(section, place, symbol)
            if target is not None:
                found[place] = target
        return found

    def _far_name(self, offset: int) -> str:
        text = self._source.read(self._names + offset, _MOST_NAME)
        return text.partition(b"\0")[0].decode("utf-8", "surrogateescape")


class PeFrame:
    """Section table of a PE file.

    Raises:
        BadStructureError: the headers are not those of a PE file.
        TruncatedError: they are cut off.
    """

    image_base: int

    def __init__(self, source: Source) -> None:
        at = int.from_bytes(source.exactly(0x3C, 4, "e_lfanew"), "little")
        magic = source.exactly(at, 4, "pe_header")
        if magic != b"PE\0\0":
            raise BadStructureError(
                f"signature {magic.hex()}",
                file=source.name,
                offset=at,
                field="pe_header",
                expected="50450000",
            )
        head = source.exactly(at + 4, _HEADER.size, "pe_header")
        _, count, _, _, _, size, _ = _HEADER.unpack(head)
        optional = source.exactly(at + 4 + _HEADER.size, size, "optional_header")
        kind = int.from_bytes(optional[:2], "little")
        self._budget = source.budget
        #: Where the file wants to be loaded; addresses in it count from 0 of memory.
        self.image_base = 0
        #: Bytes of a pointer.
        self.word: int = 4
        if kind == _PE32_PLUS:
            self.image_base = int.from_bytes(optional[24:32], "little")
            self.word = 8
        elif kind == _PE32:
            self.image_base = int.from_bytes(optional[28:32], "little")
        table = source.exactly(
            at + 4 + _HEADER.size + size, count * _PE_SECTION.size, "section_headers"
        )
        #: Name, address relative to ``image_base``, offset and size in the file.
        self.sections: list[tuple[str, int, int, int]] = []
        #: Names of sections with instructions.
        self.code: set[str] = set()
        for raw, memory, address, stored, offset, flags in _PE_SECTION.iter_unpack(table):
            name = raw.rstrip(b"\0").decode("utf-8", "replace")
            self.sections.append((name, address, offset, min(stored, memory)))
            if flags & _EXECUTABLE:
                self.code.add(name)

    def regions(self) -> list[tuple[int, int, str]]:
        """Start, end and name of the sections with bytes, in file order."""
        return sorted((at, at + size, name) for name, _, at, size in self.sections if size)

    def offset_of(self, address: int) -> int | None:
        """Where in the file the byte is that is loaded at ``address``; ``None`` for none."""
        self._budget.spend("work", len(self.sections))
        relative = address - self.image_base
        for _, start, offset, size in self.sections:
            if start <= relative < start + size:
                return offset + relative - start
        return None
