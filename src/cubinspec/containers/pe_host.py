"""Just enough PE/COFF for a Windows host: sections and where addresses lie in the file."""

from __future__ import annotations

from struct import Struct

from cubinspec.errors import BadStructureError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.containers.source import Source

#: Machine, number of sections, time, symbol table, number of symbols, size of the optional header,
#: characteristics.
_HEADER = Struct("<HHIIIHH")
#: Name, size in memory, address, size in the file, offset, characteristics.
_SECTION = Struct("<8sIIII12xI")
_EXECUTABLE = 0x20000000  # not a spec number: IMAGE_SCN_MEM_EXECUTE of PE
_PE32, _PE32_PLUS = 0x10B, 0x20B


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
            at + 4 + _HEADER.size + size, count * _SECTION.size, "section_headers"
        )
        #: Name, address relative to ``image_base``, offset and size in the file.
        self.sections: list[tuple[str, int, int, int]] = []
        #: Names of sections with instructions.
        self.code: set[str] = set()
        for raw, memory, address, stored, offset, flags in _SECTION.iter_unpack(table):
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
