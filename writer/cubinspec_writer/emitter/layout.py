"""Phase one: everything about a file that follows from its description.

How the writers work, as far as their output shows it. ``producers`` tells the writers apart;
``kinds`` has the rules for single sections, ``strings`` those of the string tables, ``symtab``
those of the symbol table, ``links`` those of ``sh_link`` and ``sh_info``, ``placement`` those of
offsets, and ``headers`` makes the header tables.

A writer makes sections and symbols one after the other and remembers the order. Section indices are
a stable sort of that order by rank (:func:`kinds.rank`). ``.symtab`` holds the section symbols and
the local and weak symbols in the order in which they were made, then the globals. Section headers
follow the last section at the next multiple of 8, program headers right after them.
"""

from __future__ import annotations

from struct import error as StructError
from struct import pack

from cubinspec.errors import BadStructureError, CubinError
from cubinspec.format.strings import string_offsets
from cubinspec_generated.codes import ELFCLASS64
from cubinspec_writer.emitter import bodies, kinds, links
from cubinspec_writer.emitter.draft import Draft
from cubinspec_writer.emitter.entries import symbol_number
from cubinspec_writer.emitter.headers import Headers, section_columns
from cubinspec_writer.emitter.placement import Placement
from cubinspec_writer.emitter.plan import Plan, References, refuse
from cubinspec_writer.emitter.strings import section_names, symbol_names
from cubinspec_writer.emitter.symbols import encode_symbols
from cubinspec_writer.emitter.symtab import Symtab

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec_writer.emitter.entries import Entry
    from cubinspec_writer.emitter.model import Description, Section, Symbol
    from cubinspec_writer.emitter.strings import Candidates
    from cubinspec_writer.emitter.symbols import SymbolRows


class Planner:
    """The steps of :func:`plan` over shared state.

    Args:
        candidates: string tables that may come out, with the place of every name.

    Attributes:
        draft: what is laid out.
        shstrtab, strtab: the string tables.
        name_places: where the name of each section stands in ``.shstrtab``; ``None``: nowhere.
        strtab_offsets: the place of every name in ``.strtab``.
        context: resolves references while bodies are encoded.
        symtab: the symbols, once they are numbered.
        tables: bytes of the computed tables by kind, as far as they were asked for.
    """

    shstrtab: bytes
    strtab: bytes
    strtab_offsets: dict[str, int]
    tables: dict[str, bytes]

    def __init__(self, source: Description | Draft, candidates: Candidates = ()) -> None:
        draft = source if isinstance(source, Draft) else Draft.of(source)
        self.draft = draft
        self.is_64: bool = draft.header.ei_class == ELFCLASS64
        #: Index of the first computed table of each kind.
        self._computed: dict[str, int] = {}
        for number in draft.singles:
            body = draft.bodies[number]
            if isinstance(body, bodies.Computed):
                self._computed.setdefault(body.kind, number + 1)
        pins = draft.pins
        repeated: dict[int, int] = {}
        if pins.shstrtab is None:
            self.shstrtab, first, repeated = section_names(draft, candidates)
        else:
            self.shstrtab, first = pins.shstrtab, string_offsets(pins.shstrtab)
        self.name_places: list[int | None] = [*map(first.get, draft.names)]
        for number, place in repeated.items():
            self.name_places[number] = place
        renamed: dict[int, int] = {}
        if pins.strtab is None:
            self.strtab, self.strtab_offsets, renamed = symbol_names(draft, candidates)
        else:
            self.strtab, self.strtab_offsets = pins.strtab, string_offsets(pins.strtab)
        self.context: References = References(draft, self.strtab, self.strtab_offsets)
        self.symtab: Symtab = Symtab(draft, renamed)
        self.tables = {"shstrtab": self.shstrtab, "strtab": self.strtab}
        self._sizes: Sequence[int] = ()

    def forget_names(self) -> None:
        """Free the memory of the lookups by name, once all references to names are resolved.

        Bodies that were encoded before can be encoded again.
        """
        self.strtab_offsets = self.context.strtab_offsets = self.context.asked
        self.name_places = []
        self.symtab.forget_entries()
        self.draft.forget_names()

    # -- objects of a description ----------------------------------------------------------------

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
            None
            if entry is None
            else sections[entry]
            if entry >= 0
            else symbols[symbol_number(entry)]
            for entry in self.symtab.entries
        ]

    # -- symbols ---------------------------------------------------------------------------------

    @property
    def symbol_rows(self) -> SymbolRows:
        """The rows of ``.symtab``, with real section indices."""
        return self.symtab.rows

    def number_symbols(self) -> None:
        """Number the symbols, whether or not the file has a symbol table."""
        self.symtab.number(self.strtab_offsets)

    def prepare(self, expected: SymbolRows = (), known: Sequence[Entry] = ()) -> bool:
        """Number the symbols of a file with a symbol table; the sizes depend on them.

        Args:
            expected, known: see :meth:`.symtab.Symtab.number`.

        Returns:
            whether they came out.
        """
        if "symtab" not in self._computed:
            return not expected
        return self.symtab.number(self.strtab_offsets, expected, known)

    # -- sections --------------------------------------------------------------------------------

    def links(self) -> list[int]:
        """``sh_link`` of every section as the rules give it, in index order."""
        return links.links(self.draft)

    def infos(self) -> list[int]:
        """``sh_info`` of every section as the rules give it, in index order."""
        return links.infos(self.draft, self.symtab)

    def sizes(self) -> Sequence[int]:
        """``sh_size`` of every section, in index order."""
        if not self._sizes:
            draft = self.draft
            sizes = draft.sizes()
            for number in draft.singles:
                body = draft.bodies[number]
                if isinstance(body, bodies.Computed):
                    sizes[number] = len(self.table(body.kind, draft.names[number]))
            self._sizes = sizes
        return self._sizes

    def set_sizes(self, sizes: Sequence[int]) -> None:
        """Set the result of :meth:`sizes`, for a caller that has it already."""
        self._sizes = sizes

    def table(self, kind: str, field: str) -> bytes:
        """The bytes of a computed table.

        Args:
            field: the section that needs it, for messages.
        """
        table = self.tables.get(kind)
        if table is None and kind == "merc_symtab_shndx":
            table = self.tables[kind] = self._mercury_words()
        if table is None:
            if kind not in ("symtab", "symtab_shndx") or "symtab" not in self._computed:
                refuse(f"no table of kind {kind!r} is computed", field)
            rows = self.symtab.rows
            words: list[int] = []
            if "symtab_shndx" in self._computed:
                rows, words = self.symtab.extended()
                words = self.draft.pins.symbol_words or words
            self.tables["symtab"] = bytes(encode_symbols(rows, self.is_64))
            self.tables["symtab_shndx"] = pack(f"<{len(words)}I", *words)
            table = self.tables[kind]
        return table

    def _mercury_words(self) -> bytes:
        """A word for each symbol of ``.symtab``, even those that ``.nv.merc.symtab`` lacks.

        Where the tables were made at once, only symbols of the latter have one.
        """
        words: list[int] = []
        for number in self.draft.singles:
            body = self.draft.bodies[number]
            if isinstance(body, bodies.MercurySymbols):
                words = body.words(self.context)
        if kinds.has_early_indices(self.draft.names, self.draft.deferred):
            # made at once, with the words of the other half
            near = bodies.WORD.iter_unpack(self.table("symtab_shndx", ""))
            words = [word or other for word, (other,) in zip(words, near, strict=False)]
        else:
            words += [0] * (len(self.symtab.rows) - len(words))
        return pack(f"<{len(words)}I", *words)

    def offsets(self, actual: Sequence[int] | None = None) -> tuple[list[int], int]:
        """Offset of every section, and the end of the last one.

        Args:
            actual: offsets that the file has. Where the rule gives another one, the section is
                pinned and the rule goes on from there.
        """
        return Placement(self.draft, self.sizes(), actual).run()

    # -- the whole -------------------------------------------------------------------------------

    def run(self) -> Plan:
        """Lay the file out."""
        self.prepare()
        return self.finish(*self.offsets())

    def finish(
        self, offsets: Sequence[int], end: int, columns: list[Sequence[int]] | None = None
    ) -> Plan:
        """Headers and program headers, once the sections have their places.

        Args:
            columns: the section headers without the null one, where they were computed before.
        """
        draft, sizes = self.draft, self.sizes()
        if columns is None:
            columns = section_columns(draft, self.symtab, self.name_places, offsets, sizes)
        headers = Headers(draft, columns, end, self._computed.get("shstrtab", 0))
        return Plan(
            draft=draft,
            section_columns=headers.section_columns,
            null_section=headers.null_section,
            offsets=offsets,
            sizes=sizes,
            tables_at=headers.tables_at,
            symbol_rows=self.symtab.rows,
            tables=self.tables,
            ehdr=headers.ehdr,
            segment_rows=headers.segment_rows,
            size=headers.size,
            context=self.context,
        )


def plan(source: Description | Draft) -> Plan:
    """Lay out a description.

    Raises:
        CubinError: the description contradicts itself (a name or section that is not there).
    """
    try:
        return Planner(source).run()
    except StructError as error:
        raise BadStructureError(f"a number does not fit its field: {error}") from error
    except (IndexError, OverflowError) as error:
        raise CubinError(f"the description cannot be laid out: {error}") from error
