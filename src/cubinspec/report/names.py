"""Readable names, and patterns that names are compared with."""

from __future__ import annotations

from cubinspec.format.demangle import readable
from cubinspec.format.escapes import escaped, unescaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["escaped", "matcher", "readable", "unescaped"]


def matcher(pattern: str | None) -> Callable[[str], bool]:
    """A test for mangled names, true for all without a pattern.

    A pattern with ``*``, ``?`` or ``[`` has to fit a whole name, mangled or demangled; any other
    has to occur in one.
    """
    if pattern is None:
        return lambda name: True
    if any(c in pattern for c in "*?["):
        from fnmatch import translate
        from re import compile

        fits = compile(translate(pattern)).match
        return lambda name: bool(fits(name) or fits(readable(name)) or fits(escaped(name)))
    plain = unescaped(pattern)
    return lambda name: pattern in name or pattern in readable(name) or plain in name
