"""Warns of functions of which the address is taken although no kernel calls them (rule M28)."""

from __future__ import annotations

from cubinspec_writer.linker.library.unified import entered_stubs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.graph import Graph
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import Reach, Unified

READS = (
    "graph.address_taken graph.calls graph.indirect object.called symbol.bind symbol.kind "
    "symbol.name symbol.other unified.stubs"
)
WRITES = ""
FREEZES = ""


def run(
    objects: list[InputObject],
    graph: Graph,
    reach: Reach,
    unified: Unified,
    diagnostics: Diagnostics,
) -> None:
    """Warn of each such function, in the order in which inputs name them."""
    functions = dict.fromkeys(f for obj in objects for f in obj.called.values())
    wanted = [f for f in functions if reach.is_wanted(f)]
    entered = entered_stubs(reach, unified)
    leaves, components = graph.components((*wanted, *entered))
    called = {*leaves, *(function for part in components for function in part)}
    for function in functions:
        if function in graph.address_taken and function not in called:
            diagnostics.warning(
                f"Function '{function.name}' has address taken but no calls to it found"
            )
