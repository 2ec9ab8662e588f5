"""How a link compares with nvlink's; docs/link-parity.md explains the words."""

from __future__ import annotations

from dataclasses import dataclass

IDENTICAL = "identical"
SAME_ERROR = "same error"
EXCEPTION = "named exception"
REFUSED = "refused"
DIFFERENT = "different"
NOT_BUILT = "not built"
ALL = (IDENTICAL, SAME_ERROR, EXCEPTION, REFUSED, DIFFERENT, NOT_BUILT)
#: What a run may end with and still be good.
ACCEPTED = frozenset((IDENTICAL, SAME_ERROR, EXCEPTION, REFUSED))


@dataclass(frozen=True)
class Outcome:
    """The result of one case on one target."""

    case: str
    arch: str
    kind: str
    detail: str = ""
