"""Resources of kernels (`-v`) and the call graph (`--dump-callgraph`), in nvlink's words."""

from __future__ import annotations

from cubinspec.format.attributes import immediate, split_records
from cubinspec.format.sections import CONSTANT_BANK_TYPES
from cubinspec.report.names import readable
from cubinspec_generated.codes import (
    EIATTR_FRAME_SIZE,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_NUM_BARRIERS,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_SHARED,
    STT_CUDA_SAMPLER,
    STT_CUDA_SURFACE,
    STT_CUDA_TEXTURE,
)
from cubinspec_writer.linker.graph import Graph
from cubinspec_writer.linker.library.copies import add_edges, merged_functions
from cubinspec_writer.linker.library.demands import FunctionFacts, word
from cubinspec_writer.linker.library.registers import (
    climbed_registers,
    code_order,
    limit_error,
    register_limits,
)
from cubinspec_writer.linker.library.unified import entered_stubs
from cubinspec_writer.linker.reports.cxxnames import cxx_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec_writer.linker.model import OutSection, Symbol
    from cubinspec_writer.linker.state import LinkState

_HANDLES = (
    (STT_CUDA_TEXTURE, "textures"),
    (STT_CUDA_SURFACE, "surfaces"),
    (STT_CUDA_SAMPLER, "samplers"),
)
#: Stack size of a kernel that reaches a recursion.
_UNKNOWN = 0xFFFFFFFF
_LEGEND = (
    "# A: s -> B // s (number A) potentially calls B",
    "# s [N]     // s uses N registers",
    "# ^s        // s is entry point",
    "# &s        // s has address taken",
)


def resource_lines(half: LinkState) -> Iterator[str]:
    """The lines of `-v`: memory of the program, then two per kernel, the last kernel first."""
    owned: dict[Symbol, list[OutSection]] = {}
    totals = [f"{_global_bytes(half)} bytes gmem"]
    # Constant banks have other names in the Mercury half, and nvlink counts none of them.
    counts_banks = not half.job.family.keeps_symbols
    for section in half.sections.made:
        if not section.emitted:
            continue
        if section.owner is not None:
            owned.setdefault(section.owner, []).append(section)
        elif section.sh_type in CONSTANT_BANK_TYPES and section.size and counts_banks:
            totals.append(f"{section.size} bytes {_bank(section)}")
    yield ", ".join(totals)
    stacks = _stacks(half)
    registers = _climbed(half)
    for kernel in reversed(code_order(half.sections)):
        if kernel.is_entry:
            used = [
                f"used {registers[kernel]} registers",
                f"used {_barriers(owned.get(kernel, []))} barriers",
                f"{stacks.get(kernel.index, 0)} stack",
                f"{_shared_bytes(half, owned.get(kernel, []))} bytes smem",
            ]
            banks = [s for s in owned.get(kernel, []) if s.sh_type in CONSTANT_BANK_TYPES]
            banks = [s for s in banks if half.sections.find(s.name, kernel) is s]  # rule W18
            banks.sort(key=lambda s: s.sh_type)
            used += [f"{s.size} bytes {_bank(s)}" for s in banks if counts_banks]
            used += ["0 bytes lmem", *_handle_counts(half, owned.get(kernel, []))]
            yield f"Function properties for '{kernel.name}':"
            yield ", ".join(used)


def _climbed(
    half: LinkState, tell: Callable[[int, Symbol, Symbol], None] | None = None
) -> dict[Symbol, int]:
    return climbed_registers(
        half.job, half.objects, half.sections, half.unified, half.attributes, half.reach, tell
    )


def _global_bytes(half: LinkState) -> int:
    kinds = (SHT_CUDA_GLOBAL, SHT_CUDA_GLOBAL_INIT)
    return sum(s.size for s in half.sections.made if s.sh_type in kinds and s.emitted)


def _bank(section: OutSection) -> str:
    return f"cmem[{section.sh_type - SHT_CUDA_CONSTANT_B0}]"


def _shared_bytes(half: LinkState, sections: list[OutSection]) -> int:
    """Shared memory of a kernel; in the Mercury half without what the finalizer reserves."""
    counts_reserved = not half.job.family.keeps_symbols
    return sum(
        s.nobits_size + (s.reserved if counts_reserved else 0)
        for s in sections
        if s.sh_type == SHT_CUDA_SHARED
    )


def _barriers(sections: list[OutSection]) -> int:
    found = [
        immediate(r) & 0xFF for s in sections for r in s.records if r[1] == EIATTR_NUM_BARRIERS
    ]
    return max(found, default=0)


def _handle_counts(half: LinkState, sections: list[OutSection]) -> Iterator[str]:
    """Texture, sampler and surface references in a kernel's parameter bank; Mercury has none."""
    rows = [
        r.symbol.kind
        for s in sections
        if s.sh_type == SHT_CUDA_CONSTANT_B0 and not half.job.family.keeps_symbols
        for is_rela in (False, True)
        if (relocs := half.relocations.find(s, is_rela)) is not None
        for r in relocs.relocs
    ]
    for kind, name in _HANDLES:
        if kind in rows:
            yield f"{rows.count(kind)} {name}"


def _stacks(half: LinkState) -> dict[int, int]:
    """Symbol number -> its stack size; its frame when none is told, or it is unknown (rule M29)."""
    if half.job.options.relocatable:
        return {}
    records = split_records(bytes(half.sections.fixed[".nv.info"].content))
    found = {word(r, 0): word(r, 1) for r in records if r[1] == EIATTR_FRAME_SIZE}
    least = {word(r, 0): word(r, 1) for r in records if r[1] == EIATTR_MIN_STACK_SIZE}
    return found | {number: size for number, size in least.items() if size != _UNKNOWN}


def plain_dot(half: LinkState) -> str:
    """The text of the file that `-dot` names."""
    return "\n".join(dot_lines(half)) + "\n"


def dot_lines(half: LinkState) -> Iterator[str]:
    """The lines of `-dot`: a line for every call (rule M15)."""
    yield "digraph callgraph {"
    graph = half.graph
    is_final = not half.job.options.relocatable
    for function in all_functions(half):
        callees = graph.edges(function) if is_final else graph.calls.get(function, [])
        for callee in reversed(callees):
            yield f"{function.name} -> {callee.name};"
    yield "}"


def all_functions(half: LinkState) -> dict[Symbol, int]:
    """Every function that an input names, linked or not -> its number, in that order from 1."""
    functions: dict[Symbol, None] = {}
    for obj in half.objects:
        for row in merged_functions(obj):
            symbol = obj.bound[row.index]
            if symbol is not None:
                functions.setdefault(symbol)
    return {function: number for number, function in enumerate(functions, 1)}


def callgraph_lines(half: LinkState, *, demangle: bool) -> Iterator[tuple[str, str]]:
    """The lines of `--dump-callgraph`, as (level, text); errors about registers are among them.

    Rule M9.
    """
    if not half.objects:
        yield "text", "No relocatable objects found. Did not generate callgraph."
        return
    name = _demangled if demangle else _mangled
    graph, listed = half.graph, _with_unlinked(half)
    entered = frozenset(entered_stubs(half.reach, half.unified))
    registers = FunctionFacts(half.objects, half.unified, half.attributes).registers
    numbers = all_functions(half)
    yield "text", f"callgraph for {half.job.options.arch.rstrip('af')}:"
    yield from (("text", line) for line in _LEGEND)
    for function, number in numbers.items():
        if not function.live:
            yield "text", f"{number}: "
            continue
        marks = "^" if half.reach.is_wanted(function) or function in entered else ""
        marks += "&" if function in graph.address_taken else ""
        used = f" [{registers[function]}]" if function in registers else ""
        callees = "".join(f" {numbers[c]}" for c in reversed(listed.edges(function)))
        yield "text", f"{number}: {marks}{name(function.name)}{used} ->{callees}"
    told: list[tuple[str, str]] = []
    limits = register_limits(half.attributes, half.graph)

    def tell(count: int, function: Symbol, kernel: Symbol) -> None:
        error = limit_error(limits, count, function, kernel)
        if error is not None:
            told.append(("error", error))
        to = f"{name(function.name)} propagated to entry {name(kernel.name)}"
        told.append(("text", f"regcount {count} for {to}"))

    _climbed(half, tell)
    yield from told


def _with_unlinked(half: LinkState) -> Graph:
    """The call graph with the calls of what is not linked (rule M23)."""
    found = Graph()
    found.address_taken, found.indirect = half.graph.address_taken, half.graph.indirect
    for obj in half.objects:
        callers = {index: symbol for index, symbol in obj.called.items() if symbol.live}
        add_edges(half.job, found.calls, obj, obj.callgraph.calls, callers, obj.called)
    return found


def _mangled(name: str) -> str:
    return name


def _demangled(name: str) -> str:
    """A C++ name as nvlink writes it; if that fails, as LLVM's demangler does."""
    return cxx_name(name) or readable(name)
