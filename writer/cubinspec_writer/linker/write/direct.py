"""Pass 11 for one program: its sections and symbols straight to bytes.

`output` and the emitter's layout can write whatever any writer wrote. This module writes the one
kind that has to be fast, a program without a Mercury half (targets below sm_100): names, numbers,
offsets and rows are made in one loop each, with no description in between. The rules are those of
`cubinspec_writer.emitter.layout` for its profile "classic", where it is said how each was observed;
a test links the cases both ways and compares the bytes.
"""

from __future__ import annotations

from itertools import accumulate, count, groupby, islice, repeat
from struct import Struct
from struct import error as StructError

from cubinspec.errors import BadStructureError, LimitError
from cubinspec.format.sections import occupies_file
from cubinspec_generated import records
from cubinspec_generated.codes import (
    EM_CUDA,
    ET_EXEC,
    ET_REL,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHN_COMMON,
    SHN_XINDEX,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_INFO,
    SHT_CUDA_PROTOTYPE,
    SHT_CUDA_RELOCINFO,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_RESOLVED_RELA,
    SHT_CUDA_SHARED,
    SHT_CUDA_UDT,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT,
    SHT_CUDA_UFT_ENTRY,
    SHT_CUDA_UIDX,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    STT_SECTION,
)
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.library.notes import target_sm
from cubinspec_writer.linker.library.outsymbols import is_hidden, symbol_fields
from cubinspec_writer.linker.model import OutSection, Symbol, is_constant
from cubinspec_writer.linker.state import LinkState
from cubinspec_writer.plain import add, attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SHN_LORESERVE = 0xFF00
_PT_LOAD, _PT_PHDR = 1, 6
_PF_X, _PF_W, _PF_R = 1, 2, 4
_P_ALIGN = 8
#: Bits 24-31 of e_flags hold the section index of the CUDA note; readers accept 0xff as "not said".
_LARGEST_NOTE_INDEX = 0xFF
#: No real file comes near; inputs that ask for more are broken.
_LARGEST_FILE = 1 << 32
_BANK = ".nv.constant0."

_TEXT, _TEXT_RANK, _BANK_RANK, _INFO_RANK = ".text", 14, 12, 7
#: Rank of a section in the index order, by what is known first: name, type, beginning of the name.
_RANK_OF_NAME = {".shstrtab": 0, ".strtab": 1, ".symtab": 2, ".symtab_shndx": 2, ".nv.info": 5}
_RANK_OF_TYPE = {
    SHT_NOTE: 4,
    SHT_CUDA_COMPAT_INFO: 6,
    SHT_CUDA_INFO: _INFO_RANK,
    SHT_CUDA_UIDX: 7,
    SHT_CUDA_UFT_ENTRY: 7,
    SHT_CUDA_UDT_ENTRY: 7,
    SHT_CUDA_CALLGRAPH: 8,
    SHT_CUDA_PROTOTYPE: 9,
    SHT_CUDA_RELOCINFO: 10,
    SHT_REL: 11,
    SHT_RELA: 11,
    SHT_CUDA_RESOLVED_RELA: 11,
    SHT_CUDA_UFT: 14,
    SHT_CUDA_UDT: 15,
}
#: An executable has the rows of its table of functions behind the notes.
_RANK_OF_FINAL_TYPE = {**_RANK_OF_TYPE, SHT_CUDA_UFT_ENTRY: 4}
_RANK_OF_PREFIX = ((".nv.constant", _BANK_RANK), (_TEXT, _TEXT_RANK), (".nv.global.init", 15))
_DEBUG, _DEBUG_RANK = (".debug_", ".nv_debug"), 3
_LAST_RANK = 16

_OF_SYMBOLS = frozenset(
    (
        SHT_CUDA_INFO,
        SHT_CUDA_CALLGRAPH,
        SHT_CUDA_PROTOTYPE,
        SHT_CUDA_RESOLVED_RELA,
        SHT_CUDA_UFT,
        SHT_CUDA_UFT_ENTRY,
        SHT_CUDA_UDT_ENTRY,
        SHT_REL,
        SHT_RELA,
        SHT_SYMTAB_SHNDX,
    )
)
_RELOCATIONS = frozenset((SHT_REL, SHT_RELA, SHT_CUDA_RESOLVED_RELA))

_TYPE = attrgetter("sh_type")
#: Sections that are looked at together: several looks at each find them in the cache.
_RUN = 256

Row = tuple[int, ...]


def write(half: LinkState) -> list[bytes | bytearray]:
    """The cubin of one program, in parts that follow each other.

    Raises:
        CubinError: a number does not fit its field, or the file would be too large.
    """
    try:
        return _Writer(half).run()
    except StructError as error:
        raise BadStructureError(f"a number does not fit its field: {error}") from error


class _Writer:
    def __init__(self, half: LinkState) -> None:
        self.state = half
        #: In index order, from 1 on.
        self.sections: list[OutSection] = []
        self.by_name: dict[str, int] = {}
        #: Whether there are more sections than fit into 16 bits.
        self.is_large = False
        self.shstrtab: dict[str, int] = {}
        self.strtab: dict[str, int] = {}
        #: Contents of the tables that this pass makes, by section name.
        self.tables: dict[str, bytes] = {}

    def run(self) -> list[bytes | bytearray]:
        self._order_and_names()
        num_local = self._symbols()
        return self._finish(*self._place(num_local))

    # -- order and names ---------------------------------------------------------------------------

    def _order_and_names(self) -> None:
        """Index order, a stable sort of the order of creation, and both string tables.

        `.shstrtab` has every section name in the order of creation, also of those left out;
        `.strtab` signatures, then sections and symbols as they were made, globals last. A name
        stands where it comes first.
        """
        state = self.state
        ranked: list[list[OutSection]] = [[] for _ in range(_LAST_RANK + 1)]
        sections: dict[str, int] = {}
        strings = dict.fromkeys(state.names.signatures, 0)
        bank: str | None = None
        rank_of = (_RANK_OF_TYPE if state.options.relocatable else _RANK_OF_FINAL_TYPE).get
        for entry in state.names.entries:
            found: str | None = None
            if type(entry) is OutSection:
                name = entry.name
                sections[name] = 0
                if entry.emitted:
                    rank = rank_of(entry.sh_type)
                    if rank is None:
                        if name.startswith(_TEXT):
                            rank = _TEXT_RANK
                        elif entry.sh_type == SHT_CUDA_CONSTANT_B0 and name.startswith(_BANK):
                            rank = _BANK_RANK
                            found = name if name not in strings else None
                        else:
                            rank = _rank(state, entry)
                    elif rank == _INFO_RANK and name == ".nv.info":
                        rank = _RANK_OF_NAME[name]
                    ranked[rank].append(entry)
            elif type(entry) is str:
                name = entry
                sections[name] = 0
            elif type(entry) is Symbol and (entry.index or not is_hidden(state, entry)):
                name = entry.name
            else:
                continue
            if bank is not None:
                # The name of its relocation section precedes that of a bank.
                if name.startswith(".rel") and name in (".rel" + bank, ".rela" + bank):
                    strings[name] = 0
                strings[bank] = 0
            bank = found
            if found is None:
                strings[name] = 0
        if bank is not None:
            strings[bank] = 0
        for symbol in state.symbols.globals:
            if symbol.index or not is_hidden(state, symbol):
                strings[symbol.name] = 0
        self.is_large = sum(map(len, ranked)) + 1 >= _SHN_LORESERVE
        if self.is_large:
            ranked[_RANK_OF_NAME[".symtab_shndx"]].append(
                OutSection(".symtab_shndx", SHT_SYMTAB_SHNDX, 0, 4, 4)
            )
        for group in ranked:
            self.sections += group
        for index, section in enumerate(self.sections, 1):
            section.index = index
        self.shstrtab, self.strtab = sections, strings
        self.tables[".shstrtab"] = _string_table(sections)
        self.tables[".strtab"] = _string_table(strings)

    def _index_of(self, name: str) -> int:
        """The first section of a name; 0: there is none."""
        if not self.by_name:
            self.by_name = {section.name: section.index for section in reversed(self.sections)}
        return self.by_name.get(name, 0)

    def _fixed(self, name: str) -> int:
        """A section that every output has; 0: this one has not."""
        section = self.state.sections.fixed.get(name)
        return section.index if section is not None else 0

    def _signature(self, text: str) -> int:
        if text:
            return self.strtab[text]
        return max(self.tables[".strtab"].find(b"\0\0"), 0) + 1

    # -- symbols -----------------------------------------------------------------------------------

    def _symbols(self) -> int:
        """`.symtab`; returns the number of its first part."""
        state, strtab = self.state, self.strtab
        place_of = strtab.__getitem__
        pack = records.SYMBOL_64.pack
        rows = [pack(0, 0, 0, 0, state.symbols.null_value, 0)]
        in_16_bits = list(range(len(self.sections) + 1)) if self.is_large else []
        in_16_bits[_SHN_LORESERVE:] = [
            index if index == SHN_COMMON else SHN_XINDEX for index in in_16_bits[_SHN_LORESERVE:]
        ]
        #: Section of every symbol, beyond 16 bits, too.
        indices = [0]
        in_globals = 0
        for kind, items in groupby(self.state.symbols.numbered, type):
            if kind is OutSection:
                run = [item for item in items if type(item) is OutSection]
                found = [section.index for section in run]
                indices += found
                if 0 in found:
                    raise _not_linked(run[found.index(0)])
                stored = [in_16_bits[index] for index in found] if self.is_large else found
                names = map(place_of, [section.name for section in run])
                zeros = repeat(0)
                rows += map(pack, names, repeat(STT_SECTION), zeros, stored, zeros, zeros)
                continue
            for symbol in items:
                assert isinstance(symbol, Symbol)
                section = symbol.section
                index = section.index if section is not None else 0
                if section is not None and not index:
                    raise _not_linked(section, symbol.name)
                in_globals += symbol.in_globals
                info, other, value = symbol_fields(state, symbol)
                indices.append(index)
                if index >= _SHN_LORESERVE:
                    index = in_16_bits[index]
                rows.append(pack(strtab[symbol.name], info, other, index, value, symbol.size))
        self.tables[".symtab"] = b"".join(rows)
        if self.is_large:
            self.tables[".symtab_shndx"] = self._extended_indices(indices)
        return len(rows) - in_globals

    def _extended_indices(self, indices: list[int]) -> bytes:
        """`.symtab_shndx`, which exists when there are sections beyond 16 bits.

        Symbols whose index fits have the number of their section in the order of creation here,
        and a section of index 0xfff2 counts as one that fits (programs of 66,000 sections for
        sm_80 and sm_90; ptxas does the same). What has the number behind the fixed sections never
        shows.

        Args:
            indices: the section of every symbol.
        """
        fixed = set(self.state.sections.fixed.values())
        entries = self.state.names.entries
        reserved = set(self.state.names.reserved.values())
        loose = set(self.state.names.loose)
        if loose != {".symtab_shndx"}:
            loose -= {e.name for e in entries if type(e) is OutSection and e.name in loose}
        #: By index: the number that stands for it.
        made = list(range(len(self.sections) + 1))
        number = 0
        for at, entry in enumerate(entries):
            if type(entry) is OutSection:
                number += 1
                index = entry.index
                if index < _SHN_LORESERVE or index == SHN_COMMON:
                    made[index] = number if entry in fixed else number + 1
            elif type(entry) is str:
                if at in reserved:
                    number += 1
                elif entry in loose:
                    loose.discard(entry)
                    number += 1
        made[0] = 0
        return Struct(f"<{len(indices)}I").pack(*map(made.__getitem__, indices))

    # -- sections ----------------------------------------------------------------------------------

    def _place(self, num_local: int) -> tuple[list[bytes], list[Row], list[bytes | bytearray], int]:
        """Section headers in index order (all, then type, flags, offset, size and alignment of
        those to be loaded), the bytes behind the ELF header, and where they end."""
        symtab = self._fixed(".symtab")
        links = {
            ".symtab": self._fixed(".strtab"),
            ".note.nv.cuinfo": self._fixed(".note.nv.tkinfo"),
        }
        headers: list[bytes] = []
        loaded: list[Row] = []
        parts: list[bytes | bytearray] = []
        place_of = self.shstrtab.__getitem__
        pack = records.SECTION_HEADER_64.pack
        at = 16 + records.ELF_HEADER_64.size
        for sh_type, group in groupby(self.sections, _TYPE):
            final, is_stored, is_made, link = self._of_type(sh_type)
            while run := list(islice(group, _RUN)):
                names = [section.name for section in run]
                flags = [section.flags for section in run]
                aligns = [section.align for section in run]
                if run[0].is_nobits:
                    sizes = [section.nobits_size + section.reserved for section in run]
                else:
                    make = self._bytes
                    contents = [make(s) if is_made else s.content for s in run]
                    sizes = list(map(len, contents))
                stored = contents if is_stored else [b""] * len(run)
                offsets, at = _stack(stored, aligns, at, parts)
                infos = [
                    section.info_section.index
                    if section.info_section is not None
                    else self._info(section, num_local)
                    for section in run
                ]
                if link:
                    run_links: Iterable[int] = repeat(link)
                else:
                    run_links = [
                        symtab if name.startswith(_TEXT) else links.get(name, 0) for name in names
                    ]
                headers += map(
                    pack,
                    map(place_of, names),
                    repeat(final),
                    flags,
                    repeat(0),
                    offsets,
                    sizes,
                    run_links,
                    infos,
                    aligns,
                    [section.entsize for section in run],
                )
                if is_stored and flags.count(flags[0]) == len(flags):
                    # one for all, as they follow each other
                    if flags[0] & SHF_ALLOC:
                        loaded.append((final, flags[0], offsets[0], at - offsets[0], aligns[0]))
                    continue
                for row in zip(flags, offsets, sizes, aligns, strict=True):
                    if row[0] & SHF_ALLOC:
                        loaded.append((final, *row))
        return headers, loaded, parts, at

    def _info(self, section: OutSection, num_local: int) -> int:
        """`sh_info` where no section was set."""
        if section.flags & SHF_EXECINSTR:
            return section.info_value
        if section.sh_type == SHT_SYMTAB:
            return num_local
        return self._owner_by_name(section.name)

    def _of_type(self, sh_type: int) -> tuple[int, bool, bool, int]:
        """The type in the file, whether bytes are stored, whether they are made here, and the
        section that rows about symbols link to."""
        made = (*_TABLES, *_RELOCATIONS, SHT_CUDA_CALLGRAPH, SHT_CUDA_PROTOTYPE)
        is_linked = sh_type in _OF_SYMBOLS
        if sh_type == SHT_CUDA_UFT_ENTRY and not self.state.options.relocatable:
            is_linked = False  # nvlink makes these before there are symbols
        return (
            output_type(self.state, sh_type),
            occupies_file(sh_type, 0),
            sh_type in made,
            self._fixed(".symtab") if is_linked else 0,
        )

    def _bytes(self, section: OutSection) -> bytes | bytearray:
        table = self.tables.get(section.name) if section.sh_type in _TABLES else None
        if table is not None:
            return table
        if section.sh_type in _RELOCATIONS:
            return reloc_bytes(section)
        if section is self.state.sections.callgraph:
            return self._callgraph()
        if section is self.state.sections.prototype:
            return self._prototypes()
        return section.content

    def _owner_by_name(self, name: str) -> int:
        """`sh_info` of a section that belongs to a function of its own name only."""
        if not name.startswith(".nv."):
            return 0
        for prefix in (".nv.info.", ".nv.shared.", ".nv.local."):
            if name.startswith(prefix):
                return self._index_of(".text." + name[len(prefix) :])
        if name.startswith(".nv.constant"):
            function = name.removeprefix(".nv.constant").partition(".")[2]
            return self._index_of(".text." + function) if function else 0
        return 0

    def _callgraph(self) -> bytes:
        """`.nv.callgraph`: pairs of numbers, or of a function and a signature."""
        graph, functions = self.state.graph, self.state.symbols.functions
        pack = records.CALLGRAPH_ENTRY.pack
        rows: list[bytes] = []
        for marker in (1, 2, 3, 4):
            rows.append(pack(0, (1 << 32) - marker))
            if marker in (1, 4):
                edges = graph.calls if marker == 1 else graph.references
                if edges:
                    rows += [
                        pack(f.index, callee.index)
                        for f in functions
                        if f in edges
                        for callee in reversed(edges[f])
                    ]
                continue
            texts = graph.address_taken if marker == 2 else graph.indirect
            if texts:
                rows += [
                    pack(f.index, self._signature(text))
                    for f in functions
                    if f in texts
                    for text in reversed(texts[f])
                ]
        return b"".join(rows)

    def _prototypes(self) -> bytes:
        """`.nv.prototype`: external functions whose address is not taken, with their signature."""
        graph = self.state.graph
        return b"".join(
            records.PROTOTYPE_ENTRY.pack(f.index, self._signature(graph.prototypes[f]))
            for f in self.state.symbols.functions
            if f in graph.prototypes and f not in graph.address_taken
        )

    # -- headers -----------------------------------------------------------------------------------

    def _finish(
        self,
        headers: list[bytes],
        loaded: list[Row],
        parts: list[bytes | bytearray],
        at: int,
    ) -> list[bytes | bytearray]:
        state = self.state
        record, program = records.SECTION_HEADER_64, records.PROGRAM_HEADER_64
        count = len(headers) + 1
        shoff = -(-at // 8) * 8
        phoff = shoff + count * record.size
        is_final = not state.options.relocatable
        segments = self._segments(loaded, phoff, program.size) if is_final else []
        size = phoff + len(segments) * program.size
        if size > _LARGEST_FILE:
            raise LimitError(f"the file would have {size} bytes", expected=f"{_LARGEST_FILE}")
        names = self._fixed(".shstrtab")
        large = count >= _SHN_LORESERVE
        null = (0, 0, 0, 0, 0, count if large else 0, 0, 0, 0, 0)
        note = self._fixed(".note.nv.cuinfo")
        flags = target_sm(state.options.arch) << 8 | state.family.flags_kind
        ident = records.ELF_IDENT.pack(b"\x7fELF", 2, 1, 1, 0x41, 8, bytes(7))
        ehdr = records.ELF_HEADER_64.pack(
            ET_EXEC if is_final else ET_REL,
            EM_CUDA,
            1,
            0,
            phoff if segments else 0,
            shoff,
            flags | min(note, _LARGEST_NOTE_INDEX) << 24,
            16 + records.ELF_HEADER_64.size,
            program.size,
            len(segments),
            record.size,
            0 if large else count,
            names,
        )
        tables = [program.pack(*row) for row in segments]
        behind = b"".join([bytes(shoff - at), record.pack(*null), *headers, *tables])
        return [ident, ehdr, *parts, behind]

    def _segments(self, loaded: list[Row], at: int, entry: int) -> list[Row]:
        """PT_PHDR, one PT_LOAD for each run of sections of equal permissions, the table itself."""
        loads: list[Row] = []
        run_access = start = end = reserved = 0
        for sh_type, flags, offset, size, align in loaded:
            access = _PF_R | _PF_W if flags & SHF_WRITE else _PF_R | _PF_X
            if access != run_access:
                if run_access:
                    loads.append(_load(run_access, start, end, reserved))
                run_access, start, end, reserved = access, offset, offset, 0
            if sh_type == SHT_NOBITS:
                end = max(end, offset)
                reserved = (reserved if align < 2 else -(-reserved // align) * align) + size
            else:
                end = offset + size
        if run_access:
            loads.append(_load(run_access, start, end, reserved))
        size = (len(loads) + 2) * entry
        table = (_PF_R | _PF_X, at, 0, 0, size, size, _P_ALIGN)
        return [(_PT_PHDR, *table), *loads, (_PT_LOAD, *table)]


_TABLES = (SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX)


def _load(access: int, start: int, end: int, reserved: int) -> Row:
    size = end - start
    return (_PT_LOAD, access, start, 0, 0, size, size + reserved, _P_ALIGN)


def _stack(
    contents: Sequence[bytes | bytearray],
    aligns: list[int],
    at: int,
    parts: list[bytes | bytearray],
) -> tuple[list[int], int]:
    """Put contents behind each other: where they stand, and where the last one ends."""
    sizes = list(map(len, contents))
    align = aligns[0] or 1
    is_even = aligns.count(align) == len(aligns) and not any(map((align - 1).__and__, sizes))
    if is_even:
        # Padding in front of the first one only, the most frequent case.
        padding = -at % align
        parts.append(bytes(padding))
        offsets = list(accumulate(sizes, initial=at + padding))
        parts += contents
        return offsets[:-1], offsets[-1]
    offsets = []
    for align, size, data in zip(aligns, sizes, contents, strict=True):
        padding = -at % align if align > 1 else 0
        if padding:
            parts.append(bytes(padding))
            at += padding
        offsets.append(at)
        parts.append(data)
        at += size
    return offsets, at


def _not_linked(section: OutSection, name: str | None = None) -> UnsupportedLinkError:
    """A symbol names a section that is not in the output."""
    name = section.name if name is None else name
    return UnsupportedLinkError(f"symbol '{name}' in section '{section.name}', which is not linked")


def _string_table(names: dict[str, int]) -> bytes:
    """Names in their order, each with its NUL; an empty one is a NUL that nothing refers to.

    Args:
        names: gets the place of every name.
    """
    text = "\0".join(names)
    raw = text.encode("utf-8", "surrogateescape")
    texts: Iterable[str | bytes] = names
    if len(raw) != len(text):
        texts = [name.encode("utf-8", "surrogateescape") for name in names]
    places = list(map(add, accumulate(map(len, texts), initial=1), count()))
    names.update(zip(names, places, strict=False))
    names[""] = 0
    return b"\0" + raw + b"\0" if len(places) > 1 else b"\0"


def _rank(state: LinkState, section: OutSection) -> int:
    name = section.name
    rank = _RANK_OF_NAME.get(name)
    if rank is None:
        rank = _RANK_OF_TYPE.get(section.sh_type)
    if rank is not None:
        return rank
    if name.startswith(_DEBUG) and output_type(state, section.sh_type) == SHT_PROGBITS:
        return _DEBUG_RANK
    for prefix, rank in _RANK_OF_PREFIX:
        if name.startswith(prefix):
            return rank
    return _LAST_RANK


def reloc_bytes(section: OutSection) -> bytes:
    """Relocations in reverse order of merging, as nvlink writes them."""
    rows = reversed(section.relocs)
    if section.sh_type == SHT_REL:
        pack = records.REL_64.pack
        return b"".join([pack(offset, kind, symbol.index) for offset, kind, symbol, _, _ in rows])
    pack = records.RELA_64.pack
    return b"".join(
        [pack(offset, kind, symbol.index, addend) for offset, kind, symbol, addend, _ in rows]
    )


def output_type(state: LinkState, sh_type: int) -> int:
    """Section type of an executable: CUDA types of data become PROGBITS and NOBITS."""
    if state.options.relocatable:
        return sh_type
    if sh_type in (SHT_CUDA_GLOBAL, SHT_CUDA_SHARED, SHT_CUDA_RESERVED_SHARED):
        return SHT_NOBITS
    if sh_type == SHT_CUDA_GLOBAL_INIT or is_constant(sh_type):
        return SHT_PROGBITS
    return sh_type
