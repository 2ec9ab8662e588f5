"""Gives texture, surface and sampler references their slots.

Code finds the header index of a reference in a slot of 4 bytes behind the parameters of its kernel.
All references of the program have slots, kernels' parameters of these kinds among them, at one
offset behind the largest parameter bank: textures, then samplers, then surfaces, each the last met
first, in the order that nvlink's merge sort gives to equal items (rule H1). A kernel that reaches
any reference gets all slots, but no other kernel's parameters are filled in; where there is only
one kernel, code that is not linked counts, too (rule H2). The driver fills no sampler in for a
kernel that uses textures without samplers (unified mode, rule H3).

From sm_100 on the Mercury half has the slots in a section of their own, which the finalizer puts
behind the parameters (aligned to 16, rule H4).
"""

from __future__ import annotations

from cubinspec.format.packing import align_up
from cubinspec_generated.codes import (
    SHF_ALLOC,
    SHF_INFO_LINK,
    SHT_CUDA_CONSTANT_B0,
    STT_CUDA_SAMPLER,
    STT_CUDA_TEXTURE,
)
from cubinspec_writer.linker.library.copies import code_relocations
from cubinspec_writer.linker.library.sorting import split_sort
from cubinspec_writer.linker.model import HANDLE_KINDS, OutSection, Symbol, relocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import (
        Handles,
        Job,
        Maker,
        Names,
        Reach,
        Relocations,
        Sections,
        Symbols,
    )

_SLOT: Final = 4
#: What nvlink counts the slots in, and its names for their places; older ones keep the names.
_SLOTS: Final = ".nv.constant0"
_OFFSET: Final = "$NVLINKBINDLESSOFF_"
_MERCURY_BANK: Final = ".nv.constant.entry_image_header_indices."

READS = (
    "graph.calls graph.indirect object.bound section.is_nobits section.name section.owner "
    "section.sh_type symbol.bind symbol.definition symbol.in_globals symbol.kind symbol.name "
    "symbol.other symbol.section symbols.functions symbols.globals"
)
WRITES = (
    "handles.kernels handles.slots names.entries names.kept names.reserved relocations.sections "
    "section.content section.emitted section.info_section section.relocs sections.by_type "
    "sections.made symbol.parts"
)
FREEZES = "handles.kernels handles.slots"


def run(
    job: Job,
    objects: list[InputObject],
    names: Names,
    symbols: Symbols,
    sections: Sections,
    relocations: Relocations,
    handles: Handles,
    reach: Reach,
    maker: Maker,
) -> None:
    """Give every reference a slot, and the slots to the kernels that need them."""
    # ptxas gave the references of extensible whole programs their slots (rule S19).
    open_objects = [obj for obj in objects if not obj.is_extensible]
    references = _references(open_objects, names, symbols)
    in_mercury = job.family.keeps_symbols
    is_deferred = job.family.constant0_deferred and not in_mercury
    # With `-r`, the finalizer writes where the slots would begin (rule R13).
    if not references or (job.options.relocatable and not is_deferred):
        return
    if names.kept is not None:  # rule K16
        names.kept.enter(_SLOTS)
        names.kept.strings.update({_OFFSET + r.name: None for r in references})
    references = split_sort(references, lambda _a, _b: True)
    below = reach.below()
    kinds_of = _kinds_used(relocations)
    kinds = {k: set().union(*(kinds_of.get(f, ()) for f in below[k])) for k in below.kernels}
    chosen = _chosen(job, objects, reach, kinds)
    banks = {
        s.owner: s
        for s in sections.made
        if s.sh_type == SHT_CUDA_CONSTANT_B0 and s.owner is not None
    }
    empty = job.target.architecture.param_base if is_deferred else 0
    end = max((s.size for s in banks.values()), default=empty)
    start = align_up(end, job.family.slot_align)
    step = 0 if job.options.relocatable else _SLOT
    handles.slots = {r: start + step * i for i, r in enumerate(references)}
    for kernel in () if job.options.relocatable else chosen:
        bank = banks.get(kernel)
        if in_mercury:
            bank = _slot_section(maker, kernel)
        if bank is None:
            continue
        bank.data.extend(bytes(start + _SLOT * len(references) - bank.size))
        if is_deferred:
            _make_again(names, sections, handles, bank)
        rows = maker.reloc_section(bank, is_rela=job.family.constant0_deferred)
        if rows is None:
            name = ".rela" + bank.name
            rows = maker.create_reloc_section(name, bank, True, 8, 24, listed=False)
        types = job.family.handle_relocs
        unified = STT_CUDA_TEXTURE in kinds[kernel] and STT_CUDA_SAMPLER not in kinds[kernel]
        rows.relocs += [
            relocation(at, types[r.kind], r, 0, 0)
            for r, at in handles.slots.items()
            if not (unified and r.kind == STT_CUDA_SAMPLER)
            and (r.in_globals or r.section is kernel.section)
        ]


def _chosen(
    job: Job, objects: list[InputObject], reach: Reach, kinds: dict[Symbol, set[int]]
) -> list[Symbol]:
    """The kernels that get slots (rule H2).

    Args:
        kinds: kernel -> kinds of references that it reaches.
    """
    wanted = reach.kernels()
    is_alone = len(wanted) == 1 and not reach.remaining and _named_in_code(objects)
    if is_alone and job.family.constant0_deferred:
        return wanted
    return [k for k, found in kinds.items() if found or (is_alone and k in wanted)]


def _references(objects: list[InputObject], names: Names, symbols: Symbols) -> list[Symbol]:
    """By kind, the last met first: file by file, parameters (local symbols) before the others."""
    locals_ = [entry for entry in names.entries if isinstance(entry, Symbol)]
    named = {symbol for symbol in (*locals_, *symbols.globals) if symbol.kind in HANDLE_KINDS}
    met = dict.fromkeys(s for obj in objects for s in obj.bound if s in named)
    return [s for kind in HANDLE_KINDS for s in reversed(met) if s.kind == kind]


def _named_in_code(objects: list[InputObject]) -> bool:
    """Whether any code of the inputs names a reference, linked or not."""
    return any(
        symbol.kind in HANDLE_KINDS
        for obj in objects
        for _, _, index, _ in code_relocations(obj)
        if (symbol := obj.bound[index]) is not None
    )


def _kinds_used(relocations: Relocations) -> dict[Symbol, set[int]]:
    """Linked function -> kinds of references that its code names."""
    used: dict[Symbol, set[int]] = {}
    for (target, _), section in relocations.sections.items():
        kinds = {r.symbol.kind for r in section.relocs if r.symbol.kind in HANDLE_KINDS}
        if kinds and target.owner is not None:
            used.setdefault(target.owner, set()).update(kinds)
    return used


def _slot_section(maker: Maker, kernel: Symbol) -> OutSection:
    """The section of the slots alone that a kernel of the Mercury half has."""
    section = maker.create_section(
        _MERCURY_BANK + kernel.name,
        SHT_CUDA_CONSTANT_B0,
        SHF_ALLOC | SHF_INFO_LINK,
        _SLOT,
        owner=kernel,
    )
    section.info_section = kernel.section
    return section


def _make_again(names: Names, sections: Sections, handles: Handles, bank: OutSection) -> None:
    """A bank with slots exists before the finalizer makes the others (rule H4)."""
    assert bank.owner is not None
    handles.kernels.add(bank.owner)
    sections.made.remove(bank)
    names.drop({bank})
    sections.made.append(bank)
    names.entries.append(bank)
