"""Headers of a tar archive, one member after the other, in a loop and without a copy of the data.

A member's header may have others before it that say what does not fit into it: a long name (GNU),
or a path and a size of any length (PAX). Fields as in POSIX.1-2001 and the manual of GNU tar.
"""

from __future__ import annotations

from struct import Struct

from cubinspec.allowance import SpentError
from cubinspec.errors import BadStructureError, CubinError, LimitError, TruncatedError
from cubinspec.limits import MAX_TAR_HEADER_BYTES
from cubinspec.values import FrozenValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.containers.source import Source

_BLOCK = 512
#: Name, size, checksum, type, magic, prefix of the name.
_HEADER = Struct("<100s24x12s12x8sc100x6s82x155s12x")
_CHECKSUM = slice(148, 156)
#: Whether a GNU header of a sparse file, and each block after it, is followed by one more.
_SPARSE_MORE_AT, _SPARSE_NEXT_AT = 482, 504
_POSIX_MAGIC = b"ustar\0"
_FILES = (b"0", b"\0", b"7", b"S")
#: Types that POSIX gives no data, whatever their size field says.
_WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")
_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL, _SPARSE = b"L", b"K", b"x", b"g", b"S"
_ABOUT_NEXT = (_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL)
#: Longest length of a PAX record, and of a size in one, in digits.
_MAX_DIGITS = 20
#: PAX keys that count here; those of sparse files begin with another word.
_KEYS = ("path", "size", "GNU.sparse.name")
_SPARSE_KEYS = "GNU.sparse."


class Header(FrozenValue):
    """One member.

    Attributes:
        name: with the folders that hold it.
        data_offset: of its data in the archive.
        size: of its data.
        is_file: whether it is a regular file.
        is_sparse: whether its data lacks runs of zeros.
    """

    __match_args__ = ("name", "data_offset", "size", "is_file", "is_sparse")
    __slots__ = __match_args__
    name: str
    data_offset: int
    size: int
    is_file: bool
    is_sparse: bool

    def __init__(
        self, name: str, data_offset: int, size: int, is_file: bool, is_sparse: bool
    ) -> None:
        put = object.__setattr__
        put(self, "name", name)
        put(self, "data_offset", data_offset)
        put(self, "size", size)
        put(self, "is_file", is_file)
        put(self, "is_sparse", is_sparse)


def headers(archive: Source) -> Iterator[Header | CubinError]:
    """The members of an archive; what ends the archive too early comes last."""
    at = 0
    common: dict[str, str] = {}
    try:
        while (found := _next(archive, at, common)) is not None:
            header, at = found
            yield header
    except SpentError:
        raise
    except CubinError as error:
        yield error


def _next(archive: Source, at: int, common: dict[str, str]) -> tuple[Header, int] | None:
    """The member whose first header is at ``at``, and where the next begins; none at the end.

    Args:
        common: what holds for all members from here on; it is added to.
    """
    told = dict(common)
    long_name: str | None = None
    count = 0
    while True:
        block = archive.read(at, _BLOCK)
        if len(block) < _BLOCK or not any(block):
            if len(block) == _BLOCK and not count:
                return None
            raise _no_end(archive, at)
        name, raw_size, checksum, kind, magic, prefix = _HEADER.unpack(block)
        if _number(checksum) != sum(block) - sum(block[_CHECKSUM]) + 8 * ord(" "):
            raise _no_end(archive, at)
        size = _size(archive, at, raw_size)
        data = at + _BLOCK
        if kind not in _ABOUT_NEXT:
            break
        count += 1
        archive.budget.require("headers", count)
        text = _text(archive, data, size)
        if kind == _LONG_NAME:
            long_name = _name(text)
        elif kind == _PAX:
            told.update(_pax(archive, data, text))
        elif kind == _PAX_GLOBAL:
            told.update(_pax(archive, data, text))
            common.update(_pax(archive, data, text))
        at = _behind(data, size)
    full = _name(name)
    if magic == _POSIX_MAGIC and prefix[0]:
        full = f"{_name(prefix)}/{full}"
    if long_name is not None:
        full = long_name
    full = told.get("GNU.sparse.name", told.get("path", full))
    if "size" in told:
        size = int(told["size"])
    if kind == _SPARSE:
        data = _behind_map(archive, block, data)
    is_file = kind in _FILES and not (kind == b"\0" and full.endswith("/"))
    is_sparse = kind == _SPARSE or any(key.startswith(_SPARSE_KEYS) for key in told)
    end = data if kind in _WITHOUT_DATA else _behind(data, size)
    return Header(full.rstrip("/"), data, size, is_file, is_sparse), end


def _behind(data: int, size: int) -> int:
    return data + size + -size % _BLOCK


def _no_end(archive: Source, at: int) -> CubinError:
    return TruncatedError(
        "the tar archive has no end mark",
        file=archive.name,
        offset=at,
        expected="a block of zeros",
    )


def _name(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _number(field: bytes) -> int | None:
    """An octal number; ``None`` for anything else."""
    digits = field.partition(b"\0")[0].strip()
    if digits.strip(b"01234567"):
        return None
    return int(digits or b"0", 8)


def _size(archive: Source, at: int, field: bytes) -> int:
    """A size: octal, or binary with its first bit set."""
    size = int.from_bytes(field[1:], "big") if field[0] == 0x80 else _number(field)
    if size is None:
        raise _damaged(archive, at, "the size is no octal number")
    return size


def _damaged(archive: Source, at: int, reason: str) -> CubinError:
    return BadStructureError(
        f"the tar archive is damaged: {reason}", file=archive.name, offset=at, field="tar_header"
    )


def _text(archive: Source, data: int, size: int) -> bytes:
    """What a header says about the next one."""
    if size > MAX_TAR_HEADER_BYTES:
        raise LimitError(
            f"a header of {size} bytes about the next member",
            file=archive.name,
            offset=data,
            field="tar_header",
            expected=f"at most {MAX_TAR_HEADER_BYTES}",
        )
    return archive.exactly(data, size, "tar_header")


def _pax(archive: Source, data: int, text: bytes) -> dict[str, str]:
    """The records ``LENGTH KEY=VALUE`` that count here."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text) and text[at]:
        space = text.find(b" ", at, at + _MAX_DIGITS)
        digits = text[at:space] if space > 0 else b""
        length = int(digits) if digits.isdigit() else 0
        record = text[space + 1 : at + length] if length else b""
        key, equals, value = record.partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise _damaged(archive, data + at, "this is no PAX record")
        word = key.decode("utf-8", "replace")
        if word in _KEYS or word.startswith(_SPARSE_KEYS):
            found[word if word in _KEYS else _SPARSE_KEYS] = value[:-1].decode(
                "utf-8", "surrogateescape"
            )
        at += length
    size = found.get("size", "0")
    if len(size) > _MAX_DIGITS or not (size.isascii() and size.isdigit()):
        raise _damaged(archive, data, "the PAX size is no number")
    return found


def _behind_map(archive: Source, block: bytes, at: int) -> int:
    """Where the data of a sparse file begins: behind the rest of its map."""
    more = block[_SPARSE_MORE_AT]
    while more:
        more = archive.exactly(at, _BLOCK, "tar_sparse_map")[_SPARSE_NEXT_AT]
        at += _BLOCK
    return at
