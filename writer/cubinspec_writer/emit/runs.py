"""Neighbouring sections of one type, decoded together.

A big cubin has thousands of relocation sections and attribute streams, most of a few dozen bytes,
one behind the other. A run holds the fields of all of them; :class:`cubinspec_writer.emit.draft`
has the run in place of each of their bodies, which are made for who asks for them.
"""

from __future__ import annotations

from itertools import repeat, starmap
from operator import add
from struct import unpack_from

from cubinspec.errors import CubinError
from cubinspec.reader import elf
from cubinspec_writer.emit import bodies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from mmap import mmap
    from typing import Any

#: Fewer sections are not worth it.
_MIN_SECTIONS = 8
#: Longer streams have hardly anything in common.
_MAX_STREAM_BYTES = 2048


class Run:
    """What the kinds of runs have in common.

    Attributes:
        first: number of the first section.
        sizes: bytes of each section.
    """

    __slots__ = ("first", "sizes")

    def __init__(self, first: int, sizes: Sequence[int]) -> None:
        self.first = first
        self.sizes = sizes

    def encode(self, context: bodies.Context) -> bytes:
        """The bytes of all sections."""
        raise NotImplementedError

    def split(self) -> list[bodies.Body]:
        """The body of each section."""
        raise NotImplementedError


class RelocationRun(Run):
    """Relocation sections.

    Attributes:
        fields: of all entries of all sections, as in
            :class:`~cubinspec_writer.emit.bodies.Relocations`.
    """

    __slots__ = ("fields", "is_64", "rela")

    def __init__(
        self, first: int, sizes: Sequence[int], fields: tuple[int, ...], rela: bool, is_64: bool
    ) -> None:
        Run.__init__(self, first, sizes)
        self.fields = fields
        self.rela = rela
        self.is_64 = is_64

    def encode(self, context: bodies.Context) -> bytes:
        return bodies.Relocations(self.rela, self.fields, self.is_64).encode(context)

    def split(self) -> list[bodies.Body]:
        found: list[bodies.Body] = []
        at = 0
        for size in self.sizes:
            end = at + size // (8 if self.is_64 else 4)
            found.append(bodies.Relocations(self.rela, self.fields[at:end], self.is_64))
            at = end
        return found


class InfoRun(Run):
    """Attribute streams.

    Attributes:
        shapes: what the streams of each size have in common, and the fields of each of them.
        single: streams of sizes of which they have nothing in common.
    """

    __slots__ = ("shapes", "single")

    def __init__(
        self,
        first: int,
        sizes: Sequence[int],
        shapes: dict[int, tuple[bodies.InfoShape, list[tuple[Any, ...]]]],
        single: dict[int, list[bodies.InfoRecords]],
    ) -> None:
        Run.__init__(self, first, sizes)
        self.shapes = shapes
        self.single = single

    def encode(self, context: bodies.Context) -> bytes:
        packed: dict[int, Iterator[bytes]] = {
            size: starmap(shape.record.pack, rows) for size, (shape, rows) in self.shapes.items()
        }
        for size, streams in self.single.items():
            packed[size] = iter([stream.encode(context) for stream in streams])
        return b"".join(map(next, map(packed.__getitem__, self.sizes)))

    def split(self) -> list[bodies.Body]:
        made: dict[int, Iterator[bodies.Body]] = {
            size: map(bodies.InfoRecords, repeat(None), repeat(shape), rows)
            for size, (shape, rows) in self.shapes.items()
        }
        for size, streams in self.single.items():
            made[size] = iter(streams)
        return [next(made[size]) for size in self.sizes]


def read(
    data: bytes | mmap,
    sh_type: int,
    first: int,
    starts: Sequence[int],
    sizes: Sequence[int],
    is_64: bool,
    info: bodies.InfoReader,
) -> Run | None:
    """The sections of a type that stand one behind the other, the first of them number ``first``.

    Returns:
        ``None`` if they do not stand so, or are not all well formed, or have to be read otherwise.
    """
    if len(sizes) < _MIN_SECTIONS or [*map(add, starts, sizes)][:-1] != [*starts[1:]]:
        return None
    if sh_type in bodies.RELOCATION_TYPES:
        rela, word = sh_type != elf.SHT_REL, 8 if is_64 else 4
        width = word * (3 if rela else 2)
        if any(size % width for size in sizes):
            return None
        number = sum(sizes) // word
        fields = unpack_from(f"<{number}{'Q' if is_64 else 'I'}", data, starts[0])
        return RelocationRun(first, sizes, fields, rela, is_64)
    if sh_type in bodies.INFO_TYPES and max(sizes) <= _MAX_STREAM_BYTES:
        try:
            return _read_info(data, first, starts, sizes, info)
        except CubinError:
            return None
    return None


def _read_info(
    data: bytes | mmap,
    first: int,
    starts: Sequence[int],
    sizes: Sequence[int],
    info: bodies.InfoReader,
) -> InfoRun | None:
    contents: dict[int, list[bytes]] = {size: [] for size in sizes}
    for start, size in zip(starts, sizes, strict=True):
        contents[size].append(data[start : start + size])
    shapes: dict[int, tuple[bodies.InfoShape, list[tuple[Any, ...]]]] = {}
    single: dict[int, list[bodies.InfoRecords]] = {}
    for size, streams in contents.items():
        shape = info.shape(streams[0])
        if size and shape.record.size == size:
            rows = [*shape.record.iter_unpack(b"".join(streams))]
            if shape.fits(rows):
                shapes[size] = shape, rows
                continue
        single[size] = [info.read(stream) for stream in streams]
        if any(stream.size != size for stream in single[size]):
            return None
    return InfoRun(first, sizes, shapes, single)
