"""Bytes to a description: decode everything, guess how it was made, check the guess.

The history of a file is read from its string tables (``history``). The layout is then computed from
the description alone and compared with the file aspect by aspect; what differs is pinned under a
named reason.

A big file takes little more memory than its bytes: numbers stand in columns, what was read of a
mapped file is let go of, and bytes that are not decoded are read last, when what only names are
found with is gone.
"""

from __future__ import annotations

from itertools import chain, compress, groupby, pairwise
from struct import error as StructError

from cubinspec.errors import CubinError
from cubinspec.format.sections import CUDA_NOTES, NO_BYTES_TYPES, info_target, occupies_file
from cubinspec.format.strings import StringTable, string_offsets
from cubinspec.reader import elf
from cubinspec.reader.elf import Elf
from cubinspec_generated import records
from cubinspec_generated.codes import (
    SHT_CUDA_RESERVED_SHARED,
    SHT_PROGBITS,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
)
from cubinspec_writer.emitter import bodies, decode, kinds, layout
from cubinspec_writer.emitter.draft import Draft
from cubinspec_writer.emitter.history import History
from cubinspec_writer.emitter.model import Description, Fill, Header
from cubinspec_writer.emitter.producers import HOLE_SHNDX, PRODUCERS
from cubinspec_writer.emitter.runs import BlobRun
from cubinspec_writer.gc_pause import GcPaused
from cubinspec_writer.plain import add, eq, itemgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cubinspec.reader.elf import Buffer
    from cubinspec_writer.emitter.decode import Decoder
    from cubinspec_writer.emitter.draft import Content
    from cubinspec_writer.emitter.producers import Producer
    from cubinspec_writer.emitter.runs import Run
    from cubinspec_writer.emitter.strings import Candidates

    SymbolRow = tuple[int, int, int, int, int, int]

#: e_version of the toolkits whose output has stale links to the symbol table.
_CUDA_12_0, _CUDA_12_3 = 0x78, 0x7B
#: Last version with the oldest program headers.
_CUDA_11_0 = 0x6E
#: Bodies that ``decode`` has already shown to be complete.
_LOSSLESS = frozenset(
    (
        bodies.Blob,
        bodies.NoBytes,
        bodies.InfoRecords,
        bodies.Relocations,
        bodies.UftEntries,
    )
)
#: Types that ``_special_body`` is for.
_SPECIAL_TYPES = NO_BYTES_TYPES | frozenset(
    (
        SHT_CUDA_RESERVED_SHARED,
        SHT_STRTAB,
        SHT_SYMTAB,
        SHT_SYMTAB_SHNDX,
        bodies.SHT_CUDA_MERC_SYMTAB,
    )
)
#: Bytes of a large section that are read at once.
_PIECE = 1 << 20
_EHDR_FIELDS = records.ELF_HEADER_64_FIELDS
_OWNER = (
    r"^(\.(?:nv\.)?(?:merc\.|capmerc\.)?(?:nv\.)?(?:rela?\.)?(?:nv\.)?"
    r"(?:text|info|shared|constant\d+|constant\.optimizer|local))\..*"
)


def describe(data: Buffer, file: str = "<bytes>") -> Description:
    """The description from which :func:`cubinspec_writer.emitter.emit` makes ``data`` again.

    Args:
        data: a whole cubin; nothing of it is used once this returns.
        file: name for messages.

    Raises:
        CubinError: not a well-formed cubin.
    """
    with GcPaused():
        return _Describer(data, file).run()


def describe_file(path: str) -> Description:
    """:func:`describe` of a file, which is mapped instead of read.

    Raises:
        CubinError: it cannot be read, or is no well-formed cubin.
    """
    data = elf.load(path)
    try:
        return describe(data, path)
    finally:
        if not isinstance(data, bytes):
            data.close()


def kind_of(name: str) -> str:
    """A section name without what is particular to one file, for reasons and statistics."""
    import re  # hardly any file needs it

    match = re.match(_OWNER, name, re.DOTALL)
    return f"{match[1]}.*" if match else name


def _names_at(places: dict[str, int], table: StringTable, offsets: Sequence[int]) -> list[str]:
    """The names at some offsets of a table, most of which are first places of a name."""
    names = dict(zip(places.values(), places, strict=True))
    if not table.data.startswith(b"\0"):
        del names[0]  # the empty name is nowhere, or not there
    try:
        return [*map(names.__getitem__, offsets)]
    except KeyError:
        return [*map(table.get, offsets)]


def _are_equal(column: Sequence[int], numbers: Sequence[int | None]) -> bool:
    """Whether a column has these numbers, without an object for each of its own."""
    return len(column) == len(numbers) and all(map(eq, column, numbers))


class _Describer:
    def __init__(self, data: Buffer, file: str) -> None:
        self.data = data
        self.elf = Elf(data, file)
        #: The fields of every section header, by index.
        self.columns = columns = self.elf.section_columns
        self.sh_name, self.sh_type, self.sh_flags = columns[:3]
        self.sh_offset, self.sh_size, self.sh_link, self.sh_info = columns[4:8]
        self.types = {*self.sh_type}
        #: First place of every name in ``.shstrtab``.
        self.section_places = string_offsets(self.elf.shstrtab.data)
        self.names = _names_at(self.section_places, self.elf.shstrtab, self.sh_name)
        self.reasons: list[str] = []
        self.symtab = self.elf.find_section(SHT_SYMTAB) or 0
        self.strtab_index = self.sh_link[self.symtab] if self.symtab else 0
        if not self._is_strtab(self.strtab_index):
            self.strtab_index = 0
        if not self.strtab_index:
            named = [at for at, name in enumerate(self.names) if name == ".strtab"]
            self.strtab_index = named[0] if named and self._is_strtab(named[0]) else 0
        self.strtab = (
            self.elf.string_table(self.strtab_index)
            if self.strtab_index
            else StringTable(b"\0", 0, file, ".strtab")
        )
        self.runs: list[Run] = []
        #: Sections and runs whose bytes are read last.
        self.unread: list[int | BlobRun] = []
        self.symbol_rows: Sequence[SymbolRow] = ()
        self.symbol_names: list[str] = []
        #: First place of every name in ``.strtab``.
        self.places = string_offsets(self.strtab.data, self.section_places)
        #: String tables that may come out.
        self.known: Candidates = (
            (self.elf.shstrtab.data, self.section_places),
            (self.strtab.data, self.places),
        )
        self.placed: tuple[Sequence[int], int] = ((), 0)
        elf.forget(self.data)

    def _is_strtab(self, index: int) -> bool:
        return 0 < index < len(self.sh_type) and self.sh_type[index] == SHT_STRTAB

    # -- decoding --------------------------------------------------------------------------------

    def _draft(self) -> Draft:
        """The header and all sections."""
        ehdr, ident = self.elf.ehdr, self.elf.ident
        header = Header(
            ident[4], ident[7], ident[8], ident[9:16], ident[6], ehdr[0], ehdr[2], ehdr[3], ehdr[6]
        )
        _, types, flags, addrs, starts, sizes, _, _, aligns, entsizes = [
            column[1:] for column in self.columns
        ]
        self.starts, self.sizes = starts, sizes
        names = self.names[1:]
        draft = Draft(header, names, types, flags, self._bodies(names, types), self.runs)
        draft.addrs, draft.aligns, draft.entsizes = addrs, aligns, entsizes
        if any(align & (align - 1) for align in {*aligns}):
            for number, align in enumerate(aligns):
                if align & (align - 1):  # no rule says where such a section would stand
                    draft.pins_of(number)["sh_offset"] = starts[number]
        return draft

    def _bodies(self, names: list[str], types: Sequence[int]) -> list[Content]:
        file, size = self.data, len(self.data)
        if isinstance(file, memoryview):
            file = bytes(file)  # whose slices are bytes
        info = decode.InfoReader()
        found: list[Content] = []
        for kind, run in groupby(types):
            first = len(found)
            last = first + len([*run])
            starts, sizes = self.starts[first:last], self.sizes[first:last]
            ends = [*map(add, starts, sizes)]
            if kind in _SPECIAL_TYPES or max(ends) > size:
                found += [self._special_body(index) for index in range(first + 1, last + 1)]
                continue
            decoder = decode.decoder(kind, self.strtab, self.elf.is_64, info)
            for at, stop in decode.neighbours(starts, sizes):
                number, some = first + at, sizes[at:stop]
                if decoder is None:
                    found += self._blobs(number, some)
                    continue
                together = decode.record_run(
                    file, kind, number, starts[at], some, self.elf.is_64, info
                )
                if together is not None:
                    self.runs.append(together)
                    found += [together] * len(some)
                    continue
                found += [
                    self._body(decoder, file[starts[of_one] : ends[of_one]], names[first + of_one])
                    for of_one in range(at, stop)
                ]
        return found

    def _body(self, decoder: Decoder, content: bytes, name: str) -> bodies.Body:
        """The records of a section; its bytes if it has no whole ones."""
        what, read = decoder
        try:
            body = read(content, name)
            if body.size == len(content):
                return body
        except (CubinError, StructError):
            what = "records"
        self.reasons.append(f"malformed {what}")
        return bodies.Blob(content)

    def _blobs(self, number: int, sizes: Sequence[int]) -> list[Content]:
        """Neighbours that are not decoded, to be read later: ``number`` is that of the first."""
        if len(sizes) == 1 and sizes[0] < decode.LARGE:
            self.unread.append(number)
            return [b""]
        together = BlobRun(number, sizes)
        self.unread.append(together)
        self.runs.append(together)
        return [together] * len(sizes)

    def _read_blobs(self) -> None:
        """Read what is not decoded, once the memory that names took is free again."""
        mapped = 0
        for what in self.unread:
            if isinstance(what, int):
                start, size = self.starts[what], self.sizes[what]
                self.draft.bodies[what] = bytes(self.data[start : start + size])
            else:
                start, size = self.starts[what.first], sum(what.sizes)
                what.pieces = self._read(start, size)
            mapped += size
            if mapped > decode.LARGE:
                elf.forget(self.data)
                mapped = 0
        self.unread = []

    def _read(self, start: int, size: int) -> list[bytes]:
        """A part of the file; of a large one no more than a piece is in memory twice."""
        pieces = []
        for at in range(start, start + size, _PIECE):
            pieces.append(bytes(self.data[at : min(at + _PIECE, start + size)]))
            if size > _PIECE:
                elf.forget(self.data)
        return pieces

    def _special_body(self, index: int) -> bodies.Body:
        """What has no bytes in the file, or is a table made from the rest."""
        kind, flags = self.sh_type[index], self.sh_flags[index]
        if not occupies_file(kind, flags) or self._is_window(index):
            return bodies.NoBytes(self.sh_size[index])
        if index == self.elf.shstrndx and kind == SHT_STRTAB:
            return bodies.Computed("shstrtab")
        if index == self.strtab_index:
            return bodies.Computed("strtab")
        if index == self.symtab:
            return bodies.Computed("symtab")
        if kind == SHT_SYMTAB_SHNDX:
            return bodies.Computed("symtab_shndx")
        return bodies.Blob(self.elf.section_bytes(index))

    def _is_window(self, index: int) -> bool:
        """Whether reserved shared memory has no bytes although its Mercury flag says so.

        Up to CUDA 13.3 ``.nv.merc.nv.shared.reserved.0`` has bytes; from 13.4 on the section
        headers stand where they would be.
        """
        start = self.sh_offset[index]
        is_over_table = start <= self.elf.ehdr[5] < start + self.sh_size[index]
        return is_over_table and self.sh_type[index] == SHT_CUDA_RESERVED_SHARED

    def _mercury_tables(self) -> None:
        """Decode ``.nv.merc.symtab``, which refers to sections."""
        table = bodies.SHT_CUDA_MERC_SYMTAB
        if table not in self.types:
            return
        for index in [at for at, kind in enumerate(self.sh_type) if at and kind == table]:
            if self.sh_link[index] != self.strtab_index:
                continue
            try:
                rows = self.elf.symbol_rows(index)
                if not rows or rows[0] != (0, 0, 0, 0, 0, 0):
                    raise CubinError("no null symbol")
                symbols = [
                    bodies.MercurySymbol(self.strtab.get(name), info, other, shndx, value, size)
                    for name, info, other, shndx, value, size in rows[1:]
                ]
                entry_size = (records.SYMBOL_64 if self.elf.is_64 else records.SYMBOL_32).size
                self.draft.replace_body(index - 1, bodies.MercurySymbols(symbols, entry_size))
            except CubinError:
                self.reasons.append("malformed Mercury symbols")

    # -- which writer ----------------------------------------------------------------------------

    def _producer(self) -> str:
        ehdr = self.elf.ehdr
        shoff, phentsize = ehdr[5], ehdr[8]
        if shoff == ehdr[7]:
            if not phentsize:
                return "table_first_no_entsize"
            named = zip(self.names, self.sh_info, strict=True)
            has_symbols = any(info & 0xFFFFFF for name, info in named if name[:5] == ".text")
            return "table_first" if has_symbols else "table_first_9"
        hole = 0
        if self.elf.shstrndx == 1 and self.strtab_index == 2:
            hole = self.sh_offset[2] - self.sh_offset[1] - self.sh_size[1]
        total = self.symtab and self.sh_info[self.symtab] == len(self.symbol_rows)
        if bodies.SHT_CUDA_MERC_SYMTAB in self.types:
            if hole == HOLE_SHNDX:
                return "mercury_12_0"
            if not hole:
                return "mercury_13_4"
            if ".note.nv.cuver" in self.names:
                return "mercury_12"
            return "mercury" if total or not self._has_tail() else "mercury_12_9"
        if hole > 0 or self._constants_follow_code():
            if not hole and self.elf.shstrtab.data.endswith(bytes(HOLE_SHNDX)):
                return "finalizer_13_4"
            small = hole <= HOLE_SHNDX and any(name.startswith(".text.") for name in self.names)
            if _CUDA_12_0 <= ehdr[2] <= _CUDA_12_3:
                return "finalizer_12_0" if small else "finalizer_12_3"
            if small:
                return "finalizer_11_8"
            return "finalizer" if total or not self._has_tail() else "finalizer_12"
        return self._classic(ehdr)

    def _classic(self, ehdr: tuple[int, ...]) -> str:
        segments = self.elf.segment_rows
        if _CUDA_12_0 <= ehdr[2] <= _CUDA_12_3:
            return "classic_12_0"
        if self._counts_last_local():
            if ehdr[2] > _CUDA_11_0:
                return "classic_11_1"
            return "classic_8" if self._names_constant_banks_first() else "classic_10"
        if ehdr[0] != 2 or not self.names:
            return "classic"
        if not segments:
            return "classic_bare" if ehdr[8] else "classic_bare_no_entsize"
        if segments[-1][2] == ehdr[4]:
            return "classic"
        return "classic_11"

    def _names_constant_banks_first(self) -> bool:
        """Whether ``.strtab`` has ``.nv.constant0.<k>`` before its ``.rel.nv.constant0.<k>``."""
        names = self.strtab.data.split(b"\0")
        return any(
            after == b".rel" + name
            for name, after in pairwise(names)
            if name.startswith(b".nv.constant0.")
        )

    def _counts_last_local(self) -> bool:
        """Whether ``sh_info`` of ``.symtab`` is one less than the index of the first global."""
        rows = self.symbol_rows
        info = self.sh_info[self.symtab] if self.symtab else 0
        if not 0 <= info < len(rows) or rows[info][1] >> 4 == layout.STB_GLOBAL:
            return False
        return info + 1 == len(rows) or rows[info + 1][1] >> 4 == layout.STB_GLOBAL

    def _has_tail(self) -> bool:
        return any(
            name.startswith(".nv.constant0.") and kind not in bodies.RELOCATION_TYPES
            for name, kind in zip(self.names, self.sh_type, strict=True)
        )

    def _constants_follow_code(self) -> bool:
        code = False
        for name in self.names:
            if name.startswith(".text."):
                code = True
            elif code and name.startswith(".nv.constant0."):
                return True
        return False

    def _split(self, producer: Producer) -> int:
        """Index of the first symbol of the global list."""
        rows = self.symbol_rows
        info = self.sh_info[self.symtab]
        if producer.constant0_deferred:
            if bodies.SHT_CUDA_MERC_SYMTAB in self.types:
                table = self.elf.find_section(bodies.SHT_CUDA_MERC_SYMTAB) or 0
                return min(max(self.sh_info[table], 1), len(rows))
            if info == len(rows):
                for at, row in enumerate(rows):
                    if row[1] >> 4 == 1:
                        return at
        return min(max(info + producer.info_is_last_local, 1), len(rows))

    # -- checking --------------------------------------------------------------------------------

    def run(self) -> Description:
        self.draft = draft = self._draft()
        draft.fills = self._fills()
        elf.forget(self.data)
        self._read_symbols()
        self._mercury_tables()
        producer = draft.producer = PRODUCERS[self._producer()]
        draft.kinds = kinds.find(producer, draft.names, draft.types, draft.flags)
        draft.symbol_rows, draft.symbol_names = self.symbol_rows, self.symbol_names
        self.history = History(draft, self.section_places, self.places, self.strtab.data)
        self.history.find(self._split(producer) if self.symtab else 0)
        elf.forget(self.data)
        if draft.header.ei_osabi == 0x41 and any(name in draft.names for name in CUDA_NOTES):
            draft.header.e_flags &= 0xFFFFFF
        self._check_order()
        planner = self._check_names()
        planner = self._check_symbols(planner)
        self.section_places, self.known = {}, ()
        del self.history
        planner = self._check_bodies(planner)
        self._check_references(planner)
        planner.forget_names()
        self.places = {}
        self._read_blobs()
        self._check_offsets(planner)
        plan = self._check_header(planner)
        self.reasons += ["bytes outside of sections"] * len(draft.fills)
        return Description.of(draft, None if self.reasons else plan, self.reasons)

    def _read_symbols(self) -> None:
        if not self.symtab:
            return
        try:
            self.symbol_rows = self.elf.symbol_table(self.symtab)
            offsets = [row[0] for row in self.symbol_rows]
            self.symbol_names = _names_at(self.places, self.strtab, offsets)
            if not self.symbol_rows or self.symbol_rows[0] != (0, 0, 0, 0, 0, 0):
                raise CubinError("no null symbol")
        except CubinError:
            self.symbol_rows, self.symbol_names = (), []
            self._keep_table(self.symtab)
            self.reasons.append("malformed symbols")
            self.symtab = 0

    def _keep_table(self, index: int) -> None:
        """Keep the bytes of a section as they are."""
        self.draft.replace_body(index - 1, bodies.Blob(self.elf.section_bytes(index)))

    def _planner(self) -> layout.Planner:
        return layout.Planner(self.draft, self.known)

    def _check_order(self) -> None:
        draft, history = self.draft, self.history
        if history.is_index_order():
            return
        history.name_constant_relocations_early()
        if not history.is_index_order():
            positions = {number: at for at, number in enumerate(draft.created())}
            draft.pins.index_order = [positions[number] for number in range(len(draft.names))]
            self.reasons.append("section order")

    def _check_names(self) -> layout.Planner:
        planner = self._planner()
        pins = self.draft.pins
        if planner.shstrtab != self.elf.shstrtab.data:
            pins.shstrtab = self.elf.shstrtab.data
            self.reasons.append("section name table")
        if planner.strtab != self.strtab.data:
            pins.strtab = self.strtab.data
            self.reasons.append("symbol name table")
        if pins.shstrtab is not None or pins.strtab is not None:
            planner = self._planner()
        places = self.sh_name[1:]
        if not _are_equal(places, planner.name_places):
            pairs = zip(places, planner.name_places, strict=True)
            for number, (place, first) in enumerate(pairs):
                if place != first:
                    self.draft.pins_of(number)["sh_name"] = place
                    self.reasons.append("place of a section name")
        return planner

    def _check_symbols(self, planner: layout.Planner) -> layout.Planner:
        if self._has_symbols(planner):
            return planner
        self._pin_names(planner.strtab_offsets)
        if self._has_symbols(planner):
            return planner
        computed = planner.symbol_rows
        places: dict[SymbolRow, list[int]] = {}
        for at, row in enumerate(computed):
            places.setdefault(row, []).append(at)
        order: list[int] = []
        for row in self.symbol_rows:
            free = places.get(row)
            if not free:
                break
            order.append(free.pop(0))
        if len(order) == len(self.symbol_rows) == len(computed):
            self.draft.pins.symbol_order = order
            self.reasons.append("symbol order")
        else:
            self._keep_table(self.symtab)
            self.reasons.append("symbol table")
        planner = self._planner()
        planner.prepare(self.symbol_rows)
        return planner

    def _has_symbols(self, planner: layout.Planner) -> bool:
        """Let the symbols be numbered; whether they are those of the file."""
        try:
            planner.prepare(self.symbol_rows)
        except CubinError:
            planner.symbol_rows = []  # a name is missing: the table is kept as it is
        return not self.symtab or planner.symbol_rows is self.symbol_rows

    def _pin_names(self, first: dict[str, int]) -> None:
        """Keep ``st_name`` where it is not the first place of the name."""
        codes = self.history.codes
        for at in range(1, len(codes)):
            place = self.symbol_rows[at][0]
            if codes[at] < 0 and first.get(self.symbol_names[at]) != place:
                self.draft.symbol_places[at] = place
                self.reasons.append("place of a symbol name")

    def _check_bodies(self, planner: layout.Planner) -> layout.Planner:
        """Tables that refer to strings and sections must give their bytes again."""
        draft = self.draft
        symbols_kept = False
        for number in draft.singles:
            index, body = number + 1, draft.bodies[number]
            if body.__class__ in _LOSSLESS:
                continue
            if isinstance(body, bodies.Computed):
                same = self._is_computed(planner, body.kind, index)
                same = same and not (symbols_kept and body.kind == "symtab_shndx")
                if not same and not symbols_kept and body.kind == "symtab_shndx":
                    same = self._pin_words(planner, self.elf.section_bytes(index))
            else:
                data = self.elf.section_bytes(index)
                try:
                    same = body.encode(planner.context) == data  # type: ignore[union-attr]
                except CubinError:
                    same = False
            if not same:
                self._keep_table(index)
                self.reasons.append(f"records of {kind_of(self.names[index])}")
                symbols_kept |= isinstance(body, bodies.Computed) and body.kind == "symtab"
        if symbols_kept:
            # a table kept as it is has no symbols that anything could be computed from
            planner = self._planner()
            planner.prepare()
        return planner

    def _is_computed(self, planner: layout.Planner, kind: str, index: int) -> bool:
        if kind == "symtab" and SHT_SYMTAB_SHNDX not in self.types:
            return planner.symbol_rows is self.symbol_rows
        try:
            if self.sh_type[index] == SHT_STRTAB:
                return planner.table(kind, kind) == self.elf.string_table(index).data
            return planner.table(kind, kind) == self.elf.section_bytes(index)
        except (CubinError, StructError):
            return False

    def _pin_words(self, planner: layout.Planner, data: bytes) -> bool:
        """Keep the words of ``.symtab_shndx``; whether there is one for each symbol."""
        if len(data) != bodies.WORD.size * len(planner.symbol_rows):
            return False
        self.draft.pins.symbol_words = [word for (word,) in bodies.WORD.iter_unpack(data)]
        self.reasons.append("extended section indices")
        return True

    def _check_references(self, planner: layout.Planner) -> None:
        """What section headers say of other sections."""
        infos, links = planner.infos(), planner.links()
        if _are_equal(self.sh_info[1:], infos) and _are_equal(self.sh_link[1:], links):
            return
        actual_and_computed = zip(self.sh_info[1:], infos, self.sh_link[1:], links, strict=True)
        for number, (info, by_rule, link, usual_link) in enumerate(actual_and_computed):
            if info != by_rule:
                self._keep_info(number, by_rule, info)
            if link != usual_link:
                self.draft.links[number] = link
                self.reasons.append(f"sh_link of {kind_of(self.draft.names[number])}")

    def _check_offsets(self, planner: layout.Planner) -> None:
        draft = self.draft
        # every body gives as many bytes as it was made of: `decode` and `_check_bodies` saw to it
        planner.know_sizes(self.sizes)
        offsets, end = planner.offsets()
        if not _are_equal(self.starts, offsets):
            offsets, end = planner.offsets(self.starts)
        self.placed = (self.starts if _are_equal(self.starts, offsets) else offsets), end
        for number in sorted(draft.exceptions):
            if "sh_offset" in draft.exceptions[number].pins:
                self.reasons.append(f"offset of {kind_of(draft.names[number])}")
        self.reasons += [f"sharing of {kind_of(draft.names[at])}" for at in sorted(draft.shares)]

    def _keep_info(self, number: int, computed: int, info: int) -> None:
        draft = self.draft
        name, sh_type = draft.names[number], draft.types[number]
        if name.startswith(".text") and sh_type == SHT_PROGBITS:
            registers = info >> 24
            if computed | registers << 24 == info:
                draft.registers[number] = registers
                return
        draft.infos[number] = info
        # when several sections have the owner's name, it may be any of them
        target = info_target(name, sh_type)
        if target is None or not 0 < info < len(self.names) or self.names[info] != target:
            self.reasons.append(f"sh_info of {kind_of(name)}")

    def _check_header(self, planner: layout.Planner) -> layout.Plan:
        header, pins = self.draft.header, self.draft.pins
        columns = [column[1:] for column in self.columns]  # all that is computed was compared
        laid_out = planner.finish(*self.placed, columns)
        actual = tuple(self.elf.segment_rows)
        if tuple(laid_out.segment_rows) != actual:
            pins.segments = list(actual)
            self.reasons.append("program headers")
            laid_out = planner.finish(*self.placed, columns)
        null = tuple([column[0] for column in self.columns]) if self.names else ()
        if null and laid_out.null_section != null:
            pins.null_section = null
            self.reasons.append("section header 0")
        # e_shoff first: the program headers follow it
        for field in ("e_shoff", *_EHDR_FIELDS):
            at = _EHDR_FIELDS.index(field)
            if laid_out.ehdr[at] != self.elf.ehdr[at]:
                header.pins[field] = self.elf.ehdr[at]
                self.reasons.append(f"header field {field}")
                laid_out = planner.finish(*self.placed, columns)
        if laid_out.size != len(self.data):
            pins.file_size = len(self.data)
            self.reasons.append("file size")
        return laid_out

    def _fills(self) -> list[Fill]:
        """Bytes outside of everything that are not zero."""
        data, ehdr, count = self.data, self.elf.ehdr, len(self.names)
        if SHT_CUDA_RESERVED_SHARED in self.types:
            stored = [*map(occupies_file, self.sh_type, self.sh_flags)]
        elif NO_BYTES_TYPES.isdisjoint({*self.sh_type[1:]}):
            stored = [False, *[True] * (count - 1)]
        else:
            stored = [kind not in NO_BYTES_TYPES for kind in self.sh_type]
        section, segment = (64, 56) if self.elf.is_64 else (40, 32)
        tables = [(ehdr[5], count * section), (ehdr[4], self.elf.num_segments * segment)]

        def spans() -> Iterator[tuple[int, int]]:
            sections = zip(self.sh_offset, self.sh_size, strict=True)
            return chain([(0, ehdr[7])], compress(sections, stored), filter(itemgetter(1), tables))

        fills: list[Fill] = []
        for at, start in _gaps(spans, len(data)):
            content = bytes(data[at:start])
            if content.count(0) != len(content):
                fills.append(Fill(at, content))
        return fills


def _gaps(spans: Callable[[], Iterable[tuple[int, int]]], size: int) -> Iterator[tuple[int, int]]:
    """Start and end of each place where nothing is, in order.

    Args:
        spans: gives offset and size of everything; in most files each stands behind the one before.
        size: of the file.
    """
    end = 0
    is_ascending = True
    for start, length in chain(spans(), [(size, 0)]):
        is_ascending &= start >= end
        end = start + length
    if is_ascending:
        ends: Iterable[int] = (start + length for start, length in spans())
        starts: Iterable[int] = (start for start, _ in spans())
    else:
        # nothing lies between the n-th end and the start after it if that is not the smaller one
        ends = sorted([start + length for start, length in spans()])
        starts = sorted([start for start, _ in spans()])
    for at, start in zip(chain([0], ends), chain(starts, [size]), strict=True):
        if start > at:
            yield at, start
