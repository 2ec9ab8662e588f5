"""Phase two: a laid out file becomes bytes; nothing is decided here any more."""

from __future__ import annotations

from itertools import starmap
from struct import Struct
from struct import error as StructError

from cubinspec.errors import BadStructureError, LimitError
from cubinspec.format.packing import join
from cubinspec.gc_pause import GcPaused
from cubinspec_generated import records
from cubinspec_generated.codes import ELFDATA2LSB
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.layout import plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from cubinspec_writer.emitter.model import Body, Description
    from cubinspec_writer.emitter.packed import Packed
    from cubinspec_writer.emitter.plan import Plan

    #: Offset and bytes.
    Piece = tuple[int, bytes | bytearray | "_Deferred"]

#: A description must not ask for more than the largest real files by an order of magnitude: an
#: offset of 2**60 in a text file would otherwise be that many zeros.
MAX_FILE_BYTES = 1 << 32
#: Section headers that are encoded at once.
_HEADERS = 1 << 10
_MAGIC = int.from_bytes(b"\x7fELF", "little")


def emit(description: Description, largest: int = MAX_FILE_BYTES) -> bytes:
    """The file that a description stands for.

    Args:
        description: from ``describe``, from the YAML form, or built by hand.
        largest: bytes that the file may have.

    Raises:
        CubinError: the description contradicts itself, or a number does not fit its field.
    """
    return b"".join(emit_parts(description, largest))


def emit_parts(
    description: Description, largest: int = MAX_FILE_BYTES
) -> Iterator[bytes | bytearray]:
    """:func:`emit` in parts that follow each other.

    Large bodies are not copied, and what is encoded from many records is made when it is its turn.

    Raises:
        CubinError: as :func:`emit` does; also while the parts are asked for.
    """
    with GcPaused():
        return plan_parts(plan(description), largest)


def plan_parts(laid_out: Plan, largest: int = MAX_FILE_BYTES) -> Iterator[bytes | bytearray]:
    """A file that is laid out, in parts that follow each other.

    Raises:
        CubinError: as :func:`emit` does; also while the parts are asked for.
    """
    with GcPaused():
        if laid_out.size > largest:
            raise LimitError(
                f"the file would have {laid_out.size} bytes", expected=f"at most {largest}"
            )
        try:
            pieces = _pieces(laid_out)
        except StructError as error:
            raise _misfit(error) from error
    return _assemble(pieces, laid_out.size)


def _misfit(error: StructError) -> BadStructureError:
    return BadStructureError(f"a number does not fit its field: {error}")


class _Deferred:
    """Bytes that are made when they are asked for.

    Args:
        size: how many.
        make: gives them in parts that follow each other.
        arguments: of that.
    """

    __slots__ = ("_arguments", "_make", "_size")

    def __init__(
        self, size: int, make: Callable[..., Iterable[bytes | bytearray]], *arguments: object
    ) -> None:
        self._size = size
        self._make = make
        self._arguments = arguments

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes | bytearray]:
        try:
            yield from self._make(*self._arguments)
        except StructError as error:
            raise _misfit(error) from error


def _headers(laid_out: Plan) -> Iterator[bytearray]:
    """The section headers, without the null one."""
    record = records.SECTION_HEADER_64 if laid_out.is_64 else records.SECTION_HEADER_32
    for first in range(0, len(laid_out.draft.names), _HEADERS):
        yield join(
            record, [column[first : first + _HEADERS] for column in laid_out.section_columns]
        )


def _table(laid_out: Plan, kind: str) -> Iterator[bytes | bytearray]:
    yield laid_out.table(kind)


def _pieces(laid_out: Plan) -> list[Piece]:
    """Offset and bytes of everything in the file."""
    header = laid_out.draft.header
    record = records.ELF_HEADER_64 if laid_out.is_64 else records.ELF_HEADER_32
    ident = {
        "ei_magic": _MAGIC,
        "ei_class": header.ei_class,
        "ei_data": ELFDATA2LSB,
        "ei_version": header.ei_version,
        "ei_osabi": header.ei_osabi,
        "ei_abiversion": header.ei_abiversion,
    }
    magic, *rest = [header.overrides.get(name, value) for name, value in ident.items()]
    head = records.ELF_IDENT.pack(magic.to_bytes(4, "little"), *rest, header.ei_pad)
    pieces: list[Piece] = [(0, head + record.pack(*laid_out.ehdr))]
    draft = laid_out.draft
    contents: list[Any] = [*draft.bodies]
    for number in draft.singles:
        contents[number] = _contents(number, laid_out, contents[number])
    for run in draft.runs:
        # a run was read from neighbours in the file, so it is written as one piece
        count = len(run.sizes)
        encoded = _Deferred(sum(run.sizes), run.encode, laid_out.context)
        contents[run.first : run.first + count] = [encoded, *[b""] * (count - 1)]
    pieces += [piece for piece in zip(laid_out.offsets, contents, strict=True) if piece[1]]
    table = records.SECTION_HEADER_64 if laid_out.is_64 else records.SECTION_HEADER_32
    shoff, phoff = laid_out.tables_at
    if draft.names or shoff:
        pieces.append((shoff, table.pack(*laid_out.null_section)))
        others = _Deferred(table.size * len(draft.names), _headers, laid_out)
        pieces.append((shoff + table.size, others))
    if laid_out.segment_rows:
        pieces.append((phoff, _segments(laid_out)))
    pieces.extend((fill.offset, fill.data) for fill in laid_out.draft.fills)
    return pieces


def _contents(number: int, laid_out: Plan, body: Body | Packed) -> bytes | _Deferred:
    if isinstance(body, bodies.Blob):
        return body.data
    if isinstance(body, bodies.NoBytes):
        return b""
    if isinstance(body, bodies.Computed):
        return _Deferred(laid_out.sizes[number], _table, laid_out, body.kind)
    try:
        data = body.encode(laid_out.context)
    except StructError as error:
        raise BadStructureError(
            f"a number does not fit its field: {error}", field=laid_out.draft.names[number]
        ) from error
    if len(data) != laid_out.sizes[number]:
        raise BadStructureError(
            f"{len(data)} bytes were written where {laid_out.sizes[number]} were laid out",
            field=laid_out.draft.names[number],
        )
    return data


def _segments(laid_out: Plan) -> bytes:
    if laid_out.is_64:
        return _rows(records.PROGRAM_HEADER_64, laid_out.segment_rows)
    pack = records.PROGRAM_HEADER_32.pack
    return b"".join(
        [
            pack(kind, offset, vaddr, paddr, filesz, memsz, flags, align)
            for kind, flags, offset, vaddr, paddr, filesz, memsz, align in laid_out.segment_rows
        ]
    )


def _rows(record: Struct, rows: list[tuple[int, ...]]) -> bytes:
    return b"".join(starmap(record.pack, rows))


def _assemble(pieces: list[Piece], size: int) -> Iterator[bytes | bytearray]:
    """Parts that follow each other; zeros between the pieces."""
    ordered = sorted(pieces, key=lambda piece: piece[0])
    ends = [offset + len(data) for offset, data in ordered]
    if any(piece[0] < end for piece, end in zip(ordered[1:], ends, strict=False)):
        yield _overlay(pieces, size)
        return
    if ends[-1] > size:
        yield b"".join(_assemble(pieces, ends[-1]))[:size]
        return
    at = 0
    for (offset, data), end in zip(ordered, ends, strict=True):
        if offset > at:
            yield bytes(offset - at)
        if isinstance(data, _Deferred):
            yield from data
        else:
            yield data
        at = end
    yield bytes(size - at)


def _overlay(pieces: list[Piece], size: int) -> bytes:
    """For files whose sections overlap: later pieces win over earlier ones.

    Section headers and program headers come last, as a reader trusts them most.
    """
    whole = bytearray(max(size, max(offset + len(data) for offset, data in pieces)))
    for offset, data in (*pieces[1:], pieces[0]):
        whole[offset : offset + len(data)] = b"".join(data) if isinstance(data, _Deferred) else data
    return bytes(whole[:size])
