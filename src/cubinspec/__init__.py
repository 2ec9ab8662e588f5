"""Read and explain NVIDIA CUDA device binaries (cubins).

``Cubin.open(path)`` opens a bare cubin, ``kernels(path)`` and ``images(path)`` go through whatever
holds cubins: libraries, objects, archives, wheels, folders. ``coverage(cubin)`` says how much of a
file the specification names. ``CubinError`` is the root of everything that is raised.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers import Image as Image
    from cubinspec.containers import identify as identify
    from cubinspec.containers import images as images
    from cubinspec.containers import kernels as kernels
    from cubinspec.errors import CubinError as CubinError
    from cubinspec.model.cubin import Cubin as Cubin
    from cubinspec.model.function import Function as Function
    from cubinspec.model.section import Section as Section
    from cubinspec.model.symbol import Symbol as Symbol
    from cubinspec.page.report import Page as Page
    from cubinspec.page.report import show as show
    from cubinspec.report.coverage import Coverage as Coverage
    from cubinspec.report.coverage import coverage as coverage
    from cubinspec.report.occupancy import Occupancy as Occupancy
    from cubinspec.report.occupancy import occupancy as occupancy

__all__ = [
    "Coverage",
    "Cubin",
    "CubinError",
    "Function",
    "Image",
    "Occupancy",
    "Page",
    "Section",
    "Symbol",
    "__version__",
    "coverage",
    "identify",
    "images",
    "kernels",
    "occupancy",
    "show",
]

#: Public name -> module; imported on first use, since `cubinspec --version` needs none of them.
_HOMES = {
    "Coverage": "cubinspec.report.coverage",
    "Cubin": "cubinspec.model.cubin",
    "CubinError": "cubinspec.errors",
    "Function": "cubinspec.model.function",
    "Image": "cubinspec.containers",
    "Occupancy": "cubinspec.report.occupancy",
    "Page": "cubinspec.page.report",
    "Section": "cubinspec.model.section",
    "Symbol": "cubinspec.model.symbol",
    "coverage": "cubinspec.report.coverage",
    "identify": "cubinspec.containers",
    "images": "cubinspec.containers",
    "kernels": "cubinspec.containers",
    "occupancy": "cubinspec.report.occupancy",
    "show": "cubinspec.page.report",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'cubinspec' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
