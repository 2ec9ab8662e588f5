"""The link in progress: what the passes share.

The order in which names are first used decides the order of sections, symbols and both string
tables of the output, so every creation goes through `LinkState`.
"""

from __future__ import annotations

from cubinspec_writer.linker.diagnostics import Diagnostics
from cubinspec_writer.linker.inputs.host import KernelFilter
from cubinspec_writer.linker.inputs.options import LinkOptions
from cubinspec_writer.linker.model import (
    SHF_ALLOC,
    SHF_INFO_LINK,
    SHF_WRITE,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_RESOLVED_RELA,
    SHT_CUDA_SHARED,
    SHT_REL,
    SHT_RELA,
    STO_CUDA_ENTRY,
    STT_FUNC,
    InputObject,
    InSection,
    OutSection,
    Reloc,
    Symbol,
    UnifiedRow,
)
from cubinspec_writer.linker.profile import Profile
from cubinspec_writer.plain import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.inputs.uidx import Index


@dataclass(slots=True)
class LinkState:
    """Everything known about the link so far."""

    options: LinkOptions
    profile: Profile
    objects: list[InputObject]
    diagnostics: Diagnostics
    #: Which kernels are wanted; None: all.
    kernels: KernelFilter | None = None
    #: Where unified functions and data have their places.
    index: Index | None = None
    #: The first part of `.strtab` and `.symtab`: sections, local and weak symbols, and bare names
    #: of sections that exist in the string table only.
    entries: list[OutSection | Symbol | str] = field(default_factory=list)
    #: Those of the bare names that are not `reserved`.
    loose_names: dict[str, None] = field(default_factory=dict)
    #: The second part of `.symtab`.
    globals: list[Symbol] = field(default_factory=list)
    #: Sections that have a name but were not made yet: where their name is in `entries`.
    reserved: dict[tuple[str, Symbol | None], int] = field(default_factory=dict)
    #: Signature strings in the order they were first seen.
    signatures: dict[str, None] = field(default_factory=dict)
    sections: list[OutSection] = field(default_factory=list)
    #: The same by type, as they were made.
    by_type: dict[int, list[OutSection]] = field(default_factory=dict)
    #: Those that belong to no function, by name.
    unowned: dict[str, OutSection] = field(default_factory=dict)
    #: Live functions in registration order.
    functions: list[Symbol] = field(default_factory=list)
    #: Relocation sections of a target, by (target, kind).
    reloc_sections: dict[tuple[OutSection, bool], OutSection] = field(default_factory=dict)
    #: Defined data symbols of every section, in merging order.
    members: dict[OutSection, list[Symbol]] = field(default_factory=dict)
    hidden: list[OutSection] = field(default_factory=list)
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
    #: Kernels that may not have all registers, and how many they may have.
    register_limits: dict[Symbol, int] = field(default_factory=dict)
    #: Names of variables that an input has as common ones.
    commons: dict[str, None] = field(default_factory=dict)
    #: Whether threads of the program run in lockstep; None: nobody asked.
    lockstep: bool | None = None
    _kernels: list[Symbol] | None = None
    _aliases: list[Symbol] | None = None
    #: Rows of the tables of unified functions and data.
    unified: dict[OutSection, list[UnifiedRow]] = field(default_factory=dict)
    #: Stubs of unified functions in an executable as they were merged, and where they come from.
    stubs: dict[Symbol, tuple[InputObject, InSection]] = field(default_factory=dict)

    def add_name(self, name: str) -> None:
        """Enter a section name that may never get a section into both string tables."""
        self.entries.append(name)
        self.loose_names[name] = None

    def create_section(
        self,
        name: str,
        sh_type: int,
        flags: int,
        align: int,
        owner: Symbol | None = None,
        entsize: int = 0,
        with_symbol: bool = True,
        place: int | None = None,
    ) -> OutSection:
        """Create an output section, its names and (if the kind has one) its section symbol.

        Args:
            place: where its name was entered before; None: it comes last.
        """
        section = OutSection(name, sh_type, flags, align, entsize, owner, True, with_symbol)
        self.sections.append(section)
        try:
            self.by_type[sh_type].append(section)
        except KeyError:
            self.by_type[sh_type] = [section]
        if owner is None:
            self.unowned[name] = section
        else:
            owner.parts.append(section)
        if place is None:
            self.entries.append(section)
        else:
            self.entries[place] = section
        if (
            sh_type == SHT_CUDA_CONSTANT_B0
            and self.profile.constant0_companion
            and not self.options.relocatable
        ):
            self.reserve(".rel" + name, owner)
        return section

    def reserve(self, name: str, owner: Symbol | None) -> None:
        """Enter the name of a section that is made only when something goes into it."""
        self.reserved[name, owner] = len(self.entries)
        self.entries.append(name)

    def drop_entries(self, gone: set[OutSection]) -> None:
        """Take sections, and what was reserved for them, back as if they had not been made."""
        entries = self.entries
        kept = [at for at, entry in enumerate(entries) if entry not in gone]
        moved = {old: new for new, old in enumerate(kept)}
        self.entries = [entries[at] for at in kept]
        self.reserved = {key: moved[at] for key, at in self.reserved.items()}

    def shared_section(self, kernel: Symbol, *, make: bool = False) -> OutSection | None:
        """The section of a kernel's shared memory, if the kernel is linked.

        Args:
            make: create it where merging did not name it (kernels that are not wanted).
        """
        name = ".nv.shared." + kernel.name
        section = self.find(name, kernel)
        place = self.reserved.pop((name, kernel), None) if section is None else None
        if place is not None or (make and section is None):
            flags = SHF_WRITE | SHF_ALLOC | SHF_INFO_LINK
            section = self.create_section(name, SHT_CUDA_SHARED, flags, 0, kernel, place=place)
            section.info_section, section.emitted = kernel.section, False
        return section

    def hidden_section(
        self, name: str, sh_type: int, flags: int, align: int, owner: Symbol | None = None
    ) -> OutSection:
        """A section that holds bytes until they move elsewhere; it leaves no name behind."""
        section = OutSection(name, sh_type, flags, align, owner=owner, emitted=False)
        if owner is None:
            self.unowned[name] = section
        else:
            owner.parts.append(section)
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
        sh_type = SHT_RELA if is_rela else SHT_REL
        section = self.create_section(
            name, sh_type, SHF_INFO_LINK, align, target.owner, entsize, False
        )
        section.info_section, section.relocs = target, []
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
            name, SHT_CUDA_RESOLVED_RELA, SHF_INFO_LINK, 8, target.owner, 24, False
        )
        listing.info_section, listing.emitted, listing.relocs = target, False, []
        return listing

    def find(self, name: str, owner: Symbol | None = None) -> OutSection | None:
        """The section of a name."""
        if owner is None:
            return self.unowned.get(name)
        for part in owner.parts:
            if part.name == name:
                return part
        return None

    def reloc_section(self, target: OutSection, is_rela: bool) -> OutSection | None:
        """The relocation section of a target, if there is one."""
        section = self.reloc_sections.get((target, is_rela))
        if section is not None or is_rela:
            return section
        name = ".rel" + target.name
        place = self.reserved.pop((name, target.owner), None)
        if place is not None:
            section = self.create_section(name, SHT_REL, 0, 8, target.owner, 16, False, place)
            section.info_section, section.emitted, section.relocs = target, False, []
            self.reloc_sections[target, False] = section
        return section

    def linked_kernels(self) -> list[Symbol]:
        """Kernels with code in the output, in registration order; merging is over."""
        if self._kernels is None:
            self._kernels = [f for f in self.functions if f.section and self.is_kernel(f)]
        return self._kernels

    def aliases(self) -> list[Symbol]:
        """Functions of which the code is that of another one; merging is over."""
        if self._aliases is None:
            self._aliases = [
                f
                for f in self.functions
                if f.section and (owner := f.section.owner) is not f and owner is not None
            ]
        return self._aliases

    def is_kernel(self, function: Symbol) -> bool:
        """Whether a function is a kernel that is wanted.

        One that is not wanted but stays (`-r`, `--preserve-relocs`) is linked like a device
        function, unless with `-r` only the host does not name it (kernels_reloc,
        kernels_preserved).
        """
        if not function.other & STO_CUDA_ENTRY or function.kind != STT_FUNC:
            return False
        if self.kernels is None or self.options.debug:
            return True
        options = self.options
        keeps_all = self.kernels.by_host and options.relocatable
        return keeps_all or self.kernels.keeps(function)

    def enter(self, symbol: Symbol) -> None:
        """Give a symbol its place in one of the two symbol lists, once."""
        if symbol.entered:
            return
        symbol.entered = True
        if symbol.kind == STT_FUNC:
            self.functions.append(symbol)
        if symbol.in_globals:
            self.globals.append(symbol)
        else:
            self.entries.append(symbol)


def is_rel(section: OutSection) -> bool:
    return section.sh_type == SHT_REL
