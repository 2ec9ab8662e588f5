"""A file in columns: what ``describe`` checks and ``layout`` works on.

A big cubin has tens of thousands of sections. Here each property of all of them stands in one list,
and what hardly any section has in a dictionary, so that most steps look at many sections at once.
:meth:`Draft.to_description` makes the objects that users see, and :meth:`Draft.of` columns of them.

Sections have numbers, from 0 on, in index order (index - 1). Symbols of ``.symtab`` that are no
computed section symbols have numbers of their own, and so have dropped names. The history lists all
of them as entries (``entries``).
"""

from __future__ import annotations

from _operator import is_not
from itertools import compress, pairwise, starmap

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import final_name, info_target
from cubinspec.gc_pause import GcPaused
from cubinspec.reader.columns import Rows
from cubinspec_generated.producers import PRODUCERS
from cubinspec_writer.emitter import bodies, kinds
from cubinspec_writer.emitter.entries import DroppedNames, Entry, of_symbol, symbol_number
from cubinspec_writer.emitter.model import (
    Description,
    Dropped,
    Exceptions,
    Header,
    Pins,
    Section,
    Symbol,
)
from cubinspec_writer.emitter.packed import Packed
from cubinspec_writer.emitter.runs import BlobRun, InfoRun, RelocationRun, Run
from cubinspec_writer.emitter.symbols import NO_SYMBOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cubinspec_generated.producers import Producer
    from cubinspec_writer.emitter.entries import DroppedRow
    from cubinspec_writer.emitter.kinds import Kind
    from cubinspec_writer.emitter.model import Body, Fill

    #: A body, packed or not, the bytes of a ``Blob``, or the run that a section belongs to.
    Content = Body | Packed | bytes | Run


#: Stands for the bodies of many sections, or for a ``Blob``.
_BULK = frozenset((bytes, BlobRun, InfoRun, RelocationRun))


class Draft:
    """The sections, symbols and history of one file.

    Attributes:
        names, types, flags, addrs, aligns, entsizes, bodies: of every section. A file that was
            read has bytes in place of blobs, and runs of neighbours.
        runs: all of those.
        kinds: what the producer's rules say of each.
        links, infos, registers, has_symbol, shares, deferred, made_as, exceptions: what single
            sections have beside that, by number; see :class:`~.model.Section`.
            ``shares`` holds numbers; ``None`` stands for a section that is not there.
        symbol_names, symbol_rows: of every symbol; ``st_name`` counts for nothing.
        in_globals, symbol_places: what single symbols have beside that; the place is ``st_name``.
        dropped: names without a section or symbol.
        history, symbols: the lists of a :class:`~cubinspec_writer.emitter.model.Description`, as
            entries.
        section_objects, symbol_objects: where this was made of a description: the objects there.
        indices: of these sections.
        section_entries: the sections in index order; objects that many lists share.
    """

    __slots__ = (
        "_index_of_name",
        "_kind_runs",
        "_singles",
        "addrs",
        "aligns",
        "bodies",
        "deferred",
        "dropped",
        "entsizes",
        "exceptions",
        "fills",
        "flags",
        "has_symbol",
        "header",
        "history",
        "in_globals",
        "indices",
        "infos",
        "kinds",
        "links",
        "made_as",
        "names",
        "null_value",
        "pins",
        "producer",
        "registers",
        "runs",
        "section_entries",
        "section_objects",
        "shares",
        "symbol_names",
        "symbol_objects",
        "symbol_places",
        "symbol_rows",
        "symbols",
        "types",
    )
    section_entries: list[Entry]

    def __init__(
        self,
        header: Header,
        names: Sequence[str],
        types: Sequence[int],
        flags: Sequence[int],
        bodies: list[Content],
        runs: Sequence[Run] = (),
    ) -> None:
        self.header: Header = header
        self.names: Sequence[str] = names
        self.types: Sequence[int] = types
        self.flags: Sequence[int] = flags
        self.bodies: list[Content] = bodies
        self.runs: Sequence[Run] = runs
        self.addrs: Sequence[int] = ()
        self.aligns: Sequence[int] = ()
        self.entsizes: Sequence[int] = ()
        self.kinds: list[Kind] = []
        self.links: dict[int, Section | int] = {}
        self.infos: dict[int, Section | int] = {}
        self.registers: dict[int, int] = {}
        self.has_symbol: dict[int, bool] = {}
        self.shares: dict[int, int | bool | None] = {}
        self.deferred: dict[int, bool] = {}
        self.made_as: dict[int, str] = {}
        self.exceptions: dict[int, Exceptions] = {}
        self.symbol_names: Sequence[str] = ()
        self.symbol_rows: Rows = NO_SYMBOLS
        self.in_globals: dict[int, bool] = {}
        self.symbol_places: dict[int, int] = {}
        self.dropped: DroppedNames = DroppedNames()
        self.history: list[Entry] = []
        self.symbols: list[Entry] = []
        self.producer: Producer = PRODUCERS["classic"]
        self.pins: Pins = Pins()
        self.fills: list[Fill] = []
        self.null_value: int = 0
        self.section_objects: list[Section] = []
        self.symbol_objects: list[Symbol] = []
        self.indices: dict[Section, int] = {}
        self.section_entries = [*map(Entry, range(len(names)))]
        self._index_of_name: dict[str, int] | None = None
        self._kind_runs: list[tuple[Kind, int, int]] | None = None
        self._singles: list[int] | None = None

    @classmethod
    def of(cls, description: Description) -> Draft:
        """The columns of a description.

        Raises:
            BadStructureError: the producer is unknown, or a symbol is defined in a section that is
                not part of the file.
        """
        producer = PRODUCERS.get(description.profile)
        if producer is None:
            raise BadStructureError(f"unknown profile {description.profile!r}", field="profile")
        creation = description.sections
        order = description.pins.index_order
        if order is None:
            order = index_order(producer, creation)
        sections = [creation[at] for at in order]
        draft = cls(
            description.header,
            [section.name for section in sections],
            [section.sh_type for section in sections],
            [section.sh_flags for section in sections],
            [section.body for section in sections],
        )
        draft.producer = producer
        draft.kinds = kinds.find(producer, draft.names, draft.types, draft.flags)
        draft.section_objects = sections
        draft.indices = dict(zip(sections, range(1, len(sections) + 1), strict=True))
        draft._take_sections(sections)
        draft.history = draft._entries(description.history)
        draft.symbols = draft._entries(description.symbols)
        draft._take_symbols(draft.symbol_objects)
        draft.pins = description.pins
        draft.fills = description.fills
        draft.null_value = description.null_value
        return draft

    def _take_sections(self, sections: list[Section]) -> None:
        """The fields of sections as columns, in index order."""
        indices = self.indices
        self.addrs = [section.sh_addr for section in sections]
        self.aligns = [section.sh_addralign for section in sections]
        self.entsizes = [section.sh_entsize for section in sections]
        self.links = {n: s.link for n, s in enumerate(sections) if s.link is not None}
        self.infos = {n: s.info for n, s in enumerate(sections) if s.info is not None}
        self.registers = {n: s.registers for n, s in enumerate(sections) if s.registers}
        self.has_symbol = {
            n: s.has_symbol for n, s in enumerate(sections) if s.has_symbol is not None
        }
        self.deferred = {n: s.deferred for n, s in enumerate(sections) if s.deferred is not None}
        self.made_as = {n: s.made_as for n, s in enumerate(sections) if s.made_as is not None}
        self.exceptions = {
            n: s.exceptions for n, s in enumerate(sections) if s.exceptions is not None
        }
        for number, section in enumerate(sections):
            twin = section.shares
            if isinstance(twin, Section):
                self.shares[number] = indices[twin] - 1 if twin in indices else None
            elif twin is not None:
                self.shares[number] = twin

    def _take_symbols(self, symbols: list[Symbol]) -> None:
        """The fields of symbols as columns."""
        self.symbol_names = [symbol.name for symbol in symbols]
        self.in_globals = {
            n: s.in_globals for n, s in enumerate(symbols) if s.in_globals is not None
        }
        self.symbol_places = {
            n: s.exceptions.pins["st_name"]
            for n, s in enumerate(symbols)
            if s.exceptions is not None and "st_name" in s.exceptions.pins
        }
        self.symbol_rows = Rows(
            [
                [0] * len(symbols),
                [symbol.st_info for symbol in symbols],
                [symbol.st_other for symbol in symbols],
                [self.index(symbol.section) for symbol in symbols],
                [symbol.st_value for symbol in symbols],
                [symbol.st_size for symbol in symbols],
            ]
        )

    def _entries(self, objects: Iterable[Section | Symbol | Dropped]) -> list[Entry]:
        indices, symbols = self.indices, self.symbol_objects
        entries: list[Entry] = []
        for made in objects:
            if isinstance(made, Section):
                entries.append(Entry(indices[made] - 1))
            elif isinstance(made, Symbol):
                entries.append(of_symbol(len(symbols)))
                symbols.append(made)
            else:
                row = (made.name, made.in_shstrtab, made.made_as, made.erased)
                entries.append(self.drop(row))
        return entries

    # -- entries ---------------------------------------------------------------------------------

    def drop(self, dropped: DroppedRow) -> Entry:
        """The entry of a name without a section or symbol."""
        self.dropped.append(dropped)
        return Entry(len(self.names) + len(self.dropped) - 1)

    def is_dropped(self, entry: Entry) -> bool:
        """Whether an entry is a dropped name."""
        return entry >= len(self.names)

    def dropped_row(self, entry: Entry) -> DroppedRow:
        """The row of the dropped name that an entry is."""
        return self.dropped[entry - len(self.names)]

    def created(self) -> list[Entry]:
        """The sections in creation order; the entry of a section is its number."""
        count = len(self.names)
        return [entry for entry in self.history if 0 <= entry < count]

    # -- all sections ----------------------------------------------------------------------------

    def index(self, section: Section | int) -> int:
        """Index of a section; a number is an index already.

        Raises:
            BadStructureError: it is not part of the file.
        """
        if isinstance(section, int):
            return section
        index = self.indices.get(section)
        if index is None:
            raise BadStructureError(
                f"section {section.name} is referred to but not part of the file", field="symbols"
            )
        return index

    @property
    def index_of_name(self) -> dict[str, int]:
        """Index of the first section of each name."""
        if self._index_of_name is None:
            indices: list[int] = [len(self.names), *self.section_entries[:0:-1]]
            self._index_of_name = dict(zip(reversed(self.names), indices, strict=False))
        return self._index_of_name

    def number_of(self, name: str) -> int | None:
        """The number of the first section of a name."""
        index = self.index_of_name.get(name)
        return None if index is None else index - 1

    def forget_names(self) -> None:
        """Free the memory of :attr:`index_of_name`; it is made again if something asks."""
        self._index_of_name = None

    @property
    def kind_runs(self) -> list[tuple[Kind, int, int]]:
        """Neighbours of one kind: the kind, the first number, and the number behind the last."""
        if self._kind_runs is None:
            kinds = self.kinds
            starts = [*compress(range(1, len(kinds)), map(is_not, kinds, kinds[1:]))]
            starts = [*([0] if kinds else []), *starts, len(kinds)]
            self._kind_runs = [(kinds[start], start, stop) for start, stop in pairwise(starts)]
        return self._kind_runs

    @property
    def singles(self) -> list[int]:
        """The sections whose body is neither bytes nor a run."""
        if self._singles is None:
            classes = map(type, self.bodies)
            self._singles = [at for at, kind in enumerate(classes) if kind not in _BULK]
        return self._singles

    def replace_body(self, number: int, body: Body) -> None:
        """Give a section another body."""
        self.bodies[number] = body
        self._singles = None

    # -- single sections -------------------------------------------------------------------------

    def made_name(self, number: int) -> str:
        """The name under which a section was made."""
        made_as = self.made_as.get(number)
        if made_as is not None:
            return made_as
        kind, name = self.kinds[number], self.names[number]
        return name if kind.made is None else kind.made + name[kind.cut :]

    def symbol_name(self, number: int) -> str:
        """The name of a section symbol; sections of one name may have lost parts of theirs."""
        made_as = self.made_as.get(number)
        name = final_name(made_as) if made_as is not None else None
        return self.names[number] if name is None else name

    def is_deferred(self, number: int) -> bool:
        """Whether a section was made after the global symbols were named."""
        deferred = self.deferred.get(number)
        if deferred is not None:
            return deferred
        kind = self.kinds[number]
        return kind.is_deferred and (number not in self.made_as or kind.is_mercury)

    def wants_symbol(self, number: int) -> bool:
        """Whether a section symbol is made."""
        wanted = self.has_symbol.get(number)
        return self.kinds[number].has_symbol if wanted is None else wanted

    def is_defined(self, number: int) -> bool:
        """Whether a symbol refers to a section, and not only to a number that is an index too."""
        if self.symbol_objects:
            return isinstance(self.symbol_objects[number].section, Section)
        _, _, _, indices, _, _ = self.symbol_rows.columns
        return 0 < indices[number] <= len(self.names)

    def ranks(self) -> list[int]:
        """Ranks of the sections in the index order."""
        return kinds.ranks(
            self.producer,
            self.names,
            self.types,
            self.flags,
            self.kinds,
            self.deferred,
            self.made_as,
        )

    def raw(self, number: int) -> bytes | None:
        """The bytes of a section that has no records."""
        body = self.bodies[number]
        if isinstance(body, bodies.Blob):
            return body.data
        if isinstance(body, BlobRun):
            return body.content(number)
        return body if isinstance(body, bytes) else None

    def sizes(self) -> list[int]:
        """Bytes of each section; 0 for tables that the layout computes."""
        found: list[int] = []
        for number, body in enumerate(self.bodies):
            if isinstance(body, bytes):
                found.append(len(body))
            elif isinstance(body, Run):
                found.append(body.sizes[number - body.first])
            else:
                found.append(body.size)
        return found

    def pins_of(self, number: int) -> dict[str, int]:
        """Header fields of a section that no rule gives."""
        return self.exceptions.setdefault(number, Exceptions()).pins

    # -- objects ---------------------------------------------------------------------------------

    def body(self, number: int) -> Body:
        """The body of a section, with an object for each record."""
        body = self.bodies[number]
        if isinstance(body, Run):
            return body.split()[number - body.first]
        return _unpacked(body)

    def _all_bodies(self) -> list[Body]:
        """The body of each section, with an object for each record."""
        found: list[Body] = []
        split: dict[int, list[Body]] = {}
        for number, body in enumerate(self.bodies):
            if isinstance(body, Run):
                if body.first not in split:
                    split[body.first] = body.split()
                found.append(split[body.first][number - body.first])
            else:
                found.append(_unpacked(body))
        return found

    def to_description(self, reasons: list[str] | None = None) -> Description:
        """The objects that users see.

        They take over header, pins and bodies: nothing else is to be done with this draft.

        Args:
            reasons: why the file is not fully computed.
        """
        with GcPaused():
            sections = self._section_objects()

            def refer(index: Section | int) -> Section | int:
                in_file = isinstance(index, int) and 0 < index <= len(sections)
                return sections[index - 1] if in_file else index  # type: ignore[operator]

            self._refer(sections, refer)
            named: list[Section | Dropped] = [*sections, *starmap(Dropped, self.dropped)]

            def objects(entries: list[Entry]) -> list[Section | Symbol | Dropped]:
                return [
                    named[entry] if entry >= 0 else self._symbol(symbol_number(entry), refer)
                    for entry in entries
                ]

            return Description(
                self.header,
                objects(self.history),
                objects(self.symbols),  # type: ignore[arg-type]  # there are no sections
                self.producer.name,
                self.pins,
                self.fills,
                self.null_value,
                reasons,
            )

    def _section_objects(self) -> list[Section]:
        """The sections, which do not refer to each other yet."""
        columns = (
            self.names,
            self.types,
            self._all_bodies(),
            self.flags,
            self.addrs,
            self.aligns,
            self.entsizes,
        )
        sections = [*starmap(Section, zip(*columns, strict=True))]
        for column in ("registers", "has_symbol", "deferred", "made_as", "exceptions"):
            for number, value in getattr(self, column).items():
                setattr(sections[number], column, value)
        return sections

    def _refer(
        self, sections: list[Section], refer: Callable[[Section | int], Section | int]
    ) -> None:
        """Have sections and bodies refer to objects instead of numbers."""
        for number, index in self.links.items():
            sections[number].link = refer(index)
        for number, index in self.infos.items():
            section = sections[number]
            is_section = info_target(section.name, section.sh_type) is not None
            section.info = refer(index) if is_section else index
        for number, shared in self.shares.items():
            if shared is None or isinstance(shared, bool):
                sections[number].shares = shared
            else:
                sections[number].shares = sections[shared]
        for section in sections:
            body = section.body
            if isinstance(body, bodies.Capsule):
                body.text = refer(body.text)
            elif isinstance(body, bodies.MercurySymbols):
                for mercury in body.symbols:
                    mercury.section = refer(mercury.section)

    def _symbol(self, number: int, refer: Callable[[Section | int], Section | int]) -> Symbol:
        _, info, other, index, value, size = self.symbol_rows[number]
        symbol = Symbol(self.symbol_names[number], info, other, refer(index), value, size)
        symbol.in_globals = self.in_globals.get(number)
        if number in self.symbol_places:
            symbol.pins["st_name"] = self.symbol_places[number]
        return symbol


def _unpacked(body: Body | Packed | bytes) -> Body:
    if isinstance(body, bytes):
        return bodies.Blob(body)
    return body.unpack() if isinstance(body, Packed) else body


def index_order(producer: Producer, sections: Sequence[Section]) -> list[int]:
    """Positions of sections in creation order, in section index order (without the null one)."""
    names = [section.name for section in sections]
    types = [section.sh_type for section in sections]
    flags = [section.sh_flags for section in sections]
    ranks = kinds.ranks(
        producer,
        names,
        types,
        flags,
        kinds.find(producer, names, types, flags),
        {n: s.deferred for n, s in enumerate(sections) if s.deferred is not None},
        {n: s.made_as for n, s in enumerate(sections) if s.made_as is not None},
    )
    return sorted(range(len(sections)), key=ranks.__getitem__)
