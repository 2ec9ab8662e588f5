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
_HEX_LINE = 32
#: A name that no YAML scalar can hold (bytes that are no text) is written as its bytes.
HEX_NAME = "hex:"


class Hex(int):
    """An integer that is written in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A list or mapping that is written on one line."""

    value: Any


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
        else:
            lines.append(f"{head} {_flow(item)}")


def _sequence(value: list[Any], indent: str, lines: list[str]) -> None:
    for item in value:
        if isinstance(item, dict) and item:
            _mapping(item, indent + "  ", lines, first=f"{indent}- ")
        else:
            lines.append(f"{indent}- {_flow(item)}")


class Document:
    """A parsed document and the places of its nodes.

    Raises:
        YamlError: it is no YAML, or a mapping has a key twice.
    """

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            node = yaml.compose(text, Loader=loader)
            if node is None:
                raise YamlError("the document is empty", file=file)
            self.node: yaml.Node = node
            constructor = yaml.constructor.SafeConstructor()
            self._refuse_duplicates(self.node, ())
            self.value: Any = constructor.construct_document(self.node)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
            raise YamlError(f"{where}{error.problem or 'no YAML'}", file=file) from error
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise YamlError(f"no YAML: {error}", file=file) from error

    def _refuse_duplicates(self, node: yaml.Node, path: tuple[str | int, ...]) -> None:
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                name = str(key.value)
                if name in seen:
                    raise self.error((*path, name), f"the key {name!r} stands here twice")
                seen.add(name)
                self._refuse_duplicates(value, (*path, name))
        elif isinstance(node, yaml.SequenceNode):
            for at, value in enumerate(node.value):
                if not isinstance(value, yaml.ScalarNode):
                    self._refuse_duplicates(value, (*path, at))

    def error(self, path: Path, reason: str, expected: str | None = None) -> YamlError:
        """An error at a path of the document."""
        node = self.node
        place = node.start_mark
        for step in path:
            found = None
            if isinstance(node, yaml.MappingNode):
                for key, value in node.value:
                    if key.value == str(step):
                        found, place = value, key.start_mark
            elif (
                isinstance(node, yaml.SequenceNode)
                and isinstance(step, int)
                and step < len(node.value)
            ):
                found = node.value[step]
                place = found.start_mark
            if found is None:
                break
            node = found
        return YamlError(
            f"line {place.line + 1}, column {place.column + 1}: {reason}",
            file=self.file,
            field=dotted(path),
            expected=expected,
        )


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
