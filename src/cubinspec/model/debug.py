"""What debug data says about the code of a function: source lines, PTX lines, registers."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from cubinspec.format.debug_registers import register_name, register_places
from cubinspec.format.line_tables import line_units
from cubinspec.format.sections import RELOCATION_TYPES
from cubinspec.values import FrozenValue
from cubinspec_generated.codes import SHN_LORESERVE, SHN_UNDEF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.format.line_tables import LineSequence, LineUnit, Row
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function
    from cubinspec.model.relocation import Relocation
    from cubinspec.model.section import Section

LINES, PTX_LINES = ".debug_line", ".nv_debug_line_sass"
PTX_TEXT, PTX_REGISTERS = ".nv_debug_ptx_txt", ".nv_debug_info_reg_sass"
_NAMES = ".debug_str"
_PTX_KIND = "debug_ptx"
PTX_TYPES = ".nv_debug_info_reg_type"


class SourceLine(FrozenValue):
    """A place in a source.

    Attributes:
        file: path; for PTX the section that holds it.
        line: number, from 1.
        column: number, 0 when it is not told.
        function: name of the inlined function that the line is of; empty for the function itself.
    """

    __match_args__ = ("file", "line", "column", "function")
    __slots__ = __match_args__
    file: str
    line: int
    column: int
    function: str

    def __init__(self, file: str, line: int, column: int = 0, function: str = "") -> None:
        put = object.__setattr__
        put(self, "file", file)
        put(self, "line", line)
        put(self, "column", column)
        put(self, "function", function)


class CodeRange(FrozenValue):
    """Instructions that come from the same place.

    Attributes:
        start, end: byte offsets in the function.
        source: the line, then the lines that call it, for code that was inlined; empty when
            nothing is told.
        ptx: the line of PTX.
    """

    __match_args__ = ("start", "end", "source", "ptx")
    __slots__ = __match_args__
    start: int
    end: int
    source: tuple[SourceLine, ...]
    ptx: SourceLine | None

    def __init__(
        self, start: int, end: int, source: tuple[SourceLine, ...], ptx: SourceLine | None
    ) -> None:
        put = object.__setattr__
        put(self, "start", start)
        put(self, "end", end)
        put(self, "source", source)
        put(self, "ptx", ptx)


class RegisterPlace(FrozenValue):
    """Where a PTX register is in a part of the code.

    Attributes:
        ptx: its name, ``%rd4``.
        part: which 32 bits of it: 0 the low half or all of it, 1 the high half.
        register: what holds it, ``R4``; ``None`` for a register that nobody has named.
        number: the register as the file has it.
        start, end: byte offsets in the function.
    """

    __match_args__ = ("ptx", "part", "register", "number", "start", "end")
    __slots__ = __match_args__
    ptx: str
    part: int
    register: str | None
    number: int
    start: int
    end: int

    def __init__(
        self, ptx: str, part: int, register: str | None, number: int, start: int, end: int
    ) -> None:
        put = object.__setattr__
        put(self, "ptx", ptx)
        put(self, "part", part)
        put(self, "register", register)
        put(self, "number", number)
        put(self, "start", start)
        put(self, "end", end)


class _Table:
    """The rows of one line table for one code section, by address.

    Attributes:
        starts: where in the section the line can change.
    """

    def __init__(self, cubin: Cubin, name: str, code: int) -> None:
        self.starts: list[int] = []
        self._rows: list[tuple[LineUnit, LineSequence, Row] | None] = []
        section = cubin.sections.get(name)
        if section is None:
            return
        units = line_units(
            section.data, section.sh_offset, cubin.name, f"sections[{section.index}]"
        )
        found: list[tuple[int, tuple[LineUnit, LineSequence, Row] | None]] = []
        places = places_in(cubin, section)
        for unit in units:
            for sequence in unit.sequences:
                at = -1 if sequence.ofs_address is None else sequence.ofs_address
                placed_in, start = places.get(at, (None, 0))
                if placed_in != code:
                    continue
                *rows, (end, *_) = sequence.rows
                found += [
                    (start + address, (unit, sequence, row))
                    for row, (address, *_) in zip(rows, rows, strict=True)
                ]
                found.append((start + end, None))
        # of rows with one address the last counts; the sort keeps their order
        found.sort(key=lambda item: item[0])
        self.starts = [address for address, _ in found]
        self._rows = [row for _, row in found]

    def at(self, address: int) -> tuple[LineUnit, LineSequence, Row] | None:
        """The row that holds for an address."""
        index = bisect_right(self.starts, address) - 1
        return self._rows[index] if index >= 0 else None


def symbols_placed_in(cubin: Cubin, section: Section) -> dict[int, str | None]:
    """Place in a section -> name of the symbol that a relocation puts there."""
    return {
        relocation.r_offset: relocation.symbol.display_name
        for relocation in _relocations_in(cubin, section)
        if relocation.symbol is not None
    }


def addends_in(cubin: Cubin, section: Section) -> dict[int, int]:
    """Place in a section -> addend of the relocation there, if it has one of its own."""
    return {
        relocation.r_offset: relocation.r_addend
        for relocation in _relocations_in(cubin, section)
        if relocation.r_addend is not None
    }


def _relocations_in(cubin: Cubin, section: Section) -> Iterator[Relocation]:
    for other in cubin.sections:
        if other.sh_info == section.index and other.sh_type in RELOCATION_TYPES:
            yield from cubin.relocations_of(other.index)


def places_in(cubin: Cubin, section: Section) -> dict[int, tuple[int, int]]:
    """Place in a debug section -> section and offset that its relocation puts there.

    The offset of a relocation without addend is what is to be added to the value in place.
    """
    found = {}
    for relocation in _relocations_in(cubin, section):
        symbol = relocation.symbol
        if symbol is not None and SHN_UNDEF < symbol.st_shndx < SHN_LORESERVE:
            addend = relocation.r_addend or 0
            found[relocation.r_offset] = (symbol.st_shndx, symbol.st_value + addend)
    return found


def code_ranges(cubin: Cubin, function: Function) -> list[CodeRange]:
    """The code of a function by the lines that it comes from; empty without line tables.

    Raises:
        CubinError: a line table cannot be read.
    """
    code = function.section.index
    first = function.code_offset
    end = first + (function.code_size or 0)
    lines, ptx = _Table(cubin, LINES, code), _Table(cubin, PTX_LINES, code)
    names = cubin.sections.get(_NAMES)
    texts = b"" if names is None else names.data
    cuts = sorted({first, *(at for at in (*lines.starts, *ptx.starts) if first < at < end), end})
    found: list[CodeRange] = []
    for start, stop in pairwise(cuts):
        row, twin = lines.at(start), ptx.at(start)
        source = () if row is None else tuple(_calls(*row, texts))
        line = None if twin is None else _ptx_line(twin[0], twin[2])
        if not source and line is None:
            continue
        last = found[-1] if found else None
        if last is not None and (last.end, last.source, last.ptx) == (start - first, source, line):
            start = found.pop().start + first
        found.append(CodeRange(start - first, stop - first, source, line))
    return found


def _calls(unit: LineUnit, sequence: LineSequence, row: Row, texts: bytes) -> Iterator[SourceLine]:
    """The line of a row, and of the rows that call it, the innermost first."""
    seen = set()
    while True:
        _, file, line, column, context, ofs_name = row
        name = ""
        if context:
            start = unit.ofs_names + ofs_name
            name = texts[start:].partition(b"\0")[0].decode("utf-8", "surrogateescape")
        yield SourceLine(unit.path(file), line, column, name)
        if not 0 < context <= len(sequence.rows) or context in seen:
            return
        seen.add(context)
        row = sequence.rows[context - 1]


def _ptx_line(unit: LineUnit, row: Row) -> SourceLine:
    """A line of PTX; executables of ptxas name no file and mean their only PTX text."""
    _, file, line, column, *_ = row
    return SourceLine(unit.path(file) or PTX_TEXT, line, column)


def ptx_lines(section: Section) -> list[str]:
    """The lines of a PTX text; the first one is line 1."""
    texts = section.data.split(b"\0")
    if texts and not texts[-1]:
        texts.pop()
    return [text.decode("utf-8", "surrogateescape") for text in texts]


def ptx_sections(cubin: Cubin) -> list[Section]:
    """The PTX texts; the copies of the Mercury half are left out."""
    return [
        section for section in cubin.sections if section.kind == _PTX_KIND and section.has_bytes
    ]


def registers_of(cubin: Cubin, function: Function) -> list[RegisterPlace]:
    """Where the PTX registers of a function are, in the order of the file.

    Raises:
        CubinError: the table cannot be read.
    """
    section = cubin.sections.get(PTX_REGISTERS)
    if section is None:
        return []
    tables = register_places(
        section.data, section.sh_offset, cubin.name, f"sections[{section.index}]"
    )
    return [
        RegisterPlace(name, part, register_name(number), number, start, end)
        for owner, places in tables
        if owner == function.name
        for part, name, number, start, end in places
    ]
