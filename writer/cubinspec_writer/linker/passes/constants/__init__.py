"""Copies the compiler's constants of device functions into the banks of kernels.

Constants of a device function (`.nv.constant2.F`) go into the bank of every kernel that reaches the
function, at one offset for all of them (rule C1).
"""

from __future__ import annotations

from cubinspec.format.packing import align_up
from cubinspec_generated.codes import (
    SHF_ALLOC,
    SHF_INFO_LINK,
    SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_CONSTANT_B3,
)
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.model import OutSection, Reloc, Symbol, relocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.graph import Below
    from cubinspec_writer.linker.inputs.rows import InSection
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import (
        Constants,
        Job,
        Maker,
        Reach,
        Relocations,
        Sections,
        Symbols,
    )

_CONSTANT_LIMIT: Final = 0x10000
_CONSTANT2: Final = SHT_CUDA_CONSTANT_B2
_CONSTANT3: Final = SHT_CUDA_CONSTANT_B3

READS = (
    "constants.lost constants.tables graph.calls graph.indirect names.reserved object.placed "
    "relocations.staged section.is_nobits section.name section.owner section.sh_type "
    "sections.members sections.staging symbol.bind symbol.internal symbol.kind symbol.name "
    "symbol.other symbol.section symbol.size symbols.functions"
)
WRITES = (
    "constants.aliases constants.copies names.entries names.kept relocations.listings "
    "relocations.resolved relocations.sections section.align section.content section.emitted "
    "section.info_section section.relocs sections.by_type sections.made sections.vacated "
    "symbol.parts symbol.value symbols.null_value"
)
FREEZES = (
    "constants.aliases constants.copies relocations.listings relocations.resolved "
    "relocations.sections section.align sections.vacated symbol.parts symbols.null_value"
)


def run(
    job: Job,
    objects: list[InputObject],
    diagnostics: Diagnostics,
    symbols: Symbols,
    sections: Sections,
    relocations: Relocations,
    constants: Constants,
    reach: Reach,
    maker: Maker,
) -> None:
    """Lay out the constants of the compiler."""
    _place_constants(
        job, diagnostics, symbols, sections, relocations, constants, maker, reach.below()
    )
    _mark_last_block(job, objects, symbols, reach)
    _check_limits(diagnostics, sections)


def _place_constants(
    job: Job,
    diagnostics: Diagnostics,
    symbols: Symbols,
    sections: Sections,
    relocations: Relocations,
    constants: Constants,
    maker: Maker,
    below: Below,
) -> None:
    sharing = None
    if job.options.share_constants and not job.family.capsule:
        from cubinspec_writer.linker.passes.constants.share import Sharing

        sharing = Sharing(diagnostics, sections, relocations, constants, maker)
    for part in reversed([s for s in sections.staging if s.sh_type == _CONSTANT2]):
        kernels = below.reaching(part.owner) if part.owner is not None else []
        aliases = sharing.reduce(part, frozenset(kernels)) if sharing and kernels else {}
        if aliases and not part.content:
            for symbol, offset in aliases.items():
                symbol.value = offset
            continue
        # Kernels without constants of their own get a bank, last kernel first (rule N6).
        targets = [_bank_of(sections, maker, k, part) for k in reversed(kernels)]
        if not targets:
            continue
        # All of them take the largest alignment, and the copy is padded to it (rule C2).
        align = max(part.align, *(t.align for t in targets))
        at = align_up(max(t.size for t in targets), align)
        size = align_up(part.size, align)
        # Tables are copied one by one, with what has a place in them, in the order of
        # their places (rule C4).
        rows = [
            row
            for start, size in sorted(constants.tables.get(part, ()))
            for row in relocations.staged.get(part, ())
            if start <= row.offset < start + size
        ]
        constants.copies[part] = [(target, at) for target in targets]
        for target in targets:
            _copy_relocs(maker, rows, target, at)
            target.align = align
            target.data.extend(bytes(at - target.size))
            target.data += part.data
            target.data.extend(bytes(size - part.size))
        for symbol in sections.members.get(part, ()):
            symbol.value = aliases[symbol] if symbol in aliases else symbol.value + at
        for section, offset in constants.lost:
            if section is part:
                # nvlink writes the place of these into the symbol that they do not have (rule W7).
                symbols.null_value = at + offset
        if sharing is not None:
            sharing.placed(part, frozenset(kernels), at)


def _mark_last_block(job: Job, objects: list[InputObject], symbols: Symbols, reach: Reach) -> None:
    """With options that remove kernels, the null symbol has the place of some constant data.

    nvlink then looks for equal blocks among the `.nv.constant3` of all inputs, and leaves the
    second of two out while code goes on to read its old place, behind the section's end. So nothing
    is left out here; the place of the last block that is a new one is harmless (rules C3, X9).
    """
    seen = debugger_sees(job.options)
    if reach.filter is None or seen or not job.toolkit.looks_for_equal_constants:
        return
    known: set[tuple[int, bytes]] = set()
    for obj in objects:
        for source in obj.sections:
            place = obj.placed[source.index]
            if source.sh_type != _CONSTANT3 or place is None or not _is_shared_size(source):
                continue
            is_new = (source.align, source.data) not in known
            if is_new or (source.size in _WORDS and not any(source.data)):
                symbols.null_value = place[1]
            known.add((source.align, source.data))


def _is_shared_size(block: InSection) -> bool:
    return block.size in _BLOCKS or (block.size in _WORDS and block.align == block.size)


#: Sizes of blocks of which nvlink looks for equal ones, whatever their alignment, and those whose
#: alignment has to be as large.
_BLOCKS: Final = frozenset((12, 16, 20, 24, 32, 48, 64))
_WORDS: Final = frozenset((4, 8))


def _copy_relocs(maker: Maker, rows: list[Reloc], bank: OutSection, shift: int) -> None:
    """Give a bank the relocations of constants that were copied into it, before its own."""
    if not rows:
        return
    section = maker.reloc_section(bank, is_rela=True) or maker.create_reloc_section(
        ".rela" + bank.name, bank, True, 8, 24
    )
    section.relocs[:0] = [
        relocation(r.offset + shift, r.r_type, r.symbol, r.addend, r.serial) for r in rows
    ]


def _bank_of(sections: Sections, maker: Maker, kernel: Symbol, like: OutSection) -> OutSection:
    assert like.owner is not None
    name = like.name.removesuffix(like.owner.name) + kernel.name
    section = sections.find(name, kernel)
    if section is None:
        section = maker.create_section(
            name, like.sh_type, SHF_ALLOC | SHF_INFO_LINK, like.align, owner=kernel
        )
        section.info_section = kernel.section
        # It is removed if nothing is copied: the linked copy of the function may have no constants
        # (rule W5).
        sections.vacated.append(section)
    return section


def _check_limits(diagnostics: Diagnostics, sections: Sections) -> None:
    for section in sections.by_type.get(_CONSTANT3, ()):
        if section.size > _CONSTANT_LIMIT:
            diagnostics.error(
                f"File uses too much global constant data ({section.size:#x} bytes, "
                f"{_CONSTANT_LIMIT:#x} max)"
            )
