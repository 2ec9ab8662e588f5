"""Writes `.nv.info` and `.nv.info.F`.

Records are put in front of what is there, so the output has the inputs in reverse order and the
records of each in reverse order. What the whole program decides is written over: registers, stack
and barriers of kernels. All others are copied (rule B6). Symbol numbers are renumbered last.
"""

from __future__ import annotations

from _struct import Struct

from cubinspec.format.attributes import raw_record
from cubinspec_generated.codes import (
    EIATTR_CRS_STACK_SIZE,
    EIATTR_EXTERNS,
    EIATTR_FRAME_SIZE,
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_REGCOUNT,
    EIATTR_SAM_REGION_STACK_SIZE,
    EIFMT_SVAL,
    SHI_REGISTERS_MASK,
    SHI_REGISTERS_SHIFT,
)
from cubinspec_writer.linker.library.demands import (
    FUNCTION_VALUE,
    SYNCS,
    UNKNOWN_STACK,
    Collected,
    Demands,
    FunctionFacts,
    FunctionValues,
    external_record,
    replace_record,
    symbol_number,
    word,
    words,
)
from cubinspec_writer.linker.model import STUB_CODE
from cubinspec_writer.linker.passes.attributes.functions import (
    MOST_REGISTERS,
    add_masks,
    collect,
    external_names,
    finish_kernels,
    name_reserving,
    open_mask,
    reserving,
    takes_over,
    write_functions,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.graph import Graph
    from cubinspec_writer.linker.model import InputObject, OutSection, Symbol
    from cubinspec_writer.linker.state import (
        Attributes,
        Handles,
        Job,
        Reach,
        Sections,
        Symbols,
        Unified,
    )

READS = (
    "attributes.order graph.address_taken graph.calls graph.indirect handles.kernels "
    "mercury.content.attributes mercury.section.owner mercury.section.sh_type "
    "mercury.sections.made mercury.sections.unowned mercury.symbol.name object.bound "
    "object.placed section.has_symbol section.name section.owner section.symbol_index "
    "sections.by_type sections.fixed sections.unowned symbol.bind symbol.definition symbol.index "
    "symbol.kind symbol.live symbol.name symbol.other symbol.section symbols.functions "
    "unified.stubs"
)
WRITES = (
    "attributes.register_limits attributes.reserving attributes.stated content.attributes "
    "section.barriers section.emitted section.info_value"
)
FREEZES = (
    "attributes.register_limits attributes.reserving attributes.stated content.attributes "
    "section.barriers section.info_value"
)


def run(
    job: Job,
    objects: list[InputObject],
    diagnostics: Diagnostics,
    symbols: Symbols,
    sections: Sections,
    handles: Handles,
    unified: Unified,
    attributes: Attributes,
    graph: Graph,
    mercury_sections: Sections | None,
    reach: Reach,
) -> None:
    """Write the records of the program, then those of every function."""
    kernels = sorted(reach.kernels(), key=symbol_number)
    is_final = not job.options.relocatable
    takers = kernels if is_final else []
    # Kernels that stay only for want of others walk the graph even if there is one (rule L5).
    is_alone = len(kernels) == 1 and not reach.remaining
    collected = collect(job, sections, attributes, mercury_sections, reach, set(takers))
    facts = FunctionFacts(objects, unified, attributes)
    demands: Demands | None = None
    measured: list[Symbol] = []
    added: dict[Symbol, int] = {}
    if is_final:
        measured = _with_stacks(symbols, unified, kernels)
        demands = Demands(graph, facts, measured)
        _limit_registers(attributes, facts, kernels)
    said = {symbol for code, symbol, _ in attributes.stated if code == EIATTR_REGCOUNT}
    rows = _global_rows(objects, facts, demands, set(kernels) - said)
    recursive: set[Symbol] = set()
    if demands is not None:
        rows += _stack_rows(unified, mercury_sections, demands, measured, recursive)
        if recursive and job.options.stack_warnings:
            _warn(diagnostics, symbols, demands, recursive)
        if facts.stack_limits:
            _check_stacks(diagnostics, demands, facts.stack_limits, kernels)
        if job.family.mercury_half is None:
            _check_registers(job, diagnostics, facts, demands)
        if job.toolkit.raises_code_registers:
            _raise_registers_of_code(facts, demands, kernels)
        added = _add_sync_stacks(collected, facts, demands, kernels, recursive)
    unsaid = add_masks(symbols, sections, collected, demands)
    marked = reserving(collected) if not job.options.reserve_shared else []
    if demands is not None:
        if takes_over(collected):
            from cubinspec_writer.linker.passes.attributes.takeover import take_over

            parts = (job, objects, diagnostics, attributes, collected)
            take_over(*parts, demands, kernels, bool(unsaid), is_alone)
        finish_kernels(attributes, collected, facts, demands, kernels, is_alone)
        if is_alone and unsaid:
            _open_only_kernel(collected, kernels[0])
    if not job.options.reserve_shared:
        attributes.reserving += name_reserving(objects, collected, marked)
    stubs = None
    if unified.stubs:
        from cubinspec_writer.linker.passes.attributes.stubs import collect_stubs

        stubs = collect_stubs(
            diagnostics,
            sections,
            unified,
            attributes,
            collected,
            demands,
            is_alone=is_final and is_alone,
        )
        _speak(stubs.languages, rows, collected, added, measured)
    _write_info(sections.fixed[".nv.info"], rows)
    counts = any(obj.barriers for obj in objects)
    write_functions(job, handles, collected, demands, takers, unsaid, has_counts=counts)
    if stubs is not None:
        stubs.write(mercury_sections)


def _write_info(section: OutSection, rows: list[bytes]) -> None:
    """Fill the section of the program, which is left out where it is empty (rule K21)."""
    section.content = b"".join(rows)
    section.emitted = section.emitted and bool(section.content)


def _open_only_kernel(collected: Collected, kernel: Symbol) -> None:
    """The only kernel reaches code of which no input says a mask (rule A3)."""
    if kernel in collected.sections:
        open_mask(collected.sections[kernel].records)


def _add_sync_stacks(
    collected: Collected,
    facts: FunctionFacts,
    demands: Demands,
    kernels: list[Symbol],
    recursive: set[Symbol],
) -> dict[Symbol, int]:
    """Give kernels the stack of synchronisation of all that they reach (rule G3).

    Returns:
        those that had none, with the attribute that they got.
    """
    added = {}
    for kernel in kernels if recursive or demands.syncs else ():
        if kernel not in collected.sections:
            continue
        records = collected.sections[kernel].records
        if kernel in recursive:
            size = UNKNOWN_STACK
        else:
            size = (demands.syncs.get(kernel) or 0) & UNKNOWN_STACK
            if size == facts.syncs.get(kernel, 0):
                continue
        code = next((r[1] for r in records if r[1] in SYNCS), None)
        if code is None:
            code = added[kernel] = EIATTR_CRS_STACK_SIZE
        replace_record(records, code, raw_record(EIFMT_SVAL, code, 0, words(size)))
    return added


def _speak(
    languages: list[RawRecord],
    rows: list[bytes],
    collected: Collected,
    added: dict[Symbol, int],
    measured: list[Symbol],
) -> None:
    """Let the record that was added last have languages that stubs take over (rule X24).

    Args:
        added: kernels that got a stack of synchronisation, with its attribute.
        measured: kernels and stubs, whose stacks were told in turn.
    """
    from cubinspec_writer.linker.passes.attributes.takeover import with_words

    for language in languages:
        code = added.get(measured[-1])
        if code is None:
            rows[-1] = with_words(rows[-1], language)
        else:
            records = collected.sections[measured[-1]].records
            known = next(record for record in records if record[1] == code)
            replace_record(records, code, with_words(known, language))


def _global_rows(
    objects: list[InputObject], facts: FunctionFacts, demands: Demands | None, entries: set[Symbol]
) -> list[bytes]:
    """The records of the inputs' `.nv.info`, last input and last record first.

    Args:
        entries: kernels of which a record of registers has all that they need.
    """
    rows: list[bytes] = []
    open_entries = entries.copy()
    for obj in reversed(objects):
        if obj in facts.values:
            _tell_frames(facts.values[obj], obj.told_frames)
            rows.append(_values_of(facts.values[obj], demands, open_entries))
            continue
        for code, symbol, value, record in reversed(facts.rows[obj]):
            if symbol is not None:
                if not symbol.index or (demands is not None and _is_replaced(code, value)):
                    continue
                if code == EIATTR_FRAME_SIZE and obj.told_frames:
                    value = obj.told_frames.get(word(record, 0), value)
                    record = record[:8] + words(value)[: len(record) - 8] + record[12:]
                if code == EIATTR_REGCOUNT:
                    value = _registers_of(symbol, value, demands, open_entries)
                    record = record[:8] + words(value)[: len(record) - 8] + record[12:]
                record = record[:4] + words(symbol.index) + record[8:]
            elif code == EIATTR_EXTERNS and record[0] == EIFMT_SVAL:
                names = external_names(obj, record)
                if not names:
                    continue
                record = external_record(names)
            rows.append(record)
    return rows


def _is_replaced(code: int, value: int) -> bool:
    """Whether a record goes where the link says the stack of kernels itself (rule I14)."""
    is_unknown = code == EIATTR_MIN_STACK_SIZE and value == UNKNOWN_STACK
    return is_unknown or code == EIATTR_MAX_STACK_SIZE


def _registers_of(
    symbol: Symbol, value: int, demands: Demands | None, open_entries: set[Symbol]
) -> int:
    """What a record of registers says in the end: the last one of a kernel has all it needs.

    Args:
        open_entries: kernels of which no record was met; this one goes.
    """
    if demands is None or symbol not in open_entries:
        return value
    open_entries.discard(symbol)
    return max(demands.registers.get(symbol, 0), value)


def _raise_registers_of_code(facts: FunctionFacts, demands: Demands, kernels: list[Symbol]) -> None:
    """Write the registers that kernels take over into the headers of their code (rule K19)."""
    for kernel in kernels:
        needed = demands.registers.get(kernel, 0)
        if kernel.section is not None and needed > facts.registers.get(kernel, 0):
            number = kernel.section.info_value & ~SHI_REGISTERS_MASK
            kernel.section.info_value = number | needed << SHI_REGISTERS_SHIFT


def _check_registers(
    job: Job, diagnostics: Diagnostics, facts: FunctionFacts, demands: Demands
) -> None:
    """Refuse called functions that state 0 registers, or from sm_90 on none (rule G4).

    Below, the section of the code states them, too.
    """
    says_all = job.family.registers_in_sh_info
    for function in demands.stacks:
        registers = facts.registers.get(function, int(says_all))
        has_code = function.section is not None and function.section.owner is function
        if not registers and has_code and not function.is_entry:
            diagnostics.postpone("Internal error: no regcount?")


def _check_stacks(
    diagnostics: Diagnostics, demands: Demands, limits: dict[Symbol, int], kernels: list[Symbol]
) -> None:
    """Report kernels that need more stack than their input allows (rule G4)."""
    for kernel in kernels:
        needed, limit = demands.stacks[kernel], limits.get(kernel, 0)
        if limit and needed is not None and needed > limit:
            diagnostics.error(
                f"Function '{kernel.name}' uses {needed} bytes stack but limited to {limit}"
            )


def _stack_rows(
    unified: Unified,
    mercury_sections: Sections | None,
    demands: Demands,
    measured: list[Symbol],
    recursive: set[Symbol],
) -> list[bytes]:
    """The stack that every kernel needs.

    Args:
        measured: kernels and stubs.
        recursive: gets the kernels that reach a recursion.
    """
    rows: list[bytes] = []
    for kernel in measured:
        # The finalizer finds a function by its section; all stubs share one, so it finds the last
        # stub.
        is_stub = mercury_sections is not None and kernel in unified.stubs
        size = demands.stacks[next(reversed(unified.stubs)) if is_stub else kernel]
        if size is None:
            size = UNKNOWN_STACK
            recursive.add(kernel)
        least = min(size, UNKNOWN_STACK)
        row = FUNCTION_VALUE.pack(EIFMT_SVAL, EIATTR_MIN_STACK_SIZE, 8, kernel.index, least)
        rows.append(row)
        region = demands.region_below(kernel) if demands.regions else 0
        if region:
            code = EIATTR_SAM_REGION_STACK_SIZE
            rows.append(FUNCTION_VALUE.pack(EIFMT_SVAL, code, 8, kernel.index, region))
    return rows


def _with_stacks(symbols: Symbols, unified: Unified, kernels: list[Symbol]) -> list[Symbol]:
    """What the stack is told of: kernels, and stubs unless there is one kernel (rule U11).

    Without an index the stubs are in no table, and the link will fail for that (rule U17).
    """
    stubs = list(unified.stubs) or [
        f for f in symbols.functions if f.section and f.section.name.startswith(STUB_CODE)
    ]
    if not stubs or len(kernels) == 1:
        return kernels
    return sorted((*stubs, *kernels), key=symbol_number)


def _tell_frames(values: FunctionValues, told: dict[int, int]) -> None:
    """Write the sizes of frames that the finalizer tells (rule A7)."""
    for at, code in enumerate(values.codes) if told else ():
        if code == EIATTR_FRAME_SIZE:
            values.values[at] = told.get(values.numbers[at], values.values[at])


def _values_of(values: FunctionValues, demands: Demands | None, entries: set[Symbol]) -> bytes:
    """The global records of an input, last one first, if all are of a function and a number.

    Args:
        entries: kernels of which no record was met; those that are linked from this input go.
    """
    linked = values.linked
    if demands is not None:
        states_unknown = EIATTR_MIN_STACK_SIZE in values.codes and UNKNOWN_STACK in values.values
        if states_unknown or EIATTR_MAX_STACK_SIZE in values.codes:
            pairs = zip(values.codes, values.values, strict=True)
            values.keep([not _is_replaced(code, value) for code, value in pairs])
        _raise_registers(values, demands, entries)
    indices = [symbol.index if symbol is not None else 0 for symbol in linked]
    table = [0] * (3 * len(values.heads))
    table[::3] = reversed(values.heads)
    table[1::3] = [indices[number] for number in reversed(values.numbers)]
    table[2::3] = reversed(values.values)
    return Struct(f"<{len(table)}I").pack(*table)


def _limit_registers(attributes: Attributes, facts: FunctionFacts, kernels: list[Symbol]) -> None:
    """Let no kernel have more registers than the most, where a function has more (rule M5)."""
    if max(facts.registers.values(), default=0) > MOST_REGISTERS:
        for kernel in kernels:
            attributes.register_limits.setdefault(kernel, MOST_REGISTERS)


def _raise_registers(values: FunctionValues, demands: Demands, entries: set[Symbol]) -> None:
    """Let the last record of registers of a kernel say all that it needs."""
    linked, registers = values.linked, demands.registers
    own = {symbol for symbol in linked if symbol is not None and symbol in entries}
    entries -= own
    at = values.codes.rfind(EIATTR_REGCOUNT)
    while at >= 0:
        symbol = linked[values.numbers[at]]
        if symbol is not None and symbol in own:
            own.discard(symbol)
            values.values[at] = max(registers.get(symbol, 0), values.values[at])
        at = values.codes.rfind(EIATTR_REGCOUNT, 0, at)


def _warn(
    diagnostics: Diagnostics, symbols: Symbols, demands: Demands, kernels: set[Symbol]
) -> None:
    """Warn of kernels whose stack is unknown, in the order of registration.

    Once for every callee of unknown depth, however often that one meets recursion.

    Rule I8.
    """
    for kernel in symbols.functions:
        if kernel not in kernels:
            continue
        for _ in [c for c in demands.graph.edges(kernel) if demands.stacks[c] is None]:
            diagnostics.warning(
                f"Stack size for entry function '{kernel.name}' cannot be statically determined"
            )
