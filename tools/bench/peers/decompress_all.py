"""What is compressed in a library, decompressed into one piece of memory: nothing else."""

import sys

from cubinspec import images
from cubinspec.containers.arena import Arena

arena = Arena()
print(sum(len(image.view(arena)) for image in images(sys.argv[1]) if not image.scrambled))
