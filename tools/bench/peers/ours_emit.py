"""cubinspec: a file described, emitted from the description, and written under another name."""

import os
import sys

from cubinspec.output_files import set_sync, write_file
from cubinspec_writer.emitter.describe import check_draft_of_file
from cubinspec_writer.emitter.serialise import plan_parts

set_sync(False)  # as the peers, which do not wait for the disk
output = f"{sys.argv[-1]}.emitted"
write_file(output, plan_parts(check_draft_of_file(sys.argv[-1]).laid_out()))
os.unlink(output)
