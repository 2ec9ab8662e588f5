"""Readable names, and patterns that names are compared with."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: Readable forms of names; a library holds the same names once per architecture.
_cached: dict[str, str] = {}
_MAX_CACHED = 1 << 17


def readable(name: str) -> str:
    """The C++ (or Rust) form of a mangled name; the name itself when it is not one.

    Uses ``pycxxfilt``, which carries LLVM's demangler; without it names stay as they are and a
    warning says so.
    """
    if not name.startswith(("_Z", "_R", "__Z", "$_Z")):
        return name
    found = _cached.get(name)
    if found is None:
        if len(_cached) >= _MAX_CACHED:
            _cached.clear()
        from cubinspec.report.demangle import demangle

        found = _cached[name] = demangle(name) or name
    return found


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
        return lambda name: bool(fits(name) or fits(readable(name)))
    return lambda name: pattern in name or pattern in readable(name)
