"""Attributes of kernels that are alike: what was done to those of one is done to all.

Kernels of one program have the same attributes with other numbers. The first kernel of a shape is
looked at record by record. Where nothing came of it but another order and the numbers of symbols,
streams of the same shape are cut, put into that order and joined, with no look at a record.
"""

from __future__ import annotations

from _operator import itemgetter
from _struct import Struct

from cubinspec.format.attributes import ShapeCache
from cubinspec_generated.codes import (
    EIATTR_AT_ENTRY_FRAGMENTS,
    EIATTR_EXTERNS,
    EIATTR_MAXREG_COUNT,
    EIATTR_SPARSE_MMA_MASK,
    EIFMT_SVAL,
)
from cubinspec_writer.linker.library.demands import (
    NAMING,
    PARAMETERS,
    SYNCS,
    TAKEN,
    Collected,
    new_number,
    word,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.model import InputObject, Symbol
    from cubinspec_writer.linker.state import Attributes

#: Records whose value decides what becomes of them, or is kept for the program.
_BY_VALUE: Final = SYNCS | {EIATTR_MAXREG_COUNT}
#: Records that are looked at, and that may be in a shape.
_ALLOWED: Final = _BY_VALUE | NAMING | (TAKEN - {EIATTR_AT_ENTRY_FRAGMENTS, EIATTR_EXTERNS})
#: Where the number of a symbol stands in a record.
_START, _END = 4, 8
_NO_SYMBOL: Final = bytes(_END - _START)


class _Shape:
    """What is done with the streams of a shape.

    Attributes:
        cut: cuts a stream into pieces.
        order: puts them into the order of the output.
        numbers: which of these are numbers of symbols, and the codes of their attributes.
        stated: codes and numbers that the stream states.
        is_masked: one of the records is a mask.
    """

    __slots__ = ("cut", "is_masked", "numbers", "order", "stated")

    def __init__(
        self,
        sizes: list[int],
        order: list[int],
        numbers: list[tuple[int, int]],
        stated: list[tuple[int, int]],
        is_masked: bool,
    ) -> None:
        self.cut: Callable[[bytes], tuple[bytes, ...]]
        self.cut = Struct("".join([f"{size}s" for size in sizes])).unpack
        self.order: Callable[[tuple[bytes, ...]], tuple[bytes, ...]] = itemgetter(*order)
        self.numbers: list[tuple[int, int]] = numbers
        self.stated: list[tuple[int, int]] = stated
        self.is_masked: bool = is_masked


class Shapes:
    """The shapes of the attributes of kernels.

    Args:
        decided: codes of the records that are looked at; all others only change places.
        of_program: codes of those that count for the program, which are in no shape.
    """

    __slots__ = ("_attributes", "_cache", "_collected", "_refused")

    def __init__(
        self,
        attributes: Attributes,
        collected: Collected,
        decided: frozenset[int],
        of_program: frozenset[int],
    ) -> None:
        self._attributes = attributes
        self._collected = collected
        self._refused: frozenset[int] = decided - _ALLOWED | of_program
        self._cache = ShapeCache(with_codes=True, per_size=8)

    def done(self, obj: InputObject, function: Symbol, stream: bytes) -> bytes | None:
        """The attributes of a kernel as the output has them; None: they have to be looked at."""
        shape: _Shape | None = self._cache.find(stream)
        if shape is None:
            return None
        pieces = list(shape.order(shape.cut(stream)))
        for at, code in shape.numbers:
            number = new_number(obj, code, int.from_bytes(pieces[at], "little"))
            if not number:
                return None
            pieces[at] = number.to_bytes(4, "little")
        for code, value in shape.stated:
            self._attributes.stated.append((code, function, value))
        if shape.is_masked:
            self._collected.masked.add(function)
        return b"".join(pieces)

    def learn(
        self, function: Symbol, stream: bytes, records: list[RawRecord], num_done: int
    ) -> None:
        """Keep the shape of a stream that was looked at, if others can be treated alike.

        Args:
            records: all of its records.
            num_done: how many of them are in the output.
        """
        codes = {record[1] for record in records}
        is_whole = num_done == len(records) > 1 and b"".join(records) == stream
        if not is_whole or codes & self._refused or function in self._attributes.register_limits:
            return
        sizes: list[int] = []
        order: list[int] = []
        codes_of: dict[int, int] = {}
        fixed = b""
        for record in records:
            first, code = len(sizes), record[1]
            mask = bytes(len(record))
            if code in _BY_VALUE:
                mask = b"\xff" * len(record)
            elif code in PARAMETERS:
                if record[_START:_END] != _NO_SYMBOL:
                    return
                mask = bytes(_START) + b"\xff" * len(_NO_SYMBOL) + bytes(len(record) - _END)
            if code in NAMING and code not in PARAMETERS and record[0] == EIFMT_SVAL:
                if len(record) < _END:
                    return
                codes_of[first + 1] = code
                sizes += (_START, len(_NO_SYMBOL), len(record) - _END)
            else:
                sizes.append(len(record))
            order[:0] = range(first, len(sizes))
            fixed += mask
        numbers = [(at, codes_of[piece]) for at, piece in enumerate(order) if piece in codes_of]
        sized = [record for record in reversed(records) if record[0] == EIFMT_SVAL]
        stated = [(record[1], word(record, 0)) for record in sized if record[1] in SYNCS]
        shape = _Shape(sizes, order, numbers, stated, EIATTR_SPARSE_MMA_MASK in codes)
        self._cache.add(stream, [(r[0], len(r) - _START) for r in records], shape, fixed)
