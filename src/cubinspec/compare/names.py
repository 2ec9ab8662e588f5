"""Names without what changes from build to build, and how like each other two names are."""

from __future__ import annotations

import re
from functools import lru_cache

from cubinspec.format.demangle import readable

#: Names of which is kept what was found out; a library has each once per architecture.
_KEPT = 1 << 16
# nvcc puts a hash of the path and time of a source file into names of things that only this file
# sees: `_GLOBAL__N__c844b41b_7_anon_cu__Z2goPi` (anonymous namespaces), `__nv_static_27__…`,
# `_INTERNAL_…`: hash, length and name of the file, and at times a second hash with a number.
_START = re.compile(r"(_GLOBAL__N__|__nv_static_\d+__|_INTERNAL_)([0-9a-f]{8})_(\d+)_")
#: The same in bytes.
HASHED_START = re.compile(_START.pattern.encode())
#: One of these is in each name with such a hash.
HASHED = (b"_GLOBAL__N__", b"__nv_static_", b"_INTERNAL_")
_SECOND = re.compile(r"_[0-9a-f]{8}(_\d+)?")
#: What comes behind a second hash of a name that does not state its length.
_BEHIND = re.compile(r"_|$")
#: Digits of the longest length of a name that is looked at.
_LENGTH_DIGITS = 5
#: Stands where a hash stood.
HASH = "*"
_BRACKET = re.compile(r"[<>()]")
_WORD = re.compile(r"[A-Za-z_]\w*|\d+")


@lru_cache(maxsize=_KEPT)
def stable_name(name: str) -> str:
    """:func:`without_hashes` of a name, which is likely to be asked for again."""
    return without_hashes(name)


def without_hashes(name: str) -> str:
    """A mangled name, or a line with some, with ``*`` in the place of hashes of source files.

    Two names are the same thing in two builds when these are equal.
    """
    if "_GLOBAL__N__" not in name and "__nv_static_" not in name and "_INTERNAL_" not in name:
        return name
    parts: list[str] = []
    at = 0
    while (match := _START.search(name, at)) is not None:
        file_end = match.end() + int(match[3])
        start, end = _second_hash(name, at, match.start(), file_end)
        parts += [name[at:start], match[1], HASH, f"_{match[3]}_", name[match.end() : file_end]]
        if end > file_end:
            parts.append(f"_{HASH}")
        at = min(end, len(name))
    return "".join(parts) + name[at:]


def _second_hash(name: str, at: int, start: int, file_end: int) -> tuple[int, int]:
    """Where a hashed name begins with its length, if it says one, and where its second hash ends.

    Only the length tells the number behind the hash from that of the next name
    (``…_6088eb74_13`` and ``4next``).

    Args:
        at: nothing in front of this belongs to the name.
        start: of the name behind its length.
        file_end: where the second hash would be.
    """
    for first in range(max(at, start - _LENGTH_DIGITS), start):
        length = name[first:start]
        if length.isdecimal() and length.isascii() and length[0] != "0":
            end = start + int(length)
            if _SECOND.fullmatch(name, file_end, end):
                return first, end
    second = _SECOND.match(name, file_end)
    if second is not None and _BEHIND.match(name, second.end()):
        return start, second.end()
    return start, file_end


@lru_cache(maxsize=_KEPT)
def base_name(name: str) -> str:
    """The demangled name without template arguments and parameters: ``thrust::scan`` of all of
    its instances."""
    text = readable(name)
    depth, at, kept = 0, 0, []
    for bracket in _BRACKET.finditer(text):
        if not depth:
            kept.append(text[at : bracket.start()])
        at = bracket.end()
        depth = depth + 1 if bracket[0] in "<(" else max(0, depth - 1)
    if not depth:
        kept.append(text[at:])
    words = "".join(kept).split()
    return words[-1] if words else text


@lru_cache(maxsize=_KEPT)
def words_of(name: str) -> frozenset[str]:
    """The words of a demangled name."""
    return frozenset(_WORD.findall(readable(name)))


def likeness(words: frozenset[str], others: frozenset[str]) -> float:
    """The part of the words of two names that both have, 0 to 1."""
    common = len(words & others)
    union = len(words) + len(others) - common
    return common / union if union else 1.0
