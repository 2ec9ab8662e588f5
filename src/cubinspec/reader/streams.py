"""Section bodies that are streams of records (attributes, pairs), as rows.

``cubinspec.format.attributes`` and ``cubinspec.format.notes`` have the grammars. The lists of a
call graph, each behind a pair ``<0, marker>``, are found here (:func:`lists_of`).
"""

from __future__ import annotations

from _struct import Struct
from itertools import compress

from cubinspec.errors import BadStructureError
from cubinspec.format.attributes import (
    HEAD_BYTES,
    KEYED_RECORD,
    ShapeCache,
    info_rows,
    keyed_run,
    record_end,
)
from cubinspec_generated import records
from cubinspec_generated.codes import (
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_CALLS,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
    EIATTR_CBANK_PARAM_SIZE,
    EIATTR_CTA_PER_CLUSTER,
    EIATTR_KPARAM_INFO,
    EIATTR_KPARAM_INFO_V2,
    EIATTR_MAX_CLUSTER_RANK,
    EIATTR_MAX_THREADS,
    EIATTR_MAXREG_COUNT,
    EIATTR_NUM_BARRIERS,
    EIATTR_NUM_MBARRIERS,
    EIATTR_PARAM_CBANK,
    EIATTR_REQNTID,
    SHN_UNDEF,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cubinspec.format.attributes import InfoRow

    SymbolRow = tuple[int, ...]

#: Symbol and value of a record with a payload of two words.
_KEYED_PAIR = Struct(f"<{HEAD_BYTES}x" + records.FUNCTION_VALUE.format.lstrip("<"))
_PARAMETERS = frozenset((EIATTR_KPARAM_INFO, EIATTR_KPARAM_INFO_V2))
#: What matters for a launch: the same few numbers in most kernels.
_LAUNCH = _PARAMETERS | {
    EIATTR_NUM_BARRIERS,
    EIATTR_NUM_MBARRIERS,
    EIATTR_MAX_THREADS,
    EIATTR_REQNTID,
    EIATTR_CTA_PER_CLUSTER,
    EIATTR_MAX_CLUSTER_RANK,
    EIATTR_MAXREG_COUNT,
    EIATTR_CBANK_PARAM_SIZE,
    EIATTR_PARAM_CBANK,
}
#: The second word of the pair ``<0, marker>`` that starts each list of ``.nv.callgraph``, in the
#: order of the file.
MARKERS = (
    CALLGRAPH_CALLS,
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
)
_SYMBOL_MASK = b"\xff" * HEAD_BYTES + bytes(4)
#: Of most streams the records stand where they stood in an earlier one.
_shapes = ShapeCache(with_codes=True, per_size=32, in_all=2048, longest=2048)


class Shape:
    """Where the records of streams of one shape are.

    Attributes:
        places: code -> offset of the record.
        num_params: how many parameter records there are, of both forms.
    """

    __slots__ = ("_codes", "_cut", "_mask", "_parts", "_sizes", "num_params", "places")

    def __init__(self, rows: list[InfoRow]) -> None:
        self.places: dict[int, int] = {code: at for at, _, code, _, _ in rows}
        self._codes: list[int] = [code for _, _, code, _, _ in rows]
        self._sizes: list[int] = [HEAD_BYTES + len(payload) for *_, payload in rows]
        count = self._codes.count
        self.num_params: int = count(EIATTR_KPARAM_INFO) + count(EIATTR_KPARAM_INFO_V2)
        self._mask = -1
        self._parts: list[tuple[int, int]] = []
        self._cut: Struct | None = None

    def cut(self, body: bytes) -> tuple[bytes, ...]:
        """The records of a stream of this shape, each as its bytes."""
        cut = self._cut
        if cut is None:
            cut = self._cut = Struct("".join([f"{size}s" for size in self._sizes]))
        return cut.unpack(body)

    @property
    def launch_mask(self) -> int:
        """Picks the bits of a stream, as a number, that say what matters for a launch.

        Offsets of instructions and numbers of symbols are left out, in which kernels differ that
        are else alike.
        """
        if self._mask < 0:
            self._find_launch()
        return self._mask

    def launch_bytes(self, body: bytes) -> bytes:
        """What a stream of this shape says of a launch."""
        if self._mask < 0:
            self._find_launch()
        return b"".join([body[start:stop] for start, stop in self._parts])

    def _find_launch(self) -> None:
        """Find out what matters for a launch; a table of kernels does not ask."""
        masks = []
        at = 0
        for code, size in zip(self._codes, self._sizes, strict=True):
            if code in _LAUNCH:
                # the first word of one of them is a symbol
                skipped = min(len(_SYMBOL_MASK), size) if code == EIATTR_PARAM_CBANK else 0
                self._parts.append((at + skipped, at + size))
                masks.append(_SYMBOL_MASK[:skipped].ljust(size, b"\xff"))
            else:
                masks.append(bytes(size))
            at += size
        self._mask = int.from_bytes(b"".join(masks), "little")


def find_shape(body: bytes) -> tuple[Shape | None, int]:
    """The shape of a stream, if one like it was read before; and the stream as one number."""
    return _shapes.find_number(body)


def read_shape(body: bytes, base: int, file: str, field: str) -> Shape:
    """The shape of a stream that :func:`find_shape` does not know.

    Raises:
        TruncatedError: as :func:`info_rows` does.
    """
    rows = info_rows(body, base, file, field)
    shape = Shape(rows)
    _shapes.add(body, [(form, word) for _, form, _, word, _ in rows], shape)
    return shape


class InfoIndex:
    """Where the records of one ``.nv.info`` stream are: what a table of kernels needs of it.

    Reads the few records that are asked for. Of several records with one code the last one counts.
    Most streams have their records where an earlier one had them, and are not scanned again.

    Args:
        body: the stream.
        shape: where its records are.
    """

    __slots__ = ("body", "shape")

    def __init__(self, body: bytes, shape: Shape) -> None:
        self.body: bytes = body
        self.shape: Shape = shape

    @classmethod
    def read(cls, body: bytes, base: int, file: str, field: str) -> InfoIndex:
        """The index of any stream.

        Raises:
            TruncatedError: as :func:`info_rows` does.
        """
        found, _ = find_shape(body)
        return cls(body, found or read_shape(body, base, file, field))

    @property
    def codes(self) -> Iterable[int]:
        """The attributes that occur, in file order."""
        return self.shape.places

    def place(self, code: int) -> int | None:
        """Where a record begins in the stream."""
        return self.shape.places.get(code)

    def value(self, code: int) -> int | None:
        """The value in the record's header; the payload's size for a record with one."""
        return value_at(self.body, self.shape.places.get(code))

    def payload(self, code: int) -> bytes | None:
        """The record's payload, empty for records without one."""
        return payload_at(self.body, self.shape.places.get(code))


def value_at(body: bytes, at: int | None) -> int | None:
    """The value of a record, or the size of its payload; ``None`` for no record."""
    return None if at is None else int.from_bytes(body[at + 2 : at + 4], "little")


def payload_at(body: bytes, at: int | None) -> bytes | None:
    """The payload of a record; ``None`` for no record."""
    return None if at is None else body[at + HEAD_BYTES : record_end(body, at)]


def keyed_values(
    body: bytes, codes: Iterable[int], base: int, file: str, field: str
) -> dict[int, dict[int, int]]:
    """Of the two-word records of a module's ``.nv.info``: code -> symbol index -> value.

    They are nearly all there is in that section, tens of thousands in a large file, so that one
    look at header and payload together is worth a function of its own.

    Args:
        codes: the attributes that are asked for; of several values of a symbol the last counts.

    Raises:
        TruncatedError: a record or its payload runs over the end of the section.
    """
    found: dict[int, dict[int, int]] = {code: {} for code in codes}
    size = KEYED_RECORD.size
    at, last = 0, len(body) - size
    while at <= last:
        count = keyed_run(body, at)
        if not count:
            at = record_end(body, at)
            continue
        stop = at + count * size
        pairs = list(_KEYED_PAIR.iter_unpack(body[at:stop]))
        seen = body[at + 1 : stop : size]
        for code in found.keys() & set(seen):
            is_code = bytes(code) + b"\1" + bytes(255 - code)
            found[code].update(compress(pairs, seen.translate(is_code)))
        at = stop
    if at > len(body):
        info_rows(body, base, file, field)  # raises: a payload runs over the end
    # what is left is too short for a record with two words, but must be whole records
    info_rows(body[at:], base + at, file, field)
    return found


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


def lists_of(
    firsts: Sequence[int], seconds: Sequence[int]
) -> Iterator[tuple[int | None, int, int]]:
    """The marker of each list, and where its pairs begin and end, in file order.

    Pairs before any marker, which were not seen in a real file, come first, with ``None``.

    Args:
        firsts, seconds: the words of all pairs.
    """
    marker = None
    start = place = 0
    for _ in range(firsts.count(0)):
        place = firsts.index(0, place)
        if seconds[place] in MARKERS:
            if place or marker:
                yield marker, start, place
            marker, start = seconds[place], place + 1
        place += 1
    if firsts:
        yield marker, start, len(firsts)


def stacks_are_known(
    firsts: Sequence[int], seconds: Sequence[int], symbols: Sequence[SymbolRow]
) -> bool:
    """Whether nothing leaves a stack open: no call through a pointer, of another file, in a circle.

    Circles are not looked for: it is enough that no function is called that calls.

    Args:
        firsts, seconds: the words of all pairs.
        symbols: rows of the symbol table that the call graph refers to.
    """
    for marker, start, stop in lists_of(firsts, seconds):
        if start == stop:
            continue
        if marker == CALLGRAPH_INDIRECT_CALLS:
            return False
        if marker == CALLGRAPH_CALLS:
            callees = seconds[start:stop]
            if not {*firsts[start:stop]}.isdisjoint(callees) or max(callees) >= len(symbols):
                return False
            for callee in callees:
                _, _, _, section, _, _ = symbols[callee]
                if section == SHN_UNDEF:
                    return False
    return True
