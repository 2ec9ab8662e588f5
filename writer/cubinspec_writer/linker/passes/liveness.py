"""Decides which functions are in the output.

A device function stays when a kernel reaches it over call-graph edges, matching indirect calls and
relocations, or when a call graph lists its address as taken, as it does for what data names (rule
L1). Data is never dropped. Functions that do not stay are removed before anything is merged: they
leave no symbol, section or string. With `-r`, `-g` and `--preserve-relocs` everything stays (rule
L4).
"""

from __future__ import annotations

from cubinspec_generated.codes import SHT_CUDA_UFT_ENTRY, STO_CUDA_ENTRY, STT_FUNC
from cubinspec_writer.linker.library.copies import reference_graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import InputObject, Symbol
    from cubinspec_writer.linker.state import Job, Reach

READS = (
    "object.bound object.repeats symbol.bind symbol.definition symbol.kind symbol.name "
    "symbol.other symbol.replaced"
)
WRITES = "object.called symbol.live"
FREEZES = "object.called symbol.live"


def run(job: Job, objects: list[InputObject], reach: Reach) -> None:
    """Set `live` of every function symbol."""
    for obj in objects:
        obj.called = {
            row.index: symbol
            for row in obj.named
            if (symbol := obj.bound[row.index]) is not None and symbol.kind == STT_FUNC
        }
    options = job.options
    keeps_all = options.debug or options.preserve_relocs
    if options.relocatable or (keeps_all and reach.filter is None):
        return
    functions = {symbol for obj in objects for symbol in obj.called.values()}
    edges, held = reference_graph(objects)
    live: set[Symbol] = set()
    entries = [f for f in functions if f.other & STO_CUDA_ENTRY and f.definition is not None]
    work = [f for f in entries if reach.is_wanted(f)]
    if job.index is not None or any(obj.of_type(SHT_CUDA_UFT_ENTRY) for obj in objects):
        # Other programs enter through the stubs. With a single kernel nvlink keeps the functions of
        # the stubs, but not what they call (rule U10).
        from cubinspec_writer.linker.library.unified import linked_stubs

        (held if len(work) == 1 else work).extend(linked_stubs(objects))
    if len(work) != 1:  # kernels whose address is taken are wanted, too (rule L5)
        taken = [f for f in held if f.is_entry and f.definition is not None]
        reach.remaining = frozenset(taken).difference(work)
        work += reach.remaining
    if keeps_all:
        return
    while work:
        function = work.pop()
        if function not in live:
            live.add(function)
            work += edges.get(function, ())
    # A function whose address is taken stays, and so do the names that it takes from the driver.
    # The other functions that it calls do not.
    live.update(held)
    live.update(t for f in held for t in edges.get(f, ()) if not t.is_defined)
    live.update(t for f in held for t in _behind(f))
    for function in functions:
        function.live = function in live


def _behind(function: Symbol) -> list[Symbol]:
    """The functions that lie behind a kernel of an extensible whole program, and stay with it.

    Rule A5.
    """
    if function.definition is None or not function.definition[0].is_extensible:
        return []
    obj, kernel = function.definition
    found = (obj.bound[row.index] for row in obj.functions if row.shndx == kernel.shndx)
    return [symbol for symbol in found if symbol is not None]
