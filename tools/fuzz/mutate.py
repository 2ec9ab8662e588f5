"""Damage to real files: blind (bits, bytes, runs) and aimed (one field of one record)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from struct import Struct

from cubinspec.format.sections import (
    CALLGRAPH_TYPES,
    INFO_TYPES,
    PROTOTYPE_TYPES,
    RELOCATION_TYPES,
    SYMBOL_TABLE_TYPES,
)
from cubinspec_generated import record_fields, records
from cubinspec_generated.codes import (
    EI_CLASS,
    EI_NIDENT,
    EIFMT_SVAL,
    ELFCLASS64,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_REL,
)

#: Offset, layout and field names of one record of the file, and what it is called.
Record = tuple[int, Struct, tuple[str, ...], str]

PAIR_TYPES = CALLGRAPH_TYPES | PROTOTYPE_TYPES
RELA_TYPES = RELOCATION_TYPES - {SHT_REL}

#: Values at the edges of the types that occur.
EDGES = (
    *(0, 1, 2, 3, 4, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFF1, 0xFFFE, 0xFFFF),
    *(0x10000, 0x7FFFFFFF, 0x80000000, (1 << 32) - 4, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1),
    *(1 << 63, (1 << 64) - 8, (1 << 64) - 1),
)
_SIGNED = {"b": "B", "h": "H", "i": "I", "q": "Q"}
_WIDTHS = {"B": 1, "H": 2, "I": 4, "Q": 8}
_LONGEST_RUN = 256
#: How often each byte may belong to a section; in real files it is once.
_MOST_CLAIMS = 2


def known_records(data: bytes) -> list[Record]:
    """Every record of a cubin: headers, symbols, relocations, attributes, pairs.

    Raises:
        ValueError: a table or a section is not in the file.
    """
    is_64 = data[EI_CLASS] == ELFCLASS64
    header = records.ELF_HEADER_64 if is_64 else records.ELF_HEADER_32
    fields = header.unpack_from(data, EI_NIDENT)
    phoff, shoff, phnum, shnum = fields[4], fields[5], fields[9], fields[11]
    found: list[Record] = [(EI_NIDENT, header, record_fields.ELF_HEADER_64_FIELDS, "header")]
    segment = records.PROGRAM_HEADER_64 if is_64 else records.PROGRAM_HEADER_32
    names: tuple[str, ...] = (
        record_fields.PROGRAM_HEADER_64_FIELDS if is_64 else record_fields.PROGRAM_HEADER_32_FIELDS
    )
    found += _table(phoff, phnum * segment.size, segment, names, "program_headers")
    section = records.SECTION_HEADER_64 if is_64 else records.SECTION_HEADER_32
    names = record_fields.SECTION_HEADER_64_FIELDS
    found += _table(shoff, shnum * section.size, section, names, "section_headers")
    if max(phoff + phnum * segment.size, shoff + shnum * section.size) > len(data):
        raise ValueError("a table is not in the file")
    claimed = 0
    for number in range(shnum):
        row = section.unpack_from(data, shoff + number * section.size)
        claimed += 0 if row[1] == SHT_NOBITS else row[5]
        if (row[1] != SHT_NOBITS and row[4] + row[5] > len(data)) or claimed > _MOST_CLAIMS * len(
            data
        ):
            raise ValueError(f"section {number} is not in the file")
        found += _body(data, is_64, row[1], row[4], row[5], f"sections[{number}]")
    return [record for record in found if record[0] + record[1].size <= len(data)]


def _table(
    start: int, size: int, layout: Struct, names: tuple[str, ...], path: str
) -> list[Record]:
    return [
        (start + at, layout, names, f"{path}[{at // layout.size}]")
        for at in range(0, size - layout.size + 1, layout.size)
    ]


def _body(data: bytes, is_64: bool, kind: int, start: int, size: int, path: str) -> list[Record]:
    if kind in SYMBOL_TABLE_TYPES:
        if is_64:
            return _table(start, size, records.SYMBOL_64, record_fields.SYMBOL_64_FIELDS, path)
        return _table(start, size, records.SYMBOL_32, record_fields.SYMBOL_32_FIELDS, path)
    if kind == SHT_REL:
        if is_64:
            return _table(start, size, records.REL_64, record_fields.REL_64_FIELDS, path)
        return _table(start, size, records.REL_32, record_fields.REL_32_FIELDS, path)
    if kind in RELA_TYPES:
        if is_64:
            return _table(start, size, records.RELA_64, record_fields.RELA_64_FIELDS, path)
        return _table(start, size, records.RELA_32, record_fields.RELA_32_FIELDS, path)
    if kind in PAIR_TYPES:
        layout, names = records.CALLGRAPH_ENTRY, record_fields.CALLGRAPH_ENTRY_FIELDS
        return _table(start, size, layout, names, path)
    found: list[Record] = []
    if kind == SHT_NOTE:
        found.append((start, records.NOTE_HEADER, record_fields.NOTE_HEADER_FIELDS, path))
        tail = start + 12 + 12
        found += _table(tail, size - 24, records.SINGLE_WORD, ("word",), f"{path}.desc")
    elif kind in INFO_TYPES:
        at, end = start, start + size
        while at + 4 <= end:
            record = (
                at,
                records.INFO_RECORD,
                record_fields.INFO_RECORD_FIELDS,
                f"{path}@{at - start}",
            )
            found.append(record)
            form, _, value = records.INFO_RECORD.unpack_from(data, at)
            at += 4
            if form == EIFMT_SVAL:
                found += _table(at, value, records.SINGLE_WORD, ("word",), f"{path}.payload")
                at += value
    return found


class Mutator:
    """Makes damaged variants of one file.

    Args:
        data: a well-formed cubin.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.records = known_records(data)
        # One list per kind of record, so that a thousand symbols do not hide one header.
        kinds: dict[str, list[Record]] = {}
        for record in self.records:
            kinds.setdefault(record[3].partition("[")[0] + str(record[2]), []).append(record)
        self._kinds = list(kinds.values())

    def mutate(self, random: Random) -> tuple[bytes, str]:
        """A damaged copy and the story of the damage, steps parted by ``; ``."""
        data = bytearray(self.data)
        story = []
        for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
            step: Callable[[bytearray, Random], str] = random.choice(
                (self.field, self.field, self.field, *_BLIND)
            )
            story.append(step(data, random))
        return bytes(data), "; ".join(story)

    def field(self, data: bytearray, random: Random) -> str:
        """Give one field of one record another value."""
        at, layout, names, path = random.choice(random.choice(self._kinds))
        number = random.randrange(len(names))
        if at + layout.size > len(data):
            return f"{path} is cut off"
        values = list(layout.unpack_from(data, at))
        code = _codes(layout)[number]
        bits = 8 * _WIDTHS[code]
        old = values[number]
        near = (old - 1, old + 1, old ^ (1 << random.randrange(bits)), len(data), len(data) - old)
        other = random.choice(random.choice(self._kinds))
        borrowed = other[1].unpack_from(self.data, other[0])[0]
        value = random.choice((*EDGES, *near, *near, borrowed)) % (1 << bits)
        values[number] = value
        Struct("<" + "".join(_codes(layout))).pack_into(
            data,
            at,
            *(v % (1 << 8 * _WIDTHS[c]) for v, c in zip(values, _codes(layout), strict=True)),
        )
        return f"{path}.{names[number]} {old:#x} -> {value:#x}"


def _codes(layout: Struct) -> list[str]:
    """One struct code per value, unsigned."""
    return [_SIGNED.get(code, code) for code in layout.format.lstrip("<")]


def _flip(data: bytearray, random: Random) -> str:
    if not data:
        return "nothing to flip"
    at, bit = random.randrange(len(data)), random.randrange(8)
    data[at] ^= 1 << bit
    return f"bit {bit} of byte {at:#x} flipped"


def _overwrite(data: bytearray, random: Random) -> str:
    at = random.randrange(len(data) + 1)
    value = random.choice((0, 1, 4, 0x7F, 0x80, 0xFF))
    size = min(random.choice((1, 2, 4, 8, 64)), len(data) - at)
    data[at : at + size] = bytes([value]) * size
    return f"{size} bytes at {at:#x} set to {value:#x}"


def _truncate(data: bytearray, random: Random) -> str:
    size = random.randrange(len(data) + 1)
    del data[size:]
    return f"cut off at {size:#x}"


def _insert(data: bytearray, random: Random) -> str:
    at, size = random.randrange(len(data) + 1), random.randrange(_LONGEST_RUN)
    data[at:at] = bytes([random.randrange(256)]) * size
    return f"{size} bytes inserted at {at:#x}"


def _delete(data: bytearray, random: Random) -> str:
    at, size = random.randrange(len(data) + 1), random.randrange(_LONGEST_RUN)
    del data[at : at + size]
    return f"{size} bytes deleted at {at:#x}"


def _copy(data: bytearray, random: Random) -> str:
    source, target = random.randrange(len(data) + 1), random.randrange(len(data) + 1)
    run = data[source : source + random.randrange(_LONGEST_RUN)]
    run = run[: len(data) - target]
    data[target : target + len(run)] = run
    return f"{len(run)} bytes copied from {source:#x} to {target:#x}"


_BLIND = (_flip, _flip, _overwrite, _truncate, _insert, _delete, _copy)


class BytesMutator:
    """Makes damaged variants of a file of any format.

    Args:
        data: a well-formed file.
        dictionary: words that its format knows.
    """

    def __init__(self, data: bytes, dictionary: Sequence[bytes]) -> None:
        self.data = data
        self.dictionary = dictionary

    def mutate(self, random: Random) -> tuple[bytes, str]:
        """A damaged copy and the story of the damage; sums of tar headers are right again."""
        data = bytearray(self.data)
        story = []
        for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
            step = random.choice((self._number, self._number, self._word, *_BLIND))
            story.append(step(data, random))
        if random.random() < _REPAIRED:
            _repair_tar(data)
        return bytes(data), "; ".join(story)

    def _number(self, data: bytearray, random: Random) -> str:
        """An aligned number, mostly one of the first ones."""
        width = random.choice((1, 2, 4, 8))
        end = min(len(data), random.choice((64, 600, len(data) + 1)))
        at = random.randrange(end + 1) & -width
        old = int.from_bytes(data[at : at + width], "little")
        value = random.choice((*EDGES, old - 1, old + 1, len(data), len(data) - at))
        data[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
        return f"{width} bytes at {at:#x} {old:#x} -> {value:#x}"

    def _word(self, data: bytearray, random: Random) -> str:
        word, at = random.choice(self.dictionary), random.randrange(len(data) + 1)
        behind = at + random.choice((0, len(word)))
        data[at:behind] = word
        return f"{word!r} at {at:#x}"


#: How often the sums of tar headers are put right: a wrong one ends the reading at once.
_REPAIRED = 0.8
_TAR_BLOCK, _TAR_MAGIC, _TAR_SUM = 512, slice(257, 262), slice(148, 156)


def _repair_tar(data: bytearray) -> None:
    for at in range(0, len(data) - _TAR_BLOCK + 1, _TAR_BLOCK):
        block = data[at : at + _TAR_BLOCK]
        if block[_TAR_MAGIC] == b"ustar":
            block[_TAR_SUM] = b" " * 8
            block[_TAR_SUM] = b"%06o\0 " % sum(block)
            data[at : at + _TAR_BLOCK] = block


class TextMutator:
    """Makes damaged variants of a document, by lines and by words."""

    def __init__(self, text: str, dictionary: Sequence[bytes]) -> None:
        self.data = text.encode()
        self._lines = text.splitlines(keepends=True)
        self._dictionary = dictionary

    def mutate(self, random: Random) -> tuple[bytes, str]:
        """A damaged copy and the story of the damage."""
        lines = list(self._lines)
        story = []
        for _ in range(random.choice((1, 1, 2, 4))):
            at = random.randrange(len(lines))
            kind = random.choice(("drop", "repeat", "swap", "word", "word", "word", "cut"))
            story.append(f"{kind} line {at + 1}")
            if kind == "drop" and len(lines) > 1:
                del lines[at]
            elif kind == "repeat":
                lines[at:at] = [lines[at]] * random.choice((1, 1, 2, 50))
            elif kind == "swap":
                other = random.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            elif kind == "cut":
                lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
            else:
                lines[at] = self._changed(lines[at], random)
        return "".join(lines).encode(), "; ".join(story)

    def _changed(self, line: str, random: Random) -> str:
        """The line with another word in the place of one."""
        words = line.split(" ")
        word = random.choice(self._dictionary).decode("latin-1")
        number = str(random.choice((*EDGES, -1)))
        given = random.choice(self._lines).split(" ")
        punctuation = random.choice(("[", "]", "{", "}", ":", "-", "*a", "&a", "!", "|", "\t"))
        words[random.randrange(len(words))] = random.choice(
            (word, number, number, random.choice(given), punctuation)
        )
        return " ".join(words)
