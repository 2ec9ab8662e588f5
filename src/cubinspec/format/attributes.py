"""The grammar of attribute streams: ``.nv.info*``, ``.nv.merc.nv.info*`` and ``.nv.compat``.

A record is four bytes: format, code, and a 16-bit word. With the format ``EIFMT_SVAL`` the word is
the size of a payload that follows; with every other format, named or not, it is the value. Streams
have no padding and no terminator.

* ``scan(body)``: all whole records as rows, and where they end; everything else stands on it
* ``info_rows(body, …)``: what readers, checker and emitter use. A damaged stream is refused.
* ``split_records(body)``: what the linker uses, records as bytes. A damaged stream is taken as
  nvlink takes it: a payload that is cut off counts as far as it goes, a rest of one to three
  bytes is ignored, and so are records of the format 0.
* ``ShapeCache``: finds out in one comparison that a stream has its records where an earlier one
  had them.
* ``raw_record``, ``immediate``, ``record_end``: one record as bytes.
* ``keyed_run``, ``KEYED_RECORD``: records with a payload of two words, which come in thousands.
"""

from __future__ import annotations

from _struct import Struct

from cubinspec.errors import TruncatedError
from cubinspec_generated.codes import EIFMT_SVAL
from cubinspec_generated.records import FUNCTION_VALUE, INFO_RECORD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final

    #: offset in the body, format, code, header word (value or payload size), payload
    InfoRow = tuple[int, int, int, int, bytes]
    #: One record as it stands in the file.
    RawRecord = bytes
    #: A mask for a stream as a number, the bits that it must leave, and what is kept of such
    #: streams.
    _Shape = tuple[int, int, Any]

HEAD_BYTES: Final = INFO_RECORD.size
#: A record whose payload is a symbol and a number.
KEYED_RECORD: Final = Struct(INFO_RECORD.format + FUNCTION_VALUE.format.lstrip("<"))
_SVAL_BYTE: Final = bytes((EIFMT_SVAL,))
_PAYLOAD_BYTES: Final = FUNCTION_VALUE.size.to_bytes(2, "little")
#: Records of a run that are looked at together.
_LONGEST_RUN: Final = 1024


def scan(body: bytes) -> tuple[list[InfoRow], int]:
    """All whole records, and where they end: at the end of the stream, if it is well formed.

    Less than a head is left there, or a head with a payload that is cut off.
    """
    rows: list[InfoRow] = []
    append = rows.append
    unpack = INFO_RECORD.unpack_from
    at, end = 0, len(body)
    while at + 4 <= end:
        form, code, value = unpack(body, at)
        if form == EIFMT_SVAL:
            start = at + 4
            stop = start + value
            if stop > end:
                break
            append((at, form, code, value, body[start:stop]))
            at = stop
        else:
            append((at, form, code, value, b""))
            at += 4
    return rows, at


def info_rows(body: bytes, base: int, file: str, field: str) -> list[InfoRow]:
    """The records of a well-formed stream.

    Args:
        base: absolute offset of ``body``, for messages.

    Raises:
        TruncatedError: a record or its payload runs over the end of the section.
    """
    rows, at = scan(body)
    left = len(body) - at
    if not left:
        return rows
    field = f"{field}.records[{len(rows)}]"
    if left < HEAD_BYTES:
        raise TruncatedError(
            f"{left} bytes follow the last attribute",
            file=file,
            offset=base + at,
            field=field,
            expected="a record of at least 4 bytes",
        )
    _, code, value = INFO_RECORD.unpack_from(body, at)
    left -= HEAD_BYTES
    raise TruncatedError(
        f"attribute {code:#x} declares {value} bytes, {left} are left",
        file=file,
        offset=base + at,
        field=f"{field}.len_payload",
        expected=f"at most {left}",
    )


def record_end(body: bytes, at: int) -> int:
    """Where the record at ``at`` ends; beyond the end of the stream, if it is cut off."""
    if body[at] != EIFMT_SVAL:
        return at + HEAD_BYTES
    return at + HEAD_BYTES + int.from_bytes(body[at + 2 : at + 4], "little")


def split_records(body: bytes) -> list[RawRecord]:
    """The records of a stream as nvlink takes it, each as its bytes; nothing is refused."""
    return _split_scanned(body, *scan(body))


def _split_scanned(body: bytes, rows: list[InfoRow], end: int) -> list[RawRecord]:
    found = [body[at : at + HEAD_BYTES + len(payload)] for at, form, _, _, payload in rows if form]
    if len(body) - end >= HEAD_BYTES:
        found.append(raw_record(EIFMT_SVAL, body[end + 1], 0, body[end + HEAD_BYTES :]))
    return found


def raw_record(form: int, code: int, value: int, payload: bytes = b"") -> RawRecord:
    """One record; the value counts only in a format without payload."""
    if form == EIFMT_SVAL:
        return INFO_RECORD.pack(form, code, len(payload)) + payload
    return INFO_RECORD.pack(form, code, value)


def immediate(record: RawRecord) -> int:
    """The value of a record without payload; 0 of one with it."""
    return 0 if record[0] == EIFMT_SVAL else record[2] | record[3] << 8


def keyed_run(body: bytes, at: int) -> int:
    """How many records with a payload of two words follow each other from ``at`` on.

    Looks at one byte of the heads of many at a time, but not of all: where runs are short, each
    would cost a look at all that follows.
    """
    size = KEYED_RECORD.size
    shortest = min((len(body) - at) // size, _LONGEST_RUN)
    for place, byte in ((0, _SVAL_BYTE), (2, _PAYLOAD_BYTES[:1]), (3, _PAYLOAD_BYTES[1:])):
        column = body[at + place : at + shortest * size : size]
        shortest = len(column) - len(column.lstrip(byte))
        if not shortest:
            break
    return shortest


class ShapeCache:
    """What is known of streams by their shape: where the records are, and of which formats.

    Kernels with the same attributes have streams that differ in values only. The bits that say
    where the records end, formats and sizes, are compared in one step: a stream is read as one
    number, and a mask picks these bits.

    Args:
        with_codes: streams of one shape also have the same attributes in the same order.
        per_size: shapes kept for each size of a stream.
        in_all: shapes kept at once; of more, all are forgotten, as those of one image are alike.
        longest: bytes of the longest stream that is kept.
    """

    __slots__ = ("_count", "_heads", "_shapes", "in_all", "longest", "per_size")

    def __init__(
        self, *, with_codes: bool, per_size: int, in_all: int = 2048, longest: int = 1 << 16
    ) -> None:
        #: The bits of a record's head that belong to the shape: without payload, and with one.
        self._heads = (
            (b"\xff\xff\0\0", b"\xff\xff\xff\xff")
            if with_codes
            else (b"\xff\0\0\0", b"\xff\0\xff\xff")
        )
        self._shapes: dict[int, list[_Shape]] = {}
        self.per_size: int = per_size
        self.in_all: int = in_all
        self._count = 0
        self.longest: int = longest

    def find(self, body: bytes) -> Any:
        """What was added with a stream of this shape; ``None`` if there was none."""
        return self.find_number(body)[0]

    def find_number(self, body: bytes) -> tuple[Any, int]:
        """:meth:`find`, and the stream as one number, for who looks at more of its bits."""
        shapes = self._shapes.get(len(body))
        if shapes is None:
            return None, 0
        number = int.from_bytes(body, "little")
        for nth, shape in enumerate(shapes):
            mask, bits, found = shape
            if number & mask == bits:
                if nth:  # the next stream is likely to be of the same shape
                    shapes[nth] = shapes[0]
                    shapes[0] = shape
                return found, number
        return None, 0

    def add(
        self, body: bytes, heads: Iterable[tuple[int, int]], found: Any, more: bytes = b""
    ) -> None:
        """Keep what was found out about streams of this shape, if there is room.

        Args:
            heads: format and word of each record of ``body``, which is well formed.
            more: further bits that streams of the shape have alike, as a mask of ``body``.
        """
        size = len(body)
        if size > self.longest:
            return
        if self._count >= self.in_all:
            self._shapes.clear()
            self._count = 0
        shapes = self._shapes.setdefault(size, [])
        if len(shapes) >= self.per_size:
            return
        self._count += 1
        short, sized = self._heads
        masks = [sized + bytes(word) if form == EIFMT_SVAL else short for form, word in heads]
        mask = int.from_bytes(b"".join(masks), "little") | int.from_bytes(more, "little")
        shapes.append((mask, int.from_bytes(body, "little") & mask, found))


class RecordSplitter:
    """Does what :func:`split_records` does for many streams, most of which are of few shapes."""

    __slots__ = ("_seen", "_shapes")

    def __init__(self) -> None:
        #: Shape -> what cuts such a stream into records.
        self._shapes = ShapeCache(with_codes=False, per_size=4)
        #: Sizes of streams; the only one of its size needs no shape.
        self._seen: set[int] = set()

    def split(self, body: bytes) -> list[RawRecord]:
        """The records of a stream, each as its bytes."""
        cut = self._shapes.find(body)
        if cut is not None:
            return list(cut(body))
        rows, end = scan(body)
        found = _split_scanned(body, rows, end)
        if len(body) not in self._seen:
            self._seen.add(len(body))
        elif end == len(body) and len(found) == len(rows):
            layout = "".join([f"{len(record)}s" for record in found])
            heads = [(form, word) for _, form, _, word, _ in rows]
            self._shapes.add(body, heads, Struct(layout).unpack)
        return found
