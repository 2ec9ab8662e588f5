"""What the finalizer does with both linked halves: it runs after all passes, before writing.

Sections of the two halves that stand for the same thing are called twins. Fields of the SASS half
that change here are final afterwards; the Mercury half changes only inside of its capsules.
"""

from __future__ import annotations

from collections import defaultdict

from cubinspec.format.sections import final_name
from cubinspec.format.targets import WRITTEN
from cubinspec_generated.codes import SHF_EXECINSTR, SHT_PROGBITS, SHT_RELA
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer import capsules, doubles, jumps, listed, registers, schedule
from cubinspec_writer.linker.finalizer.flow import NO_TABLES, jumps_through_tables
from cubinspec_writer.linker.finalizer.line_tables import with_heads
from cubinspec_writer.linker.finalizer.offsets import sass_offsets
from cubinspec_writer.linker.finalizer.places import attributes_of, jump_tables
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.library.copies import behind_aliases
from cubinspec_writer.linker.model import LINE_TABLES, REGISTER_TABLE, OutSection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.finalizer.flow import Tables
    from cubinspec_writer.linker.model import InputObject, Symbol
    from cubinspec_writer.linker.state import (
        Constants,
        Handles,
        Job,
        Relocations,
        Sections,
        Symbols,
    )

    #: Section of the Mercury half -> section of the SASS half.
    Twins = dict[OutSection, OutSection]

_DEBUG_INFO = ".debug_info"

READS = (
    "mercury.constants.copies mercury.constants.mixed mercury.handles.slots mercury.object.bound "
    "mercury.object.placed mercury.relocations.applied mercury.relocations.resolved "
    "mercury.relocations.sections "
    "mercury.section.align mercury.section.emitted mercury.section.entsize mercury.section.flags "
    "mercury.section.info_section mercury.section.name mercury.section.relocs "
    "mercury.section.sh_type mercury.sections.fixed mercury.sections.made "
    "mercury.symbol.definition mercury.symbol.name mercury.symbol.other mercury.symbol.size "
    "mercury.symbol.value relocations.applied section.flags section.name section.owner "
    "sections.fixed sections.made symbol.definition symbol.kind symbol.name symbol.other "
    "symbol.section symbol.value symbols.functions symbols.globals"
)
WRITES = (
    "mercury.section.content mercury.sections.twins section.content section.emitted "
    "section.info_section section.relocs sections.added sections.unfinished"
)
FREEZES = (
    "section.content section.emitted section.info_section section.relocs sections.added "
    "sections.unfinished"
)


def run(
    job: Job,
    symbols: Symbols,
    sections: Sections,
    relocations: Relocations,
    mercury_objects: list[InputObject],
    mercury_sections: Sections,
    mercury_relocations: Relocations,
    mercury_constants: Constants,
    mercury_handles: Handles,
) -> None:
    """Make the SASS half what the finalizer makes of the Mercury half.

    Raises:
        UnsupportedLinkError: the halves do not belong together, or a capsule has another form.
    """
    twins = mercury_sections.twins = _twins(sections, mercury_sections)
    _patch_capsules(relocations, mercury_relocations, mercury_handles, twins)
    jumps.fill(mercury_objects, mercury_constants, mercury_relocations, twins)
    _look_for_doubles(job, sections)
    _assign_barriers(job, sections)
    has_debug = debugger_sees(job.options)
    if job.options.relocatable or has_debug:
        _count_stack_loads(symbols, sections)
    if not job.options.relocatable or has_debug:
        _tell_untranslated(job, sections)
    if job.options.preserve_relocs:
        listed.look_up(mercury_relocations, twins)
    _join_debug_tables(job, symbols, twins)
    _keep_empty_relocations(sections, mercury_sections, twins)


def twin_of(twins: Twins, section: OutSection) -> OutSection:
    """The twin of a Mercury section, which must have one."""
    if section not in twins:
        raise UnsupportedLinkError(f"section '{section.name}' of Mercury code has no SASS twin")
    return twins[section]


def sass_name(name: str) -> str:
    """The final name of a section that was made under a Mercury name."""
    for prefix in (".rela", ".rel", ""):
        if name.startswith(prefix):
            target = name[len(prefix) :]
            return prefix + (final_name(target) or target)
    return name


def _twins(sass: Sections, mercury: Sections) -> Twins:
    """Pairs the sections by name; several of one name are paired in their order (rule X22)."""
    by_name: dict[str, list[OutSection]] = defaultdict(list)
    for section in (*sass.fixed.values(), *sass.made):
        by_name[section.name].append(section)
    twins: Twins = {}
    seen: dict[str, int] = defaultdict(int)
    for section in (*mercury.fixed.values(), *mercury.made):
        name = sass_name(section.name)
        if seen[name] < len(by_name[name]):
            twins[section] = by_name[name][seen[name]]
        seen[name] += 1
    return twins


def _patch_capsules(
    sass: Relocations, mercury: Relocations, handles: Handles, twins: Twins
) -> None:
    """Writes the values of applied relocations into Mercury code."""
    for code, applied in mercury.applied.items():
        if applied and code.flags & SHF_EXECINSTR:
            in_sass = sass.applied.get(twin_of(twins, code), [])
            capsules.patch(code, applied, in_sass, handles.slots)


def _join_debug_tables(job: Job, symbols: Symbols, twins: Twins) -> None:
    """Completes debug tables with what only those of the Mercury half have."""
    behind_alias = _behind_alias(job, symbols)
    for code, twin in twins.items():
        if code.name in LINE_TABLES and twin.content:
            heads = with_heads(bytes(twin.content), bytes(code.content))
            if heads != twin.content:
                twin.content = heads
        elif code.name == REGISTER_TABLE:

            def offsets_of(name: str) -> dict[int, int]:
                for symbol in symbols.functions:
                    if symbol.name == name and symbol.definition is not None:
                        if symbol in behind_alias:
                            return {}
                        linked, row = symbol.definition
                        return sass_offsets(linked, row.shndx)
                return {}

            table = registers.join_places(bytes(twin.content), bytes(code.content), offsets_of)
            if table is not None:
                twin.content = table


def _behind_alias(job: Job, symbols: Symbols) -> set[Symbol]:
    """Functions that the finalizer looks for under an alias."""
    if not job.toolkit.sizes_aliases:
        return set()
    owners = [(alias, alias.section.owner) for alias in symbols.aliases() if alias.section]
    return behind_aliases([(a, owner) for a, owner in owners if owner], symbols.globals)


def _tell_untranslated(job: Job, sass: Sections) -> None:
    """Notes for the map which code the finalizer translates in a way that is not known."""
    for section in sass.made if job.untranslated else ():
        if section.owner is not None and section.name in job.untranslated:
            sass.unfinished[section.owner] = job.untranslated[section.name]


def _look_for_doubles(job: Job, sass: Sections) -> None:
    """Refuses, or notes for the map, code that the finalizer translates for other units (X23)."""
    for section in sass.made:
        owner = section.owner
        if section.flags & SHF_EXECINSTR and owner is not None and owner.definition is not None:
            made_for, target = owner.definition[0].sm, job.target.sm
            doubt = doubles.doubt(section.content, section.name, made_for, target)
            if doubt:
                sass.unfinished[owner] = doubt


def _assign_barriers(job: Job, sass: Sections) -> None:
    """Assigns barriers again in code to which the finalizer gives others than ptxas.

    That is all code of ptxas before CUDA 13, and kernels that load a stack pointer for nothing.
    """
    is_final = not (job.options.relocatable or debugger_sees(job.options))
    for section in sass.made:
        owner = section.owner
        if not section.flags & SHF_EXECINSTR or owner is None or section.name in job.untranslated:
            continue
        if owner in sass.unfinished:
            continue
        # Code for a debugger stays as it is (rule F8).
        source = owner.definition[0] if owner.definition is not None else None
        if source is None or source.find(SHT_PROGBITS, _DEBUG_INFO) is not None:
            continue
        is_final_kernel = is_final and owner.is_entry
        if source.toolkit < WRITTEN.number:
            tables = _jump_tables(section, owner)
            found = schedule.with_new_barriers(section.content, tables, is_final=is_final_kernel)
            _set_code(sass, section, owner, *found)
        elif is_final_kernel:
            found = schedule.without_stack_load(
                section.content,
                _jump_tables(section, owner),
                waits_for_loops=job.toolkit.waits_for_loops,
            )
            _set_code(sass, section, owner, *found)


def _jump_tables(section: OutSection, owner: Symbol) -> Tables:
    """Where the jumps through tables of a function lead, as its attributes tell."""
    if owner.definition is None or not jumps_through_tables(section.content):
        return NO_TABLES
    source, row = owner.definition
    return jump_tables(attributes_of(source, row.shndx))


def _set_code(
    sass: Sections, section: OutSection, owner: Symbol, code: bytes | None, reason: str
) -> None:
    """Take new code, or note why it stays as it is."""
    if code is not None:
        section.content = code
    elif reason:
        sass.unfinished[owner] = reason


def _count_stack_loads(symbols: Symbols, sass: Sections) -> None:
    """Lets loads of stack pointers set a barrier in extensible whole programs (rule F19)."""
    behind: dict[OutSection | None, int] = {}
    for function in symbols.functions:
        if function.value:
            first = behind.get(function.section, function.value)
            behind[function.section] = min(first, function.value)
    for section in sass.made:
        owner = section.owner
        if not section.flags & SHF_EXECINSTR or owner is None or owner.definition is None:
            continue
        if owner.definition[0].is_extensible:
            end = behind.get(section, len(section.content))
            tables = _jump_tables(section, owner)
            _set_code(sass, section, owner, *schedule.with_stack_load(section.content, end, tables))


def _keep_empty_relocations(sass: Sections, mercury: Sections, twins: Twins) -> None:
    """A relocation section of the SASS half stays when its Mercury twin still has rows.

    Rule F9.
    """
    for section in mercury.made:
        if not section.emitted or section.sh_type != SHT_RELA:
            continue
        twin = twins.get(section)
        if twin is None and section.info_section is not None:
            twin = OutSection(
                sass_name(section.name), SHT_RELA, section.flags, section.align, section.entsize
            )
            twin.info_section = twin_of(twins, section.info_section)
            sass.added.append(twin)
            twins[section] = twin
        if twin is not None:
            twin.emitted = True
