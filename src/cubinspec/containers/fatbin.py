"""Fat binaries: the containers in which nvcc packs the images of a translation unit.

A container is a 16-byte header and entries up to exactly ``size``; an entry is a header (64 bytes,
more with an extension or an identifier) and a payload padded to 8. Listing reads headers only.

Source of fact: ``ksy/fatbin.ksy`` and ``ksy/tables/fatbin.yaml``.
"""

from __future__ import annotations

from struct import Struct

from cubinspec.errors import BadStructureError, CubinError, LimitError, TruncatedError
from cubinspec.limits import (
    BOMB_FLOOR_BYTES,
    MAX_IMAGE_BYTES,
    MAX_LZ4_RATIO,
    MAX_ZSTD_RATIO,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.containers.source import Source

MAGIC = 0xBA55ED50
MAGIC_BYTES = b"\x50\xed\x55\xba"
WRAPPER_MAGIC = 0x466243B1

CONTAINER = Struct("<IHHQ")
ENTRY = Struct("<HHIQIIHHIIIQQQ")

KIND_PTX, KIND_ELF, KIND_NVVM = 1, 2, 8
FLAG_64BIT = 0x1
FLAG_DEBUG = 0x2
FLAG_LINUX = 0x10
FLAG_LZ4 = 0x2000
FLAG_ZSTD = 0x8000
FLAG_LTO = 0x10000
FLAG_ARCH_SPECIFIC = 0x100000
FLAG_FAMILY_SPECIFIC = 0x200000
FLAG_COMPAT_COPY = 0x1000000

KIND_NAMES = {KIND_PTX: "ptx", KIND_ELF: "cubin", KIND_NVVM: "nvvm"}


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
        "lto_id",
        "number",
        "offset",
        "payload_size",
        "sm",
        "uncompressed_size",
        "version",
    )

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
            self.lto_id,
            self.uncompressed_size,
        ) = ENTRY.unpack(header)

    @property
    def kind_name(self) -> str:
        """``cubin``, ``ptx``, ``nvvm``, ``lto`` or ``unknown``."""
        if self.kind == KIND_NVVM and self.flags & FLAG_LTO:
            return "lto"
        return KIND_NAMES.get(self.kind, "unknown")

    @property
    def compression(self) -> str:
        """``none``, ``lz4``, ``zstd``; ``unknown`` for sizes that say so without a known flag."""
        if self.flags & FLAG_ZSTD:
            return "zstd"
        if self.flags & FLAG_LZ4:
            return "lz4"
        return "unknown" if self.uncompressed_size and self.compressed_size else "none"

    @property
    def variant(self) -> str:
        """``a``, ``f`` or nothing."""
        if self.flags & FLAG_ARCH_SPECIFIC:
            return "a"
        return "f" if self.flags & FLAG_FAMILY_SPECIFIC else ""

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
        return self.uncompressed_size if self.compression != "none" else self.payload_size


def looks_like_container(header: bytes) -> bool:
    """Whether 16 bytes are a container header and not the magic as a number in host code."""
    if len(header) < CONTAINER.size:
        return False
    magic, version, header_size, _ = CONTAINER.unpack_from(header)
    return magic == MAGIC and version == 1 and header_size == CONTAINER.size


def container_size(source: Source, offset: int) -> int:
    """Bytes after the header of the container at ``offset``.

    Raises:
        BadStructureError: this is no container, or of a version nobody has seen.
        TruncatedError: the source ends inside the header.
    """
    header = source.exactly(offset, CONTAINER.size, "fatbin.header")
    magic, version, header_size, size = CONTAINER.unpack(header)
    if magic != MAGIC or version != 1 or header_size != CONTAINER.size:
        raise BadStructureError(
            f"magic {magic:#x}, version {version}, header size {header_size}",
            file=source.name,
            offset=offset,
            field="fatbin.header",
            expected=f"magic {MAGIC:#x}, version 1, header size 16",
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
                offset=at + 4,
                field=f"fatbin.entries[{number}].header_size",
                expected=f"at least {ENTRY.size}",
            )
        following = at + entry.header_size + entry.payload_size
        if following > end:
            raise TruncatedError(
                f"the entry ends at {following:#x}, its container at {end:#x}",
                file=source.name,
                offset=at + 8,
                field=f"fatbin.entries[{number}].payload_size",
                expected=f"at most {max(0, end - at - entry.header_size)} bytes",
            )
        yield entry
        at = following
        number += 1


def payload(source: Source, entry: Entry) -> bytes:
    """The stored bytes of an entry: the exact compressed bytes, or the padded plain ones."""
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
    return source.exactly(entry.payload_offset, stored, f"fatbin.entries[{entry.number}].payload")


def image_bytes(source: Source, entry: Entry) -> bytes:
    """The image of an entry, decompressed; a stored image keeps its padding.

    Raises:
        BadStructureError: the compressed data is damaged or not of the size declared.
        LimitError: the declared size or ratio is above the limits.
    """
    data = payload(source, entry)
    how = entry.compression
    if how == "none":
        return data
    return decompress(data, how, entry.uncompressed_size, source, entry)


def decompress(data: bytes, how: str, size: int, source: Source, entry: Entry) -> bytes:
    """``size`` bytes out of ``data``; never allocates for a size that cannot be true."""

    def fault(reason: str, expected: str | None = None, limit: bool = False) -> CubinError:
        kind = LimitError if limit else BadStructureError
        return kind(
            reason,
            file=source.name,
            offset=entry.offset + 56 if limit else entry.payload_offset,
            field=f"fatbin.entries[{entry.number}]."
            + ("uncompressed_size" if limit else "payload"),
            expected=expected,
        )

    if size > MAX_IMAGE_BYTES:
        raise fault(f"{size} bytes declared", f"at most {MAX_IMAGE_BYTES}", limit=True)
    if how == "lz4":
        if size > MAX_LZ4_RATIO * len(data):
            raise fault(
                f"{size} bytes declared for {len(data)} compressed",
                f"at most {MAX_LZ4_RATIO} per byte, which is all that LZ4 can do",
                limit=True,
            )
        try:
            import lz4.block
        except ImportError as error:
            raise _missing("lz4", source) from error
        try:
            out: bytes = lz4.block.decompress(data, uncompressed_size=size)
        except Exception as error:  # lz4.block.LZ4BlockError; ValueError in old versions
            raise fault(f"the LZ4 data is damaged: {error}") from error
    elif how == "zstd":
        if size > BOMB_FLOOR_BYTES and size > MAX_ZSTD_RATIO * len(data):
            raise fault(
                f"{size} bytes declared for {len(data)} compressed",
                f"at most {MAX_ZSTD_RATIO} per byte",
                limit=True,
            )
        try:
            import zstandard
        except ImportError as error:
            raise _missing("zstandard", source) from error
        try:
            # The frame has a size of its own, which the library would allocate.
            parameters = zstandard.get_frame_parameters(data)
            if parameters.content_size not in (size, zstandard.CONTENTSIZE_UNKNOWN):
                raise fault(
                    f"the zstd frame holds {parameters.content_size} bytes",
                    f"{size}, as the entry says",
                )
            out = zstandard.ZstdDecompressor().decompress(
                data, max_output_size=size, allow_extra_data=False
            )
        except zstandard.ZstdError as error:
            raise fault(f"the zstd data is damaged: {error}") from error
    else:
        raise fault(
            f"compressed in a way that flags {entry.flags:#x} do not name",
            f"flag {FLAG_LZ4:#x} (LZ4) or {FLAG_ZSTD:#x} (zstd)",
        )
    if len(out) != size:
        raise fault(f"{len(out)} bytes come out", f"{size}, as the entry says")
    return out


def _missing(module: str, source: Source) -> CubinError:
    return CubinError(
        f"the Python package {module} is needed for this compression and is not installed",
        file=source.name,
        expected="pip install 'cubinspec[containers]'",
    )
