"""What nvlink sees of an archive, and of a host object.

An archive is read up to the first member that is not an ELF file. The members of a thin archive are
files beside it. An archive counts once, however often and under whatever name it is given
(`tests/link/test_archives.py`).
"""

from __future__ import annotations

import os
import stat

from cubinspec_generated.codes import (
    EI_CLASS,
    EI_DATA,
    EI_NIDENT,
    ELFCLASS32,
    ELFCLASS64,
    ELFDATA2LSB,
    EM_386,
    EM_AARCH64,
    EM_ARM,
    EM_PPC64,
    EM_X86_64,
)
from cubinspec_generated.records import (
    ELF_HEADER_32,
    ELF_HEADER_64,
    SECTION_HEADER_32,
    SECTION_HEADER_64,
)
from cubinspec_writer.linker.inputs.accept import holds_nothing
from cubinspec_writer.linker.inputs.sources import MAGIC, THIN_MAGIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.linker.diagnostics import Diagnostics, LinkError

_HEAD, _END = 60, b"`\n"
_NAME, _SIZE = slice(0, 16), slice(48, 58)
_TABLES = ("/", "//", "/SYM64/")
_INTERNAL = "elfLink internal error"
_ELF = b"\x7fELF"
#: Machines of host objects by the values of `--cpu-arch`.
_MACHINES = {
    "AARCH64": EM_AARCH64,
    "ARMv7": EM_ARM,
    "PPC64LE": EM_PPC64,
    "X86": EM_386,
    "X86_64": EM_X86_64,
    "unknown": EM_X86_64,
}
_LEN_ELF_HEADER = EI_NIDENT + ELF_HEADER_64.size


def identity(path: str) -> tuple[int, int] | None:
    """Device and number of a file, which all its names share; None when there is no such file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def readable_part(data: bytes, diagnostics: Diagnostics) -> bytes:
    """The part of an archive that nvlink reads, with the members of a thin one put in.

    Raises:
        LinkError: a header has no size, or a member of a thin archive is not there.
    """
    parts = [MAGIC]
    for head, body, is_table in _members(data, diagnostics):
        if is_table or _has_sections(body):
            length = str(len(body)).ljust(10).encode()
            parts += [head[: _SIZE.start], length, _END, body, b"\n" * (len(body) & 1)]
    return b"".join(parts)


def serves(library: bytes, processor: str, diagnostics: Diagnostics) -> bool:
    """Whether a library holds an object for a processor (rule V80).

    Raises:
        LinkError: it is no archive, or one that cannot be read; there is no such processor.
    """
    machine = _MACHINES.get(processor)
    if machine is None:
        raise diagnostics.fatal(f"Value '{processor}' is not defined for option 'cpu-arch'")
    if len(library) <= len(MAGIC):
        return False
    if not library.startswith((MAGIC, THIN_MAGIC)):
        raise unknown_archive(diagnostics)
    return any(
        not is_table and _header(body)[1] == machine
        for _, body, is_table in _members(library, diagnostics)
    )


def unknown_archive(diagnostics: Diagnostics) -> LinkError:
    """The error for an archive that cannot be read."""
    return diagnostics.fatal("unexpected archive format", _INTERNAL)


def _members(data: bytes, diagnostics: Diagnostics) -> Iterator[tuple[bytes, bytes, bool]]:
    """Header and contents of the members that nvlink reads, and whether it is a table of names."""
    is_thin = data.startswith(THIN_MAGIC)
    names = b""
    at = len(MAGIC)
    while at + _HEAD <= len(data):
        head = data[at : at + _HEAD]
        if not head[_SIZE].strip().isdigit():
            raise unknown_archive(diagnostics)
        member, size = head[_NAME].decode("latin-1").rstrip(), int(head[_SIZE])
        is_table = member in _TABLES
        if is_thin and not is_table:
            body, size = _file(member, names, diagnostics), 0
        else:
            body = data[at + _HEAD : at + _HEAD + size]
        if member == "//":
            names = body
        if not is_table and not body.startswith(_ELF):
            return
        yield head, body, is_table
        at += _HEAD + size + (size & 1)
    if at < len(data) and b"/" not in data[at : at + _NAME.stop]:
        raise unknown_archive(diagnostics)


def _file(member: str, names: bytes, diagnostics: Diagnostics) -> bytes:
    """The file that a member of a thin archive stands for; nvlink starts in the current folder."""
    path = member.removesuffix("/")
    if member.startswith("/") and member[1:].isascii() and member[1:].isdigit():
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
    if len(data) < _LEN_ELF_HEADER:
        raise diagnostics.fatal(f"Could not open input file '{name}'")
    is_swapped = data[EI_DATA] != ELFDATA2LSB
    if not _has_sections(data) or (is_swapped and not holds_nothing(name)):
        raise no_fatbin(name, diagnostics)


def is_narrow_object(data: bytes) -> bool:
    """Whether an ELF file is a whole one of 32 bits, which nvlink passes over."""
    is_narrow = data[EI_CLASS : EI_CLASS + 1] == bytes((ELFCLASS32,))
    if not is_narrow or len(data) < EI_NIDENT + ELF_HEADER_32.size:
        return False
    _, _, _, _, _, table, _, _, _, _, _, count, _ = ELF_HEADER_32.unpack_from(data, EI_NIDENT)
    is_inside: bool = 0 < table <= len(data) - count * SECTION_HEADER_32.size
    return is_inside


def no_fatbin(name: str, diagnostics: Diagnostics) -> LinkError:
    """The error for an ELF file without a place for device code."""
    return diagnostics.fatal(f"Could not find fatbin in '{name}'", _INTERNAL)


def _has_sections(data: bytes) -> bool:
    """Whether a 64-bit ELF file has its whole section table."""
    _, _, _, _, _, table, _, _, _, _, _, count, _ = _header(data)
    is_inside = 0 < table <= len(data) - count * SECTION_HEADER_64.size
    return data[EI_CLASS : EI_CLASS + 1] == bytes((ELFCLASS64,)) and is_inside


def _header(data: bytes) -> tuple[int, ...]:
    """The header of an ELF file; a cut one counts as one with zeros at its end."""
    return ELF_HEADER_64.unpack_from(
        data[:_LEN_ELF_HEADER].ljust(_LEN_ELF_HEADER, b"\0"), EI_NIDENT
    )
