"""Kernel parameters."""

from __future__ import annotations

from cubinspec.values import FrozenValue
from cubinspec_generated.codes import (
    EIATTR_KPARAM_INFO,
    EIATTR_KPARAM_INFO_V2,
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
from cubinspec_generated.records import KPARAM_INFO, KPARAM_INFO_V2

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.format.attributes import InfoRow


class Parameter(FrozenValue):
    """One kernel parameter as ``EIATTR_KPARAM_INFO`` or its second form states it.

    Attributes:
        ordinal: position in the parameter list.
        offset: bytes from the start of the parameter block.
        size: bytes.
        pointee_log_alignment: log2 of the alignment a pointer promises; 0 when it promises none.
        pointee_space: code of the memory space a pointer points to; 0 when not stated.
        constant_bank: constant bank, 31 when not stated; ``None`` in the second form.
        in_shared: whether it is passed in shared memory; ``None`` in the second form.
    """

    __match_args__ = (
        "ordinal",
        "offset",
        "size",
        "pointee_log_alignment",
        "pointee_space",
        "constant_bank",
        "in_shared",
    )
    __slots__ = __match_args__
    ordinal: int
    offset: int
    size: int
    pointee_log_alignment: int
    pointee_space: int
    constant_bank: int | None
    in_shared: bool | None

    def __init__(
        self,
        ordinal: int,
        offset: int,
        size: int,
        pointee_log_alignment: int,
        pointee_space: int,
        constant_bank: int | None,
        in_shared: bool | None,
    ) -> None:
        put = object.__setattr__
        put(self, "ordinal", ordinal)
        put(self, "offset", offset)
        put(self, "size", size)
        put(self, "pointee_log_alignment", pointee_log_alignment)
        put(self, "pointee_space", pointee_space)
        put(self, "constant_bank", constant_bank)
        put(self, "in_shared", in_shared)

    @property
    def name(self) -> str:
        """``param_<ordinal>``, as PTX tools call it; a cubin holds no parameter names."""
        return f"param_{self.ordinal}"

    def as_dict(self) -> dict[str, int | bool | None]:
        """The fields by name, ready for JSON."""
        return {
            "ordinal": self.ordinal,
            "offset": self.offset,
            "size": self.size,
            "pointee_log_alignment": self.pointee_log_alignment,
            "pointee_space": self.pointee_space,
            "constant_bank": self.constant_bank,
            "in_shared": self.in_shared,
        }

    @classmethod
    def unpack(cls, payload: bytes) -> Parameter | None:
        """The payload of ``EIATTR_KPARAM_INFO``; ``None`` when it is too short."""
        if len(payload) < KPARAM_INFO.size:
            return None
        _, ordinal, offset, bits = KPARAM_INFO.unpack_from(payload)
        return cls(
            ordinal,
            offset,
            size=bits >> KPARAM_INFO_SIZE_SHIFT,
            pointee_log_alignment=bits & KPARAM_INFO_LOG_ALIGNMENT_MASK,
            pointee_space=(bits & KPARAM_INFO_SPACE_MASK) >> KPARAM_INFO_SPACE_SHIFT,
            constant_bank=(bits & KPARAM_INFO_CBANK_MASK) >> KPARAM_INFO_CBANK_SHIFT,
            in_shared=bool(bits & KPARAM_INFO_IS_SMEM),
        )

    @classmethod
    def unpack_v2(cls, payload: bytes) -> Parameter | None:
        """The payload of ``EIATTR_KPARAM_INFO_V2``; ``None`` when it is too short."""
        if len(payload) < KPARAM_INFO_V2.size:
            return None
        _, ordinal, offset, bits = KPARAM_INFO_V2.unpack_from(payload)
        log_alignment = bits & KPARAM_INFO_V2_LOG_ALIGNMENT_MASK
        return cls(
            ordinal,
            offset,
            size=bits & KPARAM_INFO_V2_SIZE_MASK,
            pointee_log_alignment=log_alignment >> KPARAM_INFO_V2_LOG_ALIGNMENT_SHIFT,
            pointee_space=(bits & KPARAM_INFO_V2_SPACE_MASK) >> KPARAM_INFO_V2_SPACE_SHIFT,
            constant_bank=None,
            in_shared=None,
        )


def read_parameters(rows: Iterable[InfoRow]) -> list[Parameter]:
    """The parameters that the attributes of a kernel state, by ordinal."""
    found: list[Parameter] = []
    for _, _, code, _, payload in rows:
        if code in UNPACKERS:
            key = code, payload
            parameter = _known[key] if key in _known else _unpack(code, payload)
            if parameter is not None:
                found.append(parameter)
    found.sort(key=lambda parameter: parameter.ordinal)
    return found


#: Attributes that state a parameter, and what reads their payloads.
UNPACKERS = {
    EIATTR_KPARAM_INFO: Parameter.unpack,
    EIATTR_KPARAM_INFO_V2: Parameter.unpack_v2,
}
#: Parameters by code and payload; a library has the same few thousand in all its kernels.
_known: dict[tuple[int, bytes], Parameter | None] = {}
_MAX_KNOWN = 1 << 14


def _unpack(code: int, payload: bytes) -> Parameter | None:
    if len(_known) >= _MAX_KNOWN:
        _known.clear()
    parameter = _known[code, payload] = UNPACKERS[code](payload)
    return parameter
