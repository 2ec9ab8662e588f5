"""Notes, from the document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cubinspec_writer.emitter import bodies
from cubinspec_writer.yaml_form import defaults

if TYPE_CHECKING:
    from cubinspec_writer.yaml_form.lookup import Lookup, Path_

_NOTE_HEADER = ("len_owner", "len_description")
_NOTE_KEYS = frozenset(("type", "owner", *_NOTE_HEADER))
_TOOL_TEXTS = ("object_file", "tool_name", "tool_version", "tool_branch", "arguments")
_DESCRIPTORS: dict[str, Any] = {
    ".note.nv.tkinfo": bodies.ToolNote,
    ".note.nv.cuinfo": bodies.CuinfoNote,
    ".note.nv.cuver": bodies.CuverNote,
}


def note(lookup: Lookup, section: str, entry: dict[str, Any], path: Path_) -> bodies.Note:
    kind = entry.get("type", defaults.NOTE_TYPES.get(section))
    if kind is None:
        lookup.refuse(path, "a note of this section needs a type")
    made = bodies.Note(
        kind,
        lookup.name(entry.get("owner", defaults.NOTE_OWNER), (*path, "owner")),
        _descriptor(lookup, section, entry, path),
    )
    made.overrides = {key: entry[key] for key in _NOTE_HEADER if key in entry}
    return made


def _descriptor(
    lookup: Lookup, section: str, entry: dict[str, Any], path: Path_
) -> bodies.ToolNote | bodies.CuinfoNote | bodies.CuverNote | bodies.RawNote:
    fields = {key: value for key, value in entry.items() if key not in _NOTE_KEYS}
    if "data" in fields:
        if len(fields) > 1:
            lookup.refuse(path, "a note has data or fields")
        return bodies.RawNote(lookup.hex(fields["data"], (*path, "data")))
    kind = _DESCRIPTORS.get(section)
    if kind is None:
        lookup.refuse(path, "a note of this section needs data")
    allowed: tuple[str, ...] = kind.__match_args__
    values: dict[str, Any] = {"note_version": defaults.NOTE_VERSION, "reserved": 0}
    for key, value in fields.items():
        if key not in allowed:
            lookup.refuse((*path, key), f"no field of this note: {key}", ", ".join(allowed))
        values[key] = lookup.name(value, (*path, key)) if isinstance(value, str) else value
    if kind is bodies.ToolNote:
        values = dict.fromkeys(_TOOL_TEXTS, "") | values
    missing = [key for key in allowed if key not in values and key != "padding"]
    if missing:
        lookup.refuse(path, f"{missing[0]} is missing")
    made: bodies.ToolNote | bodies.CuinfoNote | bodies.CuverNote = kind(
        **{key: value for key, value in values.items() if key in allowed}
    )
    return made
