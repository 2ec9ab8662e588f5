"""Symbol tables: that of the Mercury half as a body, and rows of both as bytes."""

from __future__ import annotations

from itertools import starmap

from cubinspec.format.packing import join
from cubinspec.reader.columns import Rows
from cubinspec.values import ValueObject
from cubinspec_generated import records
from cubinspec_generated.codes import (
    SHN_ABS,
    SHN_COMMON,
    SHN_LORESERVE,
    SHN_XINDEX,
    ST_TYPE_MASK,
    STT_FUNC,
    STT_SECTION,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec_writer.emitter.model import Context, Section

    #: ``st_name``, ``st_info``, ``st_other``, ``st_shndx``, ``st_value``, ``st_size``
    SymbolRow = tuple[int, ...]
    SymbolRows = Rows | Sequence[SymbolRow]


#: The rows of a file without symbols.
NO_SYMBOLS = Rows([()] * len(records.SYMBOL_64.format.lstrip("<")))


class MercurySymbol(ValueObject):
    """One entry of ``.nv.merc.symtab``.

    Attributes:
        st_name: only where the name does not give it.
    """

    __match_args__ = (
        "name",
        "st_info",
        "st_other",
        "section",
        "st_value",
        "st_size",
        "st_name",
    )
    __slots__ = __match_args__

    def __init__(
        self,
        name: str,
        st_info: int,
        st_other: int,
        section: Section | int,
        st_value: int,
        st_size: int,
        st_name: int | None = None,
    ) -> None:
        self.name = name
        self.st_info = st_info
        self.st_other = st_other
        self.section = section
        self.st_value = st_value
        self.st_size = st_size
        self.st_name = st_name


class MercurySymbols(ValueObject):
    """``.nv.merc.symtab``; a list of its own, with the index space of ``.symtab``.

    Attributes:
        symbols: without the null symbol.
        null_value: ``st_value`` of the null symbol.
    """

    __match_args__ = ("symbols", "entry_size", "null_value")
    __slots__ = __match_args__

    def __init__(
        self,
        symbols: list[MercurySymbol],
        entry_size: int = records.SYMBOL_64.size,
        null_value: int = 0,
    ) -> None:
        self.symbols = symbols
        self.entry_size = entry_size
        self.null_value = null_value

    @property
    def size(self) -> int:
        return (len(self.symbols) + 1) * self.entry_size

    def encode(self, context: Context) -> bytes:
        rows = [(0, 0, 0, 0, self.null_value, 0)]
        for symbol in self.symbols:
            name, index = symbol.st_name, _index(symbol, context)
            if index > SHN_LORESERVE and _is_far(symbol, index):
                index = SHN_XINDEX
            rows.append(
                (
                    context.string_offset(symbol.name) if name is None else name,
                    symbol.st_info,
                    symbol.st_other,
                    index,
                    symbol.st_value,
                    symbol.st_size,
                )
            )
        return bytes(encode_symbols(rows, context.is_64))

    def words(self, context: Context) -> list[int]:
        """``.nv.merc.symtab_shndx``: the sections that the table has no room for, else 0."""
        words = [0]
        for symbol in self.symbols:
            index = _index(symbol, context)
            words.append(index if _is_far(symbol, index) else 0)
        return words


def _index(symbol: MercurySymbol, context: Context) -> int:
    section = symbol.section
    return section if isinstance(section, int) else context.section_index(section)


def _is_far(symbol: MercurySymbol, index: int) -> bool:
    """Whether ptxas 13.0 writes the index of a section into the table of such indices."""
    is_of_section = symbol.st_info & ST_TYPE_MASK in (STT_FUNC, STT_SECTION)
    return index > SHN_LORESERVE and (is_of_section or index not in (SHN_ABS, SHN_COMMON))


def encode_symbols(rows: SymbolRows, is_64: bool) -> bytes | bytearray:
    """A symbol table from rows in ELF64 field order."""
    if isinstance(rows, Rows) and is_64:
        return join(records.SYMBOL_64, rows.columns)
    if is_64:
        return b"".join(starmap(records.SYMBOL_64.pack, rows))
    head = records.SYMBOL_32.pack
    return b"".join(
        [
            head(name, value, size, info, other, shndx)
            for name, info, other, shndx, value, size in rows
        ]
    )
