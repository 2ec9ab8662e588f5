"""Cases whose result is known not to be nvlink's, and why. Nothing else may differ."""

from __future__ import annotations

from dataclasses import dataclass

from tools.linkcases import kinds

_FIRST_WITH_MERCURY = 100


@dataclass(frozen=True)
class Known:
    """A named exception."""

    kind: str
    why: str
    arches: frozenset[str] | None = None

    def applies(self, arch: str) -> bool:
        """Whether it is one on this architecture; without a list, on all with Mercury code."""
        if self.arches is not None:
            return not self.arches or arch in self.arches
        return int(arch.rstrip("abcdefghijklmnopqrstuvwxyz")) >= _FIRST_WITH_MERCURY


_SCHEDULING = (
    "the finalizer inside nvlink translates these functions anew and gives some instructions other"
    " numbers of barriers to set or to wait for (bits 110 to 121); here the SASS of ptxas stays"
)
_EVERYWHERE: frozenset[str] = frozenset()

KNOWN = {
    "devrt_query": Known(kinds.EXCEPTION, _SCHEDULING),
    "dyn_parallel": Known(kinds.EXCEPTION, _SCHEDULING),
    "devrt_memset": Known(kinds.EXCEPTION, _SCHEDULING),
    "truncated": Known(kinds.REFUSED, "nvlink crashes on this input", _EVERYWHERE),
    "err_corrupt_shoff": Known(kinds.REFUSED, "nvlink crashes on this input", _EVERYWHERE),
}
