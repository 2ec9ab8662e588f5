"""Section contents to bodies: how the bytes of each kind become records.

Bytes that are no such records (a forged or truncated stream) stay bytes.
"""

from __future__ import annotations

from itertools import pairwise
from struct import Struct, unpack, unpack_from

from cubinspec.errors import CubinError
from cubinspec.format.attributes import ShapeCache, info_rows, keyed_run
from cubinspec.format.notes import note_rows
from cubinspec.format.packing import split
from cubinspec.format.sections import (
    CALLGRAPH_TYPES,
    INFO_TYPES,
    PROTOTYPE_TYPES,
    RELOCATION_TYPES,
    UNIFIED_ENTRY_TYPES,
)
from cubinspec.format.strings import StringTable
from cubinspec_generated import records
from cubinspec_generated.codes import (
    EMFMT_STRING,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_METADATA,
    SHT_CUDA_RELOCINFO,
    SHT_NOTE,
    SHT_REL,
)
from cubinspec_writer.emitter import bodies, runs
from cubinspec_writer.emitter.packed import InfoShape, KeyedShape, PackedInfo, PackedPairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from cubinspec.reader.elf import Buffer
    from cubinspec_writer.emitter.bodies import AttributeRecord
    from cubinspec_writer.emitter.model import Body

    #: The name of the records, for messages, and a function that makes a body of the bytes and the
    #: name of a section.
    Decoder = tuple[str, Callable[[bytes, str], Body]]

#: An attribute with a payload of two words; here the payload stays in one piece.
_KEYED_ATTRIBUTE = Struct(f"{records.INFO_RECORD.format}{records.FUNCTION_VALUE.size}s")
#: The record of a relocation, by whether it has an addend and whether the file is ELF64.
_RELOCATION_RECORDS = {
    (False, False): records.REL_32,
    (False, True): records.REL_64,
    (True, False): records.RELA_32,
    (True, True): records.RELA_64,
}
#: Limits of what is cached of attribute streams: shapes of each size, bytes of a stream.
_MAX_STREAMS, _MAX_STREAM_BYTES = 16, 2048
#: A section of so many bytes is a run of its own; so many bytes are read at once.
LARGE = 1 << 16


class InfoReader:
    """Reads the attribute streams of one file, which has many of them and few shapes."""

    def __init__(self) -> None:
        self._shapes = ShapeCache(
            with_codes=False, per_size=_MAX_STREAMS, longest=_MAX_STREAM_BYTES
        )

    def read(self, data: bytes) -> bodies.InfoRecords | PackedInfo:
        """The records of a stream.

        Raises:
            TruncatedError: a record or its payload runs over the end of the stream.
        """
        if len(data) > _MAX_STREAM_BYTES:
            if not _is_keyed(data):
                return bodies.InfoRecords(_attributes(data))
            keyed = KeyedShape(len(data))
            return PackedInfo(keyed, split(keyed.record, data))
        shape: InfoShape | None = self._shapes.find(data)
        if shape is not None:
            return PackedInfo(shape, shape.record.unpack(data))
        found = _attributes(data)
        self._shapes.add(data, [(form, word) for form, _, word, _ in found], InfoShape(found))
        return bodies.InfoRecords(found)

    def shape(self, data: bytes) -> InfoShape:
        """The shape of a stream.

        Raises:
            TruncatedError: a record or its payload runs over the end of the stream.
        """
        return InfoShape(_attributes(data))


def _is_keyed(data: bytes) -> bool:
    """Whether a stream has nothing but records with a payload of two words."""
    at = 0
    while count := keyed_run(data, at):
        at += count * _KEYED_ATTRIBUTE.size
    return at == len(data)


def _attributes(data: bytes) -> list[AttributeRecord]:
    found: list[AttributeRecord] = []
    at = 0
    while count := keyed_run(data, at):
        end = at + count * _KEYED_ATTRIBUTE.size
        found += _KEYED_ATTRIBUTE.iter_unpack(data[at:end])
        at = end
    rows = info_rows(data[at:], at, "", "")
    found += [(form, code, value, payload) for _, form, code, value, payload in rows]
    return found


def _pairs(data: bytes, strtab: StringTable, all_signatures: bool) -> PackedPairs:
    """The rows of a call graph; of prototypes, in which all second words are signatures."""
    if len(data) % records.CALLGRAPH_ENTRY.size:
        raise CubinError("no whole number of rows")
    words: list[Any] = [*unpack(f"<{len(data) // bodies.WORD.size}I", data)]
    seconds = words[1::2]
    marks = []
    if not all_signatures:
        marks = [
            at
            for at, b in enumerate(seconds)
            if b in bodies.CALLGRAPH_MARKERS and not words[2 * at]
        ]
    for mark, end in pairwise([-1, *marks, len(seconds)]):
        if all_signatures or (mark >= 0 and seconds[mark] in bodies.SIGNATURE_MARKERS):
            part = seconds[mark + 1 : end]
            texts = {offset: strtab.get(offset) for offset in {*part} if offset}
            words[2 * mark + 3 : 2 * end : 2] = [texts.get(word, word) for word in part]
    return PackedPairs(words)


def _tool_note(desc: bytes) -> bodies.ToolNote | bodies.RawNote:
    if len(desc) < records.TKINFO_HEAD.size:
        return bodies.RawNote(desc)
    note_version, *offsets = records.TKINFO_HEAD.unpack_from(desc)
    pool = StringTable(desc[records.TKINFO_HEAD.size :], 0, "", "")
    try:
        file, tool, version, branch, arguments = [pool.get(offset) for offset in offsets]
    except CubinError:
        return bodies.RawNote(desc)
    note = bodies.ToolNote(note_version, file, tool, version, branch, arguments)
    if note.encode() == desc:
        return note
    note.padding = 0
    padding = len(desc) - len(note.encode())
    if padding < 0:
        return bodies.RawNote(desc)
    note.padding = padding
    return note if note.encode() == desc else bodies.RawNote(desc)


def _notes(data: bytes, name: str) -> bodies.Notes:
    notes = []
    for _, kind, owner, desc in note_rows(data, 0, "", ""):
        descriptor: bodies.ToolNote | bodies.CuinfoNote | bodies.CuverNote | bodies.RawNote = (
            bodies.RawNote(desc)
        )
        if name == ".note.nv.tkinfo":
            descriptor = _tool_note(desc)
        elif name == ".note.nv.cuinfo" and len(desc) == records.CUINFO.size:
            descriptor = bodies.CuinfoNote(*records.CUINFO.unpack(desc))
        elif name == ".note.nv.cuver" and len(desc) == records.CUVER.size:
            descriptor = bodies.CuverNote(*records.CUVER.unpack(desc))
        notes.append(bodies.Note(kind, owner.decode("utf-8", "surrogateescape"), descriptor))
    result = bodies.Notes(notes)
    if result.size != len(data):
        result.padded = False
    return result


def _rel_action(data: bytes) -> bodies.RelocActions:
    head = records.REL_ACTION_HEADER
    base, reserved = head.unpack_from(data)
    return bodies.RelocActions(
        base, reserved, list(records.REL_ACTION_ENTRY.iter_unpack(data[head.size :]))
    )


def _relocations(data: bytes, rela: bool, is_64: bool) -> bodies.Relocations:
    """The entries of a relocation section; bytes behind the last whole one are left out."""
    word, width = 8 if is_64 else 4, 3 if rela else 2
    number = len(data) // (word * width) * width
    return bodies.Relocations(rela, unpack_from(f"<{number}{'Q' if is_64 else 'I'}", data), is_64)


def decoder(sh_type: int, strtab: StringTable, is_64: bool, info: InfoReader) -> Decoder | None:
    """The decoder for sections of a type that need nothing but their bytes and ``.strtab``.

    Returns:
        ``None`` for types that are kept as bytes. A decoder raises CubinError or StructError where
        there are no such records.
    """
    if sh_type in INFO_TYPES:
        return "records", lambda data, name: info.read(data)
    if sh_type in RELOCATION_TYPES:
        rela = sh_type != SHT_REL
        return "relocations", lambda data, name: _relocations(data, rela, is_64)
    if sh_type in CALLGRAPH_TYPES:
        return "call graph", lambda data, name: _pairs(data, strtab, False)
    if sh_type in PROTOTYPE_TYPES:
        return "prototypes", lambda data, name: _pairs(data, strtab, True)
    if sh_type == SHT_NOTE:
        return "notes", _notes
    if sh_type == SHT_CUDA_RELOCINFO:
        return "relocation actions", lambda data, name: _rel_action(data)
    if sh_type in UNIFIED_ENTRY_TYPES:
        rows = records.UFT_ENTRY.iter_unpack
        return "uft entries", lambda data, name: bodies.UftEntries([*rows(data)])
    if sh_type == SHT_CUDA_METADATA:
        return "metadata", lambda data, name: _metadata(data, strtab)
    if sh_type == SHT_CUDA_CAPMERC:
        return "records", _capsule
    return None


def _metadata(data: bytes, strtab: StringTable) -> bodies.Metadata:
    """The nodes of ``.nv.metadata``, with texts in place of their offsets."""
    from cubinspec.format.metadata import metadata_rows  # few files have any

    nodes: list[bodies.MetadataNode] = []
    for number, ofs_name, pairs, _ in metadata_rows(data):
        values: list[tuple[int, int | str]] = [
            (form, strtab.get(value) if form == EMFMT_STRING else value) for form, value in pairs
        ]
        nodes.append((number, strtab.get(ofs_name), values))
    result = bodies.Metadata(nodes)
    if result.size != len(data):
        raise CubinError("no whole number of nodes")
    return result


def _capsule(data: bytes, name: str) -> bodies.Capsule | bodies.Blob:
    if len(data) < bodies.WORD.size:
        return bodies.Blob(data)
    return bodies.Capsule(bodies.WORD.unpack_from(data)[0], data[bodies.WORD.size :])


def neighbours(starts: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Groups of sections without gaps between them: the first, and the one behind the last.

    A group has at most :data:`LARGE` bytes, or one section: a step needs little memory beside its
    result.
    """
    first = size = 0
    end = starts[0]
    for at, (start, of_section) in enumerate(zip(starts, sizes, strict=True)):
        if start != end or (size and size + of_section > LARGE):
            yield first, at
            first, size = at, 0
        size += of_section
        end = start + of_section
    yield first, len(sizes)


def record_run(
    data: Buffer,
    sh_type: int,
    first: int,
    start: int,
    sizes: Sequence[int],
    is_64: bool,
    info: InfoReader,
) -> runs.Run | None:
    """Relocation sections or attribute streams of one type that stand one behind the other.

    Args:
        first: number of the first section.
        start: its offset.

    Returns:
        ``None`` if they are not all well formed, or are of another type.
    """
    if sh_type in RELOCATION_TYPES:
        return _read_relocations(data, sh_type, first, start, sizes, is_64)
    if sh_type in INFO_TYPES:
        try:
            return _read_info(data, first, start, sizes, info)
        except CubinError:
            return None
    return None


def _read_relocations(
    data: Buffer, sh_type: int, first: int, start: int, sizes: Sequence[int], is_64: bool
) -> runs.RelocationRun | None:
    rela = sh_type != SHT_REL
    record = _RELOCATION_RECORDS[rela, is_64]
    if any(size % record.size for size in sizes):
        return None
    columns = split(record, bytes(data[start : start + sum(sizes)]))
    return runs.RelocationRun(first, sizes, record, columns, rela, is_64)


def _read_info(
    data: Buffer,
    first: int,
    start: int,
    sizes: Sequence[int],
    info: InfoReader,
) -> runs.InfoRun | None:
    if max(sizes) > _MAX_STREAM_BYTES:
        return None
    group = bytes(data[start : start + sum(sizes)])  # one read for all of them
    contents: dict[int, list[bytes]] = {size: [] for size in sizes}
    at = 0
    for size in sizes:
        contents[size].append(group[at : at + size])
        at += size
    shapes: dict[int, tuple[InfoShape, Sequence[Sequence[int]]]] = {}
    single: dict[int, list[bodies.InfoRecords | PackedInfo]] = {}
    for size, found in contents.items():
        if size and len(found) > 1:
            shape = info.shape(found[0])
            if shape.record.size == size and not size % bodies.WORD.size:
                columns = split(shape.words, b"".join(found))
                if shape.fits_all(columns):
                    shapes[size] = shape, columns
                    found.clear()
                    continue
        single[size] = [info.read(stream) for stream in found]
        if any(stream.size != size for stream in single[size]):
            return None
    return runs.InfoRun(first, sizes, shapes, single)
