"""cubinspec: a file described, emitted from the description, and written under another name."""

import os
import sys

from cubinspec.files import write_file
from cubinspec_writer.emitter import emit_parts
from cubinspec_writer.emitter.describe import describe_file

output = f"{sys.argv[-1]}.emitted"
write_file(output, emit_parts(describe_file(sys.argv[-1])))
os.unlink(output)
