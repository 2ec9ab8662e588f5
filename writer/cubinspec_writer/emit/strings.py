"""The string tables: which names stand in ``.shstrtab`` and ``.strtab``, and where.

Both get each name when it is first used, once, without sharing of suffixes; names of what was
dropped later stay. ``.strtab`` also holds the section names, in the same order, and the names of
the globals last. One irregularity: the name of a relocation section of ``.nv.constant0.<k>`` enters
``.strtab`` before that of the section, ``.shstrtab`` after it.
"""

from __future__ import annotations

from itertools import accumulate

from cubinspec.errors import BadStructureError
from cubinspec.reader import elf
from cubinspec_writer.emit import bodies
from cubinspec_writer.emit.kinds import NAMED_BEHIND_RELOCATIONS, UFT_REL, runs
from cubinspec_writer.emit.model import Dropped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cubinspec_writer.emit.draft import Draft


class _Names:
    """A string table under construction.

    Attributes:
        names: in the order in which they were first named; the values become their places.
    """

    def __init__(self) -> None:
        self.names: dict[str, int] = {"": 0}
        #: What stands between the NUL of a name and the next name.
        self._behind: dict[str, str] = {}

    def add(self, name: str, room: int = 0) -> None:
        """Make sure that a name is there, with space for at least ``room`` bytes."""
        if name not in self.names:
            self.names[name] = 0
            if room > length(name):
                self._behind[name] = "\0" * (room - length(name))

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
            self.names[name] = 0
            return None
        last = next(reversed(self.names))
        behind = self._behind.get(last, "")
        self._behind[last] = behind + name + "\0"
        return last, length(last) + 1 + length(behind)

    def table(self, known: Mapping[bytes, dict[str, int]]) -> tuple[bytes, dict[str, int]]:
        """The table, and the place of every name in it.

        Args:
            known: tables and the places of their names.

        Raises:
            BadStructureError: a name has a NUL inside.
        """
        names = self.names
        text = "\0".join(names) + "\0"
        if text.count("\0") != len(names):
            name = next(name for name in names if "\0" in name)
            raise BadStructureError(f"{name!r} is no name: it has a NUL", field=name)
        pieces: list[str] = []
        if self._behind:
            pieces = [f"{name}\0{self._behind.get(name, '')}" for name in names]
            text = "".join(pieces)
        data = encode(text)
        places = known.get(data)
        if places is not None:
            return data, places
        order = list(names)
        ends: Iterable[int] = accumulate(map(length, pieces), initial=0)
        names.update(zip(order, ends if pieces else _starts(order, text.isascii()), strict=False))
        return data, names


def encode(text: str) -> bytes:
    """The bytes of names; what is not UTF-8 stands in the text as surrogates."""
    return text.encode("utf-8", "surrogateescape")


def length(name: str) -> int:
    """Bytes of a name."""
    return len(name) if name.isascii() else len(encode(name))


def _starts(names: list[str], is_ascii: bool) -> Iterable[int]:
    """Where each of the names stands that follow each other, a NUL behind each."""
    if is_ascii:
        return accumulate([len(name) + 1 for name in names[:-1]], initial=0)
    return accumulate([length(name) + 1 for name in names[:-1]], initial=0)


def string_offsets(table: bytes) -> dict[str, int]:
    """Offset of the first occurrence of every string of a table, in the order of the table."""
    text = table.decode("utf-8", "surrogateescape")
    names = text.split("\0")[:-1]
    places = [*_starts(names, text.isascii())] if names else []
    offsets = dict(zip(names, places, strict=True))
    if len(offsets) < len(names):
        offsets.update(zip(reversed(names), reversed(places), strict=True))
    offsets[""] = 0
    return offsets


def section_names(
    draft: Draft, known: Mapping[bytes, dict[str, int]]
) -> tuple[bytes, dict[str, int], dict[int, int]]:
    """``.shstrtab``, the offset of every name, and that of sections whose name is repeated."""
    profile, kinds, section_names, made_as = draft.profile, draft.kinds, draft.names, draft.made_as
    table = _Names()
    names = table.names
    repeated: dict[int, tuple[str, int]] = {}
    entries: Iterable[int | Dropped] = draft.history
    if profile.names_by_index:
        entries = range(len(section_names))
    elif profile.table_first:
        entries = _table_first_order(draft)
    for entry in entries:
        if isinstance(entry, int):
            if entry < 0:
                continue  # a symbol
            kind, name = kinds[entry], section_names[entry]
            if kind.is_final and entry not in made_as:
                names[name] = 0
            elif profile.names_by_index or (kind.is_mercury and profile.late_constant0):
                place = table.append(name)
                if place is not None:
                    repeated[entry] = place
            else:
                table.add(name, length(draft.made_name(entry)))
        elif entry.in_shstrtab and not entry.erased:
            if entry.made_as is None:
                names[entry.name] = 0
            else:
                table.add(entry.name, length(entry.made_as))
    if profile.names_by_index:
        table.erase(shstrtab_hole(draft))
    data, offsets = table.table(known)
    places = {number: offsets[name] + gap for number, (name, gap) in repeated.items()}
    return data, offsets, places


#: How the second writer orders its names: by these prefixes, the rest behind them, then the
#: tables. The second row is that of files with ``.note.nv.cuinfo`` (CUDA 13).
_TABLE_FIRST_RANKS = (
    (".debug_", ".note.nv.cu", ".nv.info", ".nv.info.", ".nv.constant", ".text"),
    (".text", ".note.nv.cu", ".note.nv.tkinfo", ".nv.compat", ".nv.info."),
)


#: The order in which the assembler names what belongs to one kernel.
_KERNEL_PREFIXES = (".text.", ".nv.info.", ".nv.shared.", "", ".nv.constant0.")
_ONCE = (".nv.callgraph", ".nv.info")


def _assembler_order(draft: Draft, numbers: list[int], position: dict[str, int]) -> list[int]:
    """Names of the assembler behind cuBLAS and cuDNN: kernel by kernel, module-wide ones once."""
    code = [at for name, at in position.items() if name.startswith(".text.")]
    first, last = min(code, default=0), len(numbers)

    def rank(number: int) -> tuple[int, int, int]:
        name = draft.names[number]
        if draft.types[number] in (elf.SHT_SYMTAB, elf.SHT_STRTAB):
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

    return sorted(numbers, key=rank)


def _table_first_order(draft: Draft) -> list[int]:
    numbers = [entry for entry in draft.history if isinstance(entry, int) and entry >= 0]
    position = {draft.names[number]: at for at, number in enumerate(numbers)}
    if any(name.startswith(".nv.shared.") for name in position):
        return _assembler_order(draft, numbers, position)
    prefixes = _TABLE_FIRST_RANKS[".note.nv.cuinfo" in position]

    def rank(number: int) -> tuple[int, int]:
        name = draft.names[number]
        if draft.types[number] in (elf.SHT_SYMTAB, elf.SHT_STRTAB):
            return (len(prefixes) + 1, 0)
        if name.startswith(".nv.info."):
            owner = position.get(".text." + name[len(".nv.info.") :], 0)
            return (prefixes.index(".nv.info."), owner)
        for at, prefix in enumerate(prefixes):
            if name.startswith(prefix):
                return (at, position[name])
        return (len(prefixes), position[name])

    return sorted(numbers, key=rank)


def symbol_names(
    draft: Draft, known: Mapping[bytes, dict[str, int]]
) -> tuple[bytes, dict[str, int]]:
    """``.strtab``, and the offset of every name in it."""
    profile = draft.profile
    if profile.names_by_index:
        return _names_by_index(draft).table(known)
    table = _Names()
    names = table.names
    own = draft.symbol_names
    if profile.table_first:
        for entry in (*draft.history, *draft.symbols):
            if isinstance(entry, int) and entry < 0:
                names[own[~entry]] = 0
        return table.table(known)
    section_names, kinds, made_as, lates = draft.names, draft.kinds, draft.made_as, draft.late
    renamed: list[str] = []
    late: list[str] = []
    pending: tuple[str, int, str] | None = None
    for entry in draft.history:
        room = erased = 0
        if not isinstance(entry, int):
            erased = entry.erased
            name = made = entry.made_as or entry.name
        elif entry < 0:
            name = made = own[~entry]
        else:
            kind = kinds[entry]
            name = made = section_names[entry]
            if not kind.is_named_early or entry in made_as or entry in lates:
                if draft.is_late(entry):
                    if not kind.is_mercury:
                        late.append(name)
                    continue
                made = draft.made_name(entry)
                if made != name and not kind.is_relocation:
                    if profile.names_patched:
                        room = length(made)
                    else:
                        renamed.append(name)
                        name = made
                else:
                    name = made
            elif pending is None:
                names[name] = 0
                continue
        if pending is not None:
            # the name of the relocation section precedes that of its .nv.constant0
            first = profile.bank_relocations_first
            if first and name in (".rel" + pending[2], ".rela" + pending[2]):
                table.add(name, room)
            table.add(pending[0], pending[1])
            pending = None
        if erased:
            table.erase(erased)
        elif isinstance(entry, int) and entry >= 0 and name.startswith(NAMED_BEHIND_RELOCATIONS):
            pending = (name, room, made)
        elif room:
            table.add(name, room)
        else:
            names[name] = 0
    if pending is not None:
        table.add(pending[0], pending[1])
    for entry in draft.symbols:
        if isinstance(entry, int):
            names[own[~entry]] = 0
        elif entry.erased:
            table.erase(entry.erased)
        else:
            names[entry.name] = 0
    names.update(dict.fromkeys(renamed, 0))
    names.update(dict.fromkeys(late, 0))
    return table.table(known)


def _names_by_index(draft: Draft) -> _Names:
    table = _Names()
    late: list[str] = []
    dropped: list[str] = []
    mercury: list[str] = []
    for entry in (*draft.history, *draft.symbols):
        if isinstance(entry, Dropped):
            dropped.append(entry.name)
        elif entry < 0:
            table.add(draft.symbol_names[~entry])
        else:
            body = draft.bodies[entry]
            if isinstance(body, bodies.MercurySymbols):
                mercury.extend(symbol.name for symbol in body.symbols)
            elif draft.wants_symbol(entry):
                if draft.is_late(entry):
                    late.append(draft.names[entry])
                else:
                    table.add(draft.names[entry])
    for name in (*late, *mercury, *dropped):
        table.add(name)
    return table


def shstrtab_hole(draft: Draft) -> int:
    """Bytes of the names that the finalizer counts and does not write."""
    profile = draft.profile
    hole = profile.shstrtab_hole
    if profile.hole_per_function:
        code: list[str] = []
        for _, start, stop in runs(draft.kinds):
            if draft.names[start].startswith((".text.", UFT_REL)):  # and so do all of its kind
                code += draft.names[start:stop]
        hole += (len(".nv.capmerc") + 1) * len(code) + length("".join(code))
    return hole


def strtab_hole(draft: Draft) -> int:
    """Bytes of the replaced names that the finalizer counts and does not write."""
    hole = 0
    if draft.profile.strtab_hole:
        for number, name in enumerate(draft.names):
            made = draft.made_name(number)
            if made != name:
                hole += length(made)
                if draft.types[number] not in bodies.RELOCATION_TYPES:
                    hole -= length(name) + 1
    return hole
