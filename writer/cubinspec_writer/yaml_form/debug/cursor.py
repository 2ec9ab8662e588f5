"""Bytes of debug data, piece by piece, and back."""

from __future__ import annotations

from typing import Any, NoReturn

from cubinspec.errors import CubinError
from cubinspec.format.leb128 import sleb, uleb
from cubinspec_writer.yaml_form.text import parse_hex, quote_name, unquote_name

_GROUP_BITS = 7
_MORE = 1 << _GROUP_BITS
#: Numbers that the YAML form has.
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1


class FormError(ValueError):
    """A table is not of the form that is shown, or a document says what no table can hold.

    Attributes:
        path: where in the value of the document.
    """

    def __init__(self, reason: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


class Cursor:
    """Reads bytes one after the other.

    What does not end before the data does raises an IndexError.
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.data)

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise IndexError(self.at)
        found = self.data[self.at : end]
        self.at = end
        return found

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def uleb(self) -> int:
        value, self.at = uleb(self.data, self.at)
        return _checked(value)

    def sleb(self) -> int:
        value, self.at = sleb(self.data, self.at)
        return _checked(value)

    def text(self) -> str:
        """A text up to a NUL, as a document has it."""
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise IndexError(self.at)
        found = self.data[self.at : end]
        self.at = end + 1
        return quote_name(found.decode("utf-8", "surrogateescape"))


def _checked(value: int) -> int:
    """A number that a document can hold."""
    if not _LEAST <= value <= _MOST:
        refuse("a number of more than 64 bits")
    return value


def refuse(reason: str, *path: str | int) -> NoReturn:
    """Say what is wrong with a value of the document, and where."""
    raise FormError(reason, path)


def whole(value: Any, *path: str | int) -> int:
    """A value of the document that must be a whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        refuse(f"{str(value)[:80]!r} is no number", *path)
    return value


def number_bytes(value: Any, size: int, *path: str | int, signed: bool = False) -> bytes:
    """A number of fixed size."""
    try:
        return whole(value, *path).to_bytes(size, "little", signed=signed)
    except OverflowError:
        refuse(f"{value} does not fit into {size} bytes", *path)


def uleb_bytes(value: Any, *path: str | int) -> bytes:
    """An unsigned LEB128 in as few bytes as it needs."""
    rest = whole(value, *path)
    if rest < 0:
        refuse(f"{rest} is less than 0", *path)
    found = bytearray()
    while True:
        rest, group = rest >> _GROUP_BITS, rest & _MORE - 1
        if not rest:
            found.append(group)
            return bytes(found)
        found.append(group | _MORE)


def sleb_bytes(value: Any, *path: str | int) -> bytes:
    """A signed LEB128 in as few bytes as it needs."""
    rest = whole(value, *path)
    found = bytearray()
    while True:
        rest, group = rest >> _GROUP_BITS, rest & _MORE - 1
        if rest == (-1 if group & _MORE >> 1 else 0):
            found.append(group)
            return bytes(found)
        found.append(group | _MORE)


def text_bytes(value: Any, *path: str | int) -> bytes:
    """A text and the NUL that ends it."""
    if not isinstance(value, str):
        refuse(f"{value} is no text", *path)
    try:
        found = unquote_name(value).encode("utf-8", "surrogateescape")
    except ValueError:
        refuse(f"no bytes of a text: {value[:80]}", *path)
    if b"\0" in found:
        refuse("a text ends at its first NUL", *path)
    return found + b"\0"


def hex_bytes(value: Any, *path: str | int) -> bytes:
    """Bytes that a document has as digits."""
    if not isinstance(value, str):
        refuse(f"{value} is no text of hexadecimal digits", *path)
    try:
        return parse_hex(value)
    except CubinError as error:
        refuse(error.reason, *path)


def name_in(table: dict[int, str], value: str | int, *path: str | int) -> int:
    """The number of a name, or the number."""
    if isinstance(value, int):
        return value
    for number, name in table.items():
        if name == value:
            return number
    refuse(f"unknown name {value[:80]}", *path)
