"""cubinspec: a file described, emitted from the description, and written under another name.

With `describe` as its first argument it stops after the description.
"""

import os
import sys

from cubinspec.cli.write import write_file
from cubinspec_writer.emit import emit_parts
from cubinspec_writer.emit.describe import describe_file

description = describe_file(sys.argv[-1])
if "describe" not in sys.argv[1:-1]:
    output = f"{sys.argv[-1]}.emitted"
    write_file(output, emit_parts(description))
    os.unlink(output)
