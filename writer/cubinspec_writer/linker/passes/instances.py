"""Arrays of dynamic size in shared memory with `-r`, where nothing has its place yet.

nvlink gives every kernel whose own code names such an array one symbol of its own for all arrays,
`externsharedinstance`, behind the kernel's variables; relocations of the kernel name that instead.
The arrays themselves are at the start of the pool, and device functions find them at 0 (rule
R7). In a later link this is wrong where static variables come first; nvlink's
output is no better.
"""

from __future__ import annotations

from math import lcm

from cubinspec.format.packing import align_up
from cubinspec_generated.codes import (
    SHT_CUDA_SHARED,
    STB_WEAK,
    STO_CUDA_SHARED,
    STO_CUDA_SPACE_SHIFT,
    STT_CUDA_OBJECT,
    STV_INTERNAL,
)
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.library.groups import joined
from cubinspec_writer.linker.model import INSTANCE, SHARED_POOL, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.model import OutSection
    from cubinspec_writer.linker.state import (
        Job,
        Maker,
        Names,
        Reach,
        Relocations,
        Sections,
        SharedMemory,
        Symbols,
    )

_ALIGN: Final = 16

READS = (
    "relocations.sections section.name section.owner section.sh_type sections.members "
    "sections.unowned symbol.alignment symbol.bind symbol.definition symbol.kind symbol.name "
    "symbol.other symbol.size symbols.functions"
)
WRITES = (
    "names.entries names.kept names.reserved section.align section.emitted section.info_section "
    "section.nobits_size section.relocs sections.before_arrays sections.by_type sections.made "
    "shared.instances symbol.parts symbol.section symbol.value symbols.globals"
)
FREEZES = (
    "section.nobits_size sections.before_arrays shared.instances symbol.section symbols.globals"
)


def run(
    job: Job,
    names: Names,
    symbols: Symbols,
    sections: Sections,
    relocations: Relocations,
    shared: SharedMemory,
    reach: Reach,
    maker: Maker,
) -> None:
    """Sizes of shared sections with `-r`, and the symbols for arrays of dynamic size.

    A section has the size of its variables, and the alignment on top unless the sum is larger;
    every section has at least the alignment of the pool.

    Rule R3.
    """
    pool = sections.find(SHARED_POOL)
    least = pool.align if pool is not None else 0
    for section, members in sections.members.items():
        if section.sh_type == SHT_CUDA_SHARED and section.emitted:
            section.align = max(section.align, least)
            section.nobits_size = _sized(_static_size(members), section.align)
    arrays = (
        {s for s in sections.members.get(pool, ()) if _is_array(s)} if pool is not None else set()
    )
    if not arrays or pool is None:
        return
    pool.align = max(pool.align, _ALIGN)
    pool.nobits_size = _sized(_static_size(sections.members.get(pool, [])), pool.align)
    for array in arrays:
        array.section = pool
    for kernel in [f for f in symbols.functions if f.is_entry]:
        own = maker.shared_section(kernel) if least == _ALIGN else None
        if own is not None and not own.emitted:
            # As in a final link, this alignment says that there are such arrays.
            own.emitted, own.align, own.nobits_size = True, least, _sized(0, least)
    naming = _naming(relocations, arrays)
    starts = {kernel: _start(job, sections, maker, kernel, naming[kernel]) for kernel in naming}
    if debugger_sees(job.options):
        # With -g the arrays keep their names (rule R7).
        _place_together(job, maker, naming, starts, pool.align)
        for array in arrays.difference(*naming.values()):
            array.value = 0
    for kernel, start in starts.items():
        if not debugger_sees(job.options):
            instance = _instance(job, names, symbols, maker, kernel, arrays)
            instance.value = start
            shared.instances.add(instance)
        section = _make_room(job, reach, maker, kernel, start, least)
        if start:
            sections.before_arrays.add(section)


def _naming(relocations: Relocations, arrays: set[Symbol]) -> dict[Symbol, set[Symbol]]:
    """The arrays that the code of kernels names, by kernel in the order of the relocations."""
    first: dict[Symbol, int] = {}
    found: dict[Symbol, set[Symbol]] = {}
    for (target, _), relocs in relocations.sections.items():
        owner = target.owner
        if owner is None or not owner.is_entry or target is not owner.section:
            continue
        for reloc in relocs.relocs:
            if reloc.symbol in arrays:
                found.setdefault(owner, set()).add(reloc.symbol)
                first[owner] = min(reloc.serial, first.get(owner, reloc.serial))
    return {kernel: found[kernel] for kernel in sorted(first, key=first.__getitem__)}


def _place_together(
    job: Job,
    maker: Maker,
    naming: dict[Symbol, set[Symbol]],
    starts: dict[Symbol, int],
    least: int,
) -> None:
    """Give kernels that have arrays in common one start, and the arrays this value.

    Args:
        least: the alignment that sections of kernels will have at least.
    """
    kernels_of: dict[Symbol, list[Symbol]] = {}
    for kernel, named in naming.items():
        for array in named:
            kernels_of.setdefault(array, []).append(kernel)
    for kernels in joined(kernels_of.values()):
        start = max(starts[kernel] for kernel in kernels)
        if job.toolkit.aligns_instances:
            sections = [maker.shared_section(kernel) for kernel in kernels]
            aligns = [max(s.align if s is not None else 0, least) for s in sections]
            start = align_up(start, lcm(*aligns))
        starts.update(dict.fromkeys(kernels, start))
    for array, kernels in kernels_of.items():
        array.value = starts[kernels[0]]


def _is_array(symbol: Symbol) -> bool:
    """Whether a symbol is an array of dynamic size that no input defines."""
    return symbol.space == STO_CUDA_SHARED and not symbol.is_defined and symbol.size == 0


def _instance(
    job: Job, names: Names, symbols: Symbols, maker: Maker, kernel: Symbol, arrays: set[Symbol]
) -> Symbol:
    """Point a kernel's relocations at its instance."""
    assert kernel.section is not None
    other = STO_CUDA_SHARED << STO_CUDA_SPACE_SHIFT | STV_INTERNAL
    last = job.toolkit.weak_globals  # rule K3
    instance = Symbol(INSTANCE, STB_WEAK, STT_CUDA_OBJECT, other, entered=True, in_globals=last)
    if last:
        symbols.globals.append(instance)
    else:
        names.entries.append(instance)
    for is_rela in (True, False):
        relocs = maker.reloc_section(kernel.section, is_rela)
        if relocs is not None:
            relocs.relocs = [r.naming(instance) if r.symbol in arrays else r for r in relocs.relocs]
    return instance


def _start(job: Job, sections: Sections, maker: Maker, kernel: Symbol, arrays: set[Symbol]) -> int:
    """Where the arrays begin in the section of a kernel."""
    section = maker.shared_section(kernel)
    members = sections.members.get(section, []) if section is not None else []
    size = _static_size(members)
    if not job.toolkit.aligns_instances:
        return align_up(size, _ALIGN)
    # Rules K9, K27.
    told = [a for a in arrays if a.name == INSTANCE or not debugger_sees(job.options)]
    place = max([a.alignment for a in told], default=0)
    return max(align_up(size, max(place, _ALIGN)), place if place >= _ALIGN else 0)


def _make_room(
    job: Job, reach: Reach, maker: Maker, kernel: Symbol, start: int, least: int
) -> OutSection:
    """Size the section of a kernel that names arrays; returns it."""
    section = maker.shared_section(kernel, make=True)
    assert section is not None
    align = max(section.align, least if reach.is_wanted(kernel) else 0, _ALIGN)
    # A larger alignment, which comes from the pool, says that there are none, unless a kernel with
    # variables has the same ones (rule R7).
    section.emitted |= align == _ALIGN or start > 0
    if section.emitted:
        section.align = align
        size = _sized(start, align)
        section.nobits_size = align_up(size, align) if job.toolkit.rounds_dynamic_shared else size
    return section


def _static_size(members: list[Symbol]) -> int:
    return sum(v.size for v in members if v.is_defined)


def _sized(size: int, align: int) -> int:
    return size if size > align else size + align
