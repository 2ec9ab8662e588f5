"""Where a section stands in the section header table; the numbers are those of `sections.yaml`.

* ``index_rank(name, sh_type)``, ``mercury_rank(name, sh_type, …)``: the rank of a section of either
  half; sections of one rank keep the order in which they were made
* writers with a loop of their own read the columns themselves
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_CUDA_INFO,
    SHT_CUDA_UFT_ENTRY,
    SHT_NOTE,
    SHT_PROGBITS,
)
from cubinspec_generated.columns import (
    MERCURY_RANK_OF_NAME,
    MERCURY_RANK_OF_OTHERS,
    MERCURY_RANK_OF_PREFIX,
    MERCURY_RANK_OF_TYPE,
    MERCURY_RANKS_WHEN,
    RANK_OF_NAME,
    RANK_OF_OTHERS,
    RANK_OF_PREFIX,
    RANK_OF_TYPE,
    RANKS_WHEN,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: nvlink makes the rows of the table of jump slots of an executable right behind the notes.
RANK_OF_UFT_ENTRY_WITH_TABLE: Final = RANKS_WHEN["slot_table"][SHT_CUDA_UFT_ENTRY]
#: Of a parameter bank that is made after everything else.
RANK_OF_DEFERRED_BANK: Final = RANKS_WHEN["deferred"][".nv.constant0."]
#: Of the table of section indices where ptxas makes it a second time.
RANK_OF_DEFERRED_INDICES: Final = RANKS_WHEN["deferred"][".symtab_shndx"]
#: Of its Mercury twin where it is made at once.
RANK_OF_EARLY_TWIN: Final = MERCURY_RANKS_WHEN["early_indices"][".nv.merc.symtab_shndx"]
_OF_BEGINNING: Final = {prefix: rank for prefix, _, rank in RANK_OF_PREFIX}
RANK_OF_BANK: Final = _OF_BEGINNING[".nv.constant"]
RANK_OF_TEXT: Final = _OF_BEGINNING[".text"]


#: That of debug data.
_RANK_OF_DEBUG: Final = _OF_BEGINNING[".debug_"]


def index_rank(name: str, sh_type: int, flags: int = SHF_ALLOC) -> int:
    """Rank of a section of the SASS half; unknown data that no memory holds are as debug data."""
    rank = RANK_OF_NAME.get(name)
    if sh_type == SHT_NOTE and not name.startswith(".note.nv."):
        return RANK_OF_TYPE[SHT_CUDA_INFO]
    if rank is None:
        rank = RANK_OF_TYPE.get(sh_type)
    if rank is not None:
        return rank
    for prefix, wanted, rank in RANK_OF_PREFIX:
        if name.startswith(prefix) and wanted in (None, sh_type):
            return rank
    is_plain = sh_type == SHT_PROGBITS and not flags & (SHF_ALLOC | SHF_EXECINSTR)
    return _RANK_OF_DEBUG if is_plain else RANK_OF_OTHERS


def mercury_rank(name: str, sh_type: int, *, capsules_last: bool, has_table: bool) -> int:
    """Rank of a section of the Mercury half, which stands behind the SASS half.

    Args:
        capsules_last: the file is of CUDA 13.4 or later.
        has_table: it has a table of jump slots.
    """
    rank = MERCURY_RANK_OF_NAME.get(name)
    if rank is None and capsules_last:
        rank = MERCURY_RANKS_WHEN["capsules_last"].get(sh_type)
    if rank is None and has_table:
        rank = MERCURY_RANKS_WHEN["slot_table"].get(sh_type)
    if rank is None:
        rank = MERCURY_RANK_OF_TYPE.get(sh_type)
    if rank is not None:
        return rank
    for prefix, wanted, rank in MERCURY_RANK_OF_PREFIX:
        if name.startswith(prefix) and wanted in (None, sh_type):
            return rank
    return MERCURY_RANK_OF_OTHERS
