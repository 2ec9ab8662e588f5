"""Attribute streams of functions as they are compared: kept as bytes, taken apart when they differ.

Most records say the same in two builds of a function when their bytes are equal. Records that name
symbols are the exception, as a symbol has another number in every file; they are kept as names.
"""

from __future__ import annotations

from functools import lru_cache
from struct import pack

from cubinspec.compare.digest import digest
from cubinspec.compare.names import stable_name
from cubinspec.format.attributes import (
    HEAD_BYTES,
    KEYED_RECORD,
    info_rows,
    keyed_run,
    record_end,
    scan,
)
from cubinspec.model.function import attribute_names
from cubinspec.model.info import InfoRecord, read_records
from cubinspec.reader.streams import find_shape
from cubinspec_generated import codes
from cubinspec_generated.records import INFO_RECORD
from cubinspec_generated.tables import eiattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from cubinspec.model.symbol import SymbolList
    from cubinspec.reader.elf import Elf
    from cubinspec.reader.streams import Shape
    from cubinspec_generated.rows import Attribute

    #: The attributes of a function: records as bytes, and those that name symbols by code.
    Stream = tuple[bytes, tuple[tuple[int, bytes], ...]]

_PARAMETERS = frozenset((codes.EIATTR_KPARAM_INFO, codes.EIATTR_KPARAM_INFO_V2))
#: Attributes of the whole module, one record for each function.
_KEYED = frozenset(
    (
        codes.EIATTR_REGCOUNT,
        codes.EIATTR_FRAME_SIZE,
        codes.EIATTR_MIN_STACK_SIZE,
        codes.EIATTR_MAX_STACK_SIZE,
    )
)
#: Attributes that are a property of their own.
OWN_ATTRIBUTES = _KEYED | {
    codes.EIATTR_NUM_BARRIERS,
    codes.EIATTR_NUM_MBARRIERS,
    codes.EIATTR_MAX_THREADS,
    codes.EIATTR_REQNTID,
    codes.EIATTR_CTA_PER_CLUSTER,
    codes.EIATTR_MAX_CLUSTER_RANK,
    codes.EIATTR_MAXREG_COUNT,
    codes.EIATTR_CBANK_PARAM_SIZE,
    codes.EIATTR_PARAM_CBANK,
    *_PARAMETERS,
}
#: Streams of which the parameters are kept.
_KEPT = 1 << 16
#: Bytes of the number of a symbol in a record.
SYMBOL_BYTES = 4


def _names_symbols(attribute: Attribute) -> bool:
    tail = attribute.layout.tail
    return "symbol" in attribute.layout.references or (
        tail is not None and tail.reference == "symbol"
    )


_NAMING = frozenset(code for code, row in eiattr.ATTRIBUTES.items() if _names_symbols(row))
_NAMING_OTHERS = _NAMING - OWN_ATTRIBUTES


def stream_of(shape: Shape, body: bytes, symbols: SymbolList) -> Stream:
    """The attributes of a function, of this shape, without the numbers of symbols."""
    at = bank_word(shape, body)
    if at is None:
        return _with_names(shape.cut(body), symbols)
    if at < len(body):
        body = body[:at] + bytes(SYMBOL_BYTES) + body[at + SYMBOL_BYTES :]
    return body, ()


#: Of shapes that were asked for: where the symbol of a function's own bank stands, see below.
_bank_words: dict[Shape, int | None] = {}
_MAX_SHAPES = 1 << 12


def bank_word(shape: Shape, body: bytes) -> int | None:
    """Where the one number stands that may differ in two streams that say the same.

    Two streams with the same bytes before and behind it have equal :func:`stream_of`.

    Returns:
        The place of the number of a function's own bank, the end of the stream where it has none;
        ``None`` when other records name symbols, too.
    """
    try:
        return _bank_words[shape]
    except KeyError:
        pass
    at = shape.places.get(codes.EIATTR_PARAM_CBANK)
    found: int | None = len(body)
    if not _NAMING_OTHERS.isdisjoint(shape.places):
        found = None
    elif at is not None and at + HEAD_BYTES + SYMBOL_BYTES <= record_end(body, at):
        found = at + HEAD_BYTES
    if len(_bank_words) >= _MAX_SHAPES:
        _bank_words.clear()
    _bank_words[shape] = found
    return found


def _with_names(records: Sequence[bytes], symbols: SymbolList) -> Stream:
    kept, named = [], []
    for record in records:
        code = record[1]
        text = None
        if code in _NAMING_OTHERS:
            form, _, word = INFO_RECORD.unpack_from(record)
            text = said(InfoRecord(0, form, code, word, record[HEAD_BYTES:]), symbols)
        if text is not None:
            named.append((code, text))
        elif code != codes.EIATTR_PARAM_CBANK:  # its other numbers are a property
            kept.append(record)
    return b"".join(kept), tuple(named)


def said(record: InfoRecord, symbols: SymbolList) -> bytes | None:
    """What a record says, its symbols by name; ``None`` for one that names none."""
    names = [
        stable_name(symbols.name_of(number) or f"symbol {number}")
        for kind, number in record.references
        if kind == "symbol"
    ]
    if not names:
        return None
    text = "\0".join(names).encode("utf-8", "surrogateescape")
    # the symbols come first in every layout that has some
    return text + record.payload[SYMBOL_BYTES * len(names) :]


def records_of(body: bytes) -> Sequence[bytes]:
    """The records of a stream, each as its bytes."""
    shape, _ = find_shape(body)
    if shape is not None:
        return shape.cut(body)
    return [body[row[0] : row[0] + HEAD_BYTES + len(row[4])] for row in scan(body)[0]]


@lru_cache(maxsize=_KEPT)
def params_of(stream: Stream) -> tuple[bytes, ...]:
    """The records of parameters in a stream, each behind its code; they are asked for twice."""
    return _params_in(records_of(stream[0]))


def _params_in(records: Sequence[bytes]) -> tuple[bytes, ...]:
    found = [record for record in records if record[1] in _PARAMETERS]
    return tuple(sorted([record[1:2] + record[HEAD_BYTES:] for record in found]))


def attributes_of(stream: Stream) -> dict[str, str]:
    """What attributes say that are no properties of their own, by their names."""
    records = records_of(stream[0])
    return _named(_said_of(records, stream[1], {record[1] for record in records}))


def unlike_parts(
    one: Stream, other: Stream
) -> tuple[tuple[Any, Any] | None, tuple[dict[str, str], dict[str, str]]]:
    """What differs between two streams: parameters if they do, and other attributes.

    Most differ in a few records that stand in the same places, and only these are taken apart.
    """
    (body, named), (body_too, named_too) = one, other
    records, records_too = records_of(body), records_of(body_too)
    if len(records) == len(records_too):
        pairs = zip(records, records_too, strict=True)
        unlike = [record for pair in pairs if pair[0] != pair[1] for record in pair]
    else:
        unlike = [*records, *records_too]
    codes = {record[1] for record in unlike}
    params = None
    if not codes.isdisjoint(_PARAMETERS):
        params = _params_in(records), _params_in(records_too)
        if params[0] == params[1]:
            params = None
    said, said_too = _said_of(records, named, codes), _said_of(records_too, named_too, codes)
    return params, (_unlike_of(said, said_too), _unlike_of(said_too, said))


def _said_of(
    records: Sequence[bytes], named: Iterable[tuple[int, bytes]], codes: set[int]
) -> dict[int, list[bytes]]:
    """What records of some codes and all that name symbols say, by their codes."""
    found: dict[int, list[bytes]] = {}
    for record in records:
        code = record[1]
        if code in codes and code not in OWN_ATTRIBUTES:
            # a record without payload has its value in the head
            found.setdefault(code, []).append(record[HEAD_BYTES:] or record[2:HEAD_BYTES])
    for code, text in named:
        found.setdefault(code, []).append(text)
    return found


def _unlike_of(found: dict[int, list[bytes]], others: dict[int, list[bytes]]) -> dict[str, str]:
    return _named({code: said for code, said in found.items() if others.get(code) != said})


def _named(found: dict[int, list[bytes]]) -> dict[str, str]:
    shown = map(_shown, found.values())
    return dict(zip(attribute_names(found), shown, strict=True))


def module_attributes(records: Iterable[InfoRecord], symbols: SymbolList) -> dict[str, str]:
    """Attributes of a whole module, or compat records, by name."""
    found: dict[str, list[bytes]] = {}
    for record in records:
        text = said(record, symbols)
        body = text or record.payload or pack("<H", record.value)
        found.setdefault(record.name or f"{record.code:#x}", []).append(body)
    return {name: _shown(sorted(bodies)) for name, bodies in found.items()}


def module_records(elf: Elf, index: int) -> list[InfoRecord]:
    """The records in section ``index`` that are no property of one function.

    Nearly all in a module's stream are; runs of these are passed over together.
    """
    if elf.section_rows[index][1] == codes.SHT_CUDA_COMPAT_INFO:
        return read_records(elf, index)
    body, size = elf.section_bytes(index), KEYED_RECORD.size
    rest, at = [], 0
    while at + HEAD_BYTES <= len(body):
        count = keyed_run(body, at)
        if count and _KEYED.issuperset(body[at + 1 : at + count * size : size]):
            at += count * size
            continue
        stop = at + count * size if count else record_end(body, at)
        rest.append(body[at:stop])
        at = stop
    rest.append(body[at:])
    base, field = elf.section_rows[index][4], f"sections[{index}]"
    rows = info_rows(b"".join(rest), base, elf.file, field)
    return [InfoRecord(*row) for row in rows if row[2] not in _KEYED]


def _shown(bodies: list[bytes]) -> str:
    """What a record says, short enough to print: its bytes, or a digest of them."""
    whole = b"|".join(bodies)
    return whole.hex() if len(whole) <= 16 else digest(whole)
