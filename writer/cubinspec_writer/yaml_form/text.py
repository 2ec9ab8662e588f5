"""YAML text: a small writer that keeps large files fast, and a reader that knows its places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from cubinspec.errors import BadStructureError, CubinError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Path = Sequence[str | int]

_PLAIN = re.compile(r"[A-Za-z_.$][A-Za-z0-9_.$@]*\Z")
#: Words that YAML 1.1 reads as something else than text.
_RESERVED = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", ".", "..", ".nan", ".inf")
)
# Digits behind a leading zero are text: bytes look so, and some libraries give them no quotes.
_NUMBER = re.compile(r"[-+]?(?:0x[0-9A-Fa-f]+|0|[1-9][0-9]*)\Z")
_LONGEST_NUMBER = 40
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
#: No description of a cubin is deeper; more would only be a way to exhaust the reader.
MAX_DEPTH = 16
_NO_KEY: Any = object()
_HEX_LINE = 32
#: A name that no YAML scalar can hold (bytes that are no text) is written as its bytes.
HEX_NAME = "hex:"


class Hex(int):
    """An integer that is written in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A list or mapping that is written on one line."""

    value: Any


@dataclass(frozen=True, slots=True)
class Remark:
    """A value with a remark behind it, which nothing reads."""

    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A text that is written line by line; each of its lines is ended."""

    text: str


class YamlError(CubinError):
    """A document that is no description of a cubin.

    The message names the path in the document, line and column (both from 1).
    """


def quote_name(name: str) -> str:
    """A name as a YAML-safe string; the inverse is :func:`unquote_name`."""
    if name.startswith(HEX_NAME) or not (name.isprintable() and name.isascii()):
        try:
            if name.isprintable() and not name.startswith(HEX_NAME):
                name.encode()
                return name
        except UnicodeEncodeError:
            pass
        return HEX_NAME + name.encode("utf-8", "surrogateescape").hex()
    return name


def unquote_name(text: str) -> str:
    """The name that :func:`quote_name` wrote."""
    if text.startswith(HEX_NAME):
        return bytes.fromhex(text[len(HEX_NAME) :]).decode("utf-8", "surrogateescape")
    return text


def plain(value: Any) -> Any:
    """A value as :class:`Document` reads it again."""
    if isinstance(value, Flow | Remark):
        return plain(value.value)
    if isinstance(value, Literal):
        return value.text
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def write(document: dict[str, Any]) -> str:
    """The text of a document of dicts, lists, strings, integers and bytes."""
    lines: list[str] = []
    _mapping(document, "", lines)
    return "\n".join(lines) + "\n"


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, Hex):
        return hex(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return f"'{value.hex()}'"
    text = str(value)
    if _PLAIN.match(text) and text.lower() not in _RESERVED:
        return text
    return "'" + text.replace("'", "''") + "'"


def _flow(value: Any) -> str:
    if isinstance(value, Flow):
        value = value.value
    if isinstance(value, dict):
        return "{" + ", ".join([f"{_scalar(k)}: {_flow(v)}" for k, v in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join([_flow(item) for item in value]) + "]"
    return _scalar(value)


def _mapping(
    value: dict[str, Any], indent: str, lines: list[str], first: str | None = None
) -> None:
    for key, item in value.items():
        head = f"{indent if first is None else first}{_scalar(key)}:"
        first = None
        if isinstance(item, dict) and item:
            lines.append(head)
            _mapping(item, indent + "  ", lines)
        elif isinstance(item, list) and item:
            lines.append(head)
            _sequence(item, indent, lines)
        elif isinstance(item, bytes) and len(item) > _HEX_LINE:
            lines.append(head + " |")
            text, step = item.hex(), 2 * _HEX_LINE
            lines.extend([f"{indent}  {text[at : at + step]}" for at in range(0, len(text), step)])
        elif isinstance(item, Literal):
            # the number says how far lines are indented, and the sign that all their ends count
            lines.append(head + " |2+")
            lines.extend([f"{indent}  {line}" if line else "" for line in item.text.split("\n")])
            lines.pop()
        else:
            lines.append(f"{head} {_line(item)}")


def _sequence(value: list[Any], indent: str, lines: list[str]) -> None:
    for item in value:
        if isinstance(item, dict) and item:
            _mapping(item, indent + "  ", lines, first=f"{indent}- ")
        else:
            lines.append(f"{indent}- {_line(item)}")


def _line(value: Any) -> str:
    """A value that ends its line, and the remark about it."""
    if isinstance(value, Remark):
        return f"{_flow(value.value)}  # {value.text}"
    return _flow(value)


class Document:
    """A parsed document: plain values, and where they stand.

    It is read event by event, so that neither depth nor references between nodes can exhaust
    anything: a description of a cubin needs no anchors, aliases or tags, and few levels. Plain
    scalars are whole numbers (decimal or ``0x…``, 64 bits), ``true``, ``false`` and ``null``;
    everything else is text.

    Raises:
        YamlError: it is no YAML, uses what is not needed, or has a key twice.
    """

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.text = text
        self.value: Any = _Reader(self).run()

    def error(self, path: Path, reason: str, expected: str | None = None) -> YamlError:
        """An error at a path of the document, or as near to it as the document goes."""
        # places are many and errors are few: the place is found by reading once more
        reader = _Reader(self, tuple(path))
        reader.run()
        return self.error_at(reader.place, reason, dotted(path), expected)

    def error_at(
        self,
        place: tuple[int, int],
        reason: str,
        field: str | None = None,
        expected: str | None = None,
    ) -> YamlError:
        """An error at a line and column, both from 0."""
        return YamlError(
            f"line {place[0] + 1}, column {place[1] + 1}: {reason}",
            file=self.file,
            field=field,
            expected=expected,
        )


class _Reader:
    """The values of a document; with ``wanted``, the place of that path."""

    def __init__(self, document: Document, wanted: tuple[str | int, ...] | None = None) -> None:
        self.document = document
        self.wanted = wanted
        self.place = (0, 0)
        self._found = -1
        #: Containers that are open, and in each the key that comes next (````_NO_KEY``: none).
        self._open: list[Any] = []
        self._keys: list[Any] = []
        self._result: Any = _NO_KEY

    def run(self) -> Any:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        documents = 0
        try:
            for event in yaml.parse(self.document.text, Loader=loader):
                if isinstance(event, yaml.ScalarEvent):
                    self._scalar(event)
                elif isinstance(event, yaml.CollectionStartEvent):
                    self._start(event)
                elif isinstance(event, yaml.CollectionEndEvent):
                    self._end()
                elif isinstance(event, yaml.AliasEvent):
                    raise self._error(event, "aliases are not used here")
                elif isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        raise self._error(event, "a second document stands here")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = (mark.line, mark.column) if mark else (0, 0)
            reason = error.problem or "this is no YAML"
            # libyaml reads ahead, and from 0.2.6 on it refuses 1000 levels before any is told here
            if "nesting depth" in reason:
                reason = f"more than {MAX_DEPTH} levels"
            raise self.document.error_at(place, reason) from error
        except yaml.reader.ReaderError as error:
            head = self.document.text[: error.position]
            place = (head.count("\n"), len(head) - head.rfind("\n") - 1)
            raise self.document.error_at(place, f"this is no text: {error.reason}") from error
        except (yaml.YAMLError, ValueError) as error:
            raise self.document.error_at((0, 0), f"this is no YAML: {error}") from error
        if self._result is _NO_KEY:
            raise self.document.error_at((0, 0), "the document is empty")
        return self._result

    def _error(self, event: Any, reason: str) -> YamlError:
        mark = event.start_mark
        path = tuple([key for key in self._keys if key is not _NO_KEY])
        return self.document.error_at((mark.line, mark.column), reason, dotted(path))

    def _start(self, event: Any) -> None:
        self._refuse_extras(event)
        if len(self._open) == MAX_DEPTH:
            raise self._error(event, f"more than {MAX_DEPTH} levels")
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._put(event, value)
        self._open.append(value)
        self._keys.append(_NO_KEY if isinstance(value, dict) else 0)

    def _end(self) -> None:
        self._open.pop()
        self._keys.pop()
        self._complete()

    def _complete(self) -> None:
        """Finish a value; the next key or item follows."""
        if self._open:
            key = self._keys[-1]
            self._keys[-1] = key + 1 if isinstance(self._open[-1], list) else _NO_KEY

    def _scalar(self, event: Any) -> None:
        self._refuse_extras(event)
        if self._keys and self._keys[-1] is _NO_KEY:
            key = self._keys[-1] = event.value
            if key in self._open[-1]:
                raise self._error(event, f"the key {key[:80]!r} stands here twice")
            self._look(event)
            return
        self._put(event, self._plain(event) if event.implicit[0] else event.value)
        self._complete()

    def _refuse_extras(self, event: Any) -> None:
        if event.anchor is not None or event.tag is not None:
            raise self._error(event, "anchors and tags are not used here")

    def _plain(self, event: Any) -> Any:
        text = event.value
        if text in _WORDS:
            return _WORDS[text]
        if not _NUMBER.match(text):
            return text
        # a longer one would be expensive to read
        number = int(text, 16 if "x" in text else 10) if len(text) < _LONGEST_NUMBER else 1 << 64
        if not -(1 << 63) <= number < 1 << 64:
            raise self._error(event, "a number of more than 64 bits")
        return number

    def _put(self, event: Any, value: Any) -> None:
        if not self._open:
            self._result = value
            self._look(event)
            return
        container = self._open[-1]
        if isinstance(container, list):
            self._look(event)
            container.append(value)
        elif self._keys[-1] is _NO_KEY:
            raise self._error(event, "a key is one word")
        else:
            container[self._keys[-1]] = value

    def _look(self, event: Any) -> None:
        """Keep the place of a node if its path fits more of the wanted path than any before."""
        depth = len(self._keys)
        if self.wanted is None or depth <= self._found:
            return
        if tuple(self._keys) == self.wanted[:depth]:
            self._found = depth
            self.place = (event.start_mark.line, event.start_mark.column)


def dotted(path: Path) -> str:
    """``contents[3].records[0]``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or "document"


def parse_hex(text: str) -> bytes:
    """Bytes from hexadecimal digits with any white space.

    Raises:
        BadStructureError: something else stands there.
    """
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise BadStructureError(f"no hexadecimal bytes: {error}") from error
