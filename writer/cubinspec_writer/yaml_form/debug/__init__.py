"""Debug data in the YAML form: which form a section has, by its name.

A section is shown decoded only when what is shown gives its bytes again, and as bytes otherwise;
so no table has to be well formed, and none is changed. Addresses and offsets stay the numbers of
the file: the section's relocations, a section of their own, say what they mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cubinspec.errors import CubinError
from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec.model.debug import LINES, PTX_LINES, PTX_REGISTERS, PTX_TEXT, PTX_TYPES
from cubinspec_writer.emitter import bodies
from cubinspec_writer.yaml_form.debug import (
    entries,
    frames,
    lines,
    locations,
    names,
    registers,
    texts,
)
from cubinspec_writer.yaml_form.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cubinspec_writer.emitter.model import Section
    from cubinspec_writer.yaml_form.debug.entries import Table

    #: From bytes to the value of a document, and the other way round; both are told the section.
    _Form = tuple[Callable[["Forms", str, bytes], Any], Callable[["Forms", str, Any], bytes]]

_INFO, _ABBREVIATIONS = ".debug_info", ".debug_abbrev"
#: Section without the prefix of the Mercury half -> key of its form.
_KEY_OF = {
    PTX_TEXT: "ptx",
    LINES: "line_tables",
    PTX_LINES: "line_tables",
    PTX_REGISTERS: "register_places",
    PTX_TYPES: "register_types",
    ".debug_frame": "frames",
    ".debug_str": "strings",
    ".debug_loc": "locations",
    ".debug_pubnames": "public_names",
    ".debug_pubtypes": "public_names",
    _ABBREVIATIONS: "abbreviations",
    _INFO: "units",
}
#: All of them.
KEYS = tuple(dict.fromkeys(_KEY_OF.values()))


#: Of these, the ones that are read with the contents of another section.
KEYS_THAT_WAIT = frozenset((_KEY_OF[_INFO],))


class Forms:
    """The forms of debug data in one file.

    Args:
        word: bytes of an address.
        by_name: the first section of each name; abbreviations are looked up there.
    """

    def __init__(self, word: int, by_name: Mapping[str, Section]) -> None:
        self.word = word
        self._by_name = by_name
        self._tables: dict[str, dict[int, Table]] = {}

    def shown(self, name: str, data: bytes) -> dict[str, Any] | None:
        """Contents of a section for the document; ``None``: they have no form but bytes."""
        key = key_of(name)
        # what is only zeros says more as a number of them
        if key is None or data.count(0) == len(data):
            return None
        read, write = _FORMS[key]
        try:
            value = read(self, name, data)
            is_same = write(self, name, plain(value)) == data
        except (CubinError, IndexError, KeyError, ValueError):
            return None
        return {key: value} if is_same else None

    def data(self, key: str, name: str, value: Any) -> bytes:
        """Contents of a section from the value of its key.

        Raises:
            FormError: no such section has this value.
        """
        _, write = _FORMS[key]
        return write(self, name, value)

    def tables(self, name: str) -> dict[int, Table]:
        """The abbreviations of the half that the section of a name is in."""
        prefix = MERCURY_PREFIX if name.startswith(MERCURY_PREFIX) else ""
        if prefix not in self._tables:
            section = self._by_name.get(prefix + _ABBREVIATIONS)
            body = None if section is None else section.body
            data = body.data if isinstance(body, bodies.Blob) else b""
            self._tables[prefix] = entries.tables_of(data)
        return self._tables[prefix]


def key_of(name: str) -> str | None:
    """The key of the form of a section; ``None``: it has none."""
    own = name.removeprefix(MERCURY_PREFIX).removeprefix(".")
    # the PTX of each input of a link has a number behind its name
    stem = PTX_TEXT if f".{own}".startswith(f"{PTX_TEXT}.") else f".{own}"
    return _KEY_OF.get(stem)


def _alone(read: Callable[[bytes], Any], write: Callable[[Any], bytes]) -> _Form:
    """A form of which the bytes say all."""
    return (
        lambda forms, name, data: read(data),
        lambda forms, name, value: write(value),
    )


def _with_word(read: Callable[[bytes, int], Any], write: Callable[[Any, int], bytes]) -> _Form:
    """A form that holds addresses."""
    return (
        lambda forms, name, data: read(data, forms.word),
        lambda forms, name, value: write(value, forms.word),
    )


#: Key -> from bytes to the value of a document, and the other way round.
_FORMS: dict[str, _Form] = {
    "ptx": _alone(texts.ptx, texts.ptx_bytes),
    "strings": _alone(texts.strings, texts.strings_bytes),
    "line_tables": _with_word(lines.units, lines.units_bytes),
    "register_places": _alone(registers.places, registers.places_bytes),
    "register_types": _alone(registers.types, registers.types_bytes),
    "frames": _with_word(frames.entries, frames.entries_bytes),
    "locations": _with_word(locations.rows, locations.rows_bytes),
    "public_names": _alone(names.tables, names.tables_bytes),
    "abbreviations": _alone(entries.abbreviations, entries.abbreviations_bytes),
    "units": (
        lambda forms, name, data: entries.units(data, forms.tables(name)),
        lambda forms, name, value: entries.units_bytes(value, forms.tables(name)),
    ),
}
