"""What can come out of a link beside nvlink's; docs/link-parity.md explains the words."""

from __future__ import annotations

IDENTICAL = "identical"
SAME_ERROR = "same error"
EXCEPTION = "named exception"
REFUSED = "refused"
DIFFERENT = "different"
NOT_BUILT = "not built"
ALL = (IDENTICAL, SAME_ERROR, EXCEPTION, REFUSED, DIFFERENT, NOT_BUILT)
