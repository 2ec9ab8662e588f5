"""Containers, taken apart and put together again, so that damage reaches what lies in them.

A flipped byte in a member of a zip archive breaks its checksum, and nothing behind that is ever
read. Here the member itself is damaged, and the archive is written around it with the right sizes
and sums.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random
from struct import error as StructError
from typing import NamedTuple, Protocol

from cubinspec.containers import fatbin
from cubinspec.containers.sniff import HOSTS, SNIFF_BYTES, sniff
from cubinspec_generated import record_fields
from tools.fuzz.mutate import BytesMutator, Mutator

#: More is not unpacked: what is damaged has to stay small.
_MOST = 1 << 20
#: How often damage goes to a piece instead of the container itself.
_INNER = 0.7
_AR_MAGIC, _AR_HEAD, _AR_SIZE = b"!<arch>\n", 60, slice(48, 58)
_TAR_BLOCK, _TAR_SIZE, _TAR_SUM = 512, slice(124, 136), slice(148, 156)


class Seed(Protocol):
    """Makes damaged files of a good one, `data`."""

    data: bytes

    def mutate(self, random: Random) -> tuple[bytes, str]: ...


class Parts(NamedTuple):
    """What lies in a container.

    Attributes:
        pieces: their bytes.
        join: writes the container around other pieces.
    """

    pieces: list[bytes]
    join: Callable[[list[bytes]], bytes]


def take_apart(data: bytes) -> Parts | None:
    """What lies in a container; `None` for what is none, or is damaged already."""
    kind = sniff(data[:SNIFF_BYTES])
    reader = _host if kind in HOSTS else _READERS.get(kind)
    if reader is None:
        return None
    try:
        parts = reader(data)
    except (ValueError, StructError, EOFError, OSError, zlib.error, lzma.LZMAError):
        return None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return None
    return parts if parts.pieces else None


def _zip(data: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        infos = book.infolist()
        if sum(info.file_size for info in infos) > _MOST:
            raise ValueError("too large")
        pieces = [book.read(info) for info in infos]

    def join(pieces: list[bytes]) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as new:
            for info, piece in zip(infos, pieces, strict=True):
                copy = zipfile.ZipInfo(info.filename, info.date_time)
                new.writestr(copy, piece, info.compress_type)
        return out.getvalue()

    return Parts(pieces, join)


def _ar(data: bytes) -> Parts:
    heads, pieces, at = [], [], len(_AR_MAGIC)
    while at + _AR_HEAD <= len(data):
        head = data[at : at + _AR_HEAD]
        size = int(head[_AR_SIZE])
        heads.append(head)
        pieces.append(data[at + _AR_HEAD : at + _AR_HEAD + size])
        at += _AR_HEAD + size + size % 2

    def join(pieces: list[bytes]) -> bytes:
        out = bytearray(data[: len(_AR_MAGIC)])
        for head, piece in zip(heads, pieces, strict=True):
            sized = bytearray(head)
            sized[_AR_SIZE] = b"%-10d" % len(piece)
            out += sized + piece + b"\n" * (len(piece) % 2)
        return bytes(out)

    return Parts(pieces, join)


def _tar(data: bytes) -> Parts:
    heads, pieces, at = [], [], 0
    while at + _TAR_BLOCK <= len(data) and data[at]:
        head = data[at : at + _TAR_BLOCK]
        size = int(head[_TAR_SIZE].strip(b" \0") or b"0", 8)
        at += _TAR_BLOCK
        heads.append(head)
        pieces.append(data[at : at + size])
        at += size + -size % _TAR_BLOCK
    end = data[at:]

    def join(pieces: list[bytes]) -> bytes:
        out = bytearray()
        for head, piece in zip(heads, pieces, strict=True):
            sized = bytearray(head)
            sized[_TAR_SIZE] = b"%011o\0" % len(piece)
            sized[_TAR_SUM] = b" " * 8
            sized[_TAR_SUM] = b"%06o\0 " % sum(sized)
            out += sized + piece + bytes(-len(piece) % _TAR_BLOCK)
        return bytes(out) + end

    return Parts(pieces, join)


def _compressed(
    unpack: Callable[[bytes], bytes], pack: Callable[[bytes], bytes]
) -> Callable[[bytes], Parts]:
    return lambda data: Parts([unpack(data)], lambda pieces: pack(pieces[0]))


def _entries(data: bytes) -> Parts:
    """Headers of a fatbin's entries and what they hold, by turns."""
    head, place = fatbin.CONTAINER, fatbin.ENTRY.size
    fields = record_fields.ENTRY_HEAD_FIELDS
    pieces, at = [], head.size
    while at + place <= len(data):
        row = dict(zip(fields, fatbin.ENTRY.unpack_from(data, at), strict=True))
        end = at + max(row["len_header"], place)
        pieces += [data[at:end], data[end : end + row["len_payload"]]]
        at = end + row["len_payload"]

    def join(pieces: list[bytes]) -> bytes:
        out = bytearray()
        for entry, payload in zip(pieces[::2], pieces[1::2], strict=True):
            sized, padded = bytearray(entry), payload + bytes(-len(payload) % 8)
            if len(sized) >= place:
                row = list(fatbin.ENTRY.unpack_from(sized))
                row[fields.index("len_payload")] = len(padded)
                fatbin.ENTRY.pack_into(sized, 0, *row)
            out += sized + padded
        magic, version, size, _ = head.unpack_from(data)
        return head.pack(magic, version, size, len(out)) + out

    return Parts(pieces, join)


def _host(data: bytes) -> Parts:
    """The first fatbin in host code; it keeps its size, as other places of the file name it."""
    at = data.find(fatbin.MAGIC_BYTES)
    if at < 0:
        raise ValueError("there is no fatbin")
    _, _, head, size = fatbin.CONTAINER.unpack_from(data, at)
    end = min(at + head + size, len(data))

    def join(pieces: list[bytes]) -> bytes:
        return data[:at] + pieces[0][: end - at].ljust(end - at, b"\0") + data[end:]

    return Parts([data[at:end]], join)


_READERS: dict[str, Callable[[bytes], Parts]] = {
    "zip": _zip,
    "ar": _ar,
    "tar": _tar,
    "fatbin": _entries,
    "gzip": _compressed(
        lambda data: zlib.decompressobj(31).decompress(data, _MOST),
        lambda piece: gzip.compress(piece, mtime=0),
    ),
    "bzip2": _compressed(
        lambda data: bz2.BZ2Decompressor().decompress(data, _MOST),
        lambda piece: bz2.compress(piece),
    ),
    "xz": _compressed(
        lambda data: lzma.LZMADecompressor().decompress(data, _MOST),
        lambda piece: lzma.compress(piece),
    ),
}


class ContainerMutator(BytesMutator):
    """Makes damaged variants of a container, mostly by damage to something in it."""

    def mutate(self, random: Random) -> tuple[bytes, str]:
        """A damaged copy and the story of the damage."""
        parts = take_apart(self.data) if random.random() < _INNER else None
        if parts is None:
            return super().mutate(random)
        number = random.randrange(len(parts.pieces))
        piece, story = mutator(parts.pieces[number], self.dictionary).mutate(random)
        pieces = [*parts.pieces[:number], piece, *parts.pieces[number + 1 :]]
        return parts.join(pieces), f"in piece {number}: {story}"


def mutator(data: bytes, dictionary: Sequence[bytes]) -> Seed:
    """What damages a file, by what it is."""
    kind = sniff(data[:SNIFF_BYTES])
    if kind == "cubin":
        try:
            return Mutator(data)
        except (StructError, IndexError, ValueError):
            return BytesMutator(data, dictionary)
    if kind in _READERS or kind in HOSTS:
        return ContainerMutator(data, dictionary)
    return BytesMutator(data, dictionary)
