"""The string tables: which names stand in ``.shstrtab`` and ``.strtab``, and where.

Both get each name when it is first used, once, without sharing of suffixes; names of what was
dropped later stay. ``.strtab`` also holds the section names, in the same order, and the names of
the globals last. One irregularity: the name of a relocation section of ``.nv.constant0.<k>`` enters
``.strtab`` before that of the section, ``.shstrtab`` after it.
"""

from __future__ import annotations

from itertools import accumulate

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import (
    CAPSULE_PREFIX,
    MERCURY_PREFIX,
    NAMED_BEHIND_RELOCATIONS,
    RELOCATION_TYPES,
    SHNDX,
    TEXT,
    UFT_REL,
)
from cubinspec.format.strings import encode, length, starts
from cubinspec_generated.codes import SHT_STRTAB, SHT_SYMTAB
from cubinspec_writer.emitter import bodies, kinds
from cubinspec_writer.emitter.entries import Entry, is_symbol, symbol_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from cubinspec_writer.emitter.draft import Draft

    #: Tables, each with the place of every name in it.
    Candidates = Sequence[tuple[bytes, dict[str, int]]]


#: Names that are written at once to be compared.
_PIECE = 1 << 12


class _TableBuilder:
    """A string table under construction."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {"": 0}
        #: Names that come next, as they were added: some may be there already.
        self._next: list[str] = []
        #: What stands between the NUL of a name and the next name.
        self._behind: dict[str, str] = {}

    @property
    def names(self) -> dict[str, int]:
        """In the order in which they were first named; the values become their places."""
        if self._next:
            self._names |= dict.fromkeys(self._next, 0)
            self._next.clear()
        return self._names

    def add(self, name: str, room: int = 0) -> None:
        """Make sure that a name is there, with space for at least ``room`` bytes."""
        if room and room > length(name) and name not in self.names:
            self._behind[name] = "\0" * (room - length(name))
        self._next.append(name)

    def add_all(self, names: Iterable[str]) -> None:
        """Make sure that all names are there."""
        self._next += names

    def add_column(self, column: Sequence[str | None], entries: Sequence[Entry]) -> Iterator[int]:
        """Add the name that a column has for each of many entries.

        Yields:
            the positions of entries without one, when it is their turn.
        """
        names: list[Any] = [*map(column.__getitem__, entries)]
        start = 0
        if None in names:
            for stop in [at for at, name in enumerate(names) if name is None]:
                self._next += names[start:stop]
                yield stop
                start = stop + 1
        self._next += names[start:] if start else names

    def erase(self, count: int) -> None:
        """Append the NUL bytes of an overwritten name."""
        last = next(reversed(self.names))
        self._behind[last] = self._behind.get(last, "") + "\0" * count

    def append(self, name: str) -> tuple[str, int] | None:
        """Append a name even if it is there already.

        Returns:
            ``None`` if it was not; else a name and the distance of the new place from its own.
        """
        if name not in self.names:
            self._names[name] = 0
            return None
        last = next(reversed(self.names))
        behind = self._behind.get(last, "")
        self._behind[last] = behind + name + "\0"
        return last, length(last) + 1 + length(behind)

    def table(self, candidates: Candidates) -> tuple[bytes, dict[str, int]]:
        """The table, and the place of every name in it.

        Args:
            candidates: tables that may come out, with the place of every name.

        Raises:
            BadStructureError: a name has a NUL inside.
        """
        if not self._behind and len(self._names) == 1:
            added = [*filter(None, self._next)]
            for table, places in candidates:
                # as many different names as there are in it: none was added twice
                if len(places) == len(added) + 1 and _is_table_of(added, table):
                    return table, places
            del added
        names = self.names
        text = "\0".join([*names, ""])
        if text.count("\0") != len(names):
            name = next(name for name in names if "\0" in name)
            raise BadStructureError(f"{name!r} is no name: it has a NUL", field=name)
        pieces: list[str] = []
        if self._behind:
            pieces = [f"{name}\0{self._behind.get(name, '')}" for name in names]
            text = "".join(pieces)
        data = encode(text)
        for table, places in candidates:
            if table == data:
                return table, places
        order = list(names)
        ends: Iterable[int] = accumulate(map(length, pieces), initial=0)
        names.update(
            zip(order, ends if pieces else starts(order, are_ascii=text.isascii()), strict=False)
        )
        return data, names


def _is_table_of(names: list[str], table: bytes) -> bool:
    """Whether a table has these names and nothing else; compares a piece at a time."""
    at = 1
    for first in range(0, len(names), _PIECE):
        piece = encode("\0".join([*names[first : first + _PIECE], ""]))
        if not table.startswith(piece, at):
            return False
        at += len(piece)
    return at == len(table) and table.startswith(b"\0")


def section_names(
    draft: Draft, candidates: Candidates
) -> tuple[bytes, dict[str, int], dict[int, int]]:
    """``.shstrtab``, the offset of every name, and that of sections whose name is repeated."""
    producer, section_names = draft.producer, draft.names
    count = len(section_names)
    table = _TableBuilder()
    repeated: dict[int, tuple[str, int]] = {}
    entries = draft.history
    if producer.names_by_index:
        entries = [*map(Entry, range(count))]
    elif producer.table_first:
        entries = _table_first_order(draft)
    column: list[str | None] = []
    for kind, start, stop in draft.kind_runs:
        column += section_names[start:stop] if kind.is_final else [None] * (stop - start)
    again = {number for number, is_last in draft.deferred.items() if is_last}
    again.update(_deferred_namesakes(draft))
    for number in (*draft.made_as, *again):
        column[number] = None
    dropped: list[str | None] = [*draft.dropped.names]
    for at, (in_shstrtab, made_as, erased) in draft.dropped.others.items():
        if not in_shstrtab or erased:
            dropped[at] = ""
        elif made_as:
            dropped[at] = None
    column += dropped
    column += [""] * len(draft.symbol_names)
    for at in table.add_column(column, entries):
        entry = entries[at]
        if draft.is_dropped(entry):
            name, _, made_as, _ = draft.dropped_row(entry)
            table.add(name, length(made_as or ""))
            continue
        name = section_names[entry]
        is_mercury = draft.kinds[entry].is_mercury
        is_last = is_mercury and producer.constant0_deferred
        if producer.names_by_index:
            table.add(name)
        elif is_last or entry in again:
            place = table.append(name)
            if place is not None:
                repeated[entry] = place
        else:
            table.add(name, length(draft.made_name(entry)))
    if producer.names_by_index:
        table.erase(shstrtab_hole(draft))
    data, offsets = table.table(candidates)
    places = {number: offsets[name] + gap for number, (name, gap) in repeated.items()}
    return data, offsets, places


def _deferred_namesakes(draft: Draft) -> list[int]:
    """Banks of parameters, made after everything else, whose name another one has before."""
    if not draft.producer.constant0_deferred:
        return []
    first = draft.index_of_name
    if len(first) == len(draft.names):
        return []
    return [
        number
        for number, name in enumerate(draft.names)
        if first[name] != number + 1 and draft.is_deferred(number)
    ]


_CALL_GRAPH, _ACTION = ".nv.callgraph", ".nv.rel.action"
#: How the second writer orders its names: by these prefixes, the rest behind them, then the
#: tables. The second row is that of files with ``.note.nv.cuinfo`` (CUDA 13), the third one that
#: of CUDA 13.3 and later.
_TABLE_FIRST_RANKS = (
    (".debug_", ".note.nv.cu", ".nv.info", ".nv.info.", _CALL_GRAPH, ".nv.constant", ".text"),
    (".text", ".note.nv.cu", ".note.nv.tkinfo", ".nv.compat", ".nv.info."),
    (".nv.compat", ".note.nv.cu", ".text", ".note.nv.tkinfo", ".nv.info."),
)


#: The order in which the assembler names what belongs to one kernel.
_KERNEL_PREFIXES = (".text.", ".nv.info.", ".nv.shared.", "", ".nv.constant0.")
_ONCE = (_CALL_GRAPH, ".nv.info")


def _assembler_order(draft: Draft, sections: list[Entry], position: dict[str, int]) -> list[Entry]:
    """Names of the assembler behind cuBLAS and cuDNN: kernel by kernel, module-wide ones once."""
    code = [at for name, at in position.items() if name.startswith(".text.")]
    first, last = min(code, default=0), len(sections)

    def rank(section: Entry) -> tuple[int, int, int]:
        name = draft.names[section]
        if draft.types[section] in (SHT_SYMTAB, SHT_STRTAB):
            return (last + 1, 0, 0)
        if name in _ONCE:
            return (first, _KERNEL_PREFIXES.index(""), _ONCE.index(name))
        for at, prefix in enumerate(_KERNEL_PREFIXES):
            if prefix and name.startswith(prefix):
                kernel = name[len(prefix) :]
                shared = position.get(".nv.shared." + kernel, -1)
                # the bank is named where it stands: before or behind the shared memory
                early = prefix == ".nv.constant0." and position[name] < shared
                return (position.get(".text." + kernel, last), 0 if early else at, int(early))
        return (last, position[name], 0)

    return sorted(sections, key=rank)


def _table_first_order(draft: Draft) -> list[Entry]:
    """The sections in the order in which ``.shstrtab`` of the second writer names them."""
    sections = draft.created()
    position = {draft.names[section]: at for at, section in enumerate(sections)}
    if any(name.startswith(".nv.shared.") for name in position):
        return _assembler_order(draft, sections, position)
    is_new = draft.producer.names_compat_first
    prefixes = _TABLE_FIRST_RANKS[2 if is_new else ".note.nv.cuinfo" in position]

    def rank(section: Entry) -> tuple[int, int]:
        name = draft.names[section]
        if draft.types[section] in (SHT_SYMTAB, SHT_STRTAB):
            return (len(prefixes) + 1, 0)
        if name.startswith(".nv.info."):
            owner = position.get(".text." + name[len(".nv.info.") :], 0)
            return (prefixes.index(".nv.info."), -owner if is_new else owner)
        if name == _ACTION and _CALL_GRAPH in position and _CALL_GRAPH in prefixes:
            return (prefixes.index(_CALL_GRAPH), len(sections))
        for at, prefix in enumerate(prefixes):
            if name.startswith(prefix):
                return (at, position[name])
        return (len(prefixes), position[name])

    return sorted(sections, key=rank)


def symbol_names(
    draft: Draft, candidates: Candidates
) -> tuple[bytes, dict[str, int], dict[int, int]]:
    """``.strtab``, the offset of every name, and that of section symbols where it is another one.

    A section that was renamed names its symbol anew, also where another one has the name already.
    """
    if draft.producer.names_by_index:
        return (*_names_by_index(draft).table(candidates), {})
    table = _TableBuilder()
    if draft.producer.table_first:
        for entry in (*draft.history, *draft.symbols):
            if is_symbol(entry):
                table.add(draft.symbol_names[symbol_number(entry)])
        return (*table.table(candidates), {})
    at_once, last = _named_at_once(draft)
    renamed: list[int] = []
    for at in table.add_column(at_once, draft.history):
        entry = draft.history[at]
        if draft.is_dropped(entry):
            dropped, _, made_as, erased = draft.dropped_row(entry)
            if erased:
                table.erase(erased)
            else:
                table.add(made_as or dropped)
        elif draft.is_deferred(entry):
            if not draft.kinds[entry].is_mercury:
                last[entry] = draft.names[entry]
        else:
            name, room = _first_name(draft, entry)
            if name != draft.names[entry] and not draft.kinds[entry].is_relocation:
                renamed.append(entry)
            if draft.producer.bank_relocations_first and name.startswith(NAMED_BEHIND_RELOCATIONS):
                _add_relocations_of(table, draft, at, at_once)
            table.add(name, room)
    for at in table.add_column(at_once, draft.symbols):
        name, _, _, erased = draft.dropped_row(draft.symbols[at])
        if erased:
            table.erase(erased)
        else:
            table.add(name)
    again = _name_anew(draft, table, renamed)
    namesakes = set(_deferred_namesakes(draft))
    for entry in draft.history if namesakes else ():
        if not last[entry]:
            continue
        place = table.append(last[entry]) if entry in namesakes else None
        if place is None:
            table.add(last[entry])
        else:
            again[entry] = place
    if not namesakes:
        table.add_all(filter(None, map(last.__getitem__, draft.history)))
    data, offsets = table.table(candidates)
    return data, offsets, {number: offsets[name] + gap for number, (name, gap) in again.items()}


def _name_anew(
    draft: Draft, table: _TableBuilder, renamed: list[int]
) -> dict[int, tuple[str, int]]:
    """Give the symbols of renamed sections names of their own.

    Returns:
        a name and a distance from it, for those that do not stand where the section's name does.
    """
    found: dict[int, tuple[str, int]] = {}
    seen: set[str] = set()
    for number in renamed:
        name = draft.symbol_name(number)
        place = table.append(name) if name in seen else None
        seen.add(name)
        if place is None:
            table.add(name)
        if place is not None or name != draft.names[number]:
            found[number] = place or (name, 0)
    return found


def _named_at_once(draft: Draft) -> tuple[list[str | None], list[str]]:
    """The names that ``.strtab`` gets at once, and the names that it gets last.

    Both by entry, empty for none; ``None`` where the rules say more.
    """
    at_once: list[str | None] = []
    last: list[str] = []
    for kind, start, stop in draft.kind_runs:
        names, none = draft.names[start:stop], [""] * (stop - start)
        if kind.is_deferred:
            at_once += none
        else:
            at_once += names if kind.is_named_early else [None] * len(none)
        last += names if kind.is_deferred and not kind.is_mercury else none
    for number in (*draft.made_as, *draft.deferred):
        at_once[number], last[number] = None, ""
    dropped: list[str | None] = [*draft.dropped.names]
    for at, (_, made_as, erased) in draft.dropped.others.items():
        if made_as or erased:
            dropped[at] = None
    at_once += dropped
    last += [""] * (len(draft.dropped) + len(draft.symbol_names))
    return [*at_once, *reversed(draft.symbol_names)], last


def _first_name(draft: Draft, number: int) -> tuple[str, int]:
    """The name of a section that enters ``.strtab`` first, and the room that it gets."""
    name, made = draft.names[number], draft.made_name(number)
    if made == name:
        return name, 0
    is_patched = draft.producer.names_patched and not draft.kinds[number].is_relocation
    return (name, length(made)) if is_patched else (made, 0)


def _add_relocations_of(
    table: _TableBuilder, draft: Draft, at: int, at_once: list[str | None]
) -> None:
    """Name the relocation section of a constant bank, if it is the next in the history."""
    bank = draft.made_name(draft.history[at])
    for behind in range(at + 1, len(draft.history)):
        entry = draft.history[behind]
        name, room = at_once[entry], 0
        if name is None and draft.is_dropped(entry):
            dropped, _, made_as, erased = draft.dropped_row(entry)
            name = None if erased else made_as or dropped
        elif name is None:
            if draft.is_deferred(entry):
                continue
            name, room = _first_name(draft, entry)
        elif name == "" and 0 <= entry < len(draft.names):
            continue  # deferred, too
        if name is not None and name.startswith(".rel") and name in (".rel" + bank, ".rela" + bank):
            table.add(name, room)
        return


#: Symbols of the driver's shared memory, which stay in the table without their names.
_LOST = ".nv.reservedSmem."


def _names_by_index(draft: Draft) -> _TableBuilder:
    """``.strtab`` of a writer that makes it after everything else.

    Names without a symbol, such as signatures, stand where they were, and behind all others when no
    symbol follows.
    """
    table = _TableBuilder()
    deferred: list[str] = []
    dropped: list[str] = []
    mercury: list[str] = []
    for entry in (*draft.history, *draft.symbols):
        if is_symbol(entry):
            table.add_all(dropped)
            dropped.clear()
            table.add(draft.symbol_names[symbol_number(entry)])
        elif draft.is_dropped(entry):
            name = draft.dropped_row(entry)[0]
            if name.startswith(_LOST):
                table.add(name)
            else:
                dropped.append(name)
        else:
            body = draft.bodies[entry]
            if isinstance(body, bodies.MercurySymbols):
                mercury.extend(symbol.name for symbol in body.symbols)
            elif draft.wants_symbol(entry):
                if draft.is_deferred(entry):
                    deferred.append(draft.names[entry])
                else:
                    table.add(draft.names[entry])
    for name in (*deferred, *mercury, *dropped):
        table.add(name)
    return table


def shstrtab_hole(draft: Draft) -> int:
    """Bytes of the names that the finalizer counts and does not write."""
    producer = draft.producer
    hole = producer.shstrtab_hole
    is_early = kinds.has_early_indices(draft.names, draft.deferred)
    if MERCURY_PREFIX + SHNDX in draft.names and not is_early:
        return 0  # the names of both tables of indices, which are there
    if producer.hole_per_function:
        code: list[str] = []
        for _, start, stop in draft.kind_runs:
            if draft.names[start].startswith((TEXT, UFT_REL)):  # and so do all of its kind
                code += draft.names[start:stop]
        hole += (len(CAPSULE_PREFIX) + 1) * len(code) + length("".join(code))
    return hole


def strtab_hole(draft: Draft) -> int:
    """Bytes of the replaced names that the finalizer counts and does not write."""
    hole = 0
    if draft.producer.strtab_hole:
        for number, name in enumerate(draft.names):
            made = draft.made_name(number)
            if made != name:
                hole += length(made)
                if draft.types[number] not in RELOCATION_TYPES:
                    hole -= length(draft.symbol_name(number)) + 1
    return hole
