"""Ends links that remove kernels where nvlink cannot remove them."""

from __future__ import annotations

from cubinspec.format.sections import CONSTANT_BANK_TYPES
from cubinspec_generated.codes import SHF_INFO_LINK, SHN_UNDEF, SHT_CUDA_CONSTANT_B0
from cubinspec_writer.linker.library.copies import accepted_here, left_relocations
from cubinspec_writer.linker.model import HANDLE_KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.model import InputObject, Symbol
    from cubinspec_writer.linker.state import Job


READS = (
    "object.bound object.called symbol.definition symbol.kind symbol.live symbol.other "
    "symbol.replaced"
)
WRITES = ""
FREEZES = ""


def run(job: Job, objects: list[InputObject], diagnostics: Diagnostics) -> None:
    """Refuse what cannot be removed.

    Raises:
        LinkError: from sm_100 on, a copy that gave way had relocations (rule M60).
    """
    functions = {symbol for obj in objects for symbol in obj.called.values()}
    ends = job.family.keeps_symbols and job.toolkit.leaves_relocations
    if ends and any(left_relocations(f) for f in functions if f.replaced):
        raise diagnostics.fatal("Internal error: unexpected reloc")
    gone = {f for f in functions if f.is_entry and not f.live}
    if gone and (_names_textures(objects, gone) or _has_two_banks(objects, gone)):
        diagnostics.postpone("Internal error: reference to deleted section")


def _names_textures(objects: list[InputObject], gone: set[Symbol]) -> bool:
    """Whether a removed kernel has parameters that are textures, whose symbols stay (rule M61)."""
    return any(
        row.kind in HANDLE_KINDS and row.shndx in codes
        for obj in objects
        if not obj.kinds.isdisjoint(HANDLE_KINDS)
        for codes in [{r.shndx for r in obj.functions if r.shndx and obj.bound[r.index] in gone}]
        for row in obj.named
    )


def _has_two_banks(objects: list[InputObject], gone: set[Symbol]) -> bool:
    """Whether constants of a removed kernel have two sections, as rule W18 says (rule M61).

    Only the first one goes.
    """
    stray: set[Symbol] = set()
    own: set[Symbol] = set()
    for obj in objects:
        banked = {
            section.info
            for section in obj.of_types(CONSTANT_BANK_TYPES - {SHT_CUDA_CONSTANT_B0})
            if section.flags & SHF_INFO_LINK
        }
        for row in obj.functions:
            symbol = obj.bound[row.index]
            if row.shndx == SHN_UNDEF or row.shndx not in banked or symbol not in gone:
                continue
            if accepted_here(obj, row.index):
                if symbol in stray and symbol not in own:
                    return True
                own.add(symbol)
            elif symbol not in own:
                stray.add(symbol)
    return False
