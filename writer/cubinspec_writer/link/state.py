"""The link in progress: what the passes share.

The order in which names are first used decides the order of sections, symbols and both string
tables of the output, so every creation goes through `LinkState`.
"""

from __future__ import annotations

from .diagnostics import Diagnostics
from .host import KernelFilter
from .model import (
    SHF_INFO_LINK,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_RESOLVED_RELA,
    SHT_REL,
    SHT_RELA,
    STB_LOCAL,
    STT_SECTION,
    InputObject,
    OutSection,
    Reloc,
    Symbol,
)
from .options import LinkOptions
from .plain import dataclass, field
from .profile import Profile


@dataclass(slots=True)
class Owned:
    """Sections by the function that they belong to, as far as anybody asked."""

    count: int = 0
    by_owner: dict[Symbol, list[OutSection]] = field(default_factory=dict)


@dataclass(slots=True)
class LinkState:
    """Everything known about the link so far."""

    options: LinkOptions
    profile: Profile
    objects: list[InputObject]
    diagnostics: Diagnostics
    #: Which kernels are wanted; None: all.
    kernels: KernelFilter | None = None
    #: The first part of `.strtab` and `.symtab`: sections, local and weak symbols, and bare names
    #: of sections that exist in the string table only.
    entries: list[OutSection | Symbol | str] = field(default_factory=list)
    #: The second part of `.symtab`.
    globals: list[Symbol] = field(default_factory=list)
    #: Signature strings in the order they were first seen.
    signatures: dict[str, None] = field(default_factory=dict)
    sections: list[OutSection] = field(default_factory=list)
    by_key: dict[tuple[str, Symbol | None], OutSection] = field(default_factory=dict)
    #: Live functions in registration order.
    functions: list[Symbol] = field(default_factory=list)
    #: Relocation sections of a target, by (target, kind).
    reloc_sections: dict[tuple[OutSection, bool], OutSection] = field(default_factory=dict)
    #: Defined data symbols of every section, in merging order.
    members: dict[OutSection, list[Symbol]] = field(default_factory=dict)
    hidden: list[OutSection] = field(default_factory=list)
    owned: Owned = field(default_factory=Owned)
    owned_hidden: Owned = field(default_factory=Owned)
    #: Where the bytes of a hidden section were copied to: bank and offset, for the link map.
    copies: dict[OutSection, list[tuple[OutSection, int]]] = field(default_factory=dict)
    #: Offset and size of the tables in compiler constants; those of a late copy count as one.
    tables: dict[OutSection, list[tuple[int, int]]] = field(default_factory=dict)
    #: Relocations of hidden sections, until their bytes have moved.
    hidden_relocs: dict[OutSection, list[Reloc]] = field(default_factory=dict)
    #: Functions with several copies that have an entry in `.debug_frame` already.
    framed: set[Symbol] = field(default_factory=set)
    #: Tables of which no entry is left; they keep their section symbol.
    emptied: set[OutSection] = field(default_factory=set)
    #: Functions in the order in which the attributes of their linked copies were met.
    attributed: dict[Symbol, None] = field(default_factory=dict)
    #: Constant banks of kernels that are in the output only when something fills them.
    vacated: list[OutSection] = field(default_factory=list)
    #: Functions of which a strong copy was merged.
    strong: set[Symbol] = field(default_factory=set)
    #: Where in a hidden section the constants of duplicate functions lie.
    lost_constants: list[tuple[OutSection, int]] = field(default_factory=list)
    #: Compiler constants with parts or relocations of copies of functions that are not linked.
    mixed_constants: set[OutSection] = field(default_factory=set)
    #: `st_value` of the null symbol.
    null_value: int = 0
    #: Where arrays of dynamic size start for the code of a function.
    dynamic_start: dict[Symbol, int] = field(default_factory=dict)
    #: With `-r`: what kernels name instead of arrays of dynamic size.
    instances: set[Symbol] = field(default_factory=set)
    #: Number of relocations merged.
    serial: int = 0
    #: Target section -> its `.nv.resolvedrela` section (only with that option).
    resolved: dict[OutSection, OutSection] = field(default_factory=dict)
    listings: dict[str, OutSection] = field(default_factory=dict)
    #: Relocations that were applied, by target.
    applied: dict[OutSection, list[Reloc]] = field(default_factory=dict)
    #: Offset in every user's parameter bank of the slot of a texture, surface or sampler.
    slots: dict[Symbol, int] = field(default_factory=dict)
    #: Kernels whose parameter bank has those slots.
    slotted: set[Symbol] = field(default_factory=set)
    by_name: dict[str, Symbol] = field(default_factory=dict)
    #: Names of variables that an input has as common ones.
    commons: dict[str, None] = field(default_factory=dict)
    #: Whether threads of the program run in lockstep; None: nobody asked.
    lockstep: bool | None = None
    #: Rows of the tables of unified functions and data: symbol, flags, identifier (two words).
    unified: dict[OutSection, list[tuple[Symbol, int, int, int]]] = field(default_factory=dict)

    def add_name(self, name: str) -> None:
        """Enter a section name that may never get a section into both string tables."""
        self.entries.append(name)

    def create_section(
        self,
        name: str,
        sh_type: int,
        flags: int,
        align: int,
        *,
        owner: Symbol | None = None,
        entsize: int = 0,
        with_symbol: bool = True,
    ) -> OutSection:
        """Create an output section, its names and (if the kind has one) its section symbol."""
        section = OutSection(name, sh_type, flags, align, entsize, owner)
        if with_symbol:
            section.symbol = Symbol("", STB_LOCAL, STT_SECTION, 0, 0, 0, section, None, True)
        self.sections.append(section)
        self.by_key[name, owner] = section
        self.entries.append(section)
        if (
            sh_type == SHT_CUDA_CONSTANT_B0
            and self.profile.constant0_companion
            and not self.options.relocatable
        ):
            companion = self.create_section(
                ".rel" + name, SHT_REL, 0, 8, owner=owner, entsize=16, with_symbol=False
            )
            companion.info_section, companion.emitted = section, False
            self.reloc_sections[section, False] = companion
        return section

    def hidden_section(
        self, name: str, sh_type: int, flags: int, align: int, *, owner: Symbol | None = None
    ) -> OutSection:
        """A section that holds bytes until they move elsewhere; it leaves no name behind."""
        section = OutSection(name, sh_type, flags, align, owner=owner, emitted=False)
        self.by_key[name, owner] = section
        self.hidden.append(section)
        return section

    def create_reloc_section(
        self,
        name: str,
        target: OutSection,
        is_rela: bool,
        align: int,
        entsize: int,
        *,
        listed: bool = True,
    ) -> OutSection:
        """Create `.rela.X` or `.rel.X`; the first one of a target brings `.nv.resolvedrela.X`."""
        section = self.create_section(
            name,
            SHT_RELA if is_rela else SHT_REL,
            SHF_INFO_LINK,
            align,
            owner=target.owner,
            entsize=entsize,
            with_symbol=False,
        )
        section.info_section = target
        self.reloc_sections[target, is_rela] = section
        options = self.options
        if options.preserve_relocs and listed and target not in self.resolved:
            # Functions of one name in several files share the list of the first (preserve_statics).
            name = ".nv.resolvedrela" + target.name
            if name not in self.listings:
                self.listings[name] = self._listing(name, target)
            self.resolved[target] = self.listings[name]
        return section

    def _listing(self, name: str, target: OutSection) -> OutSection:
        listing = self.create_section(
            name,
            SHT_CUDA_RESOLVED_RELA,
            SHF_INFO_LINK,
            8,
            owner=target.owner,
            entsize=24,
            with_symbol=False,
        )
        listing.info_section, listing.emitted = target, False
        return listing

    def sections_of(self, owner: Symbol) -> list[OutSection]:
        """Everything made so far that belongs to a function."""
        for made, known in ((self.sections, self.owned), (self.hidden, self.owned_hidden)):
            for section in made[known.count :]:
                if section.owner is not None:
                    known.by_owner.setdefault(section.owner, []).append(section)
            known.count = len(made)
        return self.owned.by_owner.get(owner, []) + self.owned_hidden.by_owner.get(owner, [])

    def reloc_section(self, target: OutSection, is_rela: bool) -> OutSection | None:
        """The relocation section of a target, if there is one."""
        return self.reloc_sections.get((target, is_rela))

    def enter(self, symbol: Symbol) -> None:
        """Give a symbol its place in one of the two symbol lists, once."""
        if symbol.entered:
            return
        symbol.entered = True
        if symbol.is_function:
            self.functions.append(symbol)
        if symbol.in_globals:
            self.globals.append(symbol)
        else:
            self.entries.append(symbol)


def is_rel(section: OutSection) -> bool:
    return section.sh_type == SHT_REL
