"""The format gallery's elf.ksy as Python: section names, symbols, relocations.

The folder with the compiled `elf.py` is the first argument, the file the second.
"""

import importlib
import sys

sys.path.insert(0, sys.argv[1])
Elf = importlib.import_module("elf").Elf

counts = [0, 0, 0]
elf = Elf.from_file(sys.argv[2])
elf._read()  # this build of the class does not read by itself
for header in elf.header.section_headers:
    counts[0] += header.name is not None
    body = header.body
    if isinstance(body, Elf.EndianElf.DynsymSection):
        counts[1] += sum(1 for symbol in body.entries if symbol.bind is not None)
    elif isinstance(body, Elf.EndianElf.RelocationSection):
        counts[2] += sum(1 for entry in body.entries if entry.info is not None)
print(*counts)
