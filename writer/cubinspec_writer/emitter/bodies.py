"""Section bodies: decoded records for every kind that the spec names, bytes for the rest.

Each says how many bytes it will give, and gives them; ``decode`` makes bodies of bytes. The bodies
of notes and of the Mercury symbol table stand in modules of their own and are named here, too.
"""

from __future__ import annotations

from itertools import chain, starmap
from struct import Struct, pack

from cubinspec.values import ValueObject
from cubinspec_generated import records
from cubinspec_generated.codes import (
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_CALLS,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
    EMFMT_INDEX,
)
from cubinspec_writer.emitter.notes import (
    CuinfoNote,
    CuverNote,
    Note,
    Notes,
    RawNote,
    ToolNote,
)
from cubinspec_writer.emitter.symbols import MercurySymbol, MercurySymbols

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cubinspec_writer.emitter.model import Context, Section

    #: One attribute: format, code, header word (value or payload size), payload.
    AttributeRecord = tuple[int, int, int, bytes]
    #: One node of metadata: number, name, values of a format and a number or text.
    MetadataNode = tuple[int, int | str, list[tuple[int, int | str]]]

#: The first word of a row is 0 and the second one of these: a list of the call graph begins.
CALLGRAPH_MARKERS = (
    CALLGRAPH_CALLS,
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
)
#: Behind these, the second word of a row is a signature.
SIGNATURE_MARKERS = frozenset((CALLGRAPH_ADDRESS_TAKEN, CALLGRAPH_INDIRECT_CALLS))
#: One 32-bit word: extended section indices, the head of a capsule.
WORD = Struct("<I")


class Blob(ValueObject):
    """Code, data, DWARF, and unknown kinds."""

    __match_args__ = ("data",)
    __slots__ = __match_args__

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def size(self) -> int:
        return len(self.data)

    def encode(self, context: Context) -> bytes:
        return self.data


class NoBytes(ValueObject):
    """Memory that is only reserved: ``sh_size`` without bytes in the file."""

    __match_args__ = ("size",)
    __slots__ = __match_args__

    def __init__(self, size: int) -> None:
        self.size = size

    def encode(self, context: Context) -> bytes:
        return b""


class Computed(ValueObject):
    """A table that ``layout`` makes.

    Attributes:
        kind: ``shstrtab``, ``strtab``, ``symtab``, ``symtab_shndx`` or ``merc_symtab_shndx``.
    """

    __match_args__ = ("kind", "size")
    __slots__ = __match_args__

    def __init__(self, kind: str, size: int = 0) -> None:
        self.kind = kind
        self.size = size

    def encode(self, context: Context) -> bytes:
        raise AssertionError("computed tables are written by the layout")


class InfoRecords(ValueObject):
    """An attribute stream: ``.nv.info*``, ``.nv.merc.nv.info*``, ``.nv.compat``."""

    __match_args__ = ("records",)
    __slots__ = __match_args__

    def __init__(self, records: list[AttributeRecord]) -> None:
        self.records = records

    @property
    def size(self) -> int:
        payloads = sum([len(payload) for _, _, _, payload in self.records])
        return records.INFO_RECORD.size * len(self.records) + payloads

    def encode(self, context: Context) -> bytes:
        head = records.INFO_RECORD.pack
        return b"".join(
            [head(form, code, value) + payload for form, code, value, payload in self.records]
        )


class Pairs(ValueObject):
    """Call graph or prototypes; a text is a signature, written as its ``.strtab`` offset."""

    __match_args__ = ("rows",)
    __slots__ = __match_args__

    def __init__(self, rows: list[tuple[int, int | str]]) -> None:
        self.rows = rows

    @property
    def size(self) -> int:
        return len(self.rows) * records.CALLGRAPH_ENTRY.size

    def encode(self, context: Context) -> bytes:
        return encode_pairs([*chain.from_iterable(self.rows)], context)


def encode_pairs(words: Sequence[Any], context: Context) -> bytes:
    """The words of pairs, with the offset of each signature in place of its text."""
    seconds = words[1::2]
    if str in map(type, seconds):
        places: dict[Any, int] = {
            text: context.signature_offset(text) for text in {*seconds} if isinstance(text, str)
        }
        words = [places.get(word, word) for word in words]
    return pack(f"<{len(words)}I", *words)


class RelocActions(ValueObject):
    """``.nv.rel.action``: one 8-byte action for each relocation type from ``base_type`` on."""

    __match_args__ = ("base_type", "reserved", "actions")
    __slots__ = __match_args__

    def __init__(self, base_type: int, reserved: int, actions: list[tuple[int, ...]]) -> None:
        self.base_type = base_type
        self.reserved = reserved
        self.actions = actions

    @property
    def size(self) -> int:
        return records.REL_ACTION_HEADER.size + records.REL_ACTION_ENTRY.size * len(self.actions)

    def encode(self, context: Context) -> bytes:
        return records.REL_ACTION_HEADER.pack(self.base_type, self.reserved) + b"".join(
            starmap(records.REL_ACTION_ENTRY.pack, self.actions)
        )


class Relocations(ValueObject):
    """``.rel*``/``.rela*``, resolved and Mercury ones.

    Attributes:
        fields: the fields of all entries one after the other, ``width`` each: ``r_offset``,
            ``r_info``, and ``r_addend`` (as the unsigned word it is stored as) with ``rela``.
            A flat tuple, because a big cubin has hundreds of thousands of entries.
    """

    __match_args__ = ("rela", "fields", "is_64")
    __slots__ = __match_args__

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


class UftEntries(ValueObject):
    """``.nv.uft.entry``/``.nv.udt.entry``: symbol, unknown, slot offset, two halves of a uuid."""

    __match_args__ = ("rows",)
    __slots__ = __match_args__

    def __init__(self, rows: list[tuple[int, ...]]) -> None:
        self.rows = rows

    @property
    def size(self) -> int:
        return len(self.rows) * records.UFT_ENTRY.size

    def encode(self, context: Context) -> bytes:
        return b"".join(starmap(records.UFT_ENTRY.pack, self.rows))


class Metadata(ValueObject):
    """``.nv.metadata``: nodes with a number, a name and values.

    Attributes:
        nodes: number, name and values of each; a value is its format and a number. A name and the
            value of a text are a text, or its offset in ``.strtab``.
    """

    __match_args__ = ("nodes",)
    __slots__ = __match_args__

    def __init__(self, nodes: list[MetadataNode]) -> None:
        self.nodes = nodes

    @property
    def size(self) -> int:
        values = sum([len(values) for _, _, values in self.nodes])
        return records.METADATA_NODE.size * len(self.nodes) + records.METADATA_VALUE.size * values

    @property
    def has_indices(self) -> bool:
        """Whether a value has the format of an index; what it counts is not known."""
        return any(form == EMFMT_INDEX for _, _, values in self.nodes for form, _ in values)

    def texts(self) -> list[str]:
        """All names and texts, in the order in which ptxas enters them into ``.strtab``."""
        found: list[str | int] = []
        for _, name, values in self.nodes:
            found += [*(value for _, value in values), name]
        return [text for text in found if isinstance(text, str)]

    def encode(self, context: Context) -> bytes:
        places = {text: context.signature_offset(text) for text in {*self.texts()}}
        parts = []
        for number, name, values in self.nodes:
            place = places[name] if isinstance(name, str) else name
            parts.append(records.METADATA_NODE.pack(number, place, len(values)))
            parts += [
                records.METADATA_VALUE.pack(form, places[v] if isinstance(v, str) else v)
                for form, v in values
            ]
        return b"".join(parts)


class Capsule(ValueObject):
    """``.nv.capmerc.*``: word 0 is the index of the text section; the rest is opaque."""

    __match_args__ = ("text", "data")
    __slots__ = __match_args__

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


__all__ = [
    "CALLGRAPH_MARKERS",
    "SIGNATURE_MARKERS",
    "WORD",
    "Blob",
    "Capsule",
    "Computed",
    "CuinfoNote",
    "CuverNote",
    "InfoRecords",
    "MercurySymbol",
    "MercurySymbols",
    "Metadata",
    "NoBytes",
    "Note",
    "Notes",
    "Pairs",
    "RawNote",
    "RelocActions",
    "Relocations",
    "ToolNote",
    "UftEntries",
    "encode_pairs",
]
