"""LIEF: a file parsed and written under another name."""

import os
import sys

import lief

lief.logging.disable()
binary = lief.ELF.parse(sys.argv[1])
assert binary is not None
output = f"{sys.argv[1]}.lief"
binary.write(output)
os.unlink(output)
