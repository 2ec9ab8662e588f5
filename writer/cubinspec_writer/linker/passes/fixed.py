"""Names the sections that every output has."""

from __future__ import annotations

from cubinspec.format.sections import SHNDX
from cubinspec_generated import records
from cubinspec_generated.codes import (
    SHF_INFO_LINK,
    SHF_NOTE_NV_TKINFO,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_INFO,
    SHT_CUDA_UFT_ENTRY,
    SHT_CUDA_UIDX,
    SHT_NOTE,
    SHT_STRTAB,
    SHT_SYMTAB,
)
from cubinspec_writer.linker.library.demands import has_globals
from cubinspec_writer.linker.model import UFT_ENTRY, OutSection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import Job, Maker, Names, Sections

#: What files have from CUDA 13 on (rule K10).
_NOTES: Final[tuple[str, ...]] = (".note.nv.tkinfo", ".note.nv.cuinfo", ".nv.compat")

READS = ""
WRITES = (
    "names.entries names.kept names.loose section.content section.emitted section.has_symbol "
    "section.info_section sections.by_type sections.fixed sections.made sections.unowned"
)
FREEZES = "section.has_symbol sections.fixed"


def run(
    job: Job, objects: list[InputObject], names: Names, sections: Sections, maker: Maker
) -> None:
    """Enter the sections that every output has."""
    family = job.family
    fixed = {
        ".shstrtab": OutSection(".shstrtab", SHT_STRTAB, 0, 1),
        ".strtab": OutSection(".strtab", SHT_STRTAB, 0, 1),
        ".symtab": OutSection(".symtab", SHT_SYMTAB, 0, 8, 24),
        ".note.nv.tkinfo": OutSection(".note.nv.tkinfo", SHT_NOTE, SHF_NOTE_NV_TKINFO, 4),
        ".note.nv.cuinfo": OutSection(
            ".note.nv.cuinfo", SHT_NOTE, family.cuinfo_flags | _link_flag(objects), 4
        ),
        ".nv.info": OutSection(".nv.info", SHT_CUDA_INFO, 0, 4),
        ".nv.compat": OutSection(".nv.compat", SHT_CUDA_COMPAT_INFO, 0, 4),
    }
    if not family.compat_section:
        del fixed[".nv.compat"]
    if not job.toolkit.notes:
        for name in [name for name in fixed if name in _NOTES]:
            del fixed[name]
    for name, section in fixed.items():
        if name == ".nv.info" and not job.options.relocatable:
            _create_function_rows(job, objects, maker)
        section.has_symbol = section.sh_type == SHT_NOTE
        names.append(section)
        if name == ".symtab":
            names.add(SHNDX)
            if names.kept is not None:
                names.kept.enter(UFT_ENTRY)
    if job.index is not None:
        copy = maker.create_section(".nv.uidx", SHT_CUDA_UIDX, 0, 1)
        copy.content = job.index.data
    if job.toolkit.notes:
        fixed[".note.nv.cuinfo"].info_section = fixed.get(".nv.compat")
    fixed[".nv.info"].emitted = any(has_globals(obj) for obj in objects)
    sections.fixed = fixed


def _link_flag(objects: list[InputObject]) -> int:
    """The CUDA note names the compatibility records, also those of an input (rule E3)."""
    named = any(
        section.index in {row.shndx for row in obj.named}
        for obj in objects
        for section in obj.of_type(SHT_CUDA_COMPAT_INFO)
    )
    return SHF_INFO_LINK if named else 0


def _create_function_rows(job: Job, objects: list[InputObject], maker: Maker) -> None:
    """The rows of functions come in front of `.nv.info` where there is a table of functions.

    Rule U3.
    """
    has_rows = any(obj.of_type(SHT_CUDA_UFT_ENTRY) for obj in objects)
    if job.index is not None and not has_rows:
        from cubinspec_writer.linker.library.unified import is_stub

        has_rows = any(is_stub(s) for o in objects for s in o.sections)
    if has_rows:
        maker.create_section(UFT_ENTRY, SHT_CUDA_UFT_ENTRY, 0, 32, entsize=records.UFT_ENTRY.size)
