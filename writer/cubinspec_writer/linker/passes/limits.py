"""Reports kernels that need more registers than they may have."""

from __future__ import annotations

from cubinspec_writer.linker.library.registers import (
    climbed_registers,
    limit_error,
    register_limits,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import Symbol
    from cubinspec_writer.linker.state import LinkState

READS = (
    "attributes.register_limits graph.calls graph.indirect object.bound section.flags "
    "section.owner sections.made symbol.definition symbol.kind symbol.live symbol.name "
    "symbol.other unified.stubs"
)
WRITES = ""
FREEZES = ""


def run(state: LinkState) -> None:
    """Report an error for every count that a kernel's limit forbids (rule M5)."""
    limits = register_limits(state)
    if not limits or state.options.relocatable:
        return

    def tell(count: int, function: Symbol, kernel: Symbol) -> None:
        text = limit_error(limits, count, function, kernel)
        if text is not None:
            state.diagnostics.error(text)

    climbed_registers(state, tell)
