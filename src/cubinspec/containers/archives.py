"""Members of archives, one after the other, as sources. Nothing is written to disk.

``zipfile`` and the decompressors do their formats; this module turns their members into sources and
whatever they raise into a :class:`CubinError`. The headers of ``ar`` are read here and those of
``tar`` in the module of that name: Python's ``tarfile`` calls itself for each header of a chain.
"""

from __future__ import annotations

import sys

from cubinspec.allowance import SpentError
from cubinspec.containers.source import Source, SourceFile, StreamSource
from cubinspec.containers.tar import headers
from cubinspec.errors import (
    BadStructureError,
    CubinError,
    FileAccessError,
    LimitError,
    MissingPackageError,
    TruncatedError,
)
from cubinspec.limits import MAX_MEMBER_NAME, MAX_NAME_IN_MESSAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    #: A member to look into, or what is wrong with one.
    Member = tuple[str, "Source | CubinError"]


def member_name(archive: Source, name: str) -> str:
    """What error messages call a member."""
    return f"{archive.name} → {name[:MAX_NAME_IN_MESSAGE]}"


def leaves_archive(name: str) -> bool:
    """Whether a member's name would be outside of the folder it is unpacked to."""
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or name.startswith("/") or name[1:2] == ":"


def _escape_fault(archive: Source, name: str) -> CubinError:
    return BadStructureError(
        "the member's name leaves the archive; its content is read, nothing is written there",
        file=member_name(archive, name),
        field="name",
        expected="a relative name without '..'",
    )


def members(archive: Source, kind: str) -> Iterator[Member]:
    """Name and source of every regular file in an archive of ``kind`` ``zip``, ``tar`` or ``ar``.

    A fault of one member is yielded in its place; a fault of the archive itself ends the
    iteration after being yielded with an empty name.
    """
    walk = {"zip": _zip, "tar": _tar, "ar": _ar}[kind]
    try:
        budget = archive.budget
        for name, member in walk(archive):
            budget.spend("members")
            budget.spend("names", len(name))
            if len(name) > MAX_MEMBER_NAME:
                yield name[:MAX_MEMBER_NAME], _long_name_fault(archive, name)
            else:
                yield name, member
    except SpentError:
        raise
    except CubinError as error:
        yield "", error
    except Exception as error:
        # each library raises errors of its own for damaged data
        yield "", _damaged(archive, kind, error)


def _damaged(archive: Source, kind: str, error: Exception) -> CubinError:
    return BadStructureError(
        f"the {kind} archive is damaged: {str(error) or type(error).__name__}", file=archive.name
    )


def _long_name_fault(archive: Source, name: str) -> CubinError:
    return LimitError(
        f"the name has {len(name)} characters",
        file=member_name(archive, name),
        field="name",
        expected=f"at most {MAX_MEMBER_NAME}",
    )


def _open_zip(archive: Source) -> Any:
    import zipfile

    file: Any = SourceFile(archive)
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
        raise BadStructureError(
            f"the zip directory is damaged: {error}",
            file=archive.name,
            expected="an end of central directory record and the entries it counts",
        ) from error


def zip_names(archive: Source) -> list[str]:
    """Names of the files in a zip archive.

    Raises:
        BadStructureError: its directory is damaged.
    """
    names: list[str] = _open_zip(archive).namelist()
    return [name for name in names if not name.endswith("/")]


def _zip(archive: Source) -> Iterator[Member]:
    book = _open_zip(archive)
    infos = sorted(book.infolist(), key=lambda info: info.header_offset)
    end = 0
    for info in infos:
        name = info.filename
        start, end_before = info.header_offset, end
        end = max(end, start + 30 + len(info.orig_filename) + info.compress_size)
        if name.endswith("/") or (info.external_attr >> 28) == 0xA:
            continue  # a folder; a symbolic link, whose target is a member or not ours to read
        if start < end_before:
            yield (
                name,
                BadStructureError(
                    f"its data begins at {start:#x}, inside the member before it, "
                    f"which ends at {end_before:#x}",
                    file=member_name(archive, name),
                    offset=start,
                    expected="members that do not overlap",
                ),
            )
            continue
        if info.flag_bits & 1:
            yield name, FileAccessError("the member is encrypted", file=member_name(archive, name))
            continue
        if leaves_archive(name):
            yield name, _escape_fault(archive, name)
        try:
            yield name, _zip_member(archive, book, info)
        except CubinError as error:
            yield name, error


def _zip_member(archive: Source, book: Any, info: Any) -> Source:
    name = member_name(archive, info.filename)
    if info.compress_type == 0 and archive.random:
        # Stored: a window on the archive. The local header repeats the name and may have other
        # extra fields than the directory.
        local = archive.exactly(info.header_offset, 30, "local_file_header")
        if local[:4] != b"PK\x03\x04":
            raise BadStructureError(
                f"local header starts with {local[:4].hex()}",
                file=name,
                offset=info.header_offset,
                expected="504b0304",
            )
        skip = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
        start = info.header_offset + 30 + skip
        if start + info.file_size > archive.size:
            raise TruncatedError(
                f"{info.file_size} bytes at {start:#x}",
                file=name,
                offset=start,
                expected=f"a member that ends before {archive.size:#x}",
            )
        return archive.part(start, info.file_size, name)
    return StreamSource(lambda: book.open(info), archive, name, info.compress_size, info.file_size)


def _tar(archive: Source) -> Iterator[Member]:
    for header in headers(archive):
        if isinstance(header, CubinError):
            yield "", header
            return
        name = header.name
        if not header.is_file:
            continue  # folders, devices; links, whose target is a member or not ours to read
        full = member_name(archive, name)
        if leaves_archive(name):
            yield name, _escape_fault(archive, name)
        if header.is_sparse:
            yield name, BadStructureError("a sparse member is not read", file=full)
            continue
        if archive.random and header.data_offset + header.size > archive.size:
            yield (
                name,
                TruncatedError(
                    f"{header.size} bytes at {header.data_offset:#x}",
                    file=full,
                    offset=header.data_offset,
                    expected=f"a member that ends before {archive.size:#x}",
                ),
            )
            return
        part = archive.part(header.data_offset, header.size, full)
        yield name, part if archive.random else _held(part)


def _held(part: Source) -> Source:
    """A part of a stream that is held in memory while it is read, if it is small."""
    return StreamSource(
        lambda: SourceFile(part), part, part.name, part.size, part.size, is_paid=True
    )


def _is_number(text: str) -> bool:
    """Whether ``int`` reads it; other scripts have digits that it does not know."""
    return text.isascii() and text.isdigit()


def _ar(archive: Source) -> Iterator[Member]:
    at = 8
    names = b""
    while at < archive.size:
        if archive.size - at == 1:
            return  # padding after the last member
        header = archive.exactly(at, 60, "ar_header")
        field = header[48:58].strip()
        if header[58:] != b"`\n" or not field.isdigit():
            raise BadStructureError(
                "no member header here",
                file=archive.name,
                offset=at,
                field="ar_header",
                expected="60 bytes that end in 600a",
            )
        size = int(field)
        start = at + 60
        label = header[:16].decode("utf-8", "replace").rstrip()
        if start + size > archive.size:
            yield (
                label,
                TruncatedError(
                    f"{size} bytes at {start:#x}",
                    file=member_name(archive, label),
                    offset=at + 48,
                    field="ar_header.size",
                    expected=f"a member that ends before {archive.size:#x}",
                ),
            )
            return
        at = start + size + (size & 1)
        if label in ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED"):
            continue  # symbol index
        if label == "//":
            names = archive.exactly(start, size, "ar_names")
            continue
        if label.startswith("#1/") and _is_number(label[3:]):  # BSD: the name precedes the data
            length = min(int(label[3:]), size)
            label = archive.read(start, length).rstrip(b"\0").decode("utf-8", "replace")
            start += length
            size -= length
            if label.startswith("__.SYMDEF"):
                continue
        elif label.startswith("/") and _is_number(label[1:]):  # GNU: an offset in the name table
            begin = int(label[1:])
            last = begin + MAX_MEMBER_NAME + 2
            # Windows ends a name with NUL, GNU with a slash and a new line.
            label = (
                names[begin:last].partition(b"\n")[0].partition(b"\0")[0].decode("utf-8", "replace")
            )
        label = label.removesuffix("/")
        if leaves_archive(label):
            yield label, _escape_fault(archive, label)
        yield label, archive.part(start, size, member_name(archive, label))


def decompressed(packed: Source, kind: str) -> StreamSource:
    """The content of a single compressed file."""

    def opener() -> Any:
        file: Any = SourceFile(packed)
        if kind == "gzip":
            import gzip

            return gzip.GzipFile(fileobj=file, mode="rb")
        if kind == "bzip2":
            import bz2

            return bz2.BZ2File(file, "rb")
        if kind == "xz":
            import lzma

            return lzma.LZMAFile(file, "rb")
        zstd = _load_zstd(packed.name)
        return zstd.ZstdFile(file, "rb")

    return StreamSource(opener, packed, packed.name, packed.size)


def _load_zstd(file: str) -> Any:
    """The module for zstd streams, which is in the standard library from Python 3.14 on.

    Args:
        file: the file that needs it, for the error.

    Raises:
        MissingPackageError: Python is older and the package that replaces it is not installed.
    """
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise MissingPackageError.of("backports.zstd", "zstd streams", file=file) from error
    return zstd
