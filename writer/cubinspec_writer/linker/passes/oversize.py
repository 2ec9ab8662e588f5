"""Reports shared memory that is larger than a kernel may have (rule S13)."""

from __future__ import annotations

from cubinspec_generated.codes import SHT_CUDA_SHARED
from cubinspec_writer.linker.model import OutSection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.state import Job, Names

READS = "names.entries section.emitted section.name section.nobits_size section.sh_type"
WRITES = ""
FREEZES = ""

#: Bytes of shared memory that nvlink allows a kernel.
_SHARED_LIMIT: Final = 48 * 1024
#: Stands in front of the kernel's name. nvlink cuts as much from any name (rule S13).
_PREFIX: Final = ".nv.shared."


def run(job: Job, diagnostics: Diagnostics, names: Names) -> None:
    """Report an error for every section that is too large, in the order of the output."""
    if job.target.is_specific:
        return
    for entry in names.entries:
        if type(entry) is OutSection and entry.sh_type == SHT_CUDA_SHARED and entry.emitted:
            counted = entry.nobits_size - _never_counted(job)
            if counted > _SHARED_LIMIT:
                diagnostics.error(
                    f"Entry function '{entry.name[len(_PREFIX) :]}' uses too much shared data "
                    f"({counted:#x} bytes, {_SHARED_LIMIT:#x} max)"
                )


def _never_counted(job: Job) -> int:
    """Reserved bytes that nvlink takes off although it did not add them (rule S21)."""
    return 0 if job.family.capsule else job.family.reserved_shared - job.reserved_shared
