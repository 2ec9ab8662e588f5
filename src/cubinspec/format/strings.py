"""String tables: names that end in a NUL each, referred to by the offset of their first byte.

A table starts with a NUL, the empty name. NVIDIA's writers put each name there once and share no
tails (``.text.k`` does not stand inside ``.rel.text.k``); a reader takes any offset. Bytes that
are not UTF-8 are surrogates in a text, so that nothing is lost.

* reading: ``StringTable`` (checked, for one offset or many), ``string_offsets`` (all names)
* building: ``build`` (names in their order, and the offset of each), ``build_columns`` (a column of
  offsets), ``starts`` (where each will stand)
* text and bytes: ``encode``, ``decode``, ``length``
"""

from __future__ import annotations

from cubinspec.errors import BadIndexError, BadStringError, CubinError
from cubinspec.limits import LONG_STRING, MAX_STRING_OVERLAP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

#: From this many names on, it is faster to go through them at once.
_MANY: Final = 64


def encode(text: str) -> bytes:
    """The bytes of a name."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    """The name that has these bytes; the inverse of :func:`encode`."""
    return data.decode("utf-8", "surrogateescape")


def is_utf8(name: str) -> bool:
    """Whether a name has no stray bytes."""
    return name.encode("utf-8", "surrogatepass") == name.encode("utf-8", "replace")


def length(name: str) -> int:
    """Bytes of a name, without its NUL."""
    return len(name) if name.isascii() else len(encode(name))


def starts(names: list[str], *, are_ascii: bool) -> Iterable[int]:
    """Where each of the names stands that follow each other from 0 on, a NUL behind each."""
    from itertools import accumulate

    if are_ascii:
        return accumulate([len(name) + 1 for name in names[:-1]], initial=0)
    return accumulate([length(name) + 1 for name in names[:-1]], initial=0)


def build(names: list[str]) -> tuple[bytes, dict[str, int]]:
    """The table with names in the order in which they first come, and the offset of each.

    An empty one is a NUL that nothing refers to.
    """
    places: dict[str, int] = {}
    at = 1
    for name in names:
        if places.setdefault(name, at) == at:
            at += len(name) + 1
    text = "\0".join(places)
    raw = encode(text)
    if len(raw) != len(text):
        at = 1
        for name in places:
            places[name] = at
            at += length(name) + 1
    table = b"\0%b\0" % raw if places else b"\0"
    places[""] = 0
    return table, places


def build_columns(names: list[str], wanted: list[str]) -> tuple[bytes, list[int]]:
    """:func:`build`, and the offsets of those names that are wanted, in their order."""
    if len(names) > _MANY:
        from cubinspec.format.bulk import string_table  # large tables only

        found = string_table(names, wanted)
        if found is not None:
            return found
    table, places = build(names)
    return table, [places[name] for name in wanted]


def empty_name(table: bytes) -> int:
    """Offset of the empty name where one has a place of its own: behind the first two NULs."""
    return max(table.find(b"\0\0"), 0) + 1


def string_offsets(table: bytes, others: Iterable[str] = ()) -> dict[str, int]:
    """Offset of the first occurrence of every name of a table, in the order of the table.

    Args:
        others: names of which no second objects are made.
    """
    text = decode(table)
    names = text.split("\0")[:-1]
    is_ascii = text.isascii()
    del text
    if others:
        objects = {name: name for name in others}
        names = [*map(objects.get, names, names)]
        del objects
    places = [*starts(names, are_ascii=is_ascii)] if names else []
    offsets = dict(zip(names, places, strict=True))
    if len(offsets) < len(names):
        offsets.update(zip(reversed(names), reversed(places), strict=True))
    offsets[""] = 0
    return offsets


class StringTable:
    """The bytes of one string table, read once."""

    __slots__ = ("_long", "_long_size", "data", "field", "file", "offset")

    def __init__(self, data: bytes, offset: int, file: str, field: str) -> None:
        self.data: bytes = data
        self.offset: int = offset
        self.file: str = file
        self.field: str = field
        self._long: dict[int, str] = {}
        self._long_size = 0

    def __repr__(self) -> str:
        return f"<StringTable {self.field} of {self.file!r}, {len(self.data)} bytes>"

    def get_many(self, indices: list[int]) -> list[str]:
        """The strings at many indices; raises as :meth:`get` does."""
        data = self.data
        if len(indices) > _MANY:
            from cubinspec.format.bulk import texts  # large tables only

            found = texts(data, indices)
            if found is not None:
                return found
        find = data.find
        names = []
        for index in indices:
            end = find(0, index)
            if end < 0:
                self._refuse(index)
            if end - index > LONG_STRING:
                names.append(self._get_long(index, end))
            else:
                names.append(data[index:end].decode("utf-8", "surrogateescape"))
        return names

    def get(self, index: int) -> str:
        """The string that starts at ``index``.

        Bytes that are not UTF-8 come back as surrogates, so that nothing is lost.

        Raises:
            BadIndexError: ``index`` is outside the table.
            BadStringError: no NUL between ``index`` and the end of the table, or the table is one
                long string with many beginnings.
        """
        data = self.data
        end = data.find(0, index)
        if end < 0 or index < 0:
            self._refuse(index)
        if end - index > LONG_STRING:
            return self._get_long(index, end)
        return data[index:end].decode("utf-8", "surrogateescape")

    def text_or_offset(self, index: int) -> str | int:
        """The string that starts at ``index``, or ``index`` where there is none."""
        try:
            return self.get(index)
        except CubinError:
            return index

    def _get_long(self, index: int, end: int) -> str:
        """A string worth sharing between all who name it, and worth counting."""
        text = self._long.get(index)
        if text is None:
            self._long_size += end - index
            if self._long_size > MAX_STRING_OVERLAP * len(self.data):
                raise BadStringError(
                    "the strings asked for share too many bytes",
                    file=self.file,
                    offset=self.offset + index,
                    field=self.field,
                    expected=f"at most {MAX_STRING_OVERLAP} times the table's {len(self.data)}",
                )
            text = decode(self.data[index:end])
            self._long[index] = text
        return text

    def _refuse(self, index: int) -> None:
        size = len(self.data)
        if not 0 <= index < size:
            raise BadIndexError(
                f"string index {index:#x} is outside the string table",
                file=self.file,
                offset=self.offset,
                field=self.field,
                expected=f"an index below {size:#x}",
            )
        raise BadStringError(
            f"string at index {index:#x} has no terminator",
            file=self.file,
            offset=self.offset + index,
            field=self.field,
            expected="a NUL before the end of the table",
        )
