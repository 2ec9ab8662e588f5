"""``python -m cubinspec``"""

import sys

from cubinspec.cli import main

sys.exit(main())
