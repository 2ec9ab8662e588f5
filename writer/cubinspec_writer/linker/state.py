"""One program while it is linked: what the passes share, in named parts.

From sm_100 on a link has two of these, one for the Mercury half and one for the SASS half. The
order in which names are first used decides the order of sections, symbols and both string tables
of the output (rule N1), so sections are only created through `Maker`.
"""

from __future__ import annotations

from cubinspec.format.targets import WRITTEN, target
from cubinspec_generated.codes import (
    SHF_ALLOC,
    SHF_INFO_LINK,
    SHF_WRITE,
    SHT_CUDA_CONSTANT,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_RESOLVED_RELA,
    SHT_CUDA_SHARED,
    SHT_REL,
    SHT_RELA,
    STO_CUDA_ENTRY,
    STT_FUNC,
)
from cubinspec_writer.linker.graph import Below, Graph
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.model import OutSection, Reloc, Symbol, UnifiedRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

    from cubinspec.format.targets import Family, Target, Toolkit
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.host import KernelFilter
    from cubinspec_writer.linker.inputs.options import LinkOptions
    from cubinspec_writer.linker.inputs.rows import InSection
    from cubinspec_writer.linker.inputs.uidx import Index
    from cubinspec_writer.linker.model import InputObject

_MERCURY: Final = "mercury_"
_BANK: Final = ".nv.constant0."
#: Types of parameter banks; those that name no bank count as bank 0.
OWNED_BANKS: Final = frozenset((SHT_CUDA_CONSTANT, SHT_CUDA_CONSTANT_B0))


class Names:
    """The order in which names were entered, which the string tables of the output have.

    Attributes:
        entries: the first part of `.strtab` and `.symtab`: sections, local and weak symbols, and
            bare names of sections that are in the string table only.
        loose: those of the bare names that are not `reserved`.
        reserved: name and owner of sections that have a name but were not made yet -> where the
            name stands in `entries`.
        signatures: signatures of functions in the order in which they were first seen.
        kept: all that was entered, for toolkits that keep it (rule K16); None for others.
    """

    __slots__ = ("entries", "kept", "loose", "reserved", "signatures")

    def __init__(self, *, keeps: bool = False) -> None:
        self.entries: list[OutSection | Symbol | str] = []
        self.loose: dict[str, None] = {}
        self.reserved: dict[tuple[str, Symbol | None], int] = {}
        self.signatures: dict[str, None] = {}
        self.kept: KeptNames | None = KeptNames() if keeps else None

    def append(self, entry: OutSection | Symbol | str) -> None:
        """Enter a section, a symbol or a bare name."""
        self.entries.append(entry)
        if self.kept is not None:
            self.kept.enter(entry)

    def add(self, name: str) -> None:
        """Enter a section name that may never get a section into both string tables."""
        self.append(name)
        self.loose[name] = None

    def reserve(self, name: str, owner: Symbol | None) -> None:
        """Enter the name of a section that is made only when something goes into it."""
        self.reserved[name, owner] = len(self.entries)
        self.entries.append(name)
        if self.kept is not None:
            self.kept.enter(name)

    def drop(self, gone: set[OutSection]) -> None:
        """Remove sections and the names reserved for them, as if they had never been made."""
        entries = self.entries
        kept = [at for at, entry in enumerate(entries) if entry not in gone]
        moved = {old: new for new, old in enumerate(kept)}
        self.entries = [entries[at] for at in kept]
        self.reserved = {key: moved[at] for key, at in self.reserved.items()}


class KeptNames:
    """Everything that was entered, in order, as older nvlinks leave it in both string tables.

    Attributes:
        sections: names for `.shstrtab`.
        strings: names for `.strtab`.
    """

    __slots__ = ("sections", "strings")

    def __init__(self) -> None:
        self.sections: dict[str, None] = {}
        self.strings: dict[str, None] = {}

    def enter(self, entry: OutSection | Symbol | str) -> None:
        """Enter a section, a symbol or the bare name of a section."""
        name = entry if isinstance(entry, str) else entry.name
        if not isinstance(entry, Symbol):
            self.sections.setdefault(name)
            bank = next(reversed(self.strings), "")
            if bank.startswith(_BANK) and name in (".rel" + bank, ".rela" + bank):
                # The name of a parameter bank comes behind that of its relocations.
                del self.strings[bank]
                self.strings.setdefault(name)
                name = bank
        self.strings.setdefault(name)


class Symbols:
    """The symbols of the output.

    Attributes:
        by_name: global and weak symbols of all inputs.
        commons: names of variables that an input has as common ones.
        functions: live functions in registration order.
        globals: the second part of `.symtab`.
        strong: functions of which a strong copy was merged.
        numbered: all symbols in the order of their numbers; a section stands for its section
            symbol.
        null_value: `st_value` of the null symbol.
        bank_size: what code asks for the size of the program's constants by, if any does.
    """

    __slots__ = (
        "_aliases",
        "bank_size",
        "by_name",
        "commons",
        "functions",
        "globals",
        "null_value",
        "numbered",
        "strong",
    )

    def __init__(self) -> None:
        self.by_name: dict[str, Symbol] = {}
        self.commons: dict[str, None] = {}
        self.functions: list[Symbol] = []
        self.globals: list[Symbol] = []
        self.strong: set[Symbol] = set()
        self.numbered: list[Symbol | OutSection] = []
        self.null_value: int = 0
        self.bank_size: Symbol | None = None
        self._aliases: list[Symbol] | None = None

    def aliases(self) -> list[Symbol]:
        """Functions of which the code is that of another one; merging is over.

        In an extensible whole program functions lie behind each other in a section (rule A5).
        """
        if self._aliases is None:
            self._aliases = [
                f
                for f in self.functions
                if f.section
                and (owner := f.section.owner) is not f
                and owner is not None
                and owner.value == f.value
            ]
        return self._aliases


class Sections:
    """The sections of the output.

    Attributes:
        fixed: sections that every output has, by name; `.nv.info` may stay empty.
        made: all others, in the order in which they were made.
        added: relocation sections of the SASS half that the finalizer keeps without rows.
        by_type: the same by type.
        unowned: those that belong to no function, by name; also staging sections.
        staging: sections that hold bytes until they move elsewhere; they leave no name behind.
        members: the defined data symbols of every section, in merging order.
        vacated: constant banks of kernels that are in the output only when something fills them.
        strays: those of them that a duplicate brought, as the copies before had none.
        before_arrays: with `-r`, shared sections with room in front of arrays of dynamic size.
        callgraph, prototype: `.nv.callgraph` and `.nv.prototype`.
        unfinished: functions whose code nvlink's finalizer changes and this linker does not -> why.
        twins: of the Mercury half, once it is finalized: its sections -> those of the SASS half
            that stand for the same thing.
    """

    __slots__ = (
        "added",
        "before_arrays",
        "by_type",
        "callgraph",
        "fixed",
        "made",
        "members",
        "prototype",
        "staging",
        "strays",
        "twins",
        "unfinished",
        "unowned",
        "vacated",
    )

    def __init__(self) -> None:
        self.fixed: dict[str, OutSection] = {}
        self.made: list[OutSection] = []
        self.added: list[OutSection] = []
        self.by_type: dict[int, list[OutSection]] = {}
        self.unowned: dict[str, OutSection] = {}
        self.staging: list[OutSection] = []
        self.members: dict[OutSection, list[Symbol]] = {}
        self.vacated: list[OutSection] = []
        self.strays: set[OutSection] = set()
        self.before_arrays: set[OutSection] = set()
        self.callgraph: OutSection | None = None
        self.prototype: OutSection | None = None
        self.unfinished: dict[Symbol, str] = {}
        self.twins: dict[OutSection, OutSection] = {}

    def all(self) -> Iterator[OutSection]:
        """All sections that may be in the output."""
        yield from self.fixed.values()
        yield from self.made
        yield from self.added

    def find(self, name: str, owner: Symbol | None = None) -> OutSection | None:
        """The section of a name."""
        if owner is None:
            return self.unowned.get(name)
        for part in owner.parts:
            if part.name == name:
                return part
        return None


class Relocations:
    """The relocations of the output.

    Attributes:
        sections: the relocation sections, by target and whether addends are stored (RELA).
        staged: relocations of staging sections, until their bytes have moved.
        num_merged: how many relocations were numbered while merging.
        applied: relocations that were applied, by target.
        resolved: target section -> its `.nv.resolvedrela` section (`--preserve-relocs` only).
        listings: those sections by name.
    """

    __slots__ = (
        "applied",
        "listings",
        "num_merged",
        "resolved",
        "sections",
        "staged",
    )

    def __init__(self) -> None:
        self.sections: dict[tuple[OutSection, bool], OutSection] = {}
        self.staged: dict[OutSection, list[Reloc]] = {}
        self.num_merged: int = 0
        self.applied: dict[OutSection, list[Reloc]] = {}
        self.resolved: dict[OutSection, OutSection] = {}
        self.listings: dict[str, OutSection] = {}

    def find(self, target: OutSection, is_rela: bool) -> OutSection | None:
        """The relocation section of a target, if it was made."""
        return self.sections.get((target, is_rela))


class Constants:
    """Constants of the compiler, which move from device functions into the banks of kernels.

    Attributes:
        copies: where the bytes of a staging section were copied to: bank and offset.
        tables: offset and size of the tables in compiler constants; those of a duplicate function
            count as one.
        lost: where in a staging section the constants of duplicate functions lie.
        mixed: compiler constants with parts or relocations of copies that are not linked.
        aliases: constants whose bytes are not written, as another one has the same: their section.
    """

    __slots__ = ("aliases", "copies", "lost", "mixed", "tables")

    def __init__(self) -> None:
        self.aliases: dict[Symbol, OutSection] = {}
        self.copies: dict[OutSection, list[tuple[OutSection, int]]] = {}
        self.tables: dict[OutSection, list[tuple[int, int]]] = {}
        self.lost: list[tuple[OutSection, int]] = []
        self.mixed: set[OutSection] = set()


class SharedMemory:
    """Who uses which variable in shared memory, and arrays of dynamic size.

    Attributes:
        users: variable -> the kernels that reach it.
        groups: variables that have one place for all kernels; those of a group share it.
        dynamic_groups: kernels whose arrays of dynamic size start at one place.
        dynamic_start: where these arrays start for the code of a function.
        instances: with `-r`, what kernels name instead of these arrays.
        unreached: variables and arrays that neither a kernel reaches nor any code names.
        again: variables that take up place again for a copy that was replaced.
    """

    __slots__ = (
        "again",
        "dynamic_groups",
        "dynamic_start",
        "groups",
        "instances",
        "unreached",
        "users",
    )

    def __init__(self) -> None:
        self.users: dict[Symbol, list[Symbol]] = {}
        self.groups: list[list[Symbol]] = []
        self.dynamic_groups: list[list[Symbol]] = []
        self.dynamic_start: dict[Symbol, int] = {}
        self.instances: set[Symbol] = set()
        self.unreached: set[Symbol] = set()
        self.again: set[Symbol] = set()


class Handles:
    """Slots of texture, surface and sampler references in the parameter banks of kernels.

    Attributes:
        slots: the offset of every reference, the same in all banks.
        kernels: kernels whose parameter bank has the slots.
    """

    __slots__ = ("kernels", "slots")

    def __init__(self) -> None:
        self.slots: dict[Symbol, int] = {}
        self.kernels: set[Symbol] = set()


class Unified:
    """Unified functions and data.

    Attributes:
        rows: the rows of the tables of identifiers.
        stubs: stubs of unified functions in an executable as they were merged, and where they come
            from.
        mismatch: how the index file does not fit the program, in nvlink's words where it has some.
    """

    __slots__ = ("mismatch", "rows", "stubs")

    def __init__(self) -> None:
        self.rows: dict[OutSection, list[UnifiedRow]] = {}
        self.stubs: dict[Symbol, tuple[InputObject, InSection]] = {}
        self.mismatch: str | None = None


class Attributes:
    """What the attributes of functions say.

    Attributes:
        order: functions in the order in which the attributes of their linked copies were met.
        register_limits: kernels that may not have all registers, and how many they may have.
        reserving: names of functions that use reserved shared memory where that is not allowed.
        stated: what attributes of functions state that belongs into those of the program: code of
            the attribute, symbol, number.
    """

    __slots__ = ("order", "register_limits", "reserving", "stated")

    def __init__(self) -> None:
        self.order: dict[Symbol, None] = {}
        self.register_limits: dict[Symbol, int] = {}
        self.reserving: list[str] = []
        self.stated: list[tuple[int, Symbol, int]] = []


class Debug:
    """Debug tables that have an entry for every function.

    Attributes:
        framed: functions with several copies that have an entry in `.debug_frame` already.
        emptied: tables of which no entry is left; they keep their section symbol.
        first: name -> the first function that has it, of those that were merged and looked at.
        num_named: how many functions were looked at.
    """

    __slots__ = ("emptied", "first", "framed", "num_named")

    def __init__(self) -> None:
        self.framed: set[Symbol] = set()
        self.emptied: set[OutSection] = set()
        self.first: dict[str, Symbol] = {}
        self.num_named: int = 0


class Job:
    """What is asked for; no pass changes it.

    Attributes:
        target, family: what the program is for; the Mercury half of a program has a family of its
            own.
        index: where unified functions and data have their places.
        untranslated: names of code sections that the finalizer changes and this linker does not,
            with the reason.
        toolkit: whose nvlink is imitated.
    """

    __slots__ = ("family", "index", "options", "target", "toolkit", "untranslated")
    target: Target

    def __init__(
        self,
        options: LinkOptions,
        family: Family,
        index: Index | None = None,
        toolkit: Toolkit = WRITTEN,
    ) -> None:
        found = target(options.arch)
        assert found is not None  # other names are refused before
        self.target = found
        self.options: LinkOptions = options
        self.family: Family = family
        self.index: Index | None = index
        self.untranslated: dict[str, str] = {}
        self.toolkit: Toolkit = toolkit

    @property
    def reserved_shared(self) -> int:
        """Bytes of shared memory that the hardware keeps for itself, if they count."""
        return self.family.reserved_shared if self.options.reserve_shared else 0

    @property
    def has_rel_action(self) -> bool:
        """Whether `.nv.rel.action` tells the driver what relocations do (rule K18)."""
        known = self.family.rel_action and self.toolkit.rel_action
        return known and not self.options.relocatable


class Reach:
    """Which functions are kernels for this link, and what they reach.

    Attributes:
        filter: which kernels are wanted; None: all.
        remaining: kernels that are wanted for want of others; they are merged as functions
            (rule L5).
    """

    __slots__ = ("_below", "_kernels", "filter", "graph", "job", "remaining", "symbols")

    def __init__(
        self, job: Job, symbols: Symbols, graph: Graph, wanted: KernelFilter | None
    ) -> None:
        self.job: Job = job
        self.symbols: Symbols = symbols
        self.graph: Graph = graph
        self.filter: KernelFilter | None = wanted
        self.remaining: frozenset[Symbol] = frozenset()
        self._kernels: list[Symbol] | None = None
        self._below: Below | None = None

    def is_wanted(self, function: Symbol) -> bool:
        """Whether a function is a kernel that is wanted.

        One that is not wanted but stays (`-r`, `--preserve-relocs`) is linked like a device
        function, unless with `-r` only the host does not name it (rules R5, R6).
        """
        if not function.other & STO_CUDA_ENTRY or function.kind != STT_FUNC:
            return False
        if self.filter is None or function in self.remaining:
            return True
        options = self.job.options
        if debugger_sees(options):
            return True
        keeps_all = self.filter.by_host and options.relocatable
        return keeps_all or self.filter.keeps(function)

    def is_merged_as_kernel(self, function: Symbol) -> bool:
        """Whether a function is wanted, and was from the start (rule L5)."""
        return function not in self.remaining and self.is_wanted(function)

    def kernels(self) -> list[Symbol]:
        """Wanted kernels with code in the output, in registration order; merging is over."""
        if self._kernels is None:
            entries = [f for f in self.symbols.functions if f.other & STO_CUDA_ENTRY and f.section]
            self._kernels = [f for f in entries if self.is_wanted(f)]
        return self._kernels

    def below(self) -> Below:
        """What every kernel reaches; the call graphs are joined."""
        if self._below is None:
            self._below = Below(self.graph, self.symbols.functions, self.is_wanted)
        return self._below


class Maker:
    """Makes the sections of the output, and enters symbols.

    A section is in a list, in a dict and among the names, and symbols are in one of two lists; no
    pass keeps these in step by hand.
    """

    __slots__ = ("job", "names", "relocations", "sections", "symbols")

    def __init__(
        self,
        job: Job,
        names: Names,
        symbols: Symbols,
        sections: Sections,
        relocations: Relocations,
    ) -> None:
        self.job: Job = job
        self.names: Names = names
        self.symbols: Symbols = symbols
        self.sections: Sections = sections
        self.relocations: Relocations = relocations

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
        sections, names = self.sections, self.names
        sections.made.append(section)
        try:
            sections.by_type[sh_type].append(section)
        except KeyError:
            sections.by_type[sh_type] = [section]
        if owner is None:
            sections.unowned[name] = section
        else:
            owner.parts.append(section)
        if place is None:
            names.entries.append(section)
            if names.kept is not None:
                names.kept.enter(section)
        else:
            names.entries[place] = section
        if (
            sh_type in OWNED_BANKS
            and owner is not None
            and self.job.family.constant0_companion
            and not self.job.options.relocatable
        ):
            names.reserve(".rel" + name, owner)
        return section

    def shared_section(self, kernel: Symbol, *, make: bool = False) -> OutSection | None:
        """The section of a kernel's shared memory, if the kernel is linked.

        Args:
            make: create it where merging did not name it (kernels that are not wanted).
        """
        name = ".nv.shared." + kernel.name
        section = self.sections.find(name, kernel)
        place = self.names.reserved.pop((name, kernel), None) if section is None else None
        if place is not None or (make and section is None):
            flags = SHF_WRITE | SHF_ALLOC | SHF_INFO_LINK
            section = self.create_section(name, SHT_CUDA_SHARED, flags, 0, kernel, place=place)
            section.info_section, section.emitted = kernel.section, False
        return section

    def staging_section(
        self, name: str, sh_type: int, flags: int, align: int, owner: Symbol | None = None
    ) -> OutSection:
        """A section that holds bytes until they move elsewhere; it leaves no name behind."""
        section = OutSection(name, sh_type, flags, align, owner=owner, emitted=False)
        if self.names.kept is not None:
            self.names.kept.enter(section)
        if owner is None:
            self.sections.unowned[name] = section
        else:
            owner.parts.append(section)
        self.sections.staging.append(section)
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
        self.relocations.sections[target, is_rela] = section
        relocations = self.relocations
        if self.job.options.preserve_relocs and listed and target not in relocations.resolved:
            # Functions of one name in several files share the list of the first (rule P2).
            name = ".nv.resolvedrela" + target.name
            if name not in relocations.listings:
                relocations.listings[name] = self._listing(name, target)
            relocations.resolved[target] = relocations.listings[name]
        return section

    def _listing(self, name: str, target: OutSection) -> OutSection:
        listing = self.create_section(
            name, SHT_CUDA_RESOLVED_RELA, SHF_INFO_LINK, 8, target.owner, 24, False
        )
        listing.info_section, listing.emitted, listing.relocs = target, False, []
        return listing

    def reloc_section(self, target: OutSection, is_rela: bool) -> OutSection | None:
        """The relocation section of a target, if there is one."""
        section = self.relocations.sections.get((target, is_rela))
        if section is not None or is_rela:
            return section
        name = ".rel" + target.name
        place = self.names.reserved.pop((name, target.owner), None)
        if place is not None:
            section = self.create_section(name, SHT_REL, 0, 8, target.owner, 16, False, place)
            section.info_section, section.emitted, section.relocs = target, False, []
            self.relocations.sections[target, False] = section
        return section

    def ask_for_rel(self, target: str) -> None:
        """Enter the name of a `.rel.X` that may never be needed.

        With `--preserve-relocs` a second `.nv.resolvedrela.X` comes with it and goes with it. Only
        the words of `.symtab_shndx` show that (nvlink 13.0.88, a program of 66,000 sections).
        """
        name = ".rel" + target
        if self.job.options.preserve_relocs and name not in self.names.loose:
            listing = ".nv.resolvedrela" + target
            dropped = OutSection(listing, SHT_CUDA_RESOLVED_RELA, SHF_INFO_LINK, 8, emitted=False)
            self.names.append(dropped)
        self.names.add(name)

    def enter(self, symbol: Symbol) -> None:
        """Give a symbol its place in one of the two symbol lists, once."""
        if symbol.entered:
            return
        symbol.entered = True
        if symbol.kind == STT_FUNC:
            self.symbols.functions.append(symbol)
        names = self.names
        if symbol.in_globals:
            self.symbols.globals.append(symbol)
        else:
            names.entries.append(symbol)
        if names.kept is not None:
            names.kept.enter(symbol)

    def enter_name(self, symbol: Symbol) -> None:
        """Enter a function that is not linked: its name alone stays."""
        names = self.symbols.globals if symbol.in_globals else self.names.entries
        names.append(symbol)


class LinkState:
    """One program while it is linked: its parts. A pass takes those that it names.

    Attributes:
        objects: the inputs.
        diagnostics: the messages.
        twin: the Mercury half of the same program, when this is its SASS half.
    """

    __slots__ = (
        "attributes",
        "constants",
        "debug",
        "diagnostics",
        "graph",
        "handles",
        "job",
        "maker",
        "names",
        "objects",
        "reach",
        "relocations",
        "sections",
        "shared",
        "symbols",
        "twin",
        "unified",
    )

    def __init__(
        self,
        job: Job,
        objects: list[InputObject],
        diagnostics: Diagnostics,
        kernels: KernelFilter | None = None,
        twin: LinkState | None = None,
    ) -> None:
        self.job: Job = job
        self.objects: list[InputObject] = objects
        self.diagnostics: Diagnostics = diagnostics
        self.twin: LinkState | None = twin
        self.names: Names = Names(keeps=job.toolkit.keeps_names)
        self.symbols: Symbols = Symbols()
        self.sections: Sections = Sections()
        self.relocations: Relocations = Relocations()
        self.constants: Constants = Constants()
        self.shared: SharedMemory = SharedMemory()
        self.handles: Handles = Handles()
        self.unified: Unified = Unified()
        self.attributes: Attributes = Attributes()
        self.debug: Debug = Debug()
        self.graph: Graph = Graph()
        self.reach: Reach = Reach(job, self.symbols, self.graph, kernels)
        self.maker: Maker = Maker(job, self.names, self.symbols, self.sections, self.relocations)

    def part(self, name: str) -> Any:
        """A part by its name; `mercury_X` is the part X of the Mercury half, None without one."""
        if not is_of_twin(name):
            return getattr(self, name)
        return None if self.twin is None else getattr(self.twin, name[len(_MERCURY) :])


def is_of_twin(name: str) -> bool:
    """Whether it is the name of a part of the Mercury half, as a pass asks for it."""
    return name.startswith(_MERCURY)


def is_rel(section: OutSection) -> bool:
    return section.sh_type == SHT_REL
