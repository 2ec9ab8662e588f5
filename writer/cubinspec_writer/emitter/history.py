"""The history of a file: in which order its writer made sections and named symbols.

The string tables tell it: they keep the names in the order in which they were first used. Every
section, local symbol and dropped name gets a position: the offset of its name in ``.strtab``.
Where that offset says nothing (it has no name there, or an earlier one has the same), it stands
right behind what precedes it in ``.shstrtab`` or in the symbol table.
"""

from __future__ import annotations

from itertools import filterfalse

from cubinspec.format.sections import RELOCATION_TYPES, SHNDX
from cubinspec_generated.codes import ST_BIND_SHIFT, STB_GLOBAL, STT_SECTION
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.entries import (
    BEFORE_ALL,
    DEFERRED,
    Entry,
    Positions,
    behind,
    symbol_entries,
    symbol_number,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cubinspec_writer.emitter.draft import Draft
    from cubinspec_writer.emitter.entries import DroppedRow, Position

_BANK = ".nv.constant0."
_TEXTURE_BANK = ".nv.constant.entry_image_header_indices."


class History:
    """Finds ``history`` and ``symbols`` of a draft, and the exceptions of single sections.

    Args:
        draft: with its producer, kinds and symbols.
        section_places, places: first place of every name in ``.shstrtab`` and ``.strtab``.
        strtab: the bytes of ``.strtab``.

    Attributes:
        symtab: what stands at each index of ``.symtab``: a section where its symbol is one that
            the layout makes itself, else the symbol.
        used: names of ``.strtab`` that something was found for.
        positions: where each entry stands.
    """

    def __init__(
        self, draft: Draft, section_places: dict[str, int], places: dict[str, int], strtab: bytes
    ) -> None:
        self.draft = draft
        self.section_places = section_places
        self.places = places
        self.strtab = strtab
        self.symtab: list[Entry] = []
        self.used: set[str] = set()
        self.positions: Positions = Positions([], 0)
        #: Names of sections, even if something else has the same name.
        self._of_sections = {"": 0} if draft.producer.table_first else section_places
        #: Texts of metadata, which ptxas enters before it names anything (from CUDA 12.9 on).
        self._texts: frozenset[str] = frozenset(
            text
            for body in map(draft.bodies.__getitem__, draft.singles)
            if isinstance(body, bodies.Metadata)
            for text in body.texts()
        )
        #: The second ``.symtab_shndx``.
        self._late: set[int] = set()
        #: Offset of the last name of a section.
        self._last_section = -1

    def find(self, split: int) -> None:
        """Find the order of creation and of the globals.

        Args:
            split: index in ``.symtab`` of the first symbol of the global list.
        """
        draft, producer = self.draft, self.draft.producer
        if producer.names_by_index:
            self._find_early_banks()
        self._find_late_indices()
        self._find_section_symbols()
        entries = self._place_sections()
        self._place_locals(split, entries)
        globals_, global_positions = self._place_globals(split, entries)
        first_global = global_positions[0] if globals_ else (DEFERRED, 0)
        if producer.constant0_deferred:
            self.used.update(filterfalse(self._of_sections.__contains__, draft.names))
        if producer.names_by_index:
            for body in draft.bodies:
                if isinstance(body, bodies.MercurySymbols):
                    self.used.update(symbol.name for symbol in body.symbols)
        behind_globals: list[tuple[Position, Entry]] = []
        for place, dropped in self._dropped_names():
            entry = draft.drop(dropped)
            self.positions.offsets.append(place)
            if (place, 0) < first_global:
                entries.append(entry)
            else:
                behind_globals.append(((place, 0), entry))
        is_complete = None not in self.positions.offsets
        self.positions.sort(entries)
        self.positions = Positions([], 0)  # a big file has much of it
        draft.history = entries
        if not is_complete and not producer.table_first:
            self._insert_namesakes(draft.history)
        draft.symbols = globals_
        if behind_globals:
            draft.symbols = _merged(global_positions, globals_, behind_globals)

    def _own_place(self, name: str) -> int | None:
        """The place of a symbol's name; ``None`` if the name was there before the symbol."""
        place = self.places.get(name)
        if place is None or name in self._of_sections or name in self.used:
            return None
        if name in self._texts and place < self.places.get(".shstrtab", 0):
            return None
        self.used.add(name)
        return place

    def _place_locals(self, split: int, entries: list[Entry]) -> None:
        """Place local symbols: at their name, or right behind their predecessor in the table."""
        draft, symtab, positions = self.draft, self.symtab, self.positions
        _, infos, _, _, _, _ = draft.symbol_rows.columns
        own_place = self._own_place
        is_placed = None not in positions.offsets
        for at in range(1, min(split, len(symtab))):
            entry = symtab[at]
            if entry >= 0:
                if is_placed or positions.offsets[entry] is not None:
                    continue
                # an earlier section has the same name
                position = behind(positions.of(symtab[at - 1]))
            else:
                place = own_place(draft.symbol_names[at])
                position = behind(positions.of(symtab[at - 1])) if place is None else (place, 0)
                if infos[at] >> ST_BIND_SHIFT == STB_GLOBAL:
                    draft.in_globals[at] = False
            positions.put(entry, position)
            entries.append(entry)

    def _place_globals(
        self, split: int, entries: list[Entry]
    ) -> tuple[list[Entry], list[Position]]:
        """Place global symbols.

        Old writers named some of them at once; these stand among the entries of the history.

        Returns:
            the others, and where they stand.
        """
        draft, positions = self.draft, self.positions
        _, infos, _, _, _, _ = draft.symbol_rows.columns
        globals_: list[Entry] = []
        found: list[Position] = []
        position = positions.of(self.symtab[split - 1]) if split else (BEFORE_ALL, 0)
        for entry in self.symtab[max(split, 1) :]:
            if entry >= 0:
                continue
            number = symbol_number(entry)
            place = self._own_place(draft.symbol_names[number])
            if place is None:
                position = behind(position)
            else:
                position = place, 0
                if place < self._last_section:
                    if infos[number] >> ST_BIND_SHIFT != STB_GLOBAL:
                        draft.in_globals[number] = True
                    positions.put(entry, position)
                    entries.append(entry)
                    continue
            globals_.append(entry)
            found.append(position)
        return globals_, found

    def _dropped_names(self) -> Iterator[tuple[int, DroppedRow]]:
        """Strings that name nothing, and runs of NUL bytes that no renaming explains."""
        places, of_sections, used = self.places, self._of_sections, self.used
        if b"\0\0" not in self.strtab:
            others = filterfalse(of_sections.__contains__, places)
            for name in filterfalse(used.__contains__, others):
                yield places[name], (name, False, None, 0)
            return
        made_as = {
            name: self.draft.made_name(number)
            for number, name in enumerate(self.draft.names)
            if self.draft.producer.names_patched and not name.startswith(".rel")
        }
        room = at = gap = 0
        for raw in self.strtab.split(b"\0")[:-1]:
            name = raw.decode("utf-8", "surrogateescape")
            if raw:
                if gap > room:
                    yield at - gap + room, ("", False, None, gap - room)
                gap = 0
                room = max(len(made_as.get(name, "")) - len(name), 0)
                if name not in of_sections and name not in used and places[name] == at:
                    yield at, (name, False, None, 0)
            elif at:
                gap += 1
            at += len(raw) + 1
        if gap > room:
            yield at - gap + room, ("", False, None, gap - room)

    # -- sections --------------------------------------------------------------------------------

    def _place_sections(self) -> list[Entry]:
        """Place sections and dropped section names by ``.shstrtab`` and ``.strtab``.

        Returns:
            those that have a position; those of one position in the order in which they belong.
        """
        draft, names = self.draft, self.draft.names
        if draft.producer.table_first:
            in_order: list[int | None] = [at - DEFERRED for at in range(len(names))]
            self.positions = Positions(in_order, len(self.symtab))
            return draft.section_entries[:]
        has_texture_banks = draft.producer.mercury_names and _TEXTURE_BANK.encode() in self.strtab
        no_place = self._without_place()
        offsets, special, last = self._offsets_of_names(no_place, has_texture_banks)
        self.positions = Positions(offsets, len(self.symtab))
        index_of_name = draft.index_of_name
        dropped = [*filter(None, filterfalse(index_of_name.__contains__, self.section_places))]
        dropped += [names[number] for number in self._late]
        draft.dropped.add_sections(dropped)
        all_names = [*names, *dropped]
        for number, name in enumerate(dropped, len(names)):
            place = self.places.get(name)
            offsets.append(place)
            if place is None or ".nv.constant" in name:
                special.append(number)
            elif place > last:
                last = place
        if no_place:
            special = [number for number in special if number not in no_place]
        self._place_specials([*map(Entry, special)], all_names, has_texture_banks)
        entries = [*draft.section_entries, *map(Entry, range(len(names), len(offsets)))]
        if no_place:
            entries = [entry for entry in entries if entry not in no_place]
        if special and len({*offsets}) < len(offsets):
            entries.sort(key=lambda entry: self.section_places[all_names[entry]])
        if special or no_place:
            placed = [offset for offset in offsets if offset is not None and offset < DEFERRED]
            last = max(placed, default=-1)
        self._last_section = last
        return entries

    def _offsets_of_names(
        self, no_place: set[int], has_texture_banks: bool
    ) -> tuple[list[int | None], list[int], int]:
        """The offset of every section that stands where its name does.

        Returns:
            the offsets; the sections that have none; the last offset in ``.strtab``.
        """
        draft, places, names = self.draft, self.places, self.draft.names
        offsets: list[int | None] = []
        special: list[int] = []
        last = -1
        for kind, start, stop in draft.kind_runs:
            if kind.is_named_early and not kind.is_of_bank:
                found: list[Any] = [*map(places.get, names[start:stop])]
                offsets += found
                if None not in found:
                    last = max(last, *found)
                    continue
                special += [number for number in range(start, stop) if offsets[number] is None]
            elif kind.is_deferred and not (no_place or has_texture_banks or draft.deferred):
                offsets += [DEFERRED + self.section_places[name] for name in names[start:stop]]
            else:
                offsets += [None] * (stop - start)
                special += range(start, stop)
        for number in no_place:
            offsets[number] = None
        for number in self._late:
            offsets[number] = DEFERRED
        return offsets, special, last

    def _without_place(self) -> set[int]:
        """Sections whose place in the history does not follow from the names in ``.shstrtab``."""
        names, places = self.draft.names, self.section_places
        index_of_name = self.draft.index_of_name
        is_usual = len(index_of_name) == len(names) and "" not in index_of_name
        if is_usual and index_of_name.keys() <= places.keys():
            return set()
        return {
            number
            for number, name in enumerate(names)
            if not name or name not in places or index_of_name[name] != number + 1
        }

    def _place_specials(
        self, special: list[Entry], names: list[str], has_texture_banks: bool
    ) -> None:
        """Place sections and dropped names that need more than the place of their own name.

        Args:
            names: of all sections and dropped names, by entry.
        """
        draft, places, positions = self.draft, self.places, self.positions
        count = len(draft.names)
        special.sort(key=lambda entry: self.section_places[names[entry]])
        predecessors: dict[Entry, Entry] = {}
        for entry in special:
            lookup = names[entry]
            if entry < count:
                if has_texture_banks:
                    self._find_texture_bank(entry)
                if draft.is_deferred(entry):
                    positions.put(entry, (DEFERRED + self.section_places[lookup], 0))
                    continue
                made_as = draft.made_name(entry)
                self.used.add(made_as)
                if not draft.producer.names_patched or made_as in places:
                    lookup = made_as
            place = places.get(self._with_bank(lookup) if ".nv.constant" in lookup else lookup)
            predecessors = predecessors or self._predecessors(names)
            before = (BEFORE_ALL, 0)
            predecessor = predecessors.get(entry)
            if predecessor is not None and not self._begins_rank(entry, predecessor):
                before = positions.of(predecessor)
            if place is None or place == before[0]:
                positions.put(entry, behind(before))
            else:
                positions.put(entry, (place, 0))

    def _begins_rank(self, entry: Entry, predecessor: Entry) -> bool:
        """Whether names by index say nothing about when a section was made."""
        draft = self.draft
        if not draft.producer.names_by_index or max(entry, predecessor) >= len(draft.names):
            return False
        return draft.kinds[entry].rank != draft.kinds[predecessor].rank

    def _predecessors(self, names: list[str]) -> dict[Entry, Entry]:
        """What is named before each section or dropped name in ``.shstrtab``.

        Args:
            names: of all of them, by entry.
        """
        entries = map(Entry, range(len(names) - 1, -1, -1))
        named = dict(zip(reversed(names), entries, strict=True))
        order = [named[name] for name in self.section_places if name]
        return dict(zip(order[1:], order, strict=False))

    def _with_bank(self, lookup: str) -> str:
        """The name of the bank, where that of its relocation section stands before it."""
        places = self.places
        if not lookup.startswith((".rel", _TEXTURE_BANK)):
            return lookup
        bank = lookup.removeprefix(".rela").removeprefix(".rel")
        if bank not in places and bank.startswith(_TEXTURE_BANK):
            bank = _BANK + bank[len(_TEXTURE_BANK) :]
        if (
            bank != lookup
            and places.get(lookup, 0) < places.get(bank, -1)
            and bank.startswith((_BANK, _TEXTURE_BANK))
        ):
            return bank
        return lookup

    def _find_late_indices(self) -> None:
        """ptxas makes ``.symtab_shndx`` beside a Mercury half a second time, with the banks.

        The first one is dropped; its name stays.
        """
        draft = self.draft
        number, symtab = draft.number_of(SHNDX), draft.number_of(".symtab")
        if number is None or symtab is None or not draft.producer.capsules:
            return
        if number != symtab + 1:
            draft.deferred[number] = True
            self._late = {number}

    def _find_early_banks(self) -> None:
        """``.nv.constant0`` of a kernel with texture references is there before the global symbols.

        Its relocations tell, as its first name is gone.
        """
        draft = self.draft
        for number, name in enumerate(draft.names):
            if name.startswith(_BANK) and ".rela" + name in draft.index_of_name:
                draft.deferred[number] = False

    def _find_texture_bank(self, number: int) -> None:
        """``.nv.constant0`` of a kernel with texture references was made under another name."""
        head, bank_zero, kernel = self.draft.names[number].partition(_BANK)
        if bank_zero and head in ("", ".rel", ".rela"):
            bank = _TEXTURE_BANK + kernel
            if bank in self.places or ".rela" + bank in self.places:
                self.draft.made_as[number] = head + bank

    def _insert_namesakes(self, history: list[Entry]) -> None:
        """Insert sections whose name an earlier one has, behind their predecessor by index."""
        placed = set(history)
        last: dict[int, Entry] = {}
        for number, rank in enumerate(self.draft.ranks()):
            entry = Entry(number)
            if entry not in placed:
                before = last.get(rank)
                at = len(history) if before is None else history.index(before) + 1
                history.insert(at, entry)
            last[rank] = entry

    def _find_section_symbols(self) -> None:
        """Find the symbols that the layout makes."""
        draft = self.draft
        names, section_entries = draft.names, draft.section_entries
        _, infos, others, indices, values, sizes = draft.symbol_rows.columns
        count = 0 if draft.producer.table_first else len(names)
        has_symbol = [False] * len(names)
        symtab = self.symtab = symbol_entries(len(infos))
        for at, info in enumerate(infos):
            if info != STT_SECTION or others[at] or values[at] or sizes[at]:
                continue
            number = indices[at] - 1
            is_free = 0 <= number < count and not has_symbol[number]
            if is_free and names[number] == draft.symbol_names[at]:
                has_symbol[number] = True
                symtab[at] = section_entries[number]
        usual: list[bool] = []
        for kind, start, stop in draft.kind_runs:
            usual += [kind.has_symbol] * (stop - start)
        if usual != has_symbol:
            for number, wanted in enumerate(has_symbol):
                if wanted != usual[number]:
                    draft.has_symbol[number] = wanted

    # -- corrections -----------------------------------------------------------------------------

    def is_index_order(self) -> bool:
        """Whether the history puts the sections into the order that they have."""
        creation = self.draft.created()
        creation.sort(key=self.draft.ranks().__getitem__)
        return creation == self.draft.section_entries[: len(creation)]

    def name_constant_relocations_early(self) -> None:
        """``.rel.nv.constant0.<k>`` is named with its bank, but made with its first entry."""
        draft, history = self.draft, self.draft.history
        previous: Entry | None = None
        for number, name in enumerate(draft.names):
            if draft.types[number] not in RELOCATION_TYPES:
                continue
            entry = Entry(number)
            head, bank_zero, _ = name.partition(_BANK)
            if bank_zero and head in (".rel", ".rela") and previous is not None:
                made_as = draft.made_name(number)
                dropped = (name, True, None if made_as == name else made_as, 0)
                history[history.index(entry)] = draft.drop(dropped)
                history.insert(history.index(previous) + 1, entry)
            previous = entry


def _merged(
    positions: list[Position], globals_: list[Entry], dropped: list[tuple[Position, Entry]]
) -> list[Entry]:
    """Globals in table order, with dropped names where their position puts them."""
    merged: list[Entry] = []
    at = 0
    for position, entry in zip(positions, globals_, strict=True):
        while at < len(dropped) and dropped[at][0] < position:
            merged.append(dropped[at][1])
            at += 1
        merged.append(entry)
    merged += [entry for _, entry in dropped[at:]]
    return merged
