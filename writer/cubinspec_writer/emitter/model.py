"""Description of a file to be written: only what cannot be computed.

The order of the lists is the order in which the producer *made* things. From it follow the section
indices, the symbol table, both string tables and all offsets; see ``layout``. Sections refer to
each other by object, so that they can be moved and removed; symbols are referred to by their index
in ``.symtab``, which :func:`cubinspec_writer.emitter.layout.plan` computes.
"""

from __future__ import annotations

from cubinspec_writer.gc_pause import GcPaused
from cubinspec_writer.plain import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec_writer.emitter.bodies import Body
    from cubinspec_writer.emitter.draft import Draft
    from cubinspec_writer.emitter.layout import Plan

SHN_LORESERVE = 0xFF00
SHN_COMMON = 0xFFF2
SHN_XINDEX = 0xFFFF


@dataclass(slots=True)
class Exceptions:
    """Fields of one section or symbol that are not as the rules give them.

    Attributes:
        pins: fields kept as they were because no rule gives them.
        overrides: fields that say something else than the layout (broken files).
    """

    pins: dict[str, int] = field(default_factory=dict)
    overrides: dict[str, int] = field(default_factory=dict)


class Section:
    """One section. ``None`` means: computed.

    Attributes:
        name: as it will stand in ``.shstrtab``.
        sh_type, sh_flags, sh_addr, sh_addralign, sh_entsize: header fields.
        body: decoded records, bytes, or a computed table.
        link, info: the section (or number) that ``sh_link``/``sh_info`` refer to.
        registers: register count in bits 24-31 of ``sh_info`` of a text section (before sm_90).
        has_symbol: whether a section symbol is made.
        shares: the plain section whose bytes a Mercury section uses (``False``: its own bytes).
        late: made after the global symbols were named.
        made_as: the name under which it was made, where that is not the rule's Mercury name.
        exceptions: made when :attr:`pins` or :attr:`overrides` are first asked for; nearly no
            section has any.
    """

    __slots__ = (
        "body",
        "exceptions",
        "has_symbol",
        "info",
        "late",
        "link",
        "made_as",
        "name",
        "registers",
        "sh_addr",
        "sh_addralign",
        "sh_entsize",
        "sh_flags",
        "sh_type",
        "shares",
    )

    def __init__(
        self,
        name: str,
        sh_type: int,
        body: Body,
        sh_flags: int = 0,
        sh_addr: int = 0,
        sh_addralign: int = 1,
        sh_entsize: int = 0,
        link: Section | int | None = None,
        info: Section | int | None = None,
        registers: int = 0,
        has_symbol: bool | None = None,
        shares: Section | bool | None = None,
        late: bool | None = None,
        made_as: str | None = None,
    ) -> None:
        self.name = name
        self.sh_type = sh_type
        self.body = body
        self.sh_flags = sh_flags
        self.sh_addr = sh_addr
        self.sh_addralign = sh_addralign
        self.sh_entsize = sh_entsize
        self.link = link
        self.info = info
        self.registers = registers
        self.has_symbol = has_symbol
        self.shares = shares
        self.late = late
        self.made_as = made_as
        self.exceptions: Exceptions | None = None

    def __repr__(self) -> str:
        return f"<Section {self.name}>"

    @property
    def pins(self) -> dict[str, int]:
        """Header fields that no rule gives; ``sh_offset`` moves the bytes too."""
        return _exceptions(self).pins

    @property
    def overrides(self) -> dict[str, int]:
        """Header fields that say something else than the layout (broken files)."""
        return _exceptions(self).overrides


class Symbol:
    """One symbol that is not a computed section symbol.

    Attributes:
        section: where it is defined; a number for the reserved indices and for broken ones.
        in_globals: which part of the table it belongs to; ``None``: to the globals with binding
            GLOBAL, to the locals with LOCAL and WEAK. Only asked for symbols of the history.
        exceptions: made when :attr:`pins` are first asked for.
    """

    __slots__ = (
        "exceptions",
        "in_globals",
        "name",
        "section",
        "st_info",
        "st_other",
        "st_size",
        "st_value",
    )

    def __init__(
        self,
        name: str,
        st_info: int = 0,
        st_other: int = 0,
        section: Section | int = 0,
        st_value: int = 0,
        st_size: int = 0,
        in_globals: bool | None = None,
    ) -> None:
        self.name = name
        self.st_info = st_info
        self.st_other = st_other
        self.section = section
        self.st_value = st_value
        self.st_size = st_size
        self.in_globals = in_globals
        self.exceptions: Exceptions | None = None

    def __repr__(self) -> str:
        return f"<Symbol {self.name}>"

    @property
    def pins(self) -> dict[str, int]:
        """``st_name`` where the name has another place in ``.strtab`` than its first."""
        return _exceptions(self).pins


def _exceptions(holder: Section | Symbol) -> Exceptions:
    if holder.exceptions is None:
        holder.exceptions = Exceptions()
    return holder.exceptions


class Dropped:
    """A name that stands in the string tables although what it named was not written.

    Sections without content, unresolved helper symbols and the signatures that call graph and
    prototypes point at.

    Attributes:
        in_shstrtab: it named a section. A section that is written may be named here before its
            turn: that of the relocations of ``.nv.constant0.<k>`` is, whenever it is made.
        made_as: the name in ``.strtab``, where it is another one.
        erased: instead of a name, this many NUL bytes stand where one was overwritten.
    """

    __slots__ = ("erased", "in_shstrtab", "made_as", "name")

    def __init__(
        self, name: str, in_shstrtab: bool = False, made_as: str | None = None, erased: int = 0
    ) -> None:
        self.name = name
        self.in_shstrtab = in_shstrtab
        self.made_as = made_as
        self.erased = erased

    def __repr__(self) -> str:
        return f"<Dropped {self.name}>"


@dataclass(slots=True)
class Header:
    """The ELF header as far as it is not computed.

    Attributes:
        e_flags: without the section index in bits 24-31 where the file has a note (ABI 8).
        pins: fields of ``Elf64_Ehdr`` kept as they were; ``e_shoff`` and ``e_phoff`` move the
            tables.
        overrides: fields that say something else than the layout (broken files).
    """

    ei_class: int = 2
    ei_osabi: int = 0x41
    ei_abiversion: int = 8
    ei_pad: bytes = b"\0" * 7
    ei_version: int = 1
    e_type: int = 2
    e_version: int = 1
    e_entry: int = 0
    e_flags: int = 0
    pins: dict[str, int] = field(default_factory=dict)
    overrides: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Fill:
    """Bytes outside of every section and header table."""

    offset: int
    data: bytes


@dataclass(slots=True)
class Pins:
    """What a file keeps because no rule is known; every field names one reason.

    Attributes:
        index_order: positions in creation order, in section index order.
        shstrtab, strtab: the bytes of the tables.
        symbol_order: positions in the computed symbol order, in symbol table order.
        symbol_words: ``.symtab_shndx``.
        segments: rows of the program header table.
        null_section: the ten fields of section header 0.
        file_size: the length of the file.
    """

    index_order: list[int] | None = None
    shstrtab: bytes | None = None
    strtab: bytes | None = None
    symbol_order: list[int] | None = None
    symbol_words: list[int] | None = None
    segments: list[tuple[int, ...]] | None = None
    null_section: tuple[int, ...] | None = None
    file_size: int | None = None


#: What is made when somebody asks for it.
_PARTS = frozenset(("header", "history", "symbols", "profile", "pins", "fills", "null_value"))


class Description:
    """A whole file.

    A description that was made of a file, and of which nothing was looked at since, is written as
    it was laid out when it was checked. Whoever asks for any part of it may change that part, so
    the first to ask has the parts made, and from then on they are laid out whenever it is written.

    Attributes:
        history: sections, local symbols and dropped names in the order in which they were made;
            old writers also named the global symbols at once, theirs stand here too.
        symbols: global symbols (and dropped names of such) in symbol table order.
        profile: key of ``producers.PRODUCERS``.
        fills: bytes outside of sections that are not zero.
        null_value: ``st_value`` of the null symbol; nvlink leaves something there at times.
        reasons: why the file is not fully computed, filled by ``describe``.
    """

    __slots__ = (
        "_draft",
        "_plan",
        "fills",
        "header",
        "history",
        "null_value",
        "pins",
        "profile",
        "reasons",
        "symbols",
    )

    header: Header
    history: list[Section | Symbol | Dropped]
    symbols: list[Symbol | Dropped]
    profile: str
    pins: Pins
    fills: list[Fill]
    null_value: int
    reasons: list[str]

    def __init__(
        self,
        header: Header,
        history: list[Section | Symbol | Dropped],
        symbols: list[Symbol | Dropped],
        profile: str,
        pins: Pins | None = None,
        fills: list[Fill] | None = None,
        null_value: int = 0,
        reasons: list[str] | None = None,
    ) -> None:
        self._draft: Draft | None = None
        self._plan: Plan | None = None
        self.header = header
        self.history = history
        self.symbols = symbols
        self.profile = profile
        self.pins = Pins() if pins is None else pins
        self.fills = [] if fills is None else fills
        self.null_value = null_value
        self.reasons = [] if reasons is None else reasons

    @classmethod
    def of(cls, draft: Draft, plan: Plan | None, reasons: list[str]) -> Description:
        """The description that has columns already; its parts are made when one is asked for.

        Args:
            plan: how it is laid out, where that is known.
        """
        description = cls.__new__(cls)
        description.reasons = reasons
        description._draft = draft
        description._plan = plan
        return description

    @property
    def plan(self) -> Plan | None:
        """How this is laid out, where that is known."""
        return self._plan

    @property
    def draft(self) -> Draft | None:
        """The columns that this was made with, if nobody has looked at it since."""
        return self._draft

    def forget_plan(self) -> None:
        """Have this laid out anew when it is written."""
        self._plan = None

    def __getattr__(self, name: str) -> Any:
        # only asked for what is not there
        if name not in _PARTS or self._draft is None:
            raise AttributeError(name)
        self._make_parts(self._draft)
        return getattr(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in _PARTS and self._draft is not None:
            self._make_parts(self._draft)
        object.__setattr__(self, name, value)

    def __getstate__(self) -> object:
        _ = self.history  # for a copy: of objects, as columns are not copied
        return object.__getstate__(self)

    def _make_parts(self, draft: Draft) -> None:
        self._draft = self._plan = None
        with GcPaused():
            draft.fill_in(self)

    @property
    def sections(self) -> list[Section]:
        """All sections in creation order."""
        return [entry for entry in self.history if isinstance(entry, Section)]

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        for entry in self.history:
            if isinstance(entry, Section) and entry.name == name:
                return entry
        return None
