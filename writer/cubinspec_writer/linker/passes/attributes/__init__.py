"""Writes `.nv.info` and `.nv.info.F`.

Records are put in front of what is there, so the output has the inputs in reverse order and the
records of each in reverse order. What the whole program decides is written over: registers, stack
and barriers of kernels. All others are copied (rule B6). Symbol numbers are renumbered last.
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_REGCOUNT,
    EIFMT_SVAL,
)
from cubinspec_generated.columns import SYMBOL_FIELDS
from cubinspec_writer.linker.library.demands import (
    FUNCTION_VALUE,
    Demands,
    FunctionFacts,
    renumber_fields,
    symbol_number,
)
from cubinspec_writer.linker.passes.attributes.functions import write_functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import Symbol
    from cubinspec_writer.linker.state import LinkState

_UNKNOWN_STACK = 0xFFFFFFFF

READS = (
    "attributes.order graph.address_taken graph.calls graph.indirect handles.kernels object.bound "
    "object.placed section.has_symbol section.owner section.symbol_index sections.by_type "
    "sections.fixed sections.unowned symbol.bind symbol.definition symbol.index symbol.kind "
    "symbol.live symbol.name symbol.other symbol.section symbols.functions twin.section.owner "
    "twin.section.records twin.section.sh_type twin.sections.made twin.sections.unowned "
    "twin.symbol.name unified.stubs"
)
WRITES = "attributes.register_limits section.content section.emitted section.records"
FREEZES = "attributes.register_limits section.records"


def run(state: LinkState) -> None:
    """Write the records of the program, then those of every function."""
    kernels = sorted(state.linked_kernels(), key=symbol_number)
    facts = FunctionFacts(state)
    demands: Demands | None = None
    if not state.options.relocatable:
        demands = Demands(state.graph, facts, _with_stacks(state, kernels))
    rows = _global_rows(state, facts, demands, set(kernels))
    recursive: set[Symbol] = set()
    if demands is not None:
        rows += _stack_rows(state, demands, kernels, recursive)
        if recursive and state.options.stack_warnings:
            _warn(state, demands, recursive)
    section = state.sections.fixed[".nv.info"]
    section.content = b"".join(rows)
    section.emitted = section.emitted and bool(rows)
    write_functions(state, demands, [] if demands is None else kernels, recursive)


def _global_rows(
    state: LinkState, facts: FunctionFacts, demands: Demands | None, entries: set[Symbol]
) -> list[bytes]:
    """The records of the inputs' `.nv.info`, last input and last record first."""
    rows: list[bytes] = []
    pack = FUNCTION_VALUE.pack
    for obj in reversed(state.objects):
        if obj in facts.values:
            rows += _values_of(*facts.values[obj], demands, entries)
            continue
        for code, symbol, value, rest in reversed(facts.rows[obj]):
            if symbol is None:
                if rest[0] == EIFMT_SVAL and code in SYMBOL_FIELDS:
                    rest = renumber_fields(obj, rest)
                rows.append(rest)
                continue
            if demands is not None:
                if code == EIATTR_MAX_STACK_SIZE:
                    continue
                if code == EIATTR_REGCOUNT and symbol in entries:
                    value = max(demands.registers.get(symbol, 0), value)
            rows.append(pack(EIFMT_SVAL, code, 8 + len(rest), symbol.index, value))
            if rest:
                rows.append(rest)
    return rows


def _stack_rows(
    state: LinkState, demands: Demands, kernels: list[Symbol], recursive: set[Symbol]
) -> list[bytes]:
    """The stack that every kernel needs.

    Args:
        recursive: gets the kernels that reach a recursion.
    """
    rows: list[bytes] = []
    for kernel in _with_stacks(state, kernels):
        # The finalizer knows code by its section, and of the stubs it knows the last one.
        is_stub = state.twin is not None and kernel in state.unified.stubs
        size = demands.stacks[next(reversed(state.unified.stubs)) if is_stub else kernel]
        if size is None:
            size = _UNKNOWN_STACK
            recursive.add(kernel)
        least = min(size, _UNKNOWN_STACK)
        row = FUNCTION_VALUE.pack(EIFMT_SVAL, EIATTR_MIN_STACK_SIZE, 8, kernel.index, least)
        rows.append(row)
    return rows


def _with_stacks(state: LinkState, kernels: list[Symbol]) -> list[Symbol]:
    """What the stack is told of: kernels, and stubs unless there is one kernel (rule U11)."""
    if not state.unified.stubs or len(kernels) == 1:
        return kernels
    return sorted((*state.unified.stubs, *kernels), key=symbol_number)


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

    Rule I8.
    """
    for kernel in state.symbols.functions:
        if kernel not in kernels:
            continue
        for _ in [c for c in demands.graph.edges(kernel) if demands.stacks[c] is None]:
            state.diagnostics.warning(
                f"Stack size for entry function '{kernel.name}' cannot be statically determined"
            )
