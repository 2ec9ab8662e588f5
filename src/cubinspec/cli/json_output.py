"""JSON for programs: one record per line, written as soon as it is known.

``--json`` prints an array with a record on each line, ``--jsonl`` the same records without brackets
and commas. Every record begins with the name and version of its schema, such as
``"schema": "cubinspec.kernels/1"``; ``cubinspec/schema`` holds the schemas.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Self

    from cubinspec.cli.options import Arguments

    Record = dict[str, Any]

#: Version of the schemas: it grows when a key changes its meaning or goes.
_VERSION = 1
#: Characters that are gathered before they are written.
CHUNK = 1 << 16


def _encoder() -> Callable[[Any], str]:
    """What ``json.dumps`` does, without spaces."""
    try:
        # `json` imports the modules of regular expressions, which takes longer than most commands
        from _json import encode_basestring_ascii, make_encoder

        pieces = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", *_FLAGS)
    except (ImportError, TypeError):  # they belong to CPython, and another one may differ
        from json import JSONEncoder

        return JSONEncoder(separators=(",", ":"), check_circular=False).encode
    return lambda value: "".join(pieces(value, 0))


def _refuse(value: object) -> None:
    raise TypeError(f"{type(value).__name__} has no JSON form")


#: Of that encoder: keys are not sorted, all keys are text, numbers may be infinite.
_FLAGS = (False, False, True)
encode = _encoder()


def head_of(command: str, first: Record | None = None) -> str:
    """Beginning of the text of every record of a command.

    Args:
        first: keys that all these records begin with.
    """
    return _text({"schema": f"cubinspec.{command}/{_VERSION}", **(first or {})})[:-1] + ","


def text_of(head: str, record: Record) -> str:
    """The text of a record with at least one key."""
    return head + _text(record)[1:]


def inner_text(record: Record) -> str:
    """The text of some keys of a record, without the brackets around them."""
    return _text(record)[1:-1]


def _text(record: Record) -> str:
    text = encode(record)
    # a byte of a name that is no UTF-8 became half of a surrogate pair, which is no Unicode
    return encode(_clean(record)) if "\\udc" in text else text


def _clean(value: Any) -> Any:
    from cubinspec.format.escapes import escape_stray_bytes

    if isinstance(value, str):
        return escape_stray_bytes(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


class Records:
    """Prints the records of a command; in a ``with`` block, at whose end the array is closed.

    Args:
        command: whose schema the records follow.

    Attributes:
        separator: stands between two records.
    """

    __slots__ = ("_head", "_lines", "_parts", "_size", "_started", "separator")

    def __init__(self, command: str, arguments: Arguments) -> None:
        self._head = head_of(command)
        self._lines = arguments.flag("--jsonl")
        self.separator: str = "\n" if self._lines else ",\n"
        self._parts: list[str] = []
        self._size = 0
        self._started = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()

    def add(self, record: Record) -> None:
        """Print a record."""
        self.add_texts((text_of(self._head, record),))

    def add_texts(self, texts: Iterable[str]) -> None:
        """Print records whose texts :func:`text_of` made, or several with a separator between."""
        for text in texts:
            if self._started:
                self._parts.append(self.separator)
            elif not self._lines:
                self._parts.append("[\n")
            self._started = True
            if len(text) > CHUNK:  # joined with the others it would be copied
                self._write()
                sys.stdout.write(text)
                continue
            self._parts.append(text)
            self._size += len(text)
            if self._size > CHUNK:
                self._write()

    def _write(self) -> None:
        sys.stdout.write("".join(self._parts))
        self._parts.clear()
        self._size = 0

    def close(self) -> None:
        """Print what is left and the end of the array."""
        if self._started:
            self._parts.append("\n" if self._lines else "\n]\n")
        elif not self._lines:
            self._parts.append("[]\n")
        self._write()


def with_way(record: Record, steps: list[dict[str, object]]) -> Record:
    """The record of a cubin with the way to it, in place of a text that shows the way."""
    return {**record, "file": steps[0]["name"], "provenance": steps}
