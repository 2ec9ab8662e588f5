"""Call frame tables: common entries, entries of functions, and their operations."""

from __future__ import annotations

from typing import Any

from cubinspec.format.call_frames import OPERATIONS, SHORT_OPERATIONS
from cubinspec_generated.codes_dwarf import (
    DW_CFA_ADVANCE_LOC,
    DW_CFA_HIGH_MASK,
    DW_CFA_NOP,
    DWARF64_MARK,
)
from cubinspec_writer.yaml_form.debug.cursor import (
    Cursor,
    hex_bytes,
    number_bytes,
    refuse,
    sleb_bytes,
    text_bytes,
    uleb_bytes,
    whole,
)
from cubinspec_writer.yaml_form.debug.registers import register_of, shown_register
from cubinspec_writer.yaml_form.text import Flow, Hex

_PREFIX = "DW_CFA_"
_CODES = {
    f"{_PREFIX}{name}": (code, operands)
    for table in (OPERATIONS, SHORT_OPERATIONS)
    for code, (name, operands) in table.items()
}
_LOW_BITS = 0xFF ^ DW_CFA_HIGH_MASK
#: Bytes of a length and of the place of a common entry, in the two forms of DWARF.
_NARROW, _WIDE = 4, 8
_CIE, _FDE = "cie", "fde"
#: More than this is no padding, and is shown operation by operation.
_MOST_PADDING = 64


def entries(data: bytes, word: int) -> list[dict[str, Any]]:
    """All entries of a table.

    Args:
        word: bytes of an address.
    """
    cursor = Cursor(data)
    found = []
    while not cursor.is_done:
        size = _NARROW
        length = cursor.number(size)
        if length == DWARF64_MARK:
            size = _WIDE
            length = cursor.number(size)
        found.append(_entry(Cursor(cursor.take(length)), size, word))
    return found


def _entry(body: Cursor, size: int, word: int) -> dict[str, Any]:
    cie = body.number(size)
    fields: dict[str, Any] = {} if size == _WIDE else {"form": 8 * size}
    if cie == _none(size):
        kind = _CIE
        fields["version"] = body.number(1)
        fields["augmentation"] = body.text()
        fields["code_factor"] = body.uleb()
        fields["data_factor"] = body.sleb()
        fields["return_register"] = shown_register(body.uleb())
    else:
        kind = _FDE
        fields["cie"] = Hex(cie)
        fields["start"] = Hex(body.number(word))
        fields["size"] = Hex(body.number(word))
    rows = []
    while not body.is_done:
        rows.append(_row(body, word))
    shown: dict[str, Any] = {kind: Flow(fields)}
    padding = 0
    while padding < _MOST_PADDING and rows and rows[-1] == [_PREFIX + OPERATIONS[DW_CFA_NOP][0]]:
        rows.pop()
        padding += 1
    if rows:
        shown["operations"] = [Flow(row) for row in rows]
    if padding:
        shown["padding"] = padding
    return shown


def _none(size: int) -> int:
    """What a common entry has where others have the place of theirs."""
    return (1 << 8 * size) - 1


def _row(body: Cursor, word: int) -> list[Any]:
    """The next operation."""
    code = body.number(1)
    row: list[Any] = []
    if code & DW_CFA_HIGH_MASK:
        high, low = code & DW_CFA_HIGH_MASK, code & _LOW_BITS
        name, operands = SHORT_OPERATIONS[high]
        row.append(low if high == DW_CFA_ADVANCE_LOC else shown_register(low))
    else:
        name, operands = OPERATIONS[code]
    for kind in operands:
        if kind == "r":
            row.append(shown_register(body.uleb()))
        elif kind == "u":
            row.append(body.uleb())
        elif kind == "s":
            row.append(body.sleb())
        elif kind == "b":
            row.append(body.take(body.uleb()))
        elif kind == "a":
            row.append(Hex(body.number(word)))
        else:
            row.append(body.number(int(kind)))
    return [_PREFIX + name, *row]


def entries_bytes(value: Any, word: int) -> bytes:
    return b"".join([_entry_bytes(entry, word, at) for at, entry in enumerate(value)])


def _entry_bytes(entry: dict[str, Any], word: int, at: int) -> bytes:
    if (_CIE in entry) == (_FDE in entry):
        refuse(f"an entry is one of {_CIE} and {_FDE}", at)
    kind = _CIE if _CIE in entry else _FDE
    fields, path = entry[kind], (at, kind)
    size = _NARROW if fields.get("form") == 8 * _NARROW else _WIDE
    body = bytearray()
    if kind == _CIE:
        body += number_bytes(_none(size), size)
        body += number_bytes(fields["version"], 1, *path, "version")
        body += text_bytes(fields["augmentation"], *path, "augmentation")
        body += uleb_bytes(fields["code_factor"], *path, "code_factor")
        body += sleb_bytes(fields["data_factor"], *path, "data_factor")
        where = (*path, "return_register")
        body += uleb_bytes(register_of(fields["return_register"], *where), *where)
    else:
        body += number_bytes(fields["cie"], size, *path, "cie")
        body += number_bytes(fields["start"], word, *path, "start")
        body += number_bytes(fields["size"], word, *path, "size")
    for spot, row in enumerate(entry.get("operations", ())):
        body += _row_bytes(row, word, at, "operations", spot)
    body += bytes((DW_CFA_NOP,)) * entry.get("padding", 0)
    mark = b"" if size == _NARROW else number_bytes(DWARF64_MARK, _NARROW)
    return mark + number_bytes(len(body), size) + body


def _row_bytes(row: list[Any], word: int, *path: str | int) -> bytes:
    name, *values = row
    if name not in _CODES:
        refuse(f"no operation is called {str(name)[:80]}", *path, 0)
    code, operands = _CODES[name]
    in_code = bool(code & DW_CFA_HIGH_MASK)
    if len(values) != len(operands) + in_code:
        refuse(f"{name} has {len(operands) + in_code} operands", *path)
    if in_code:
        low = values.pop(0)
        if code != DW_CFA_ADVANCE_LOC:
            low = register_of(low, *path, 1)
        if not 0 <= whole(low, *path, 1) <= _LOW_BITS:
            refuse(f"{low} does not fit into the operation", *path, 1)
        code |= low
    found = bytes((code,))
    for at, (kind, value) in enumerate(zip(operands, values, strict=True), 1 + in_code):
        where = (*path, at)
        if kind == "r":
            found += uleb_bytes(register_of(value, *where), *where)
        elif kind == "u":
            found += uleb_bytes(value, *where)
        elif kind == "s":
            found += sleb_bytes(value, *where)
        elif kind == "b":
            block = hex_bytes(value, *where)
            found += uleb_bytes(len(block)) + block
        else:
            found += number_bytes(value, word if kind == "a" else int(kind), *where)
    return found
