"""Payloads of the attributes that a table of kernels needs, without the tables of all of them."""

from __future__ import annotations

from cubinspec_generated.records import DIM3, PARAM_CBANK


def unpack_triple(payload: bytes) -> tuple[int, int, int] | None:
    """A shape in x, y, z; ``None`` when the payload is shorter."""
    return DIM3.unpack_from(payload) if len(payload) >= DIM3.size else None


def unpack_param_offset(payload: bytes) -> int | None:
    """``EIATTR_PARAM_CBANK``: where parameters start in constant bank 0."""
    if len(payload) < PARAM_CBANK.size:
        return None
    _, offset, _ = PARAM_CBANK.unpack_from(payload)
    found: int = offset
    return found
