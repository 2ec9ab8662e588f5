"""The link of one program as the list of its passes; no other place tells their order.

A pass is one module with one public function, `run`. Its parameters name the parts of the state
that it takes; it cannot reach any other. Beside it the module says what of these parts it reads,
what it writes, and what nothing may change after it (`READS`, `WRITES`, `FREEZES`); a test runs all
links with parts that refuse everything else. Contents of sections are told apart there: those of
tables that one pass writes (`content.attributes`, `content.notes` and so on) are frozen by that
pass. All others (`section.content`) are final behind `passes.relocate` where there is one half; in
the SASS half of two, the passes of `finalizer` change code, constants and debug tables after it.

A link of sm_75 to sm_90 runs the passes once. From sm_100 on they run for the Mercury half and then
for the SASS half (rule F1), which `write.both_halves` joins.
"""

from __future__ import annotations

from _operator import attrgetter
from sys import modules

from cubinspec_generated.codes import (
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_CONSTANT_B3,
    SHT_CUDA_SHARED,
    SHT_CUDA_UDT,
    SHT_CUDA_UFT,
    STO_CUDA_SHARED,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
)
from cubinspec_writer.linker.model import HANDLE_KINDS, UDT, UFT
from cubinspec_writer.linker.state import is_of_twin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import (
        Attributes,
        Job,
        LinkState,
        Reach,
        Sections,
        Symbols,
        Unified,
    )

_UNIFIED_TABLES = (SHT_CUDA_UFT, SHT_CUDA_UDT)
PACKAGE = "cubinspec_writer.linker."
_CONSTANT3 = SHT_CUDA_CONSTANT_B3
_SHARED_BITS = STO_CUDA_SHARED << STO_CUDA_SPACE_SHIFT


class Pass:
    """One row of `PASSES`.

    Attributes:
        module: where its `run` is, below this package; it is imported when the pass first runs.
        why: why it stands here.
        when: whether a program has work for it; None: always. It takes parts as a pass does.
    """

    __slots__ = ("module", "when", "why")

    def __init__(self, module: str, why: str, when: Callable[..., bool] | None = None) -> None:
        self.module: str = module
        self.why: str = why
        self.when: Callable[..., bool] | None = when


def _is_final(job: Job) -> bool:
    return not job.options.relocatable


def _is_relocatable(job: Job) -> bool:
    return job.options.relocatable


def _has_commons(symbols: Symbols) -> bool:
    return bool(symbols.commons)


def _has_handles(objects: list[InputObject]) -> bool:
    return any(obj.kinds.intersection(HANDLE_KINDS) for obj in objects)


def _has_shared(job: Job, objects: list[InputObject], sections: Sections) -> bool:
    """Whether an executable has shared memory of its own."""
    if job.options.relocatable:
        return False
    return SHT_CUDA_SHARED in sections.by_type or any(
        other & STO_CUDA_SPACE_MASK == _SHARED_BITS for obj in objects for other in obj.others
    )


def _may_be_too_large(job: Job, objects: list[InputObject], sections: Sections) -> bool:
    """Whether kernels of an executable have shared memory, or parameters of many bytes."""
    start = job.family.large_param_base
    banks = (bank for obj in objects for bank in obj.of_type(SHT_CUDA_CONSTANT_B0))
    has_many = bool(start) and _is_final(job) and any(bank.size > start for bank in banks)
    return has_many or _has_shared(job, objects, sections)


def _has_constants(job: Job, sections: Sections, reach: Reach) -> bool:
    """Whether constants of an executable move, are shared, or have to be looked at."""
    if job.options.relocatable:
        return False
    some = sections.staging or _CONSTANT3 in sections.by_type
    return bool(some) or job.options.share_constants or reach.filter is not None


def _has_unified(job: Job, objects: list[InputObject], unified: Unified) -> bool:
    """Whether an executable has unified functions or data, or an index that says so."""
    if job.options.relocatable:
        return False
    if job.index is not None or any(unified.rows.values()):
        return True
    tables = (s for obj in objects for s in obj.of_types(_UNIFIED_TABLES))
    return any(section.name in (UFT, UDT) for section in tables)


def _has_identifiers(unified: Unified) -> bool:
    return bool(unified.rows or unified.stubs)


def _orders_lines(job: Job) -> bool:
    return job.family.drops_dead_frames


def _has_compat(job: Job) -> bool:
    return job.family.compat_section and job.toolkit.notes


def _has_notes(job: Job) -> bool:
    return job.toolkit.notes


def _has_mercury(mercury_sections: Sections | None) -> bool:
    return mercury_sections is not None


def _warns_more(job: Job) -> bool:
    options = job.options
    keeps = options.relocatable or options.debug or options.preserve_relocs
    return options.extra_warnings and not keeps


def _removes_kernels(job: Job, reach: Reach) -> bool:
    return reach.filter is not None and not job.options.relocatable


def _has_limits(job: Job, attributes: Attributes, mercury_sections: Sections | None) -> bool:
    """Whether kernels of the half that tells messages have limits, which the graph tells, too."""
    options = job.options
    if mercury_sections is not None or options.relocatable or options.dump_callgraph:
        return False
    return bool(attributes.register_limits)


PASSES = (
    Pass("passes.fixed", "names that every output has come before all others"),
    Pass("passes.resolve", "all else asks what a name means"),
    Pass("passes.liveness", "what no kernel reaches must not be merged"),
    Pass("passes.merge", "places and orders begin with what is linked"),
    Pass("passes.commons", "all inputs are merged, so their sizes are final", _has_commons),
    Pass("passes.callgraph", "the edges are those between merged functions"),
    Pass("passes.textures", "slots lie behind the largest parameter bank", _has_handles),
    Pass("passes.shared", "kernels and what they reach are known", _has_shared),
    Pass("passes.instances", "relocations still name the arrays", _is_relocatable),
    Pass("passes.constants", "it makes banks, and has to know who needs them", _has_constants),
    Pass("passes.close", "nothing that follows makes a section"),
    Pass("passes.arrange", "stubs move as a whole before anything writes into them", _has_unified),
    Pass("passes.relocate", "all places are final"),
    Pass("passes.number", "which symbols are named depends on what relocations are left"),
    Pass("finalizer.lines", "the new order is that of symbol numbers", _orders_lines),
    Pass("passes.identifiers", "rows hold symbol numbers", _has_identifiers),
    Pass("passes.attributes", "records hold symbol numbers"),
    Pass("passes.uncalled", "nvlink tells it after what it says about stacks", _warns_more),
    Pass("passes.removed", "nvlink tells it after what it says about stacks", _removes_kernels),
    Pass("passes.oversize", "nvlink tells it after what it says about stacks", _may_be_too_large),
    Pass("passes.undefined", "nvlink tells it after what it says about stacks", _is_final),
    Pass("passes.notes", "it depends on nothing before, and nothing on it", _has_notes),
    Pass("passes.compat", "it depends on what is linked only", _has_compat),
    Pass("passes.limits", "limits are in the attributes of kernels", _has_limits),
    Pass(
        "finalizer.join",
        "both halves are linked; it alone changes code behind `relocate`",
        _has_mercury,
    ),
)


def run_passes(state: LinkState) -> None:
    """Run all passes that a program has work for."""
    for step in PASSES:
        if step.when is None or call(step.when, state):
            name = PACKAGE + step.module
            __import__(name)
            call(modules[name].run, state)


#: Of functions that were called: what takes the parts that their parameters name.
_takers: dict[Callable[..., Any], Callable[[LinkState], Iterable[Any]]] = {}


def call(function: Callable[..., Any], state: LinkState) -> Any:
    """Call a function with the parts that its parameters name.

    A test compares the annotations with what these parts are.
    """
    take = _takers.get(function)
    if take is None:
        take = _takers[function] = _taker(_names_of(function))
    return function(*take(state))


def _taker(names: Sequence[str]) -> Callable[[LinkState], Iterable[Any]]:
    """What takes the parts of these names."""
    if len(names) > 1 and not any(map(is_of_twin, names)):
        return attrgetter(*names)  # of a single name it would give no tuple
    return lambda state: map(state.part, names)


def _names_of(function: Callable[..., Any]) -> Sequence[str]:
    try:
        code = function.__code__
    except AttributeError:  # a compiled function tells its parameters in another way
        signature: str = function.__text_signature__  # type: ignore[attr-defined]
        return signature[1:-1].split(", ")
    names: Sequence[str] = code.co_varnames[: code.co_argcount]
    return names
