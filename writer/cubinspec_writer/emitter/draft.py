"""A description in columns: what the layout works on.

A big cubin has tens of thousands of sections. Here each property of all of them stands in one list,
and what hardly any section has in a dictionary, so that most steps look at many sections at once
and and objects are made only for who asks for them (:class:`.model.Description`).

Sections have numbers, from 0 on, in index order (index - 1). Symbols of ``.symtab`` that are no
computed section symbols have numbers of their own, and so have dropped names. In a list of all of
them *codes* stand for them: the number of a section; behind the last section, the dropped names;
``~number`` of a symbol. A list with one value for each section, each dropped name, and each symbol
from the last to the first has the value of a code at that index.
"""

from __future__ import annotations

from itertools import groupby, starmap

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import info_target
from cubinspec_writer.emitter import bodies, kinds
from cubinspec_writer.emitter.kinds import Kinds
from cubinspec_writer.emitter.model import Dropped, Exceptions, Header, Pins, Section, Symbol
from cubinspec_writer.emitter.producers import PRODUCERS
from cubinspec_writer.emitter.runs import BlobRun, InfoRun, RelocationRun, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cubinspec_writer.emitter.bodies import Body
    from cubinspec_writer.emitter.kinds import Kind
    from cubinspec_writer.emitter.model import Description, Fill
    from cubinspec_writer.emitter.producers import Producer

    SymbolRow = tuple[int, int, int, int, int, int]
    #: A body, the bytes of a ``Blob``, or the run that a section belongs to.
    Content = Body | bytes | Run
    #: The fields of a ``Dropped``: name, in_shstrtab, made_as, erased.
    DroppedRow = tuple[str, bool, str | None, int]


#: What is said of a dropped name beside the name, nearly always.
_OF_SECTION = (True, None, 0)


class DroppedNames:
    """The rows of dropped names; of most of them only the name has to be kept."""

    __slots__ = ("_names", "_rest")

    def __init__(self) -> None:
        self._names: list[str] = []
        self._rest: dict[int, tuple[bool, str | None, int]] = {}

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, at: int) -> DroppedRow:
        return (self._names[at], *self._rest.get(at, _OF_SECTION))

    def __iter__(self) -> Iterator[DroppedRow]:
        rest = self._rest
        for at, name in enumerate(self._names):
            yield (name, *rest[at]) if at in rest else (name, True, None, 0)

    def append(self, dropped: DroppedRow) -> None:
        """Add one."""
        name, *rest = dropped
        if tuple(rest) != _OF_SECTION:
            self._rest[len(self._names)] = dropped[1:]
        self._names.append(name)

    def add_sections(self, names: Iterable[str]) -> None:
        """Add the names of sections that were made under these names."""
        self._names += names


_TOGETHER = (bytes, BlobRun, InfoRun, RelocationRun)


class Draft:
    """The sections, symbols and history of one file.

    Attributes:
        names, types, flags, addrs, aligns, entsizes, bodies: of every section. A file that was
            read has bytes in place of blobs, and runs of neighbours.
        runs: all of those.
        kinds: what the producer's rules say of each.
        links, infos, registers, has_symbol, shares, late, made_as, exceptions: what single
            sections have beside that, by number; see :class:`~.model.Section`.
            ``shares`` holds numbers; ``None`` stands for a section that is not there.
        symbol_names, symbol_rows: of every symbol; ``st_name`` counts for nothing.
        in_globals, symbol_places: what single symbols have beside that; the place is ``st_name``.
        dropped: names without a section or symbol.
        history, symbols: the lists of a :class:`~cubinspec_writer.emitter.model.Description`, in
            codes.
        section_objects, symbol_objects: where this was made of a description: the objects there.
        indices: of these sections.
        ordinals: the numbers from 0 to that of sections; each an object that many lists share.
    """

    __slots__ = (
        "_index_of_name",
        "_kind_runs",
        "_singles",
        "addrs",
        "aligns",
        "bodies",
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
        "late",
        "links",
        "made_as",
        "names",
        "null_value",
        "ordinals",
        "pins",
        "producer",
        "registers",
        "runs",
        "section_objects",
        "shares",
        "symbol_names",
        "symbol_objects",
        "symbol_places",
        "symbol_rows",
        "symbols",
        "types",
    )

    def __init__(
        self,
        header: Header,
        names: Sequence[str],
        types: Sequence[int],
        flags: Sequence[int],
        bodies: list[Content],
        runs: Sequence[Run] = (),
    ) -> None:
        self.header = header
        self.names = names
        self.types = types
        self.flags = flags
        self.bodies = bodies
        self.runs = runs
        self.addrs: Sequence[int] = ()
        self.aligns: Sequence[int] = ()
        self.entsizes: Sequence[int] = ()
        self.kinds: list[Kind] = []
        self.links: dict[int, Section | int] = {}
        self.infos: dict[int, Section | int] = {}
        self.registers: dict[int, int] = {}
        self.has_symbol: dict[int, bool] = {}
        self.shares: dict[int, int | bool | None] = {}
        self.late: dict[int, bool] = {}
        self.made_as: dict[int, str] = {}
        self.exceptions: dict[int, Exceptions] = {}
        self.symbol_names: Sequence[str] = ()
        self.symbol_rows: Sequence[SymbolRow] = ()
        self.in_globals: dict[int, bool] = {}
        self.symbol_places: dict[int, int] = {}
        self.dropped = DroppedNames()
        self.history: list[int] = []
        self.symbols: list[int] = []
        self.producer: Producer = PRODUCERS["classic"]
        self.pins = Pins()
        self.fills: list[Fill] = []
        self.null_value = 0
        self.section_objects: list[Section] = []
        self.symbol_objects: list[Symbol] = []
        self.indices: dict[Section, int] = {}
        self.ordinals = [*range(len(names) + 1)]
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
        found = Kinds(producer, creation)
        order = description.pins.index_order
        if order is None:
            order = found.index_order(creation)
        sections = [creation[at] for at in order]
        draft = cls(
            description.header,
            [section.name for section in sections],
            [section.sh_type for section in sections],
            [section.sh_flags for section in sections],
            [section.body for section in sections],
        )
        draft.producer = producer
        draft.kinds = [found.found[at] for at in order]
        draft.addrs = [section.sh_addr for section in sections]
        draft.aligns = [section.sh_addralign for section in sections]
        draft.entsizes = [section.sh_entsize for section in sections]
        draft.section_objects = sections
        indices = draft.indices = dict(zip(sections, range(1, len(sections) + 1), strict=True))
        draft.links = {n: s.link for n, s in enumerate(sections) if s.link is not None}
        draft.infos = {n: s.info for n, s in enumerate(sections) if s.info is not None}
        draft.registers = {n: s.registers for n, s in enumerate(sections) if s.registers}
        draft.has_symbol = {
            n: s.has_symbol for n, s in enumerate(sections) if s.has_symbol is not None
        }
        draft.late = {n: s.late for n, s in enumerate(sections) if s.late is not None}
        draft.made_as = {n: s.made_as for n, s in enumerate(sections) if s.made_as is not None}
        draft.exceptions = {
            n: s.exceptions for n, s in enumerate(sections) if s.exceptions is not None
        }
        for number, section in enumerate(sections):
            twin = section.shares
            if isinstance(twin, Section):
                draft.shares[number] = indices[twin] - 1 if twin in indices else None
            elif twin is not None:
                draft.shares[number] = twin
        draft.history = draft._codes(description.history)
        draft.symbols = draft._codes(description.symbols)
        symbols = draft.symbol_objects
        draft.symbol_names = [symbol.name for symbol in symbols]
        draft.in_globals = {
            n: s.in_globals for n, s in enumerate(symbols) if s.in_globals is not None
        }
        draft.symbol_places = {
            n: s.exceptions.pins["st_name"]
            for n, s in enumerate(symbols)
            if s.exceptions is not None and "st_name" in s.exceptions.pins
        }
        draft.symbol_rows = [
            (0, s.st_info, s.st_other, draft.index(s.section), s.st_value, s.st_size)
            for s in symbols
        ]
        draft.pins = description.pins
        draft.fills = description.fills
        draft.null_value = description.null_value
        return draft

    def _codes(self, entries: Iterable[Section | Symbol | Dropped]) -> list[int]:
        indices, symbols = self.indices, self.symbol_objects
        codes: list[int] = []
        for entry in entries:
            if isinstance(entry, Section):
                codes.append(indices[entry] - 1)
            elif isinstance(entry, Symbol):
                codes.append(~len(symbols))
                symbols.append(entry)
            else:
                row = (entry.name, entry.in_shstrtab, entry.made_as, entry.erased)
                codes.append(self.drop(row))
        return codes

    def drop(self, dropped: DroppedRow) -> int:
        """The code of a name without a section or symbol."""
        self.dropped.append(dropped)
        return len(self.names) + len(self.dropped) - 1

    def created(self) -> list[int]:
        """The numbers of the sections in creation order."""
        count = len(self.names)
        return [code for code in self.history if 0 <= code < count]

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
            names_and_indices = zip(reversed(self.names), self.ordinals[:0:-1], strict=True)
            self._index_of_name = dict(names_and_indices)
        return self._index_of_name

    def forget_names(self) -> None:
        """Free the memory of :attr:`index_of_name`, which hardly anything needs any more."""
        self._index_of_name = None

    @property
    def kind_runs(self) -> list[tuple[Kind, int, int]]:
        """Neighbours of one kind: the kind, the first number, and the number behind the last."""
        if self._kind_runs is None:
            self._kind_runs = []
            at = 0
            for kind, run in groupby(self.kinds):
                start, at = at, at + len([*run])
                self._kind_runs.append((kind, start, at))
        return self._kind_runs

    @property
    def singles(self) -> list[int]:
        """The sections whose body is neither bytes nor a run."""
        if self._singles is None:
            classes = map(type, self.bodies)
            self._singles = [at for at, kind in enumerate(classes) if kind not in _TOGETHER]
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

    def is_late(self, number: int) -> bool:
        """Whether a section was made after the global symbols were named."""
        late = self.late.get(number)
        if late is not None:
            return late
        kind = self.kinds[number]
        return kind.is_late and (number not in self.made_as or kind.is_mercury)

    def wants_symbol(self, number: int) -> bool:
        """Whether a section symbol is made."""
        wanted = self.has_symbol.get(number)
        return self.kinds[number].has_symbol if wanted is None else wanted

    def is_defined(self, number: int) -> bool:
        """Whether a symbol is defined in a section, not only by a number that some section has."""
        if self.symbol_objects:
            return isinstance(self.symbol_objects[number].section, Section)
        return 0 < self.symbol_rows[number][3] <= len(self.names)

    def groups(self) -> list[int]:
        """Ranks of the sections in the index order."""
        ranks = [kind.group for kind in self.kinds]
        single = {*self.late, *self.made_as}
        has_table = bool(single) and kinds.has_table(self.names, self.types)
        for number in single:
            ranks[number] = kinds.exact_rank(
                self.names[number],
                self.types[number],
                self.flags[number],
                self.producer,
                late=self.late.get(number),
                made_as=self.made_as.get(number),
                has_table=has_table,
            )
        return ranks

    def raw(self, number: int) -> bytes | None:
        """The bytes of a section that has no records."""
        body = self.bodies[number]
        if isinstance(body, bodies.Blob):
            return body.data
        if isinstance(body, BlobRun):
            return body.content(number)
        return body if isinstance(body, bytes) else None

    def sizes(self) -> list[int]:
        """Bytes of each section; of a computed table not yet."""
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

    def all_bodies(self) -> list[Body]:
        """The body of each section."""
        found: list[Body] = []
        split: dict[int, list[Body]] = {}
        for number, body in enumerate(self.bodies):
            if isinstance(body, bytes):
                found.append(bodies.Blob(body))
            elif isinstance(body, Run):
                if body.first not in split:
                    split[body.first] = body.split()
                found.append(split[body.first][number - body.first])
            else:
                found.append(body)
        return found

    def _section(self, number: int, body: Body) -> Section:
        return Section(
            self.names[number],
            self.types[number],
            body,
            self.flags[number],
            self.addrs[number],
            self.aligns[number],
            self.entsizes[number],
        )

    def fill_in(self, description: Description) -> None:
        """Make the objects of a description."""
        all_bodies = self.all_bodies()
        sections = [self._section(number, body) for number, body in enumerate(all_bodies)]

        def refer(index: Section | int) -> Section | int:
            in_file = isinstance(index, int) and 0 < index <= len(sections)
            return sections[index - 1] if in_file else index  # type: ignore[operator]

        for number, index in self.links.items():
            sections[number].link = refer(index)
        for number, index in self.infos.items():
            section = sections[number]
            is_section = info_target(section.name, section.sh_type) is not None
            section.info = refer(index) if is_section else index
        for number, shared in self.shares.items():
            sections[number].shares = (
                shared if shared is None or isinstance(shared, bool) else sections[shared]
            )
        for column in ("registers", "has_symbol", "late", "made_as", "exceptions"):
            for number, value in getattr(self, column).items():
                setattr(sections[number], column, value)
        for body in all_bodies:
            if isinstance(body, bodies.Capsule):
                body.text = refer(body.text)
            elif isinstance(body, bodies.MercurySymbols):
                for mercury in body.symbols:
                    mercury.section = refer(mercury.section)

        named: list[Section | Dropped] = [*sections, *starmap(Dropped, self.dropped)]

        def objects(codes: list[int]) -> list[Section | Symbol | Dropped]:
            return [named[code] if code >= 0 else self._symbol(~code, refer) for code in codes]

        description.header = self.header
        description.history = objects(self.history)
        description.symbols = objects(self.symbols)  # type: ignore[assignment]
        description.profile = self.producer.name
        description.pins = self.pins
        description.fills = self.fills
        description.null_value = self.null_value

    def _symbol(self, number: int, refer: Callable[[Section | int], Section | int]) -> Symbol:
        _, info, other, index, value, size = self.symbol_rows[number]
        symbol = Symbol(self.symbol_names[number], info, other, refer(index), value, size)
        symbol.in_globals = self.in_globals.get(number)
        if number in self.symbol_places:
            symbol.pins["st_name"] = self.symbol_places[number]
        return symbol
