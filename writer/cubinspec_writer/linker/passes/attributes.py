"""Pass 9: `.nv.info` and `.nv.info.F`.

Records are put in front of what is there, so the output has the inputs in reverse order and the
records of each in reverse order. What the whole program decides is written over: registers,
stack, barriers of entries. Symbol numbers are renumbered last.

Fixed from here on: all attribute records.
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    EIATTR_AT_ENTRY_FRAGMENTS,
    EIATTR_BINDLESS_SURFACE_BANK,
    EIATTR_BINDLESS_TEXTURE_BANK,
    EIATTR_CRS_STACK_SIZE,
    EIATTR_EXTERNS,
    EIATTR_KPARAM_INFO,
    EIATTR_KPARAM_INFO_V2,
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MAXREG_COUNT,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_NUM_BARRIERS,
    EIATTR_PARAM_CBANK,
    EIATTR_REGCOUNT,
    EIATTR_SPARSE_MMA_MASK,
    EIATTR_VRC_CTA_INIT_COUNT,
    EIFMT_BVAL,
    EIFMT_HVAL,
    EIFMT_SVAL,
    SHT_CUDA_INFO,
)
from cubinspec_generated.tables import eiattr
from cubinspec_writer.linker.library.demands import (
    FUNCTION_VALUE,
    Demands,
    FunctionFacts,
    checked,
    word,
    words,
)
from cubinspec_writer.linker.library.stubs import StubAttributes
from cubinspec_writer.linker.model import (
    InfoRecord,
    InputObject,
    OutSection,
    Symbol,
    immediate,
    info_record,
)
from cubinspec_writer.linker.passes.takeover import TAKEN, Asked, Taker, is_asking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec_writer.linker.state import LinkState

#: Records that a link itself adds or changes.
_PROPAGATED = frozenset(
    (EIATTR_NUM_BARRIERS, EIATTR_EXTERNS, EIATTR_CRS_STACK_SIZE, EIATTR_AT_ENTRY_FRAGMENTS)
)
_UNKNOWN_STACK = 0xFFFFFFFF
#: SPARSE_MMA_MASK of code that does not say it.
_ANY_MASK = 0x8000


def run(state: LinkState) -> None:
    """Write the records of all `.nv.info` sections; symbols are numbered already."""
    section, mercury = state.sections.fixed[".nv.info"], state.twin
    final = not state.options.relocatable
    kernels = sorted(state.linked_kernels(), key=_index)
    facts = FunctionFacts(state)
    demands = Demands(state.graph, facts, _with_stacks(state, kernels)) if final else None
    entries = set(kernels)
    rows: list[bytes] = []
    pack = FUNCTION_VALUE.pack
    for obj in reversed(state.objects):
        if obj in facts.values:
            rows += _values_of(*facts.values[obj], demands, entries)
            continue
        for code, symbol, value, rest in reversed(facts.rows[obj]):
            if symbol is None:
                if rest[0] == EIFMT_SVAL and code in eiattr.SYMBOL_FIELDS:
                    rest = _renumber_fields(obj, rest)
                rows.append(rest)
                continue
            if code == EIATTR_MAX_STACK_SIZE and final:
                continue
            if demands is not None and code == EIATTR_REGCOUNT and symbol in entries:
                value = max(demands.registers.get(symbol, 0), value)
            rows.append(pack(EIFMT_SVAL, code, 8 + len(rest), symbol.index, value))
            if rest:
                rows.append(rest)
    recursive: set[Symbol] = set()
    for kernel in _with_stacks(state, kernels) if demands is not None else ():
        assert demands is not None
        # The finalizer knows code by its section, and of the stubs it knows the last one.
        is_stub = mercury is not None and kernel in state.unified.stubs
        size = demands.stacks[next(reversed(state.unified.stubs)) if is_stub else kernel]
        if size is None:
            size = _UNKNOWN_STACK
            recursive.add(kernel)
        rows.append(
            pack(EIFMT_SVAL, EIATTR_MIN_STACK_SIZE, 8, kernel.index, min(size, _UNKNOWN_STACK))
        )
    if demands is not None and recursive and state.options.stack_warnings:
        _warn(state, demands, recursive)
    section.data += b"".join(rows)
    section.emitted = section.emitted and bool(rows)
    _function_sections(state, demands, kernels if final else [], recursive, mercury)


def _with_stacks(state: LinkState, kernels: list[Symbol]) -> list[Symbol]:
    """What the stack is told of: kernels, and stubs unless there is one kernel (unified_chain)."""
    if not state.unified.stubs or len(kernels) == 1:
        return kernels
    return sorted((*state.unified.stubs, *kernels), key=_index)


def _values_of(
    values: list[tuple[int, ...]],
    linked: dict[int, Symbol],
    demands: Demands | None,
    entries: set[Symbol],
) -> list[bytes]:
    """The global records of an input, last one first, if all are of a function and a number."""
    pack = FUNCTION_VALUE.pack
    numbers = {index: symbol.index for index, symbol in linked.items()}
    if demands is None:
        return [
            pack(EIFMT_SVAL, code, 8, numbers[i], value)
            for _, code, _, i, value in reversed(values)
        ]
    registers = demands.registers
    needs = {i: registers.get(symbol, 0) for i, symbol in linked.items() if symbol in entries}
    return [
        pack(
            EIFMT_SVAL,
            code,
            8,
            numbers[i],
            needs[i] if code == EIATTR_REGCOUNT and i in needs and needs[i] > value else value,
        )
        for _, code, _, i, value in reversed(values)
        if code != EIATTR_MAX_STACK_SIZE
    ]


def _warn(state: LinkState, demands: Demands, kernels: set[Symbol]) -> None:
    """Warn of kernels whose stack is unknown, in the order of registration.

    Once for every callee of unknown depth, however often that one meets recursion.
    """
    for kernel in state.symbols.functions:
        if kernel not in kernels:
            continue
        for _ in [c for c in demands.graph.edges(kernel) if demands.stacks[c] is None]:
            state.diagnostics.warning(
                f"Stack size for entry function '{kernel.name}' cannot be statically determined"
            )


def _renumber_fields(obj: InputObject, record: InfoRecord) -> InfoRecord:
    """Give every symbol that a record names its number of the output (samplers, images)."""
    payload = bytearray(record[4:])
    for at in eiattr.SYMBOL_FIELDS[record[1]]:
        if at + 4 > len(payload):
            continue
        number = checked(obj, int.from_bytes(payload[at : at + 4], "little"))
        symbol = obj.bound[number]
        if symbol is not None:
            payload[at : at + 4] = words(symbol.index)
    return record[:4] + payload


#: A parameter that is a texture, surface or sampler names a symbol.
_PARAMETERS = frozenset((EIATTR_KPARAM_INFO, EIATTR_KPARAM_INFO_V2))
_NO_SYMBOL = bytes(4)
#: What the records of a function are looked at for; all others only change places.
_DECIDED = _PARAMETERS | TAKEN | {EIATTR_PARAM_CBANK, EIATTR_MAXREG_COUNT}
#: MAXREG_COUNT of a kernel that may have all registers.
_NO_LIMIT = (0, 0xFF)


def _function_sections(
    state: LinkState,
    demands: Demands | None,
    kernels: list[Symbol],
    recursive: set[Symbol],
    mercury: LinkState | None,
) -> None:
    entries = set(kernels)
    externs: dict[Symbol, list[Symbol]] = {}
    tails: dict[Symbol, list[InfoRecord]] = {}
    asked: Asked = {}
    codes = mercury_codes(mercury) if mercury else None
    found = state.sections.by_type.get(SHT_CUDA_INFO, ())
    sections = {s.owner: s for s in found if s.records and s.owner is not None}
    #: Functions whose records say a mask.
    masked: set[Symbol] = set()
    #: Lists of records of device functions that nothing is decided in (many functions share one):
    #: the records of the output, and whether one is a mask.
    settled: dict[int, tuple[list[InfoRecord], bool]] = {}
    wanted_kernels = set(state.linked_kernels())
    #: Stubs take over this count even where it is 0.
    asks_stubs = EIATTR_VRC_CTA_INIT_COUNT if state.unified.stubs else None
    for function, section in sections.items():
        is_device = function not in wanted_kernels
        shared = id(section.records)
        if is_device and shared in settled:
            same, has_mask = settled[shared]
            section.records = same[:]
            if has_mask:
                masked.add(function)
            continue
        if codes is None:
            records = section.records[::-1]
        else:
            records, tails[function] = split_added(section, function, codes)
            records.reverse()
        done: list[InfoRecord] = []
        is_settled = is_device and codes is None
        for record in records:
            code = record[1]
            if code not in _DECIDED:
                done.append(record)
                continue
            is_settled = is_settled and code == EIATTR_SPARSE_MMA_MASK and not is_asking(record)
            if code in _PARAMETERS:
                if record[4:8] != _NO_SYMBOL:
                    record = _renumber_fields(_input_of(function), record)
            elif code == EIATTR_SPARSE_MMA_MASK:
                masked.add(function)
            elif code == EIATTR_MAXREG_COUNT:
                limit = immediate(record) & 0xFF
                if limit not in _NO_LIMIT and function.is_entry:
                    state.attributes.register_limits[function] = limit
            elif code == EIATTR_PARAM_CBANK:
                record = _renumber(function, record)
            elif code == EIATTR_EXTERNS:
                externs[function] = external_names(_input_of(function), record)
                record = external_record(externs[function])
            if is_device and code in TAKEN and (is_asking(record) or code == asks_stubs):
                # Names that are settled by now still have their turn (weak_externs).
                asked.setdefault(function, []).append(record)
                if code == EIATTR_AT_ENTRY_FRAGMENTS and entries:
                    continue  # needs of device functions are the kernels' (tcgen05)
            if code == EIATTR_EXTERNS and not externs[function] and function not in entries:
                continue
            done.append(record)
        if is_settled:
            settled[shared] = done, function in masked
        section.records = done
        if function in asked:
            asked[function].reverse()  # as the input has them
    # The only kernel of a program gets what any function asks for, reached or not.
    only = len(kernels) == 1
    wanted = any(externs.values()) or any(
        r[1] != EIATTR_EXTERNS for rows in asked.values() for r in rows
    )
    met = (
        [function for function in state.attributes.order if function in sections] if wanted else []
    )
    position = {function: at for at, function in enumerate(met)}
    everyone = _in_input_order(state) if only and wanted else None
    for kernel in kernels:
        own = sections.get(kernel)
        if own is None:
            continue
        if kernel in recursive:
            crs = info_record(EIFMT_SVAL, EIATTR_CRS_STACK_SIZE, 0, words(_UNKNOWN_STACK))
            _replace(own.records, EIATTR_CRS_STACK_SIZE, crs)
        if not wanted:
            if kernel in externs:
                _replace(own.records, EIATTR_EXTERNS, None)
            continue
        assert demands is not None
        taker = Taker(state, kernel, own.records)
        if everyone is not None:
            taker.alone(everyone, asked)
            _fill_externs(kernel, own.records, [], externs, everyone)
            taker.fragments(everyone, asked)
        else:
            reached = demands.graph.reachable(kernel)
            below = sorted((f for f in reached if f in position), key=position.__getitem__)
            taker.from_below(below, asked)
            _fill_externs(kernel, own.records, below, externs, None)
    stubs = StubAttributes(state)
    if demands is not None and not only:
        everything = {stub: demands.graph.reachable(stub) for stub in reversed(stubs.records)}
        for function in met:
            reaching = [stub for stub, below in everything.items() if function in below]
            for record in asked.get(function, ()):
                for stub in reaching:
                    stubs.take(state, stub, record)
        for stub, reached in everything.items():
            below = sorted((f for f in reached if f in position), key=position.__getitem__)
            _fill_externs(stub, stubs.records[stub], below, externs, None)
    old = _without_masks(sections, masked)
    aliased = _count_aliases(state) if demands is not None and masked else {}
    unknown = old | set(aliased)
    unsaid = _reach_unknown_masks(kernels, demands, sections, unknown) if demands else set()
    for function, section in sections.items():
        if function in unknown:
            count = aliased.get(function, 1)
            section.records += [info_record(EIFMT_HVAL, EIATTR_SPARSE_MMA_MASK, _ANY_MASK)] * count
        elif function in unsaid and demands is not None:
            _open_mask(section.records)
        if tails and function in tails:
            section.records += [_renumber(function, r) for r in tails[function]]
        if function in state.handles.kernels:
            codes_of_banks = (EIATTR_BINDLESS_TEXTURE_BANK, EIATTR_BINDLESS_SURFACE_BANK)
            section.records += [info_record(EIFMT_BVAL, code, 0) for code in codes_of_banks]
        section.content = b"".join(section.records)
    stubs.fill(mercury)


def _input_of(function: Symbol) -> InputObject:
    assert function.definition is not None
    return function.definition[0]


def _without_masks(sections: Iterable[Symbol], masked: set[Symbol]) -> set[Symbol]:
    """Functions of inputs that are older than SPARSE_MMA_MASK, when others have that record."""
    having = {id(f.definition[0]) for f in masked if f.definition is not None}
    if not having:
        return set()
    return {f for f in sections if f.definition and id(f.definition[0]) not in having}


def _count_aliases(state: LinkState) -> dict[Symbol, int]:
    """Functions that have more names, and how many, if masks are said at all (alias_elsewhere)."""
    names = state.aliases()
    infos = state.sections.by_type.get(SHT_CUDA_INFO, ()) if names else ()
    if not any(r[1] == EIATTR_SPARSE_MMA_MASK for s in infos for r in s.records):
        return {}
    owners = [f.section.owner for f in names if f.section and f.section.owner]
    return {owner: owners.count(owner) for owner in owners}


def _reach_unknown_masks(
    kernels: list[Symbol],
    demands: Demands,
    sections: dict[Symbol, OutSection],
    old: set[Symbol],
) -> set[Symbol]:
    """Kernels that reach code of which no record says a mask: old code and aliases."""
    reached = demands.stacks.keys()
    unknown = [f for f in (reached - sections.keys()) | (reached & old) if f.is_defined]
    if not unknown:
        return set()
    reaching = demands.largest(dict.fromkeys(unknown, 1))
    return {kernel for kernel in kernels if kernel in reaching}


def _open_mask(records: list[InfoRecord]) -> None:
    """Code of unknown mask may use all of it."""
    for at, record in enumerate(records):
        if record[1] == EIATTR_SPARSE_MMA_MASK:
            records[at] = info_record(
                record[0], EIATTR_SPARSE_MMA_MASK, immediate(record) | _ANY_MASK
            )


def _fill_externs(
    kernel: Symbol,
    records: list[InfoRecord],
    reached: list[Symbol],
    externs: dict[Symbol, list[Symbol]],
    everyone: list[Symbol] | None,
) -> None:
    """Join the external names of a kernel and of what it reaches, its own first.

    Of several kernels each keeps its record, and the rest follows in the order of the functions'
    sections. With one kernel in the program the record is made anew at the end when it grows, from
    all functions and the kernel in the order of the inputs, last name first
    (case externs_in_order).

    Args:
        everyone: for the only kernel of a program, all functions in the order of the inputs.
    """
    own = externs.get(kernel, [])
    lists = [own, *(externs.get(f, []) for f in everyone or reached)]
    needed = list(dict.fromkeys(x for names in lists for x in names))
    if everyone and any(x not in own for x in needed):
        _replace(records, EIATTR_EXTERNS, None)
        needed = list(dict.fromkeys(x for f in everyone for x in externs.get(f, ())))
        needed.reverse()
    _replace(records, EIATTR_EXTERNS, external_record(needed) if needed else None)


def _in_input_order(state: LinkState) -> list[Symbol]:
    """Functions with attributes, in the order of the inputs' sections, by the last copy."""
    places = [
        place[0].owner
        for obj in state.objects
        for s in obj.sections
        if s[2] == SHT_CUDA_INFO and (place := obj.placed[s.index]) is not None
    ]
    met = dict.fromkeys(owner for owner in reversed(places) if owner is not None)
    return list(reversed(met))


def _index(symbol: Symbol) -> int:
    return symbol.index


def mercury_codes(state: LinkState) -> dict[str, list[set[int]]]:
    """Attribute codes of every function's Mercury records, by function name.

    Several files may have a function of one name; both halves have these in one order.
    """
    codes: dict[str, list[set[int]]] = {}
    for section in state.sections.made:
        if section.owner is not None and section.sh_type == SHT_CUDA_INFO:
            found = {r[1] for r in section.records}
            codes.setdefault(section.owner.name, []).append(found)
    return codes


def split_added(
    section: OutSection, function: Symbol, codes: dict[str, list[set[int]]] | None
) -> tuple[list[InfoRecord], list[InfoRecord]]:
    """The records that the Mercury half has too, and those that the finalizer added."""
    if codes is None or not codes.get(function.name):
        return list(section.records), []
    known = codes[function.name].pop(0) | _PROPAGATED
    kept = [r for r in section.records if r[1] in known]
    return kept, [r for r in section.records if r[1] not in known]


def _renumber(function: Symbol, record: InfoRecord) -> InfoRecord:
    """Give the parameter bank its symbol number of the output."""
    if record[1] != EIATTR_PARAM_CBANK or function.definition is None:
        return record
    obj = function.definition[0]
    place = obj.place(obj.symbols[checked(obj, word(record, 0))][5])
    if place is None or not place[0].has_symbol:
        return record
    return record[:4] + place[0].symbol_index.to_bytes(4, "little") + record[8:]


def external_names(obj: InputObject, record: InfoRecord) -> list[Symbol]:
    """What of an EXTERNS record a link cannot settle: undefined functions, and kernels."""
    found = (obj.bound[checked(obj, word(record, i))] for i in range((len(record) - 4) // 4))
    return [s for s in found if s is not None and (not s.is_defined or s.is_entry)]


def external_record(symbols: list[Symbol]) -> InfoRecord:
    return info_record(EIFMT_SVAL, EIATTR_EXTERNS, 0, words(*(s.index for s in symbols)))


def _replace(records: list[InfoRecord], code: int, new: InfoRecord | None) -> None:
    """Put a record where the one of its code is, or at the end; None removes it."""
    for i, record in enumerate(records):
        if record[1] == code:
            records[i : i + 1] = [new] if new else []
            return
    if new:
        records.append(new)
