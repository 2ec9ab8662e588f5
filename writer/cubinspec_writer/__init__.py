"""Writes cubins: emitter, editor, builder, checker, YAML form, linker.

`link` is the linker's one function; everything else is in the packages below.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec_writer.linker import link as link

__all__ = ["link"]


def __getattr__(name: str) -> Any:
    # imported on first use: checking or editing a file does not need the linker
    if name != "link":
        raise AttributeError(f"module 'cubinspec_writer' has no attribute {name!r}")
    from cubinspec_writer.linker import link

    globals()["link"] = link
    return link


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
