"""Writes cubins: emitter, editor, containers, YAML form, linker.

`link` is the linker's one function; everything else is in the modules and packages below.
"""

from .linker import link

__all__ = ["link"]
