"""The values of absent keys. The dumper leaves out exactly the keys that these rules give back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cubinspec.format import targets
from cubinspec.format.compat import written_records
from cubinspec.format.packing import abi_8_flags
from cubinspec_generated.codes import (
    EF_CUDA_SM_MASK,
    EF_CUDA_V2_CAPSULE,
    EF_CUDA_V2_SASS_ONLY,
    EF_CUDA_V2_SM_SHIFT,
    EIATTR_CBANK_PARAM_SIZE,
    ELFOSABI_CUDA_V2,
    NT_NV_CUINFO,
    NT_NV_CUVER,
    NT_NV_TKINFO,
    SHN_UNDEF,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_CONSTANT_B0,
    SHT_PROGBITS,
    STT_FUNC,
    STT_NOTYPE,
)
from cubinspec_generated.producers import PRODUCERS
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.model import Header, Section

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cubinspec_writer.emitter.bodies import AttributeRecord

#: Tables that every file has; left out when they stand first and have their usual headers.
STANDARD = (".shstrtab", ".strtab", ".symtab")
NOTE_OWNER, NOTE_VERSION = "NVIDIA Corp", 2
NOTE_TYPES = {
    ".note.nv.tkinfo": NT_NV_TKINFO,
    ".note.nv.cuinfo": NT_NV_CUINFO,
    ".note.nv.cuver": NT_NV_CUVER,
}
#: The lists of a call graph, in the order of their markers.
GRAPH_LISTS = ("calls", "address_taken", "indirect_calls", "references")
_BANK = ".nv.constant0."
_BANK_TYPES = frozenset((SHT_PROGBITS, SHT_CUDA_CONSTANT_B0))


def sm_of(name: str) -> int | None:
    """The number of an architecture such as ``sm_90a``; ``None``: there is none of that name."""
    found = targets.target(name)
    return None if found is None else found.sm


def profile_of(sm: int | None) -> str:
    """The name of the producer that ptxas is for an architecture."""
    return targets.WRITTEN.producers[targets.family_of(sm or 0).name]


def arch_flags(sm: int, profile: str) -> int:
    """``e_flags`` of ABI 8: which kind of code, and the architecture."""
    kind = EF_CUDA_V2_CAPSULE if PRODUCERS[profile].capsules else EF_CUDA_V2_SASS_ONLY
    return abi_8_flags(kind, sm)


def arch_name(header: Header, profile: str) -> str | None:
    """The architecture whose ``e_flags`` a header has; ``None`` when they say something else."""
    sm = header.e_flags >> EF_CUDA_V2_SM_SHIFT
    is_usual = header.ei_osabi == ELFOSABI_CUDA_V2 and sm in targets.ARCHITECTURES
    return f"sm_{sm}" if is_usual and header.e_flags == arch_flags(sm, profile) else None


def symbol_section(name: str, sections: Mapping[str, Section]) -> Section | int:
    """Where a symbol is defined: a function in the section that is named after it."""
    return sections.get(f".text.{name}", SHN_UNDEF)


def symbol_shape(name: str, section: Section | int) -> tuple[int, int]:
    """Type and size of a symbol: a function is as long as the section named after it."""
    if isinstance(section, Section) and section.name == f".text.{name}":
        return STT_FUNC, section.body.size
    return STT_NOTYPE, 0


def bank_size(section: Section, header: Header, sections: Mapping[str, Section]) -> int | None:
    """Size of a kernel's parameter bank: what the architecture reserves, then the parameters.

    ``None`` for other sections, and for architectures whose reserved part is not known.
    """
    if not section.name.startswith(_BANK) or section.sh_type not in _BANK_TYPES:
        return None
    flags = header.e_flags
    is_abi_8 = header.ei_osabi == ELFOSABI_CUDA_V2
    sm = flags >> EF_CUDA_V2_SM_SHIFT if is_abi_8 else flags & EF_CUDA_SM_MASK
    base = targets.param_base(sm)
    info = sections.get(".nv.info." + section.name.removeprefix(_BANK))
    if base is None or info is None or not isinstance(info.body, bodies.InfoRecords):
        return base
    sizes = [value for _, code, value, _ in info.body.records if code == EIATTR_CBANK_PARAM_SIZE]
    return base + sum(sizes)


def compat_records(section: Section, arch_: str | None) -> list[AttributeRecord] | None:
    """What ptxas writes into ``.nv.compat``; ``None`` where no architecture says it."""
    if section.name != ".nv.compat" or arch_ is None or section.sh_type != SHT_CUDA_COMPAT_INFO:
        return None
    found = targets.target(arch_)
    return written_records(found) if found in targets.written_targets() else None


def graph_lists(rows: list[tuple[int, int | str]]) -> list[list[tuple[int, int | str]]] | None:
    """A call graph as its four lists; ``None`` when the markers do not stand in their order."""
    lists: list[list[tuple[int, int | str]]] = []
    for row in rows:
        first, second = row
        if first == 0 and second in bodies.CALLGRAPH_MARKERS:
            if second not in bodies.CALLGRAPH_MARKERS[len(lists) : len(lists) + 1]:
                return None
            lists.append([])
        elif not lists:
            return None
        else:
            lists[-1].append(row)
    return lists if len(lists) == len(GRAPH_LISTS) else None
