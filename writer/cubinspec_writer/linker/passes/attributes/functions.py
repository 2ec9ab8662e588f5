"""Attributes of functions: what becomes of the records of every function."""

from __future__ import annotations

from cubinspec.format.attributes import immediate, raw_record
from cubinspec_generated.codes import (
    EIATTR_AT_ENTRY_FRAGMENTS,
    EIATTR_BINDLESS_SURFACE_BANK,
    EIATTR_BINDLESS_TEXTURE_BANK,
    EIATTR_CRS_STACK_SIZE,
    EIATTR_EXTERNS,
    EIATTR_KPARAM_INFO,
    EIATTR_KPARAM_INFO_V2,
    EIATTR_MAXREG_COUNT,
    EIATTR_NUM_BARRIERS,
    EIATTR_PARAM_CBANK,
    EIATTR_SPARSE_MMA_MASK,
    EIATTR_VRC_CTA_INIT_COUNT,
    EIFMT_BVAL,
    EIFMT_HVAL,
    EIFMT_SVAL,
    SHT_CUDA_INFO,
)
from cubinspec_writer.linker.library.demands import (
    TAKEN,
    Collected,
    Demands,
    checked,
    external_record,
    is_asking,
    renumber_fields,
    replace_record,
    word,
    words,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.model import InputObject, OutSection, Symbol
    from cubinspec_writer.linker.state import LinkState

#: Records that a link itself adds or changes.
_PROPAGATED = frozenset(
    (EIATTR_NUM_BARRIERS, EIATTR_EXTERNS, EIATTR_CRS_STACK_SIZE, EIATTR_AT_ENTRY_FRAGMENTS)
)

#: SPARSE_MMA_MASK of code that does not say it.
_ANY_MASK = 0x8000

#: A parameter that is a texture, surface or sampler names a symbol.
_PARAMETERS = frozenset((EIATTR_KPARAM_INFO, EIATTR_KPARAM_INFO_V2))

_NO_SYMBOL = bytes(4)

#: What the records of a function are looked at for; all others only change places.
_DECIDED = _PARAMETERS | TAKEN | {EIATTR_PARAM_CBANK, EIATTR_MAXREG_COUNT}

#: MAXREG_COUNT of a kernel that may have all registers.
_NO_LIMIT = (0, 0xFF)
#: Stack of a kernel that reaches a recursion.
_UNKNOWN_CRS_STACK = 0xFFFFFFFF


def write_functions(
    state: LinkState, demands: Demands | None, kernels: list[Symbol], recursive: set[Symbol]
) -> None:
    """Write the records of all functions.

    Args:
        demands: None with `-r`, where no kernel takes anything over.
        recursive: kernels that reach a recursion.
    """
    collected = _collect(state, set(kernels))
    sections, externs, asked = collected.sections, collected.externs, collected.asked
    for kernel in kernels:
        if kernel in recursive and kernel in sections:
            record = raw_record(EIFMT_SVAL, EIATTR_CRS_STACK_SIZE, 0, words(_UNKNOWN_CRS_STACK))
            replace_record(sections[kernel].records, EIATTR_CRS_STACK_SIZE, record)
    if any(externs.values()) or any(
        r[1] != EIATTR_EXTERNS for rows in asked.values() for r in rows
    ):
        from cubinspec_writer.linker.passes.attributes.takeover import take_over

        assert demands is not None or not kernels
        if demands is not None:
            take_over(state, collected, demands, kernels)
    else:
        for kernel in kernels:
            if kernel in externs and kernel in sections:
                replace_record(sections[kernel].records, EIATTR_EXTERNS, None)
    stubs = None
    if state.unified.stubs:
        from cubinspec_writer.linker.passes.attributes.stubs import collect_stubs

        stubs = collect_stubs(state, collected, demands, is_alone=len(kernels) == 1)
    _write(state, collected, demands, kernels)
    if stubs is not None:
        stubs.write(state.twin)


def _collect(state: LinkState, kernels: set[Symbol]) -> Collected:
    """Look at the records of every function, and put them into the order of the output.

    Args:
        kernels: those that take records over.
    """
    found = state.sections.by_type.get(SHT_CUDA_INFO, ())
    collected = Collected({s.owner: s for s in found if s.records and s.owner is not None})
    codes = mercury_codes(state.twin) if state.twin else None
    #: Lists of records of device functions that nothing is decided in (many functions share one):
    #: the records of the output, and whether one is a mask.
    settled: dict[int, tuple[list[RawRecord], bool]] = {}
    wanted_kernels = set(state.linked_kernels())
    for function, section in collected.sections.items():
        is_device = function not in wanted_kernels
        shared = id(section.records)
        if is_device and shared in settled:
            same, has_mask = settled[shared]
            section.records = same[:]
            if has_mask:
                collected.masked.add(function)
            continue
        if codes is None:
            records = section.records[::-1]
        else:
            records, collected.added[function] = split_added(section, function, codes)
            records.reverse()
        done, is_settled = _decide(state, collected, function, records, is_device, kernels)
        if is_settled and is_device and codes is None:
            settled[shared] = done, function in collected.masked
        section.records = done
        if function in collected.asked:
            collected.asked[function].reverse()  # as the input has them
    return collected


def _decide(
    state: LinkState,
    collected: Collected,
    function: Symbol,
    records: list[RawRecord],
    is_device: bool,
    kernels: set[Symbol],
) -> tuple[list[RawRecord], bool]:
    """The records of a function that stay, and whether the same records always give the same."""
    done: list[RawRecord] = []
    is_settled = True
    for record in records:
        code = record[1]
        if code not in _DECIDED:
            done.append(record)
            continue
        is_settled = is_settled and code == EIATTR_SPARSE_MMA_MASK and not is_asking(record)
        if code in _PARAMETERS:
            if record[4:8] != _NO_SYMBOL:
                record = renumber_fields(_input_of(function), record)
        elif code == EIATTR_SPARSE_MMA_MASK:
            collected.masked.add(function)
        elif code == EIATTR_MAXREG_COUNT:
            limit = immediate(record) & 0xFF
            if limit not in _NO_LIMIT and function.is_entry:
                state.attributes.register_limits[function] = limit
        elif code == EIATTR_PARAM_CBANK:
            record = _renumber(function, record)
        elif code == EIATTR_EXTERNS:
            names = collected.externs[function] = external_names(_input_of(function), record)
            record = external_record(names)
            if not names and function not in kernels and not is_device:
                continue
        if is_device and code in TAKEN:
            # Stubs take over this count even where it is 0.
            asks_stubs = code == EIATTR_VRC_CTA_INIT_COUNT and bool(state.unified.stubs)
            if is_asking(record) or asks_stubs:
                # Names that are settled by now still have their turn (rule W6).
                collected.asked.setdefault(function, []).append(record)
                if code == EIATTR_AT_ENTRY_FRAGMENTS and kernels:
                    continue  # needs of device functions are the kernels' (rule I10)
            if code == EIATTR_EXTERNS and not collected.externs[function]:
                continue
        done.append(record)
    return done, is_settled


def _write(
    state: LinkState, collected: Collected, demands: Demands | None, kernels: list[Symbol]
) -> None:
    """Add masks that inputs do not say, and what comes behind all else; then write."""
    sections, added = collected.sections, collected.added
    aliased = _count_aliases(state) if demands is not None and collected.masked else {}
    unknown = _without_masks(sections, collected.masked) | set(aliased)
    unsaid = _reach_unknown_masks(kernels, demands, sections, unknown) if demands else set()
    for function, section in sections.items():
        if function in unknown:
            count = aliased.get(function, 1)
            section.records += [raw_record(EIFMT_HVAL, EIATTR_SPARSE_MMA_MASK, _ANY_MASK)] * count
        elif function in unsaid:
            _open_mask(section.records)
        if added and function in added:
            section.records += [_renumber(function, r) for r in added[function]]
        if function in state.handles.kernels:
            codes_of_banks = (EIATTR_BINDLESS_TEXTURE_BANK, EIATTR_BINDLESS_SURFACE_BANK)
            section.records += [raw_record(EIFMT_BVAL, code, 0) for code in codes_of_banks]
        section.content = b"".join(section.records)


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
    """Functions that have more names, and how many, if masks are said at all (rule A3)."""
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


def _open_mask(records: list[RawRecord]) -> None:
    """Code of unknown mask may use all of it."""
    for at, record in enumerate(records):
        if record[1] == EIATTR_SPARSE_MMA_MASK:
            records[at] = raw_record(
                record[0], EIATTR_SPARSE_MMA_MASK, immediate(record) | _ANY_MASK
            )


def mercury_codes(state: LinkState) -> dict[str, list[set[int]]]:
    """Attribute codes of every function's Mercury records, by function name.

    Several files may have a function of one name; both halves have these in one order.

    Rule F6.
    """
    codes: dict[str, list[set[int]]] = {}
    for section in state.sections.made:
        if section.owner is not None and section.sh_type == SHT_CUDA_INFO:
            found = {r[1] for r in section.records}
            codes.setdefault(section.owner.name, []).append(found)
    return codes


def split_added(
    section: OutSection, function: Symbol, codes: dict[str, list[set[int]]] | None
) -> tuple[list[RawRecord], list[RawRecord]]:
    """The records that the Mercury half has too, and those that the finalizer added."""
    if codes is None or not codes.get(function.name):
        return list(section.records), []
    known = codes[function.name].pop(0) | _PROPAGATED
    kept = [r for r in section.records if r[1] in known]
    return kept, [r for r in section.records if r[1] not in known]


def _renumber(function: Symbol, record: RawRecord) -> RawRecord:
    """Give the parameter bank its symbol number of the output."""
    if record[1] != EIATTR_PARAM_CBANK or function.definition is None:
        return record
    obj = function.definition[0]
    place = obj.place(obj.symbols[checked(obj, word(record, 0))].shndx)
    if place is None or not place[0].has_symbol:
        return record
    return record[:4] + place[0].symbol_index.to_bytes(4, "little") + record[8:]


def external_names(obj: InputObject, record: RawRecord) -> list[Symbol]:
    """What of an EXTERNS record a link cannot settle: undefined functions, and kernels."""
    found = (obj.bound[checked(obj, word(record, i))] for i in range((len(record) - 4) // 4))
    return [s for s in found if s is not None and (not s.is_defined or s.is_entry)]
