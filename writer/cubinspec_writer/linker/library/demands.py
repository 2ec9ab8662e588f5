"""Registers and stacks: what functions state, and what kernels need for all they reach."""

from __future__ import annotations

from struct import Struct

from cubinspec.errors import BadStructureError
from cubinspec.format.attributes import immediate, raw_record
from cubinspec_generated.codes import (
    EIATTR_AT_ENTRY_FRAGMENTS,
    EIATTR_CRS_STACK_SIZE,
    EIATTR_EXTERNS,
    EIATTR_FRAME_SIZE,
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_NUM_BARRIERS,
    EIATTR_NUM_MBARRIERS,
    EIATTR_REGCOUNT,
    EIATTR_RESERVED_SMEM_USED,
    EIATTR_SPARSE_MMA_MASK,
    EIATTR_TCGEN05_1CTA_USED,
    EIATTR_TCGEN05_2CTA_USED,
    EIATTR_VRC_CTA_INIT_COUNT,
    EIFMT_SVAL,
    SHT_CUDA_INFO,
)
from cubinspec_generated.columns import SYMBOL_FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.graph import Graph
    from cubinspec_writer.linker.model import InputObject, OutSection, Symbol
    from cubinspec_writer.linker.state import LinkState

#: A record of a function and a number: format, code, size, symbol, number.
FUNCTION_VALUE = Struct("<BBHII")

#: A row of the global section: attribute code, function, number, further bytes; without a function
#: the record itself is in place of these.
GlobalRow = tuple[int, "Symbol | None", int, bytes]


class Collected:
    """The attributes of all functions.

    Attributes:
        sections: function -> the section of its attributes, whose records change.
        externs: names of a function that only another link, or the driver, defines.
        asked: records of device functions that kernels take over.
        masked: functions whose records say a mask.
        added: records of the SASS half that the finalizer added.
    """

    __slots__ = ("added", "asked", "externs", "masked", "sections")

    def __init__(self, sections: dict[Symbol, OutSection]) -> None:
        self.sections: dict[Symbol, OutSection] = sections
        self.externs: dict[Symbol, list[Symbol]] = {}
        self.asked: Asked = {}
        self.masked: set[Symbol] = set()
        self.added: dict[Symbol, list[RawRecord]] = {}


class FunctionFacts:
    """Registers and frame of every linked function, as its input states them.

    Attributes:
        rows: the global rows of every input; those of functions only where the copy here is linked.
        values: for inputs of which all global records are of a function and a number, these in
            place of the rows, with the linked functions by their number in the input.
    """

    def __init__(self, state: LinkState) -> None:
        self.registers: dict[Symbol, int] = {}
        self.frame: dict[Symbol, int] = {}
        self.rows: dict[InputObject, list[GlobalRow]] = {}
        self.values: dict[InputObject, tuple[list[tuple[int, ...]], dict[int, Symbol]]] = {}
        for obj in state.objects:
            bound = obj.bound
            linked = {
                row.index: symbol
                for row in obj.functions
                if (symbol := bound[row.index]) is not None
                and symbol.live
                and symbol.definition is not None
                and symbol.definition[1] is row
                and symbol not in state.unified.stubs
            }
            values = _function_values(obj)
            if values is None:
                self._take_rows(obj, linked)
                continue
            values = [row for row in values if row[3] in linked]
            self.values[obj] = values, linked
            for code, known in ((EIATTR_REGCOUNT, self.registers), (EIATTR_FRAME_SIZE, self.frame)):
                known.update({linked[row[3]]: row[4] for row in values if row[1] == code})

    def _take_rows(self, obj: InputObject, linked: dict[int, Symbol]) -> None:
        rows: list[GlobalRow] = []
        for record in global_records(obj):
            code = record[1]
            if code not in _OF_FUNCTION:
                rows.append((code, None, 0, record))
            elif record[0] == EIFMT_SVAL and len(record) >= 8:
                symbol = linked.get(word(record, 0))
                if symbol is None:
                    continue
                value = word(record, 1)
                rows.append((code, symbol, value, record[FUNCTION_VALUE.size :]))
                if code == EIATTR_REGCOUNT:
                    self.registers[symbol] = value
                elif code == EIATTR_FRAME_SIZE:
                    self.frame[symbol] = value
        self.rows[obj] = rows


def _function_values(obj: InputObject) -> list[tuple[int, ...]] | None:
    """The global records of an input cut at once, if all are of a function and a number."""
    section = obj.find(SHT_CUDA_INFO, ".nv.info")
    size = FUNCTION_VALUE.size
    data = section.data if section is not None else b""
    if len(data) % size or not _OF_FUNCTION.issuperset(data[1::size]):
        return None
    plain = data[::size].count(EIFMT_SVAL) == data[2::size].count(8) == data[3::size].count(0)
    plain = plain and data[::size].count(EIFMT_SVAL) * size == len(data)
    return list(FUNCTION_VALUE.iter_unpack(data)) if plain else None


#: Records of the global section whose payload starts with a function symbol.
_OF_FUNCTION = frozenset(
    {
        EIATTR_FRAME_SIZE,
        EIATTR_MIN_STACK_SIZE,
        EIATTR_CRS_STACK_SIZE,
        EIATTR_MAX_STACK_SIZE,
        EIATTR_REGCOUNT,
    }
)

_LEAST_RECORD = 4


def has_globals(obj: InputObject) -> bool:
    section = obj.find(SHT_CUDA_INFO, ".nv.info")
    return section is not None and len(section.data) >= _LEAST_RECORD


def global_records(obj: InputObject) -> list[RawRecord]:
    section = obj.find(SHT_CUDA_INFO, ".nv.info")
    return obj.records(section.index) if section else []


class Demands:
    """What the kernels need for themselves and everything below them.

    Rule I7.

    Attributes:
        registers: largest register count at or below every function that a kernel reaches.
        stacks: largest sum of frames on any call path from a function; None with recursion.
    """

    components: list[list[Symbol]]
    registers: dict[Symbol, int]

    def __init__(self, graph: Graph, facts: FunctionFacts, kernels: list[Symbol]) -> None:
        self.graph = graph
        self.components = graph.components(kernels)
        self.registers = self.largest(facts.registers)
        self.stacks: dict[Symbol, int | None] = {}
        stacks, frame, known = self.stacks, facts.frame, graph.known
        for members in self.components:
            depth: int | None = None
            if len(members) == 1:
                function = members[0]
                depth = below = 0
                for callee in known[function]:
                    deeper = stacks.get(callee)
                    if deeper is None:
                        depth = None
                        break
                    if deeper > below:
                        below = deeper
                if depth is not None:
                    depth = frame.get(function, 0) + below
            for function in members:
                stacks[function] = depth

    def largest(self, own: dict[Symbol, int]) -> dict[Symbol, int]:
        """The largest of some values at or below every function; absent where there is none."""
        found: dict[Symbol, int] = {}
        known = self.graph.known
        for members in self.components:
            largest: int | None = None
            for function in members:
                value = own.get(function)
                if value is not None and (largest is None or value > largest):
                    largest = value
                for callee in known[function]:
                    value = found.get(callee)
                    if value is not None and (largest is None or value > largest):
                        largest = value
            if largest is not None:
                for function in members:
                    found[function] = largest
        return found


def word(record: RawRecord, index: int) -> int:
    return int.from_bytes(record[4 * index + 4 : 4 * index + 8], "little")


def checked(obj: InputObject, number: int) -> int:
    """A symbol number of an attribute, when the input has such a symbol."""
    if number >= len(obj.symbols):
        raise BadStructureError(
            f"attribute names symbol {number} of {len(obj.symbols)}", file=obj.name
        )
    return number


def words(*values: int) -> bytes:
    return b"".join(v.to_bytes(4, "little") for v in values)


#: How the number of a function joins that of its kernel.
JOINED: dict[int, Callable[[int, int], int]] = {
    EIATTR_NUM_BARRIERS: max,
    EIATTR_NUM_MBARRIERS: int.__add__,
    EIATTR_VRC_CTA_INIT_COUNT: max,
    EIATTR_SPARSE_MMA_MASK: int.__or__,
}
_MARKS = frozenset((EIATTR_RESERVED_SMEM_USED, EIATTR_TCGEN05_1CTA_USED, EIATTR_TCGEN05_2CTA_USED))
TAKEN = frozenset((*JOINED, *_MARKS, EIATTR_EXTERNS, EIATTR_AT_ENTRY_FRAGMENTS))

#: Function -> its records that kernels take over, in the order of its input.
Asked = dict["Symbol", list["RawRecord"]]


def is_asking(record: RawRecord) -> bool:
    """Whether a record of a device function concerns kernels."""
    code = record[1]
    return code in TAKEN and (code not in JOINED or immediate(record) != 0)


def external_record(symbols: list[Symbol]) -> RawRecord:
    return raw_record(EIFMT_SVAL, EIATTR_EXTERNS, 0, words(*(s.index for s in symbols)))


def replace_record(records: list[RawRecord], code: int, new: RawRecord | None) -> None:
    """Put a record where the one of its code is, or at the end; None removes it."""
    for i, record in enumerate(records):
        if record[1] == code:
            records[i : i + 1] = [new] if new else []
            return
    if new:
        records.append(new)


def symbol_number(symbol: Symbol) -> int:
    """The key of the order of symbols in the output."""
    return symbol.index


def renumber_fields(obj: InputObject, record: RawRecord) -> RawRecord:
    """Give every symbol that a record names its number of the output (samplers, images)."""
    payload = bytearray(record[4:])
    for at in SYMBOL_FIELDS[record[1]]:
        if at + 4 > len(payload):
            continue
        number = checked(obj, int.from_bytes(payload[at : at + 4], "little"))
        symbol = obj.bound[number]
        if symbol is not None:
            payload[at : at + 4] = words(symbol.index)
    return record[:4] + payload
