"""Payloads of the attributes that a table of kernels needs, without the tables of all of them."""

from __future__ import annotations

from cubinspec_generated.codes import (
    KPARAM_INFO_CBANK_MASK,
    KPARAM_INFO_CBANK_SHIFT,
    KPARAM_INFO_IS_SMEM,
    KPARAM_INFO_LOG_ALIGNMENT_MASK,
    KPARAM_INFO_SIZE_SHIFT,
    KPARAM_INFO_SPACE_MASK,
    KPARAM_INFO_SPACE_SHIFT,
    KPARAM_INFO_V2_LOG_ALIGNMENT_MASK,
    KPARAM_INFO_V2_LOG_ALIGNMENT_SHIFT,
    KPARAM_INFO_V2_SIZE_MASK,
    KPARAM_INFO_V2_SPACE_MASK,
    KPARAM_INFO_V2_SPACE_SHIFT,
)
from cubinspec_generated.records import DIM3, KPARAM_INFO, KPARAM_INFO_V2, PARAM_CBANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    #: ordinal, offset, size, log2 of the pointee's alignment, its space, constant bank, in shared
    ParameterRow = tuple[int, int, int, int, int, int | None, bool | None]


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


def unpack_kparam_info(payload: bytes) -> ParameterRow | None:
    """``EIATTR_KPARAM_INFO``: ordinal, offset, size and what is said of it."""
    if len(payload) < KPARAM_INFO.size:
        return None
    _, ordinal, offset, bits = KPARAM_INFO.unpack_from(payload)
    return (
        ordinal,
        offset,
        bits >> KPARAM_INFO_SIZE_SHIFT,
        bits & KPARAM_INFO_LOG_ALIGNMENT_MASK,
        (bits & KPARAM_INFO_SPACE_MASK) >> KPARAM_INFO_SPACE_SHIFT,
        (bits & KPARAM_INFO_CBANK_MASK) >> KPARAM_INFO_CBANK_SHIFT,
        bool(bits & KPARAM_INFO_IS_SMEM),
    )


def unpack_kparam_info_v2(payload: bytes) -> ParameterRow | None:
    """``EIATTR_KPARAM_INFO_V2``: the same without bank and shared memory flag."""
    if len(payload) < KPARAM_INFO_V2.size:
        return None
    _, ordinal, offset, bits = KPARAM_INFO_V2.unpack_from(payload)
    return (
        ordinal,
        offset,
        bits & KPARAM_INFO_V2_SIZE_MASK,
        (bits & KPARAM_INFO_V2_LOG_ALIGNMENT_MASK) >> KPARAM_INFO_V2_LOG_ALIGNMENT_SHIFT,
        (bits & KPARAM_INFO_V2_SPACE_MASK) >> KPARAM_INFO_V2_SPACE_SHIFT,
        None,
        None,
    )
