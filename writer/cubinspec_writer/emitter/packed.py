"""Contents of a file as they were read: fields in one tuple or list, not an object for each record.

A draft holds them in place of the bodies of a description. They cannot be changed, and give their
bytes again; :meth:`Packed.unpack` makes the body that can be changed.
"""

from __future__ import annotations

from struct import Struct

from cubinspec.format.packing import join
from cubinspec_generated import records
from cubinspec_generated.codes import EIFMT_SVAL
from cubinspec_writer.emitter.bodies import WORD, InfoRecords, Pairs, encode_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, ClassVar

    from cubinspec_writer.emitter.bodies import AttributeRecord
    from cubinspec_writer.emitter.model import Body, Context


class Packed:
    """Base of the packed bodies."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """Bytes that :meth:`encode` will give."""
        raise NotImplementedError

    def encode(self, context: Context) -> bytes:
        """The bytes."""
        raise NotImplementedError

    def unpack(self) -> Body:
        """The body with an object for each record."""
        raise NotImplementedError


class PackedInfo(Packed):
    """An attribute stream.

    Attributes:
        shape: where the records are.
        fields: heads and payloads of all records, as the shape has them.
    """

    __slots__ = ("fields", "shape")

    def __init__(self, shape: InfoShape | KeyedShape, fields: Sequence[Any]) -> None:
        self.shape: InfoShape | KeyedShape = shape
        self.fields: Sequence[Any] = fields

    @property
    def size(self) -> int:
        return self.shape.size

    def encode(self, context: Context) -> bytes:
        return self.shape.encode(self.fields)

    def unpack(self) -> InfoRecords:
        return InfoRecords(self.shape.records(self.fields))


class PackedPairs(Packed):
    """Call graph or prototypes.

    Attributes:
        words: both words of every row; a text is a signature.
    """

    __slots__ = ("words",)

    def __init__(self, words: Sequence[Any]) -> None:
        self.words: Sequence[Any] = words

    @property
    def size(self) -> int:
        return len(self.words) * WORD.size

    def encode(self, context: Context) -> bytes:
        return encode_pairs(self.words, context)

    def unpack(self) -> Pairs:
        return Pairs([*zip(self.words[::2], self.words[1::2], strict=True)])


class InfoShape:
    """Where the records of an attribute stream are: what streams of one kind have in common.

    Attributes:
        record: the whole stream; a word for each record and its payload.
        heads: for each record: at which byte it stands, and the bits that say where it ends, as a
            mask and a value.
    """

    __slots__ = ("heads", "record")

    def __init__(self, found: list[AttributeRecord]) -> None:
        layout = "<"
        at = 0
        self.heads: list[tuple[int, int, int]] = []
        for form, _, _, payload in found:
            size = len(payload)
            if form == EIFMT_SVAL:
                self.heads.append((at, 0xFFFF00FF, form | size << 16))
                layout += f"I{size}s"
            else:
                self.heads.append((at, 0xFF, form))
                layout += "I"
            at += WORD.size + size
        self.record: Struct = Struct(layout)

    @property
    def words(self) -> Struct:
        """The stream as words; only of streams of whole words."""
        return Struct("<" + "I" * (self.record.size // WORD.size))

    def records(self, fields: Sequence[Any]) -> list[AttributeRecord]:
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

    def fits_all(self, columns: Sequence[Sequence[int]]) -> bool:
        """Whether this is the shape of all streams whose words stand in these columns."""
        return all(
            head & mask == value
            for at, mask, value in self.heads
            for head in {*columns[at // WORD.size]}
        )


class KeyedShape:
    """A stream of nothing but records with two words, as in the ``.nv.info`` of a whole file.

    Its fields are three columns: header word, first and second word.
    """

    __slots__ = ("size",)
    record: ClassVar[Struct] = Struct("<III")

    def __init__(self, size: int) -> None:
        self.size: int = size

    def encode(self, columns: Sequence[Sequence[int]]) -> bytes:
        """The stream with these fields."""
        return bytes(join(self.record, columns))

    def records(self, columns: Sequence[Sequence[int]]) -> list[AttributeRecord]:
        """The records of a stream with these fields."""
        payload = records.FUNCTION_VALUE.pack
        return [
            (EIFMT_SVAL, head >> 8 & 0xFF, head >> 16, payload(first, second))
            for head, first, second in zip(*columns, strict=True)
        ]
