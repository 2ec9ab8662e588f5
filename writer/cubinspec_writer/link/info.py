"""Pass 9: `.nv.info` and `.nv.info.F`.

Records are put in front of what is there, so the output has the inputs in reverse order and the
records of each in reverse order. What the whole program decides is written over: registers,
stack, barriers of entries. Symbol numbers are renumbered last.

Fixed from here on: all attribute records.
"""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec_generated.tables import eiattr

from .callgraph import Graph
from .liveness import defined_here
from .model import SHT_CUDA_INFO, InfoRecord, InputObject, OutSection, Symbol
from .state import LinkState

PARAM_CBANK, EXTERNS, FRAME_SIZE, MIN_STACK_SIZE = 0x0A, 0x0F, 0x11, 0x12
CRS_STACK_SIZE, MAX_STACK_SIZE, REGCOUNT = 0x1E, 0x23, 0x2F
AT_ENTRY_FRAGMENTS = 0x4F
NUM_MBARRIERS, NUM_BARRIERS, SPARSE_MMA_MASK = 0x38, 0x4C, 0x50
BINDLESS_TEXTURE_BANK, BINDLESS_SURFACE_BANK = 0x15, 0x16
BVAL, HVAL, SVAL = 2, 3, 4
#: Records of the global section whose payload starts with a function symbol.
_OF_FUNCTION = frozenset({FRAME_SIZE, MIN_STACK_SIZE, CRS_STACK_SIZE, MAX_STACK_SIZE, REGCOUNT})
#: Records that a link itself adds or changes.
_PROPAGATED = frozenset((NUM_BARRIERS, EXTERNS, CRS_STACK_SIZE, AT_ENTRY_FRAGMENTS))
_UNKNOWN_STACK = 0xFFFFFFFF


def word(record: InfoRecord, index: int) -> int:
    return int.from_bytes(record.payload[4 * index : 4 * index + 4], "little")


def checked(obj: InputObject, number: int) -> int:
    """A symbol number of an attribute, when the input has such a symbol."""
    if number >= len(obj.symbols):
        raise BadStructureError(
            f"attribute names symbol {number} of {len(obj.symbols)}", file=obj.name
        )
    return number


def words(*values: int) -> bytes:
    return b"".join(v.to_bytes(4, "little") for v in values)


class FunctionFacts:
    """Registers, frame and barriers of every linked function, as its input states them."""

    def __init__(self, state: LinkState) -> None:
        self.registers: dict[Symbol, int] = {}
        self.frame: dict[Symbol, int] = {}
        for obj in state.objects:
            for record in global_records(obj):
                symbol = record_function(obj, record)
                if symbol is None or len(record.payload) < 8:
                    continue
                if record.code == REGCOUNT:
                    self.registers[symbol] = word(record, 1)
                elif record.code == FRAME_SIZE:
                    self.frame[symbol] = word(record, 1)


def global_records(obj: InputObject) -> list[InfoRecord]:
    section = obj.find(".nv.info")
    return obj.records(section.index) if section else []


def record_function(obj: InputObject, record: InfoRecord) -> Symbol | None:
    """The function a global record is about, if that function's copy here is linked."""
    if record.code not in _OF_FUNCTION or record.fmt != SVAL or len(record.payload) < 4:
        return None
    index = word(record, 0)
    if index >= len(obj.bound) or not defined_here(obj, index):
        return None
    symbol = obj.bound[index]
    return symbol if symbol is not None and symbol.live else None


def stack_of(graph: Graph, facts: FunctionFacts, entry: Symbol) -> int | None:
    """Largest sum of frames on any call path from an entry; None with recursion."""
    depth: dict[Symbol, int] = {}
    active: set[Symbol] = set()
    todo: list[tuple[Symbol, bool]] = [(entry, False)]
    while todo:
        function, done = todo.pop()
        if done:
            active.discard(function)
            below = (depth[c] for c in graph.callees(function))
            depth[function] = facts.frame.get(function, 0) + max(below, default=0)
        elif function in active:
            return None
        elif function not in depth:
            active.add(function)
            todo.append((function, True))
            todo += [(c, False) for c in graph.callees(function) if c not in depth]
            if any(c in active for c in graph.callees(function)):
                return None
    return depth[entry]


def fill(
    state: LinkState, graph: Graph, section: OutSection, mercury: LinkState | None = None
) -> None:
    """Write the records of all `.nv.info` sections; symbols are numbered already."""
    global_info = section.data
    facts = FunctionFacts(state)
    final = not state.options.relocatable
    kernels = [s for s in _by_index(state) if s.is_entry and s.section is not None]
    below = {k: graph.reachable(k) for k in kernels}
    for obj in reversed(state.objects):
        for record in reversed(global_records(obj)):
            if record.code in _OF_FUNCTION:
                symbol = record_function(obj, record)
                if symbol is None or (record.code == MAX_STACK_SIZE and final):
                    continue
                value = word(record, 1)
                if record.code == REGCOUNT and symbol in below and final:
                    value = max([facts.registers.get(f, 0) for f in below[symbol]] + [value])
                payload = words(symbol.index, value) + record.payload[8:]
                record = InfoRecord(record.fmt, record.code, 0, payload)
            elif record.fmt == SVAL and record.code in eiattr.SYMBOL_FIELDS:
                record = _renumber_fields(obj, record)
            global_info += record.encode()
    recursive: set[Symbol] = set()
    for kernel in kernels if final else ():
        size = stack_of(graph, facts, kernel)
        if size is None:
            if state.options.stack_warnings:
                state.diagnostics.strict_warning(
                    f"Stack size for entry function '{kernel.name}' cannot be statically determined"
                )
            size = _UNKNOWN_STACK
            recursive.add(kernel)
        payload = words(kernel.index, size)
        global_info += InfoRecord(SVAL, MIN_STACK_SIZE, 0, payload).encode()
    _function_sections(state, below if final else {}, recursive, mercury)


def _renumber_fields(obj: InputObject, record: InfoRecord) -> InfoRecord:
    """Give every symbol that a record names its number of the output (samplers, images)."""
    payload = bytearray(record.payload)
    for at in eiattr.SYMBOL_FIELDS[record.code]:
        if at + 4 > len(payload):
            continue
        number = checked(obj, int.from_bytes(payload[at : at + 4], "little"))
        symbol = obj.bound[number]
        if symbol is not None:
            payload[at : at + 4] = words(symbol.index)
    return InfoRecord(record.fmt, record.code, record.value, bytes(payload))


def _by_index(state: LinkState) -> list[Symbol]:
    return sorted(state.functions, key=lambda s: s.index)


def _function_sections(
    state: LinkState,
    below: dict[Symbol, list[Symbol]],
    recursive: set[Symbol],
    mercury: LinkState | None,
) -> None:
    externs: dict[Symbol, list[Symbol]] = {}
    tails: dict[Symbol, list[InfoRecord]] = {}
    fragments: dict[Symbol, InfoRecord] = {}
    codes = mercury_codes(mercury) if mercury else None
    sections = {s.owner: s for s in state.sections if s.records and s.owner is not None}
    for function, section in sections.items():
        records, added = split_added(section, function, codes)
        records.reverse()
        obj = function.definition[0] if function.definition else None
        assert obj is not None
        done = []
        for record in records:
            if record.code == EXTERNS:
                externs[function] = external_names(obj, record)
                if not externs[function] and function not in below:
                    continue
                record = external_record(externs[function])
            elif record.code == AT_ENTRY_FRAGMENTS and below and not function.is_entry:
                fragments[function] = record
                continue
            done.append(_renumber(function, record))
        section.records = done
        tails[function] = added
    for kernel, functions in below.items():
        own = sections.get(kernel)
        if own is None:
            continue
        values = [
            r.value & 0xFF
            for f in functions
            if f in sections
            for r in sections[f].records
            if r.code == NUM_BARRIERS
        ]
        if values:
            _replace(own.records, NUM_BARRIERS, InfoRecord(BVAL, NUM_BARRIERS, max(values)))
        if all(r.code != AT_ENTRY_FRAGMENTS for r in own.records):
            # Needs of device functions are the kernel's (case tcgen05 drops them there).
            own.records += [fragments[f] for f in functions if f in fragments][:1]
        # Its own first, then in the order of the functions' sections.
        reached = set(functions)
        order = [kernel, *(f for f in sections if f in reached)]
        needed = dict.fromkeys(x for f in order for x in externs.get(f, ()))
        _replace(own.records, EXTERNS, external_record(list(needed)) if needed else None)
    for kernel in recursive:
        if kernel in sections:
            crs = InfoRecord(SVAL, CRS_STACK_SIZE, 0, words(_UNKNOWN_STACK))
            _replace(sections[kernel].records, CRS_STACK_SIZE, crs)
    for function, section in sections.items():
        section.records += [_renumber(function, r) for r in tails[function]]
        if function in state.slotted:
            codes_of_banks = (BINDLESS_TEXTURE_BANK, BINDLESS_SURFACE_BANK)
            section.records += [InfoRecord(BVAL, code, 0) for code in codes_of_banks]
        section.data += b"".join(r.encode() for r in section.records)


def mercury_codes(state: LinkState) -> dict[str, list[set[int]]]:
    """Attribute codes of every function's Mercury records, by function name."""
    codes: dict[str, list[set[int]]] = {}
    for section in state.sections:
        if section.owner is not None and section.sh_type == SHT_CUDA_INFO:
            found = {r.code for r in section.records}
            codes.setdefault(section.owner.name, []).append(found)
    return codes


def split_added(
    section: OutSection, function: Symbol, codes: dict[str, list[set[int]]] | None
) -> tuple[list[InfoRecord], list[InfoRecord]]:
    """The records that the Mercury half has too, and those that the finalizer added."""
    if codes is None or function.name not in codes:
        return list(section.records), []
    known = codes[function.name][0] | _PROPAGATED
    kept = [r for r in section.records if r.code in known]
    return kept, [r for r in section.records if r.code not in known]


def _renumber(function: Symbol, record: InfoRecord) -> InfoRecord:
    """Give the parameter bank its symbol number of the output."""
    if record.code != PARAM_CBANK or function.definition is None:
        return record
    obj = function.definition[0]
    place = obj.placed.get(obj.symbols[checked(obj, word(record, 0))].shndx)
    if place is None or place[0].symbol is None:
        return record
    return InfoRecord(SVAL, PARAM_CBANK, 0, words(place[0].symbol.index) + record.payload[4:])


def external_names(obj: InputObject, record: InfoRecord) -> list[Symbol]:
    """What of an EXTERNS record a link cannot settle: undefined functions, and kernels."""
    found = (obj.bound[checked(obj, word(record, i))] for i in range(len(record.payload) // 4))
    return [s for s in found if s is not None and (not s.is_defined or s.is_entry)]


def external_record(symbols: list[Symbol]) -> InfoRecord:
    return InfoRecord(SVAL, EXTERNS, 0, words(*(s.index for s in symbols)))


def _replace(records: list[InfoRecord], code: int, new: InfoRecord | None) -> None:
    """Put a record where the one of its code is, or at the end; None removes it."""
    for i, record in enumerate(records):
        if record.code == code:
            records[i : i + 1] = [new] if new else []
            return
    if new:
        records.append(new)
