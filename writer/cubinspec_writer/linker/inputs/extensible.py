"""What this linker does not know of extensible whole programs, refused by name."""

from __future__ import annotations

from cubinspec_generated.codes import (
    SHN_UNDEF,
    SHT_CUDA_RESERVED_SHARED,
    STB_GLOBAL,
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
        UnsupportedLinkError: textures (but for sm_90 without `-r`), names of shared variables;
            copies of a function in objects of both kinds, and from sm_100 on, with `-r` and with
            debug data any copies; with debug data from sm_100 on functions with two names, and with
            `-r` two static ones of one name.
    """
    programs = [obj for obj in objects if obj.is_extensible]
    for obj in programs:
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
    if family.capsule and options.relocatable and tabled:
        _check_static(objects)
    _check_copies(objects, is_any=family.capsule or options.relocatable or bool(tabled))


def _check_static(objects: list[InputObject]) -> None:
    """Refuse static functions of one name in several inputs, as nvlink looks for places by name."""
    owners: dict[str, InputObject] = {}
    for obj in objects:
        for row in obj.functions:
            first = owners.setdefault(row.name, obj)
            if first is not obj and row.bind == STB_LOCAL:
                raise UnsupportedLinkError(
                    f"-r, debug data of an extensible whole program, and static functions "
                    f"'{row.name}' in '{first.name}' and '{obj.name}'"
                )


def _check_copies(objects: list[InputObject], *, is_any: bool) -> None:
    """Refuse copies of a function of which one is in an extensible whole program (rule X18).

    Args:
        is_any: otherwise only where the other copy is in an object of another kind.
    """
    owners: dict[str, tuple[InputObject, int]] = {}
    refused = ""
    for obj in objects:
        for row in obj.functions:
            if row.bind == STB_LOCAL or row.shndx == SHN_UNDEF:
                continue
            first, bind = owners.setdefault(row.name, (obj, row.bind))
            if first is obj:
                continue
            if bind == row.bind == STB_GLOBAL:
                return  # two definitions are an error anyway
            is_mixed = first.is_extensible != obj.is_extensible
            if is_mixed or (is_any and obj.is_extensible):
                refused = refused or (
                    f"copies of '{row.name}' in '{first.name}' and '{obj.name}', one of which is "
                    "an extensible whole program"
                )
    if refused:
        raise UnsupportedLinkError(refused)
