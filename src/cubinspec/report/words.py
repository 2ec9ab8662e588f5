"""Words of our outputs that name no entry of a table: fields, keys of JSON, columns."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Entry = dict[str, Any]

#: Most entries that are shown for one word; "value" is a field of many records.
_MOST = 12
_KSY = "Kaitai Struct type"
_SCHEMA = "schema of --json"


def word_matches(word: str) -> list[Entry]:
    """What fields of the spec, payloads and JSON outputs a word names; like ``explain``.

    Raises:
        FileAccessError: this installation lacks the files of the spec.
    """
    wanted = word.lower()
    found: list[Entry] = []
    seen: set[str] = set()
    for match in _all_words():
        entry = match["entry"]
        if wanted not in (str(entry["name"]).lower(), str(entry.get("original", "")).lower()):
            continue
        text = f"{match['subject']} {entry.get('meaning') or entry}"
        if text not in seen:
            seen.add(text)
            found.append(match)
    return found[:_MOST]


def all_words() -> set[str]:
    """Every word that :func:`word_matches` knows, in small letters."""
    entries = [match["entry"] for match in _all_words()]
    return {
        str(entry[key]).lower() for entry in entries for key in ("name", "original") if key in entry
    }


def _all_words() -> Iterator[Entry]:
    from cubinspec.report.spec_files import spec_document, spec_files

    files = spec_files()
    for kind, read in ((_KSY, _ksy), ("table", _table), (_SCHEMA, _schema)):
        for file in files:
            if file.kind == kind:
                for group, subject, entry in read(spec_document(file)):
                    yield {
                        "table": file.path.name,
                        "group": group,
                        "subject": subject,
                        "entry": entry,
                    }
    for name, meaning in OUTPUT_WORDS.items():
        yield {
            "table": "dump.schema.json",
            "group": "properties",
            "subject": "word of outputs",
            "entry": {"name": name, "meaning": meaning},
        }


def _ksy(document: Any, group: str = "") -> Iterator[tuple[str, str, Entry]]:
    """Fields, types and enumerations of one ``.ksy`` file."""
    for field in document.get("seq", ()):
        if "id" in field:
            yield group or "seq", "field", _field(field["id"], field)
    for name, field in document.get("instances", {}).items():
        yield group or "instances", "field", _field(name, field)
    for name, values in document.get("enums", {}).items():
        for value, item in values.items():
            known = item if isinstance(item, dict) else {"id": item}
            entry = {"name": known["id"], "value": value, "meaning": known.get("doc", "")}
            if "-orig-id" in known:
                entry["original"] = known["-orig-id"]
            yield f"enum {name}", "value", entry
    for name, inner in document.get("types", {}).items():
        if "doc" in inner:
            yield "types", "structure", _field(name, inner)
        yield from _ksy(inner, f"type {name}")


def _field(name: str, field: Entry) -> Entry:
    entry: Entry = {"name": name}
    if "doc" in field:
        entry["meaning"] = " ".join(str(field["doc"]).split())
    if "-orig-id" in field:
        entry["original"] = field["-orig-id"]
    if isinstance(field.get("type"), str):
        entry["stored as"] = field["type"]
    if "enum" in field:
        entry["values"] = field["enum"]
    return entry


def _table(value: Any, owner: str = "", group: str = "") -> Iterator[tuple[str, str, Entry]]:
    """Fields of the payloads and records that a table describes."""
    if isinstance(value, dict):
        owner = str(value.get("name") or value.get("pattern") or owner)
        layout = value.get("layout")
        if isinstance(layout, dict):
            for field in layout.get("fields", ()):
                yield from _payload(field, owner)
        if group.endswith("fields") and "name" in value and "meaning" in value:
            yield group, "field", dict(value)
        for key, item in value.items():
            if isinstance(key, int) and isinstance(item, str):
                yield group, "value", {"name": item, "value": key, "meaning": f"value of {owner}"}
            elif key != "layout" and isinstance(item, (dict, list)):
                yield from _table(item, owner, f"{group}.{key}" if group else key)
    elif isinstance(value, list):
        for item in value:
            yield from _table(item, owner, group)


def _payload(field: Entry, owner: str) -> Iterator[tuple[str, str, Entry]]:
    told = {key: item for key, item in field.items() if key != "bits"}
    yield owner, f"field of {owner}", told
    for part in field.get("bits", ()):
        yield owner, f"bits of {owner}", dict(part)


def _schema(value: Any, group: str = "") -> Iterator[tuple[str, str, Entry]]:
    """Keys of one JSON output that have a description."""
    if isinstance(value, dict):
        for name, inner in (value.get("properties") or {}).items():
            if isinstance(inner, dict) and "description" in inner:
                entry = {"name": name, "meaning": inner["description"]}
                yield group or "properties", "key of JSON", entry
        for key, item in value.items():
            yield from _schema(item, f"{group}.{key}" if group else key)
    elif isinstance(value, list):
        for item in value:
            yield from _schema(item, group)


#: Words of outputs for which neither the spec nor a schema has a text.
OUTPUT_WORDS = {
    "abi_version": "version of the device ABI, e_ident[8]: 7 up to CUDA 12, 8 from CUDA 13",
    "address_taken": "functions whose address is taken, with their signatures",
    "bind": "binding of a symbol: the upper four bits of st_info",
    "bind_name": "name of the binding (STB_...)",
    "callee": "name of the function that is called",
    "callee_index": "index of the called function's symbol",
    "caller": "name of the function that calls",
    "caller_index": "index of the calling function's symbol",
    "calls": "who calls whom, from .nv.callgraph",
    "desc": "the bytes of a note behind its name",
    "first_difference": "offset of the first byte that did not come back the same",
    "flag_names": "names of the bits that are set in sh_flags",
    "format_name": "name of an attribute's form (EIFMT_...)",
    "identical": "whether every byte came back the same",
    "indirect_calls": "functions that call through a pointer, with the signatures they call",
    "layout": "computed from the description, or pinned: taken from the file",
    "markers": "the lists that .nv.callgraph has, by the number that starts each",
    "meaning": "what the spec says of the entry",
    "os_abi": "layout of e_flags, e_ident[7]",
    "os_abi_name": "name of the layout of e_flags (ELFOSABI_...)",
    "other_names": "names of the bits that are set in st_other",
    "reasons": "what was pinned, and how often",
    "references": "which function names which without a call, from .nv.callgraph",
    "source": "where the fact comes from",
    "symbol_index": "index of the symbol in the symbol table",
    "type_name": "name of the type (ET_..., PT_..., SHT_..., STT_...)",
}
