"""Tables that fit the terminal: long names lose their middle, and stay different names."""

from __future__ import annotations

from cubinspec.report.resolve import GAP, checksum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: A name is never cut to less than this, however narrow the terminal is.
_LEAST = 20


def fit(names: Sequence[str], width: int) -> list[str]:
    """The names in at most ``width`` characters each, or ``_LEAST``.

    A long name keeps its start and its end. Different names that would look the same then also get
    a checksum between two gaps; it depends on the name alone, so that a name always gets the same.
    """
    width = max(width, _LEAST)
    if max(map(len, names), default=0) <= width:
        return list(names)
    shown = [_cut(name, width, GAP) for name in names]
    owners: dict[str, set[str]] = {}
    for name, text in zip(names, shown, strict=True):
        owners.setdefault(text, set()).add(name)
    return [
        text if len(owners[text]) == 1 else _cut(name, width, f"{GAP}{checksum(name)}{GAP}")
        for name, text in zip(names, shown, strict=True)
    ]


def _cut(name: str, width: int, middle: str) -> str:
    if len(name) <= width:
        return name
    kept = width - len(middle)
    end = kept // 2
    return name[: kept - end] + middle + name[-end:]
