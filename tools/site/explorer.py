"""What the explorer knows: the generated reader for JavaScript, and texts of the spec as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cubinspec.limits import MAX_SHARED_FACTOR
from cubinspec.report.anchors import page_of, spec_anchor
from cubinspec.report.explain import TABLES, entries_of, load_table, names_of
from cubinspec_generated.codes import STACK_SIZE_UNKNOWN
from tools.gen.fields import class_name, opaque_fields, owned_instances
from tools.gen.kaitai import npm_compile
from tools.gen.records import bit_width
from tools.gen.spec import Attr, Spec, Type, load_specs

ROOT = Path(__file__).resolve().parents[2]
#: Keys of a table's entry that say what it is, the best one first.
_MEANINGS = ("meaning", "purpose", "generation")


def reader() -> dict[str, str]:
    """File -> text: the classes that record where each field is, and a list of them.

    Raises:
        CompileError: node or npm is missing, or a spec does not compile.
    """
    texts = npm_compile(ROOT / "ksy", ["javascript:debug"])["javascript:debug"]
    names = sorted(Path(name).stem for name in texts)
    imports = [f'import {name} from "./{name}.js";' for name in names]
    listed = ", ".join(f"{name}: {name}.{name}" for name in names)
    return {**texts, "index.js": "\n".join([*imports, f"export default {{ {listed} }};", ""])}


def knowledge() -> dict[str, Any]:
    """What the explorer shows beside a field: types by class, table entries by name."""
    specs = load_specs(ROOT / "ksy")
    types = {
        class_name(kind.path): _type(kind, spec) for spec in specs.values() for kind in _kinds(spec)
    }
    words: dict[str, list[str]] = {}
    patterns: list[list[str]] = []
    for table, subject in TABLES.items():
        for group, entry in entries_of(load_table(table)):
            match = {"table": table, "group": group, "subject": subject, "entry": entry}
            told = [_meaning(entry), str(page_of(match))]
            if "pattern" in entry:
                patterns.append([str(entry["pattern"]), *told])
            for name in names_of(entry):
                words.setdefault(name, told)
    families = [
        {key: family.get(key) for key in ("first", "variant_in_flags")}
        for family in load_table("arch")["families"]
    ]
    return {
        "types": types,
        "words": words,
        "patterns": patterns,
        "numbers": _numbers(),
        "families": families,
    }


def explorer_json() -> str:
    """The same as text."""
    return json.dumps(knowledge(), separators=(",", ":"))


def _kinds(spec: Spec) -> list[Type]:
    return list(spec.root.walk())


def _type(kind: Type, spec: Spec) -> dict[str, Any]:
    """Facts of a class: what owns bytes, what is opaque, and the text of each field."""
    is_root = kind is spec.root
    seq, other = ("seq", "instances") if is_root else (f"type {kind.name}",) * 2
    page = f"spec/{spec.file.stem}.html"
    fields = {
        _js_name(field.id): _field(field, f"{page}#{spec_anchor(group, field.id)}")
        for group, group_fields in ((seq, kind.seq), (other, kind.instances))
        for field in group_fields
    }
    told: dict[str, Any] = {"spec": spec.file.stem, "name": kind.name, "fields": fields}
    told["page"] = page if is_root else f"{page}#{spec_anchor('types', kind.name)}"
    told["doc"] = _text(kind.raw.get("doc", ""))
    told["own"] = [_js_name(name) for name in (*(f.id for f in kind.seq), *owned_instances(kind))]
    opaque = {_js_name(name): what for name, what in opaque_fields(kind).items()}
    if opaque:
        told["opaque"] = opaque
    if bit_width(kind):
        told["bits"] = True
    return told


def _field(field: Attr, page: str) -> list[str]:
    """Name, anchor and text of a field."""
    original = field.raw.get("-orig-id")
    name = f"{field.id} ({original})" if original and original != field.id else field.id
    return [name, page, _text(field.raw.get("doc", ""))]


def _js_name(name: str) -> str:
    """A name as the JavaScript target of the compiler spells it."""
    first, *others = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in others)


def _meaning(entry: dict[str, Any]) -> str:
    text = next((str(entry[key]) for key in _MEANINGS if entry.get(key)), "")
    return f"{text}; {entry['note']}" if entry.get("note") else text


def _text(text: object) -> str:
    return " ".join(str(text).split())


def _numbers() -> dict[str, int]:
    """Numbers of the tables and limits that no class of the reader has."""
    fatbin, header = load_table("fatbin"), load_table("elf_header")
    numbers = {row["name"]: row["value"] for row in fatbin["magics"]}
    return {
        **numbers,
        header["machine"]["name"]: header["machine"]["value"],
        "STACK_SIZE_UNKNOWN": STACK_SIZE_UNKNOWN,
        "MAX_SHARED_FACTOR": MAX_SHARED_FACTOR,
    }
