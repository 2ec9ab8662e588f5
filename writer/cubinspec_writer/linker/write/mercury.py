"""The sections of the Mercury half as they stand in the file, beside the SASS half.

Code is a capsule (`.nv.capmerc.text.F`), anything else a copy (`.nv.merc…`) that may differ from
its SASS twin in relocations and contents. The half has a symbol table of its own.
"""

from __future__ import annotations

from cubinspec.format.attributes import split_records
from cubinspec.format.layout import mercury_rank
from cubinspec.format.packing import align_up
from cubinspec.format.sections import CAPMERC_UFT, MERCURY_TYPE
from cubinspec.format.strings import length
from cubinspec_generated import records
from cubinspec_generated.codes import (
    EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE,
    EICOMPAT_ATTR_FINALIZER_VERSION,
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_METADATA,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_UFT_ENTRY,
    SHT_STRTAB,
    STT_SECTION,
)
from cubinspec_generated.producers import PRODUCERS
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter import model as out
from cubinspec_writer.emitter.layout import plan
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer.join import twin_of
from cubinspec_writer.linker.library.outsymbols import symbol_fields
from cubinspec_writer.linker.model import Symbol
from cubinspec_writer.linker.write.contents import has_mercury_copy, mercury_copy_name
from cubinspec_writer.linker.write.described import DescribedHalf, describe, section_body

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.format.targets import Toolkit
    from cubinspec_writer.emitter.model import Body, Context, Section
    from cubinspec_writer.linker.model import OutSection
    from cubinspec_writer.linker.state import LinkState

_DEBUG_INFO = ".debug_info"
_DEBUG_LINE = ".debug_line"
#: The largest ratio of SASS bytes to Mercury bytes of a function; real files have about three.
_MOST_GROWTH = 64
_SYMTAB_ALIGN = 8


class MercuryCopies:
    """Describes the sections of the Mercury half.

    Attributes:
        sass: the description of the SASS half.
        state: the linked Mercury half.
        copies: section of the Mercury half -> its copy in the file.
    """

    copies: dict[OutSection, Section]

    def __init__(self, sass: DescribedHalf, state: LinkState, producer: str) -> None:
        """Describe them.

        Args:
            producer: key of ``cubinspec_generated.producers.PRODUCERS``.
        """
        self._capsules_last = PRODUCERS[producer].capsules_last
        self._stores_reserved = PRODUCERS[producer].stores_reserved
        self.sass = sass
        self.state = state
        self.copies = {
            section: self._copy(section)
            for section in (state.sections.fixed[".nv.info"], *state.sections.made)
            if section.emitted and has_mercury_copy(state.job.toolkit, section)
        }

    def sections(self) -> list[out.Section]:
        """All sections of the half, in the order in which the file has them."""
        self._refer()
        made = [*self.copies.values(), self._symbol_table()]
        made.sort(key=lambda s: s.sh_type == SHT_CUDA_RESERVED_SHARED)
        has_rows = any(section.sh_type == SHT_CUDA_UFT_ENTRY for section in made)
        has_table = has_rows and any(section.name == CAPMERC_UFT for section in made)

        def rank(section: out.Section) -> int:
            return mercury_rank(
                section.name,
                section.sh_type,
                capsules_last=self._capsules_last,
                has_table=has_table,
            )

        return sorted(made, key=rank)

    def _refer(self) -> None:
        """Set `sh_info` of all copies."""
        copies = self.copies
        for section, copy in copies.items():
            owner = section.info_section
            if owner is not None:
                if owner not in copies:
                    raise UnsupportedLinkError(f"section '{section.name}' without '{owner.name}'")
                copy.info = copies[owner]
            elif section.flags & SHF_EXECINSTR:
                function = section.owner or self._first_stub(section)
                copy.info = function.index if function is not None else section.info_value

    def _first_stub(self, section: OutSection) -> Symbol | None:
        """The stub of the first slot, to which the table refers from CUDA 13.5 on."""
        if not self._capsules_last:
            return None
        return next(
            (s for s in self.state.unified.stubs if s.section is section and not s.value), None
        )

    def _copy(self, section: OutSection) -> out.Section:
        sh_type = section.sh_type
        is_code = bool(section.flags & SHF_EXECINSTR)
        body = section_body(self.state, section)
        if is_code and isinstance(body, bodies.Blob):
            body = _CapsuleBody(body.data, self._twin(section))
        if sh_type == SHT_CUDA_RESERVED_SHARED:
            body = self._reserved_shared(section.size)
        return out.Section(
            mercury_copy_name(section),
            SHT_CUDA_CAPMERC if is_code else MERCURY_TYPE.get(sh_type, sh_type),
            body,
            SHF_CUDA_MERCURY if is_code else section.flags | SHF_CUDA_MERCURY,
            0,
            section.align,
            0 if is_code and self._capsules_last else section.entsize,
            has_symbol=False,
            shares=False if self._is_apart(section) else None,
        )

    def _reserved_shared(self, size: int) -> Body:
        """Reserved shared memory, which shows what stands behind it (rules F10, K35)."""
        if self._stores_reserved:
            return bodies.Blob(_stale_headers(self.state, size))
        return bodies.NoBytes(size)

    def _is_apart(self, section: OutSection) -> bool:
        """Whether a copy never shares the bytes of its twin, even when they are equal by chance.

        The finalizer writes the contents of these twins anew. In debug data this is where a unit
        finds its lines.

        Rule F5.
        """
        if section.sh_type in (SHT_CUDA_CONSTANT_B2, SHT_CUDA_METADATA):
            return True
        twin = self.state.sections.twins.get(section)
        if section.name != _DEBUG_INFO or twin is None:
            return False
        relocations = self.sass.state.relocations
        rows = list(relocations.applied.get(twin, ()))
        for is_rela in (False, True):  # what `-r` keeps
            kept = relocations.find(twin, is_rela)
            rows += kept.relocs if kept is not None else ()
        targets = (reloc.symbol.section for reloc in rows)
        return any(target is not None and target.name == _DEBUG_LINE for target in targets)

    def _twin(self, section: OutSection) -> out.Section:
        """The section of the SASS half that stands for the same thing."""
        return self.sass.section(twin_of(self.state.sections.twins, section))

    def _symbol_table(self) -> out.Section:
        symbols = self.state.symbols
        rows = [self._symbol(item) for item in symbols.numbered]
        return out.Section(
            ".nv.merc.symtab",
            SHT_CUDA_MERC_SYMTAB,
            bodies.MercurySymbols(rows, null_value=symbols.null_value),
            SHF_CUDA_MERCURY,
            0,
            _SYMTAB_ALIGN,
            records.SYMBOL_64.size,
            has_symbol=False,
        )

    def _symbol(self, item: Symbol | OutSection) -> bodies.MercurySymbol:
        symbol = item if isinstance(item, Symbol) else item.symbol
        assert symbol is not None
        info, other, value = symbol_fields(self.state.job, self.state.shared, symbol)
        section, name = symbol.section, symbol.name
        place: out.Section | int = 0
        if section is not None:
            place = self.copies[section] if section in self.copies else self._twin(section)
            if symbol.kind == STT_SECTION:
                name = section.name
        return bodies.MercurySymbol(name, info, other, place, value, symbol.size)


class _CapsuleBody:
    """Mercury code; its first word is the index of the SASS section of the same function."""

    __slots__ = ("data", "text")

    def __init__(self, data: bytes, text: out.Section) -> None:
        self.data = data
        self.text = text

    @property
    def size(self) -> int:
        return len(self.data)

    def encode(self, context: Context) -> bytes:
        return context.section_index(self.text).to_bytes(4, "little") + self.data[4:]


def _stale_headers(mercury: LinkState, size: int) -> bytes:
    """Bytes of the Mercury copy of reserved shared memory.

    Nothing is ever stored there. What shows is what follows in the file that the finalizer reads:
    padding, the null section header, that of `.shstrtab` and the first half of that of `.strtab`
    (rule F10).
    """
    names = dict.fromkeys(
        entry if isinstance(entry, str) else entry.name
        for entry in mercury.names.entries
        if not isinstance(entry, Symbol)
    )
    len_names = 1 + sum(length(name) + 1 for name in names)
    row = records.SECTION_HEADER_64
    stale = bytes(_padding_behind_reserved(mercury) + row.size)
    stale += row.pack(1, SHT_STRTAB, 0, 0, row.size, len_names, 0, 0, 1, 0)
    # The size of `.strtab` stands in the second half, which is not made here.
    name_offset = len("\0.shstrtab\0")
    strtab = row.pack(name_offset, SHT_STRTAB, 0, 0, row.size + len_names, 0, 0, 0, 1, 0)
    stale += strtab[: row.size // 2]
    if size > len(stale):
        raise UnsupportedLinkError(f"{size} bytes of reserved shared memory")
    return stale[:size]


def _code_size(section: OutSection, owner: Symbol) -> int:
    """Bytes of a function as its symbol says.

    Raises:
        UnsupportedLinkError: that cannot be, next to its Mercury code.
    """
    if owner.size > _MOST_GROWTH * max(len(section.content), records.SECTION_HEADER_64.size):
        raise UnsupportedLinkError(
            f"'{owner.name}' with {owner.size} bytes, of {len(section.content)} of Mercury code"
        )
    return owner.size


def _without_finalizer(records: bytes, toolkit: Toolkit) -> bytes:
    """`.nv.compat` before the finalizer adds version, and the fast path if nvlink did not (K35)."""
    added = {EICOMPAT_ATTR_FINALIZER_VERSION}
    if EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE not in toolkit.merges:
        added.add(EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE)
    return b"".join(record for record in split_records(records) if record[1] not in added)


def _padding_behind_reserved(mercury: LinkState) -> int:
    """Bytes between reserved shared memory and the section headers of the Mercury file.

    Sections without bytes are aligned, too, so the offset in that file matters when one behind has
    a larger alignment. The file is laid out with code as long as its symbols say, and without what
    the finalizer adds to `.nv.compat`.
    """
    without_bytes = [s for s in mercury.sections.made if s.emitted and s.is_nobits]
    types = [section.sh_type for section in without_bytes]
    if SHT_CUDA_RESERVED_SHARED not in types:
        return 0
    number = types.index(SHT_CUDA_RESERVED_SHARED)
    reserved = without_bytes[number]
    if all(section.align <= reserved.align for section in without_bytes[number + 1 :]):
        return 0
    half, toolkit = DescribedHalf(mercury), mercury.job.toolkit
    for section, made in half.made.items():
        if section.flags & SHF_EXECINSTR and section.owner is not None:
            made.body = bodies.Blob(bytes(_code_size(section, section.owner)))
        elif section.sh_type == SHT_CUDA_COMPAT_INFO:
            made.body = bodies.Blob(_without_finalizer(bytes(section.content), toolkit))
    planned = plan(describe(half))
    rows = zip(planned.sections, planned.section_rows, strict=True)
    offset_of = {id(made): offset for made, (_, _, _, _, offset, *_) in rows}
    end = max(offset_of[id(half.made[section])] for section in without_bytes)
    return align_up(end, 8) - offset_of[id(half.made[reserved])]
