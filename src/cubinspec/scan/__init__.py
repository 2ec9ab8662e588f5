"""Inventories of many images: in several processes, on several machines."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.scan.run import scan as scan
    from cubinspec.scan.run import scan_on_dask as scan_on_dask

__all__ = ["scan", "scan_on_dask"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'cubinspec.scan' has no attribute {name!r}")
    from cubinspec.scan import run

    return getattr(run, name)
