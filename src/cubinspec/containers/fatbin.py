"""Fat binaries: the containers in which nvcc packs the images of a translation unit.

A container is a 16-byte header and entries up to exactly ``size``; an entry is a header (64 bytes,
more with an extension or an identifier) and a payload padded to 8. Listing reads headers only.

Source of fact: ``ksy/fatbin.ksy`` and ``ksy/tables/fatbin.yaml``.
"""

from __future__ import annotations

from struct import Struct, calcsize

from cubinspec.errors import (
    BadStructureError,
    CubinError,
    LimitError,
    MissingPackageError,
    TruncatedError,
)
from cubinspec.limits import (
    BOMB_FLOOR_BYTES,
    MAX_DEFLATE_RATIO,
    MAX_IMAGE_BYTES,
    MAX_LZ4_RATIO,
    MAX_ZSTD_RATIO,
)
from cubinspec_generated import records
from cubinspec_generated.codes import (
    FATBIN_FLAG_ARCH_SPECIFIC,
    FATBIN_FLAG_COMPRESSED_LZ4,
    FATBIN_FLAG_COMPRESSED_LZ4_FRAME,
    FATBIN_FLAG_COMPRESSED_ZLIB,
    FATBIN_FLAG_COMPRESSED_ZSTD,
    FATBIN_FLAG_FAMILY_SPECIFIC,
    FATBIN_FLAG_SCRAMBLED,
    FATBIN_KIND_NVVM,
    FATBIN_MAGIC,
)
from cubinspec_generated.tables.fatbin import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.containers.arena import Arena
    from cubinspec.containers.source import Source

MAGIC_BYTES = FATBIN_MAGIC.to_bytes(4, "little")

CONTAINER = Struct(records.FAT_BLOCK.format + records.CONTAINER_HEAD.format.lstrip("<"))
ENTRY = records.ENTRY_HEAD
EXTENSION = records.EXTENSION_HEAD


def _place(field: str) -> int:
    """Offset of a field of an entry header, for messages."""
    from cubinspec_generated import record_fields

    before = record_fields.ENTRY_HEAD_FIELDS.index(field)
    return calcsize(ENTRY.format[: 1 + before])


#: The table's names of kinds in the words of users.
_WORDS = {"ELF": "cubin", "ELF_2": "cubin", "RELOCATABLE_PTX": "ptx"}
KIND_NAMES = {code: _WORDS.get(name, name.lower()) for code, name in KINDS.items()}

#: Compression by flag. Which one counts when several are set is not known; none has two.
COMPRESSIONS = (
    (FATBIN_FLAG_COMPRESSED_ZSTD, "zstd"),
    (FATBIN_FLAG_COMPRESSED_LZ4, "lz4"),
    (FATBIN_FLAG_COMPRESSED_LZ4_FRAME, "lz4-frame"),
    (FATBIN_FLAG_COMPRESSED_ZLIB, "zlib"),
)
MAX_RATIO = {
    "zstd": MAX_ZSTD_RATIO,
    "lz4": MAX_LZ4_RATIO,
    "lz4-frame": MAX_LZ4_RATIO,
    "zlib": MAX_DEFLATE_RATIO,
}
FLAGS_COMPRESSED = (
    FATBIN_FLAG_COMPRESSED_ZLIB
    | FATBIN_FLAG_COMPRESSED_LZ4
    | FATBIN_FLAG_COMPRESSED_LZ4_FRAME
    | FATBIN_FLAG_COMPRESSED_ZSTD
)


class Entry:
    """One entry's header, as the file has it.

    ``offset`` is where the header starts in its source; sizes are bytes.
    """

    __slots__ = (
        "code_version_major",
        "code_version_minor",
        "compressed_size",
        "extension_offset",
        "flags",
        "header_size",
        "ident_length",
        "ident_offset",
        "kind",
        "number",
        "offset",
        "payload_size",
        "scramble_word",
        "sm",
        "uncompressed_size",
        "version",
    )

    number: int
    offset: int
    kind: int
    version: int
    header_size: int
    payload_size: int
    compressed_size: int
    extension_offset: int
    code_version_minor: int
    code_version_major: int
    sm: int
    ident_offset: int
    ident_length: int
    flags: int
    scramble_word: int
    uncompressed_size: int

    def __init__(self, number: int, offset: int, header: bytes) -> None:
        self.number = number
        self.offset = offset
        (
            self.kind,
            self.version,
            self.header_size,
            self.payload_size,
            self.compressed_size,
            self.extension_offset,
            self.code_version_minor,
            self.code_version_major,
            self.sm,
            self.ident_offset,
            self.ident_length,
            self.flags,
            self.scramble_word,
            self.uncompressed_size,
        ) = ENTRY.unpack(header)

    @property
    def kind_name(self) -> str:
        """A value of ``KIND_NAMES``, ``lto`` for NVVM IR with options, or ``unknown``.

        Options are what ``nvcc -gencode code=lto_…`` stores for the compilation at link time.
        """
        if self.kind == FATBIN_KIND_NVVM and self.extension_offset:
            return "lto"
        return KIND_NAMES.get(self.kind, "unknown")

    @property
    def compression(self) -> str:
        """``none``, ``zstd``, ``lz4``, ``lz4-frame`` or ``zlib``."""
        for flag, name in COMPRESSIONS:
            if self.flags & flag:
                return name
        return "none"

    @property
    def scrambled(self) -> bool:
        """Whether the payload is unreadable by intent: so nvcc stores compressed LTO IR."""
        return bool(self.flags & FATBIN_FLAG_SCRAMBLED)

    @property
    def variant(self) -> str:
        """``a``, ``f`` or nothing."""
        if self.flags & FATBIN_FLAG_ARCH_SPECIFIC:
            return "a"
        return "f" if self.flags & FATBIN_FLAG_FAMILY_SPECIFIC else ""

    @property
    def payload_offset(self) -> int:
        return self.offset + self.header_size

    @property
    def stored_size(self) -> int:
        """Bytes of the payload without its padding, as far as the header says them."""
        return self.compressed_size or self.payload_size

    @property
    def size(self) -> int:
        """Bytes of the image; for a stored one the padding of up to 7 bytes is included."""
        return self.uncompressed_size if self.flags & FLAGS_COMPRESSED else self.payload_size


def looks_like_container(header: bytes) -> bool:
    """Whether 16 bytes are a container header and not the magic as a number in host code."""
    if len(header) < CONTAINER.size:
        return False
    magic, version, header_size, _ = CONTAINER.unpack_from(header)
    return bool(magic == FATBIN_MAGIC and version == 1 and header_size == CONTAINER.size)


def container_size(source: Source, offset: int) -> int:
    """Bytes after the header of the container at ``offset``.

    Raises:
        BadStructureError: this is no container, or of a version nobody has seen.
        TruncatedError: the source ends inside the header.
    """
    header = source.exactly(offset, CONTAINER.size, "fatbin.header")
    magic, version, header_size, size = CONTAINER.unpack(header)
    if magic != FATBIN_MAGIC or version != 1 or header_size != CONTAINER.size:
        raise BadStructureError(
            f"magic {magic:#x}, version {version}, header size {header_size}",
            file=source.name,
            offset=offset,
            field="fatbin.header",
            expected=f"magic {FATBIN_MAGIC:#x}, version 1, header size 16",
        )
    return int(size)


def entries(source: Source, offset: int, size: int) -> Iterator[Entry]:
    """The entries of the container at ``offset`` whose header says ``size``.

    Raises:
        TruncatedError: the source or the container ends inside an entry; entries before it have
            been yielded.
        BadStructureError: an entry header is smaller than its fixed part.
    """
    at = offset + CONTAINER.size
    end = at + size
    number = 0
    while at < end:
        if end - at < ENTRY.size:
            raise TruncatedError(
                f"{end - at} bytes are left in the container",
                file=source.name,
                offset=at,
                field=f"fatbin.entries[{number}]",
                expected=f"an entry header of {ENTRY.size} bytes, or the end",
            )
        header = source.exactly(at, ENTRY.size, f"fatbin.entries[{number}]")
        entry = Entry(number, at, header)
        if entry.header_size < ENTRY.size:
            raise BadStructureError(
                f"header size {entry.header_size}",
                file=source.name,
                offset=at + _place("len_header"),
                field=f"fatbin.entries[{number}].header_size",
                expected=f"at least {ENTRY.size}",
            )
        following = at + entry.header_size + entry.payload_size
        if following > end:
            raise TruncatedError(
                f"the entry ends at {following:#x}, its container at {end:#x}",
                file=source.name,
                offset=at + _place("len_payload"),
                field=f"fatbin.entries[{number}].payload_size",
                expected=f"at most {max(0, end - at - entry.header_size)} bytes",
            )
        if following > source.size:
            raise TruncatedError(
                f"the entry ends at {following:#x}, the file at {source.size:#x}",
                file=source.name,
                offset=at + _place("len_payload"),
                field=f"fatbin.entries[{number}].payload_size",
                expected=f"at most {max(0, source.size - at - entry.header_size)} bytes",
            )
        yield entry
        at = following
        number += 1


def ident(source: Source, entry: Entry) -> bytes | None:
    """The identifier of an entry, without its NUL; ``None`` when it has none."""
    if not entry.ident_offset:
        return None
    return _in_header(source, entry, entry.ident_offset, entry.ident_length, "ident")


def extension(source: Source, entry: Entry) -> bytes | None:
    """The extension of an entry; ``None`` when it has none.

    For PTX the ptxas options and a NUL, for NVVM IR its options and a NUL, for a cubin a NUL and
    a copy of its ``.nv.compat``.

    Raises:
        BadStructureError: it lies outside of the entry header.
    """
    if not entry.extension_offset:
        return None
    head = _in_header(source, entry, entry.extension_offset, EXTENSION.size, "extension")
    start, length = EXTENSION.unpack(head)
    return _in_header(source, entry, start, length + 1, "extension.data")


def _in_header(source: Source, entry: Entry, start: int, length: int, what: str) -> bytes:
    field = f"fatbin.entries[{entry.number}].{what}"
    if start + length > entry.header_size:
        raise BadStructureError(
            f"{length} bytes at {start:#x} of an entry header of {entry.header_size}",
            file=source.name,
            offset=entry.offset,
            field=field,
            expected="a range inside the entry header",
        )
    return source.exactly(entry.offset + start, length, field)


def payload(source: Source, entry: Entry) -> bytes:
    """The stored bytes of an entry: the exact compressed bytes, or the image with its padding.

    Raises:
        BadStructureError: the header has them larger than the payload.
        LimitError: they are above the limit.
    """
    size = _payload_size(source, entry)
    return source.exactly(entry.payload_offset, size, f"fatbin.entries[{entry.number}].payload")


def payload_into(source: Source, entry: Entry, arena: Arena) -> bytes | memoryview:
    """As :func:`payload`, read into an arena where the source can."""
    size = _payload_size(source, entry)
    data = source.glance(entry.payload_offset, size, arena.stored)
    return data if len(data) == size else payload(source, entry)


def _payload_size(source: Source, entry: Entry) -> int:
    stored = entry.stored_size
    if stored > entry.payload_size:
        raise BadStructureError(
            f"{stored} compressed bytes in a payload of {entry.payload_size}",
            file=source.name,
            offset=entry.offset + 16,
            field=f"fatbin.entries[{entry.number}].compressed_size",
            expected="at most payload_size",
        )
    if stored > MAX_IMAGE_BYTES:
        raise LimitError(
            f"an image of {stored} bytes",
            file=source.name,
            offset=entry.offset + 8,
            field=f"fatbin.entries[{entry.number}].payload_size",
            expected=f"at most {MAX_IMAGE_BYTES}",
        )
    return stored


def image_into(
    source: Source,
    entry: Entry,
    arena: Arena,
    *,
    is_paid: bool = False,
    most: int | None = None,
) -> memoryview:
    """The image of an entry, decompressed into an arena; a stored image keeps its padding.

    Args:
        is_paid: whether the budget of the source knows of it.
        most: bytes that are needed; where the compression allows, no more are decompressed.

    Raises:
        BadStructureError: the compressed data is damaged or not of the size declared.
        LimitError: the declared size or ratio is above the limits.
    """
    field = f"fatbin.entries[{entry.number}]"
    if entry.scrambled:
        raise CubinError(
            "the payload is scrambled by its producer and cannot be read",
            file=source.name,
            offset=entry.offset + _place("flags"),
            field=f"{field}.flags",
            expected=f"flags without {FATBIN_FLAG_SCRAMBLED:#x}",
        )
    how = entry.compression
    if how == "none":
        return memoryview(payload(source, entry))
    stored = _payload_size(source, entry)
    size = entry.uncompressed_size
    _check_ratio(source, entry, stored)
    if not is_paid:
        source.budget.spend("expanded", size)
    try:
        data = source.glance(entry.payload_offset, stored, arena.stored)
        if len(data) != stored:
            source.exactly(entry.payload_offset, stored, f"{field}.payload")  # raises
        if most is not None and most < size and how == "zstd":
            size, out = most, arena.view(most)
        else:
            out = arena.view(size + 1)  # the last byte is for what is larger than declared
        found = _DECOMPRESS[how](data, out)
        if found != size:
            raise ValueError(f"{found} bytes come out")
    except CubinError:
        raise
    except ImportError as error:
        raise MissingPackageError.of(
            error.name or "cramjam",
            f"{how} data",
            file=source.name,
            offset=entry.payload_offset,
            field=f"{field}.payload",
        ) from error
    except MemoryError as error:
        raise LimitError(
            f"no memory for {size} bytes",
            file=source.name,
            offset=entry.offset + _place("len_uncompressed"),
            field=f"{field}.uncompressed_size",
        ) from error
    except Exception as error:
        # Each library has an exception of its own (zstandard.ZstdError, zlib.error);
        # naming them here would import one that this entry does not need.
        raise BadStructureError(
            f"the {how} data is damaged or not of the size declared: {error}",
            file=source.name,
            offset=entry.payload_offset,
            field=f"{field}.payload",
            expected=f"{how} data of {size} bytes",
        ) from error
    return out[:size]


def _check_ratio(source: Source, entry: Entry, stored: int) -> None:
    """Refuse what no honest compression makes of the stored bytes."""
    size, how = entry.uncompressed_size, entry.compression
    ratio = MAX_RATIO[how]
    # zstd writes a page of one byte in no space, so its ratio counts for large images only
    is_bomb = size > ratio * stored and (how != "zstd" or size > BOMB_FLOOR_BYTES)
    if size > MAX_IMAGE_BYTES or is_bomb:
        raise LimitError(
            f"{size} bytes declared for {stored} compressed with {how}",
            file=source.name,
            offset=entry.offset + _place("len_uncompressed"),
            field=f"fatbin.entries[{entry.number}].uncompressed_size",
            expected=f"at most {ratio} per byte and {MAX_IMAGE_BYTES} in all",
        )


def _zstd(data: bytes | memoryview, out: memoryview) -> int:
    import zstandard

    # an entry that does not give its compressed size has padding behind the frame
    reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=False)
    return reader.readinto(out)


def _lz4(data: bytes | memoryview, out: memoryview) -> int:
    import cramjam

    size: int = cramjam.lz4.decompress_block_into(data, out[:-1], output_len=len(out) - 1)
    return size


def _lz4_frame(data: bytes | memoryview, out: memoryview) -> int:
    import cramjam

    size: int = cramjam.lz4.decompress_into(data, out)
    return size


def _zlib(data: bytes | memoryview, out: memoryview) -> int:
    import zlib

    image = zlib.decompressobj().decompress(data, len(out))
    out[: len(image)] = image
    return len(image)


#: Each decompresses into a piece of memory, and says how many bytes it wrote.
_DECOMPRESS = {"zstd": _zstd, "lz4": _lz4, "lz4-frame": _lz4_frame, "zlib": _zlib}
