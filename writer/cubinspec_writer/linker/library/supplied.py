"""Names that the driver supplies, so that no input has to define them (rule L3)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


def is_supplied(name: str) -> bool:
    """Whether a name may stay undefined in an executable."""
    listed = name in _SYSTEM_CALLS or name in _DEVICE_RUNTIME or name in _SIZES
    return listed or name.startswith(_SYSTEM_PREFIXES)


#: Functions that nvlink was asked for one by one.
_SYSTEM_CALLS: Final = frozenset(
    (
        "vprintf", "vfprintf", "malloc", "free", "__assertfail", "__profile",
        "cudaGraphKernelNodeSetEnabled", "cudaGraphKernelNodeSetGridDim",
        "cudaGraphKernelNodeSetParam", "cudaGraphKernelNodeUpdatesApply", "cudaGraphLaunch",
        "cudaGraphSetConditional",
    )
)  # fmt: skip
#: Further ones that the device runtime calls: undefined names of libcudadevrt.a.
_DEVICE_RUNTIME: Final = frozenset(
    "cnp" + name
    for name in (
        "CtxSynchronize", "DeviceGetAttribute", "EventCreate", "EventDestroy", "EventRecord",
        "FuncGetAttribute", "GetCacheConfig", "GetDevice", "GetDeviceCount", "GetLastError",
        "GetLimit", "GetParameterBuffer", "GetParameterBufferV2", "GetSharedMemConfig",
        "LaunchDevice", "LaunchDeviceV2", "SetLastError", "StreamCreate", "StreamDestroy",
        "StreamWaitEvent",
    )
)  # fmt: skip
#: Sizes of the descriptors of objects, by which code finds what `txq` and `suq` ask for.
_SIZES: Final = frozenset(
    (
        ".nv.independent.samplerrefDescSize", ".nv.independent.texrefDescSize",
        ".nv.surfrefDescSize", ".nv.unified.texrefDescSize",
    )
)  # fmt: skip
#: System calls by prefix, unified tables, reserved shared memory, sizes of parameter banks.
_SYSTEM_PREFIXES: Final[tuple[str, ...]] = (
    "__cuda_syscall",
    "__UFT",
    "__UDT",
    ".nv.reservedSmem.",
    ".nv.ptx.",
)
