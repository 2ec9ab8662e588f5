"""Reports kernels that need more registers than they may have."""

from __future__ import annotations

from cubinspec_writer.linker.library.registers import (
    climbed_registers,
    limit_error,
    register_limits,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.model import InputObject, Symbol
    from cubinspec_writer.linker.state import Attributes, Job, Reach, Sections, Unified

READS = (
    "attributes.register_limits attributes.stated graph.calls graph.indirect object.bound "
    "section.flags section.owner sections.made symbol.bind symbol.definition symbol.kind "
    "symbol.live symbol.name symbol.other unified.stubs"
)
WRITES = ""
FREEZES = ""


def run(
    job: Job,
    objects: list[InputObject],
    diagnostics: Diagnostics,
    sections: Sections,
    unified: Unified,
    attributes: Attributes,
    reach: Reach,
) -> None:
    """Report an error for every count that a kernel's limit forbids (rule M5)."""
    limits = register_limits(attributes, reach.graph)
    if not limits or job.options.relocatable:
        return

    def tell(count: int, function: Symbol, kernel: Symbol) -> None:
        text = limit_error(limits, count, function, kernel)
        if text is not None:
            diagnostics.error(text)

    climbed_registers(job, objects, sections, unified, attributes, reach, tell)
