"""Names that can be looked up: ``.debug_pubnames`` and ``.debug_pubtypes``."""

from __future__ import annotations

from typing import Any

from cubinspec_writer.yaml_form.debug.cursor import Cursor, number_bytes, refuse, text_bytes
from cubinspec_writer.yaml_form.text import Flow, Hex

_WORD, _HALF = 4, 2


def tables(data: bytes) -> list[dict[str, Any]]:
    """The names of each unit, with the offset of the entry in the unit."""
    cursor = Cursor(data)
    found = []
    while not cursor.is_done:
        table = Cursor(cursor.take(cursor.number(_WORD)))
        head = {
            "version": table.number(_HALF),
            "unit": Hex(table.number(_WORD)),
            "size": Hex(table.number(_WORD)),
        }
        names = []
        while place := table.number(_WORD):
            names.append(Flow([Hex(place), table.text()]))
        if not table.is_done:
            refuse("bytes behind the last name")
        found.append({**head, "names": names})
    return found


def tables_bytes(value: Any) -> bytes:
    found = bytearray()
    for at, table in enumerate(value):
        body = bytearray(number_bytes(table["version"], _HALF, at, "version"))
        for key in ("unit", "size"):
            body += number_bytes(table[key], _WORD, at, key)
        for index, row in enumerate(table["names"]):
            path = (at, "names", index)
            if len(row) != 2 or not row[0]:
                refuse("offset of an entry and its name", *path)
            body += number_bytes(row[0], _WORD, *path, 0) + text_bytes(row[1], *path, 1)
        body += bytes(_WORD)
        found += number_bytes(len(body), _WORD, at) + body
    return bytes(found)
