"""Readable names, and patterns that names are compared with."""

from __future__ import annotations

from cubinspec.errors import CubinError
from cubinspec.format.demangle import readable
from cubinspec.format.escapes import escaped, unescaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["escaped", "matcher", "readable", "unescaped"]

#: Starts a pattern that is a regular expression.
REGULAR = "re:"


def matcher(pattern: str | None) -> Callable[[str], bool]:
    """A test for mangled names, true for all without a pattern.

    ``re:`` starts a regular expression that is searched for in the name, mangled or demangled. A
    pattern with ``*``, ``?`` or ``[`` has to fit a whole name; any other has to occur in one.

    Raises:
        CubinError: the regular expression is none.
    """
    if pattern is None:
        return lambda name: True
    if pattern.startswith(REGULAR):
        import re

        try:
            search = re.compile(pattern[len(REGULAR) :]).search
        except re.error as error:
            raise CubinError(
                f"--match {pattern}: {error}", expected="a regular expression after re:"
            ) from error
        return lambda name: bool(search(name) or search(readable(name)))
    if any(c in pattern for c in "*?["):
        from fnmatch import translate
        from re import compile

        fits = compile(translate(pattern)).match
        return lambda name: bool(fits(name) or fits(readable(name)) or fits(escaped(name)))
    part = unescaped(pattern)
    return lambda name: pattern in name or pattern in readable(name) or part in name
