"""Anything that holds cubins: fatbins, host files, libraries, wheels, archives, folders.

    >>> for image in images("library.so"):
    ...     print(image, image.kind, image.arch, len(image.data))

An :class:`Image` knows where it was found (``provenance``) and reads its bytes when asked.
"""

from __future__ import annotations

from cubinspec.containers.identify import Identity, identify
from cubinspec.containers.image import Image, Step
from cubinspec.containers.walk import images

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers.found import FoundKernel as FoundKernel
    from cubinspec.containers.found import FoundKernels as FoundKernels
    from cubinspec.containers.found import kernels as kernels

__all__ = [
    "FoundKernel",
    "FoundKernels",
    "Identity",
    "Image",
    "Step",
    "identify",
    "images",
    "kernels",
]


def __getattr__(name: str) -> Any:
    if name not in ("FoundKernel", "FoundKernels", "kernels"):
        raise AttributeError(f"module 'cubinspec.containers' has no attribute {name!r}")
    # what reads cubins is not needed to list images
    from cubinspec.containers import found

    value = globals()[name] = getattr(found, name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
