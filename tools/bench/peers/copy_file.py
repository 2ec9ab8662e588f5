"""The same bytes read, written with one `write` under a temporary name, and renamed."""

import os
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
output = f"{sys.argv[1]}.copied"
with open(f"{output}.tmp", "xb") as file:
    file.write(data)
os.replace(f"{output}.tmp", output)
os.unlink(output)
