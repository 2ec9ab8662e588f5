"""What a run of bytes is, from its beginning."""

from __future__ import annotations

from cubinspec.containers.elf_host import ELF_MAGIC
from cubinspec.containers.fatbin import MAGIC_BYTES
from cubinspec.containers.windows_host import is_coff_object
from cubinspec.reader.elf import is_cubin_header
from cubinspec_generated.codes import FATBIN_WRAPPER_MAGIC

#: Bytes from the start that :func:`sniff` wants; a tar header is 512 bytes.
SNIFF_BYTES = 1024

ARCHIVES = frozenset(("zip", "tar", "ar"))
COMPRESSED = frozenset(("gzip", "bzip2", "xz", "zstd"))
#: Kinds in which device code can lie anywhere.
HOSTS = frozenset(("elf", "pe", "coff", "macho", "wrapper", "data"))

#: Letters of targets. What PTX says becomes a part of file names.
_TARGET_LETTERS = frozenset("0123456789af")
_MACHO = (
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xfe\xed\xfa\xcf",
    b"\xfe\xed\xfa\xce",
)
_STARTS = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"!<arch>\n", "ar"),
    (b"!<thin>\n", "thin-ar"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BC\xc0\xde", "bitcode"),
    (b"\xde\xc0\x17\x0b", "bitcode"),
    (MAGIC_BYTES, "fatbin"),
    (FATBIN_WRAPPER_MAGIC.to_bytes(4, "little"), "wrapper"),
    (b"MZ", "pe"),
)


def sniff(head: bytes) -> str:
    """The kind of a file whose first ``SNIFF_BYTES`` (or all, if fewer) are ``head``.

    ``empty``, ``cubin``, ``elf``, ``fatbin``, ``wrapper``, ``ptx``, ``bitcode``, ``pe``,
    ``coff``, ``macho``, ``zip``, ``ar``, ``thin-ar``, ``tar``, ``gzip``, ``bzip2``, ``xz``,
    ``zstd``, ``text`` or ``data``.
    """
    if not head:
        return "empty"
    if head[:4] == ELF_MAGIC:
        return "cubin" if is_cubin_header(head) else "elf"
    for start, kind in _STARTS:
        if head.startswith(start):
            return kind
    universal = head[:4] == b"\xca\xfe\xba\xbe" and len(head) > 7
    if head[:4] in _MACHO or (universal and 0 < head[7] < 30):
        return "macho"  # a universal file has few parts; a Java class has its version there
    if head[:3] == b"BZh" and head[4:10] == b"1AY&SY":
        return "bzip2"
    if is_tar_header(head):
        return "tar"
    if is_coff_object(head):
        return "coff"
    if b"\0" in head.rstrip(b"\0"):
        return "data"
    return "ptx" if is_ptx(head) else "text" if _is_text(head) else "data"


def is_tar_header(head: bytes) -> bool:
    """Whether a 512-byte block is a tar header: its checksum says so in every tar dialect."""
    block = head[:512]
    if len(block) < 512:
        return False
    try:
        said = int(block[148:156].strip(b" \0") or b"x", 8)
    except ValueError:
        return False
    return said == sum(block) - sum(block[148:156]) + 8 * 0x20


def is_ptx(head: bytes) -> bool:
    """Whether text starts, after comments and blanks, with a ``.version`` directive."""
    at = 0
    while True:
        while at < len(head) and head[at] in b" \t\r\n\xef\xbb\xbf":
            at += 1
        if head.startswith(b"//", at):
            at = head.find(b"\n", at)
        elif head.startswith(b"/*", at):
            at = head.find(b"*/", at) + 1
        else:
            return head.startswith(b".version", at)
        if at <= 0:
            # A comment longer than what we were given; nvcc writes short ones.
            return b"\n.version" in head
        at += 1


def _is_text(head: bytes) -> bool:
    if any(c < 32 and c not in b"\t\n\r\f\x1b" for c in head[:256]):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4  # cut inside a character
    return True


def ptx_target(head: bytes) -> str:
    """``compute_90a`` for PTX that says ``.target sm_90a``; empty when it says nothing."""
    at = head.find(b".target")
    if at < 0:
        return ""
    rest = head[at + 7 : at + 64].replace(b",", b" ").replace(b"\n", b" ").split(b" ")
    for word in rest:
        if word.startswith((b"sm_", b"compute_")):
            name = word.split(b"_", 1)[1].decode("latin-1")
            size = next((at for at, c in enumerate(name) if c not in _TARGET_LETTERS), len(name))
            return f"compute_{name[:size]}"
    return ""
