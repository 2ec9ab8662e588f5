"""Section name patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

CONSTANT_BANKS = range(18)
"""Bank numbers that ``<n>`` stands for; the last section type of the series is bank 17."""


def expand_kinds(kinds: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The kinds with ``<n>`` replaced by every constant bank number, in order."""
    result: list[dict[str, Any]] = []
    for kind in kinds:
        if "<n>" not in kind["pattern"]:
            result.append(dict(kind))
            continue
        for bank in CONSTANT_BANKS:
            result.append(
                {
                    key: value.replace("<n>", str(bank)) if isinstance(value, str) else value
                    for key, value in kind.items()
                }
            )
    return result
