"""What nvlink sees of an archive, and of a host object.

An archive is read up to the first member that is no ELF file; the members of a thin archive are
files beside it; one archive counts once, however often and by whatever name it is given
(`tests/link/test_archives.py`).
"""

from __future__ import annotations

import os
import stat

from cubinspec_writer.linker.inputs.sources import MAGIC, THIN_MAGIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.diagnostics import Diagnostics

_HEAD, _END = 60, b"`\n"
_NAME, _SIZE = slice(0, 16), slice(48, 58)
_TABLES = ("/", "//", "/SYM64/")
_INTERNAL = "elfLink internal error"
_ELF = b"\x7fELF"
_ELF_HEADER, _SECTION_HEADER = 64, 64


def identity(path: str) -> tuple[int, int] | None:
    """What tells a file from another one whatever its name; None when it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def readable_part(data: bytes, diagnostics: Diagnostics) -> bytes:
    """An archive as far as nvlink reads it, with the members of a thin one in their places.

    Raises:
        LinkError: a header has no size, or a member of a thin archive is not there.
    """
    is_thin = data.startswith(THIN_MAGIC)
    names = b""
    parts = [MAGIC]
    at = len(MAGIC)
    while at + _HEAD <= len(data):
        head = data[at : at + _HEAD]
        if not head[_SIZE].strip().isdigit():
            raise diagnostics.fatal("unexpected archive format", _INTERNAL)
        member, size = head[_NAME].decode("latin-1").rstrip(), int(head[_SIZE])
        is_table = member in _TABLES
        if is_thin and not is_table:
            body, size = _file(member, names, diagnostics), 0
        else:
            body = data[at + _HEAD : at + _HEAD + size]
        if member == "//":
            names = body
        if not is_table and not body.startswith(_ELF):
            return b"".join(parts)
        if is_table or _has_sections(body):
            length = str(len(body)).ljust(10).encode()
            parts += [head[: _SIZE.start], length, _END, body, b"\n" * (len(body) & 1)]
        at += _HEAD + size + (size & 1)
    if at < len(data) and b"/" not in data[at : at + _NAME.stop]:
        raise diagnostics.fatal("unexpected archive format", _INTERNAL)
    return b"".join(parts)


def _file(member: str, names: bytes, diagnostics: Diagnostics) -> bytes:
    """The file that a member of a thin archive stands for; nvlink starts in the current folder."""
    path = member.removesuffix("/")
    if member.startswith("/") and member[1:].isdigit():
        start = int(member[1:])
        end = names.find(b"/\n", start)
        path = os.fsdecode(names[start : end if end >= 0 else len(names)])
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError  # a device may have no end
        with open(path, "rb") as stream:
            return stream.read()
    except (OSError, ValueError):
        raise diagnostics.fatal(f"Could not open input file '{path}'", _INTERNAL) from None


def check_host(name: str, data: bytes, diagnostics: Diagnostics) -> None:
    """End the link when a host object has no section table to look for a fatbin in.

    Raises:
        LinkError: it is cut, or says that it is of 32 bits.
    """
    if len(data) < _ELF_HEADER:
        raise diagnostics.fatal(f"Could not open input file '{name}'")
    if not _has_sections(data):
        raise diagnostics.fatal(f"Could not find fatbin in '{name}'", _INTERNAL)


def _has_sections(data: bytes) -> bool:
    """Whether an ELF file of 64 bits has its whole section table."""
    table = int.from_bytes(data[0x28:0x30], "little")
    count = int.from_bytes(data[0x3C:0x3E], "little")
    return data[4:5] == b"\2" and 0 < table <= len(data) - count * _SECTION_HEADER
