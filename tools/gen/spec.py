"""The ``.ksy`` files as plain typed data, with the line every part came from.

Only what the generator, the lint and the record scanners need is modelled; the Kaitai compiler
stays the judge of everything else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml


class SpecError(Exception):
    """A ``.ksy`` file cannot be understood; the text starts with file and line."""


class _LineDict(dict[Any, Any]):
    """A YAML mapping that remembers the line it starts in."""

    line: int


class _Loader(yaml.SafeLoader):
    """Safe loader whose mappings are :class:`_LineDict`."""


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> _LineDict:
    result = _LineDict()
    result.line = node.start_mark.line + 1
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in result:
            line = key_node.start_mark.line + 1
            raise SpecError(f"{node.start_mark.name}:{line}: key {key!r} occurs twice")
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_mapping)


@dataclass(frozen=True)
class Attr:
    """One field (of ``seq``), instance or parameter.

    Attributes:
        id: name of the attribute.
        raw: the YAML mapping as written.
        kind: ``seq``, ``instance`` or ``param``.
        line: line of its definition in the file.
    """

    id: str
    raw: dict[str, Any]
    kind: str
    line: int

    @property
    def is_value(self) -> bool:
        """True for an instance that is computed and reads nothing."""
        return "value" in self.raw

    @property
    def type_name(self) -> str | None:
        """Type without arguments, ``None`` for byte arrays and switched types."""
        name = self.raw.get("type")
        return name.split("(")[0].strip() if isinstance(name, str) else None


@dataclass
class Type:
    """A user type: the top of a file or one below ``types``.

    Attributes:
        path: names from the file id downwards, ``("eiattr", "info_record")``.
        raw: the YAML mapping as written.
        line: line of its definition.
        seq, instances, params: its attributes in order.
        types: types nested in it.
    """

    path: tuple[str, ...]
    raw: dict[str, Any]
    line: int
    seq: list[Attr] = field(default_factory=list)
    instances: list[Attr] = field(default_factory=list)
    params: list[Attr] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path[-1]

    def attrs(self) -> Iterator[Attr]:
        """Parameters, fields and instances, in this order."""
        yield from self.params
        yield from self.seq
        yield from self.instances

    def walk(self) -> Iterator[Type]:
        """This type and all types nested in it, outer ones first."""
        yield self
        for sub in self.types.values():
            yield from sub.walk()


@dataclass(frozen=True)
class Spec:
    """One ``.ksy`` file.

    Attributes:
        file: its path.
        text: its text.
        root: its top type.
        meta: its ``meta`` mapping.
        enums: its enums, member names by value.
    """

    file: Path
    text: str
    root: Type
    meta: dict[str, Any]
    enums: dict[str, dict[Any, Any]]

    @property
    def id(self) -> str:
        """``meta/id``."""
        return str(self.meta.get("id", ""))

    @property
    def imports(self) -> list[str]:
        """Bare names of the specs that it imports."""
        return list(self.meta.get("imports", []))

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of the text."""
        return digest(self.text)


def digest(text: str) -> str:
    """First 16 hex digits of the SHA-256 of ``text``; names a source in generated files."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _line_of(raw: dict[str, Any]) -> int:
    return raw.line if isinstance(raw, _LineDict) else 0


def _build_type(path: tuple[str, ...], raw: dict[str, Any]) -> Type:
    built = Type(path, raw, _line_of(raw))
    for kind, target in (("seq", built.seq), ("params", built.params)):
        for item in raw.get(kind) or []:
            target.append(Attr(str(item.get("id", "")), item, kind.rstrip("s"), _line_of(item)))
    for name, item in (raw.get("instances") or {}).items():
        built.instances.append(Attr(name, item, "instance", _line_of(item)))
    for name, sub in (raw.get("types") or {}).items():
        built.types[name] = _build_type((*path, name), sub)
    return built


def load_spec(file: Path) -> Spec:
    """Read one ``.ksy`` file.

    Raises:
        SpecError: no YAML, no mapping, or a key given twice.
    """
    text = file.read_text(encoding="utf-8")
    loader = _Loader(text)
    loader.name = str(file)
    try:
        raw = loader.get_single_data()
    except yaml.YAMLError as error:
        raise SpecError(f"{file}: {error}") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("meta"), dict):
        raise SpecError(f"{file}:1: no meta section")
    root = _build_type((str(raw["meta"].get("id", file.stem)),), raw)
    return Spec(file, text, root, raw["meta"], dict(raw.get("enums") or {}))


def load_specs(folder: Path) -> dict[str, Spec]:
    """All specs of a flat folder by file stem, sorted."""
    return {file.stem: load_spec(file) for file in sorted(folder.glob("*.ksy"))}
