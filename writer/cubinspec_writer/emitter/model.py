"""What a file is made of, as plain objects: all that does not follow from the rest.

The order of the lists is the order in which the producer made things. From it follow the section
indices, the symbol table, both string tables and all offsets (``layout``). Sections refer to each
other by object, so that they can be moved and removed; symbols are referred to by their index in
``.symtab``, which ``layout`` computes.

Section and Symbol are equal only to themselves, because others refer to them; all other classes
compare by value.
"""

from __future__ import annotations

from cubinspec.values import ValueObject
from cubinspec_generated.codes import ABI_8, ELFCLASS64, ELFOSABI_CUDA_V2, ET_EXEC

__all__ = [
    "Description",
    "Dropped",
    "Exceptions",
    "Fill",
    "Header",
    "Pins",
    "Section",
    "Symbol",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Context(Protocol):
        """What the body of a section may ask for while it is encoded."""

        is_64: bool

        def string_offset(self, text: str) -> int:
            """Offset of a string in ``.strtab``."""

        def signature_offset(self, text: str) -> int:
            """Offset of a function signature in ``.strtab``."""

        def section_index(self, section: Section) -> int:
            """Index of a section."""

    class Body(Protocol):
        """The contents of one section."""

        @property
        def size(self) -> int:
            """Bytes that :meth:`encode` will give (``sh_size``)."""

        def encode(self, context: Context) -> bytes:
            """The bytes."""


class Exceptions(ValueObject):
    """Fields of one section or symbol that are not as the rules give them.

    Attributes:
        pins: fields kept as they were because no rule gives them.
        overrides: fields that contradict the layout on purpose (broken files).
    """

    __match_args__ = ("pins", "overrides")
    __slots__ = __match_args__

    def __init__(
        self, pins: dict[str, int] | None = None, overrides: dict[str, int] | None = None
    ) -> None:
        self.pins: dict[str, int] = {} if pins is None else pins
        self.overrides: dict[str, int] = {} if overrides is None else overrides


class _Referable(ValueObject):
    """Something that others refer to; two with equal fields stay two."""

    __slots__ = ("exceptions",)
    if TYPE_CHECKING:

        def __eq__(self, other: object) -> bool: ...
        def __hash__(self) -> int: ...  # type: ignore[override]
    else:
        __eq__ = object.__eq__
        __hash__ = object.__hash__
    exceptions: Exceptions | None

    def _own_exceptions(self) -> Exceptions:
        if self.exceptions is None:
            self.exceptions = Exceptions()
        return self.exceptions


class Section(_Referable):
    """One section. ``None`` means: computed.

    Attributes:
        name: as it will stand in ``.shstrtab``.
        sh_type, sh_flags, sh_addr, sh_addralign, sh_entsize: header fields.
        body: decoded records, bytes, or a computed table.
        link, info: the section (or number) that ``sh_link``/``sh_info`` refer to.
        registers: register count in bits 24-31 of ``sh_info`` of a text section (before sm_90).
        has_symbol: whether a section symbol is made.
        shares: the SASS section whose bytes a Mercury section uses (``False``: its own bytes).
        deferred: whether it was made after the global symbols were named.
        made_as: the name under which it was made, where that is not the rule's Mercury name.
        exceptions: made when :attr:`pins` or :attr:`overrides` are first asked for; nearly no
            section has any.
    """

    __match_args__ = (
        "name",
        "sh_type",
        "body",
        "sh_flags",
        "sh_addr",
        "sh_addralign",
        "sh_entsize",
        "link",
        "info",
        "registers",
        "has_symbol",
        "shares",
        "deferred",
        "made_as",
        "exceptions",
    )
    __slots__ = __match_args__[:-1]

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
        deferred: bool | None = None,
        made_as: str | None = None,
        exceptions: Exceptions | None = None,
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
        self.deferred = deferred
        self.made_as = made_as
        self.exceptions = exceptions

    def __repr__(self) -> str:
        return f"<Section {self.name}>"

    @property
    def pins(self) -> dict[str, int]:
        """Header fields that no rule gives; ``sh_offset`` moves the bytes too."""
        return self._own_exceptions().pins

    @property
    def overrides(self) -> dict[str, int]:
        """Header fields that contradict the layout on purpose (broken files)."""
        return self._own_exceptions().overrides


class Symbol(_Referable):
    """One symbol that is not a computed section symbol.

    Attributes:
        section: where it is defined; a number for the reserved indices and for broken ones.
        in_globals: which part of the table it belongs to; ``None``: to the globals with binding
            GLOBAL, to the locals with LOCAL and WEAK. Only asked for symbols of the history.
        exceptions: made when :attr:`pins` are first asked for.
    """

    __match_args__ = (
        "name",
        "st_info",
        "st_other",
        "section",
        "st_value",
        "st_size",
        "in_globals",
        "exceptions",
    )
    __slots__ = __match_args__[:-1]

    def __init__(
        self,
        name: str,
        st_info: int = 0,
        st_other: int = 0,
        section: Section | int = 0,
        st_value: int = 0,
        st_size: int = 0,
        in_globals: bool | None = None,
        exceptions: Exceptions | None = None,
    ) -> None:
        self.name = name
        self.st_info = st_info
        self.st_other = st_other
        self.section = section
        self.st_value = st_value
        self.st_size = st_size
        self.in_globals = in_globals
        self.exceptions = exceptions

    def __repr__(self) -> str:
        return f"<Symbol {self.name}>"

    @property
    def pins(self) -> dict[str, int]:
        """``st_name`` where the name has another place in ``.strtab`` than its first."""
        return self._own_exceptions().pins


class Dropped(ValueObject):
    """A name in the string tables of something that was not written.

    Sections without content, unresolved helper symbols and the signatures that call graph and
    prototypes point at.

    Attributes:
        in_shstrtab: it named a section. A section that is written may be named here before its
            turn: that of the relocations of ``.nv.constant0.<k>`` is, whenever it is made.
        made_as: the name in ``.strtab``, where it is another one.
        erased: instead of a name, this many NUL bytes stand where one was overwritten.
    """

    __match_args__ = ("name", "in_shstrtab", "made_as", "erased")
    __slots__ = __match_args__

    def __init__(
        self, name: str, in_shstrtab: bool = False, made_as: str | None = None, erased: int = 0
    ) -> None:
        self.name = name
        self.in_shstrtab = in_shstrtab
        self.made_as = made_as
        self.erased = erased

    def __repr__(self) -> str:
        return f"<Dropped {self.name}>"


class Header(ValueObject):
    """The fields of the ELF header that are not computed.

    Attributes:
        e_flags: without the section index in bits 24-31 where the file has a note (ABI 8).
        pins: fields of ``Elf64_Ehdr`` kept as they were; ``e_shoff`` and ``e_phoff`` move the
            tables.
        overrides: fields that contradict the layout on purpose (broken files).
    """

    __match_args__ = (
        "ei_class",
        "ei_osabi",
        "ei_abiversion",
        "ei_pad",
        "ei_version",
        "e_type",
        "e_version",
        "e_entry",
        "e_flags",
        "pins",
        "overrides",
    )
    __slots__ = __match_args__

    def __init__(
        self,
        ei_class: int = ELFCLASS64,
        ei_osabi: int = ELFOSABI_CUDA_V2,
        ei_abiversion: int = ABI_8,
        ei_pad: bytes = b"\0" * 7,
        ei_version: int = 1,
        e_type: int = ET_EXEC,
        e_version: int = 1,
        e_entry: int = 0,
        e_flags: int = 0,
        pins: dict[str, int] | None = None,
        overrides: dict[str, int] | None = None,
    ) -> None:
        self.ei_class = ei_class
        self.ei_osabi = ei_osabi
        self.ei_abiversion = ei_abiversion
        self.ei_pad = ei_pad
        self.ei_version = ei_version
        self.e_type = e_type
        self.e_version = e_version
        self.e_entry = e_entry
        self.e_flags = e_flags
        self.pins: dict[str, int] = {} if pins is None else pins
        self.overrides: dict[str, int] = {} if overrides is None else overrides


class Fill(ValueObject):
    """Bytes outside of every section and header table."""

    __match_args__ = ("offset", "data")
    __slots__ = __match_args__

    def __init__(self, offset: int, data: bytes) -> None:
        self.offset = offset
        self.data = data


class Pins(ValueObject):
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

    __match_args__ = (
        "index_order",
        "shstrtab",
        "strtab",
        "symbol_order",
        "symbol_words",
        "segments",
        "null_section",
        "file_size",
    )
    __slots__ = __match_args__

    def __init__(
        self,
        index_order: list[int] | None = None,
        shstrtab: bytes | None = None,
        strtab: bytes | None = None,
        symbol_order: list[int] | None = None,
        symbol_words: list[int] | None = None,
        segments: list[tuple[int, ...]] | None = None,
        null_section: tuple[int, ...] | None = None,
        file_size: int | None = None,
    ) -> None:
        self.index_order = index_order
        self.shstrtab = shstrtab
        self.strtab = strtab
        self.symbol_order = symbol_order
        self.symbol_words = symbol_words
        self.segments = segments
        self.null_section = null_section
        self.file_size = file_size


class Description(ValueObject):
    """A whole file.

    Attributes:
        history: sections, local symbols and dropped names in the order in which they were made;
            old writers also named the global symbols at once, theirs stand here too.
        symbols: global symbols (and dropped names of such) in symbol table order.
        profile: key of ``cubinspec_generated.producers.PRODUCERS``.
        fills: bytes outside of sections that are not zero.
        null_value: ``st_value`` of the null symbol; nvlink leaves something there at times.
        reasons: why the file is not fully computed, filled by ``describe``.
    """

    __match_args__ = (
        "header",
        "history",
        "symbols",
        "profile",
        "pins",
        "fills",
        "null_value",
        "reasons",
    )
    __slots__ = __match_args__
    pins: Pins

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
        self.header = header
        self.history = history
        self.symbols = symbols
        self.profile = profile
        self.pins = Pins() if pins is None else pins
        self.fills: list[Fill] = [] if fills is None else fills
        self.null_value = null_value
        self.reasons: list[str] = [] if reasons is None else reasons

    def __repr__(self) -> str:
        counts = f"{len(self.sections)} sections, {len(self.symbols)} global symbols"
        return f"<Description as of {self.profile}: {counts}>"

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
