"""What the outputs without Kaitai are written from: records, enums, numbers and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from struct import calcsize
from typing import Any

from tools.gen import codes
from tools.gen.codes import Code
from tools.gen.records import CLASSES, records
from tools.gen.spec import Spec, Type, digest
from tools.gen.tables import Tables
from tools.gen.tables.emit_kaitai import kaitai_enums
from tools.gen.tables.layouts import FIELD_SIZES, FORMAT_CODES, reference
from tools.gen.tables.patterns import expand_kinds

_PARTS = re.compile(r"(\d*)([BHIQbhiqfds])")

#: The record that C and ELF call the header starts with the identification, which is another type.
_WITH_IDENT = ("elf_header_64", "elf_header_32")


@dataclass(frozen=True)
class Field:
    """A field of a record.

    Attributes:
        name: its id.
        code: its ``struct`` code; ``s`` for bytes.
        size: bytes that it takes.
        offset: where it starts in the record.
        doc: what it holds.
    """

    name: str
    code: str
    size: int
    offset: int
    doc: str


@dataclass(frozen=True)
class Record:
    """A record of fixed size, or the fixed start of one.

    Attributes:
        name: id of the type, with ``_64`` or ``_32`` when the ELF classes differ.
        doc: what it is.
        fields: in order.
        whole: whether nothing of varying size follows.
        size: bytes of the fields together.
    """

    name: str
    doc: str
    fields: tuple[Field, ...]
    whole: bool
    size: int


@dataclass(frozen=True)
class Enum:
    """Numbers that stand for one choice.

    Attributes:
        name: id, as in ``cuda_codes.ksy``.
        members: in the order of the table.
    """

    name: str
    members: tuple[Code, ...]


@dataclass(frozen=True)
class AttributeField:
    """A field of an attribute's payload.

    Attributes:
        name: its name in the table.
        kind: ``u1`` to ``u8`` or ``f8``.
        offset: where it starts, in an element when the payload is an array.
        size: bytes of one.
        refers: ``symbol``, ``code``, ``enum:NAME`` or nothing.
        repeat: empty, ``eos`` (up to the end), or the field with the count.
    """

    name: str
    kind: str
    offset: int
    size: int
    refers: str
    repeat: str


@dataclass(frozen=True)
class Attribute:
    """An attribute of ``.nv.info``.

    Attributes:
        name, code, meaning: as in the table, which has codes without a name, too.
        formats: bit n is set when records of format n occur.
        layout: kind of its payload.
        fields: of the payload; empty when they are not known or depend on a tag.
    """

    name: str
    code: int
    meaning: str
    formats: int
    layout: str
    fields: tuple[AttributeField, ...]


@dataclass(frozen=True)
class Facts:
    """Everything that the outputs say.

    Attributes:
        digest: names the sources.
        enums, records, attributes: see there.
        constants: headings with numbers that are in no enum.
        relocations, values, section_kinds: rows of the tables.
    """

    digest: str
    enums: tuple[Enum, ...]
    records: tuple[Record, ...]
    constants: tuple[tuple[str, tuple[Code, ...]], ...]
    attributes: tuple[Attribute, ...]
    relocations: tuple[Mapping[str, Any], ...]
    values: tuple[Mapping[str, Any], ...]
    section_kinds: tuple[Mapping[str, Any], ...]


def words(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def _fields(layout: str, names: list[str], docs: Mapping[str, str], start: int) -> Iterator[Field]:
    offset = start
    for (count, code), name in zip(_PARTS.findall(layout), names, strict=True):
        size = int(count) if code == "s" else calcsize(f"<{code}")
        yield Field(name, code, size, offset, docs.get(name, ""))
        offset += size


def _docs(kind: Type) -> dict[str, str]:
    """Field -> what it holds; of the fields of both ELF classes the first one says it."""
    docs: dict[str, str] = {}
    for attr in kind.seq:
        suffix = CLASSES.get(str(attr.raw.get("if", "")), "")
        docs.setdefault(attr.id.removesuffix(suffix), words(str(attr.raw.get("doc", ""))))
    return docs


def _records(specs: Mapping[str, Spec]) -> Iterator[Record]:
    ident: tuple[Field, ...] = ()
    for upper, kind, layout, names, whole in records(dict(specs)):
        name = upper.lower()
        docs = _docs(kind)
        size = calcsize(layout)
        if name == "elf_ident":
            ident = tuple(_fields(layout, names, docs, 0))
        before = ident if name in _WITH_IDENT else ()
        start = sum(field.size for field in before)
        fields = (*before, *_fields(layout, names, docs, start))
        doc = words(str(kind.raw.get("doc", "")))
        yield Record(name, doc, fields, whole, start + size)


def _attributes(tables: Tables) -> Iterator[Attribute]:
    for row in tables["eiattr"].data["attributes"]:
        if row["name"] is None:
            continue
        offset = 0
        fields = []
        for item in row["layout"].get("fields", ()):
            size = FIELD_SIZES[item["type"]]
            repeat = str(item.get("repeat", ""))
            fields.append(
                AttributeField(item["name"], item["type"], offset, size, reference(item), repeat)
            )
            offset += size
        yield Attribute(
            row["name"],
            row["code"],
            words(row["meaning"]),
            sum(1 << FORMAT_CODES[name] for name in row["formats"]),
            row["layout"]["kind"],
            tuple(fields),
        )


def facts_of(tables: Tables, specs: Mapping[str, Spec]) -> Facts:
    """Everything from the tables and the specs."""
    enums = tuple(
        Enum(name, tuple(Code(member, value, words(doc)) for value, member, doc in members))
        for name, members in kaitai_enums(tables).items()
    )
    named = {member.name for enum in enums for member in enum.members}
    constants = []
    for heading, group in codes.constants(tables, specs):
        rest = tuple(code for code in group if code.name not in named)
        if rest and heading != "sizes of records":
            constants.append((heading, rest))
    sources = [t.text for t in tables.values()] + [s.text for s in specs.values()]
    return Facts(
        digest("".join(sources)),
        enums,
        tuple(_records(specs)),
        tuple(constants),
        tuple(_attributes(tables)),
        tuple(r for r in tables["relocations"].data["relocations"] if r["name"] is not None),
        tuple(tables["relocations"].data["values"]),
        tuple(expand_kinds(tables["sections"].data["kinds"])),
    )
