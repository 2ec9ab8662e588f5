"""Sections of a cubin as its Mercury half sees them.

A Mercury section (`.nv.capmerc.text.F`, `.nv.merc…`) takes the name and the type of the section
that it stands for. What exists only once, such as shared memory, zeroed globals, notes and the call
graph, belongs to both halves.
"""

from __future__ import annotations

from cubinspec.format.sections import CAPSULE_PREFIX, MERCURY_PREFIX, SASS_TYPE
from cubinspec_generated.codes import (
    CAPSULE_MARK,
    CAPSULE_UNMARKED,
    SHF_ALLOC,
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_MERC_CALLGRAPH,
    SHT_CUDA_MERC_CONSTANT_IMAGE_INDICES,
    SHT_CUDA_MERC_PROTOTYPE,
    SHT_CUDA_MERC_RESOLVED_RELA,
    SHT_CUDA_METADATA,
    SHT_NULL,
    SHT_SYMTAB,
)
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.reader.elf import Elf
    from cubinspec_writer.linker.inputs.rows import InSection


#: Bytes of each of the first words of a capsule: its section, and a mark or the number of items.
_WORD = 4
#: Mercury types that are not replaced: such sections are never joined with those of the SASS type.
_OWN_TYPES = (
    SHT_CUDA_MERC_CALLGRAPH,
    SHT_CUDA_MERC_CONSTANT_IMAGE_INDICES,
    SHT_CUDA_MERC_PROTOTYPE,
    SHT_CUDA_MERC_RESOLVED_RELA,
)
#: Sections of the SASS half that have a Mercury twin or are made from Mercury code.
_SASS_ONLY = (
    ".text.",
    ".rel",
    ".debug",
    ".nv_debug_",
    ".nv.info",
    ".nv.constant",
    ".nv.global.init",
    ".nv.uft.",
    ".nv.udt",
)


def mercury_sections(elf: Elf, sections: list[InSection]) -> list[InSection]:
    """The sections of the Mercury half; those of the SASS half alone have the type NULL."""
    of_half = [s.sh_type for s in sections if s.flags & SHF_CUDA_MERCURY]
    if SHT_CUDA_METADATA in of_half:  # from CUDA 13.4 on
        for section in sections:
            if section.sh_type == SHT_CUDA_METADATA and not section.flags & SHF_CUDA_MERCURY:
                section.sh_type = SHT_NULL
    return _point_at_capsules(elf, [_as_mercury(elf, section) for section in sections])


def _as_mercury(elf: Elf, section: InSection) -> InSection:
    """A section with the name, type and flags that it has in the Mercury half.

    Raises:
        UnsupportedLinkError: the flags are those of Mercury code and the name is not (rule X20).
    """
    name, sh_type, flags = section.name, section.sh_type, section.flags
    if flags & SHF_CUDA_MERCURY and not name.startswith((CAPSULE_PREFIX, MERCURY_PREFIX)):
        raise UnsupportedLinkError(f"section '{name}' with the flag of Mercury code")
    if flags & SHF_CUDA_MERCURY:
        is_code = sh_type == SHT_CUDA_CAPMERC
        name = name.removeprefix(CAPSULE_PREFIX if is_code else MERCURY_PREFIX)
        if sh_type not in _OWN_TYPES:
            sh_type = SASS_TYPE.get(sh_type, sh_type)
        flags &= ~SHF_CUDA_MERCURY
        if is_code:
            flags |= SHF_ALLOC | SHF_EXECINSTR
            _renew(elf, section)
    elif sh_type == SHT_SYMTAB or name.startswith(_SASS_ONLY):
        sh_type = SHT_NULL
    section.name, section.sh_type, section.flags = name, sh_type, flags
    return section


def _renew(elf: Elf, section: InSection) -> None:
    """Give a capsule of CUDA 12.8 today's form (rule O7)."""
    if not is_unmarked(section.data):
        return
    from cubinspec_writer.linker.inputs.old_capsules import renewed

    code = int.from_bytes(section.data[:_WORD], "little")
    if code < len(elf.section_rows):
        section.data = renewed(section.data, bytes(elf.section_bytes(code)))
        section.size = len(section.data)


def is_unmarked(capsule: bytes) -> bool:
    """Whether a capsule has the form of CUDA 12.8."""
    items = int.from_bytes(capsule[_WORD : _WORD + _WORD], "little")
    return items != CAPSULE_MARK and bool(items & CAPSULE_UNMARKED)


def _point_at_capsules(elf: Elf, sections: list[InSection]) -> list[InSection]:
    """Let sections that exist once (shared memory) belong to the Mercury code of their kernel.

    A capsule and the code section of the same function have the same symbol in `sh_info`.
    """
    infos = [info for _, _, _, _, _, _, _, info, _, _ in elf.section_rows]
    capsule_of: dict[int, int] = {}
    for index, (_, sh_type, _, _, _, _, _, symbol, _, _) in enumerate(elf.section_rows):
        if sh_type == SHT_CUDA_CAPMERC:
            capsule_of[symbol] = index
    pointed = []
    for section, row in zip(sections, elf.section_rows, strict=True):
        _, _, flags, _, _, _, _, owner, _, _ = row
        exists_once = section.sh_type != SHT_NULL and not flags & SHF_CUDA_MERCURY
        if exists_once and flags & SHF_INFO_LINK and owner < len(infos):
            section.info = capsule_of.get(infos[owner], section.info)
        pointed.append(section)
    return pointed
