"""Bytes to a description: decode everything, guess how it was made, check the guess.

The history of a file is read from its string tables (``history``). The layout is then computed from
the draft alone and compared with the file aspect by aspect; what differs is pinned under a named
reason.
"""

from __future__ import annotations

from struct import error as StructError

from cubinspec.errors import CubinError
from cubinspec.files import open_file
from cubinspec.format.sections import CUDA_NOTES, info_target
from cubinspec.gc_pause import GcPaused
from cubinspec_generated.codes import (
    EF_CUDA_V2_CUINFO_SECTION_MASK,
    EI_ABIVERSION,
    EI_CLASS,
    EI_OSABI,
    EI_VERSION,
    ELFOSABI_CUDA_V2,
    SHI_REGISTERS_SHIFT,
    SHT_CUDA_MERC_SYMTAB,
    SHT_PROGBITS,
    SHT_STRTAB,
    SHT_SYMTAB_SHNDX,
)
from cubinspec_generated.producers import PRODUCERS
from cubinspec_writer.emitter import bodies, detect, kinds
from cubinspec_writer.emitter.contents import Contents
from cubinspec_writer.emitter.draft import Draft
from cubinspec_writer.emitter.entries import is_symbol
from cubinspec_writer.emitter.history import History
from cubinspec_writer.emitter.layout import Planner, plan
from cubinspec_writer.emitter.model import Header
from cubinspec_writer.emitter.packed import PackedInfo
from cubinspec_writer.emitter.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec.reader.elf import Buffer
    from cubinspec_writer.emitter.model import Description
    from cubinspec_writer.emitter.plan import Plan
    from cubinspec_writer.emitter.symbols import SymbolRow, SymbolRows

#: Bodies that ``decode`` has already shown to be complete.
_LOSSLESS = frozenset(
    (
        bodies.Blob,
        bodies.NoBytes,
        bodies.InfoRecords,
        bodies.Relocations,
        bodies.UftEntries,
        PackedInfo,
    )
)
#: Numbers of a column that are compared at once.
_PIECE = 1 << 12
_OWNER = (
    r"^(\.(?:nv\.)?(?:merc\.|capmerc\.)?(?:nv\.)?(?:rela?\.)?(?:nv\.)?"
    r"(?:text|info|shared|constant\d+|constant\.optimizer|local))\..*"
)


class CheckedDraft:
    """A draft that was compared with its file.

    Attributes:
        draft: the file in columns.
        plan: how the draft is laid out, where nothing had to be pinned: as the file is.
        reasons: why the file is not fully computed.
    """

    __slots__ = ("draft", "plan", "reasons")

    def __init__(self, draft: Draft, plan: Plan | None, reasons: list[str]) -> None:
        self.draft: Draft = draft
        self.plan: Plan | None = plan
        self.reasons: list[str] = reasons

    def laid_out(self) -> Plan:
        """How the draft is laid out."""
        return plan(self.draft) if self.plan is None else self.plan

    def to_description(self) -> Description:
        """The objects that users see; nothing else is to be done with this draft."""
        return self.draft.to_description(self.reasons)


def describe(data: Buffer, file: str = "<bytes>") -> Description:
    """The description from which :func:`cubinspec_writer.emitter.emit` makes ``data`` again.

    Args:
        data: a whole cubin; nothing of it is used once this returns.
        file: name for messages.

    Raises:
        CubinError: not a well-formed cubin.
    """
    with GcPaused():
        return check_draft(data, file).to_description()


def check_draft(data: Buffer, file: str = "<bytes>") -> CheckedDraft:
    """The draft of a file; enough for callers that need no objects.

    Raises:
        CubinError: not a well-formed cubin.
    """
    with GcPaused():
        return _Checker(Source(data, file)).run()


def check_draft_of_file(path: str) -> CheckedDraft:
    """:func:`check_draft` of a file, of which only pieces are in memory.

    Raises:
        CubinError: it cannot be read, or is no well-formed cubin.
    """
    data = open_file(path)
    try:
        return check_draft(data, path)
    finally:
        if not isinstance(data, bytes):
            data.close()


def kind_of(name: str) -> str:
    """A section name with ``*`` in place of the function, for reasons and statistics."""
    import re  # hardly any file needs it

    match = re.match(_OWNER, name, re.DOTALL)
    return f"{match[1]}.*" if match else name


def _are_equal(column: Sequence[int], numbers: Sequence[int | None]) -> bool:
    """Whether a column has these numbers; makes objects of no more than a piece of it at once."""
    count = len(column)
    if count != len(numbers):
        return False
    pieces = [slice(at, at + _PIECE) for at in range(0, count, _PIECE)]
    return all([*column[piece]] == [*numbers[piece]] for piece in pieces)


class _Checker:
    """Makes the draft of a file and compares what follows from it with the file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.reasons = source.reasons
        self.contents = Contents(source)
        self.contents.read()
        self.draft = self._draft()

    def _draft(self) -> Draft:
        """The header and all sections."""
        source = self.source
        ident = source.elf.ident
        header = Header(
            ei_class=ident[EI_CLASS],
            ei_osabi=ident[EI_OSABI],
            ei_abiversion=ident[EI_ABIVERSION],
            ei_pad=ident[EI_ABIVERSION + 1 :],
            ei_version=ident[EI_VERSION],
            e_type=source.e_type,
            e_version=source.e_version,
            e_entry=source.e_entry,
            e_flags=source.e_flags,
        )
        _, types, flags, addrs, starts, _, _, _, aligns, entsizes = [
            column[1:] for column in source.columns
        ]
        contents = self.contents
        draft = Draft(header, source.names[1:], types, flags, contents.bodies, contents.runs)
        draft.addrs, draft.aligns, draft.entsizes = addrs, aligns, entsizes
        if any(align & (align - 1) for align in {*aligns}):
            for number, align in enumerate(aligns):
                if align & (align - 1):  # no rule says where such a section would stand
                    draft.pins_of(number)["sh_offset"] = starts[number]
        return draft

    def run(self) -> CheckedDraft:
        """Make the draft, and pin what does not follow from it."""
        draft, source = self.draft, self.source
        draft.fills = source.fills()
        self._read_symbols()
        self._decode_mercury_symbols()
        producer = draft.producer = PRODUCERS[detect.producer_name(source)]
        draft.kinds = kinds.find(producer, draft.names, draft.types, draft.flags)
        draft.symbol_rows, draft.symbol_names = source.symbol_rows, source.symbol_names
        history = History(draft, source.section_places, source.places, source.strtab.data)
        history.find(detect.first_global(source, producer) if source.symtab else 0)
        if draft.header.ei_osabi == ELFOSABI_CUDA_V2 and not {*CUDA_NOTES}.isdisjoint(draft.names):
            draft.header.e_flags &= ~EF_CUDA_V2_CUINFO_SECTION_MASK
        self._check_order(history)
        planner = self._check_names()
        planner = self._check_symbols(planner, history)
        source.section_places = {}
        del history
        planner = self._check_bodies(planner)
        self._check_references(planner)
        planner.forget_names()
        source.forget_names()
        self.contents.read_blobs()
        offsets, end = self._check_offsets(planner)
        laid_out = self._check_header(planner, offsets, end)
        self.reasons += ["bytes outside of sections"] * len(draft.fills)
        return CheckedDraft(draft, None if self.reasons else laid_out, self.reasons)

    # -- symbols ---------------------------------------------------------------------------------

    def _read_symbols(self) -> None:
        source = self.source
        if not source.read_symbols():
            self._keep_table(source.symtab)
            self.reasons.append("malformed symbols")
            source.symtab = 0

    def _decode_mercury_symbols(self) -> None:
        """Decode ``.nv.merc.symtab``, whose names stand in ``.strtab``."""
        source, table = self.source, SHT_CUDA_MERC_SYMTAB
        if table not in source.types:
            return
        for index in [at for at, kind in enumerate(source.sh_type) if at and kind == table]:
            if source.sh_link[index] != source.strtab_index:
                continue
            try:
                self.draft.replace_body(index - 1, self.contents.mercury_symbols(index))
            except CubinError:
                self.reasons.append("malformed Mercury symbols")

    def _keep_table(self, index: int) -> None:
        """Keep the bytes of a section as they are."""
        self.draft.replace_body(index - 1, bodies.Blob(self.source.elf.section_bytes(index)))

    def _planner(self) -> Planner:
        return Planner(self.draft, self.source.string_tables)

    # -- order and names -------------------------------------------------------------------------

    def _check_order(self, history: History) -> None:
        draft = self.draft
        if history.is_index_order():
            return
        history.name_constant_relocations_early()
        if not history.is_index_order():
            positions: dict[int, int] = {number: at for at, number in enumerate(draft.created())}
            draft.pins.index_order = [positions[number] for number in range(len(draft.names))]
            self.reasons.append("section order")

    def _check_names(self) -> Planner:
        source, pins = self.source, self.draft.pins
        planner = self._planner()
        if planner.shstrtab != source.elf.shstrtab.data:
            pins.shstrtab = source.elf.shstrtab.data
            self.reasons.append("section name table")
        if planner.strtab != source.strtab.data:
            pins.strtab = source.strtab.data
            self.reasons.append("symbol name table")
        if pins.shstrtab is not None or pins.strtab is not None:
            planner = self._planner()
        places = source.sh_name[1:]
        if not _are_equal(places, planner.name_places):
            pairs = zip(places, planner.name_places, strict=True)
            for number, (place, first) in enumerate(pairs):
                if place != first:
                    self.draft.pins_of(number)["sh_name"] = place
                    self.reasons.append("place of a section name")
        return planner

    def _check_symbols(self, planner: Planner, history: History) -> Planner:
        if self._has_same_symbols(planner, history):
            return planner
        self._pin_names(planner.strtab_offsets, history)
        if self._has_same_symbols(planner, history):
            return planner
        order = self._symbol_order(planner.symbol_rows)
        if order is not None:
            self.draft.pins.symbol_order = order
            self.reasons.append("symbol order")
        else:
            self._keep_table(self.source.symtab)
            self.reasons.append("symbol table")
        planner = self._planner()
        planner.prepare(self.source.symbol_rows)
        return planner

    def _has_same_symbols(self, planner: Planner, history: History) -> bool:
        """Number the symbols, and say whether they are those of the file."""
        try:
            is_same = planner.prepare(self.source.symbol_rows, history.symtab)
        except CubinError:
            is_same = False  # a name is missing: the table is kept as it is
        return is_same or not self.source.symtab

    def _pin_names(self, first: dict[str, int], history: History) -> None:
        """Keep ``st_name`` where it is not the first place of the name."""
        source = self.source
        for at, entry in enumerate(history.symtab):
            place = source.symbol_rows[at][0]
            if at and is_symbol(entry) and first.get(source.symbol_names[at]) != place:
                self.draft.symbol_places[at] = place
                self.reasons.append("place of a symbol name")

    def _symbol_order(self, computed: SymbolRows) -> list[int] | None:
        """Positions in the computed table that give the table of the file; ``None`` if none do."""
        rows = self.source.symbol_rows
        places: dict[SymbolRow, list[int]] = {}
        for at, row in enumerate(computed):
            places.setdefault(row, []).append(at)
        order: list[int] = []
        for row in rows:
            free = places.get(row)
            if not free:
                break
            order.append(free.pop(0))
        return order if len(order) == len(rows) == len(computed) else None

    # -- bodies ----------------------------------------------------------------------------------

    def _check_bodies(self, planner: Planner) -> Planner:
        """Tables that refer to strings and sections must give their bytes again."""
        draft, source = self.draft, self.source
        symbols_kept = False
        for number in draft.singles:
            index, body = number + 1, draft.bodies[number]
            if body.__class__ in _LOSSLESS:
                continue
            if isinstance(body, bodies.Computed):
                is_words = body.kind == "symtab_shndx"
                same = self._is_computed(planner, body.kind, index)
                if is_words and symbols_kept:
                    same = False
                elif is_words and not same:
                    same = self._pin_words(planner, source.elf.section_bytes(index))
            else:
                data = source.elf.section_bytes(index)
                try:
                    same = body.encode(planner.context) == data  # type: ignore[union-attr]
                except CubinError:
                    same = False
            if not same:
                self._keep_table(index)
                self.reasons.append(f"records of {kind_of(source.names[index])}")
                symbols_kept |= isinstance(body, bodies.Computed) and body.kind == "symtab"
        if symbols_kept:
            # a table kept as it is has no symbols that anything could be computed from
            planner = self._planner()
            planner.prepare()
        return planner

    def _is_computed(self, planner: Planner, kind: str, index: int) -> bool:
        source = self.source
        if kind == "symtab" and SHT_SYMTAB_SHNDX not in source.types:
            return planner.symtab.is_expected
        try:
            table = planner.table(kind, kind)
            if source.sh_type[index] == SHT_STRTAB:
                return table == source.elf.string_table(index).data
            return table == source.elf.section_bytes(index)
        except (CubinError, StructError):
            return False

    def _pin_words(self, planner: Planner, data: bytes) -> bool:
        """Keep the words of ``.symtab_shndx``; false if their number is not that of the symbols."""
        if len(data) != bodies.WORD.size * len(planner.symbol_rows):
            return False
        self.draft.pins.symbol_words = [word for (word,) in bodies.WORD.iter_unpack(data)]
        self.reasons.append("extended section indices")
        return True

    # -- headers ---------------------------------------------------------------------------------

    def _check_references(self, planner: Planner) -> None:
        """Compare ``sh_info`` and ``sh_link``."""
        sh_info, sh_link = self.source.sh_info[1:], self.source.sh_link[1:]
        infos, links = planner.infos(), planner.links()
        if _are_equal(sh_info, infos) and _are_equal(sh_link, links):
            return
        actual_and_computed = zip(sh_info, infos, sh_link, links, strict=True)
        for number, (info, by_rule, link, usual_link) in enumerate(actual_and_computed):
            if info != by_rule:
                self._keep_info(number, by_rule, info)
            if link != usual_link:
                self.draft.links[number] = link
                self.reasons.append(f"sh_link of {kind_of(self.draft.names[number])}")

    def _keep_info(self, number: int, computed: int, info: int) -> None:
        draft, names = self.draft, self.source.names
        name, sh_type = draft.names[number], draft.types[number]
        if name.startswith(".text") and sh_type == SHT_PROGBITS:
            registers = info >> SHI_REGISTERS_SHIFT
            if computed | registers << SHI_REGISTERS_SHIFT == info:
                draft.registers[number] = registers
                return
        draft.infos[number] = info
        # when several sections have the owner's name, it may be any of them
        target = info_target(name, sh_type)
        if target is None or not 0 < info < len(names) or names[info] != target:
            self.reasons.append(f"sh_info of {kind_of(name)}")

    def _check_offsets(self, planner: Planner) -> tuple[Sequence[int], int]:
        """The offset of every section, and the end of the last one."""
        draft, starts = self.draft, self.contents.starts
        # every body gives as many bytes as it was made of: `decode` and `_check_bodies` saw to it
        planner.set_sizes(self.contents.sizes)
        offsets, end = planner.offsets()
        if not _are_equal(starts, offsets):
            offsets, end = planner.offsets(starts)
        for number in sorted(draft.exceptions):
            if "sh_offset" in draft.exceptions[number].pins:
                self.reasons.append(f"offset of {kind_of(draft.names[number])}")
        self.reasons += [f"sharing of {kind_of(draft.names[at])}" for at in sorted(draft.shares)]
        return (starts if _are_equal(starts, offsets) else offsets), end

    def _check_header(self, planner: Planner, offsets: Sequence[int], end: int) -> Plan:
        source = self.source
        header, pins = self.draft.header, self.draft.pins
        columns = [column[1:] for column in source.columns]  # all that is computed was compared
        laid_out = planner.finish(offsets, end, columns)
        actual = tuple(source.elf.segment_rows)
        if tuple(laid_out.segment_rows) != actual:
            pins.segments = list(actual)
            self.reasons.append("program headers")
            laid_out = planner.finish(offsets, end, columns)
        null = tuple([column[0] for column in source.columns]) if source.names else ()
        if null and laid_out.null_section != null:
            pins.null_section = null
            self.reasons.append("section header 0")
        if laid_out.ehdr != source.elf.ehdr:
            from cubinspec_generated.record_fields import ELF_HEADER_64_FIELDS

            # e_shoff first: the program headers follow it
            for field in ("e_shoff", *ELF_HEADER_64_FIELDS):
                at = ELF_HEADER_64_FIELDS.index(field)
                if laid_out.ehdr[at] != source.elf.ehdr[at]:
                    header.pins[field] = source.elf.ehdr[at]
                    self.reasons.append(f"header field {field}")
                    laid_out = planner.finish(offsets, end, columns)
        if laid_out.size != len(source.data):
            pins.file_size = len(source.data)
            self.reasons.append("file size")
        return laid_out
