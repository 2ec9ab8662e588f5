"""The history of a file: in which order its writer made sections and named symbols.

The string tables tell it: they keep the names in the order in which they were first used. Every
section, local symbol and dropped name gets a key: the place of its name in ``.strtab``, or where
that says nothing (it has no name there, or an earlier one has the same) right behind what stands
before it in ``.shstrtab`` or in the symbol table.
"""

from __future__ import annotations

from itertools import filterfalse

from cubinspec_writer.emitter import bodies, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cubinspec_writer.emitter.draft import Draft, DroppedRow

_SECTION_SYMBOL = layout.STT_SECTION
_TEXTURE_BANK = ".nv.constant.entry_image_header_indices."
#: A key is the offset of a name; what follows without a name of its own is a step behind. Up to
#: twice `_END`, a float has room for a million of them.
_STEP = 2.0**-20
_BEFORE_ALL = -1
#: Sections made after the globals.
_END = 1 << 32


class History:
    """Finds ``history`` and ``symbols`` of a draft, and what single sections have because of it.

    Args:
        draft: with its producer, kinds and symbols.
        section_places, places: first place of every name in ``.shstrtab`` and ``.strtab``.
        strtab: the bytes of ``.strtab``.

    Attributes:
        codes: by index in ``.symtab``: a section where its symbol is one that the layout makes
            itself, ``~index`` where it is not.
        made_names: under which sections were made.
    """

    def __init__(
        self, draft: Draft, section_places: dict[str, int], places: dict[str, int], strtab: bytes
    ) -> None:
        self.draft = draft
        self.section_places = section_places
        self.places = places
        self.strtab = strtab
        self.codes: list[int] = []
        self.made_names: set[str] = set()

    def find(self, split: int) -> None:
        """Find the order of creation and of the globals.

        Args:
            split: index in ``.symtab`` of the first symbol of the global list.
        """
        places, draft, producer = self.places, self.draft, self.draft.producer
        self._find_section_symbols()
        keys, entries, last_section = self._section_keys()
        sections = {"": 0} if producer.table_first else self.section_places
        # the keys of symbols stand at the end, in reverse, so that each code is an index
        names, codes = draft.symbol_names, self.codes
        bindings = [row[1] >> 4 for row in draft.symbol_rows]
        own: list[float] = [_BEFORE_ALL] * len(codes)
        used = self.made_names

        def key_at(at: int) -> float:
            key = keys[codes[at]] if codes[at] >= 0 else own[codes[at]]
            return _BEFORE_ALL if key is None else key

        # local symbols: at their name, or right behind their predecessor in the table
        is_placed = None not in keys
        key: float
        for at in range(1, min(split, len(codes))):
            code = codes[at]
            if code >= 0:
                if not is_placed and keys[code] is None:
                    # a section whose name an earlier one has: behind its predecessor
                    keys[code] = key_at(at - 1) + _STEP
                    entries.append(code)
                continue
            name = names[at]
            key = places.get(name, -1)
            if key < 0 or name in sections or name in used:
                key = key_at(at - 1) + _STEP
            else:
                used.add(name)
            if bindings[at] == layout.STB_GLOBAL:
                draft.in_globals[at] = False
            own[code] = key
            entries.append(code)
        globals_: list[int] = []
        global_keys: list[float] = []
        key = key_at(split - 1) if split else _BEFORE_ALL
        for code in codes[max(split, 1) :]:
            if code >= 0:
                continue
            name = names[~code]
            place = places.get(name, -1)
            if place < 0 or name in sections or name in used:
                key += _STEP
            else:
                key = place
                used.add(name)
                if place < last_section:
                    if bindings[~code] != layout.STB_GLOBAL:
                        draft.in_globals[~code] = True
                    own[code] = key
                    entries.append(code)
                    continue
            globals_.append(code)
            global_keys.append(key)
        first_global = global_keys[0] if globals_ else _END
        if producer.constant0_deferred:
            used.update(filterfalse(sections.__contains__, draft.names))
        if producer.names_by_index:
            for body in draft.bodies:
                if isinstance(body, bodies.MercurySymbols):
                    used.update(symbol.name for symbol in body.symbols)
        late: list[tuple[int, int]] = []
        for place, dropped in self._dropped_names(sections, used):
            code = draft.drop(dropped)
            keys.append(place)
            if place < first_global:
                entries.append(code)
            else:
                late.append((place, code))
        keys += own
        draft.history = sorted(entries, key=keys.__getitem__)  # type: ignore[arg-type]
        if None in keys and not producer.table_first:
            self._insert_namesakes(draft.history)
        draft.symbols = globals_
        if late:
            draft.symbols = self._merge_dropped(global_keys, globals_, late)

    def _dropped_names(
        self, sections: dict[str, int], used: set[str]
    ) -> Iterator[tuple[int, DroppedRow]]:
        """Strings that name nothing, and runs of NUL bytes that no renaming explains."""
        places = self.places
        if b"\0\0" not in self.strtab:
            others = filterfalse(sections.__contains__, places)
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
                if name not in sections and name not in used and places[name] == at:
                    yield at, (name, False, None, 0)
            elif at:
                gap += 1
            at += len(raw) + 1
        if gap > room:
            yield at - gap + room, ("", False, None, gap - room)

    def _section_keys(self) -> tuple[list[float | None], list[int], int]:
        """Place sections and dropped section names by ``.shstrtab`` and ``.strtab``.

        Returns:
            by code: the place, ``None`` for sections whose name an earlier one has; the codes that
            have one, where places are equal as they should stand; and the offset of the last name.
        """
        draft, places, names = self.draft, self.places, self.draft.names
        producer = draft.producer
        if producer.table_first:
            return [at - _END for at in range(len(names))], [*range(len(names))], -1
        section_places, index_of_name = self.section_places, draft.index_of_name
        has_texture_banks = producer.mercury_names and _TEXTURE_BANK.encode() in self.strtab
        no_place = self._without_place()
        keys: list[float | None] = []
        special: list[int] = []
        last = -1
        for kind, start, stop in draft.kind_runs:
            if kind.is_named_early and not kind.is_of_bank:
                found: list[Any] = [*map(places.get, names[start:stop])]
                keys += found
                if None not in found:
                    last = max(last, *found)
                    continue
                special += [number for number in range(start, stop) if keys[number] is None]
            elif kind.is_late and not no_place and not has_texture_banks:
                keys += [_END + section_places[name] for name in names[start:stop]]
            else:
                keys += [None] * (stop - start)
                special += range(start, stop)
        for number in no_place:
            keys[number] = None
        dropped = [*filter(None, filterfalse(index_of_name.__contains__, section_places))]
        draft.dropped.add_sections(dropped)
        all_names = [*names, *dropped]
        for code, name in enumerate(dropped, len(names)):
            place = places.get(name)
            keys.append(place)
            if place is None or ".nv.constant" in name:
                special.append(code)
            elif place > last:
                last = place
        if no_place:
            special = [code for code in special if code not in no_place]
        self._place_specials(keys, special, all_names, has_texture_banks)
        codes = [*draft.ordinals[:-1], *range(len(names), len(keys))]
        if no_place:
            codes = [code for code in codes if code not in no_place]
        if special and len({*keys}) < len(keys):
            codes.sort(key=lambda code: section_places[all_names[code]])
        if special or no_place:
            placed = [key for key in keys if key is not None and key < _END]
            last = int(max(placed, default=-1))
        return keys, codes, last

    def _without_place(self) -> set[int]:
        """Sections that the names in ``.shstrtab`` say nothing of."""
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
        self,
        keys: list[float | None],
        special: list[int],
        names: list[str],
        has_texture_banks: bool,
    ) -> None:
        """Place the sections and dropped names that do not simply stand where their name does.

        Args:
            names: of all sections and dropped names, by code.
        """
        draft, places = self.draft, self.places
        count = len(draft.names)
        special.sort(key=lambda code: self.section_places[names[code]])
        codes_before: dict[int, int] = {}
        for code in special:
            lookup = names[code]
            if code < count:
                if has_texture_banks:
                    self._find_texture_bank(code)
                if draft.is_late(code):
                    keys[code] = _END + self.section_places[lookup]
                    continue
                made_as = draft.made_name(code)
                self.made_names.add(made_as)
                if not draft.producer.names_patched or made_as in places:
                    lookup = made_as
            place = places.get(self._with_bank(lookup) if ".nv.constant" in lookup else lookup)
            codes_before = codes_before or self._codes_before(names)
            before = keys[codes_before[code]] if code in codes_before else None
            before = _BEFORE_ALL if before is None else before
            if place is None or place == before // 1:
                keys[code] = before + _STEP
            else:
                keys[code] = place

    def _codes_before(self, names: list[str]) -> dict[int, int]:
        """By code of a section or dropped name: what is named before it in ``.shstrtab``.

        Args:
            names: of all of them, by code.
        """
        named = dict(zip(reversed(names), range(len(names) - 1, -1, -1), strict=True))
        order = [named[name] for name in self.section_places if name]
        return dict(zip(order[1:], order, strict=False))

    def _with_bank(self, lookup: str) -> str:
        """The name of the bank, where that of its relocation section stands before it."""
        places = self.places
        if not lookup.startswith((".rel", _TEXTURE_BANK)):
            return lookup
        behind = lookup.removeprefix(".rela").removeprefix(".rel")
        if behind not in places and behind.startswith(_TEXTURE_BANK):
            behind = ".nv.constant0." + behind[len(_TEXTURE_BANK) :]
        if (
            behind != lookup
            and places.get(lookup, 0) < places.get(behind, -1)
            and behind.startswith((".nv.constant0.", _TEXTURE_BANK))
        ):
            return behind
        return lookup

    def _find_texture_bank(self, number: int) -> None:
        """``.nv.constant0`` of a kernel with texture references was made under another name."""
        head, zero, kernel = self.draft.names[number].partition(".nv.constant0.")
        if zero and head in ("", ".rel", ".rela"):
            bank = _TEXTURE_BANK + kernel
            if bank in self.places or ".rela" + bank in self.places:
                self.draft.made_as[number] = head + bank

    def _insert_namesakes(self, history: list[int]) -> None:
        """Sections whose name an earlier one has: behind their predecessor in the index order."""
        placed = set(history)
        last: dict[int, int] = {}
        for number, group in enumerate(self.draft.groups()):
            if number not in placed:
                before = last.get(group)
                at = len(history) if before is None else history.index(before) + 1
                history.insert(at, number)
            last[group] = number

    @staticmethod
    def _merge_dropped(
        keys: list[float], symbols: list[int], dropped: list[tuple[int, int]]
    ) -> list[int]:
        """Globals in table order, dropped names where their offset puts them."""
        merged: list[int] = []
        at = 0
        for key, symbol in zip(keys, symbols, strict=True):
            while at < len(dropped) and dropped[at][0] < key:
                merged.append(dropped[at][1])
                at += 1
            merged.append(symbol)
        merged.extend(item[1] for item in dropped[at:])
        return merged

    def _find_section_symbols(self) -> None:
        """Which symbols are those that the layout makes."""
        draft = self.draft
        count = 0 if draft.producer.table_first else len(draft.names)
        has_symbol = bytearray(len(draft.names))
        for at, (_, info, other, shndx, value, size) in enumerate(draft.symbol_rows):
            if info == _SECTION_SYMBOL and 0 < shndx <= count and not (other or value or size):
                number = shndx - 1
                if not has_symbol[number] and draft.names[number] == draft.symbol_names[at]:
                    has_symbol[number] = True
                    self.codes.append(draft.ordinals[number])
                    continue
            self.codes.append(~at)
        usual = bytearray()
        for kind, start, stop in draft.kind_runs:
            usual += bytes((kind.has_symbol,)) * (stop - start)
        if usual != has_symbol:
            for number, wanted in enumerate(has_symbol):
                if wanted != usual[number]:
                    draft.has_symbol[number] = bool(wanted)

    def is_index_order(self) -> bool:
        """Whether the history puts the sections into the order that they have."""
        creation = self.draft.created()
        creation.sort(key=self.draft.groups().__getitem__)
        return creation == self.draft.ordinals[: len(creation)]

    def name_constant_relocations_early(self) -> None:
        """``.rel.nv.constant0.<k>`` is named with its bank, but made with its first entry."""
        draft, history = self.draft, self.draft.history
        previous: int | None = None
        for number, name in enumerate(draft.names):
            if draft.types[number] not in bodies.RELOCATION_TYPES:
                continue
            head, zero, _ = name.partition(".nv.constant0.")
            if zero and head in (".rel", ".rela") and previous is not None:
                made_as = draft.made_name(number)
                dropped = (name, True, None if made_as == name else made_as, 0)
                history[history.index(number)] = draft.drop(dropped)
                history.insert(history.index(previous) + 1, number)
            previous = number
