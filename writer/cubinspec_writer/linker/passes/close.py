"""Ends the list of sections: empty banks are removed, `.nv.rel.action` is added last."""

from __future__ import annotations

from cubinspec_generated.codes import SHT_CUDA_CONSTANT_B3, SHT_CUDA_RELOCINFO
from cubinspec_writer.linker.diagnostics import PAST_END
from cubinspec_writer.linker.library.outsymbols import NO_ADDRESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.state import Constants, Job, Maker, Names, Sections, Symbols

#: `.nv.rel.action` of every executable up to sm_90: what relocation type 115 does.
_REL_ACTION: Final = bytes.fromhex("73000000000000000000001125000536")

READS = (
    "constants.mixed relocations.sections section.is_nobits section.name section.owner "
    "sections.strays sections.vacated symbol.parts symbols.bank_size"
)
WRITES = (
    "names.entries names.kept names.reserved section.content section.emitted section.relocs "
    "sections.by_type sections.made sections.unowned symbol.value"
)
FREEZES = "names.entries names.kept names.reserved sections.by_type sections.made sections.unowned"


def run(
    job: Job,
    diagnostics: Diagnostics,
    names: Names,
    symbols: Symbols,
    sections: Sections,
    constants: Constants,
    maker: Maker,
) -> None:
    """Drop sections that stayed empty, and add the one that only executables have."""
    if constants.mixed:
        _cut_relocations(diagnostics, constants, maker)
    if sections.vacated:
        _drop_empty(job, names, sections, maker)
    if symbols.bank_size is not None:
        banks = sections.by_type.get(SHT_CUDA_CONSTANT_B3, ())
        sizes = [bank.size for bank in banks if bank.emitted]
        symbols.bank_size.value = sizes[0] if sizes else NO_ADDRESS  # rule C5
    if job.has_rel_action:
        action = maker.create_section(".nv.rel.action", SHT_CUDA_RELOCINFO, 0, 8, entsize=8)
        action.content = _REL_ACTION


def _cut_relocations(diagnostics: Diagnostics, constants: Constants, maker: Maker) -> None:
    """Remove relocations of replaced copies that lie behind the end of the constants.

    Where constants of another copy are in the output, they end the link (rule M62).
    """
    for section in constants.mixed:
        relocs = maker.reloc_section(section, is_rela=True)
        if relocs is None or all(row.offset < section.size for row in relocs.relocs):
            continue
        if section.content and section.emitted:
            diagnostics.postpone(PAST_END)
        relocs.relocs = [row for row in relocs.relocs if row.offset < section.size]


def _drop_empty(job: Job, names: Names, sections: Sections, maker: Maker) -> None:
    """Remove banks that stayed empty, and their names (rule W4)."""
    for section in sections.vacated:
        section.emitted = bool(section.content)
    gone = {section for section in sections.vacated if not section.emitted}
    if job.options.relocatable:
        gone -= sections.strays  # they leave their names
    for section in list(gone):
        # These are relocations of the replaced copy (rule F4).
        relocs = maker.reloc_section(section, is_rela=True)
        if relocs is not None:
            relocs.relocs.clear()
            gone.add(relocs)
    if gone:
        names.drop(gone)
