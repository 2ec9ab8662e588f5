"""Brings what toolkits before CUDA 13 wrote into today's form."""

from __future__ import annotations

from cubinspec.format.attributes import raw_record, split_records
from cubinspec.format.packing import barriers_of
from cubinspec.format.sections import CONSTANT_BANK_TYPES, MERCURY_PREFIX
from cubinspec_generated.codes import (
    EIATTR_MERCURY_ISA_VERSION,
    EIFMT_HVAL,
    MERCURY_ISA_FIRST,
    SHF_BARRIERS_MASK,
    SHF_INFO_LINK,
    SHT_CUDA_INFO,
    SHT_NOBITS,
    SHT_PROGBITS,
)
from cubinspec_writer.linker.inputs.rows import InSection
from cubinspec_writer.linker.model import SHF_UNSAID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec.reader.elf import Elf
    from cubinspec_writer.linker.model import InputObject

_BANK = ".nv.constant"
_ELF_TYPES = (SHT_PROGBITS, SHT_NOBITS)

_FIRST_ISA: Final = raw_record(EIFMT_HVAL, EIATTR_MERCURY_ISA_VERSION, MERCURY_ISA_FIRST)


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
        flags |= SHF_INFO_LINK | (SHF_UNSAID if sh_type in CONSTANT_BANK_TYPES else 0)
    section.sh_type, section.flags = sh_type, flags
    return section


def with_bank_types(sections: list[InSection], untyped: set[tuple[int, int]]) -> None:
    """Give constants whose type says no bank the type of the bank in their name (rule O4).

    What `-r` made of banks of CUDA 11 still does not say by its flags who owns them (rule O1).

    Args:
        untyped: the types and flags of which some of both are.
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


def with_isa_version(obj: InputObject, elf: Elf) -> None:
    """Let the functions of one half say the version of their Mercury instructions (rule O6).

    Args:
        elf: has a Mercury half.
    """
    unsaid = [s for s in obj.of_type(SHT_CUDA_INFO) if s.info and not _says_isa(obj, s)]
    twins: dict[str, list[int]] = {}
    for index, name in enumerate(elf.section_names if unsaid else ()):
        twins.setdefault(name, []).append(index)
    for section in unsaid:
        rows = obj.records(section.index)
        twin = twins.get(MERCURY_PREFIX + section.name)
        # Behind these the SASS half has what the finalizer added.
        end = len(rows)
        if twin:
            known = {row[1] for row in split_records(bytes(elf.section_bytes(twin.pop(0))))}
            end = max((at + 1 for at, row in enumerate(rows) if row[1] in known), default=0)
        section.data = b"".join((*rows[:end], _FIRST_ISA, *rows[end:]))
        section.size = len(section.data)
    obj.info.clear()  # the finalizer changes contents before the records are asked for


def _says_isa(obj: InputObject, section: InSection) -> bool:
    return any(row[1] == EIATTR_MERCURY_ISA_VERSION for row in obj.records(section.index))
