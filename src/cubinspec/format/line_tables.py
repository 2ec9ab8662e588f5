"""Line tables: what ``.debug_line`` and ``.nv_debug_line_sass`` say of each address.

A table consists of units in the layout of DWARF 2 to 4. The program of a unit has one sequence for
each function; running it gives rows of address and line. NVIDIA's operations say of which inlined
function the rows are, and which row of the same sequence calls it.
"""

from __future__ import annotations

from struct import error as StructError
from struct import unpack_from

from cubinspec.errors import BadStructureError
from cubinspec.format.leb128 import sleb, uleb
from cubinspec.values import FrozenValue
from cubinspec_generated.codes_dwarf import (
    DW_LNE_END_SEQUENCE,
    DW_LNE_NVIDIA_INLINED_CALL,
    DW_LNE_NVIDIA_SET_FUNCTION_NAME,
    DW_LNE_SET_ADDRESS,
    DW_LNS_ADVANCE_LINE,
    DW_LNS_ADVANCE_PC,
    DW_LNS_CONST_ADD_PC,
    DW_LNS_COPY,
    DW_LNS_EXTENDED_OP,
    DW_LNS_FIXED_ADVANCE_PC,
    DW_LNS_SET_COLUMN,
    DW_LNS_SET_FILE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    #: address, file, line, column, row that calls (from 1; 0: none), offset of the function's name
    Row = tuple[int, int, int, int, int, int]

#: Versions of DWARF whose tables have this layout.
VERSIONS = range(2, 5)
_LENGTH, _OFS_HEADER = 4, 10
#: The last special operation, whose advance of the address has an operation of its own.
_LAST_SPECIAL = 255


class LineSequence(FrozenValue):
    """The rows of one function.

    Attributes:
        ofs_address: where in the table its start is written, a place for a relocation; ``None``
            when no operation sets it.
        rows: by address, those of one address in the order of the table; the last row is the end.
    """

    __match_args__ = ("ofs_address", "rows")
    __slots__ = __match_args__
    ofs_address: int | None
    rows: list[Row]

    def __init__(self, ofs_address: int | None, rows: list[Row]) -> None:
        put = object.__setattr__
        put(self, "ofs_address", ofs_address)
        put(self, "rows", rows)


class LineUnit(FrozenValue):
    """One table of a compilation unit.

    Attributes:
        offset: where in the section it starts.
        version: version of DWARF.
        folders, files: names; a file has its folder's number in front, from 1, 0 for none.
        ofs_names: where in ``.debug_str`` the names of its inlined functions start.
        sequences: one per function.
    """

    __match_args__ = ("offset", "version", "folders", "files", "ofs_names", "sequences")
    __slots__ = __match_args__
    offset: int
    version: int
    folders: list[str]
    files: list[tuple[int, str]]
    ofs_names: int
    sequences: list[LineSequence]

    def __init__(
        self,
        offset: int,
        version: int,
        folders: list[str],
        files: list[tuple[int, str]],
        ofs_names: int,
        sequences: list[LineSequence],
    ) -> None:
        put = object.__setattr__
        put(self, "offset", offset)
        put(self, "version", version)
        put(self, "folders", folders)
        put(self, "files", files)
        put(self, "ofs_names", ofs_names)
        put(self, "sequences", sequences)

    def path(self, number: int) -> str:
        """The file of a row with its folder; empty when the unit names no such file."""
        if not 0 < number <= len(self.files):
            return ""
        folder, name = self.files[number - 1]
        if name.startswith("/") or not 0 < folder <= len(self.folders):
            return name
        return f"{self.folders[folder - 1]}/{name}"


def line_units(data: bytes, base: int, file: str, field: str) -> list[LineUnit]:
    """All units of a table.

    Args:
        data: the whole section.
        base: offset of the section, for errors.
        file, field: what errors name.

    Raises:
        BadStructureError: a unit has another version, or something in it does not end.
    """
    found = []
    at = 0
    try:
        while at < len(data):
            (length,) = unpack_from("<I", data, at)
            end = at + _LENGTH + length
            if end > len(data):
                raise IndexError(end)
            found.append(_Reader(data[:end], at).unit())
            at = end
    except (IndexError, StructError) as error:
        raise BadStructureError(
            "the line table is cut off, or of another form",
            file=file,
            offset=base + at,
            field=field,
            expected="units of DWARF 2 to 4, each with its operations",
        ) from error
    return found


class _Reader:
    """Reads one unit, which ends where the data does."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._start = start

    def unit(self) -> LineUnit:
        """The header, and the rows that the program makes."""
        data, start = self._data, self._start
        version, len_header = unpack_from("<HI", data, start + _LENGTH)
        program = start + _OFS_HEADER + len_header
        if version not in VERSIONS or program > len(data):
            raise IndexError(start)
        at = start + _OFS_HEADER
        self._step = data[at]
        at += 1 if version < VERSIONS.stop - 1 else 2
        _, self._line_base, self._range, self._base = unpack_from("<BbBB", data, at)
        at += 4
        self._operands = data[at : at + self._base - 1]
        at += max(self._base - 1, 0)
        folders = []
        while data[at]:
            name, at = self._text(at)
            folders.append(name)
        at += 1
        files = []
        while at < program and data[at]:
            name, at = self._text(at)
            folder, at = uleb(data, at)
            _, at = uleb(data, at)
            _, at = uleb(data, at)
            files.append((folder, name))
        rest = data[at + 1 : program]
        ofs_names = int.from_bytes(rest, "little") if len(rest) == _LENGTH else 0
        sequences = []
        while program < len(data):
            sequence, program = self._sequence(program)
            sequences.append(sequence)
        return LineUnit(start, version, folders, files, ofs_names, sequences)

    def _text(self, at: int) -> tuple[str, int]:
        end = self._data.find(b"\0", at)
        if end < 0:
            raise IndexError(at)
        return self._data[at:end].decode("utf-8", "surrogateescape"), end + 1

    def _sequence(self, at: int) -> tuple[LineSequence, int]:
        """The rows up to the end of a sequence, and the offset behind it."""
        data = self._data
        rows: list[Row] = []
        ofs_address = None
        address, column, context, ofs_name = 0, 0, 0, 0
        file = line = 1
        while at < len(data):
            code = data[at]
            at += 1
            if code >= self._base and self._range:
                address += (code - self._base) // self._range * self._step
                line += self._line_base + (code - self._base) % self._range
                rows.append((address, file, line, column, context, ofs_name))
            elif code == DW_LNS_COPY:
                rows.append((address, file, line, column, context, ofs_name))
            elif code == DW_LNS_ADVANCE_PC:
                value, at = uleb(data, at)
                address += value * self._step
            elif code == DW_LNS_ADVANCE_LINE:
                value, at = sleb(data, at)
                line += value
            elif code == DW_LNS_SET_FILE:
                file, at = uleb(data, at)
            elif code == DW_LNS_SET_COLUMN:
                column, at = uleb(data, at)
            elif code == DW_LNS_CONST_ADD_PC and self._range:
                address += (_LAST_SPECIAL - self._base) // self._range * self._step
            elif code == DW_LNS_FIXED_ADVANCE_PC:
                address += int.from_bytes(data[at : at + 2], "little")
                at += 2
            elif code == DW_LNS_EXTENDED_OP:
                size, at = uleb(data, at)
                kind, body, at = data[at], data[at + 1 : at + size], at + size
                if kind == DW_LNE_SET_ADDRESS:
                    ofs_address, address = at - len(body), int.from_bytes(body, "little")
                elif kind == DW_LNE_NVIDIA_INLINED_CALL:
                    context, end = uleb(body, 0)
                    ofs_name, _ = uleb(body, end)
                elif kind == DW_LNE_NVIDIA_SET_FUNCTION_NAME:
                    ofs_name, _ = uleb(body, 0)
                elif kind == DW_LNE_END_SEQUENCE:
                    rows.append((address, file, line, column, context, ofs_name))
                    break
            else:
                for _ in range(self._operands[code - 1]):
                    _, at = uleb(data, at)
        return LineSequence(ofs_address, rows), at
