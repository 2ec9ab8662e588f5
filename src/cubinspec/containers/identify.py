"""What a file is, in words for someone who gave the wrong one."""

from __future__ import annotations

from cubinspec.containers import fatbin
from cubinspec.containers.elf_host import MACHINES, ElfFrame
from cubinspec.containers.sniff import ARCHIVES, COMPRESSED, SNIFF_BYTES, sniff
from cubinspec.containers.source import BytesSource, PathSource, Source
from cubinspec.errors import CubinError, TruncatedError
from cubinspec.values import FrozenValue
from cubinspec_generated.codes import ET_CORE, ET_DYN, ET_EXEC, ET_REL

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

_IN_WORDS = {
    "empty": "an empty file",
    "ptx": "PTX text",
    "bitcode": "LLVM bitcode",
    "wrapper": "a fatbin wrapper (.nvFatBinSegment)",
    "thin-ar": "a thin ar archive, which holds no files itself",
    "text": "a text file",
    "data": "a file of no known format",
}
_COMPRESSED = {
    "gzip": "gzip-compressed",
    "bzip2": "bzip2-compressed",
    "xz": "xz-compressed",
    "zstd": "zstd-compressed",
}
_ELF_TYPES = {
    ET_REL: "object file",
    ET_EXEC: "executable",
    ET_DYN: "shared object",
    ET_CORE: "core file",
}


class Identity(FrozenValue):
    """What a file is.

    Attributes:
        kind: a name of :func:`cubinspec.containers.sniff.sniff`.
        text: the same for people, with its article: ``a fatbin with 3 images``.
        holds_images: whether :func:`cubinspec.images` finds or may find device code in it:
            ``True`` when seen, ``None`` when the file would have to be unpacked to know.
    """

    __match_args__ = ("kind", "text", "holds_images")
    __slots__ = __match_args__
    kind: str
    text: str
    holds_images: bool | None

    def __init__(self, kind: str, text: str, holds_images: bool | None) -> None:
        put = object.__setattr__
        put(self, "kind", kind)
        put(self, "text", text)
        put(self, "holds_images", holds_images)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Identity {self.kind}: {self.text}>"


def identify(what: str | os.PathLike[str] | bytes) -> Identity:
    """What a file (or its bytes) is, in words.

    Raises:
        FileAccessError: the path cannot be opened.
    """
    if isinstance(what, (bytes, bytearray, memoryview)):
        return _identify(BytesSource(bytes(what), "<bytes>"))
    import os

    path = os.fspath(what)
    if os.path.isdir(path):
        return Identity("folder", "a folder", None)
    source = PathSource(path)
    try:
        return _identify(source)
    finally:
        source.close()


def _identify(source: Source) -> Identity:
    kind = sniff(source.read(0, SNIFF_BYTES))
    if kind == "fatbin":
        return _fatbin(source)
    if kind == "cubin":
        return _cubin(source)
    if kind in ("elf", "pe", "coff", "macho"):
        return _host(source, kind)
    if kind in ARCHIVES:
        return _archive(source, kind)
    if kind in COMPRESSED:
        return _compressed(source, kind)
    if kind == "data" and not source.read(0, SNIFF_BYTES).strip(b"\0"):
        return Identity(kind, f"{source.size} bytes that start with zeros", None)
    return Identity(kind, _IN_WORDS[kind], True if kind == "ptx" else kind != "empty" and None)


def _count(source: Source) -> int:
    """Images that can be seen without unpacking anything."""
    from cubinspec.containers.walk import images_of

    return sum(1 for image in images_of(source) if image.kind != "fault")


def _images(count: int) -> str:
    return f"{count} image{'' if count == 1 else 's'}"


def _fatbin(source: Source) -> Identity:
    if not fatbin.looks_like_container(source.read(0, fatbin.CONTAINER.size)):
        return Identity("fatbin", "a damaged fatbin, or one of an unknown version", None)
    count = _count(source)
    return Identity("fatbin", f"a fatbin with {_images(count)}", count > 0)


def _cubin(source: Source) -> Identity:
    try:
        length = ElfFrame(source).length
    except TruncatedError:
        return Identity("cubin", f"a cubin cut off at {source.size} bytes", None)
    except CubinError:
        return Identity("cubin", "a damaged cubin", None)
    if length > source.size:
        return Identity("cubin", f"a cubin cut off at {source.size} of {length} bytes", None)
    return Identity("cubin", "a cubin", True)


def _host(source: Source, kind: str) -> Identity:
    count = _count(source)
    code = f"with {_images(count)} of device code" if count else "without device code"
    if kind == "pe":
        text = "a PE file (Windows executable or DLL)"
    elif kind == "coff":
        text = "a COFF object (Windows)"
    elif kind == "macho":
        text = "a Mach-O file (macOS)"
    else:
        try:
            frame = ElfFrame(source)
        except CubinError:
            return Identity(kind, "a damaged ELF file", count > 0)
        machine = MACHINES.get(frame.machine, f"machine {frame.machine}")
        article = "an" if machine[0] in "aAx" else "a"
        what = _ELF_TYPES.get(frame.e_type, f"file of type {frame.e_type:#x}")
        text = f"{article} {machine} ELF {what}"
    return Identity(kind, f"{text} {code}", count > 0)


def _archive(source: Source, kind: str) -> Identity:
    if kind == "tar":
        return Identity(kind, "a tar archive", None)
    if kind == "ar":
        return Identity(kind, "an ar archive (static library)", None)
    from cubinspec.containers.archives import zip_names

    try:
        names = zip_names(source)
    except CubinError:
        return Identity(kind, "a damaged zip archive", None)
    text = "a zip archive"
    if any(name.endswith(".dist-info/WHEEL") for name in names):
        text = "a Python wheel"
    elif "metadata.json" in names and any(name.startswith("pkg-") for name in names):
        text = "a conda package"
    return Identity(kind, f"{text} with {len(names)} files", None)


def _compressed(source: Source, kind: str) -> Identity:
    from cubinspec.containers.archives import decompressed

    text = _COMPRESSED[kind]
    inner = decompressed(source, kind)
    try:
        content = sniff(inner.read(0, SNIFF_BYTES))
    except CubinError:
        return Identity(kind, f"a damaged {text} file", None)
    finally:
        inner.close()
    return Identity(kind, f"a {text} {'tar archive' if content == 'tar' else 'file'}", None)
