"""Section bodies: decoded records for every kind that the spec names, bytes for the rest.

Each says how many bytes it will give, and gives them; ``decode`` makes bodies of bytes.
"""

from __future__ import annotations

from itertools import chain, starmap
from struct import Struct, pack

from cubinspec.reader.columns import Rows, join
from cubinspec_generated import records
from cubinspec_generated.codes import SHT_REL, SHT_RELA
from cubinspec_writer.plain import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from cubinspec_writer.emitter.model import Section

    #: format, code, header word (value or payload size), payload
    InfoRecord = tuple[int, int, int, bytes]

SHT_CUDA_INFO, SHT_CUDA_CALLGRAPH, SHT_CUDA_PROTOTYPE = 0x70000000, 0x70000001, 0x70000002
SHT_CUDA_RESOLVED_RELA, SHT_CUDA_RELOCINFO = 0x70000003, 0x7000000B
SHT_CUDA_UFT_ENTRY, SHT_CUDA_UDT_ENTRY = 0x70000011, 0x70000014
SHT_CUDA_CAPMERC, SHT_CUDA_MERC_RELA, SHT_CUDA_MERC_INFO = 0x70000016, 0x70000082, 0x70000083
SHT_CUDA_MERC_SYMTAB, SHT_CUDA_COMPAT = 0x70000085, 0x70000086
SHT_CUDA_MERC_RESOLVED_RELA = 0x70000088
SHT_CUDA_MERC_CALLGRAPH, SHT_CUDA_MERC_PROTOTYPE = 0x7000008A, 0x7000008B

INFO_TYPES = frozenset((SHT_CUDA_INFO, SHT_CUDA_MERC_INFO, SHT_CUDA_COMPAT))
CALLGRAPH_TYPES = frozenset((SHT_CUDA_CALLGRAPH, SHT_CUDA_MERC_CALLGRAPH))
PROTOTYPE_TYPES = frozenset((SHT_CUDA_PROTOTYPE, SHT_CUDA_MERC_PROTOTYPE))
RELOCATION_TYPES = frozenset(
    (
        SHT_REL,
        SHT_RELA,
        SHT_CUDA_RESOLVED_RELA,
        SHT_CUDA_MERC_RELA,
        SHT_CUDA_MERC_RESOLVED_RELA,
    )
)
UFT_TYPES = frozenset((SHT_CUDA_UFT_ENTRY, SHT_CUDA_UDT_ENTRY))

EIFMT_SVAL = 4
#: The lists of a call graph in which the second word is a signature: after <0,-2> and <0,-3>.
CALLGRAPH_MARKERS = (0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFC)
SIGNATURE_MARKERS = frozenset(CALLGRAPH_MARKERS[1:3])
#: One 32-bit word: extended section indices, the head of a capsule.
WORD = Struct("<I")


if TYPE_CHECKING:

    class Context(Protocol):
        """What encoding may ask for: everything laid out before the bodies are written."""

        is_64: bool

        def string_offset(self, text: str) -> int:
            """Offset of a string in ``.strtab``."""

        def signature_offset(self, text: str) -> int:
            """Offset of a function signature in ``.strtab``."""

        def section_index(self, section: Section) -> int:
            """Index of a section."""

    class Body(Protocol):
        """The contents of one section."""

        @property
        def size(self) -> int:
            """Bytes that :meth:`encode` will give (``sh_size``)."""

        def encode(self, context: Context) -> bytes:
            """The bytes."""


class _Many:
    """What is made by the thousand has a constructor of its own."""

    __slots__: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.__slots__])
        return f"{type(self).__name__}({values})"


class Blob(_Many):
    """Code, data, DWARF, capsule bodies, and unknown kinds."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def size(self) -> int:
        return len(self.data)

    def encode(self, context: Context) -> bytes:
        return self.data


class NoBytes(_Many):
    """Memory that is only reserved: ``sh_size`` without bytes in the file."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def encode(self, context: Context) -> bytes:
        return b""


@dataclass(slots=True)
class Computed:
    """A table that ``layout`` makes: ``shstrtab``, ``strtab``, ``symtab`` or ``symtab_shndx``."""

    kind: str
    size: int = 0

    def encode(self, context: Context) -> bytes:
        raise AssertionError("computed tables are written by the layout")


@dataclass(slots=True)
class MercurySymbols:
    """``.nv.merc.symtab``; a list of its own, with the index space of ``.symtab``.

    Attributes:
        symbols: without the null symbol.
        num_locals: index of the first global, for ``sh_info``.
        null_value: ``st_value`` of the null symbol.
    """

    symbols: list[MercurySymbol]
    entry_size: int = records.SYMBOL_64.size
    null_value: int = 0

    @property
    def size(self) -> int:
        return (len(self.symbols) + 1) * self.entry_size

    def encode(self, context: Context) -> bytes:
        rows = [(0, 0, 0, 0, self.null_value, 0)]
        for symbol in self.symbols:
            section = symbol.section
            rows.append(
                (
                    context.string_offset(symbol.name)
                    if symbol.st_name is None
                    else symbol.st_name,
                    symbol.st_info,
                    symbol.st_other,
                    section if isinstance(section, int) else context.section_index(section),
                    symbol.st_value,
                    symbol.st_size,
                )
            )
        return bytes(encode_symbols(rows, context.is_64))


class MercurySymbol(_Many):
    """One entry of ``.nv.merc.symtab``; ``st_name`` only where the name does not give it."""

    __slots__ = ("name", "section", "st_info", "st_name", "st_other", "st_size", "st_value")

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


class InfoRecords(_Many):
    """An attribute stream: ``.nv.info*``, ``.nv.merc.nv.info*``, ``.nv.compat``.

    What was read and not looked at since has the headers and payloads of all records in one tuple.

    Args:
        records: format, code, header word (value or payload size) and payload of each; ``None``
            where shape and fields say it.
    """

    __slots__ = ("_fields", "_records", "_shape")

    def __init__(
        self,
        records: list[InfoRecord] | None,
        shape: InfoShape | KeyedShape | None = None,
        fields: Sequence[Any] = (),
    ) -> None:
        self._records = records
        self._shape = shape
        self._fields = fields

    @property
    def records(self) -> list[InfoRecord]:
        """The list of records, which may be changed."""
        found = self._records
        if found is None:
            found = self.records = [] if self._shape is None else self._shape.records(self._fields)
        return found

    @records.setter
    def records(self, records: list[InfoRecord]) -> None:
        self._records = records
        self._shape = None
        self._fields = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InfoRecords) and self.records == other.records

    def __repr__(self) -> str:
        return f"InfoRecords({self.records!r})"

    def __reduce__(self) -> tuple[type[InfoRecords], tuple[list[InfoRecord]]]:
        return InfoRecords, (self.records,)  # shapes and columns cannot be copied

    @property
    def size(self) -> int:
        if self._shape is not None:
            return self._shape.size
        return 4 * len(self.records) + sum([len(record[3]) for record in self.records])

    def encode(self, context: Context) -> bytes:
        if self._shape is not None:
            return self._shape.encode(self._fields)
        head = records.INFO_RECORD.pack
        return b"".join(
            [head(form, code, value) + payload for form, code, value, payload in self.records]
        )


class InfoShape:
    """Where the records of an attribute stream are: what streams of one kind have in common.

    Attributes:
        record: the whole stream; a word for each record and its payload.
        heads: for each of these words: which field it is, at which byte it stands, and the bits
            that say where the record ends, as a mask and a value.
    """

    __slots__ = ("heads", "record")

    def __init__(self, found: list[InfoRecord]) -> None:
        layout = "<"
        field = at = 0
        self.heads: list[tuple[int, int, int, int]] = []
        for form, _, _, payload in found:
            size = len(payload)
            if form == EIFMT_SVAL:
                self.heads.append((field, at, 0xFFFF00FF, form | size << 16))
                layout += f"I{size}s"
                field += 2
            else:
                self.heads.append((field, at, 0xFF, form))
                layout += "I"
                field += 1
            at += WORD.size + size
        self.record = Struct(layout)

    @property
    def words(self) -> Struct:
        """The stream as words; only of streams of whole words."""
        return Struct("<" + "I" * (self.record.size // WORD.size))

    @staticmethod
    def records(fields: Sequence[Any]) -> list[InfoRecord]:
        """The records of a stream with these fields."""
        found = []
        rest = iter(fields)
        for head in rest:
            form = head & 0xFF
            payload = next(rest) if form == EIFMT_SVAL else b""
            found.append((form, head >> 8 & 0xFF, head >> 16, payload))
        return found

    @property
    def size(self) -> int:
        """Bytes of a stream."""
        return self.record.size

    def encode(self, fields: Sequence[Any]) -> bytes:
        """The stream with these fields."""
        return self.record.pack(*fields)

    def fits(self, fields: tuple[Any, ...]) -> bool:
        """Whether this is the shape of a stream with these fields."""
        return all(fields[field] & mask == value for field, _, mask, value in self.heads)

    def fits_all(self, columns: Sequence[Sequence[int]]) -> bool:
        """Whether this is the shape of all streams whose words stand in these columns."""
        return all(
            head & mask == value
            for _, at, mask, value in self.heads
            for head in {*columns[at // WORD.size]}
        )


class KeyedShape:
    """A stream of nothing but records with two words, as in the ``.nv.info`` of a whole file.

    Its fields are three columns: header word, first and second word.
    """

    __slots__ = ("size",)
    record = Struct("<III")

    def __init__(self, size: int) -> None:
        self.size = size

    def encode(self, columns: Sequence[Sequence[int]]) -> bytes:
        """The stream with these fields."""
        return bytes(join(self.record, columns))

    @staticmethod
    def records(columns: Sequence[Sequence[int]]) -> list[InfoRecord]:
        """The records of a stream with these fields."""
        payload = records.FUNCTION_VALUE.pack
        return [
            (EIFMT_SVAL, head >> 8 & 0xFF, head >> 16, payload(first, second))
            for head, first, second in zip(*columns, strict=True)
        ]


class Pairs(_Many):
    """Call graph or prototypes; a text is a signature, written as its ``.strtab`` offset.

    What was read and not looked at since has the words of all rows in one list.

    Args:
        rows: the words of each; ``None`` where ``words`` says it.
    """

    __slots__ = ("_rows", "_words")

    def __init__(self, rows: list[tuple[int, int | str]] | None, words: Sequence[Any] = ()) -> None:
        self._rows = rows
        self._words = words

    @property
    def rows(self) -> list[tuple[int, int | str]]:
        """The list of rows, which may be changed."""
        found = self._rows
        if found is None:
            found = self.rows = [*zip(self._words[::2], self._words[1::2], strict=True)]
        return found

    @rows.setter
    def rows(self, rows: list[tuple[int, int | str]]) -> None:
        self._rows = rows
        self._words = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairs) and self.rows == other.rows

    def __repr__(self) -> str:
        return f"Pairs({self.rows!r})"

    @property
    def size(self) -> int:
        if self._rows is None:
            return len(self._words) * WORD.size
        return len(self._rows) * records.CALLGRAPH_ENTRY.size

    def encode(self, context: Context) -> bytes:
        words = self._words if self._rows is None else [*chain.from_iterable(self._rows)]
        if str in map(type, words[1::2]):
            seconds: set[Any] = {*words[1::2]}
            places: dict[Any, int] = {
                b: context.signature_offset(b) for b in seconds if isinstance(b, str)
            }
            words = [places.get(word, word) for word in words]
        return pack(f"<{len(words)}I", *words)


@dataclass(slots=True)
class ToolNote:
    """Descriptor of ``.note.nv.tkinfo``: five strings in a pool.

    ``padding`` is the number of NUL bytes behind the pool; ``None``: up to a multiple of four.
    """

    note_version: int
    object_file: str
    tool_name: str
    tool_version: str
    tool_branch: str
    arguments: str
    padding: int | None = None

    def encode(self) -> bytes:
        pool = bytearray(b"\0")
        offsets = []
        for text in (
            self.object_file,
            self.tool_name,
            self.tool_version,
            self.tool_branch,
            self.arguments,
        ):
            if text:
                offsets.append(len(pool))
                pool += text.encode("utf-8", "surrogateescape") + b"\0"
            else:
                offsets.append(0)
        padding = -len(pool) % 4 if self.padding is None else self.padding
        return records.TKINFO_HEAD.pack(self.note_version, *offsets) + pool + bytes(padding)


@dataclass(slots=True)
class RawNote:
    """A descriptor of another layout."""

    data: bytes

    def encode(self) -> bytes:
        return self.data


@dataclass(slots=True)
class CuinfoNote:
    """Descriptor of ``.note.nv.cuinfo`` (``cuver`` has four words more and stays raw words)."""

    note_version: int
    virtual_sm: int
    toolkit_version: int
    reserved: int = 0

    def encode(self) -> bytes:
        return records.CUINFO.pack(
            self.note_version, self.virtual_sm, self.toolkit_version, self.reserved
        )


@dataclass(slots=True)
class CuverNote:
    """Descriptor of ``.note.nv.cuver`` (CUDA 12.7 to 12.9)."""

    note_version: int
    virtual_sm: int
    unknown_1: int
    unknown_2: int

    def encode(self) -> bytes:
        return records.CUVER.pack(
            self.note_version, self.virtual_sm, self.unknown_1, self.unknown_2
        )


@dataclass(slots=True)
class Note:
    """One note entry.

    Attributes:
        owner: without its terminating NUL.
        overrides: ``len_owner``, ``len_description`` that say something else (broken files).
    """

    kind: int
    owner: str
    descriptor: ToolNote | CuinfoNote | CuverNote | RawNote
    overrides: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Notes:
    """A note section; ``padded`` is false where the last descriptor lacks its padding."""

    notes: list[Note]
    padded: bool = True

    @property
    def size(self) -> int:
        return len(self._bytes())

    def _bytes(self) -> bytes:
        parts = bytearray()
        for index, note in enumerate(self.notes):
            owner = note.owner.encode("utf-8", "surrogateescape") + b"\0"
            descriptor = note.descriptor.encode()
            parts += records.NOTE_HEADER.pack(
                note.overrides.get("len_owner", len(owner)),
                note.overrides.get("len_description", len(descriptor)),
                note.kind,
            )
            parts += owner + bytes(-len(owner) % 4) + descriptor
            if self.padded or index + 1 < len(self.notes):
                parts += bytes(-len(descriptor) % 4)
        return bytes(parts)

    def encode(self, context: Context) -> bytes:
        return self._bytes()


@dataclass(slots=True)
class RelocActions:
    """``.nv.rel.action``: one 8-byte action for each relocation type from ``base_type`` on."""

    base_type: int
    reserved: int
    actions: list[tuple[int, ...]]

    @property
    def size(self) -> int:
        return records.REL_ACTION_HEADER.size + records.REL_ACTION_ENTRY.size * len(self.actions)

    def encode(self, context: Context) -> bytes:
        return records.REL_ACTION_HEADER.pack(self.base_type, self.reserved) + b"".join(
            starmap(records.REL_ACTION_ENTRY.pack, self.actions)
        )


class Relocations(_Many):
    """``.rel*``/``.rela*``, resolved and Mercury ones.

    Attributes:
        fields: the fields of all entries one after the other, ``width`` each: ``r_offset``,
            ``r_info``, and ``r_addend`` (as the unsigned word it is stored as) with ``rela``.
            A flat tuple, because a big cubin has hundreds of thousands of entries.
    """

    __slots__ = ("fields", "is_64", "rela")

    def __init__(self, rela: bool, fields: tuple[int, ...], is_64: bool = True) -> None:
        self.rela = rela
        self.fields = fields
        self.is_64 = is_64

    @property
    def width(self) -> int:
        """Fields per entry."""
        return 3 if self.rela else 2

    @property
    def size(self) -> int:
        return len(self.fields) * (8 if self.is_64 else 4)

    def __len__(self) -> int:
        return len(self.fields) // self.width

    def rows(self) -> list[tuple[int, int, int, int | None]]:
        """``(r_offset, symbol, type, addend)`` of every entry."""
        fields, width = self.fields, self.width
        bits, sign = (32, 64) if self.is_64 else (8, 32)
        mask = (1 << bits) - 1
        offsets, infos = fields[0::width], fields[1::width]
        addends: list[int | None] = (
            [a - (1 << sign) if a >> (sign - 1) else a for a in fields[2::width]]
            if self.rela
            else [None] * len(offsets)
        )
        return [
            (offset, info >> bits, info & mask, addend)
            for offset, info, addend in zip(offsets, infos, addends, strict=True)
        ]

    @classmethod
    def from_rows(
        cls, rows: list[tuple[int, int, int, int | None]], rela: bool, is_64: bool = True
    ) -> Relocations:
        """The inverse of :meth:`rows`."""
        bits, sign = (32, 64) if is_64 else (8, 32)
        flat: list[int] = []
        for offset, symbol, kind, addend in rows:
            flat += (offset, symbol << bits | kind)
            if rela:
                flat.append((addend or 0) & ((1 << sign) - 1))
        return cls(rela, tuple(flat), is_64)

    def encode(self, context: Context) -> bytes:
        return pack(f"<{len(self.fields)}{'Q' if self.is_64 else 'I'}", *self.fields)


@dataclass(slots=True)
class UftEntries:
    """``.nv.uft.entry``/``.nv.udt.entry``: symbol, unknown, slot offset, two halves of a uuid."""

    rows: list[tuple[int, ...]]

    @property
    def size(self) -> int:
        return len(self.rows) * records.UFT_ENTRY.size

    def encode(self, context: Context) -> bytes:
        return b"".join(starmap(records.UFT_ENTRY.pack, self.rows))


class Capsule(_Many):
    """``.nv.capmerc.*``: word 0 is the index of the text section; the rest is opaque."""

    __slots__ = ("data", "text")

    def __init__(self, text: Section | int, data: bytes) -> None:
        self.text = text
        self.data = data

    @property
    def size(self) -> int:
        return WORD.size + len(self.data)

    def encode(self, context: Context) -> bytes:
        text = self.text
        index = text if isinstance(text, int) else context.section_index(text)
        return WORD.pack(index) + self.data


def encode_symbols(
    rows: Sequence[tuple[int, int, int, int, int, int]], is_64: bool
) -> bytes | bytearray:
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
