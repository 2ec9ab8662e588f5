"""Gives common variables their places at the end of `.nv.global`, last name first."""

from __future__ import annotations

from cubinspec_generated.codes import SHF_ALLOC, SHF_WRITE, SHT_CUDA_GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.state import Maker, Sections, Symbols

_GLOBAL: Final = ".nv.global"

READS = (
    "section.is_nobits section.reserved symbol.alignment symbol.common symbol.size "
    "symbols.by_name symbols.commons"
)
WRITES = (
    "names.entries names.kept section.align section.nobits_size sections.by_type sections.made "
    "sections.unowned symbol.section symbol.value"
)
FREEZES = ""


def run(symbols: Symbols, sections: Sections, maker: Maker) -> None:
    """Allocate common variables, the one that was first met as common last (rule W16)."""
    commons = [symbol for name in symbols.commons if (symbol := symbols.by_name[name]).common]
    if not commons:
        return
    section = sections.find(_GLOBAL) or maker.create_section(
        _GLOBAL, SHT_CUDA_GLOBAL, SHF_ALLOC | SHF_WRITE, 0
    )
    for symbol in reversed(commons):
        symbol.value = section.append(b"", symbol.size, symbol.alignment)
        symbol.section = section
