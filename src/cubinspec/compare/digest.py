"""A hash that is short enough to print."""

from __future__ import annotations

from hashlib import sha256

_BYTES = 12


def digest(first: bytes | memoryview = b"", *parts: bytes | memoryview) -> str:
    """A short hash of some bytes."""
    made = sha256(first, usedforsecurity=False)
    for part in parts:
        made.update(part)
    return made.hexdigest()[: 2 * _BYTES]
