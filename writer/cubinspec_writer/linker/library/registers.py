"""Register counts climb from functions to kernels, as far as the limits of kernels allow.

Function by function in the order of code, to kernels in the reverse order (seen with patched
register counts: chains, two files, local functions), but not to kernels that are removed and stay
for another reason. A count that is larger than what the kernel has so far is taken over; it is an
error when it is larger than the kernel's limit (`.maxnreg`, `-maxrregcount`, or what thread counts
leave), of which one byte counts and 0 is none (rule M5).
"""

from __future__ import annotations

from cubinspec_generated.codes import SHF_EXECINSTR
from cubinspec_writer.linker.library.demands import FunctionFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec_writer.linker.graph import Graph
    from cubinspec_writer.linker.model import InputObject, Symbol
    from cubinspec_writer.linker.state import Attributes, Job, Reach, Sections, Unified


def code_order(sections: Sections) -> list[Symbol]:
    """Linked functions with code, in the order of their sections."""
    return [
        s.owner
        for s in sections.made
        if s.flags & SHF_EXECINSTR and s.owner is not None and s.owner.is_function
    ]


def climbed_registers(
    job: Job,
    objects: list[InputObject],
    sections: Sections,
    unified: Unified,
    attributes: Attributes,
    reach: Reach,
    tell: Callable[[int, Symbol, Symbol], None] | None = None,
) -> dict[Symbol, int]:
    """Registers of every linked function, those of kernels with what they call.

    Args:
        tell: called with a count, the function it comes from and the kernel that takes it over.
    """
    order = code_order(sections)
    registers = dict.fromkeys(order, 0) | FunctionFacts(objects, unified, attributes).registers
    if job.options.relocatable:
        return registers
    kernels = [f for f in reversed(order) if reach.is_wanted(f)]
    reached_by: dict[Symbol, list[Symbol]] = {}
    for kernel in kernels:
        for function in reach.graph.reachable(kernel):
            reached_by.setdefault(function, []).append(kernel)
    for function in order:
        if function.is_entry:
            continue
        for kernel in reached_by.get(function, ()):
            if registers[function] > registers[kernel]:
                registers[kernel] = registers[function]
                if tell is not None:
                    tell(registers[function], function, kernel)
    return registers


def register_limits(attributes: Attributes, graph: Graph) -> dict[Symbol, int]:
    """Kernels that may not have all registers and call something -> what they may have."""
    limits = attributes.register_limits
    return {kernel: limits[kernel] for kernel in limits if graph.edges(kernel)}


def limit_error(
    limits: dict[Symbol, int], count: int, function: Symbol, kernel: Symbol
) -> str | None:
    """What is wrong when a kernel takes a count over from a function."""
    limit = limits.get(kernel)
    if limit is None or count <= limit:
        return None
    return (
        f"entry function '{kernel.name}' with max regcount of {limit} calls function "
        f"'{function.name}' with regcount of {count}"
    )
