"""Anything that holds cubins: fatbins, host files, libraries, wheels, archives, folders.

    >>> for image in images("library.so"):
    ...     print(image, image.kind, image.arch, len(image.data))

An :class:`Image` knows where it was found (``provenance``) and reads its bytes when asked.
"""

from __future__ import annotations

from cubinspec.containers.identify import Identity, identify
from cubinspec.containers.image import Image, Step
from cubinspec.containers.kernels import FoundKernel, FoundKernels, kernels
from cubinspec.containers.walk import images

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
