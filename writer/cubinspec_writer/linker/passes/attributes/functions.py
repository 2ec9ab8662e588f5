"""Attributes of functions: what becomes of the records of every function."""

from __future__ import annotations

from cubinspec.format.attributes import immediate, raw_record
from cubinspec.format.targets import WRITTEN
from cubinspec_generated.codes import (
    EIATTR_AT_ENTRY_FRAGMENTS,
    EIATTR_BINDLESS_SURFACE_BANK,
    EIATTR_BINDLESS_TEXTURE_BANK,
    EIATTR_CRS_STACK_SIZE,
    EIATTR_ERROR,
    EIATTR_EXPLICIT_CACHING,
    EIATTR_EXTERNS,
    EIATTR_FRAME_SIZE,
    EIATTR_GRAPHICS_GLOBAL_CBANK,
    EIATTR_GRID_ATTRIBUTES,
    EIATTR_LANGUAGE,
    EIATTR_LOAD_CACHE_REQUEST,
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MAXREG_COUNT,
    EIATTR_MERCURY_FINALIZER_OPTIONS,
    EIATTR_NUM_BARRIERS,
    EIATTR_PARAM_CBANK,
    EIATTR_REGCOUNT,
    EIATTR_RESERVED_SMEM_USED,
    EIATTR_SAM_REGION_STACK_SIZE,
    EIATTR_SPARSE_MMA_MASK,
    EIATTR_UCODE_SECTION_DATA,
    EIFMT_BVAL,
    EIFMT_HVAL,
    EIFMT_NVAL,
    EIFMT_SVAL,
    SHT_CUDA_INFO,
)
from cubinspec_writer.linker.library.copies import defined_here
from cubinspec_writer.linker.library.demands import (
    NAMING,
    PARAMETERS,
    SYNCS,
    TAKEN,
    TENSOR_MODES,
    Collected,
    Demands,
    FunctionFacts,
    external_record,
    is_asking,
    is_empty,
    renumbered,
    replace_record,
    symbol_number,
    word,
    words,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.model import InputObject, OutSection, Symbol
    from cubinspec_writer.linker.passes.attributes.shapes import Shapes
    from cubinspec_writer.linker.state import (
        Attributes,
        Handles,
        Job,
        Reach,
        Sections,
        Symbols,
    )

#: Records that a link itself adds or changes.
_PROPAGATED: Final = frozenset(
    (
        EIATTR_NUM_BARRIERS,
        EIATTR_ERROR,
        EIATTR_EXTERNS,
        EIATTR_CRS_STACK_SIZE,
        EIATTR_AT_ENTRY_FRAGMENTS,
        EIATTR_LOAD_CACHE_REQUEST,
        EIATTR_MAX_STACK_SIZE,
    )
)
#: Attributes that the finalizer does not pass on (rule G6).
_MERCURY_ONLY: Final = frozenset(
    (
        EIATTR_GRAPHICS_GLOBAL_CBANK,
        EIATTR_MERCURY_FINALIZER_OPTIONS,
        EIATTR_UCODE_SECTION_DATA,
    )
)

#: SPARSE_MMA_MASK of code that does not say it.
_ANY_MASK: Final = 0x8000

_NO_SYMBOL: Final = bytes(4)
#: From so many functions on it is worth loading what handles those at once that are alike.
_MANY: Final = 64
#: Bytes of a record without its payload, and with one of two words.
_HEAD: Final = 4
_PAIR: Final = 12

#: Records that name a symbol or state a stack.
_STATING = NAMING | SYNCS
#: What the records of a function are looked at for; all others only change places.
_DECIDED: Final = _STATING | TAKEN | {EIATTR_ERROR, EIATTR_MAXREG_COUNT}
#: Records that count for the program wherever they stand.
_OF_PROGRAM: Final = frozenset(
    (
        EIATTR_FRAME_SIZE,
        EIATTR_LOAD_CACHE_REQUEST,
        EIATTR_MAX_STACK_SIZE,
        EIATTR_REGCOUNT,
        EIATTR_SAM_REGION_STACK_SIZE,
    )
)

#: The largest MAXREG_COUNT: nobody may have more registers.
MOST_REGISTERS: Final = 0xFF
#: MAXREG_COUNT of a kernel that may have all of them.
_NO_LIMIT: Final[tuple[int, ...]] = (0, MOST_REGISTERS)


def takes_over(collected: Collected) -> bool:
    """Whether kernels take any records over; if not, no external name is left to be defined."""
    return any(collected.externs.values()) or any(
        r[1] != EIATTR_EXTERNS for rows in collected.asked.values() for r in rows
    )


def add_masks(
    symbols: Symbols, sections: Sections, collected: Collected, demands: Demands | None
) -> set[Symbol]:
    """Give functions without SPARSE_MMA_MASK one that is open, when others have that record.

    Returns:
        These functions.
    """
    if demands is None or not collected.masked:
        return set()
    aliased = _count_aliases(symbols, sections)
    unsaid = {f for f in collected.sections if f not in collected.masked or f in aliased}
    for function in unsaid:
        mask = raw_record(EIFMT_HVAL, EIATTR_SPARSE_MMA_MASK, _ANY_MASK)
        count = aliased.get(function, 0) + (function not in collected.masked)  # rule A3
        collected.sections[function].records += [mask] * count
    return unsaid


def finish_kernels(
    attributes: Attributes,
    collected: Collected,
    facts: FunctionFacts,
    demands: Demands,
    kernels: list[Symbol],
    is_alone: bool,
) -> None:
    """Write those records of kernels that `takeover` does not handle.

    Args:
        is_alone: there is one kernel, which is wanted.
    """
    infos = collected.sections
    if not takes_over(collected):
        for kernel in kernels:
            if kernel in collected.externs and kernel in infos:
                replace_record(infos[kernel].records, EIATTR_EXTERNS, None)
    if facts.cached:
        _cache_modes(collected, facts, demands, kernels, is_alone)
    if any(code == EIATTR_REGCOUNT for code, _, _ in attributes.stated):
        _write_registers(collected, demands, kernels)
    if is_alone and kernels[0] in infos:
        _join_barriers(infos[kernels[0]].records)


def reserving(collected: Collected) -> list[Symbol]:
    """Functions whose attributes say that they use reserved shared memory."""
    return [function for function, s in collected.sections.items() if _reserves(s.records)]


def _reserves(records: Iterable[RawRecord]) -> bool:
    return any(record[1] == EIATTR_RESERVED_SMEM_USED for record in records)


def name_reserving(
    objects: list[InputObject], collected: Collected, marked: list[Symbol]
) -> list[str]:
    """The names of functions that use reserved shared memory, in the order of nvlink's messages.

    Removed ones have no name any more (rule S20).

    Args:
        marked: functions whose own attributes say it; others took it over.
    """
    taken = [function for function in reserving(collected) if function not in marked]
    names = [kernel.name for kernel in sorted(taken, key=symbol_number)]
    for obj in objects:
        removed = {
            row.shndx
            for row in obj.functions
            if (symbol := obj.bound[row.index]) is not None
            and not symbol.live
            and defined_here(obj, row.index)
        }
        for section in obj.of_type(SHT_CUDA_INFO):
            place = obj.placed[section.index]
            owner = place[0].owner if place is not None else None
            if owner is not None and owner in marked and _input_of(owner) is obj:
                names.append(owner.name)
            elif section.info in removed and _reserves(obj.records(section.index)):
                names.append("(null)")
    return names


def _cache_modes(
    collected: Collected,
    facts: FunctionFacts,
    demands: Demands,
    kernels: list[Symbol],
    is_alone: bool,
) -> None:
    """Mark kernels that reach code which asks for a cache mode; an only kernel is always marked.

    Rule G3.
    """
    for kernel in kernels:
        section = collected.sections.get(kernel)
        if section is None:
            continue
        if is_alone or facts.cached.intersection(demands.graph.reachable(kernel)):
            section.records.append(raw_record(EIFMT_NVAL, EIATTR_EXPLICIT_CACHING, 0))


def _write_registers(collected: Collected, demands: Demands, kernels: list[Symbol]) -> None:
    """Raise the register counts of kernels in records that stand among those of a function."""
    numbers = {kernel.index: kernel for kernel in kernels}
    for section in collected.sections.values():
        for at, record in enumerate(section.records):
            if record[1] != EIATTR_REGCOUNT or record[0] != EIFMT_SVAL or len(record) < _PAIR:
                continue
            kernel = numbers.get(word(record, 0))
            if kernel is not None:
                value = max(demands.registers.get(kernel, 0), word(record, 1))
                section.records[at] = record[:8] + words(value) + record[12:]


def _join_barriers(records: list[RawRecord]) -> None:
    """Of several counts of barriers of the only kernel the first one gets the largest (rule G3)."""
    places = [at for at, record in enumerate(records) if record[1] == EIATTR_NUM_BARRIERS]
    if len(places) > 1 and records[places[0]][0] != EIFMT_SVAL:
        first = records[places[0]]
        largest = max(records[at][2] for at in places) | first[3] << 8
        records[places[0]] = raw_record(first[0], EIATTR_NUM_BARRIERS, largest)


def collect(
    job: Job,
    sections: Sections,
    attributes: Attributes,
    mercury_sections: Sections | None,
    reach: Reach,
    kernels: set[Symbol],
) -> Collected:
    """Look at the records of every function, and put them into the order of the output.

    Args:
        kernels: those that take records over.
    """
    found = sections.by_type.get(SHT_CUDA_INFO, ())
    collected = Collected(_with_attributes(found))
    codes = mercury_codes(mercury_sections) if mercury_sections is not None else None
    shapes: Shapes | None = None
    if codes is None and len(found) > _MANY:
        from cubinspec_writer.linker.passes.attributes import shapes as alike  # large links only

        shapes = alike.Shapes(attributes, collected, _DECIDED, _OF_PROGRAM)
    #: Streams of device functions that nothing is decided in, as many have the same: the stream of
    #: the output, and whether a record is a mask.
    settled: dict[bytes, tuple[bytes, bool]] = {}
    #: Records of streams, many of which are equal; nobody changes them.
    known: dict[bytes, list[RawRecord]] = {}
    wanted_kernels = set(reach.kernels())
    for function, section in collected.sections.items():
        is_device = function not in wanted_kernels
        stream = bytes(section.content) if section.is_joined else b""
        if is_device and stream in settled:
            same, has_mask = settled[stream]
            section.hold(same)
            if has_mask:
                collected.masked.add(function)
            continue
        if not is_device and stream and shapes is not None:
            found_alike = shapes.done(_input_of(function), function, stream)
            if found_alike is not None:
                section.hold(found_alike)
                continue
        whole = section.records = known.get(stream) or section.records
        if stream:
            known[stream] = whole
        if codes is None:
            records = whole[::-1]
        else:
            records, collected.added[function] = split_added(section, function, codes)
            records.reverse()
        done, is_settled = _decide(
            job, attributes, collected, function, records, is_device, kernels
        )
        if stream and is_device and is_settled and codes is None:
            settled[stream] = b"".join(done), function in collected.masked
        elif stream and not is_device and shapes is not None:
            shapes.learn(function, stream, whole, len(done))
        section.records = done
        if function in collected.asked:
            collected.asked[function].reverse()  # as the input has them
    return collected


def _with_attributes(sections: Iterable[OutSection]) -> dict[Symbol, OutSection]:
    """The sections of functions that have attributes; of several the last one is written."""
    found: dict[Symbol, OutSection] = {}
    for section in sections:
        function = section.owner
        if function is None:
            continue
        unwritten: OutSection | None = section
        if _has_attributes(section):
            unwritten, found[function] = found.get(function), section
        if unwritten is not None:
            unwritten.records, unwritten.content = unwritten.records, b""
    return found


def _has_attributes(section: OutSection) -> bool:
    content = section.content
    # What begins with a format has a record, be it cut off.
    begins = section.is_joined and len(content) >= _HEAD and content[0] > 0
    return begins or bool(section.records)


def _is_told(job: Job, function: Symbol, code: int) -> bool:
    """Whether kernels take over an attribute of a device function."""
    if code == EIATTR_GRID_ATTRIBUTES:
        return job.toolkit.joins_grid_attributes  # rule K23
    if code == EIATTR_LANGUAGE:
        return job.toolkit.joins_languages  # rule K34
    return code not in TENSOR_MODES or _input_of(function).toolkit >= WRITTEN.number


def _decide(
    job: Job,
    attributes: Attributes,
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
        if code not in _DECIDED or (code in PARAMETERS and record[4:8] == _NO_SYMBOL):
            if len(record) > _HEAD or record[0] != EIFMT_SVAL:
                done.append(record)
            continue
        if code in _STATING:
            is_settled = False
            kept = _stated(job, attributes, function, record)
            if kept is not None:
                done.append(kept)
            continue
        is_settled = is_settled and code == EIATTR_SPARSE_MMA_MASK and not is_asking(record)
        if code == EIATTR_SPARSE_MMA_MASK:
            collected.masked.add(function)
        elif code == EIATTR_MAXREG_COUNT:
            limit = immediate(record) & 0xFF
            if limit not in _NO_LIMIT and function.is_entry:
                attributes.register_limits[function] = limit
        elif code == EIATTR_EXTERNS and is_asking(record):
            names = external_names(_input_of(function), record)
            known = collected.externs.get(function)
            if known is not None:
                if not names:
                    continue
                done = [r for r in done if r[1] != EIATTR_EXTERNS or r[0] != EIFMT_SVAL]
                names = known + names
            collected.externs[function] = names
            record = external_record(names)
            if not names and function not in kernels and not is_device:
                continue
        if is_device and code in TAKEN:
            named = code == EIATTR_EXTERNS and function in collected.externs
            if (is_asking(record) and _is_told(job, function, code)) or named:
                # Names that are settled by now still have their turn (rule W6).
                collected.asked.setdefault(function, []).append(record)
            if code == EIATTR_AT_ENTRY_FRAGMENTS and kernels:
                continue  # needs of device functions are the kernels' (rule I10)
            if code == EIATTR_EXTERNS and not collected.externs.get(function, True):
                continue
        if code == EIATTR_EXTERNS and function in collected.externs:
            done.append(record)  # a place, even if nothing stands there so far
        elif code != EIATTR_ERROR and not is_empty(record):
            done.append(record)
    return done, is_settled


def _stated(
    job: Job, attributes: Attributes, function: Symbol, record: RawRecord
) -> RawRecord | None:
    """A record that names a symbol, or a stack of synchronisation; what it states is kept.

    Rules G1, G2, G5.
    """
    code = record[1]
    if record[0] != EIFMT_SVAL:
        return record
    if len(record) == _HEAD:
        return None  # nvlink does not write what is empty
    if code in SYNCS:
        attributes.stated.append((code, function, word(record, 0)))
        return record
    obj = _input_of(function)
    if code in _OF_PROGRAM:
        number = word(record, 0)
        symbol = obj.bound[number] if number < len(obj.symbols) else None
        if symbol is not None:
            attributes.stated.append((code, symbol, word(record, 1)))
        if code == EIATTR_LOAD_CACHE_REQUEST:
            return None
        if code == EIATTR_MAX_STACK_SIZE and not job.options.relocatable:
            return None
    return renumbered(obj, record)


def write_functions(
    job: Job,
    handles: Handles,
    collected: Collected,
    demands: Demands | None,
    kernels: list[Symbol],
    unsaid: set[Symbol],
    *,
    has_counts: bool,
) -> None:
    """Open masks of kernels, and add what comes behind all else; then write.

    Args:
        demands: None with `-r`, where no kernel takes anything over.
        kernels: those that take records over.
        unsaid: functions of which no input says a mask.
        has_counts: flags of some code tell numbers of barriers.
    """
    infos, added = collected.sections, collected.added
    takers = set(kernels)
    opened = _reach_unknown_masks(kernels, demands, infos, unsaid) if demands else set()
    for function, section in infos.items():
        if function in opened and function not in unsaid:
            open_mask(section.records)
        if added and function in added:
            section.records += [_renumber(function, r) for r in added[function]]
        if function in handles.kernels:
            codes_of_banks = (EIATTR_BINDLESS_TEXTURE_BANK, EIATTR_BINDLESS_SURFACE_BANK)
            section.records += [raw_record(EIFMT_BVAL, code, 0) for code in codes_of_banks]
        if has_counts:
            _add_barriers(job, function, section, demands if function in takers else None)
        section.join()


def _add_barriers(job: Job, function: Symbol, info: OutSection, demands: Demands | None) -> None:
    """Say how many barriers code of older toolkits needs, which its flags tell (rule O1).

    Args:
        demands: what kernels need; None for all else, of which its own number is told.
    """
    below = demands.graph.reachable(function) if demands else [function]
    count = max(_counted(callee) for callee in below)
    code = function.section
    if not count or code is None:
        return
    if job.options.relocatable or not job.toolkit.notes:
        code.barriers = count
        return
    known = next((r for r in info.records if r[1] == EIATTR_NUM_BARRIERS), None)
    own = _counted(function)
    if known is not None and own:  # taken over, so nvlink looks at its flags no more
        code.barriers = own
        count = max((_counted(callee) for callee in below if callee is not function), default=0)
    record = raw_record(EIFMT_BVAL, EIATTR_NUM_BARRIERS, max(count, known[2] if known else 0))
    if known is None:
        info.records.append(record)
    else:
        info.records[info.records.index(known)] = record


def _counted(function: Symbol) -> int:
    """The number of barriers in the flags of a function's code, as its input has it."""
    if function.definition is None:
        return 0
    obj, row = function.definition
    return obj.barriers.get(row.shndx, 0)


def _input_of(function: Symbol) -> InputObject:
    assert function.definition is not None
    return function.definition[0]


def _count_aliases(symbols: Symbols, sections: Sections) -> dict[Symbol, int]:
    """Functions that have more names, and how many, if masks are said at all (rule A3)."""
    names = symbols.aliases()
    infos = sections.by_type.get(SHT_CUDA_INFO, ()) if names else ()
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


def open_mask(records: list[RawRecord]) -> None:
    """Code of unknown mask may use all of it."""
    for at, record in enumerate(records):
        if record[1] == EIATTR_SPARSE_MMA_MASK:
            records[at] = raw_record(
                record[0], EIATTR_SPARSE_MMA_MASK, immediate(record) | _ANY_MASK
            )


def mercury_codes(sections: Sections) -> dict[str, list[set[int]]]:
    """Attribute codes of every function's Mercury records, by function name.

    Several files may have a function of one name; both halves have these in one order.

    Rule F6.
    """
    codes: dict[str, list[set[int]]] = {}
    #: Codes of streams, many of which are equal.
    known: dict[bytes, set[int]] = {}
    for section in sections.made:
        if section.owner is not None and section.sh_type == SHT_CUDA_INFO:
            stream = bytes(section.content)
            found = known.get(stream)
            if found is None:
                found = known[stream] = {r[1] for r in section.records}
            codes.setdefault(section.owner.name, []).append(found)
    return codes


def split_added(
    section: OutSection, function: Symbol, codes: dict[str, list[set[int]]] | None
) -> tuple[list[RawRecord], list[RawRecord]]:
    """The records that the Mercury half has too, and those that the finalizer added."""
    if codes is None or not codes.get(function.name):
        return list(section.records), []
    known = codes[function.name].pop(0) | _PROPAGATED
    found = [r for r in section.records if r[1] not in _MERCURY_ONLY]
    return (
        [r for r in found if r[1] in known or is_empty(r)],
        [r for r in found if r[1] not in known and not is_empty(r)],
    )


def _renumber(function: Symbol, record: RawRecord) -> RawRecord:
    """Give the parameter bank its symbol number of the output."""
    if record[1] != EIATTR_PARAM_CBANK or function.definition is None:
        return record
    return renumbered(function.definition[0], record) or record


def external_names(obj: InputObject, record: RawRecord) -> list[Symbol]:
    """What of an EXTERNS record a link cannot settle: undefined functions, and kernels."""
    bound = obj.bound
    numbers = (word(record, i) for i in range((len(record) - _HEAD) // 4))
    found = (bound[number] for number in numbers if number < len(bound))
    return [s for s in found if s is not None and s.index and (not s.is_defined or s.is_entry)]
