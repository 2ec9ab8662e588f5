"""pyelftools: section names, symbols, relocations. It does not know `.nv.info`."""

import sys

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

counts = [0, 0, 0]
with open(sys.argv[1], "rb") as file:
    for section in ELFFile(file).iter_sections():
        counts[0] += bool(section.name)
        if isinstance(section, SymbolTableSection):
            counts[1] += sum(1 for symbol in section.iter_symbols() if symbol.name is not None)
        elif isinstance(section, RelocationSection):
            counts[2] += sum(1 for entry in section.iter_relocations() if entry["r_info_type"])
print(*counts)
