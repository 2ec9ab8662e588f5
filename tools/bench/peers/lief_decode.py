"""LIEF: section names, symbols, relocations. It does not know `.nv.info`."""

import sys

import lief

lief.logging.disable()
binary = lief.ELF.parse(sys.argv[1])
assert binary is not None
sections = [(s.name, s.offset, s.size) for s in binary.sections]
symbols = [(s.name, s.value, s.size, s.shndx) for s in binary.symbols]
relocations = [(r.address, r.addend, r.symbol and r.symbol.name) for r in binary.relocations]
print(len(sections), len(symbols), len(relocations))
