"""`.symtab_shndx`: the sections of symbols in a file of 0xff00 or more sections.

A symbol gets its word there when it is made: the number of its section so far. Later the real index
replaces the word only where `.symtab` has no room for it (files of 66,000 sections by ptxas and
nvlink 13.0 for sm_80, sm_90 and sm_100, executables and relocatable ones).

* ``numbers_when_made(names, keys, count)``: the number of every section at the time it was made
* ``index_and_word(index, number)``: what `.symtab` and `.symtab_shndx` hold for a section
"""

from __future__ import annotations

from cubinspec_generated.codes import SHN_COMMON, SHN_LORESERVE, SHN_XINDEX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: What relocation types do, for older loaders; executables up to sm_90 have it.
REL_ACTION: Final = ".nv.rel.action"
_INFO: Final = ".nv.info"


def numbers_when_made(
    names: list[str], keys: list[int], count: int, *, has_action: bool
) -> list[int]:
    """The number of each section at the time it was made, by its key; 0: it was not made.

    Args:
        names, keys: of every section in the order in which they were made, also of those that were
            dropped later, whose key is negative.
        count: all keys are below.
        has_action: the file has `.nv.rel.action`, which is made before its name is entered.
    """
    numbers = [0] * count
    number = 0
    for at, name in enumerate(names):
        key = keys[at]
        number += 1
        if key >= 0:
            numbers[key] = number
        if name == _INFO:
            number += has_action
    return numbers


def index_and_word(index: int, number: int) -> tuple[int, int]:
    """What `.symtab` and `.symtab_shndx` hold for a symbol of a section.

    The writers take a real section 0xfff2 for common symbols.

    Args:
        number: that of the section when the symbol was made.
    """
    if index < SHN_LORESERVE or index == SHN_COMMON:
        return index, number
    return SHN_XINDEX, index
