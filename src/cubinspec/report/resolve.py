"""Names as people type them: mangled, demangled, a part of one, a pattern, a shortened form."""

from __future__ import annotations

from cubinspec.errors import BadIndexError
from cubinspec.report.names import escaped, readable, unescaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: How many names a message shows, and of each how many characters.
_MOST_SHOWN = 5
_MOST_CHARACTERS = 100
#: Names that are compared with a misspelt one; comparing is slow.
_MOST_COMPARED = 5000
_MOST_COMPARED_CHARACTERS = 60
#: What stands for the left-out middle of a name in a table.
GAP = "…"
_LIKENESS = 0.5


class NoSuchNameError(BadIndexError):
    """A name that fits nothing, or more than one thing.

    Attributes:
        is_unknown: it fits nothing.
    """

    is_unknown = True


def resolve(word: str, names: Iterable[str], what: str = "function") -> str:
    """The one name that a word means.

    The first of these rules that fits exactly one name decides: the name itself; its demangled
    form; that form without parameters; a shell pattern (or the shortened form that a table shows)
    for a whole name; a part of a name. What no terminal can print may be escaped, as we print it.

    Args:
        word: what was typed.
        names: the names to choose from, mangled.
        what: what they are called in messages, in the singular.

    Raises:
        NoSuchNameError: it fits none, or several.
    """
    known = list(dict.fromkeys(name for name in names if name))
    if word in known:
        return word
    for form, rule in _rules(word):
        found = [name for name in known if rule(form, name)] if word else []
        if len(found) == 1:
            return found[0]
        if found:
            error = NoSuchNameError(
                f"{short(word)!r} fits {len(found)} {what}s", expected=_listing(found)
            )
            error.is_unknown = False
            raise error
    raise NoSuchNameError(f"no {what} {short(word)!r} is here", expected=hint(word, known, what))


def resolve_all(word: str, names: Iterable[str], what: str = "function") -> list[str]:
    """:func:`resolve`, but a shell pattern may fit several names.

    Raises:
        NoSuchNameError: it fits none, or several without being a pattern.
    """
    known = list(dict.fromkeys(name for name in names if name))
    if word not in known and any(c in word for c in "*?"):
        for form in dict.fromkeys((word, unescaped(word))):
            rule = _pattern(form)
            found = [name for name in known if rule(form, name)]
            if found:
                return found
    return [resolve(word, known, what)]


def _rules(word: str) -> Iterator[tuple[str, Callable[[str, str], bool]]]:
    """Forms of a word, each with a rule that it may fit a name by; the strictest rule first."""
    yield word, _is_escaped
    for form in dict.fromkeys((word, unescaped(word))):
        for rule in (_is_readable, _is_without_parameters, _pattern(form), _is_part):
            yield form, rule


def short(text: str, most: int = _MOST_CHARACTERS) -> str:
    """A text for a message, without its middle when it is long."""
    if len(text) <= most:
        return text
    half = (most - len(GAP)) // 2
    return text[:half] + GAP + text[-half:]


def near(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Those of the names that look like a word, the most similar first; they stay mangled."""
    from difflib import get_close_matches

    forms: dict[str, str] = {}
    for name, _ in zip(known, range(_MOST_COMPARED), strict=False):
        text = readable(name)
        for form in (name, text, _base(text)):
            forms.setdefault(form[:_MOST_COMPARED_CHARACTERS].lower(), name)
    found = get_close_matches(
        word[:_MOST_COMPARED_CHARACTERS].lower(), forms, n=2 * most, cutoff=_LIKENESS
    )
    return list(dict.fromkeys(forms[form] for form in found))[:most]


def hint(word: str, known: list[str], what: str) -> str:
    """Names that look like a word; without such the first of all names."""
    similar = near(word, known)
    if similar:
        return _listing(similar)
    return _listing(sorted(known)) if known else f"a file with a {what}"


def _listing(names: list[str]) -> str:
    shown = ", ".join(short(readable(name)) for name in names[:_MOST_SHOWN])
    more = len(names) - _MOST_SHOWN
    return f"one of {shown}, and {more} more" if more > 0 else shown


def _is_escaped(word: str, name: str) -> bool:
    return word in (escaped(name), escaped(readable(name)))


def _is_readable(word: str, name: str) -> bool:
    return readable(name) == word


def _is_without_parameters(word: str, name: str) -> bool:
    text = readable(name)
    return text != name and word in (_base(text), _function(text))


def _is_part(word: str, name: str) -> bool:
    return word in name or word in readable(name)


def _pattern(word: str) -> Callable[[str, str], bool]:
    """A rule for shell patterns and for names with a gap; it fits nothing when the word is none."""
    if GAP in word:
        start, *middle, end = word.split(GAP)

        def fits(_: str, name: str) -> bool:
            text = readable(name)
            return any(
                len(form) >= len(start) + len(end)
                and form.startswith(start)
                and form.endswith(end)
                and (not middle or middle == [checksum(form)])
                for form in (name, text, escaped(name), escaped(text))
            )

        return fits
    if not any(c in word for c in "*?"):
        return lambda word, name: False
    from fnmatch import fnmatchcase

    return lambda word, name: any(
        fnmatchcase(form, word) for form in (name, readable(name), escaped(name))
    )


def checksum(name: str) -> str:
    """What stands between two gaps, to tell names apart that look the same without a middle."""
    from binascii import crc32

    return f"{crc32(name.encode('utf-8', 'surrogateescape')):08x}"


def _base(text: str) -> str:
    """``gemm`` of ``void lib::gemm<float>(float*)``: no type, scope, template or parameters."""
    function = _function(text)
    head = function.split("<", 1)[0]
    return head.rsplit("::", 1)[-1]


def _function(text: str) -> str:
    """``lib::gemm<float>`` of ``void lib::gemm<float>(float*)``."""
    depth = 0
    end = len(text)
    start = 0
    for at, char in enumerate(text):
        if char == "<":
            depth += 1
        elif char == ">":
            depth -= 1
        elif depth <= 0 and char == "(" and not text.startswith("(anonymous", at):
            end = at
            break
        elif depth <= 0 and char == " " and not text.startswith(" namespace)", at):
            start = at + 1
    return text[start:end]
