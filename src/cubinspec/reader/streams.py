"""Section bodies that are streams of records (attributes, pairs), as rows.

``cubinspec.format.attributes`` and ``cubinspec.format.notes`` have the grammars.
"""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec.format.attributes import (
    KEYED_RECORD,
    ShapeCache,
    info_rows,
    keyed_run,
    record_end,
)
from cubinspec_generated import records
from cubinspec_generated.codes import EIATTR_KPARAM_INFO, EIATTR_KPARAM_INFO_V2, EIFMT_SVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PARAMETERS = frozenset((EIATTR_KPARAM_INFO, EIATTR_KPARAM_INFO_V2))
#: Of most streams the records stand where they stood in an earlier one.
_shapes = ShapeCache(with_codes=True, per_size=32, in_all=8192, longest=2048)


class InfoIndex:
    """Where the records of one ``.nv.info`` stream are: what a table of kernels needs of it.

    Reads the few records that are asked for. Of several records with one code the last one counts.
    Most streams have their records where an earlier one had them, and are not scanned again.

    Raises:
        TruncatedError: as :func:`info_rows` does.
    """

    __slots__ = ("_places", "_run", "body", "num_params")
    body: bytes
    num_params: int

    def __init__(self, body: bytes, base: int, file: str, field: str) -> None:
        self.body = body
        found: tuple[dict[int, int], int, tuple[int, int]] | None = _shapes.find(body)
        if found is None:
            rows = info_rows(body, base, file, field)
            codes = [row[2] for row in rows]
            places = dict(zip(codes, [row[0] for row in rows], strict=True))
            stated = [row for row in rows if row[2] in _PARAMETERS]
            run = (stated[0][0], record_end(body, stated[-1][0])) if stated else (0, 0)
            found = places, len(stated), run
            _shapes.add(body, [(form, word) for _, form, _, word, _ in rows], found)
        #: Code -> offset of the record; how many parameter records there are, of both forms.
        self._places, self.num_params, self._run = found

    @property
    def codes(self) -> Iterable[int]:
        """The attributes that occur, in file order."""
        return self._places

    @property
    def parameter_run(self) -> bytes:
        """All records from the first parameter's to the last one's."""
        start, stop = self._run
        return self.body[start:stop]

    def place(self, code: int) -> int | None:
        """Where a record begins in the stream."""
        return self._places.get(code)

    def value(self, code: int) -> int | None:
        """The value in the record's header; the payload's size for a record with one."""
        at = self._places.get(code)
        return None if at is None else int.from_bytes(self.body[at + 2 : at + 4], "little")

    def payload(self, code: int) -> bytes | None:
        """The record's payload, empty for records without one."""
        at = self._places.get(code)
        if at is None:
            return None
        body = self.body
        if body[at] != EIFMT_SVAL:
            return b""
        return body[at + 4 : at + 4 + int.from_bytes(body[at + 2 : at + 4], "little")]


def keyed_rows(body: bytes, base: int, file: str, field: str) -> list[tuple[int, int, int]]:
    """The two-word records of a module's ``.nv.info``: code, symbol index, value.

    They are nearly all there is in that section, tens of thousands in a large file, so that one
    look at header and payload together is worth a function of its own.

    Raises:
        TruncatedError: a record or its payload runs over the end of the section.
    """
    rows: list[tuple[int, int, int]] = []
    size = KEYED_RECORD.size
    at, last = 0, len(body) - size
    while at <= last:
        count = keyed_run(body, at)
        if count:
            run = KEYED_RECORD.iter_unpack(body[at : at + count * size])
            rows += [(code, symbol, number) for _, code, _, symbol, number in run]
            at += count * size
        else:
            at = record_end(body, at)
    if at > len(body):
        info_rows(body, base, file, field)  # raises: a payload runs over the end
    # what is left is too short for a record with two words, but must be whole records
    info_rows(body[at:], base + at, file, field)
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
