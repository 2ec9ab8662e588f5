"""Registers and stacks: what functions state, and what kernels need for all functions that they
reach.
"""

from __future__ import annotations

from _struct import Struct
from itertools import compress

from cubinspec.errors import BadStructureError
from cubinspec.format.attributes import raw_record
from cubinspec_generated.codes import (
    EIATTR_AT_ENTRY_FRAGMENTS,
    EIATTR_CRS_STACK_SIZE,
    EIATTR_CTAIDZ_USED,
    EIATTR_ERROR,
    EIATTR_EXTERNS,
    EIATTR_FRAME_SIZE,
    EIATTR_GRID_ATTRIBUTES,
    EIATTR_KPARAM_INFO,
    EIATTR_KPARAM_INFO_V2,
    EIATTR_LANGUAGE,
    EIATTR_LOAD_CACHE_REQUEST,
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_NUM_BARRIERS,
    EIATTR_NUM_MBARRIERS,
    EIATTR_PARAM_CBANK,
    EIATTR_REG_RECONFIG,
    EIATTR_REGCOUNT,
    EIATTR_RESERVED_SMEM_USED,
    EIATTR_SAM_REGION_STACK_SIZE,
    EIATTR_SPARSE_MMA_MASK,
    EIATTR_SYNC_STACK,
    EIATTR_SYSCALLS_FALLBACK,
    EIATTR_TCGEN05_1CTA_USED,
    EIATTR_TCGEN05_2CTA_USED,
    EIATTR_VRC_CTA_INIT_COUNT,
    EIFMT_BVAL,
    EIFMT_HVAL,
    EIFMT_NVAL,
    EIFMT_SVAL,
    SHN_UNDEF,
    SHT_CUDA_INFO,
    STT_FUNC,
    STT_SECTION,
)
from cubinspec_generated.columns import SYMBOL_FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Final

    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.graph import Graph
    from cubinspec_writer.linker.model import InputObject, OutSection, Symbol
    from cubinspec_writer.linker.state import Attributes, Unified

#: A record of a function and a number: format, code, size, symbol, number.
FUNCTION_VALUE: Final = Struct("<BBHII")

#: A row of the global section: attribute code, the symbol that it names, a number, the record.
GlobalRow = tuple[int, "Symbol | None", int, bytes]
_LEAST_RECORD: Final = 4
#: Less than any number that an attribute states.
_NONE: Final = -1
#: Bytes of a payload of two words.
_PAIR_SIZE: Final = 8


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
    """What the inputs state of every linked function in words that name it.

    Attributes:
        registers, frame: registers and bytes of stack.
        regions: bytes of stack of its regions.
        syncs: bytes of its stack of synchronisation.
        cached: what asks for a mode of the cache.
        stack_limits: functions that may not have more bytes of stack than this.
        unbounded: functions whose input says that the stack of their call tree is not known.
        rows: the global rows of every input; those of functions only where the copy here is linked.
        values: what inputs have in place of rows if all of their global records are of a function
            and a number.
    """

    def __init__(
        self, objects: list[InputObject], unified: Unified, attributes: Attributes | None = None
    ) -> None:
        self.registers: dict[Symbol, int] = {}
        self.frame: dict[Symbol, int] = {}
        self.regions: dict[Symbol, int] = {}
        self.syncs: dict[Symbol, int] = {}
        self.cached: set[Symbol] = set()
        self.stack_limits: dict[Symbol, int] = {}
        self.unbounded: set[Symbol] = set()
        self.rows: dict[InputObject, list[GlobalRow]] = {}
        self.values: dict[InputObject, FunctionValues] = {}
        for obj in objects:
            linked: list[Symbol | None] = [None] * len(obj.symbols)
            for row in obj.functions:
                symbol = obj.bound[row.index]
                if symbol is None or not symbol.live or symbol in unified.stubs:
                    continue
                if symbol.definition is not None and symbol.definition[1] is row:
                    linked[row.index] = symbol
            self._take_unbounded(obj)
            if not self._take_values(obj, linked):
                self._take_rows(obj, linked)
        for code, function, value in attributes.stated if attributes is not None else ():
            self.take(code, function, value)

    def _take_unbounded(self, obj: InputObject) -> None:
        """Find the functions whose stack an input does not know, in any of their copies."""
        for record in global_records(obj) if _UNKNOWN in global_data(obj) else ():
            number = word(record, 0)
            if record[1] == EIATTR_MIN_STACK_SIZE and word(record, 1) == UNKNOWN_STACK:
                symbol = obj.bound[number] if number < len(obj.bound) else None
                if symbol is not None:
                    self.unbounded.add(symbol)

    def _take_values(self, obj: InputObject, linked: list[Symbol | None]) -> bool:
        """Take the global records of an input at once, if they are all of a function and a number.

        Args:
            linked: the functions that are linked from there, by their number.
        """
        values = _function_values(obj, linked)
        if values is None:
            return False
        count = len(linked)
        others = {n for n in set(values.numbers) if n >= count or linked[n] is None}
        if any(named_elsewhere(obj, number) for number in others):
            return False
        if others:
            values.keep([number not in others for number in values.numbers])
        self.values[obj] = values
        values.state(EIATTR_REGCOUNT, self.registers)
        values.state(EIATTR_FRAME_SIZE, self.frame)
        values.state(EIATTR_MAX_STACK_SIZE, self.stack_limits)
        return True

    def _take_rows(self, obj: InputObject, linked: list[Symbol | None]) -> None:
        rows: list[GlobalRow] = []
        for record in global_records(obj):
            code = record[1]
            if code == EIATTR_ERROR or is_empty(record):
                continue
            if code not in NAMING or record[0] != EIFMT_SVAL:
                rows.append((code, None, 0, record))
                continue
            number = word(record, 0)
            symbol = linked[number] if number < len(linked) else None
            symbol = symbol or named_elsewhere(obj, number)
            if symbol is None:
                if code in PARAMETERS:
                    rows.append((code, None, 0, unnamed(record)))
                continue
            value = word(record, 1)
            self.take(code, symbol, value)
            if code != EIATTR_LOAD_CACHE_REQUEST:
                rows.append((code, symbol, value, record))
        self.rows[obj] = rows

    def take(self, code: int, symbol: Symbol, value: int) -> None:
        """Take over what one record states, wherever it stands; the last one counts."""
        if code == EIATTR_REGCOUNT:
            self.registers[symbol] = value
        elif code == EIATTR_FRAME_SIZE:
            self.frame[symbol] = value
        elif code == EIATTR_SAM_REGION_STACK_SIZE:
            self.regions[symbol] = value
        elif code == EIATTR_MAX_STACK_SIZE:
            self.stack_limits[symbol] = value
        elif code in SYNCS:
            self.syncs[symbol] = value
        elif code == EIATTR_LOAD_CACHE_REQUEST and value:
            self.cached.add(symbol)


def named_elsewhere(obj: InputObject, number: int) -> Symbol | None:
    """What a record names that this input does not define; variables count, too."""
    if number >= len(obj.symbols):
        return None
    row, symbol = obj.symbols[number], obj.bound[number]
    if symbol is None or not symbol.live:
        return None
    return None if row.kind == STT_FUNC and row.shndx != SHN_UNDEF else symbol


class FunctionValues:
    """Global records of an input that are all of a function and a number, field by field.

    Attributes:
        linked: the functions that are linked from this input, by their number there.
        codes: codes of the attributes.
        heads: the first words of the records.
        numbers, values: of symbols in the input, and what is said of them.
    """

    __slots__ = ("codes", "heads", "linked", "numbers", "values")

    def __init__(
        self, linked: list[Symbol | None], codes: bytes, heads: list[int], words: list[int]
    ) -> None:
        self.linked: list[Symbol | None] = linked
        self.codes: bytes = codes
        self.heads: list[int] = heads
        self.numbers: list[int] = words[::2]
        self.values: list[int] = words[1::2]

    def state(self, code: int, stated: dict[Symbol, int]) -> None:
        """Put what the records of one attribute say of functions into a dict."""
        chosen = self.codes.translate(bytes(code) + b"\1" + bytes(255 - code))
        linked, values = self.linked, list(compress(self.values, chosen))
        for at, number in enumerate(list(compress(self.numbers, chosen))):
            symbol = linked[number]
            if symbol is not None:
                stated[symbol] = values[at]

    def keep(self, kept: list[bool]) -> None:
        """Leave all but some records out."""
        self.codes = bytes(compress(self.codes, kept))
        self.heads = list(compress(self.heads, kept))
        self.numbers = list(compress(self.numbers, kept))
        self.values = list(compress(self.values, kept))


def _function_values(obj: InputObject, linked: list[Symbol | None]) -> FunctionValues | None:
    """The global records of an input cut at once, if all are of a function and a number."""
    section = obj.find(SHT_CUDA_INFO, ".nv.info")
    size = FUNCTION_VALUE.size
    data = section.data if section is not None else b""
    if len(data) % size or not _OF_FUNCTION.issuperset(data[1::size]):
        return None
    num_sized, num_of_pairs = data[::size].count(EIFMT_SVAL), data[2::size].count(_PAIR_SIZE)
    if not num_sized == num_of_pairs == data[3::size].count(0) or num_sized * size != len(data):
        return None
    words = list(Struct(f"<{len(data) // 4}I").unpack(data))
    heads = words[::3]
    del words[::3]
    return FunctionValues(linked, data[1::size], heads, words)


#: The usual records of the global section, which name a function.
_OF_FUNCTION: Final = frozenset(
    (EIATTR_FRAME_SIZE, EIATTR_MAX_STACK_SIZE, EIATTR_MIN_STACK_SIZE, EIATTR_REGCOUNT)
)
#: A parameter that is a texture, surface or sampler names a symbol; all others name none.
PARAMETERS: Final = frozenset((EIATTR_KPARAM_INFO, EIATTR_KPARAM_INFO_V2))
#: Records whose first word is a symbol wherever they stand (rule G1); system calls keep their
#: numbers, and names of other files have a rule of their own.
NAMING: Final = frozenset(SYMBOL_FIELDS) - {EIATTR_EXTERNS, EIATTR_SYSCALLS_FALLBACK}
#: `EIATTR_MIN_STACK_SIZE` of what reaches a recursion or takes stack as it runs.
UNKNOWN_STACK: Final = 0xFFFFFFFF
_UNKNOWN: Final = UNKNOWN_STACK.to_bytes(4, "little")
#: Stacks of synchronisation, of old hardware and of new.
SYNCS: Final = frozenset((EIATTR_SYNC_STACK, EIATTR_CRS_STACK_SIZE))


def is_empty(record: RawRecord) -> bool:
    """Whether a record has a payload of no bytes, which nvlink does not write."""
    return len(record) == _LEAST_RECORD and record[0] == EIFMT_SVAL


def unnamed(record: RawRecord) -> RawRecord:
    """A record that names no symbol."""
    return record[:4] + bytes(4) + record[8:]


def has_globals(obj: InputObject) -> bool:
    section = obj.find(SHT_CUDA_INFO, ".nv.info")
    return section is not None and len(section.data) >= _LEAST_RECORD


def global_data(obj: InputObject) -> bytes:
    section = obj.find(SHT_CUDA_INFO, ".nv.info")
    return section.data if section is not None else b""


def global_records(obj: InputObject) -> list[RawRecord]:
    section = obj.find(SHT_CUDA_INFO, ".nv.info")
    return obj.records(section.index) if section else []


class Demands:
    """What the kernels need for themselves and everything below them.

    Rule I7.

    Attributes:
        registers: largest register count at or below every function that a kernel reaches.
        stacks: largest sum of frames on any call path from a function; None with recursion, and
            where an input says that it is not known (rule I14).
        syncs: the same of stacks of synchronisation; empty when all are.
        regions: largest stack of regions at or below a function; empty likewise.
    """

    leaves: list[Symbol]
    components: list[list[Symbol]]
    registers: dict[Symbol, int]

    def __init__(self, graph: Graph, facts: FunctionFacts, kernels: list[Symbol]) -> None:
        self.graph = graph
        self.leaves, self.components = graph.components(kernels)
        self.registers = self.largest(facts.registers)
        self.stacks: dict[Symbol, int | None] = self.deepest(facts.frame, facts.unbounded)
        self.syncs: dict[Symbol, int | None] = (
            self.deepest(facts.syncs) if any(facts.syncs.values()) else {}
        )
        self.regions: dict[Symbol, int] = self.largest(facts.regions) if facts.regions else {}

    def deepest(
        self, frame: dict[Symbol, int], unbounded: Collection[Symbol] = ()
    ) -> dict[Symbol, int | None]:
        """The largest sum of some values on any call path; None with recursion.

        Args:
            unbounded: functions for which it is None, too.
        """
        stacks: dict[Symbol, int | None] = {f: frame.get(f, 0) for f in self.leaves}
        for function in unbounded:
            if function in stacks:
                stacks[function] = None
        callees = self.graph.callees_of
        for members in self.components:
            depth: int | None = None
            if len(members) == 1 and members[0] not in unbounded:
                function = members[0]
                depth = below = 0
                for callee in callees[function]:
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
        return stacks

    def region_below(self, kernel: Symbol) -> int:
        """The largest stack of regions of what a kernel calls, to any depth."""
        below = (self.regions.get(callee, 0) for callee in self.graph.callees_of[kernel])
        return max(below, default=0)

    def largest(self, own: dict[Symbol, int]) -> dict[Symbol, int]:
        """The largest of some values at or below every function; absent where there is none."""
        found = {function: own[function] for function in self.leaves if function in own}
        callees = self.graph.callees_of
        for members in self.components:
            largest = _NONE
            for function in members:
                value = own.get(function, _NONE)
                if value > largest:
                    largest = value
                for callee in callees[function]:
                    value = found.get(callee, _NONE)
                    if value > largest:
                        largest = value
            if largest > _NONE:
                for function in members:
                    found[function] = largest
        return found


def word(record: RawRecord, index: int) -> int:
    """A word of the payload; bytes that a short record lacks count as 0."""
    at = 4 * index + 4
    if len(record) < at + 4:
        return int.from_bytes(record[at:], "little")
    return record[at] | record[at + 1] << 8 | record[at + 2] << 16 | record[at + 3] << 24


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
JOINED: Final[dict[int, Callable[[int, int], int]]] = {
    EIATTR_NUM_BARRIERS: max,
    EIATTR_NUM_MBARRIERS: int.__add__,
    EIATTR_VRC_CTA_INIT_COUNT: max,
    EIATTR_SPARSE_MMA_MASK: int.__or__,
    EIATTR_GRID_ATTRIBUTES: int.__or__,
}
MARKS: Final = frozenset(
    (
        EIATTR_CTAIDZ_USED,
        EIATTR_RESERVED_SMEM_USED,
        EIATTR_TCGEN05_1CTA_USED,
        EIATTR_TCGEN05_2CTA_USED,
    )
)
#: Modes of tensor memory, of which only code of CUDA 13 tells its kernels (rule I4).
TENSOR_MODES: Final = frozenset((EIATTR_TCGEN05_1CTA_USED, EIATTR_TCGEN05_2CTA_USED))
#: Attributes whose words kernels join, each once.
WORD_LISTS: Final = frozenset((EIATTR_AT_ENTRY_FRAGMENTS, EIATTR_LANGUAGE))
_LISTS: Final = frozenset((EIATTR_EXTERNS, *WORD_LISTS))
TAKEN: Final = frozenset((*JOINED, *MARKS, *_LISTS, EIATTR_REG_RECONFIG))
#: The format in which a kernel gets what it lacks.
FORMATS: Final = {
    EIATTR_NUM_BARRIERS: EIFMT_BVAL,
    EIATTR_NUM_MBARRIERS: EIFMT_HVAL,
    EIATTR_VRC_CTA_INIT_COUNT: EIFMT_BVAL,
    EIATTR_SPARSE_MMA_MASK: EIFMT_HVAL,
    EIATTR_GRID_ATTRIBUTES: EIFMT_HVAL,
    EIATTR_REG_RECONFIG: EIFMT_NVAL,
}

#: Function -> its records that kernels take over, in the order of its input.
Asked = dict["Symbol", list["RawRecord"]]


def is_asking(record: RawRecord) -> bool:
    """Whether a record of a device function concerns kernels."""
    code = record[1]
    if code in _LISTS:
        return record[0] == EIFMT_SVAL and len(record) > _LEAST_RECORD
    return code in TAKEN and (code != EIATTR_SPARSE_MMA_MASK or header_value(record) != 0)


def header_value(record: RawRecord) -> int:
    """The second half of a record's head, as nvlink reads it: of any format."""
    return record[2] | record[3] << 8


def external_record(symbols: list[Symbol]) -> RawRecord:
    return raw_record(EIFMT_SVAL, EIATTR_EXTERNS, 0, words(*(s.index for s in symbols)))


def replace_record(records: list[RawRecord], code: int, new: RawRecord | None) -> None:
    """Put a record with a payload where the one of its code is, or at the end; None removes it."""
    for i, record in enumerate(records):
        if record[1] == code and record[0] == EIFMT_SVAL:
            records[i : i + 1] = [new] if new else []
            return
    if new:
        records.append(new)


def symbol_number(symbol: Symbol) -> int:
    """The key of the order of symbols in the output."""
    return symbol.index


def renumbered(obj: InputObject, record: RawRecord) -> RawRecord | None:
    """A record with the number that its symbol has in the output; None: the record goes."""
    new = new_number(obj, record[1], word(record, 0))
    if not new and record[1] not in PARAMETERS:
        return None
    return record[:4] + new.to_bytes(4, "little") + record[8:]


def new_number(obj: InputObject, code: int, number: int) -> int:
    """The number in the output of a symbol that an attribute names; 0: it has none.

    Only the bank of parameters may be named by its section (rule G1).
    """
    if number >= len(obj.symbols):
        return 0
    if code == EIATTR_PARAM_CBANK and obj.symbols[number].kind == STT_SECTION:
        place = obj.place(obj.symbols[number].shndx)
        return place[0].symbol_index if place is not None and place[0].has_symbol else 0
    symbol = obj.bound[number]
    return symbol.index if symbol is not None else 0
