"""``python -m cubinspec``"""

from cubinspec.cli import entry

entry()
