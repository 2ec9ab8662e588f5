"""Payload types of ``ksy/eiattr.ksy``, made from the layouts of ``ksy/tables/eiattr.yaml``.

A layout is written once, in the table. ``payloads`` of the table gives types and fields the names
that readers in other languages see; a code without an entry there gets a type with the names of
its layout. What stands between two marks in the ``.ksy`` file is replaced:

    # <generated: cases>     which type a code has
    # <generated: sizes>     the least size of a payload
    # <generated: types>     the types themselves
    # </generated>
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.gen.records import records
from tools.gen.spec import Spec
from tools.gen.tables.emit_kaitai import member_id
from tools.gen.tables.layouts import FIELD_SIZES, struct_format
from tools.gen.tables.load import Table, TableError, Tables

FILE = Path("ksy/eiattr.ksy")
_TABLE = "ksy/tables/eiattr.yaml"
_COLUMNS = 80
_CODE = "cuda_codes::eiattr_code::"
_PAYLOAD = "attribute payload"

#: So many fields of a record are shown beside its name.
_SHOWN = 3

Entry = Mapping[str, Any]


def emit(tables: Tables, text: str) -> str:
    """The ``.ksy`` file with its generated parts made anew.

    Args:
        tables: all tables.
        text: the file as it is.

    Raises:
        TableError: ``payloads`` contradicts a layout.
    """
    table = tables["eiattr"]
    faults = list(payload_faults(table))
    if faults:
        raise TableError(faults)
    payloads = _payloads(table.data)
    attributes = {a["name"]: a for a in table.data["attributes"]}
    parts = {
        "cases": [
            f"            {_CODE}{member_id(code)}: {payload['type']}"
            for payload in payloads
            for code in payload["codes"]
        ],
        "sizes": list(_sizes(payloads, attributes)),
        "types": [
            line
            for payload in payloads
            for line in _types(payload, attributes[payload["codes"][0]], table.data["enums"])
        ],
    }
    for name, lines in parts.items():
        text = _replaced(text, name, lines)
    return text


def _replaced(text: str, part: str, lines: Sequence[str]) -> str:
    """The text with other lines between the marks of a part."""
    found = re.search(rf"(?ms)^ *# <generated: {part}>\n(.*?)^ *# </generated>\n", text)
    if found is None:
        raise TableError([f"{FILE}:1: no place marked <generated: {part}>"])
    return text[: found.start(1)] + "".join(f"{line}\n" for line in lines) + text[found.end(1) :]


# ---------------------------------------------------------------- payloads and layouts


def _sized(attribute: Entry) -> bool:
    """Whether the payload of an attribute has parts that a type can tell."""
    return attribute["layout"]["kind"] not in ("none", "inline", "unknown")


def _payloads(data: Entry) -> list[dict[str, Any]]:
    """The entries of ``payloads``, then one for every code that has none."""
    payloads = [dict(entry) for entry in data["payloads"]]
    given = {code for payload in payloads for code in payload["codes"]}
    for attribute in data["attributes"]:
        if _sized(attribute) and attribute["name"] not in given:
            payloads.append(_named_by_layout(attribute))
    return payloads


def _named_by_layout(attribute: Entry) -> dict[str, Any]:
    """An entry of ``payloads`` that takes all names from the layout."""
    layout = attribute["layout"]
    name = member_id(attribute["name"].removeprefix("EIATTR_"))
    meaning = _sentence(attribute["meaning"])
    fields = [
        {"id": item["name"], "doc": _sentence(f"the field {item['name']}")}
        | (_bits_by_layout(name, item) if "bits" in item else {})
        for item in _items(layout)
    ]
    payload: dict[str, Any] = {
        "type": name,
        "codes": [attribute["name"]],
        "orig_id": attribute["name"],
        "doc": meaning,
        "fields": fields or [{"id": "data", "doc": "The bytes."}],
    }
    if layout["kind"] in ("records", "tagged") or (
        layout["kind"] == "array" and len(layout["fields"]) > 1
    ):
        payload["list"] = {"id": "entries", "doc": "One after the other."}
        payload["entry"] = {"type": f"{name}_entry", "doc": meaning}
    return payload


def _bits_by_layout(name: str, item: Entry) -> dict[str, Any]:
    parts = []
    for part, (named, _, _) in enumerate(_parts(item)):
        doc = f"the bits {named}" if named else "not known"
        parts.append({"id": named or f"unnamed_{part}", "doc": _sentence(doc)})
    doc = _sentence(f"the parts of {item['name']}")
    return {"bits": {"type": f"{name}_{item['name']}", "doc": doc, "parts": parts}}


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _items(layout: Entry) -> list[Entry]:
    """The fields of a layout in order; of a tagged one the tag and what any tag is followed by."""
    if layout["kind"] != "tagged":
        return list(layout.get("fields", ()))
    found: dict[str, Entry] = {}
    for fields in layout["cases"].values():
        for item in fields:
            found.setdefault(item["name"], item)
    return [layout["tag"], *found.values()]


def _shape(layout: Entry) -> list[tuple[object, ...]]:
    """What two layouts that share a type have to agree in."""
    return [
        (
            item["type"],
            item.get("enum"),
            tuple((b["bit"], b["width"], b.get("enum")) for b in item.get("bits", ())),
            "repeat" in item,
        )
        for item in _items(layout)
    ]


def payload_faults(table: Table) -> Iterator[str]:
    """Entries of ``payloads`` that contradict the layouts of their codes."""
    attributes = {a["name"]: a for a in table.data["attributes"]}
    owner: dict[str, str] = {}
    types: set[str] = set()
    for index, payload in enumerate(table.data["payloads"]):
        place = table.at("payloads", index)
        for name in (payload["type"], payload.get("entry", {}).get("type")):
            if name in types:
                yield f"{place}: type {name} is defined twice"
            types |= {name} - {None}
        for code in payload["codes"]:
            if code in owner:
                yield f"{place}: {code} has type {owner[code]} already"
            owner[code] = payload["type"]
            attribute = attributes.get(code)
            if attribute is None or not _sized(attribute):
                yield f"{place}: {code} is no attribute with a payload"
            else:
                first = attributes.get(payload["codes"][0], attribute)
                yield from (
                    f"{place}: {fault}" for fault in _contradictions(payload, attribute, first)
                )


def _contradictions(payload: Entry, attribute: Entry, first: Entry) -> Iterator[str]:
    """What one code's layout and its type do not agree in."""
    code, layout = attribute["name"], attribute["layout"]
    kind = layout["kind"]
    if kind == "opaque":
        return
    items = _items(layout)
    if len(items) != len(payload["fields"]):
        yield f"{payload['type']} has {len(payload['fields'])} fields, {code} {len(items)}"
        return
    if kind != first["layout"]["kind"] or _shape(layout) != _shape(first["layout"]):
        yield f"{code} has another layout than {first['name']}; they cannot share a type"
    if ("entry" in payload) != ("list" in payload):
        yield "list and entry belong together"
    if "entry" in payload and kind not in ("array", "records", "tagged"):
        yield f"the payload of {code} is no list of entries"
    if "entry" not in payload and (
        kind in ("records", "tagged") or (kind == "array" and items[1:])
    ):
        yield f"the payload of {code} is a list of entries"
    for field, item in zip(payload["fields"], items, strict=True):
        if ("bits" in field) != ("bits" in item):
            yield f"{field['id']} of {payload['type']}: bits stand in one of two places only"
        elif "bits" in item and len(field["bits"]["parts"]) != len(_parts(item)):
            yield f"{field['id']} of {payload['type']} has {len(_parts(item))} parts, named or not"


def _parts(item: Entry) -> list[tuple[str, int, str | None]]:
    """(name, width, enum) of the parts of a word from bit 0 on; a gap has no name."""
    result: list[tuple[str, int, str | None]] = []
    at = 0
    for part in item["bits"]:
        if part["bit"] > at:
            result.append(("", part["bit"] - at, None))
        result.append((part["name"], part["width"], part.get("enum")))
        at = part["bit"] + part["width"]
    size = 8 * FIELD_SIZES[item["type"]]
    return [*result, ("", size - at, None)] if at < size else result


def _fixed_size(layout: Entry) -> int:
    """Size of the fields before a repeated one, or of an element of an array."""
    return sum(FIELD_SIZES[item["type"]] for item in _items(layout) if "repeat" not in item)


#: Section of a note -> record of note_nv.ksy that its descriptor starts with.
_NOTES = {
    ".note.nv.tkinfo": "TKINFO_HEAD",
    ".note.nv.cuinfo": "CUINFO",
    ".note.nv.cuver": "CUVER",
}


def note_faults(tables: Tables, specs: Mapping[str, Spec]) -> Iterator[str]:
    """Notes whose layout in the table is not that of ``note_nv.ksy``."""
    formats = {name: layout for name, _, layout, _, _ in records(dict(specs))}
    table = tables["notes"]
    for index, note in enumerate(table.data["types"]):
        ours, theirs = struct_format(note["layout"]["fields"]), formats[_NOTES[note["section"]]]
        if ours != theirs:
            place = table.at("types", index, "layout")
            yield f"{place}: layout {ours} of {note['section']}, ksy/note_nv.ksy has {theirs}"


# ---------------------------------------------------------------- text of the .ksy file


def _sizes(payloads: Sequence[Entry], attributes: Mapping[str, Entry]) -> Iterator[str]:
    """The expression for the least size of a payload."""
    by_size: dict[int, list[str]] = {}
    for payload in payloads:
        for code in payload["codes"]:
            layout = attributes[code]["layout"]
            if layout["kind"] in ("struct", "list"):
                by_size.setdefault(_fixed_size(layout), []).append(member_id(code))
    yield "        value: |"
    for size in sorted(by_size, reverse=True):
        for index, code in enumerate(by_size[size]):
            start = f"{' ' * 10}{'code' if not index else '  or code'}"
            line = f"{start} == {_CODE}{code}"
            if len(line) > _COLUMNS:
                yield start
                line = f"{' ' * 14}== {_CODE}{code}"
            yield line
        yield f"            ? {size}.as<s8> :"
    yield "          0.as<s8>"


def _types(payload: Entry, attribute: Entry, enums: Sequence[Entry]) -> Iterator[str]:
    """The type of a payload and the types that only it uses."""
    layout = attribute["layout"]
    kind = layout["kind"]
    items = _items(layout)
    own = [] if kind == "opaque" or "entry" in payload else payload["fields"]
    reference = _reference(payload)
    yield from _head(payload, reference, _shown(own, items if own else [], kind))
    if kind == "opaque":
        (field,) = payload["fields"]
        yield from _opaque_rest(field["id"], field.get("opaque", _PAYLOAD), field["doc"])
        return
    if "entry" not in payload:
        for field, item in zip(payload["fields"], items, strict=True):
            repeat: list[str] = []
            if kind == "array":
                repeat = [f"_io.size.as<s8> / {_fixed_size(layout)}"]
            elif "repeat" in item:
                repeat = [
                    f"(_io.size.as<s8> - {_fixed_size(layout)}) / {FIELD_SIZES[item['type']]}"
                ]
            yield from _field(field, item, repeat)
        yield from _trailing(payload)
    else:
        many = payload["list"]
        yield f"      - id: {many['id']}"
        yield f"        type: {payload['entry']['type']}"
        if kind == "array":
            yield "        repeat: expr"
            yield f"        repeat-expr: _io.size.as<s8> / {_fixed_size(layout)}"
        else:
            yield "        repeat: eos"
        yield from _doc(many["doc"], 8)
        if kind == "array":
            yield from _trailing(payload)
        shown = _shown(payload["fields"], items, "record")
        yield from _head(payload["entry"], reference, shown)
        if kind == "tagged":
            yield from _tagged(payload["fields"], layout, enums)
        else:
            for field, item in zip(payload["fields"], items, strict=True):
                count = "" if kind == "array" else _count(payload["fields"], items, item)
                yield from _field(field, item, count.splitlines())
    for field, item in zip(payload["fields"], items, strict=True):
        if "bits" in field:
            yield from _bits(field["bits"], reference, item)


def _reference(payload: Entry) -> str:
    """Where the table says what a payload consists of, and on what evidence."""
    codes = payload["codes"]
    return f"{_TABLE}, {codes[0] if len(codes) == 1 else 'payload ' + payload['type']}"


def _head(entry: Entry, reference: str, shown: Sequence[tuple[str, str]] = ()) -> Iterator[str]:
    """The start of a type.

    Args:
        reference: the value of its ``doc-ref``.
        shown: what the Web IDE shows beside the name of a record, and how.
    """
    yield f"  {entry['type']}:"
    if "orig_id" in entry:
        yield f"    -orig-id: {entry['orig_id']}"
    yield from _doc(entry["doc"], 4)
    yield f"    doc-ref: {reference}"
    if shown:
        line = "    -webide-representation: '"
        for number, (name, form) in enumerate(shown):
            part = f"{' ' if number else ''}{{{name}{form}}}"
            if len(line) + len(part) < _COLUMNS:
                line += part
        yield f"{line}'"
    yield "    seq:"


def _shown(fields: Sequence[Entry], items: Sequence[Entry], kind: str) -> list[tuple[str, str]]:
    """The first fields of a record that are one value each."""
    found = [
        (field["id"], "" if "enum" in item else ":dec")
        for field, item in zip(fields, items, strict=True)
        if kind != "array"
        and not {"repeat", "bits"} & {*item}
        and item["type"] in FIELD_SIZES
        and not field["id"].startswith(("reserved", "unknown", "padding"))
    ]
    return found[:_SHOWN]


def _field(field: Entry, item: Entry, repeat: Sequence[str]) -> Iterator[str]:
    yield f"      - id: {field['id']}"
    if "orig_id" in field:
        yield f"        -orig-id: {field['orig_id']}"
    yield f"        type: {field['bits']['type'] if 'bits' in field else item['type']}"
    if "enum" in item:
        yield f"        enum: cuda_codes::{item['enum']}"
    if repeat:
        yield "        repeat: expr"
        yield from _expression("repeat-expr", repeat)
    yield from _doc(field["doc"], 8)


def _count(fields: Sequence[Entry], items: Sequence[Entry], item: Entry) -> str:
    """Number of items of a counted field; never more than the stream can hold."""
    if "repeat" not in item:
        return ""
    at = next(i for i, other in enumerate(items) if other["name"] == item["repeat"])
    count, size = fields[at]["id"], FIELD_SIZES[item["type"]]
    room = f"_io.size.as<s8> / {size}"
    return f"{count}.as<s8> <= {room}\n  ? {count}.as<s8>\n  : ({room}).as<s8>"


def _expression(key: str, lines: Sequence[str]) -> Iterator[str]:
    if len(lines) == 1 and len(lines[0]) + len(key) + 10 <= _COLUMNS:
        yield f"        {key}: {lines[0]}"
        return
    yield f"        {key}: |"
    for line in lines:
        yield f"          {line}"


def _tagged(fields: Sequence[Entry], layout: Entry, enums: Sequence[Entry]) -> Iterator[str]:
    """The fields behind a tag: each stands there for some tags only."""
    tag, *rest = fields
    yield from _field(tag, layout["tag"], ())
    enum = layout["tag"]["enum"]
    values = next(e["values"] for e in enums if e["name"] == enum)
    cases = layout["cases"]

    def named(number: int) -> str:
        return f"cuda_codes::{enum}::{member_id(f'{enum}_{values[number]}')}"

    text_tags: list[int] = []
    for field, item in zip(rest, _items(layout)[1:], strict=True):
        with_it = [n for n, case in cases.items() if any(f["name"] == item["name"] for f in case)]
        without = [number for number in cases if number not in with_it]
        if item["type"] == "str":
            yield from _text(field, rest, layout, item)
            continue
        if any(f.get("size") == item["name"] for case in cases.values() for f in case):
            text_tags = with_it
            condition = ["has_text"]
        elif len(without) < len(with_it):
            condition = [f"{tag['id']} != {named(n)}" for n in without]
            condition = condition[:1] + [f"  and {line}" for line in condition[1:]]
        else:
            condition = list(_any_of(tag["id"], [named(n) for n in with_it]))
        yield f"      - id: {field['id']}"
        yield f"        type: {item['type']}"
        if condition:
            yield from _expression("if", condition)
        yield from _doc(field["doc"], 8)
    if text_tags:
        yield "    instances:"
        yield "      has_text:"
        yield "        value: |"
        for line in _any_of(tag["id"], [named(n) for n in text_tags]):
            yield f"          {line}"
        yield "        -webide-parse-mode: lazy"
        yield "        doc: True for the kinds that carry a text."


def _any_of(subject: str, values: Sequence[str]) -> Iterator[str]:
    for index, value in enumerate(values):
        start = f"  or {subject}" if index else subject
        if len(f"{' ' * 10}{start} == {value}") > _COLUMNS:
            yield start
            yield f"    == {value}"
        else:
            yield f"{start} == {value}"


def _text(field: Entry, rest: Sequence[Entry], layout: Entry, item: Entry) -> Iterator[str]:
    names = [other["name"] for other in _items(layout)[1:]]
    size, align = rest[names.index(item["size"])]["id"], layout["align"]
    left = f"({align} - _io.pos.as<s8> % {align}) % {align}"
    yield f"      - id: {field['id']}"
    yield "        size: |"
    yield f"          {size}.as<s8> <= _io.size.as<s8> - _io.pos.as<s8>"
    yield f"            ? {size}.as<s8>"
    yield "            : (_io.size.as<s8> - _io.pos.as<s8>).as<s8>"
    yield "        type: strz"
    yield "        eos-error: false"
    yield "        if: has_text"
    yield from _doc(field["doc"], 8)
    yield f"      - id: {field['id']}_padding"
    yield "        size: |"
    yield f"          {left} <= _io.size.as<s8> - _io.pos.as<s8>"
    yield f"            ? ({left}).as<s8>"
    yield "            : (_io.size.as<s8> - _io.pos.as<s8>).as<s8>"
    yield "        if: has_text"
    yield "        -opaque: padding"
    yield f"        doc: Zeros up to a multiple of {align}."


def _bits(bits: Entry, reference: str, item: Entry) -> Iterator[str]:
    forms = [
        (part["id"], "" if enum else ":dec")
        for part, (_, _, enum) in zip(bits["parts"], _parts(item), strict=True)
        if not part["id"].startswith(("reserved", "unknown"))
    ]
    yield from _head(bits, reference, forms[:_SHOWN])
    for part, (_, width, enum) in zip(bits["parts"], _parts(item), strict=True):
        yield f"      - id: {part['id']}"
        if "orig_id" in part:
            yield f"        -orig-id: {part['orig_id']}"
        yield f"        type: b{width}"
        if enum is not None:
            yield f"        enum: cuda_codes::{enum}"
        yield from _doc(part["doc"], 8)


def _trailing(payload: Entry) -> Iterator[str]:
    yield from _opaque_rest("trailing", _PAYLOAD, payload.get("trailing", "Empty in files seen."))


def _opaque_rest(name: str, opaque: str, doc: str) -> Iterator[str]:
    yield f"      - id: {name}"
    yield "        size-eos: true"
    yield f"        -opaque: {opaque}"
    yield from _doc(doc, 8)


def _doc(text: str, indent: int) -> Iterator[str]:
    """A documentation key: on one line where it fits and YAML takes it so."""
    space = " " * indent
    line = f"{space}doc: {text}"
    if len(line) <= _COLUMNS and text[0].isalnum() and ": " not in text and " #" not in text:
        yield line
        return
    yield f"{space}doc: |"
    words = f"{space} "
    for word in text.split():
        if len(words) + 1 + len(word) > _COLUMNS and words.strip():
            yield words
            words = f"{space} "
        words += f" {word}"
    yield words
