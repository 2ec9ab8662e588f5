"""Writing fat binaries: from images as ``fatbinary`` 13.0.88 does it, or from a parsed container.

What was found by giving ``fatbinary`` files and looking at what came out (kept as tests):

* An identifier with its NUL follows the fixed header, then an extension; each is padded to 8. The
  extension is ``u32 data offset, u32 length`` and ``length + 1`` bytes: for PTX always, the ptxas
  options and a NUL; for cubins that have a ``.nv.compat`` and a target with a Mercury capsule, a
  NUL and a copy of that section.
* PTX is stored without comments and superfluous blanks (:func:`compact_ptx`) and with a NUL.
* PTX is compressed unless told not to; cubins only with ``--compress-all``, ``-g``, ``-c`` or mode
  ``size``. ``default`` and ``balance`` are zstd level 5, ``size`` is level 19, ``speed`` is an LZ4
  block, whose encoder is not the one of the LZ4 library: same format, other bytes.
"""

from __future__ import annotations

from cubinspec.containers import fatbin
from cubinspec.containers.elf_host import ElfFrame, cubin_arch
from cubinspec.containers.source import BytesSource, Source
from cubinspec.errors import BadStructureError, CubinError, MissingPackageError, NotCubinError
from cubinspec.format.targets import family_of
from cubinspec.reader.elf import is_cubin_header
from cubinspec_generated.codes import (
    EI_ABIVERSION,
    ELFCLASS32,
    FATBIN_FLAG_ADDRESS_64,
    FATBIN_FLAG_ARCH_SPECIFIC,
    FATBIN_FLAG_COMPRESSED_LZ4,
    FATBIN_FLAG_COMPRESSED_ZSTD,
    FATBIN_FLAG_DEBUG,
    FATBIN_FLAG_FAMILY_SPECIFIC,
    FATBIN_FLAG_HAS_COMPAT,
    FATBIN_FLAG_HOST_LINUX,
    FATBIN_KIND_ELF,
    FATBIN_KIND_PTX,
    FATBIN_MAGIC,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ENTRY_VERSION = 0x101
#: ``--compress-mode`` of fatbinary: zstd level, or ``None`` for LZ4.
ZSTD_LEVELS = {"default": 5, "balance": 5, "size": 19}
MODES = ("default", "balance", "size", "speed", "none")
_VARIANT_FLAGS = {
    "": 0,
    "a": FATBIN_FLAG_ARCH_SPECIFIC,
    "f": FATBIN_FLAG_FAMILY_SPECIFIC,
}


class NewEntry:
    """One entry to be written: what cannot be computed from the rest.

    Attributes:
        payload: the stored bytes, compressed or not, without padding.
        uncompressed_size: bytes before compression; 0 when not compressed.
        ident: identifier, or ``None``.
        extension: ptxas or NVVM options with their NUL, or a NUL and a copy of ``.nv.compat``;
            ``None`` for no extension.
    """

    __slots__ = (
        "code_version",
        "extension",
        "flags",
        "ident",
        "kind",
        "payload",
        "scramble_word",
        "sm",
        "uncompressed_size",
        "version",
    )

    def __init__(
        self,
        kind: int,
        sm: int,
        payload: bytes,
        *,
        flags: int,
        code_version: tuple[int, int],
        uncompressed_size: int = 0,
        ident: bytes | None = None,
        extension: bytes | None = None,
        version: int = ENTRY_VERSION,
        scramble_word: int = 0,
    ) -> None:
        self.kind: int = kind
        self.sm: int = sm
        self.payload: bytes = payload
        self.flags: int = flags
        self.code_version: tuple[int, int] = code_version
        self.uncompressed_size: int = uncompressed_size
        self.ident: bytes | None = ident
        self.extension: bytes | None = extension
        self.version: int = version
        self.scramble_word: int = scramble_word

    def to_bytes(self) -> bytes:
        """Header, identifier, extension and padded payload."""
        tail = b""
        if self.ident is not None:
            tail = _padded(self.ident + b"\0")
        extension_offset = 0
        if self.extension is not None:
            extension_offset = fatbin.ENTRY.size + len(tail)
            head = fatbin.EXTENSION.pack(extension_offset + 8, len(self.extension) - 1)
            tail += head + _padded(self.extension)
        stored = _padded(self.payload)
        compressed = self.flags & fatbin.FLAGS_COMPRESSED
        minor, major = self.code_version
        header = fatbin.ENTRY.pack(
            self.kind,
            self.version,
            fatbin.ENTRY.size + len(tail),
            len(stored),
            len(self.payload) if compressed else 0,
            extension_offset,
            minor,
            major,
            self.sm,
            fatbin.ENTRY.size if self.ident is not None else 0,
            len(self.ident or b""),
            self.flags,
            self.scramble_word,
            self.uncompressed_size,
        )
        return header + tail + stored


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def container(entries: Iterable[NewEntry]) -> bytes:
    """A fatbin of these entries, in this order."""
    body = b"".join([entry.to_bytes() for entry in entries])
    header = fatbin.CONTAINER.pack(FATBIN_MAGIC, 1, fatbin.CONTAINER.size, len(body))
    return header + body


def parse(source: Source, offset: int = 0) -> list[NewEntry]:
    """The entries of the container at ``offset`` as they can be written again.

    Raises:
        CubinError: the container is damaged, or an extension or identifier lies outside of its
            entry header.
    """
    size = fatbin.container_size(source, offset)
    return [_parse_entry(source, entry) for entry in fatbin.entries(source, offset, size)]


def _parse_entry(source: Source, entry: fatbin.Entry) -> NewEntry:
    return NewEntry(
        entry.kind,
        entry.sm,
        fatbin.payload(source, entry),
        flags=entry.flags,
        code_version=(entry.code_version_minor, entry.code_version_major),
        uncompressed_size=entry.uncompressed_size,
        ident=fatbin.ident(source, entry),
        extension=fatbin.extension(source, entry),
        version=entry.version,
        scramble_word=entry.scramble_word,
    )


def entry_for(
    data: bytes,
    *,
    name: str = "<bytes>",
    sm: int | None = None,
    variant: str | None = None,
    mode: str = "default",
    compress_all: bool = False,
    debug: bool = False,
    options: bytes = b"",
    ident: bytes | None = None,
) -> NewEntry:
    """An entry for a cubin or PTX, as ``fatbinary`` makes it.

    Args:
        data: the cubin or the PTX text.
        sm: target; by default what the cubin or the ``.target`` directive says.
        variant: ``a``, ``f`` or nothing; by default what the image says. An ``f`` cubin does not
            say that it is one.
        mode: one of ``MODES``.
        compress_all: compress cubins too.
        debug: mark as debug code, which compresses cubins too.
        options: ptxas options, for PTX.
        ident: identifier.

    Raises:
        NotCubinError: it is neither a cubin nor PTX.
        CubinError: the cubin is broken, or made for another target than ``sm``.
    """
    from cubinspec.containers.sniff import SNIFF_BYTES, is_ptx

    if is_cubin_header(data[:20]):
        return _cubin_entry(data, name, sm, variant, mode, compress_all, debug, ident)
    if is_ptx(data[:SNIFF_BYTES]):
        return _ptx_entry(data, name, sm, variant, mode, debug, options, ident)
    raise NotCubinError("neither a cubin nor PTX", file=name, offset=0)


def _cubin_entry(
    data: bytes,
    name: str,
    sm: int | None,
    variant: str | None,
    mode: str,
    compress_all: bool,
    debug: bool,
    ident: bytes | None,
) -> NewEntry:
    from cubinspec.model.cubin import Cubin

    frame = ElfFrame(BytesSource(data, name))
    length = frame.length
    if length > len(data):
        raise BadStructureError(
            f"the headers describe {length} bytes, {len(data)} are there", file=name
        )
    said = cubin_arch(frame.ident, frame.e_flags)
    if sm is not None and sm != said:
        raise BadStructureError(
            f"the cubin is for sm_{said}",
            file=name,
            field="elf_header.e_flags",
            expected=f"sm_{sm}, as asked for",
        )
    cubin = Cubin.parse(data, name=name)
    if variant is None:
        variant = "a" if cubin.arch.endswith("a") else ""
    flags = FATBIN_FLAG_ADDRESS_64 | FATBIN_FLAG_HOST_LINUX | _VARIANT_FLAGS[variant]
    if frame.form[0] == ELFCLASS32:
        flags &= ~FATBIN_FLAG_ADDRESS_64
    if debug:
        flags |= FATBIN_FLAG_DEBUG
    extension = None
    if family_of(said).capsule:
        flags |= FATBIN_FLAG_HAS_COMPAT
        # a damaged file is packed without the copy
        try:
            compat = cubin.sections.get(".nv.compat")
            extension = None if compat is None else b"\0" + bytes(compat.data)
        except CubinError:
            extension = None
    compressed = mode != "none" and (compress_all or debug or mode == "size")
    payload, how, image_size = _compress(data, mode if compressed else "none")
    return NewEntry(
        FATBIN_KIND_ELF,
        said,
        payload,
        flags=flags | how,
        code_version=(frame.ident[EI_ABIVERSION], 1),
        uncompressed_size=image_size,
        ident=ident,
        extension=extension,
    )


def _ptx_entry(
    data: bytes,
    name: str,
    sm: int | None,
    variant: str | None,
    mode: str,
    debug: bool,
    options: bytes,
    ident: bytes | None,
) -> NewEntry:
    import re

    version = re.search(rb"\.version[ \t]+(\d+)\.(\d+)", data)
    target = re.search(rb"\.target[ \t]+(?:sm|compute)_(\d+)([af]?)", data)
    if version is None or (target is None and sm is None):
        raise BadStructureError(
            "PTX without a .version and a .target directive", file=name, offset=0
        )
    if target is not None:
        sm = int(target[1]) if sm is None else sm
        variant = target[2].decode() if variant is None else variant
    flags = FATBIN_FLAG_ADDRESS_64 | FATBIN_FLAG_HOST_LINUX | _VARIANT_FLAGS[variant or ""]
    if debug:
        flags |= FATBIN_FLAG_DEBUG
    payload, how, image_size = _compress(compact_ptx(data) + b"\0", mode)
    return NewEntry(
        FATBIN_KIND_PTX,
        sm or 0,
        payload,
        flags=flags | how,
        code_version=(int(version[2]), int(version[1])),
        uncompressed_size=image_size,
        ident=ident,
        extension=options + b"\0",
    )


def _compress(data: bytes, mode: str) -> tuple[bytes, int, int]:
    """Stored bytes, flag, and size before compression (0 when stored as it is)."""
    if mode == "none":
        return data, 0, 0
    try:
        import cramjam

        if mode == "speed":
            block = cramjam.lz4.compress_block(data, store_size=False)
            return bytes(block), FATBIN_FLAG_COMPRESSED_LZ4, len(data)
        frame = cramjam.zstd.compress(data, level=ZSTD_LEVELS[mode])
        return bytes(frame), FATBIN_FLAG_COMPRESSED_ZSTD, len(data)
    except ImportError as error:
        raise MissingPackageError.of(error.name or "cramjam", "compression") from error


def compact_ptx(text: bytes) -> bytes:
    """PTX as ``fatbinary`` stores it.

    Comments go; of a run of blanks the first stays, and none after a line end. Strings stay as
    they are, to the next quote without a backslash before it, over line ends too. A ``/*/`` is a
    whole comment, and an unfinished one takes the rest.
    """
    import re

    token = re.compile(
        rb'(?<!\\)"(?:[^"]|(?<=\\)")*"?|//[^\r\n]*|/(?=\*)(?:.*?\*/|.*\Z)|[ \t]+', re.DOTALL
    )

    def shorten(match: re.Match[bytes]) -> bytes:
        piece = match.group()
        if piece[:1] == b'"':
            return piece
        if piece[:1] == b"/":
            return b""
        start = match.start()
        return b"" if start and text[start - 1] in b"\n\r\v\f" else piece[:1]

    return token.sub(shorten, text)
