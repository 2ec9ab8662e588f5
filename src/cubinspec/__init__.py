"""Read and explain NVIDIA CUDA device binaries (cubins).

``Cubin.open(path)`` is where to start; ``CubinError`` is the root of everything that is raised.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers import images as images
    from cubinspec.errors import CubinError as CubinError
    from cubinspec.model.cubin import Cubin as Cubin

__all__ = ["Cubin", "CubinError", "__version__", "images"]

#: Public name -> module; imported on first use, since `cubinspec --version` needs none of them.
_HOMES = {
    "Cubin": "cubinspec.model.cubin",
    "CubinError": "cubinspec.errors",
    "images": "cubinspec.containers",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'cubinspec' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
