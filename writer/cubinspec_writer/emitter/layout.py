"""Phase one: everything about a file that follows from its description.

How the writers work, as far as their output shows it (producers.py names them, kinds.py has the
rules for single sections, strings.py those of the string tables, and ``cubinspec.format.segments``
those of program headers):

*Order.* A writer makes sections and symbols one after the other and remembers the order. Section
indices are a stable sort of that order into groups (:func:`kinds.rank`). ``.symtab`` holds the
section symbols and the local and weak symbols in the order in which they were made, then the
globals.

*Offsets.* Sections stand in index order from the end of the ELF header on, aligned; sections
without bytes are aligned too and move the position by their padding. Section headers follow at
the next multiple of 8, program headers right after them.

*Sharing.* A Mercury section whose bytes equal those of its plain twin has the twin's offset.
"""

from __future__ import annotations

from itertools import accumulate
from struct import error as StructError
from struct import pack

from cubinspec.errors import BadStructureError, CubinError
from cubinspec.format import segments
from cubinspec.format.packing import align_up, is_far, symbol_is_far, with_note
from cubinspec.format.sections import (
    CAPMERC_UFT,
    CUDA_NOTES,
    LINK_TO_MERC_SYMTAB,
    STUB,
    UFT,
    UFT_REL,
    info_target,
    sass_twin,
)
from cubinspec.format.strings import empty_name, string_offsets
from cubinspec_generated import records
from cubinspec_generated.codes import (
    ELFCLASS64,
    EM_CUDA,
    SHN_LORESERVE,
    SHN_XINDEX,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_UDT,
    SHT_CUDA_UFT,
    SHT_CUDA_UIDX,
    SHT_STRTAB,
    SHT_SYMTAB,
)
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.draft import Draft
from cubinspec_writer.emitter.strings import (
    section_names,
    shstrtab_hole,
    strtab_hole,
    symbol_names,
)
from cubinspec_writer.plain import dataclass, eq

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, NoReturn

    from cubinspec_writer.emitter.model import Description, Exceptions, Section, Symbol
    from cubinspec_writer.emitter.strings import Candidates

    SymbolRow = tuple[int, int, int, int, int, int]

STT_FUNC, STT_SECTION = 2, 3
_TEXT = ".text."
STB_GLOBAL = 1
_R_CUDA_32 = 1

#: Mercury kinds that never share bytes with a plain section.
_NEVER_SHARED = (
    LINK_TO_MERC_SYMTAB
    | frozenset((bodies.SHT_CUDA_MERC_SYMTAB, SHT_CUDA_RESERVED_SHARED))
    | frozenset((SHT_CUDA_UDT, SHT_CUDA_UIDX))
    | bodies.UFT_TYPES
    | bodies.INFO_TYPES
)


@dataclass(slots=True)
class Plan:
    """A file laid out: all numbers are known, no body is written yet.

    Attributes:
        draft: what is laid out.
        section_columns: the section headers field by field, in ELF64 order, without the null one.
        null_section: the null one.
        offsets, sizes: where the bytes of each section stand, and how many there are.
        tables_at: where the section headers and the program headers stand.
        symbol_rows: ``.symtab``, with real section indices.
        tables: bytes of both string tables, and of other computed tables once they are written.
        ehdr: the fields behind ``e_ident``.
        segment_rows: program headers, ELF64 field order.
        size: length of the file.
        context: what bodies are written with.
    """

    draft: Draft
    section_columns: list[Sequence[int]]
    null_section: tuple[int, ...]
    offsets: Sequence[int]
    sizes: Sequence[int]
    tables_at: tuple[int, int]
    symbol_rows: Sequence[SymbolRow]
    tables: dict[str, bytes]
    ehdr: tuple[int, ...]
    segment_rows: list[tuple[int, ...]]
    size: int
    is_64: bool
    context: References

    @property
    def section_rows(self) -> list[tuple[int, ...]]:
        """The section headers, the null one included."""
        return [self.null_section, *zip(*self.section_columns, strict=True)]

    @property
    def sections(self) -> list[Section | None]:
        """Sections of a description in index order; index 0 is ``None``."""
        return [None, *self.draft.section_objects]

    def table(self, kind: str) -> bytes | bytearray:
        """The bytes of a computed table."""
        if kind in self.tables:
            return self.tables[kind]
        # only .symtab is not written before its size is known
        return bodies.encode_symbols(self.symbol_rows, self.is_64)


def _refuse(reason: str, field: str) -> NoReturn:
    raise BadStructureError(reason, field=field)


class References:
    """Where that stands which bodies refer to.

    Attributes:
        strtab, strtab_offsets: ``.strtab``, and the place of every name in it.
        asked: the places that were asked for.
    """

    __slots__ = ("asked", "is_64", "section_index", "strtab", "strtab_offsets")

    def __init__(self, draft: Draft, strtab: bytes, offsets: dict[str, int]) -> None:
        self.section_index = draft.index
        self.strtab = strtab
        self.strtab_offsets = offsets
        self.asked: dict[str, int] = {}
        self.is_64 = draft.header.ei_class == ELFCLASS64

    def string_offset(self, text: str) -> int:
        """Offset of a string in ``.strtab``."""
        offset = self.strtab_offsets.get(text)
        if offset is None:
            _refuse(f"the string {text!r} is in no symbol name table", ".strtab")
        self.asked[text] = offset
        return offset

    def signature_offset(self, text: str) -> int:
        """Offset of a signature; an empty one has a place of its own in ``.strtab``."""
        if text:
            return self.string_offset(text)
        return empty_name(self.strtab)


class Planner:
    """The steps of :func:`plan` over shared state.

    Args:
        known: string tables that may come out, with the place of every name.
    """

    def __init__(
        self,
        source: Description | Draft,
        known: Candidates = (),
    ) -> None:
        draft = source if isinstance(source, Draft) else Draft.of(source)
        self.draft = draft
        self.producer = draft.producer
        self.is_64 = draft.header.ei_class == ELFCLASS64
        #: Index of the first computed table of each kind.
        self._computed: dict[str, int] = {}
        for number in draft.singles:
            body = draft.bodies[number]
            if isinstance(body, bodies.Computed):
                self._computed.setdefault(body.kind, number + 1)
        pins = draft.pins
        repeated: dict[int, int] = {}
        if pins.shstrtab is None:
            self.shstrtab, first, repeated = section_names(draft, known)
        else:
            self.shstrtab, first = pins.shstrtab, string_offsets(pins.shstrtab)
        #: Where the name of each section stands; ``None``: nowhere.
        self.name_places: list[int | None] = [*map(first.get, draft.names)]
        for number, place in repeated.items():
            self.name_places[number] = place
        if pins.strtab is None:
            self.strtab, self.strtab_offsets = symbol_names(draft, known)
        else:
            self.strtab, self.strtab_offsets = pins.strtab, string_offsets(pins.strtab)
        #: What bodies are written with.
        self.context = References(draft, self.strtab, self.strtab_offsets)
        #: Index in ``.symtab`` of the function that each section is named after, by section index.
        self.function_symbols: list[int] = []
        self.symbol_rows: Sequence[SymbolRow] = []
        #: What stands at each index of ``.symtab``: a section for its symbol, ``None`` at 0.
        self.symbol_codes: list[int | None] = []
        #: Bytes of the computed tables by kind, as far as they were asked for.
        self.tables = {"shstrtab": self.shstrtab, "strtab": self.strtab}
        self._sizes: Sequence[int] = ()
        self.capsule_symbols: dict[int, int] | None = None
        self.num_local = 0
        self.num_tail = 0

    @property
    def index_of_name(self) -> dict[str, int]:
        """Index of the first section of each name."""
        return self.draft.index_of_name

    def forget_names(self) -> None:
        """Free the memory of what only names are found with, once all that refers to names is.

        Bodies can still be encoded that were encoded before.
        """
        self.strtab_offsets = self.context.strtab_offsets = self.context.asked
        self.name_places, self.symbol_codes, self.function_symbols = [], [], []
        self.draft.forget_names()

    def named(self, name: str) -> int | None:
        """The number of the first section of a name."""
        index = self.index_of_name.get(name)
        return None if index is None else index - 1

    @property
    def sections(self) -> list[Section]:
        """The sections of a description in index order."""
        return self.draft.section_objects

    @property
    def symbol_entries(self) -> list[Section | Symbol | None]:
        """What stands at each index of ``.symtab`` of a description: a section for its symbol,
        ``None`` at 0."""
        sections, symbols = self.draft.section_objects, self.draft.symbol_objects
        return [
            None if code is None else sections[code] if code >= 0 else symbols[~code]
            for code in self.symbol_codes
        ]

    # -- symbols ---------------------------------------------------------------------------------

    def symbols(self, known: Sequence[SymbolRow] = ()) -> Sequence[SymbolRow]:
        """``.symtab``.

        Args:
            known: what may come out, which is then given back.
        """
        draft = self.draft
        kinds, wanted, lates = draft.kinds, draft.has_symbol, draft.late
        in_globals, own = draft.in_globals, draft.symbol_rows
        codes: list[int | None] = [None]
        tail: list[int] = []
        named_early: list[int] = []
        count = len(kinds)
        for entry in draft.history:
            if entry >= count:
                continue
            if entry >= 0:
                kind = kinds[entry]
                if wanted.get(entry, kind.has_symbol) if wanted else kind.has_symbol:
                    is_late = (kind.is_late or entry in lates) and draft.is_late(entry)
                    (tail if is_late else codes).append(entry)
            else:
                is_global = in_globals.get(~entry, own[~entry][1] >> 4 == STB_GLOBAL)
                (named_early if is_global else codes).append(entry)
        self.num_local = len(codes)
        codes += named_early
        codes += [entry for entry in draft.symbols if entry < 0]
        codes += tail
        self.num_tail = len(tail)
        order = draft.pins.symbol_order
        if order is not None:
            if sorted(order) != list(range(len(codes))):
                _refuse("not every symbol stands there once", "symbol_order")
            rows = [*self._symbol_rows(codes)]
            self.symbol_codes = [codes[at] for at in order]
            rows = [rows[at] for at in order]
            return known if rows == [*known] else rows
        self.symbol_codes = codes
        if len(known) == len(codes) and all(map(eq, self._symbol_rows(codes), known)):
            return known
        return [*self._symbol_rows(codes)]

    def _symbol_rows(self, codes: list[int | None]) -> Iterator[SymbolRow]:
        draft = self.draft
        places, pinned, names = self.strtab_offsets, draft.symbol_places, draft.names
        own, own_names = draft.symbol_rows, draft.symbol_names
        functions = self.function_symbols = [0] * (len(draft.names) + 1)
        for at, code in enumerate(codes):
            if code is None:
                yield (0, 0, 0, 0, draft.null_value, 0)
            elif code >= 0:
                place = places.get(names[code])
                if place is None:
                    self._refuse_name(names[code])
                yield (place, STT_SECTION, 0, code + 1, 0, 0)
            else:
                row, name = own[~code], own_names[~code]
                place = pinned.get(~code) if pinned else None
                if place is None:
                    place = places.get(name)
                    if place is None:
                        self._refuse_name(name)
                if row[1] & 15 == STT_FUNC and self._is_of(name, row[3]):
                    functions[row[3]] = functions[row[3]] or at
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
        return function == name[len(_TEXT) :]

    @staticmethod
    def _refuse_name(name: str) -> NoReturn:
        _refuse(f"the name {name!r} is missing from .strtab", "symbols")

    # -- sections --------------------------------------------------------------------------------

    def links(self) -> list[int]:
        """``sh_link`` of every section as the rules give it, in index order."""
        stale = self.producer.stale_link
        targets: dict[str | None, int] = {None: 0}
        kinds = self.draft.kinds
        for name in {kind.link for kind in kinds}:
            if name is not None:
                is_stale = name == ".symtab" and stale and self._drops_uft()
                targets[name] = stale if is_stale else self.index_of_name.get(name, 0)
        return [targets[kind.link] for kind in kinds]

    def _drops_uft(self) -> bool:
        draft, count = self.draft, len(self.draft.names)
        return any(
            draft.dropped[code - count][0] == ".nv.uft.entry"
            for code in draft.history
            if code >= count
        )

    def infos(self) -> list[int]:
        """``sh_info`` of every section as the rules give it, in index order."""
        result: list[int] = []
        draft = self.draft
        symbols = self.function_symbols if self.producer.text_symbols else []
        symbols = symbols or [0] * (len(draft.names) + 1)
        index_of = self.index_of_name.get
        for kind, start, stop in draft.kind_runs:
            names = draft.names[start:stop]
            if kind.is_code:
                result += symbols[start + 1 : stop + 1]
            elif kind.info is not None:
                # a kind without functions has the whole name of its target
                before, cut = kind.info, kind.cut
                result += [index_of(before + name[cut:], 0) for name in names]
            else:
                result += [self._table_info(number) for number in range(start, stop)]
        for number, registers in draft.registers.items():
            if draft.kinds[number].is_code:
                result[number] |= registers << 24
        return result

    def _table_info(self, number: int) -> int:
        """``sh_info`` of what belongs to no function."""
        sh_type = self.draft.types[number]
        if sh_type == SHT_SYMTAB:
            if self.producer.info_is_total and self.num_tail:
                return len(self.symbol_rows)
            return self.num_local - self.producer.info_is_last_local
        if isinstance(self.draft.bodies[number], bodies.MercurySymbols):
            return self.num_local
        if sh_type == bodies.SHT_CUDA_CAPMERC:
            if self.capsule_symbols is None:
                self.capsule_symbols = self._capsule_symbols()
            return self.capsule_symbols.get(number + 1, 0)
        target = info_target(self.draft.names[number], sh_type)
        return 0 if target is None else self.index_of_name.get(target, 0)

    def _capsule_symbols(self) -> dict[int, int]:
        """Index in ``.nv.merc.symtab`` of the function of each capsule, by index of that."""
        draft = self.draft
        symbols: dict[int, int] = {}
        table = self.named(".nv.merc.symtab")
        body = None if table is None else draft.bodies[table]
        if isinstance(body, bodies.MercurySymbols):
            for at, symbol in enumerate(body.symbols, 1):
                if symbol.st_info & 15 == STT_FUNC:
                    index = draft.index(symbol.section)
                    name = draft.names[index - 1] if 0 < index <= len(draft.names) else ""
                    function = symbol.name.removeprefix(STUB)
                    if name and (name.endswith("." + function) or name == CAPMERC_UFT):
                        symbols.setdefault(index, at)
        return symbols

    def sizes(self) -> Sequence[int]:
        """``sh_size`` of every section, in index order."""
        if not self._sizes:
            sizes = self.draft.sizes()
            for number in self.draft.singles:
                body = self.draft.bodies[number]
                if isinstance(body, bodies.Computed):
                    sizes[number] = len(self.table(body.kind, self.draft.names[number]))
            self._sizes = sizes
        return self._sizes

    def know_sizes(self, sizes: Sequence[int]) -> None:
        """Say what :meth:`sizes` would find out."""
        self._sizes = sizes

    def table(self, kind: str, field: str) -> bytes:
        """The bytes of a computed table, which ``field`` stands for."""
        table = self.tables.get(kind)
        if table is None:
            if kind not in ("symtab", "symtab_shndx") or not self._by_kind("symtab"):
                _refuse(f"no table of kind {kind!r} is computed", field)
            rows = self.symbol_rows
            words: list[int] = []
            if self._by_kind("symtab_shndx"):
                rows, words = self._extended()
                words = self.draft.pins.symbol_words or words
            self.tables["symtab"] = bytes(bodies.encode_symbols(rows, self.is_64))
            self.tables["symtab_shndx"] = pack(f"<{len(words)}I", *words)
            table = self.tables[kind]
        return table

    def _holes(self) -> dict[str, int]:
        """Free bytes behind ``.shstrtab`` and ``.strtab``."""
        first = 0 if self.producer.names_by_index else shstrtab_hole(self.draft)
        return {".shstrtab": first, ".strtab": strtab_hole(self.draft)}

    def offsets(self, actual: Sequence[int] | None = None) -> tuple[list[int], int]:
        """Offset of every section, and the end of the last one.

        Args:
            actual: offsets that the file has. Where the rule gives another one, the section is
                pinned and the rule goes on from there.
        """
        draft, producer = self.draft, self.producer
        header = 64 if self.is_64 else 52
        entry = 64 if self.is_64 else 40
        at = header
        table_first = producer.table_first
        if table_first:
            at += entry * (len(draft.names) + 1)
        holes = self._holes()
        result: list[int] = []
        hole = 0
        exceptions, shares = draft.exceptions, draft.shares
        is_usual = actual is None and not table_first and not exceptions and not shares
        sizes = self.sizes()
        for kind, start, stop in draft.kind_runs:
            if is_usual and kind.is_plain:
                at += hole
                hole = 0
                run_sizes, aligns = sizes[start:stop], {*draft.aligns[start:stop]}
                alignment = aligns.pop()
                below = max(alignment - 1, 0)
                is_even = not aligns and not alignment & below
                is_even = is_even and not any(map(below.__and__, run_sizes))
                if is_even and bodies.NoBytes not in map(type, draft.bodies[start:stop]):
                    result += accumulate(run_sizes[:-1], initial=align_up(at, alignment))
                    at = result[-1] + run_sizes[-1]
                    continue
                columns = (run_sizes, draft.aligns[start:stop], draft.bodies[start:stop])
                for size, alignment, body in zip(*columns, strict=True):
                    at = align_up(at, alignment)
                    result.append(at)
                    if body.__class__ is not bodies.NoBytes:
                        at += size
                continue
            for number in range(start, stop):
                at += hole
                hole = 0
                offset = align_up(at, draft.aligns[number])
                pinned = exceptions[number].pins.get("sh_offset") if number in exceptions else None
                if pinned is None and (kind.is_mercury or shares.get(number, False) is not False):
                    twin = self._shared_twin(number)
                    if twin is not None and twin < number:
                        place = result[twin]
                        if actual is None or actual[number] == place:
                            result.append(place)
                            continue
                        shares[number] = False
                is_strings = draft.types[number] == SHT_STRTAB
                if is_strings and table_first:
                    offset = align_up(offset, 8)
                if actual is not None and actual[number] != offset:
                    if self._pin_offset(number, actual[number], result):
                        continue
                    offset = actual[number]
                elif pinned is not None:
                    offset = pinned
                result.append(offset)
                at = offset
                if kind.is_stored and not isinstance(draft.bodies[number], bodies.NoBytes):
                    at += sizes[number]
                if is_strings:
                    if table_first:
                        at = align_up(at, 8)
                    hole = holes.get(draft.names[number], 0)
        return result, at

    def _shared_twin(self, number: int) -> int | None:
        """The section whose bytes a Mercury section uses instead of its own."""
        draft = self.draft
        if number in draft.shares:
            shared = draft.shares[number]
            if not isinstance(shared, bool):
                return shared
            if not shared:
                return None
        if not draft.kinds[number].is_mercury or draft.types[number] in _NEVER_SHARED:
            return None
        name = draft.names[number]
        if name == ".nv.merc.debug_info" and not self._only_addresses():
            return None
        twin = self.named(sass_twin(name))
        if twin is None:
            return None
        ours, theirs = draft.raw(number), draft.raw(twin)
        return twin if ours is not None and ours == theirs else None

    def _only_addresses(self) -> bool:
        """Whether ``.debug_info`` has no references to other debug sections (R_CUDA_32).

        They are what keeps its Mercury twin apart; 22 of 22 files of ptxas and nvlink 13.0 and
        13.2.
        """
        number = self.named(".rela.debug_info")
        body = None if number is None else self.draft.all_bodies()[number]
        if not isinstance(body, bodies.Relocations):
            return True
        return all(kind != _R_CUDA_32 for _, _, kind, _ in body.rows())

    def _pin_offset(self, number: int, offset: int, before: list[int]) -> bool:
        """Keep an offset that the rule does not give; whether it is that of an equal twin."""
        draft = self.draft
        twin = self.named(sass_twin(draft.names[number]))
        if (
            twin is not None
            and draft.kinds[number].is_mercury
            and twin < len(before)
            and before[twin] == offset
            and self.sizes()[number] == self.sizes()[twin]
        ):
            draft.shares[number] = twin
            draft.pins_of(number).pop("sh_offset", None)
            before.append(offset)
            return True
        draft.pins_of(number)["sh_offset"] = offset
        return False

    # -- the whole -------------------------------------------------------------------------------

    def prepare(self, known: Sequence[SymbolRow] = ()) -> None:
        """Number the symbols, which the sizes depend on.

        Args:
            known: symbols that may come out.
        """
        if self._by_kind("symtab"):
            self.symbol_rows = self.symbols(known)

    def _extended(self) -> tuple[list[SymbolRow], list[int]]:
        """``.symtab`` as it is stored beside ``.symtab_shndx``, and the words of that.

        A symbol gets its word when it is made: the number of its section so far. Later the real
        index replaces the word only where it needs it. Symbols of late sections are made with
        their final index (files of ptxas 13.0 with 66,000 sections: sm_80, sm_90, sm_100).
        """
        made = self._numbers_when_made()
        draft = self.draft
        stored = list(self.symbol_rows)
        words = []
        late = len(stored) - self.num_tail
        for at, (row, code) in enumerate(zip(self.symbol_rows, self.symbol_codes, strict=True)):
            index = row[3]
            word = 0
            if code is not None and (code >= 0 or draft.is_defined(~code)):
                is_late = code >= 0 and at >= late
                if is_late:
                    beyond = index > SHN_LORESERVE
                else:
                    word = made.get(index - 1, 0)
                    beyond = symbol_is_far(index)
                if beyond:
                    word = index
                    stored[at] = (*row[:3], SHN_XINDEX, *row[4:])
            elif index > SHN_XINDEX:
                word = index
                stored[at] = (*row[:3], SHN_XINDEX, *row[4:])
            words.append(word)
        return stored, words

    def _numbers_when_made(self) -> dict[int, int]:
        """The number of each section at the time it was made, when dropped ones were still there.

        ``.nv.rel.action`` and, of the finalizer, a kernel's parameter bank were there from an
        earlier time on than their names say.
        """
        draft = self.draft
        numbers: dict[int, int] = {}
        count = 0
        bank = False
        last = len(draft.names) - 1
        for entry in draft.history:
            if entry > last:
                name, in_shstrtab, _, _ = draft.dropped[entry - last - 1]
                if not in_shstrtab:
                    continue
            elif entry < 0 or draft.is_late(entry):
                continue
            else:
                name = draft.names[entry]
            if name.startswith((".text.", ".debug_frame")):
                count += bank
                kernel = name.removeprefix(".text.")
                bank = (
                    self.producer.constant0_deferred
                    and f".nv.constant0.{kernel}" in self.index_of_name
                )
            count += 1
            if entry <= last:
                numbers[entry] = count
            if name == ".nv.info" and ".nv.rel.action" in self.index_of_name:
                count += 1
        return numbers

    def run(self) -> Plan:
        """Everything."""
        self.prepare()
        return self.finish(*self.offsets())

    def finish(
        self, offsets: Sequence[int], end: int, columns: list[Sequence[int]] | None = None
    ) -> Plan:
        """Headers and program headers, once the sections have their places.

        Args:
            columns: the section headers without the null one, where they are known.
        """
        draft = self.draft
        header, pins = draft.header, draft.pins
        if columns is None:
            columns = self._section_columns(offsets)
        count = len(draft.names) + 1
        ehsize, shentsize, phentsize = (64, 64, 56) if self.is_64 else (52, 40, 32)
        word = 8 if self.is_64 else 4
        shoff = ehsize if self.producer.table_first else align_up(end, word)
        shoff = header.pins.get("e_shoff", shoff)
        after_sections = shoff + count * shentsize
        style = segments.SEGMENT_STYLES[self.producer.segments]
        headers = pins.segments
        if headers is None:
            wanted = header.e_type == 2 and count > 1
            rows = _loadable(columns)
            headers = [*style(rows, count, after_sections, phentsize)] if wanted else []
            if not self.is_64:
                headers = [(*row[:-1], segments.P_ALIGN_32) for row in headers]
        phoff = header.pins.get("e_phoff", after_sections if headers else 0)
        shstrndx = self._by_kind("shstrtab")
        # gABI extended numbering, in section header 0
        null = (
            0, 0, 0, 0, 0,
            count if is_far(count) else 0,
            shstrndx if is_far(shstrndx) else 0,
            0, 0, 0,
        )  # fmt: skip
        columns = _overridden(columns, draft.exceptions)
        fields = {
            "e_type": header.e_type,
            "e_machine": EM_CUDA,
            "e_version": header.e_version,
            "e_entry": header.e_entry,
            "e_phoff": phoff,
            "e_shoff": shoff,
            "e_flags": self._flags(),
            "e_ehsize": ehsize,
            "e_phentsize": phentsize if headers else self._idle_phentsize(phentsize),
            "e_phnum": len(headers),
            "e_shentsize": shentsize,
            "e_shnum": 0 if is_far(count) else count,
            "e_shstrndx": SHN_XINDEX if is_far(shstrndx) else shstrndx,
        }
        fields.update(header.pins)
        ehdr = tuple([header.overrides.get(name, value) for name, value in fields.items()])
        size = max(
            end if self.producer.table_first else 0,
            after_sections,
            phoff + len(headers) * phentsize if headers else 0,
            end,
        )
        return Plan(
            draft,
            columns,
            null if pins.null_section is None else pins.null_section,
            offsets,
            self.sizes(),
            (shoff, phoff),
            self.symbol_rows,
            self.tables,
            ehdr,
            headers,
            size if pins.file_size is None else pins.file_size,
            self.is_64,
            self.context,
        )

    def _idle_phentsize(self, phentsize: int) -> int:
        return phentsize if self.producer.phentsize_when_none else 0

    def _by_kind(self, kind: str) -> int:
        return self._computed.get(kind, 0)

    def _flags(self) -> int:
        header = self.draft.header
        if header.ei_osabi != 0x41:
            return header.e_flags
        for name in CUDA_NOTES:
            if name in self.draft.names:
                note = self.draft.names.index(name) + 1
                return with_note(header.e_flags, note)
        return header.e_flags

    def _section_columns(self, offsets: Sequence[int]) -> list[Sequence[int]]:
        draft = self.draft
        places: list[Any] = [*self.name_places]
        sizes = [*self.sizes()]
        for number, exceptions in draft.exceptions.items():
            pins, overrides = exceptions.pins, exceptions.overrides
            if "sh_name" in pins or "sh_name" in overrides:
                places[number] = pins.get("sh_name", overrides.get("sh_name"))
            sizes[number] = pins.get("sh_size", sizes[number])
        if None in places:
            name = draft.names[places.index(None)]
            _refuse(f"the name {name!r} is missing from .shstrtab", name)
        links, infos = self.links(), self.infos()
        for column, given in ((links, draft.links), (infos, draft.infos)):
            for number, section in given.items():
                column[number] = draft.index(section)
        return [
            places,
            draft.types,
            draft.flags,
            draft.addrs,
            offsets,
            sizes,
            links,
            infos,
            draft.aligns,
            draft.entsizes,
        ]


def _loadable(columns: Sequence[Sequence[int]]) -> Iterator[segments.Loaded]:
    """What program headers are made from: type, flags, offset, size and alignment of sections."""
    _, types, flags, _, offsets, sizes, _, _, aligns, _ = columns
    return zip(types, flags, offsets, sizes, aligns, strict=True)


def _overridden(
    columns: list[Sequence[int]], exceptions: dict[int, Exceptions]
) -> list[Sequence[int]]:
    """Section headers that say something else than the layout."""
    changed: dict[int, list[int]] = {}
    for number, of_section in exceptions.items():
        for name, value in of_section.overrides.items():
            if name not in records.SECTION_HEADER_64_FIELDS:
                _refuse(f"a section header has no field {name!r}", name)
            field = records.SECTION_HEADER_64_FIELDS.index(name)
            if field not in changed:
                changed[field] = [*columns[field]]
            changed[field][number] = value
    return [changed.get(field, column) for field, column in enumerate(columns)]


def plan(description: Description) -> Plan:
    """Lay out a description.

    Raises:
        CubinError: the description contradicts itself (a name or section that is not there).
    """
    try:
        return Planner(description.draft or description).run()
    except StructError as error:
        raise BadStructureError(f"a number does not fit its field: {error}") from error
    except (IndexError, OverflowError) as error:
        raise CubinError(f"the description cannot be laid out: {error}") from error
