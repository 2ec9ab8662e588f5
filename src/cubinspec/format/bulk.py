"""Loops over whole tables, which a native module does where the installation has one.

Wheels with compiled modules have it; `native` holds its source, in Rust. Elsewhere its twins do the
work, the functions in Python below, and a test compares both. What is irregular is ``None``: then
the caller goes through the table step by step, and finds out what is wrong.

* ``texts``: names of a string table
* ``rows``: the rows of a table
* ``string_table``: a string table, and where some of its names stand
* ``streams``: the records of attribute streams
* ``expect``: huge pages for a process that is about to make many objects
"""

from __future__ import annotations

from cubinspec.limits import LONG_STRING
from cubinspec_generated.codes import EIFMT_SVAL
from cubinspec_generated.records import INFO_RECORD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from struct import Struct
    from types import ModuleType

    from cubinspec.format.attributes import InfoRow

#: How many names a table has is told by its first bytes.
_SAMPLE = 1 << 12
#: Bytes of a table for each name that is asked for, above which the others are not looked at.
_MOST_BYTES = 1 << 10

native: ModuleType | None
try:
    from cubinspec.format import _native as native  # type: ignore[no-redef,attr-defined]
except ImportError:
    native = None


def texts(table: bytes, places: list[int]) -> list[str] | None:
    """The names of a string table that stand at these places, none of them long."""
    if native is not None:
        found: list[str] | None = native.texts(table, places, LONG_STRING)
        return found
    if len(table) >= _MOST_BYTES * len(places) or not table.isascii():
        return None
    # counting all names would take longer than finding a few of them
    sample = min(len(table), _SAMPLE)
    if table.count(0, 0, _SAMPLE) * len(table) >= 2 * len(places) * sample:
        return _found(table, places)
    return _cut(table, places)


def _found(table: bytes, places: list[int]) -> list[str] | None:
    """The names, each found by itself."""
    is_inside = table.endswith(b"\0") and 0 <= min(places) <= max(places) < len(table)
    if not is_inside:
        return None
    text = table.decode("ascii")
    find = text.find
    names = [text[at : find("\0", at)] for at in places]
    return names if max(map(len, names)) <= LONG_STRING else None


def _cut(table: bytes, places: list[int]) -> list[str] | None:
    """The names, by cutting the whole table; all of them have to be where a name starts."""
    from itertools import accumulate, count
    from operator import add

    names = table.decode("ascii").split("\0")
    names.pop()  # what no NUL ends
    starts = map(add, accumulate(map(len, names), initial=0), count())
    found = list(map(dict(zip(starts, names, strict=False)).get, places))
    return None if None in found else found  # type: ignore[return-value]


def rows(table: bytes, record: Struct) -> list[tuple[int, ...]]:
    """The rows of a table of integers.

    Raises:
        struct.error: they are no whole rows.
    """
    if native is not None:
        found: list[tuple[int, ...]] | None = native.rows(table, record.format)
        if found is not None:
            return found
    return [*record.iter_unpack(table)]


def string_table(names: list[str], wanted: list[str]) -> tuple[bytes, list[int]] | None:
    """The string table with these names, and the offsets of those that are wanted.

    Its twin is ``strings.build``.
    """
    if native is None:
        return None
    found: tuple[bytes, list[int]] | None = native.string_table(names, wanted)
    return found


def streams(bodies: list[bytes]) -> list[list[InfoRow]] | None:
    """The rows of attribute streams, all of which are well formed."""
    if native is not None:
        found: list[list[InfoRow]] | None = native.streams(bodies, INFO_RECORD.format, EIFMT_SVAL)
        return found
    from cubinspec.format.attributes import scan

    scanned = [scan(body) for body in bodies]
    if any(end != len(body) for body, (_, end) in zip(bodies, scanned, strict=True)):
        return None
    return [rows for rows, _ in scanned]


def expect(size: int) -> None:
    """Prepare for this many bytes of objects, in a process that does nothing else and ends then."""
    if native is not None:
        native.expect(size)
