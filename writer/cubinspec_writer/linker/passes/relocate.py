"""Applies relocations, changes their type, or keeps them for the driver.

What a relocation type does is data (`columns.ACTIONS`: up to three bit fields, each with its
value; `KEEP`: the kinds of target for which the entry stays). A target in shared memory, in a
constant bank or in a debug section has its final place now, so the field is written and the entry
goes. Functions and global variables get their address from the driver: their entries stay, code
bytes under them stay as they were (rule B3), and types that mean "address in the unified table"
become the type that writes the plain address into the same bits.
"""

from __future__ import annotations

from _struct import Struct

from cubinspec.format.packing import align_up
from cubinspec.format.targets import has_independent_threads
from cubinspec_generated import columns
from cubinspec_generated.codes import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_SHARED,
    SHT_NULL,
    STB_LOCAL,
    STB_WEAK,
    STO_CUDA_CONSTANT,
    STO_CUDA_GLOBAL,
    STO_CUDA_RESERVED_SHARED,
    STO_CUDA_SHARED,
    STT_CUDA_SAMPLER,
    STT_CUDA_SURFACE,
    STT_CUDA_TEXTURE,
    STT_FUNC,
    STT_NOTYPE,
    STT_SECTION,
)
from cubinspec_writer.linker.diagnostics import PAST_END, UnsupportedLinkError
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.library.outsymbols import (
    BANK_SIZE,
    NO_ADDRESS,
    has_place,
    is_beside_variables,
    is_lost,
    is_table_placeholder,
)
from cubinspec_writer.linker.model import (
    HANDLE_KINDS,
    INSTANCE,
    LINE_TABLES,
    SHARED_POOL,
    UDT_ENTRY,
    UFT_ENTRY,
    OutSection,
    Reloc,
    Symbol,
    relocation,
)
from cubinspec_writer.linker.state import is_rel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.graph import Graph
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import (
        Handles,
        Job,
        Relocations,
        Sections,
        SharedMemory,
        Symbols,
        Unified,
    )

#: Kind of targets that the driver fills in, whatever the relocation type: Mercury code leaves
#: reserved shared memory to it (tcgen05).
_DRIVERS: Final = "driver's"
#: Kinds of targets with which types stay that code without a Mercury half does not know.
_KEEPING_UNKNOWN: Final = ("function", "global")
#: What nvlink says where an entry of such a type does not stay (rule M22).
_FAILURES: Final = {
    "always": "reference to deleted symbol",
    "pcrel": "PC relative branch address should be in the same section",
    "unsupported": "unexpected NVRS",
}

#: Types that no rule but that of their field is asked for where they do not stay.
_APPLIED: Final = frozenset(
    [r_type for r_type in columns.ACTIONS if r_type < columns.SASS_END]
).difference(columns.FAILS, columns.CLEARING)
#: Types that stay as they are where they name a linked function, the most frequent case.
_OF_FUNCTIONS: Final = frozenset(columns.STAYING["function"]).difference(
    columns.RETYPE, columns.CLEARING, columns.DESCRIPTORS
)
#: The types that stay, by kind of target and whether there is Mercury code; those asked for so far.
_staying: dict[tuple[str, bool], frozenset[int]] = {}
#: Writes a number of so many bytes.
_WHOLE: Final = {record.size: record for record in map(Struct, ("<B", "<H", "<I", "<Q"))}

READS = (
    "graph.address_taken handles.slots relocations.resolved relocations.sections section.flags "
    "section.info_section section.name section.nobits_size section.owner section.sh_type "
    "sections.unowned shared.dynamic_start shared.instances shared.unreached symbol.bind "
    "symbol.definition symbol.internal symbol.kind symbol.live symbol.name symbol.other "
    "symbol.section symbol.size symbol.value symbols.functions unified.mismatch"
)
WRITES = "relocations.applied section.content section.emitted section.relocs"
FREEZES = "relocations.applied"


def run(
    job: Job,
    objects: list[InputObject],
    diagnostics: Diagnostics,
    symbols: Symbols,
    sections: Sections,
    relocations: Relocations,
    shared: SharedMemory,
    handles: Handles,
    unified: Unified,
    graph: Graph,
) -> None:
    """Apply, retype or keep every relocation of every section (rule B3)."""
    if job.toolkit.bounds_types and not job.family.capsule:
        _check_types(diagnostics, relocations)
    _drop_aliases(symbols, relocations)
    values = _Values(job, objects, shared, handles)
    pool = sections.find(SHARED_POOL)
    has_pool = pool is not None and pool.nobits_size > 0
    divider = _Divider(job, sections, shared, handles, graph, values)
    for section in relocations.sections.values():
        if not section.relocs:
            continue
        target = section.info_section
        assert target is not None
        if not target.flags & SHF_ALLOC:
            _drop_labels(job, relocations, section, target)
            if not section.relocs:
                continue
        farthest = _farthest(section.relocs)
        kept, resolved = divider.divide(section, target)
        section.relocs = kept
        if not _APPLIED.issuperset([reloc.r_type for reloc in resolved]):
            resolved = _applicable(job, diagnostics, target, resolved)
        if job.family.capsule and not job.family.keeps_symbols:
            section.relocs = kept = _in_sass(target, kept, applied=False)
            resolved = _in_sass(target, resolved, applied=True)
        if farthest > len(target.content) - columns.LONGEST_FIELD:
            _check_places(job, diagnostics, unified, target, kept, resolved)
        if not resolved or diagnostics.later:
            continue
        from_field = is_rel(section)
        is_listed = target in relocations.resolved
        before = bytes(target.content) if from_field and is_listed else b""
        # Mercury code is packed: `capsule` writes the values there.
        if not (job.family.keeps_symbols and target.flags & SHF_EXECINSTR):
            values.write(target, resolved, from_field=from_field)
        relocations.applied.setdefault(target, []).extend(resolved)
        if is_listed and has_pool and target.owner not in shared.dynamic_start:
            _check_arrays(diagnostics, resolved)
        # Of debug data nothing is listed from sm_100 on (rule P1).
        if is_listed and (target.flags & SHF_ALLOC or not job.family.capsule):
            listing = relocations.resolved[target].relocs
            rows = [r for r in resolved if _is_listed(job, shared, values, target, r)]
            listing += [_with_field(before, r) for r in rows] if from_field else rows
    _close_lists(relocations)


def _check_types(diagnostics: Diagnostics, relocations: Relocations) -> None:
    """Refuse types of Mercury code (rule K15)."""
    types = {row.r_type for section in relocations.sections.values() for row in section.relocs}
    if any(r_type >= columns.SASS_END and r_type in columns.ACTIONS for r_type in types):
        raise diagnostics.fatal("Internal error: sass rtype out of range")


def _with_field(before: bytes, reloc: Reloc) -> Reloc:
    """An entry without an addend as it is listed: with what its field held (rule P1)."""
    from cubinspec_writer.linker.library.fields import actions_of, read_field

    if reloc.r_type in columns.CLEARING or columns.APPLY.get(reloc.r_type) == "lockstep":
        return reloc
    held = next((read_field(before, reloc.offset, a) for a in actions_of(reloc.r_type)), 0)
    return relocation(reloc.offset, reloc.r_type, reloc.symbol, reloc.addend + held, reloc.serial)


def _check_arrays(diagnostics: Diagnostics, relocs: list[Reloc]) -> None:
    """Refuse to list arrays of dynamic size that have no place (rule P6)."""
    for reloc in relocs:
        symbol = reloc.symbol
        is_array = symbol.space == STO_CUDA_SHARED and not symbol.is_defined and not symbol.size
        if is_array and symbol.section is None:
            diagnostics.postpone(f"Internal error: {_FAILURES['always']}")


def _farthest(relocs: list[Reloc]) -> int:
    found = 0
    for reloc in relocs:
        if reloc.offset > found:
            found = reloc.offset
    return found


def _close_lists(relocations: Relocations) -> None:
    """Leave out what has no rows, and sort what `--preserve-relocs` lists."""
    for section in relocations.sections.values():
        section.emitted = bool(section.relocs)
    for section in relocations.resolved.values():
        section.relocs.sort(key=lambda r: r.serial)
        section.emitted = bool(section.relocs)


class _Divider:
    """Which entries stay, and which are applied.

    Attributes:
        keeps_shared: names of shared variables are in the output.
        retype: the types that others become where they stay.
        slots: references whose number is written although the entry stays.
        stays: the types that stay when they name a symbol.
    """

    __slots__ = (
        "graph",
        "job",
        "keeps_shared",
        "retype",
        "sections",
        "shared",
        "slots",
        "stays",
        "values",
    )

    def __init__(
        self,
        job: Job,
        sections: Sections,
        shared: SharedMemory,
        handles: Handles,
        graph: Graph,
        values: _Values,
    ) -> None:
        final = not job.options.relocatable
        self.job = job
        self.keeps_shared = not final or job.options.preserve_relocs or debugger_sees(job.options)
        self.sections = sections
        self.shared = shared
        self.graph = graph
        self.values = values
        self.retype = columns.RETYPE if final and job.index is None else {}
        self.slots: Container[Symbol] = () if final else handles.slots
        self.stays: dict[Symbol, Container[int]] = {}

    def divide(self, section: OutSection, target: OutSection) -> tuple[list[Reloc], list[Reloc]]:
        """The entries of a section that stay, as they are then, and those that are applied."""
        final, retype = not self.job.options.relocatable, self.retype
        of_functions = _OF_FUNCTIONS if final else frozenset()
        stays, slots = self.stays, self.slots
        clearing, descriptors = columns.CLEARING, columns.DESCRIPTORS
        kept: list[Reloc] = []
        resolved: list[Reloc] = []
        for reloc in section.relocs:
            r_type, symbol = reloc.r_type, reloc.symbol
            if r_type in of_functions and symbol.kind == STT_FUNC and symbol.definition is not None:
                kept.append(reloc)
                continue
            if r_type in clearing and (symbol.is_function or not final):
                if symbol.space == STO_CUDA_GLOBAL:
                    kept.append(reloc)
                continue
            stay = stays.get(symbol)
            if stay is None:
                stay = stays[symbol] = self._types_kept(symbol)
            if r_type in stay:
                if final and r_type in descriptors:
                    _check_descriptor(self.job, self.graph, r_type, symbol)
                if r_type in retype:
                    reloc = reloc.of_type(retype[r_type])
                elif symbol in slots:
                    self.values.write(target, [reloc], from_field=False)
                kept.append(reloc)
            elif self.keeps_shared and _is_for_driver(r_type, symbol):
                kept.append(reloc)
            else:
                resolved.append(reloc)
        return kept, resolved

    def _types_kept(self, symbol: Symbol) -> Container[int]:
        """The relocation types that stay when they name a symbol."""
        if symbol.kind == STT_FUNC and symbol.is_defined:
            return self._staying("function")
        kind = _kind_here(self.job, self.sections, self.shared, symbol)
        if kind == "constant" and _is_deleted(symbol):
            return ()
        return range(1 << 32) if kind == _DRIVERS else self._staying(kind)

    def _staying(self, kind: str) -> Container[int]:
        """The relocation types that stay with a kind of target."""
        capsule = self.job.family.capsule
        found = _staying.get((kind, capsule))
        if found is None:
            types = columns.STAYING.get(kind, ())
            if not capsule:
                types = tuple(t for t in types if t < columns.SASS_END)
                if kind in _KEEPING_UNKNOWN:
                    types += tuple(t for t in columns.ACTIONS if t >= columns.SASS_END)
            found = _staying[kind, capsule] = frozenset(types)
        return found


def _is_for_driver(r_type: int, symbol: Symbol) -> bool:
    """Whether a type that has to stay names a shared variable, which the driver does not know."""
    is_shared = symbol.space == STO_CUDA_SHARED and symbol.is_defined
    return is_shared and columns.FAILS.get(r_type) in ("always", "func_desc")


def _check_descriptor(job: Job, graph: Graph, r_type: int, symbol: Symbol) -> None:
    """Refuse a descriptor of a function that the call graph of its input does not list.

    nvlink lists it. Below sm_100 types of Mercury code mean nothing.
    """
    means_nothing = r_type >= columns.SASS_END and not job.family.capsule
    if symbol.is_function and symbol not in graph.address_taken and not means_nothing:
        what = f"a descriptor of '{symbol.name}', whose address no input takes"
        raise UnsupportedLinkError(what)


def _is_deleted(symbol: Symbol) -> bool:
    """Whether an executable does not have a symbol: of parameters, or of the pool's section."""
    if symbol.kind != STT_SECTION or symbol.section is None:
        return symbol.internal
    return symbol.section.sh_type == SHT_CUDA_SHARED


def _drop_labels(
    job: Job, relocations: Relocations, section: OutSection, target: OutSection
) -> None:
    """Take out what names labels of code that ptxas removed (rule D2).

    Below sm_100 `--preserve-relocs` lists it without the label.
    """
    # few symbols have no type
    untyped = [reloc for reloc in section.relocs if reloc.symbol.kind == STT_NOTYPE]
    labels = [reloc for reloc in untyped if _is_removed_label(reloc.symbol)]
    if not labels:
        return
    section.relocs = [reloc for reloc in section.relocs if not _is_removed_label(reloc.symbol)]
    if target in relocations.resolved and not job.family.capsule:
        none = Symbol("", STB_LOCAL, STT_NOTYPE, 0)
        relocations.resolved[target].relocs += [
            relocation(r.offset, r.r_type, none, r.addend, r.serial) for r in labels
        ]


def _is_removed_label(symbol: Symbol) -> bool:
    """Whether it is a label of code that ptxas removed: debug data keeps 0 there (rule D2)."""
    is_undefined = symbol.bind == STB_LOCAL and not symbol.is_defined
    return symbol.kind == STT_NOTYPE and is_undefined and symbol.name != ""


def _applicable(
    job: Job,
    diagnostics: Diagnostics,
    target: OutSection,
    relocs: list[Reloc],
) -> list[Reloc]:
    """Those entries, of the ones that do not stay, that are applied.

    Raises:
        LinkError: one is of a type that has to stay (rule M22).
        UnsupportedLinkError: nvlink crashes on one, or does what is not imitated.
    """
    found = []
    # What clears a field of a shared variable that keeps its name does nothing.
    is_named = job.options.relocatable or debugger_sees(job.options)
    for reloc in relocs:
        r_type, symbol = reloc.r_type, reloc.symbol
        is_shared = symbol.space == STO_CUDA_SHARED or _is_deleted(symbol)
        is_unknown = r_type >= columns.SASS_END and not job.family.capsule
        if r_type in columns.CLEARING and not (is_shared and is_unknown):
            if is_named and symbol.space == STO_CUDA_SHARED:
                continue
            if symbol.internal or symbol.space == STO_CUDA_SHARED:
                from cubinspec_writer.linker.library.fields import clear

                clear(target, reloc.offset, r_type)
                if job.options.preserve_relocs and symbol.space == STO_CUDA_SHARED:
                    found.append(reloc)  # it is listed
            elif symbol.name and not symbol.is_defined:
                raise UnsupportedLinkError(f"clearing what names '{symbol.name}'")
            continue
        rule = columns.FAILS.get(r_type)
        if is_unknown:
            rule = "unsupported"
        elif rule == "func_desc" and is_shared:
            rule = "always"
        elif rule in ("slot", "always") and not is_shared:
            rule = None
        is_placed = _target_kind(symbol) not in ("function", "global")
        if rule in _FAILURES and (is_placed or r_type in columns.ACTIONS):
            if rule != "always":
                raise diagnostics.fatal(f"Internal error: {_FAILURES[rule]}")
            diagnostics.postpone(f"Internal error: {_FAILURES[rule]}")
            continue
        if rule is not None or r_type not in columns.ACTIONS:
            raise UnsupportedLinkError(f"a relocation of type {r_type:#x} of '{symbol.name}'")
        found.append(reloc)
    return found


def _in_sass(target: OutSection, relocs: list[Reloc], *, applied: bool) -> list[Reloc]:
    """The entries of the SASS half; those that the finalizer made anew have Mercury types."""
    if max([reloc.r_type for reloc in relocs], default=0) < columns.SASS_END:
        return relocs
    from cubinspec_writer.linker.finalizer.relocations import in_sass

    return in_sass(target, relocs, applied=applied)


def _check_places(
    job: Job,
    diagnostics: Diagnostics,
    unified: Unified,
    target: OutSection,
    kept: list[Reloc],
    resolved: list[Reloc],
) -> None:
    """Refuse relocations of what lies behind the end of their section (rule M17).

    Raises:
        LinkError: there is one.
    """
    if unified.mismatch is not None:
        return  # the link fails for that
    if job.family.keeps_symbols and target.flags & SHF_EXECINSTR:
        return  # places in Mercury code are not those of its bytes
    size = len(target.content)
    farthest = max([reloc.offset for reloc in resolved], default=-1)
    if size - columns.LONGEST_FIELD < farthest < size and any(
        _end(reloc) > size for reloc in resolved
    ):
        # nvlink writes into whatever lies there.
        raise UnsupportedLinkError(f"a relocation across the end of '{target.name}'")
    if farthest >= size:
        if job.family.capsule:
            raise UnsupportedLinkError(f"a relocation behind the end of '{target.name}'")
        raise diagnostics.fatal("Internal error: reloc address not found")
    if max([reloc.offset for reloc in kept], default=-1) >= size:
        if job.family.capsule:
            raise UnsupportedLinkError(f"a relocation behind the end of '{target.name}'")
        diagnostics.postpone(PAST_END)


def _end(reloc: Reloc) -> int:
    """The end of the bytes that a relocation writes."""
    from cubinspec_writer.linker.library.fields import actions_of

    bits = [action.bit + action.width for action in actions_of(reloc.r_type)]
    return reloc.offset + (max(bits, default=0) + 7) // 8


def _drop_aliases(symbols: Symbols, relocations: Relocations) -> None:
    """Relocations name a function itself, not its alias (rule A2)."""
    named = {alias: alias.section.owner for alias in symbols.aliases() if alias.section}
    for section in relocations.sections.values() if named else ():
        section.relocs = [
            reloc.naming(named.get(reloc.symbol) or reloc.symbol) for reloc in section.relocs
        ]


def _target_kind(symbol: Symbol) -> str:
    """The kind of place a symbol names, in the words of the relocation table."""
    if symbol.kind == STT_SECTION:
        return _section_kind(symbol.section)
    if not symbol.name:
        return "none"
    if is_table_placeholder(symbol):
        return "table"
    if symbol.name == BANK_SIZE:
        return "constant"
    if symbol.is_function:
        return "function"
    if symbol.kind in (STT_CUDA_TEXTURE, STT_CUDA_SAMPLER, STT_CUDA_SURFACE):
        return "handle"
    if symbol.space in (STO_CUDA_SHARED, STO_CUDA_RESERVED_SHARED):
        return "shared"
    if symbol.space == STO_CUDA_CONSTANT:
        return "constant"
    return "global"


def _section_kind(section: OutSection | None) -> str:
    """A section symbol names global data, or a place that is known now, of code too (rule B7)."""
    if section is not None and section.sh_type in (SHT_CUDA_GLOBAL, SHT_CUDA_GLOBAL_INIT):
        return "global"
    return "constant"


def _has_table(sections: Sections, symbol: Symbol) -> bool:
    """Whether the output has the unified table of which a name stands for a part (rule U8)."""
    rows = UFT_ENTRY if symbol.name.startswith("__UFT") else UDT_ENTRY
    return sections.find(rows) is not None


def _kind_here(job: Job, sections: Sections, shared: SharedMemory, symbol: Symbol) -> str:
    """The kind of place that a symbol names in this link."""
    if symbol.space == STO_CUDA_RESERVED_SHARED and job.family.keeps_symbols:
        return _DRIVERS
    if is_table_placeholder(symbol) and _has_table(sections, symbol):
        return _DRIVERS
    if symbol in shared.instances:
        return _DRIVERS
    if job.options.relocatable and symbol.bind == STB_WEAK and not symbol.is_function:
        return _DRIVERS  # a later link may bring a better copy (rule R15)
    if job.options.relocatable and job.family.capsule and symbol.kind in HANDLE_KINDS:
        return _DRIVERS  # the finalizer of a later link fills them in (rule R12)
    if job.options.relocatable and job.family.drops_dead_frames:
        # The finalizer of a later link has to know where line tables are meant (rule R14).
        section = symbol.section
        if symbol.kind == STT_SECTION and section is not None and section.name in LINE_TABLES:
            return _DRIVERS
    if (
        job.options.relocatable
        and job.toolkit.keeps_shared_relocations
        and symbol.space == STO_CUDA_SHARED
    ):
        return _DRIVERS
    return _target_kind(symbol)


def _is_listed(
    job: Job, shared: SharedMemory, values: _Values, target: OutSection, reloc: Reloc
) -> bool:
    """Whether `--preserve-relocs` lists an applied entry: from sm_100 on, only shared variables.

    Rules P1, P5.
    """
    symbol = reloc.symbol
    if columns.APPLY.get(reloc.r_type) == "lockstep":
        return values.runs_in_lockstep()
    if symbol.kind in HANDLE_KINDS:
        return job.options.relocatable and not job.family.capsule
    if is_lost(symbol):
        return symbol.space == STO_CUDA_SHARED or not job.family.capsule
    is_array = symbol.space == STO_CUDA_SHARED and not symbol.is_defined
    if is_array and target.owner in shared.dynamic_start:
        # With -g arrays keep their names; what stands for those of `-r` has one beside common
        # variables (rule R10).
        is_named = symbol.name != INSTANCE or is_beside_variables(symbol)
        return debugger_sees(job.options) and is_named
    if symbol.internal or symbol.space == STO_CUDA_SHARED:
        return has_place(shared, symbol) and (
            not job.family.capsule or symbol.space == STO_CUDA_SHARED
        )
    return not job.family.capsule and symbol.section is not None


class _Values:
    """What relocations write into the bytes of their targets."""

    __slots__ = ("_firsts", "_lockstep", "_start", "handles", "job", "objects", "shared")

    def __init__(
        self, job: Job, objects: list[InputObject], shared: SharedMemory, handles: Handles
    ) -> None:
        self.job = job
        self.objects = objects
        self.shared = shared
        self.handles = handles
        self._lockstep: bool | None = None
        self._firsts: dict[InputObject, int] = {}
        self._start: int = 0

    def write(self, target: OutSection, relocs: list[Reloc], *, from_field: bool) -> None:
        """Write the values into the bytes of the target, as far as these reach."""
        data, slots = target.data, self.handles.slots
        size = len(data)
        addresses: dict[Symbol, int] = {}
        for reloc in relocs:
            offset, r_type, symbol, addend = reloc.offset, reloc.r_type, reloc.symbol, reloc.addend
            address = addresses.get(symbol)
            if address is None:
                address = addresses[symbol] = self._address(target, symbol)
            if symbol in slots:
                address -= self._first_slot(target, r_type)
            width = columns.WHOLE_ADDRESSES.get(r_type)
            if width is not None:
                if from_field:
                    addend += int.from_bytes(data[offset : offset + width], "little")
                value = address + addend
                if value < 0 or value >> 8 * width:
                    value &= (1 << 8 * width) - 1
                if offset + width <= size:
                    _WHOLE[width].pack_into(data, offset, value)
                else:
                    data[offset : offset + width] = value.to_bytes(width, "little")
                continue
            self._write_fields(data, reloc, address, from_field=from_field)
        del data[size:]

    def _write_fields(
        self, data: bytearray, reloc: Reloc, address: int, *, from_field: bool
    ) -> None:
        """Write the bit fields of a type that does not write an address into whole bytes."""
        from cubinspec_writer.linker.library import fields

        r_type, symbol, addend = reloc.r_type, reloc.symbol, reloc.addend
        offset = reloc.offset
        actions = fields.actions_of(r_type)
        if columns.APPLY.get(r_type) == "lockstep":
            for action in actions if self.runs_in_lockstep() else ():
                value = addend if action.value == "addend" else 0
                fields.write_field(data, offset, action, value)
            return
        values = {"abs": address + addend, "unified": address + addend, "zero": 0}
        if symbol in self.handles.slots:
            values["const_bank"] = 0
        elif (symbol.section is not None or self.job.options.relocatable) and not (
            self.job.family.capsule and is_lost(symbol)
        ):
            # With `-r`, a reference has no section, whose type is 0 (rule R12).
            sh_type = symbol.section.sh_type if symbol.section is not None else SHT_NULL
            values["const_bank"] = sh_type - SHT_CUDA_CONSTANT_B0
        for action in actions:
            if action.kind != "clear" and action.value in values:
                value = values[action.value]
                old = fields.read_field(data, offset, action) if from_field else 0
                if action.kind == "byte":
                    value += old
                    old = 0
                fields.write_field(data, offset, action, fields.field_value(action, value) + old)

    def _address(self, target: OutSection, symbol: Symbol) -> int:
        """What a symbol stands for in the bytes of a target."""
        if symbol.space == STO_CUDA_SHARED and not symbol.is_defined:
            # With -g the array has one place, which its symbol has, too. Code that no kernel
            # reaches finds it at -1 (rule S9).
            address = symbol.value if symbol.section is not None else NO_ADDRESS
            if target.owner is not None:
                address = self.shared.dynamic_start.get(target.owner, address)
            return address
        if symbol.space == STO_CUDA_SHARED and symbol.section is None:
            return NO_ADDRESS  # of a kernel that is not wanted (rule S22)
        if is_lost(symbol):
            return NO_ADDRESS  # rule R60
        return self.handles.slots.get(symbol, symbol.value)

    def _first_slot(self, target: OutSection, r_type: int) -> int:
        """Where the slots begin, if code adds that itself to the number in an instruction.

        The finalizer's code does (rule H5).

        Raises:
            UnsupportedLinkError: the code adds another place (rule X21).
        """
        # Names of types are not loaded for a link that needs none.
        from cubinspec_generated.codes_relocation import R_CUDA_ABS16_32

        family = self.job.family
        if r_type != R_CUDA_ABS16_32:
            return 0
        if self.job.options.relocatable or family.keeps_symbols or not family.capsule:
            return 0
        first = self._start
        if not first:
            first = self._start = min(self.handles.slots.values())
        owner = target.owner
        origin = owner.definition if owner is not None else None
        if owner is not None and origin is not None and self._first_of(origin[0]) != first:
            what = f"code without optimisation with textures that are not at {first:#x}"
            raise UnsupportedLinkError(f"{what} ('{owner.name}')")
        return first

    def _first_of(self, obj: InputObject) -> int:
        """Where the slots would begin if an input were linked alone."""
        first = self._firsts.get(obj)
        if first is None:
            empty = self.job.target.architecture.param_base
            end = max((bank.size for bank in obj.of_type(SHT_CUDA_CONSTANT_B0)), default=empty)
            first = self._firsts[obj] = align_up(end, self.job.family.slot_align)
        return first

    def runs_in_lockstep(self) -> bool:
        """Whether all inputs were compiled for targets without independent thread scheduling.

        Rule O2.
        """
        if self._lockstep is None:
            found = [obj.virtual_target for obj in self.objects]
            self._lockstep = bool(found) and not any(
                not virtual or has_independent_threads(virtual) for virtual in found
            )
        return self._lockstep
