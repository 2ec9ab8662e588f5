"""Section bodies that are streams of records: attributes, notes, string pools, as plain rows."""

from __future__ import annotations

from struct import Struct, unpack_from

from cubinspec.errors import BadStructureError, TruncatedError
from cubinspec_generated import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    #: offset in the body, format, code, header word (value or payload size), payload
    InfoRow = tuple[int, int, int, int, bytes]
    #: offset in the body, type, owner, descriptor
    NoteRow = tuple[int, int, bytes, bytes]

EIFMT_SVAL = 4
#: ``EIATTR_KPARAM_INFO`` and its second form.
_PARAMETER, _PARAMETER_V2 = 0x17, 0x45
_PARAMETERS = frozenset((_PARAMETER, _PARAMETER_V2))
_PARAMETER_HEAD = _PARAMETER << 8 | EIFMT_SVAL
_PARAMETER_BYTES = records.KPARAM_INFO.size
#: A whole parameter record in units of two bytes.
_PARAMETER_WORDS = (4 + _PARAMETER_BYTES) // 2
_LITTLE = unpack_from("=H", b"\1\0")[0] == 1
SHT_CUDA_COMPAT_INFO = 0x70000086
#: Section types whose body is a stream of attribute records.
INFO_TYPES = frozenset((0x70000000, 0x70000083, SHT_CUDA_COMPAT_INFO))
#: A record header with the payload "symbol, number" behind it.
_KEYED_RECORD = Struct(records.INFO_RECORD.format + records.FUNCTION_VALUE.format.lstrip("<"))
_SVAL_BYTE = bytes((EIFMT_SVAL,))
_LONGEST_RUN = 1024


def info_rows(body: bytes, base: int, file: str, field: str) -> list[InfoRow]:
    """The records of one ``.nv.info``-like stream (also ``.nv.compat``).

    Only ``EIFMT_SVAL`` has a payload; every other format, known or not, is the four header bytes.

    Args:
        base: absolute offset of ``body``, for messages.

    Raises:
        TruncatedError: a record or its payload runs over the end of the section.
    """
    rows: list[InfoRow] = []
    append = rows.append
    unpack = records.INFO_RECORD.unpack_from
    at, end = 0, len(body)
    while at + 4 <= end:
        form, code, value = unpack(body, at)
        if form == EIFMT_SVAL:
            start = at + 4
            stop = start + value
            if stop > end:
                raise TruncatedError(
                    f"attribute {code:#x} declares {value} bytes, {end - start} are left",
                    file=file,
                    offset=base + at,
                    field=f"{field}.records[{len(rows)}].len_payload",
                    expected=f"at most {end - start}",
                )
            append((at, form, code, value, body[start:stop]))
            at = stop
        else:
            append((at, form, code, value, b""))
            at += 4
    if at != end:
        raise TruncatedError(
            f"{end - at} bytes follow the last attribute",
            file=file,
            offset=base + at,
            field=f"{field}.records[{len(rows)}]",
            expected="a record of at least 4 bytes",
        )
    return rows


class InfoIndex:
    """Where the records of one ``.nv.info`` stream are: what a table of kernels needs of it.

    Finds each record without taking it apart, in a fifth of the time of :func:`info_rows`, and
    reads the few that are asked for. Of several records with one code the last one counts.

    Most streams have their records where one before had them, and that is seen at once: if the
    headers stand in the same places, they are all the records there are.

    Raises:
        TruncatedError: as :func:`info_rows` does.
    """

    __slots__ = ("_body", "_places", "num_params")

    def __init__(self, body: bytes, base: int, file: str, field: str) -> None:
        self._body = body
        #: How many parameter records there are, of both forms.
        self.num_params = 0
        #: Code -> offset of the record.
        self._places: dict[int, int] = {}
        known = _layouts.get(len(body))
        if known is not None:
            number = int.from_bytes(body, "little")
            for nth, layout in enumerate(known):
                if number & layout[0] == layout[1]:
                    if nth:  # the next one is likely to be of the same kind
                        known[nth] = known[0]
                        known[0] = layout
                    _, _, self._places, self.num_params = layout
                    return
        if len(body) & 1 or not _LITTLE or not self._scan():
            # Damaged, or with a payload of odd size: the thorough way finds it or says why not.
            rows = info_rows(body, base, file, field)
            self._places = {row[2]: row[0] for row in rows}
            self.num_params = sum(row[2] in _PARAMETERS for row in rows)
        _remember(body, self._places, self.num_params)

    def _scan(self) -> bool:
        halves = memoryview(self._body).cast("H")
        end = len(halves) - 1
        places: dict[int, int] = {}
        params = 0
        at = 0
        while at < end:
            head = halves[at]
            if head & 0xFF != EIFMT_SVAL:
                places[head >> 8] = at << 1
                at += 2
                continue
            size = halves[at + 1]
            # Half of all records are parameters, of which only the number is wanted here.
            if head == _PARAMETER_HEAD and size == _PARAMETER_BYTES:
                params += 1
                at += _PARAMETER_WORDS
                continue
            if size & 1:
                return False
            places[head >> 8] = at << 1
            at += 2 + (size >> 1)
        if _PARAMETER in places or _PARAMETER_V2 in places:
            return False  # one of another form
        self._places = places
        self.num_params = params
        return at == end + 1

    def value(self, code: int) -> int | None:
        """The value in the record's header; the payload's size for a record with one."""
        at = self._places.get(code)
        return None if at is None else int.from_bytes(self._body[at + 2 : at + 4], "little")

    def payload(self, code: int) -> bytes | None:
        """The record's payload, empty for records without one."""
        at = self._places.get(code)
        if at is None:
            return None
        body = self._body
        if body[at] != EIFMT_SVAL:
            return b""
        return body[at + 4 : at + 4 + int.from_bytes(body[at + 2 : at + 4], "little")]


#: Size of a stream -> what picks the headers out of it as a number, the headers, and what
#: :class:`InfoIndex` says of such a stream.
_layouts: dict[int, list[tuple[int, int, dict[int, int], int]]] = {}
#: Bounds of what is remembered: kinds of streams per size, kinds in all, bytes of a stream.
_MAX_LAYOUTS, _MAX_ALL_LAYOUTS, _MAX_LAYOUT_BYTES = 32, 8192, 2048
_remembered = 0


def _remember(body: bytes, places: dict[int, int], params: int) -> None:
    global _remembered
    if len(body) > _MAX_LAYOUT_BYTES or _remembered >= _MAX_ALL_LAYOUTS:
        return
    known = _layouts.setdefault(len(body), [])
    if len(known) >= _MAX_LAYOUTS:
        return
    _remembered += 1
    mask = bytearray(len(body))
    at = 0
    while at < len(body):
        if body[at] == EIFMT_SVAL:
            mask[at : at + 4] = b"\xff\xff\xff\xff"
            at += 4 + int.from_bytes(body[at + 2 : at + 4], "little")
        else:
            mask[at : at + 2] = b"\xff\xff"
            at += 4
    number = int.from_bytes(mask, "little")
    known.append((number, int.from_bytes(body, "little") & number, places, params))


def keyed_rows(body: bytes, base: int, file: str, field: str) -> list[tuple[int, int, int]]:
    """The two-word records of a module's ``.nv.info``: code, symbol index, value.

    They are nearly all there is in that section, tens of thousands in a large file, so that one
    look at header and payload together is worth a function of its own.

    Raises:
        TruncatedError: a record or its payload runs over the end of the section.
    """
    rows: list[tuple[int, int, int]] = []
    size = _KEYED_RECORD.size
    at, last = 0, len(body) - size
    while at <= last:
        count = keyed_run(body, at)
        if count:
            run = _KEYED_RECORD.iter_unpack(body[at : at + count * size])
            rows += [(code, symbol, number) for _, code, _, symbol, number in run]
            at += count * size
        elif body[at] != EIFMT_SVAL:
            at += 4
        else:
            at += 4 + int.from_bytes(body[at + 2 : at + 4], "little")
    if at > len(body):
        info_rows(body, base, file, field)  # raises: a payload runs over the end
    # what is left is too short for a record with two words, but must be whole records
    info_rows(body[at:], base + at, file, field)
    return rows


def keyed_run(body: bytes, at: int) -> int:
    """How many records with a payload of two words follow each other from ``at`` on.

    Looks at one byte of the headers of many at a time, but not of all: where runs are short, each
    would cost a look at all that follows.
    """
    size = _KEYED_RECORD.size
    shortest = min((len(body) - at) // size, _LONGEST_RUN)
    for place, byte in ((0, _SVAL_BYTE), (2, b"\x08"), (3, b"\0")):
        column = body[at + place : at + shortest * size : size]
        shortest = len(column) - len(column.lstrip(byte))
        if not shortest:
            break
    return shortest


def note_rows(body: bytes, base: int, file: str, field: str) -> list[NoteRow]:
    """The entries of a note section; name and descriptor are padded to four bytes.

    The last descriptor may lack its padding (two public cubins end so).

    Raises:
        TruncatedError: an entry runs over the end of the section.
    """
    rows: list[NoteRow] = []
    header = records.NOTE_HEADER
    at, end = 0, len(body)
    while at < end:
        if at + header.size > end:
            raise TruncatedError(
                f"{end - at} bytes are left for a note header",
                file=file,
                offset=base + at,
                field=f"{field}.notes[{len(rows)}]",
                expected=f"{header.size} bytes",
            )
        namesz, descsz, kind = header.unpack_from(body, at)
        name_at = at + header.size
        desc_at = name_at + (namesz + 3 & ~3)
        if desc_at + descsz > end:
            raise TruncatedError(
                f"note of {namesz} + {descsz} bytes runs over the end of the section",
                file=file,
                offset=base + at,
                field=f"{field}.notes[{len(rows)}]",
                expected=f"at most {end - name_at} bytes",
            )
        rows.append(
            (
                at,
                kind,
                body[name_at : name_at + namesz].rstrip(b"\0"),
                body[desc_at : desc_at + descsz],
            )
        )
        at = desc_at + (descsz + 3 & ~3)
    return rows


def pair_rows(body: bytes, base: int, file: str, field: str) -> list[tuple[int, int]]:
    """Two-word records: ``.nv.callgraph`` and ``.nv.prototype``.

    Raises:
        BadStructureError: the size is not a multiple of 8.
    """
    record = records.CALLGRAPH_ENTRY
    if len(body) % record.size:
        raise BadStructureError(
            f"size {len(body)} is not a whole number of entries",
            file=file,
            offset=base,
            field=field,
            expected=f"a multiple of {record.size}",
        )
    return list(record.iter_unpack(body))


def words(body: bytes) -> list[int]:
    """All whole 32-bit words of a body."""
    count = len(body) // 4
    return list(unpack_from(f"<{count}I", body))
