"""Entries of ``.debug_info`` and the abbreviations that say what they consist of.

An entry is the number of an abbreviation and the values of its attributes, whose forms the
abbreviation tells; so the section is read and written with the abbreviations of its file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cubinspec_generated.codes_dwarf import (
    DW_FORM_ADDR,
    DW_FORM_BLOCK,
    DW_FORM_BLOCK1,
    DW_FORM_BLOCK2,
    DW_FORM_BLOCK4,
    DW_FORM_DATA1,
    DW_FORM_DATA2,
    DW_FORM_DATA4,
    DW_FORM_DATA8,
    DW_FORM_EXPRLOC,
    DW_FORM_FLAG,
    DW_FORM_FLAG_PRESENT,
    DW_FORM_REF1,
    DW_FORM_REF2,
    DW_FORM_REF4,
    DW_FORM_REF8,
    DW_FORM_REF_ADDR,
    DW_FORM_REF_SIG8,
    DW_FORM_REF_UDATA,
    DW_FORM_SDATA,
    DW_FORM_SEC_OFFSET,
    DW_FORM_STRING,
    DW_FORM_STRP,
    DW_FORM_UDATA,
)
from cubinspec_writer.yaml_form.debug.cursor import (
    Cursor,
    hex_bytes,
    name_in,
    number_bytes,
    refuse,
    sleb_bytes,
    text_bytes,
    uleb_bytes,
)
from cubinspec_writer.yaml_form.text import Flow, Hex, Remark

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Number of an abbreviation -> tag, whether entries have children, attributes and their forms.
Table = dict[int, tuple[int, bool, list[tuple[str, int]]]]

_WORD, _HALF = 4, 2
_VERSIONS = range(2, 5)
#: Form -> bytes of a plain number, and of an offset or address, which is shown in hexadecimal.
_NUMBERS = {
    DW_FORM_DATA1: 1,
    DW_FORM_DATA2: 2,
    DW_FORM_DATA4: 4,
    DW_FORM_DATA8: 8,
    DW_FORM_FLAG: 1,
}
_OFFSETS = {
    DW_FORM_STRP: 4,
    DW_FORM_SEC_OFFSET: 4,
    DW_FORM_REF1: 1,
    DW_FORM_REF2: 2,
    DW_FORM_REF4: 4,
    DW_FORM_REF8: 8,
    DW_FORM_REF_SIG8: 8,
}
_UNSIGNED = frozenset((DW_FORM_UDATA, DW_FORM_REF_UDATA))
#: Form of a block -> bytes of its length; 0: LEB128.
_BLOCKS = {
    DW_FORM_BLOCK1: 1,
    DW_FORM_BLOCK2: 2,
    DW_FORM_BLOCK4: 4,
    DW_FORM_BLOCK: 0,
    DW_FORM_EXPRLOC: 0,
}
_ENTRY = "entry"


def _names() -> tuple[dict[int, str], dict[int, str], dict[int, str]]:
    """What DWARF calls tags, attributes and forms."""
    from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_FORM, ENUM_DW_TAG

    tags, attributes, forms = (
        {number: name for name, number in table.items() if isinstance(number, int)}
        for table in (ENUM_DW_TAG, ENUM_DW_AT, ENUM_DW_FORM)
    )
    return tags, attributes, forms


def _name(table: dict[int, str], number: int) -> str | int:
    return table.get(number, Hex(number))


# -- abbreviations ---------------------------------------------------------------------------------


def abbreviations(data: bytes) -> list[Any]:
    """``.debug_abbrev``: the abbreviations, and the number 0 where a table of them ends."""
    tags, attributes, forms = _names()
    found: list[Any] = []
    for _, number, tag, has_children, values in _abbreviations(data):
        if not number:
            found.append(Flow({"abbreviation": 0}))
            continue
        row: dict[str, Any] = {"abbreviation": number, "tag": _name(tags, tag)}
        if has_children:
            row["children"] = True
        row["attributes"] = [
            Flow([_name(attributes, attribute), _name(forms, form)]) for attribute, form in values
        ]
        found.append(row)
    return found


def _abbreviations(data: bytes) -> Iterator[tuple[int, int, int, bool, list[tuple[int, int]]]]:
    """Each abbreviation: the offset behind it, its number, tag, children, attributes and forms."""
    cursor = Cursor(data)
    while not cursor.is_done:
        number = cursor.uleb()
        if not number:
            yield cursor.at, 0, 0, False, []
            continue
        tag, children = cursor.uleb(), cursor.number(1)
        if children not in (0, 1):
            refuse("neither with children nor without")
        values = []
        while (value := (cursor.uleb(), cursor.uleb())) != (0, 0):
            values.append(value)
        yield cursor.at, number, tag, bool(children), values


def abbreviations_bytes(value: Any) -> bytes:
    tags, attributes, forms = _names()
    found = bytearray()
    for at, row in enumerate(value):
        found += uleb_bytes(row["abbreviation"], at, "abbreviation")
        if not row["abbreviation"]:
            continue
        found += uleb_bytes(name_in(tags, row.get("tag", 0), at, "tag"), at, "tag")
        found.append(row.get("children", False))
        for index, pair in enumerate(row.get("attributes", ())):
            path = (at, "attributes", index)
            if len(pair) != 2:
                refuse("an attribute and its form", *path)
            for table, name in zip((attributes, forms), pair, strict=True):
                found += uleb_bytes(name_in(table, name, *path), *path)
        found += bytes(2)
    return bytes(found)


def tables_of(data: bytes) -> dict[int, Table]:
    """The tables of ``.debug_abbrev`` by their offsets; none of what cannot be read."""
    _, attributes, _ = _names()
    found: dict[int, Table] = {}
    start = 0
    try:
        for end, number, tag, has_children, values in _abbreviations(data):
            table = found.setdefault(start, {})
            if not number:
                start = end
                continue
            named = [(str(_name(attributes, attribute)), form) for attribute, form in values]
            if number in table or len({name for name, _ in named}) < len(named):
                refuse("an abbreviation or an attribute that is there twice")
            table[number] = tag, has_children, named
    except (IndexError, ValueError):
        return {}
    return found


# -- entries ---------------------------------------------------------------------------------------


def units(data: bytes, tables: dict[int, Table]) -> list[dict[str, Any]]:
    """All units of ``.debug_info``.

    Args:
        tables: the abbreviations of the file.
    """
    tags, _, _ = _names()
    cursor = Cursor(data)
    found = []
    num_values = 0
    while not cursor.is_done:
        start = cursor.at
        unit = Cursor(cursor.take(cursor.number(_WORD)))
        reader = _Unit(unit.number(_HALF), unit.number(_WORD), unit.number(1), tables)
        rows: list[Any] = []
        level = 0
        while not unit.is_done:
            place = cursor.at - len(unit.data) + unit.at - start
            number = unit.uleb()
            if not number:
                level -= 1
                rows.append(Flow({_ENTRY: 0}))
                continue
            tag, has_children, values = reader.table[number]
            num_values += len(values)
            # forms without bytes could make an entry of one byte as long as the abbreviations
            if num_values > len(data):
                refuse("more values than bytes")
            remark = f"{place:#x}: {_name(tags, tag)}, level {level}"
            row: dict[str, Any] = {_ENTRY: Remark(number, remark)}
            row |= {name: reader.value(unit, form) for name, form in values}
            rows.append(row)
            level += has_children
        found.append({**reader.head(), "entries": rows})
    return found


class _Unit:
    """What the values of a unit depend on.

    Args:
        place: offset of its table of abbreviations.
        word: bytes of an address.
    """

    def __init__(
        self, version: int, place: int, word: int, tables: dict[int, Table], *path: str | int
    ) -> None:
        if version not in _VERSIONS:
            refuse(f"{version} is no version of such a unit", *path, "version")
        if place not in tables:
            refuse("no table of abbreviations starts there", *path, "abbreviations")
        self.version = version
        self.place = place
        self.word = word
        self.table = tables[place]
        self._offsets = {
            **_OFFSETS,
            DW_FORM_ADDR: word,
            DW_FORM_REF_ADDR: word if version == _VERSIONS[0] else _WORD,
        }

    def head(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "abbreviations": Hex(self.place),
            "address_size": self.word,
        }

    def value(self, cursor: Cursor, form: int) -> Any:
        """The next value."""
        if form in _NUMBERS:
            return cursor.number(_NUMBERS[form])
        if form in self._offsets:
            return Hex(cursor.number(self._offsets[form]))
        if form in _UNSIGNED:
            return cursor.uleb()
        if form in _BLOCKS:
            size = _BLOCKS[form]
            return cursor.take(cursor.number(size) if size else cursor.uleb())
        if form == DW_FORM_STRING:
            return cursor.text()
        if form == DW_FORM_SDATA:
            return cursor.sleb()
        if form != DW_FORM_FLAG_PRESENT:
            refuse(f"values of form {form:#x} cannot be shown")
        return True

    def value_bytes(self, value: Any, form: int, *path: str | int) -> bytes:
        """The inverse of :meth:`value`."""
        if form in _NUMBERS:
            return number_bytes(value, _NUMBERS[form], *path)
        if form in self._offsets:
            return number_bytes(value, self._offsets[form], *path)
        if form in _UNSIGNED:
            return uleb_bytes(value, *path)
        if form in _BLOCKS:
            block, size = hex_bytes(value, *path), _BLOCKS[form]
            length = len(block)
            return (number_bytes(length, size, *path) if size else uleb_bytes(length)) + block
        if form == DW_FORM_STRING:
            return text_bytes(value, *path)
        if form == DW_FORM_SDATA:
            return sleb_bytes(value, *path)
        if form != DW_FORM_FLAG_PRESENT:
            refuse(f"values of form {form:#x} cannot be written", *path)
        if value is not True:
            refuse("an attribute of this form is true", *path)
        return b""


def units_bytes(value: Any, tables: dict[int, Table]) -> bytes:
    found = bytearray()
    for at, unit in enumerate(value):
        version, place, word = (unit[key] for key in ("version", "abbreviations", "address_size"))
        writer = _Unit(version, place, word, tables, at)
        body = number_bytes(version, _HALF, at) + number_bytes(place, _WORD, at)
        body += number_bytes(word, 1, at, "address_size")
        rows = [
            _entry_bytes(row, writer, at, "entries", spot)
            for spot, row in enumerate(unit["entries"])
        ]
        body += b"".join(rows)
        found += number_bytes(len(body), _WORD, at) + body
    return bytes(found)


def _entry_bytes(row: dict[str, Any], unit: _Unit, *path: str | int) -> bytes:
    number = row[_ENTRY]
    values: list[tuple[str, int]] = []
    if number:
        if number not in unit.table:
            refuse(f"no abbreviation of the unit has the number {number}", *path, _ENTRY)
        _, _, values = unit.table[number]
    if len(row) - 1 != len(values) or any(name not in row for name, _ in values):
        names = ", ".join([name for name, _ in values]) or "nothing"
        refuse(f"by its abbreviation, the entry has {names}", *path)
    found = [unit.value_bytes(row[name], form, *path, name) for name, form in values]
    return uleb_bytes(number, *path, _ENTRY) + b"".join(found)
