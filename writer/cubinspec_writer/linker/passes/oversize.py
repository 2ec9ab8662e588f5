"""Reports shared memory and parameters that are larger than a kernel may have."""

from __future__ import annotations

from cubinspec.format.targets import limit
from cubinspec_generated.codes import SHT_CUDA_CONSTANT_B0, SHT_CUDA_SHARED
from cubinspec_writer.linker.model import OutSection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.model import InputObject, Symbol
    from cubinspec_writer.linker.state import Job, Names

READS = (
    "names.entries object.bound section.emitted section.name section.nobits_size section.sh_type "
    "symbol.kind symbol.other"
)
WRITES = ""
FREEZES = ""

#: Stands in front of the kernel's name. nvlink cuts as much from any name (rule S13).
_PREFIX: Final = ".nv.shared."


def run(job: Job, objects: list[InputObject], diagnostics: Diagnostics, names: Names) -> None:
    """Report what is too large."""
    if not job.target.is_specific:
        _check_shared(job, diagnostics, names)
    if any(obj.toolkit < job.family.large_param_toolkit for obj in objects):
        for _ in _with_many_parameters(job, objects):
            diagnostics.error(
                "For kernel functions with parameter size higher than 4k bytes on sm_7x and sm_8x, "
                "all objects must be compiled with 12.1 or later"
            )


def _with_many_parameters(job: Job, objects: list[InputObject]) -> set[Symbol]:
    """The kernels whose parameters begin where those of many bytes do (rule S81)."""
    start = job.family.large_param_base
    found: set[Symbol] = set()
    for obj in objects:
        banks = obj.of_type(SHT_CUDA_CONSTANT_B0) if start else []
        large = {bank.info for bank in banks if bank.size > start}
        for row in obj.functions if large else ():
            symbol = obj.bound[row.index]
            if row.shndx in large and symbol is not None and symbol.is_entry:
                found.add(symbol)
    return found


def _check_shared(job: Job, diagnostics: Diagnostics, names: Names) -> None:
    """Report every section that is too large, in the order of the output (rule S13)."""
    most = limit(job.target.sm, "max_shared_per_block")
    assert most is not None  # known of every target of a link
    for entry in names.entries:
        if type(entry) is OutSection and entry.sh_type == SHT_CUDA_SHARED and entry.emitted:
            counted = entry.nobits_size - _never_counted(job)
            if counted > most:
                diagnostics.error(
                    f"Entry function '{entry.name[len(_PREFIX) :]}' uses too much shared data "
                    f"({counted:#x} bytes, {most:#x} max)"
                )


def _never_counted(job: Job) -> int:
    """Reserved bytes that nvlink takes off although it did not add them (rule S21)."""
    return 0 if job.family.capsule else job.family.reserved_shared - job.reserved_shared
