"""Names for people: demangled, matched, compared."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: A library holds the same names once per architecture.
_known: dict[str, str] = {}
_MAX_KNOWN = 1 << 17


def readable(name: str) -> str:
    """The C++ (or Rust) form of a mangled name; the name itself when it is not one.

    Uses ``pycxxfilt``, which carries LLVM's demangler; without it names stay as they are.
    """
    if not name.startswith(("_Z", "_R", "__Z", "$_Z")):
        return name
    known = _known.get(name)
    if known is None:
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        from cubinspec.report.demangle import demangle

        known = _known[name] = demangle(name) or name
    return known


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
