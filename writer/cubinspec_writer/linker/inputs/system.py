"""The library of the device runtime, which a link takes only where something needs it."""

from __future__ import annotations

import os

from cubinspec_generated.codes import (
    SHT_SYMTAB,
    ST_BIND_SHIFT,
    ST_TYPE_MASK,
    STB_LOCAL,
    STT_FUNC,
)
from cubinspec_writer.linker.library.copies import is_supplied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.reader.elf import Elf

#: The name of its file, wherever it is.
_SYSTEM_LIBRARY = "libcudadevrt.a"


def is_system_library(name: str) -> bool:
    """Whether a file has the name of the device runtime."""
    return os.path.basename(name) == _SYSTEM_LIBRARY


def lack_functions(files: Iterable[Elf]) -> bool:
    """Whether a function has no definition in the files, and the driver does not supply it.

    It does not matter whether code that is linked calls it (rule V3).
    """
    lacking: set[str] = set()
    defined: set[str] = set()
    for elf in files:
        table = elf.find_section(SHT_SYMTAB)
        assert table is not None
        _, _, _, _, _, _, names, *_ = elf.section_rows[table]
        strings = elf.string_table(names)
        for name, info, _, section, _, _ in elf.symbol_rows(table):
            if info >> ST_BIND_SHIFT != STB_LOCAL and info & ST_TYPE_MASK == STT_FUNC:
                (defined if section else lacking).add(strings.get(name))
    return not all(map(is_supplied, lacking - defined))
