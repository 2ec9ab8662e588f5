"""Neighbouring sections of one type, decoded together.

A big cubin has thousands of functions, relocation sections and attribute streams, most of them
small, one behind the other. A run holds the bytes or fields of all of them. A draft has the run in
place of each of their bodies; :meth:`Run.split` makes the bodies.
"""

from __future__ import annotations

from itertools import accumulate, chain
from struct import Struct, unpack_from

from cubinspec.format.packing import join
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.packed import InfoShape, PackedInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cubinspec_writer.emitter.model import Body, Context

    Columns = Sequence[Sequence[int]]


class Run:
    """Base of the runs.

    Attributes:
        first: number of the first section.
        sizes: bytes of each section.
    """

    __slots__ = ("first", "sizes")

    def __init__(self, first: int, sizes: Sequence[int]) -> None:
        self.first: int = first
        self.sizes: Sequence[int] = sizes

    def encode(self, context: Context) -> Iterator[bytes | bytearray]:
        """The bytes of all sections, in parts that follow each other."""
        raise NotImplementedError

    def split(self) -> list[Body]:
        """The body of each section."""
        raise NotImplementedError


class BlobRun(Run):
    """Sections without records: code, data and unknown types.

    Attributes:
        pieces: the bytes of all sections, in one piece where it is not large.
    """

    __slots__ = ("_starts", "pieces")
    pieces: Sequence[bytes]

    def __init__(self, first: int, sizes: Sequence[int], pieces: Sequence[bytes] = ()) -> None:
        Run.__init__(self, first, sizes)
        self.pieces = pieces
        self._starts: list[int] = []

    def content(self, number: int) -> bytes:
        """The bytes of one section."""
        self._starts = self._starts or [*accumulate(self.sizes, initial=0)]
        at = number - self.first
        return self._data()[self._starts[at] : self._starts[at + 1]]

    def _data(self) -> bytes:
        if len(self.pieces) != 1:
            self.pieces = [b"".join(self.pieces)]
        return self.pieces[0]

    def encode(self, context: Context) -> Iterator[bytes | bytearray]:
        return iter(self.pieces)

    def split(self) -> list[Body]:
        numbers = range(self.first, self.first + len(self.sizes))
        return [bodies.Blob(self.content(number)) for number in numbers]


class RelocationRun(Run):
    """Relocation sections.

    Attributes:
        record: of one entry.
        columns: the fields of the entries of all sections.
    """

    __slots__ = ("columns", "is_64", "record", "rela")

    def __init__(
        self,
        first: int,
        sizes: Sequence[int],
        record: Struct,
        columns: Columns,
        rela: bool,
        is_64: bool,
    ) -> None:
        Run.__init__(self, first, sizes)
        self.record: Struct = record
        self.columns: Columns = columns
        self.rela: bool = rela
        self.is_64: bool = is_64

    def encode(self, context: Context) -> Iterator[bytes | bytearray]:
        yield join(self.record, self.columns)

    def split(self) -> list[Body]:
        table = join(self.record, self.columns)
        width, code = (8, "Q") if self.is_64 else (4, "I")
        found: list[Body] = []
        at = 0
        for size in self.sizes:
            fields = unpack_from(f"<{size // width}{code}", table, at)
            found.append(bodies.Relocations(self.rela, fields, self.is_64))
            at += size
        return found


class InfoRun(Run):
    """Attribute streams.

    Attributes:
        shapes: what the streams of each size have in common, and the words of all of them: a
            column for each place in a stream.
        single: streams of sizes of which they have nothing in common.
    """

    __slots__ = ("shapes", "single")

    def __init__(
        self,
        first: int,
        sizes: Sequence[int],
        shapes: dict[int, tuple[InfoShape, Columns]],
        single: dict[int, list[bodies.InfoRecords | PackedInfo]],
    ) -> None:
        Run.__init__(self, first, sizes)
        self.shapes: dict[int, tuple[InfoShape, Columns]] = shapes
        self.single: dict[int, list[bodies.InfoRecords | PackedInfo]] = single

    def encode(self, context: Context) -> Iterator[bytes | bytearray]:
        packed = {size: self._streams(size) for size in self.shapes}
        for size, streams in self.single.items():
            packed[size] = iter([stream.encode(context) for stream in streams])
        yield b"".join(map(next, map(packed.__getitem__, self.sizes)))

    def _streams(self, size: int) -> Iterator[bytes]:
        shape, columns = self.shapes[size]
        table = join(shape.words, columns)
        return chain.from_iterable(Struct(f"{size}s").iter_unpack(table))

    def split(self) -> list[Body]:
        made: dict[int, Iterator[Body]] = {}
        for size, (shape, _) in self.shapes.items():
            rows = map(shape.record.unpack, self._streams(size))
            made[size] = iter([bodies.InfoRecords(shape.records(row)) for row in rows])
        for size, streams in self.single.items():
            made[size] = iter([s.unpack() if isinstance(s, PackedInfo) else s for s in streams])
        return [next(made[size]) for size in self.sizes]
