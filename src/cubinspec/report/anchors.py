"""Where the site tells of what ``explain`` knows: a page and the anchor on it.

The pages are made with the same names (``tools.gen.tables.emit_pages``, ``tools.site``).
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

#: Table -> the lists whose entries need no prefix, as each has names of its own.
PLAIN = {
    "eiattr": ("attributes",),
    "relocations": ("relocations",),
    "sections": ("kinds",),
    "symbols": ("well_known",),
    "compat": ("attributes",),
    "arch": ("architectures",),
}
#: Schemas of the writer, and what they tell of.
_WRITER_SCHEMAS = {"cubin": "YAML form", "map": "link map"}
#: What some characters of names become; an anchor has no blanks, brackets or quotes.
_NO_ANCHOR = re.compile(r"[^A-Za-z0-9_.*+-]+")


def slug(text: str) -> str:
    """A text as an anchor."""
    return _NO_ANCHOR.sub("-", text).strip("-")


def table_anchor(table: str, group: str, entry: Entry) -> str:
    """The anchor of an entry of a table on its reference page.

    Args:
        table: name of the table, such as ``eiattr``.
        group: path of the list in which the entry stands, such as ``other.spaces``.
        entry: the entry; it has a ``name``, a ``pattern``, an ``sm`` or, nameless, a ``code``.
    """
    if "sm" in entry:
        return f"sm_{entry['sm']}"
    name = entry.get("name") or entry.get("pattern") or entry.get("kind") or f"{entry['code']:#x}"
    return slug(str(name) if group in PLAIN.get(table, ()) else f"{group}-{name}")


def spec_anchor(group: str, name: str) -> str:
    """The anchor of a field, type or value of a ``.ksy`` file on its page."""
    return slug(f"{group}-{name}")


def page_of(match: Entry) -> str | None:
    """Page and anchor on the site, relative to its top; ``None`` where no page tells of it.

    Args:
        match: what ``explain``, ``word_matches`` or ``term_matches`` returned.
    """
    table, group, entry = match["table"], match["group"], match["entry"]
    name = str(entry.get("name", ""))
    if match["subject"] == "file of the spec":
        return _file_page(table)
    if match["subject"] == "DWARF":
        return "debug.html"
    if table.endswith(".schema.json"):
        return _schema_page(match["subject"], table.removesuffix(".schema.json"))
    if table.endswith(".ksy"):
        place = spec_anchor(group, str(entry.get("field", name)))
        return f"{_file_page(table)}#{place}"
    if table.endswith(".yaml"):
        return _payload_page(table.removesuffix(".yaml"), match)
    if table == "glossary.md":
        return f"glossary.html#{slug(f'term-{name}')}"
    if table == "check":
        return f"rules.html#{name.lower()}"
    if table == "link" and group == "rules":
        return f"linking.html#{name}"
    if group == "output":
        return f"commands/{table.removeprefix('cubinspec ')}.html#{slug(f'word-{name}')}"
    if group == "commands":
        return f"commands/{name}.html"
    if group == "columns":
        return f"commands/{table}.html#{slug(f'column-{name}')}"
    return f"reference/{table}.html#{table_anchor(table, group, entry)}"


def _file_page(path: str) -> str:
    """The page of a file of the spec."""
    folder, _, name = path.rpartition("/")
    stem, _, ending = name.partition(".")
    if ending == "ksy":
        return f"spec/{stem}.html"
    if ending == "yaml":
        return f"reference/{stem}.html"
    if stem in _WRITER_SCHEMAS:
        return _schema_page(_WRITER_SCHEMAS[stem], stem)
    return _schema_page("table" if folder.endswith("schema") else "", stem)


def _schema_page(subject: str, stem: str) -> str:
    """The page of a command, a table or the YAML form, of whose keys a schema tells."""
    if "YAML form" in subject:
        return "yaml.html"
    if "link map" in subject or "link --map" in subject:
        return "commands/link.html"
    if "table" in subject:
        return "tables.html" if stem == "common" else f"reference/{stem}.html"
    return f"commands/{stem}.html#json"


def _payload_page(table: str, match: Entry) -> str | None:
    """The page of what a payload's field belongs to, or of a field of a table."""
    group, subject = match["group"], match["subject"]
    if subject.startswith(("field of ", "bits of ")) and table in PLAIN:
        return f"reference/{table}.html#{slug(group)}"
    return f"reference/{table}.html"
