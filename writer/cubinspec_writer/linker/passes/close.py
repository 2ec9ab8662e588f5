"""Closes the list of sections: what stayed empty goes, `.nv.rel.action` comes last."""

from __future__ import annotations

from cubinspec_generated.codes import SHT_CUDA_RELOCINFO
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.state import LinkState

#: `.nv.rel.action` of every executable up to sm_90: what relocation type 115 does.
_REL_ACTION = bytes.fromhex("73000000000000000000001125000536")

READS = "constants.mixed relocations.sections section.is_nobits section.name sections.vacated"
WRITES = (
    "names.entries names.reserved section.content section.emitted section.relocs sections.by_type "
    "sections.made sections.unowned"
)
FREEZES = "names.entries names.reserved sections.by_type sections.made sections.unowned"


def run(state: LinkState) -> None:
    """Drop sections that stayed empty, and add the one that only executables have (rule X8)."""
    if state.constants.mixed:
        _cut_relocations(state)
    if state.sections.vacated:
        _drop_empty(state)
    if state.family.rel_action and not state.options.relocatable:
        action = state.create_section(".nv.rel.action", SHT_CUDA_RELOCINFO, 0, 8, entsize=8)
        action.content = _REL_ACTION


def _cut_relocations(state: LinkState) -> None:
    """Relocations behind the end of constants, of a copy that gave way, go.

    nvlink refuses the link when the replaced copy had larger tables (rule X10).
    """
    for section in state.constants.mixed:
        relocs = state.reloc_section(section, is_rela=True)
        if relocs is None or all(row.offset < section.size for row in relocs.relocs):
            continue
        if state.options.relocatable and section.content:
            raise UnsupportedLinkError(f"-r with a larger weak copy of section '{section.name}'")
        relocs.relocs = [row for row in relocs.relocs if row.offset < section.size]


def _drop_empty(state: LinkState) -> None:
    """Banks that stay empty leave no name either (rule W4)."""
    for section in state.sections.vacated:
        section.emitted = bool(section.content)
    gone = {section for section in state.sections.vacated if not section.emitted}
    for section in list(gone):
        # Relocations of the copy that gave way (rule F4).
        relocs = state.reloc_section(section, is_rela=True)
        if relocs is not None:
            relocs.relocs.clear()
            gone.add(relocs)
    if gone:
        state.names.drop(gone)
