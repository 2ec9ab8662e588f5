"""Places variables and arrays of dynamic size in shared memory.

A variable that several kernels reach (directly or through functions they call) has one offset for
all of them; these are packed from 0, largest first. What only one kernel reaches follows the last
common variable that this kernel uses, by alignment, largest first. Arrays of dynamic size lie
behind: one offset for all kernels that share a device function with such an array. sm_90 and later
reserve 0x400 bytes in front, which count in the section size only.
"""

from __future__ import annotations

from collections import Counter
from math import lcm

from cubinspec.format.packing import align_up
from cubinspec_generated.codes import (
    SHT_CUDA_SHARED,
    STO_CUDA_SHARED,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
)
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.library.copies import code_relocations
from cubinspec_writer.linker.library.groups import joined
from cubinspec_writer.linker.library.outsymbols import NO_ADDRESS, is_lost
from cubinspec_writer.linker.library.sorting import split_sort
from cubinspec_writer.linker.model import DYNAMIC_ALIGN, INSTANCE, SHARED_POOL, OutSection, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.graph import Below
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import (
        Job,
        Maker,
        Reach,
        Relocations,
        Sections,
        SharedMemory,
        Symbols,
    )

_SHARED_BITS: Final = STO_CUDA_SHARED << STO_CUDA_SPACE_SHIFT


def _larger(a: Symbol, b: Symbol) -> bool:
    """Whether the first pile wins in the pool: larger sizes come first (rule S2)."""
    return a.size > b.size


READS = (
    "graph.address_taken graph.calls graph.indirect object.bound object.placed "
    "relocations.sections section.name section.owner section.relocs section.sh_type "
    "sections.members sections.unowned symbol.alignment symbol.bind symbol.definition symbol.kind "
    "symbol.name symbol.other symbol.size symbols.by_name symbols.functions symbols.globals"
)
WRITES = (
    "names.entries names.kept names.reserved section.align section.emitted section.info_section "
    "section.nobits_size section.reserved sections.by_type sections.made shared.again "
    "shared.dynamic_groups shared.dynamic_start shared.groups shared.unreached shared.users "
    "symbol.internal symbol.parts symbol.section symbol.value symbols.null_value"
)
FREEZES = (
    "section.reserved shared.again shared.dynamic_groups shared.dynamic_start shared.groups "
    "shared.unreached shared.users symbol.internal"
)


def run(
    job: Job,
    objects: list[InputObject],
    diagnostics: Diagnostics,
    symbols: Symbols,
    sections: Sections,
    relocations: Relocations,
    shared: SharedMemory,
    reach: Reach,
    maker: Maker,
) -> None:
    """Lay out shared memory."""
    layout = _Layout(job, objects, symbols, sections, relocations, shared, reach.below())
    shared.users = layout.users
    _check_extensible(layout, diagnostics)
    end = _place_common(layout.common, layout.users, shared.groups)
    layout.place_own(_made(layout, sections, relocations, reach, maker), reach, maker)
    _place_dynamic(job, symbols, sections, shared, layout)
    if maker.names.kept is not None and shared.dynamic_groups:
        maker.names.kept.strings.setdefault(INSTANCE)  # rule K16
    layout.size_sections(job, symbols, reach)
    if layout.pool is not None:
        _size_pool(job, symbols, shared, layout, layout.pool, end)


class _Layout:
    """Shared memory while it is laid out.

    Attributes:
        below: what every kernel reaches.
        used: function -> the variables that its code names.
        uses: kernel -> the variables that it reaches.
        users: variable -> the kernels that reach it.
        pool: the section of variables that no kernel owns.
        pooled: its variables, in the order of their places.
        common: those of them that have one place for all kernels.
        arrays: arrays of dynamic size.
        taken: the alignment that kernels take from the pool.
        everywhere: every kernel has shared memory.
        placed, sizes, aligns: section, size and alignment of every kernel's own memory.
        kept: sections that stay when they are empty, those of extensible whole programs, and how
            many copies of a kernel have laid out memory there.
        has_null: memory that is laid out was met.
    """

    __slots__ = (
        "aligns",
        "arrays",
        "below",
        "common",
        "everywhere",
        "has_null",
        "kept",
        "placed",
        "pool",
        "pooled",
        "sections",
        "sizes",
        "taken",
        "used",
        "users",
        "uses",
    )

    def __init__(
        self,
        job: Job,
        objects: list[InputObject],
        symbols: Symbols,
        sections: Sections,
        relocations: Relocations,
        shared: SharedMemory,
        below: Below,
    ) -> None:
        self.sections = sections
        self.below = below
        used = self.used = _shared_uses(objects, sections, relocations)
        self.uses: dict[Symbol, dict[Symbol, None]] = {
            kernel: {v: None for f in below[kernel] for v in used.get(f, ())} if used else {}
            for kernel in below.kernels
        }
        users: dict[Symbol, list[Symbol]] = {}
        for kernel, variables in self.uses.items():
            for variable in variables:
                users.setdefault(variable, []).append(kernel)
        self.users = users
        self.pool = pool = sections.find(SHARED_POOL)
        for members in sections.members.values():
            for variable in members:
                if variable.space == STO_CUDA_SHARED:
                    variable.value = 0  # what no kernel reaches stays there
        # Arrays of dynamic size are sorted with the rest (rule S5).
        pooled = split_sort(_variables_of(sections, pool), _larger)
        named = _named_in_code(objects) if pooled else set()
        # What no kernel reaches takes up place among the rest when any code names it (rule S4).
        unreached = (v for v in pooled if v not in users and v not in named)
        shared.unreached.update(unreached)
        self.pooled = [v for v in pooled if v.is_defined]
        seen: set[Symbol] = set()
        for variable in self.pooled:
            (shared.again if variable in seen else seen).add(variable)
        self.common = [v for v in self.pooled if v in named and len(users.get(v, ())) != 1]
        # Sections are known to hold arrays of dynamic size by their alignment of 16 alone, so
        # taking 16 from the pool makes empty sections stay, and taking 32 makes them go (rule S10).
        self.arrays = [
            x for x in symbols.globals if x.space == STO_CUDA_SHARED and not x.is_defined
        ]
        # One common variable makes every kernel take the pool's alignment (rule S6).
        self.taken = taken = pool.align if pool is not None and self.common else 0
        keeps = _keeps_aligned(job) and taken > DYNAMIC_ALIGN
        self.everywhere = bool(self.arrays) and (taken == DYNAMIC_ALIGN or keeps)
        self.kept = Counter(
            place[0]
            for obj in objects
            if obj.is_extensible and not debugger_sees(job.options)
            for section in obj.of_type(SHT_CUDA_SHARED)
            if (place := obj.placed[section.index])
        )
        self.placed: dict[Symbol, OutSection] = {}
        self.sizes: dict[Symbol, int] = {}
        self.aligns: dict[Symbol, int] = {}
        self.has_null = False

    def place_own(self, made: dict[Symbol | None, OutSection], reach: Reach, maker: Maker) -> None:
        """Place what only one kernel reaches, behind the common variables that it uses.

        Args:
            made: sections of shared memory by their kernel.
        """
        users = self.users
        for kernel, variables in self.uses.items():
            if not variables and kernel not in made and not self.everywhere:
                continue
            section = made.get(kernel) or maker.shared_section(kernel, make=bool(variables))
            if section is None:
                continue
            several = [v for v in variables if len(users[v]) > 1]
            size = max((v.value + v.size for v in several if v.is_defined), default=0)
            own = list(_variables_of(self.sections, section))
            own += [v for v in self.pooled if v in variables and len(users[v]) == 1]
            for variable in split_sort(own, _larger_alignment):
                variable.value = align_up(size, variable.alignment)
                size = variable.value + variable.size
                variable.section = section
            self.placed[kernel], self.sizes[kernel] = section, size
            align = max((v.alignment for v in own), default=0)
            if reach.is_wanted(kernel) or any(v.is_defined for v in variables):
                align = max(align, self.taken)
            self.aligns[kernel] = align

    def least(self, kernel: Symbol) -> int:
        """The alignment that the kernel's arrays of dynamic size ask for (rule K9)."""
        return max((v.alignment for v in self.uses[kernel] if not v.is_defined), default=1)

    def size_sections(self, job: Job, symbols: Symbols, reach: Reach) -> None:
        """Give the sections of kernels their size and alignment."""
        for kernel, section in self.placed.items():
            size = self.sizes[kernel]
            is_kept = section in self.kept
            section.align = max(self.aligns[kernel], section.align if is_kept else 0)
            section.nobits_size = size
            dynamic = any(not (v.is_defined or is_lost(v)) for v in self.uses[kernel])
            dynamic = dynamic and (section.align == DYNAMIC_ALIGN or _keeps_aligned(job))
            section.emitted = bool(size) or dynamic or self.everywhere
            # nvlink forgets the reserved bytes of laid out memory that no wanted kernel has.
            is_forgotten = is_kept and not (job.family.capsule or reach.is_merged_as_kernel(kernel))
            if (section.emitted or (is_kept and job.family.capsule)) and not is_forgotten:
                section.reserved = job.reserved_shared
            section.emitted |= is_kept
            if size and not job.family.capsule:
                self._place_null(job, symbols, section)

    def _place_null(self, job: Job, symbols: Symbols, section: OutSection) -> None:
        """Count memory that is laid out, for all of which the null symbol stands.

        It has the place of the first one, behind all reserved bytes (rules S17, K22).
        """
        laid_out = [v for v in _variables_of(self.sections, section) if not v.name]
        if laid_out and not (self.has_null or job.options.relocatable):
            symbols.null_value += laid_out[0].value
            self.has_null = True
        symbols.null_value += section.reserved * (self.kept[section] or len(laid_out))


def _check_extensible(layout: _Layout, diagnostics: Diagnostics) -> None:
    """Refuse variables that a kernel reaches whose shared memory ptxas has laid out (rule S80)."""
    below = layout.below
    programs = {k for k in below.kernels if k.definition and k.definition[0].is_extensible}
    if not programs:
        return
    for variable in layout.pooled:
        for function, variables in layout.used.items():
            kernels = [k for k in reversed(below.reaching(function)) if k in programs]
            for kernel in kernels * variables.count(variable):
                diagnostics.error(
                    f"Cannot link shared object '{variable.name}' with partially linked kernel "
                    f"'{kernel.name}'"
                )


def _made(
    layout: _Layout, sections: Sections, relocations: Relocations, reach: Reach, maker: Maker
) -> dict[Symbol | None, OutSection]:
    """Sections of shared memory by their kernel, with those that merging left out."""
    made = {s.owner: s for s in sections.by_type.get(SHT_CUDA_SHARED, ())}
    if reach.remaining or len(layout.below.kernels) > len(reach.kernels()):
        for kernel in _without_section(layout, relocations, made):
            section = maker.shared_section(kernel, make=True)
            if section is not None:
                made[kernel] = section
    return made


def _size_pool(
    job: Job,
    symbols: Symbols,
    shared: SharedMemory,
    layout: _Layout,
    pool: OutSection,
    end: int,
) -> None:
    """Say what is in the output of the variables that no kernel owns.

    Args:
        end: where the common variables end.
    """
    options = job.options
    named_later = options.preserve_relocs or debugger_sees(options)
    listed = named_later and bool(layout.common)
    # Rules S14, P4: where there is an array of dynamic size the pool is in the output.
    pool.emitted = (bool(layout.arrays) and layout.taken <= DYNAMIC_ALIGN) or listed
    if layout.arrays:
        pool.align = max(DYNAMIC_ALIGN, pool.align if listed else 0)
    pool.nobits_size = end if listed else 0
    if pool.emitted and (job.family.constant0_deferred or named_later):
        pool.reserved = job.reserved_shared
    # With -g they have a place (rule S8).
    names_arrays = job.family.names_dynamic and job.reserved_shared
    if listed and not debugger_sees(options) and names_arrays:
        made_before = symbols.by_name.get(INSTANCE)  # rule R10
        for array in (*layout.arrays, made_before):
            if array is None or array.is_defined:
                continue
            array.section, array.value = pool, NO_ADDRESS
            array.internal = True
            shared.unreached.discard(array)


def _without_section(
    layout: _Layout, relocations: Relocations, made: dict[Symbol | None, OutSection]
) -> list[Symbol]:
    """Kernels whose section merging did not make, as they are not wanted, in nvlink's order.

    First those with a variable that only they use, then those with common ones, in the order of
    relocations, for each of which the last kernel that reaches the code comes first (rule S11).
    """
    users = layout.users
    single = [users[v][0] for v in layout.pooled if len(users.get(v, ())) == 1]
    naming = [
        (row.serial, target.owner, row.symbol)
        for (target, _), relocs in relocations.sections.items()
        if target.owner is not None
        for row in relocs.relocs
    ]
    naming.sort(key=lambda item: item[0])
    several = [
        kernel
        for v in layout.pooled
        if len(users.get(v, ())) > 1
        for _, function, symbol in naming
        if symbol is v
        for kernel in reversed(layout.below.reaching(function))
    ]
    return [k for k in dict.fromkeys((*single, *several)) if k not in made]


def _place_common(
    common: list[Symbol], users: dict[Symbol, list[Symbol]], together: list[list[Symbol]]
) -> int:
    """Give variables of several kernels their offsets; returns the end of the last one.

    Variables that no kernel needs together share a group. A variable goes into the first group in
    which it meets nobody; groups lie one behind the other, each with the largest size and alignment
    of its members.

    Rule S3.

    Args:
        together: gets the groups.
    """
    groups: list[tuple[list[Symbol], set[Symbol]]] = []
    for variable in common:
        kernels = set(users.get(variable, ()))
        for members, occupied in groups:
            if occupied.isdisjoint(kernels):
                members.append(variable)
                occupied |= kernels
                break
        else:
            groups.append(([variable], kernels))
    end = 0
    for members, _ in groups:
        start = align_up(end, max(v.alignment for v in members))
        end = start + max(v.size for v in members)
        together.append(members)
        for variable in members:
            variable.value = start
    return end


def _named_in_code(objects: list[InputObject]) -> set[Symbol]:
    """Shared variables that code of the inputs names, linked or not."""
    rows = ((obj, row) for obj in objects for row in code_relocations(obj))
    symbols = (obj.bound[index] for obj, (_, _, index, _) in rows)
    return {s for s in symbols if s is not None and s.space == STO_CUDA_SHARED}


def _keeps_aligned(job: Job) -> bool:
    """Whether empty sections of a larger alignment stay, as they have reserved bytes (rule S21)."""
    return job.family.keeps_aligned_shared and bool(job.reserved_shared)


def _place_dynamic(
    job: Job, symbols: Symbols, sections: Sections, shared: SharedMemory, layout: _Layout
) -> None:
    """Put arrays of dynamic size behind the static part.

    A kernel's own code finds them behind the kernel's variables. A device function has one place
    for all kernels that reach it, so those kernels are padded to the largest of them.

    Rule S7.
    """
    below = layout.below
    used = layout.used.items()
    named = {f: [v for v in variables if not v.is_defined] for f, variables in used}
    reaching = {f: below.reaching(f) for f, arrays in named.items() if arrays}
    if debugger_sees(job.options):
        # A name has one place for all kernels that reach it (rule S8).
        functions = reaching
        reaching = {}
        for function, kernels in functions.items():
            for array in named[function]:
                reaching.setdefault(array, []).extend(kernels)
    shared.dynamic_groups.extend(joined(reaching.values()))
    asked = _asked_by_functions(reaching, named)
    for group in shared.dynamic_groups:
        _place_group(job, shared, layout, group, max(asked.get(kernel, 0) for kernel in group))
    if debugger_sees(job.options):
        for array in symbols.by_name.values():
            if array.space != STO_CUDA_SHARED or array.is_defined:
                continue
            array.section = sections.find(SHARED_POOL)
            first = next(iter(reaching.get(array, ())), None)
            array.value = shared.dynamic_start.get(first, 0) if first is not None else 0


def _asked_by_functions(
    reaching: dict[Symbol, list[Symbol]], named: dict[Symbol, list[Symbol]]
) -> dict[Symbol, int]:
    """Kernel -> alignment of the arrays that device functions below it name.

    Only of those that `-r` has linked, with arrays of dynamic size.
    """
    asked: dict[Symbol, int] = {}
    for function, kernels in reaching.items():
        if not function.is_entry and _is_joined(function) and function in named:
            align = max(array.alignment for array in named[function])
            asked.update({kernel: max(align, asked.get(kernel, 0)) for kernel in kernels})
    return asked


def _is_joined(function: Symbol) -> bool:
    """Whether `-r` made the input of a function, and put arrays of dynamic size into the pool."""
    return function.definition is not None and bool(function.definition[0].pooled)


def _place_group(
    job: Job, shared: SharedMemory, layout: _Layout, group: list[Symbol], asked: int
) -> None:
    """Give kernels that share a device function with arrays one place for these.

    Args:
        asked: the alignment of the arrays that functions of such inputs name, which alone counts
            where there are some (rule K9).
    """
    sizes, aligns = layout.sizes, layout.aligns
    least = dict.fromkeys(group, DYNAMIC_ALIGN)
    least_start = DYNAMIC_ALIGN
    if job.toolkit.aligns_instances:
        least = {kernel: max(DYNAMIC_ALIGN, layout.least(kernel)) for kernel in group}
        least_start = max(DYNAMIC_ALIGN, asked) if asked else max(least.values())
        if debugger_sees(job.options):
            least = dict.fromkeys(group, max(least.values()))
            least_start = lcm(*(max(aligns[kernel], least[kernel]) for kernel in group))
    start = align_up(max((sizes[k] for k in group), default=0), least_start)
    for kernel in group:
        align = aligns[kernel] = max(aligns[kernel], least[kernel])
        # Rule K6.
        sizes[kernel] = align_up(start, align) if job.toolkit.rounds_dynamic_shared else start
        for function in layout.below[kernel]:
            shared.dynamic_start[function] = start


def _larger_alignment(a: Symbol, b: Symbol) -> bool:
    """Whether the first pile wins in a kernel: larger alignments, then smaller sizes (rule S2)."""
    return (-a.alignment, a.size) <= (-b.alignment, b.size)


def _variables_of(sections: Sections, section: OutSection | None) -> list[Symbol]:
    """The defined symbols of a section, in the order they were merged."""
    if section is None:
        return []
    return sections.members.get(section, [])


def _shared_uses(
    objects: list[InputObject], sections: Sections, relocations: Relocations
) -> dict[Symbol, list[Symbol]]:
    """Function -> shared variables that its code names, in order of first use."""
    uses: dict[Symbol, list[Symbol]] = {}
    if not any(
        row.other & STO_CUDA_SPACE_MASK == _SHARED_BITS for obj in objects for row in obj.named
    ):
        return uses
    for (target, _), relocs in relocations.sections.items():
        if target.owner is None:
            continue
        for reloc in relocs.relocs:
            if reloc.symbol.other & STO_CUDA_SPACE_MASK == _SHARED_BITS:
                uses.setdefault(target.owner, []).append(reloc.symbol)
    for section, variables in sections.members.items():
        if section.sh_type == SHT_CUDA_SHARED and section.owner is not None:
            known = uses.setdefault(section.owner, [])
            known += [v for v in variables if v not in known]
    return uses
