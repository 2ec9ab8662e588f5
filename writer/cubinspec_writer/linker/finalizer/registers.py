"""`.nv_debug_info_reg_sass` of the SASS half: ranges of functions that are not linked become empty.

The table has for every function its name, a count and so many rows: a number, the name of a PTX
register, the register that holds its value, start and end of the code where it does (rule
D5).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec_writer.linker.finalizer.moved import Moved

_WORD, _RANGE = 4, 8


def clear_places(data: bytes, is_linked: Callable[[str], bool]) -> bytes:
    """The table with empty ranges for functions that are not linked.

    From the first byte on that does not fit the form, the table stays as it is.

    Args:
        is_linked: whether a function of a name is linked.
    """
    table = bytearray(data)
    for name, place in _places(data):
        if not is_linked(name):
            table[place : place + _RANGE] = bytes(_RANGE)
    return bytes(table)


def move_places(data: bytes, moved: Callable[[str], Moved | None]) -> bytes:
    """The table with the new ranges of functions whose code moved (rule F12).

    Args:
        moved: where the places of a function of a name went.
    """
    table = bytearray(data)
    for name, place in _places(data):
        new = moved(name)
        if new is not None:
            for at in (place, place + _WORD):
                offset = int.from_bytes(data[at : at + _WORD], "little")
                table[at : at + _WORD] = new.kept(offset).to_bytes(_WORD, "little")
    return bytes(table)


def join_places(
    sass: bytes, mercury: bytes, offsets_of: Callable[[str], dict[int, int]]
) -> bytes | None:
    """The table when only the first part of each name counts; None when it stays.

    Rule D5. The finalizer finds functions by their names: a later part of a name has empty ranges.
    The first one may be that of a copy that is not linked; it has the places that are also in the
    linked code.

    Args:
        sass, mercury: the tables of both halves: the same parts, with rows in another order.
        offsets_of: where the SASS of Mercury instructions is in the linked function of a name.
    """
    table = bytearray(sass)
    first: dict[str, int] = {}
    linked: dict[str, dict[int, int]] = {}
    filled = {part for _, part, _, place in _rows(sass) if any(sass[place : place + _RANGE])}
    #: Number of a part and what stands in front of a range -> ranges of the Mercury half.
    ranges: dict[tuple[int, bytes], list[int]] = {}
    for _, part, at, place in _rows(mercury):
        ranges.setdefault((part, mercury[at:place]), []).append(place)
    for name, part, row, place in _rows(sass):
        if first.setdefault(name, part) != part:
            table[place : place + _RANGE] = bytes(_RANGE)
            continue
        twins = ranges.get((part, sass[row:place]))
        if part in filled or not twins:
            continue
        if name not in linked:
            linked[name] = offsets_of(name)
        twin = twins.pop(0)
        for at in (0, _WORD):
            old = int.from_bytes(mercury[twin + at : twin + at + _WORD], "little")
            new = linked[name].get(old, 0)
            table[place + at : place + at + _WORD] = new.to_bytes(_WORD, "little")
    return bytes(table) if table != sass else None


def _places(table: bytes) -> Iterator[tuple[str, int]]:
    """Name of the function, and offset of the range, of every row that fits the form."""
    for name, _, _, place in _rows(table):
        yield name, place


def _rows(table: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Name of the function, number of its part, offsets of the row and its range, of every row."""
    part = -1
    at = 0
    while at < len(table):
        end = table.find(0, at)
        if end < 0 or end + 1 + _WORD > len(table):
            return
        name = table[at:end].decode("utf-8", "surrogateescape")
        part += 1
        count = int.from_bytes(table[end + 1 : end + 1 + _WORD], "little")
        at = end + 1 + _WORD
        for _ in range(count):
            place = table.find(0, at + _WORD) + 1 + _WORD
            if place <= _WORD or place + _RANGE > len(table):
                return
            yield name, part, at, place
            at = place + _RANGE
