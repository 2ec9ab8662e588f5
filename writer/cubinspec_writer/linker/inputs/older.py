"""Brings what toolkits before CUDA 13 wrote into today's form."""

from __future__ import annotations

from cubinspec.format.packing import barriers_of
from cubinspec_generated.codes import (
    SHF_BARRIERS_MASK,
    SHF_INFO_LINK,
    SHT_CUDA_CONSTANT_B0,
    SHT_NOBITS,
    SHT_PROGBITS,
)
from cubinspec_writer.linker.inputs.rows import InSection
from cubinspec_writer.linker.model import SHF_UNSAID

TYPE_CHECKING = False

_BANK = ".nv.constant"
_ELF_TYPES = (SHT_PROGBITS, SHT_NOBITS)


def classified(section: InSection) -> InSection:
    """A section with the type that the spec's table gives its name.

    CUDA 10 wrote types of ELF, CUDA 11 one type for all constant banks; before CUDA 12 flags did
    not say that `sh_info` is a section.

    Rule O1.
    """
    from cubinspec_generated.tables import sections as table

    kind = table.EXACT.get(section.name)
    if kind is None:
        found = (kind for prefix, kind in table.PREFIXES if section.name.startswith(prefix))
        kind = next(found, None)
    if kind is None:
        return section
    usual = kind.relocatable
    sh_type, flags = section.sh_type, section.flags
    if sh_type != usual and (sh_type in kind.other_types or sh_type in _ELF_TYPES):
        sh_type = usual
    optional = kind.optional_flags & kind.flags & SHF_INFO_LINK
    if section.info and optional and not flags & SHF_INFO_LINK:
        flags |= SHF_INFO_LINK | (SHF_UNSAID if sh_type == SHT_CUDA_CONSTANT_B0 else 0)
    section.sh_type, section.flags = sh_type, flags
    return section


def with_bank_types(sections: list[InSection], untyped: set[tuple[int, int]]) -> None:
    """Give constants whose type says no bank the type of the bank in their name (rule O4).

    Args:
        untyped: the types and flags of which some of them are.
    """
    for section in sections:
        if (section.sh_type, section.flags) in untyped and section.name.startswith(_BANK):
            classified(section)


def without_barriers(
    sections: list[InSection], holding: set[int]
) -> tuple[list[InSection], dict[int, int]]:
    """Sections with the number of barriers taken out of their flags, and that number by section.

    It stood in the flags of code before it had an attribute (CUDA 12, rule O1).

    Args:
        holding: the flags that have such a number.
    """
    barriers = {s.index: barriers_of(s.flags) for s in sections if s.flags in holding}
    for index in barriers:
        sections[index].flags &= ~SHF_BARRIERS_MASK
    return sections, barriers
