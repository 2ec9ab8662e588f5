"""Words of our outputs that name no entry of a table: fields, keys, values, terms, units."""

from __future__ import annotations

from functools import cache, partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Any

    from cubinspec.report.spec_files import SpecFile

    #: Gives group, subject and entry of every word of a file.
    _Reader = Callable[[Any], Iterator[tuple[str, str, "Entry"]]]

    Entry = dict[str, Any]

#: Most entries that are shown for one word; "value" is a field of many records.
_MOST = 12
_KSY = "Kaitai Struct type"
#: Kind of a schema -> what its keys are called.
_SCHEMAS = {
    "schema of --json": "key of JSON",
    "schema of link --map": "key of the link map",
    "schema of the YAML form": "key of the YAML form",
    "schema of a table": "key of a table",
}


def word_matches(word: str) -> list[Entry]:
    """What fields of the spec, payloads, keys, values and terms a word names; like ``explain``.

    Raises:
        FileAccessError: this installation lacks the files of the spec.
    """
    wanted = word.lower()
    return _matches(wanted) or (_matches(wanted[:-1]) if wanted.endswith("s") else [])


def term_matches(word: str) -> list[Entry]:
    """What the glossary says of a word; like ``explain``.

    Raises:
        FileAccessError: this installation lacks the files of the spec.
    """
    wanted = word.lower()
    return [m for m in _all_words(("glossary",)) if m["entry"]["name"].lower() == wanted]


def _matches(wanted: str) -> list[Entry]:
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


def _all_words(kinds: Collection[str] = ()) -> Iterator[Entry]:
    """The words of all files of the spec, or of some kinds, and of ``OUTPUT_WORDS``."""
    from cubinspec.report.spec_files import spec_files

    files = spec_files()
    for kind in _READERS:
        for file in files:
            if file.kind == kind and (not kinds or kind in kinds):
                yield from _words_in(file)
    if kinds:
        return
    for file in files:
        entry = {"name": file.stem, "meaning": f"{file.kind}: cubinspec spec --json {file.stem}"}
        if file.kind in _READERS and not file.name.endswith(".md"):
            yield {"table": file.name, "group": "", "subject": "file of the spec", "entry": entry}
    for owner, words in OUTPUT_WORDS.items():
        for name, meaning in words.items():
            yield {
                "table": f"cubinspec {owner}",
                "group": "output",
                "subject": "word of outputs",
                "entry": {"name": name, "meaning": meaning},
            }


@cache
def _words_in(file: SpecFile) -> tuple[Entry, ...]:
    """The words of one file; who asks for many words has each file read once."""
    from cubinspec.report.spec_files import spec_document

    return tuple(
        {"table": file.path.name, "group": group, "subject": subject, "entry": entry}
        for group, subject, entry in _READERS[file.kind](spec_document(file))
    )


def _glossary(text: str) -> Iterator[tuple[str, str, Entry]]:
    """The terms of ``docs/glossary.md``: ``- **term** (remark): meaning``."""
    group = ""
    for block in text.replace("\n- ", "\n\n- ").split("\n\n"):
        if block.startswith("## "):
            group = block[3:].strip()
        elif block.startswith("- **"):
            terms, _, meaning = " ".join(block[4:].split()).partition("**")
            meaning = meaning.partition(": ")[2]
            for term in terms.partition(" (")[0].split(" or "):
                yield group, "term", {"name": term, "meaning": meaning}


def _ksy(document: Any, group: str = "") -> Iterator[tuple[str, str, Entry]]:
    """Fields, types and enumerations of one ``.ksy`` file."""
    for field in document.get("seq", ()):
        if "id" in field:
            yield group or "seq", "field", _field(field["id"], field)
            yield from _opaque(field["id"], field, group or "seq")
    for name, field in document.get("instances", {}).items():
        yield group or "instances", "field", _field(name, field)
        yield from _opaque(name, field, group or "instances")
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


def _opaque(name: str, field: Entry, group: str) -> Iterator[tuple[str, str, Entry]]:
    """The kind of body that a field is, whose parts no spec tells."""
    if "-opaque" in field:
        meaning = " ".join(str(field.get("doc", "bytes whose parts no spec tells")).split())
        entry = {"name": field["-opaque"], "meaning": meaning, "field": name}
        yield group, "kind of opaque body", entry


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


def _schema(value: Any, group: str = "", *, subject: str) -> Iterator[tuple[str, str, Entry]]:
    """Keys of one output that have a description, and their values where those are counted."""
    if isinstance(value, dict):
        for name, inner in (value.get("properties") or {}).items():
            if not isinstance(inner, dict):
                continue
            told = {"meaning": inner["description"]} if "description" in inner else {}
            if told:
                yield group or "properties", subject, {"name": name, **told}
            for word in inner.get("enum", ()):
                if isinstance(word, str):
                    entry = {"name": word, "meaning": f"{name}: {told.get('meaning', 'its value')}"}
                    yield group or "properties", f"value of a {subject}", entry
        for key, item in value.items():
            yield from _schema(item, f"{group}.{key}" if group else key, subject=subject)
    elif isinstance(value, list):
        for item in value:
            yield from _schema(item, group, subject=subject)


#: Kind of a file of the spec -> what reads its words, in the order in which they are shown.
_READERS: dict[str, _Reader] = {
    "glossary": _glossary,
    _KSY: _ksy,
    "table": _table,
    **{kind: partial(_schema, subject=subject) for kind, subject in _SCHEMAS.items()},
}

#: Words of outputs for which neither the spec nor a schema has a text.
OUTPUT_WORDS = {
    "kernels": {
        "exe": "a linked image, which a GPU can load",
        "rel": "an input of the linker",
        "recursion": "the stack is unknown: functions that call each other in a circle",
        "indirect call": "the stack is unknown: what is called is known only when it runs",
        "external": "the stack is unknown: a function of another file is called",
    },
    "size": {
        "duplicates": "images or code that the file holds several times",
        "saving": "bytes of the file that one copy would save",
    },
    "dump": {
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
    },
    "link": {
        "gmem": "global memory: variables of the program, zeroed or with values",
        "cmem": "constant memory; the number of the bank follows in brackets",
        "smem": "shared memory of a block",
        "lmem": "local memory of a thread, the stack not counted",
        "textures": "texture references of a kernel",
        "surfaces": "surface references of a kernel",
        "samplers": "sampler references of a kernel",
        "phase": "step of a compilation, in the table of --time",
        "metric": "what was measured, in the table of --time",
    },
    "roundtrip": {
        "computed": "the layout follows from rules; nothing of it was taken from the file",
        "pinned": "part of the layout was taken from the file, as no rule gives it",
    },
    "check": {
        "R_CUDA": "start of the names of relocation types of SASS and data",
        "R_MERCURY": "start of the names of relocation types of Mercury code",
    },
}
