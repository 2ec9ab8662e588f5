"""What this linker does not know of extensible whole programs, refused by name."""

from __future__ import annotations

from cubinspec_generated.codes import (
    SHN_UNDEF,
    SHT_CUDA_RESERVED_SHARED,
    STB_LOCAL,
    STO_CUDA_SHARED,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
)
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.model import HANDLE_KINDS, REGISTER_TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.format.targets import Family
    from cubinspec_writer.linker.inputs.options import LinkOptions
    from cubinspec_writer.linker.model import InputObject


def check_extensible(objects: list[InputObject], options: LinkOptions, family: Family) -> None:
    """Refuse what this linker does not know of extensible whole programs (rules X17, X18).

    Raises:
        UnsupportedLinkError: textures (but for sm_90 without `-r`), names of shared variables, `-r`
            from sm_100 on; from sm_90 on, with `-r` and with debug data, several copies of a
            function; with debug data from sm_100 on functions with two names.
    """
    programs = [obj for obj in objects if obj.is_extensible]
    for obj in programs:
        if family.capsule and options.relocatable:
            raise UnsupportedLinkError(f"-r with an extensible whole program ('{obj.name}')")
        has_slots = not obj.kinds.isdisjoint(HANDLE_KINDS)
        if has_slots and (family.capsule or family.rel_sections or options.relocatable):
            raise UnsupportedLinkError(f"textures in an extensible whole program ('{obj.name}')")
        memory = {section.index for section in obj.of_type(SHT_CUDA_RESERVED_SHARED)}
        for row in obj.named:
            is_shared = row.other & STO_CUDA_SPACE_MASK == STO_CUDA_SHARED << STO_CUDA_SPACE_SHIFT
            if is_shared and row.shndx not in memory:
                raise UnsupportedLinkError(
                    "a shared variable with a name in an extensible whole program "
                    f"('{row.name}' in '{obj.name}')"
                )
    tabled = [obj for obj in programs if any(s.name == REGISTER_TABLE for s in obj.sections)]
    for obj in tabled if family.capsule else ():
        places = [(row.shndx, row.value) for row in obj.functions if row.shndx]
        if len(set(places)) < len(places):
            raise UnsupportedLinkError(
                f"a function with two names in an extensible whole program with debug data "
                f"('{obj.name}')"
            )
    if not family.rel_sections or options.relocatable or tabled:
        _check_copies(objects)


def _check_copies(objects: list[InputObject]) -> None:
    """Refuse several copies of a function when one is in an extensible whole program (rule X18)."""
    owners: dict[str, InputObject] = {}
    for obj in objects:
        for row in obj.functions:
            if row.bind == STB_LOCAL or row.shndx == SHN_UNDEF:
                continue
            first = owners.setdefault(row.name, obj)
            if first is not obj and (first.is_extensible or obj.is_extensible):
                raise UnsupportedLinkError(
                    f"copies of '{row.name}' in '{first.name}' and '{obj.name}', one of which is "
                    "an extensible whole program"
                )
