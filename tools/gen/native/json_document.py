"""``generated/json/cubin.json``: codes, records and tables as one document with a schema.

The tables themselves, with evidence and notes, are the JSON files that ``cubinspec spec --json``
prints; this one says what another program needs to read and write cubins, layouts included.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.gen.codes import Code
from tools.gen.native.facts import Attribute, Facts, Record

FOLDER = Path("generated/json")
DOCUMENT = FOLDER / "cubin.json"
SCHEMA = FOLDER / "cubin.schema.json"

#: Version of the document's form. The first number changes when a reader has to change.
VERSION = "1.0"

#: Larger numbers are text: many readers of JSON keep numbers as doubles.
_EXACT = 2**53 - 1

_KINDS = {"B": "u1", "H": "u2", "I": "u4", "Q": "u8", "i": "s4", "q": "s8", "d": "f8", "s": "bytes"}


def _number(value: int) -> int | str:
    return value if value <= _EXACT else hex(value)


def _code(code: Code) -> dict[str, Any]:
    return {
        "name": code.name,
        "value": _number(code.value),
        "meaning": " ".join(code.meaning.split()),
    }


def _record(record: Record) -> dict[str, Any]:
    fields = [
        {"name": f.name, "type": _KINDS[f.code], "offset": f.offset, "size": f.size, "doc": f.doc}
        for f in record.fields
    ]
    return {
        "name": record.name,
        "size": record.size,
        "fixed": record.whole,
        "doc": record.doc,
        "fields": fields,
    }


def _attribute(attribute: Attribute) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "code": attribute.code,
        "meaning": attribute.meaning,
        "formats": [bit for bit in range(1, 5) if attribute.formats >> bit & 1],
        "layout": attribute.layout,
        "fields": [
            {
                "name": f.name,
                "type": f.kind,
                "offset": f.offset,
                "refers": f.refers,
                "repeat": f.repeat,
            }
            for f in attribute.fields
        ],
    }


def document(facts: Facts) -> dict[str, Any]:
    """The document as plain data."""
    relocation = ("kind", "bit", "width", "shift", "value")
    section = ("kind", "pattern", "relocatable", "executable")
    return {
        "$schema": SCHEMA.name,
        "version": VERSION,
        "source": f"ksy/ (sha256 {facts.digest})",
        "license": "CC0-1.0",
        "enums": [{"name": e.name, "members": list(map(_code, e.members))} for e in facts.enums],
        "constants": [
            {"meaning": heading, "values": list(map(_code, group))}
            for heading, group in facts.constants
        ],
        "records": list(map(_record, facts.records)),
        "attributes": list(map(_attribute, facts.attributes)),
        "relocation_values": [
            {key: v[key] for key in ("name", "formula", "meaning")} for v in facts.values
        ],
        "relocations": [
            {
                "name": row["name"],
                "type": row["type"],
                "actions": [{key: a[key] for key in relocation} for a in row["actions"]],
            }
            for row in facts.relocations
        ],
        "section_kinds": [{key: kind[key] for key in section} for kind in facts.section_kinds],
    }


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(properties)}


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    text: dict[str, Any] = {"type": "string"}
    name = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
    count = {"type": "integer", "minimum": 0}
    number = {"anyOf": [count, {"type": "string", "pattern": "^0x[0-9a-f]+$"}]}
    code = _list({"name": name, "value": number, "meaning": text})
    kinds = sorted(set(_KINDS.values()))
    field = {"name": name, "type": {"enum": kinds}, "offset": count, "size": count, "doc": text}
    payload = {
        "name": name,
        "type": {"enum": ["u1", "u2", "u4", "u8", "f8"]},
        "offset": count,
        "refers": {"type": "string", "pattern": "^(|symbol|code|enum:[a-z0-9_]+)$"},
        "repeat": text,
    }
    action = {"kind": name, "bit": count, "width": count, "shift": count, "value": name}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA.name,
        "title": "CUDA device binaries: codes, records and tables",
        **_object(
            {
                "$schema": text,
                "version": {"const": VERSION},
                "source": text,
                "license": {"const": "CC0-1.0"},
                "enums": _list({"name": name, "members": code}),
                "constants": _list({"meaning": text, "values": code}),
                "records": _list(
                    {
                        "name": name,
                        "size": count,
                        "fixed": {"type": "boolean"},
                        "doc": text,
                        "fields": _list(field),
                    }
                ),
                "attributes": _list(
                    {
                        "name": name,
                        "code": count,
                        "meaning": text,
                        "formats": {"type": "array", "items": {"enum": [1, 2, 3, 4]}},
                        "layout": name,
                        "fields": _list(payload),
                    }
                ),
                "relocation_values": _list({"name": name, "formula": text, "meaning": text}),
                "relocations": _list({"name": name, "type": count, "actions": _list(action)}),
                "section_kinds": _list(
                    {"kind": text, "pattern": text, "relocatable": name, "executable": name}
                ),
            }
        ),
    }


def emit(facts: Facts) -> dict[Path, str]:
    """The document and its schema."""
    return {
        DOCUMENT: json.dumps(document(facts), indent=1, ensure_ascii=False) + "\n",
        SCHEMA: json.dumps(schema(), indent=1) + "\n",
    }
