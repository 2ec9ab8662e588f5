"""Line tables: the header of each unit, and its program, one operation in a row.

Programs are shown, not the rows that they make, because the same rows can be made in many ways.
Beside each operation that makes a row stand, as a remark, address and line of it.
"""

from __future__ import annotations

from typing import Any

from cubinspec.format.line_tables import VERSIONS
from cubinspec_generated import codes_dwarf
from cubinspec_generated.codes_dwarf import (
    DW_LNE_END_SEQUENCE,
    DW_LNE_SET_ADDRESS,
    DW_LNS_ADVANCE_LINE,
    DW_LNS_ADVANCE_PC,
    DW_LNS_CONST_ADD_PC,
    DW_LNS_COPY,
    DW_LNS_EXTENDED_OP,
    DW_LNS_FIXED_ADVANCE_PC,
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
from cubinspec_writer.yaml_form.text import Flow, Hex, Remark

#: Operation -> its operands: u unsigned, s signed, p unsigned and written as if it were signed, as
#: ptxas does, 2 two bytes, a an address, 1 one byte.
_STANDARD = {
    getattr(codes_dwarf, f"DW_LNS_{name.upper()}"): (f"DW_LNS_{name}", operands)
    for name, operands in (
        ("copy", ""),
        ("advance_pc", "p"),
        ("advance_line", "s"),
        ("set_file", "u"),
        ("set_column", "u"),
        ("negate_stmt", ""),
        ("set_basic_block", ""),
        ("const_add_pc", ""),
        ("fixed_advance_pc", "2"),
        ("prologue_end", ""),
        ("epilogue_begin", ""),
        ("set_isa", "u"),
    )
}
_EXTENDED = {
    getattr(codes_dwarf, f"DW_LNE_{name.upper()}"): (f"DW_LNE_{name}", operands)
    for name, operands in (
        ("end_sequence", ""),
        ("set_address", "a"),
        ("NVIDIA_inlined_call", "uu"),
        ("NVIDIA_set_function_name", "u"),
        ("MERCURY_MARK", "1"),
    )
}
_NAMES = {
    **{name: (code, operands, False) for code, (name, operands) in _STANDARD.items()},
    **{name: (code, operands, True) for code, (name, operands) in _EXTENDED.items()},
}
#: Rows of no operation of these names: a step of address and line, an operation as its bytes.
_SPECIAL, _OTHER = "special", "extended"
#: The last special operation, whose advance of the address has an operation of its own.
_LAST_SPECIAL = 255
#: Fields of one byte at the start of a header, in the order of the file.
_FIELDS = (
    "len_instruction",
    "max_operations",
    "is_statement",
    "line_base",
    "line_range",
    "first_special",
)
_SIGNED, _SINCE_LAST_VERSION = "line_base", "max_operations"
_WORD, _HALF = 4, 2
#: Values of a row of files: name, number of the folder, time, size.
_FILE_VALUES = 4


class _Machine:
    """The header of a unit, and where its program stands: what a row means and what it makes."""

    def __init__(self, fields: dict[str, int], operands: list[int], word: int) -> None:
        self.base = fields["line_base"]
        self.range = fields["line_range"]
        self.first = fields["first_special"]
        self.step = fields["len_instruction"]
        self.operands = operands
        self.word = word
        self.address, self.line = 0, 1

    def remark(self, row: list[Any]) -> Flow | Remark:
        """A row; with address and line, if it makes a row of the table."""
        name, *values = row
        makes_row = True
        if name == _SPECIAL:
            self.address += values[0] * self.step
            self.line += values[1]
        else:
            code, _, is_extended = _NAMES.get(name, (None, "", True))
            makes_row = code == (DW_LNE_END_SEQUENCE if is_extended else DW_LNS_COPY)
            self._move(code, is_extended, values)
        shown = Flow(row)
        if not makes_row:
            return shown
        remark = Remark(shown, f"{self.address:#x}: line {self.line}")
        if name == _NAME_OF_END:
            self.address, self.line = 0, 1
        return remark

    def _move(self, code: int | None, is_extended: bool, values: list[Any]) -> None:
        if is_extended:
            if code == DW_LNE_SET_ADDRESS:
                self.address = values[0]
        elif code == DW_LNS_ADVANCE_PC:
            self.address += values[0] * self.step
        elif code == DW_LNS_FIXED_ADVANCE_PC:
            self.address += values[0]
        elif code == DW_LNS_CONST_ADD_PC and self.range:
            self.address += (_LAST_SPECIAL - self.first) // self.range * self.step
        elif code == DW_LNS_ADVANCE_LINE:
            self.line += values[0]

    # -- from bytes ------------------------------------------------------------------------------

    def row(self, cursor: Cursor) -> list[Any]:
        """The next operation."""
        code = cursor.number(1)
        if code >= self.first:
            advance, line = divmod(code - self.first, self.range)
            return [_SPECIAL, advance, self.base + line]
        if code == DW_LNS_EXTENDED_OP:
            return self._extended(cursor.take(cursor.uleb()))
        name, operands = _STANDARD[code]
        self._count(code, operands)
        return [name, *(_value(cursor, kind, self.word) for kind in operands)]

    def _extended(self, body: bytes) -> list[Any]:
        cursor = Cursor(body)
        code = cursor.number(1)
        if code in _EXTENDED:
            name, operands = _EXTENDED[code]
            try:
                row = [name, *(_value(cursor, kind, self.word) for kind in operands)]
            except IndexError:
                row = []
            if row and self._extended_bytes(row, ()) == body:
                return row
        return [_OTHER, body]

    def _count(self, code: int, operands: str) -> None:
        """Refuse a header that gives an operation other operands than DWARF does."""
        if self.operands[code - 1 : code] != [len(operands)]:
            refuse(f"by num_operands, operation {code} has not {len(operands)} operands")

    # -- to bytes --------------------------------------------------------------------------------

    def row_bytes(self, row: list[Any], *path: str | int) -> bytes:
        name, *values = row
        if name == _SPECIAL:
            return self._special_bytes(values, *path)
        if name == _OTHER:
            if len(values) != 1:
                refuse(f"{_OTHER} needs the bytes of the operation", *path)
            return self._sized(hex_bytes(values[0], *path, 1))
        if name not in _NAMES:
            refuse(f"no operation is called {str(name)[:80]}", *path, 0)
        code, operands, is_extended = _NAMES[name]
        if is_extended:
            return self._sized(self._extended_bytes(row, path))
        self._count(code, operands)
        return bytes((code,)) + self._operand_bytes(row, operands, path)

    def _special_bytes(self, values: list[Any], *path: str | int) -> bytes:
        if len(values) != 2:
            refuse(f"{_SPECIAL} needs a step of the address and one of the line", *path)
        advance, line = whole(values[0], *path, 1), whole(values[1], *path, 2) - self.base
        code = self.first + advance * self.range + line
        if not 0 <= line < self.range or not self.first <= code <= _LAST_SPECIAL:
            refuse("no special operation makes this step", *path)
        return bytes((code,))

    def _sized(self, body: bytes) -> bytes:
        return bytes((DW_LNS_EXTENDED_OP,)) + uleb_bytes(len(body)) + body

    def _extended_bytes(self, row: list[Any], path: tuple[str | int, ...]) -> bytes:
        code, operands, _ = _NAMES[row[0]]
        return bytes((code,)) + self._operand_bytes(row, operands, path)

    def _operand_bytes(self, row: list[Any], operands: str, path: tuple[str | int, ...]) -> bytes:
        if len(row) - 1 != len(operands):
            refuse(f"{row[0]} has {len(operands)} operands", *path)
        found = b""
        for at, (kind, value) in enumerate(zip(operands, row[1:], strict=True), 1):
            if kind == "u":
                found += uleb_bytes(value, *path, at)
            elif kind in "ps":
                found += sleb_bytes(value, *path, at)
            else:
                found += number_bytes(value, self.word if kind == "a" else int(kind), *path, at)
        return found


_NAME_OF_END = _EXTENDED[DW_LNE_END_SEQUENCE][0]


def _value(cursor: Cursor, kind: str, word: int) -> int:
    if kind in "up":
        return cursor.uleb()
    if kind == "s":
        return cursor.sleb()
    return Hex(cursor.number(word)) if kind == "a" else cursor.number(int(kind))


def _fields(version: int) -> list[str]:
    """The fields of one byte that tables of a version of DWARF have."""
    is_last = version == VERSIONS[-1]
    return [name for name in _FIELDS if is_last or name != _SINCE_LAST_VERSION]


def units(data: bytes, word: int) -> list[dict[str, Any]]:
    """All units of a table.

    Args:
        word: bytes of an address.
    """
    cursor = Cursor(data)
    found = []
    while not cursor.is_done:
        unit = Cursor(cursor.take(cursor.number(_WORD)))
        version = unit.number(_HALF)
        if version not in VERSIONS:
            refuse("a table of another version")
        found.append(_unit(version, Cursor(unit.take(unit.number(_WORD))), unit, word))
    return found


def _unit(version: int, head: Cursor, program: Cursor, word: int) -> dict[str, Any]:
    fields = {name: head.number(1) for name in _fields(version)}
    value = fields[_SIGNED]
    fields[_SIGNED] = value - (value >> 7 << 8)
    operands = [*head.take(max(fields["first_special"] - 1, 0))]
    shown: dict[str, Any] = {
        "header": Flow({"version": version, **fields, "num_operands": operands})
    }
    folders, files = [], []
    while text := head.text():
        folders.append(text)
    while text := head.text():
        files.append(Flow([text, head.uleb(), head.uleb(), head.uleb()]))
    if folders:
        shown["folders"] = folders
    if files:
        shown["files"] = files
    if not head.is_done:
        shown["ofs_names"] = Hex(head.number(_WORD))
    machine = _Machine(fields, operands, word)
    rows = []
    while not program.is_done:
        rows.append(machine.remark(machine.row(program)))
    shown["program"] = rows
    return shown


def units_bytes(value: Any, word: int) -> bytes:
    return b"".join([_unit_bytes(unit, word, at) for at, unit in enumerate(value)])


def _unit_bytes(unit: dict[str, Any], word: int, at: int) -> bytes:
    header = unit["header"]
    path = (at, "header")
    version = header["version"]
    if version not in VERSIONS:
        refuse(f"{version} is no version of such a table", *path, "version")
    names = _fields(version)
    wrong = set(header) ^ {"version", *names, "num_operands"}
    if wrong:
        refuse(f"a table of version {version}: {min(wrong)}", *path)
    head = bytearray()
    for name in names:
        head += number_bytes(header[name], 1, *path, name, signed=name == _SIGNED)
    operands = header["num_operands"]
    if len(operands) != max(header["first_special"] - 1, 0):
        refuse("a number for each operation below first_special", *path, "num_operands")
    head += b"".join([number_bytes(n, 1, *path, "num_operands") for n in operands])
    for index, folder in enumerate(unit.get("folders", ())):
        head += text_bytes(folder, at, "folders", index)
    head += b"\0"
    for index, row in enumerate(unit.get("files", ())):
        where = (at, "files", index)
        if len(row) != _FILE_VALUES:
            refuse("a file is name, folder, time and size", *where)
        head += text_bytes(row[0], *where, 0)
        head += b"".join([uleb_bytes(n, *where, spot) for spot, n in enumerate(row[1:], 1)])
    head += b"\0"
    if "ofs_names" in unit:
        head += number_bytes(unit["ofs_names"], _WORD, at, "ofs_names")
    machine = _Machine(header, operands, word)
    program = b"".join(
        [machine.row_bytes(row, at, "program", spot) for spot, row in enumerate(unit["program"])]
    )
    body = number_bytes(version, _HALF) + number_bytes(len(head), _WORD) + head + program
    return number_bytes(len(body), _WORD) + body
