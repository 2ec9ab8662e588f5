"""``.symtab`` of a draft: the order of its symbols, their rows, and ``.symtab_shndx``."""

from __future__ import annotations

from _operator import not_
from itertools import compress

from cubinspec.format.sections import BANK, SHNDX, STUB, TEXT, UFT, UFT_REL
from cubinspec_generated.codes import (
    ET_EXEC,
    SHN_LORESERVE,
    SHN_XINDEX,
    SHT_CUDA_UFT,
    ST_BIND_SHIFT,
    ST_TYPE_MASK,
    STB_GLOBAL,
    STT_FUNC,
    STT_SECTION,
)
from cubinspec_writer.emitter.plan import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, NoReturn

    from cubinspec_writer.emitter.draft import Draft
    from cubinspec_writer.emitter.entries import Entry
    from cubinspec_writer.emitter.symbols import SymbolRow, SymbolRows


class Symtab:
    """The symbols of a draft in table order.

    Attributes:
        entries: what stands at each index: a section for its symbol, ``None`` at 0.
        rows: with real section indices.
        num_local: index of the first global symbol.
        num_deferred: symbols of deferred sections, which stand at the end.
        functions: index of the function that each section is named after, by section index.
        is_expected: whether the rows are the expected ones.
        renamed: section -> ``st_name`` of its symbol, where that is not the place of its name.
    """

    __slots__ = (
        "draft",
        "entries",
        "functions",
        "is_expected",
        "num_deferred",
        "num_local",
        "renamed",
        "rows",
    )
    is_expected: bool

    def __init__(self, draft: Draft, renamed: dict[int, int]) -> None:
        self.draft: Draft = draft
        self.renamed: dict[int, int] = renamed
        self.entries: list[Entry | None] = []
        self.rows: SymbolRows = []
        self.num_local: int = 0
        self.num_deferred: int = 0
        self.functions: list[int] = []
        self.is_expected = False

    def number(
        self,
        places: dict[str, int],
        expected: SymbolRows = (),
        known: Sequence[Entry] = (),
    ) -> bool:
        """Number the symbols and make their rows.

        Args:
            places: the place of every name in ``.strtab``.
            expected: rows that may come out; if they do, they are kept and no others are made.
            known: what stands at each index if these are the symbols of the draft itself: a section
                where the row is that of its symbol.

        Returns:
            whether they came out.
        """
        self.entries, self.rows, self.is_expected = [], [], False
        entries = self._order()
        order = self.draft.pins.symbol_order
        if order is not None:
            if sorted(order) != list(range(len(entries))):
                refuse("not every symbol stands there once", "symbol_order")
            in_order = [*self._make_rows(entries, places)]
            self.entries = [entries[at] for at in order]
            self.rows = [in_order[at] for at in order]
            self.is_expected = self.rows == [*expected]
        else:
            self.entries = entries
            self.is_expected = bool(known) and self._are_own(entries, places, known)
            if not self.is_expected:
                self.rows = [*self._make_rows(entries, places)]
                self.is_expected = self.rows == [*expected]
        if self.is_expected:
            self.rows = expected
        return self.is_expected

    def _order(self) -> list[Entry | None]:
        """Section symbols and locals as they were made, globals, symbols of deferred sections."""
        draft = self.draft
        # by entry: whether its symbol is among the first, the last, and the globals
        is_first: list[bool] = []
        is_last: list[bool] = []
        for kind, start, stop in draft.kind_runs:
            is_first += [kind.has_symbol and not kind.is_deferred] * (stop - start)
            is_last += [kind.has_symbol and kind.is_deferred] * (stop - start)
        for number in {*draft.has_symbol, *draft.deferred, *draft.made_as}:
            is_wanted, is_late = draft.wants_symbol(number), draft.is_deferred(number)
            is_first[number], is_last[number] = is_wanted and not is_late, is_wanted and is_late
        _, infos, _, _, _, _ = draft.symbol_rows.columns
        is_global = [info >> ST_BIND_SHIFT == STB_GLOBAL for info in infos]
        for number, is_among in draft.in_globals.items():
            is_global[number] = is_among
        is_global.reverse()
        none = [False] * len(draft.dropped)
        is_first += [*none, *map(not_, is_global)]
        is_last += [*none, *[False] * len(is_global)]
        history = draft.history
        found: list[Entry | None] = [None, *compress(history, map(is_first.__getitem__, history))]
        self.num_local = len(found)
        is_early = [*[False] * len(draft.names), *none, *is_global]
        found += compress(history, map(is_early.__getitem__, history))
        found += [entry for entry in draft.symbols if entry < 0]
        self.num_deferred = -len(found)
        found += compress(history, map(is_last.__getitem__, history))
        self.num_deferred += len(found)
        return found

    def _are_own(
        self, entries: list[Entry | None], places: dict[str, int], known: Sequence[Entry]
    ) -> bool:
        """Whether the rows of these entries are those of the draft.

        Args:
            known: what stands at each index there: a section where the row is that of its symbol.
        """
        draft = self.draft
        in_order: list[Any] = entries[1:]
        if in_order != known[1:] or draft.null_value:
            return False
        named = [*draft.names, *[""] * len(draft.dropped), *reversed(draft.symbol_names)]
        found: list[Any] = [0, *map(places.get, map(named.__getitem__, in_order))]
        for number, place in draft.symbol_places.items():
            found[number] = place
        own_places, infos, _, indices, _, _ = draft.symbol_rows.columns
        if found != [*own_places]:
            return False
        functions = self.functions = [0] * (len(draft.names) + 1)
        for at, info in enumerate(infos):
            if info & ST_TYPE_MASK == STT_FUNC:
                index = indices[at]
                if self._is_of(draft.symbol_names[at], index):
                    functions[index] = functions[index] or at
        return True

    def _make_rows(
        self, entries: list[Entry | None], places: dict[str, int]
    ) -> Iterator[SymbolRow]:
        draft = self.draft
        pinned, names, renamed = draft.symbol_places, draft.names, self.renamed
        numbers = [~entry for entry in entries if entry is not None and entry < 0]
        own, own_names = draft.symbol_rows, draft.symbol_names
        own_rows = own.take(numbers)  # faster than one by one
        functions = self.functions = [0] * (len(draft.names) + 1)
        for at, entry in enumerate(entries):
            if entry is None:
                yield (0, 0, 0, 0, draft.null_value, 0)
            elif entry >= 0:
                place = renamed.get(entry) if renamed else None
                if place is None:
                    place = places.get(names[entry])
                if place is None:
                    _refuse_name(names[entry])
                yield (place, STT_SECTION, 0, entry + 1, 0, 0)
            else:
                number = ~entry
                row, name = next(own_rows), own_names[number]
                place = pinned.get(number) if pinned else None
                if place is None:
                    place = places.get(name)
                    if place is None:
                        _refuse_name(name)
                _, info, _, index, _, _ = row
                if info & ST_TYPE_MASK == STT_FUNC and self._is_of(name, index):
                    functions[index] = functions[index] or at
                yield row if row[0] == place else (place, *row[1:])

    def _is_of(self, function: str, index: int) -> bool:
        """Whether a section is that of a function; the table of stubs is that of its first stub."""
        draft, number = self.draft, index - 1
        if not 0 <= number < len(draft.kinds) or not draft.kinds[number].is_code:
            return False
        name = draft.names[number]
        if name == UFT:
            return function.startswith(STUB)
        if draft.types[number] == SHT_CUDA_UFT:
            return function == STUB + name[len(UFT_REL) :]
        return function == name[len(TEXT) :]

    def forget_entries(self) -> None:
        """Free the memory of the lookups by index."""
        self.entries, self.functions = [], []

    # -- .symtab_shndx ---------------------------------------------------------------------------

    def extended(self) -> tuple[list[SymbolRow], list[int]]:
        """``.symtab`` as it is stored beside ``.symtab_shndx``, and the words of that.

        Symbols of deferred sections are made with their final index (files of ptxas 13.0 with
        66,000 sections: sm_80, sm_90, sm_100).
        """
        from cubinspec.format.far import REL_ACTION, index_and_word, numbers_when_made

        draft = self.draft
        # the finalizer drops it again
        is_dropped = draft.producer.constant0_deferred and draft.header.e_type == ET_EXEC
        has_action = REL_ACTION in draft.index_of_name or is_dropped
        rows = [*self._made()]
        names, keys = [name for name, _ in rows], [key for _, key in rows]
        made = numbers_when_made(names, keys, len(draft.names), has_action=has_action)
        if any(draft.names[number] == SHNDX for number in draft.deferred):
            made = []  # a table that is made last has no words of symbols made before
        stored = list(self.rows)
        words = []
        deferred = len(stored) - self.num_deferred
        for at, (row, entry) in enumerate(zip(self.rows, self.entries, strict=True)):
            _, _, _, index, _, _ = row
            if entry is None or (entry < 0 and not draft.is_defined(~entry)):
                short, word = (SHN_XINDEX, index) if index > SHN_XINDEX else (index, 0)
            elif at >= deferred and entry >= 0:
                short, word = (SHN_XINDEX, index) if index > SHN_LORESERVE else (index, 0)
            else:
                number = made[index - 1] if 0 < index <= len(made) else 0
                short, word = index_and_word(index, number)
            if short != index:
                stored[at] = (*row[:3], short, *row[4:])
            words.append(word)
        return stored, words

    def _made(self) -> Iterator[tuple[str, int]]:
        """Name and number of every section in creation order; -1: it was dropped."""
        draft = self.draft
        index_of_name = draft.index_of_name
        written: set[str] = set()
        num_sections = len(draft.names)
        for entry in draft.history:
            if entry >= num_sections:
                name, in_shstrtab, _, _ = draft.dropped_row(entry)
                # A name before its section does not count, another section of the name does.
                # Constants have no names before their sections.
                is_ahead = name in index_of_name and name not in written
                if not in_shstrtab or (is_ahead and not name.startswith(BANK)):
                    continue
            elif entry < 0 or draft.is_deferred(entry):
                continue
            else:
                name = draft.names[entry]
                written.add(name)
            yield name, (entry if entry < num_sections else -1)


def _refuse_name(name: str) -> NoReturn:
    refuse(f"the name {name!r} is missing from .strtab", "symbols")
