"""What the finalizer does with both linked halves: it runs after all passes, before writing.

Sections of the two halves that stand for the same thing are called twins. Fields of the SASS half
that change here are final afterwards; the Mercury half changes only inside of its capsules.
"""

from __future__ import annotations

from collections import defaultdict

from cubinspec.format.sections import final_name
from cubinspec_generated.codes import SHF_EXECINSTR, SHT_PROGBITS, SHT_RELA
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer import capsules, jumps, schedule
from cubinspec_writer.linker.model import OutSection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.state import LinkState

    #: Section of the Mercury half -> section of the SASS half.
    Twins = dict[OutSection, OutSection]

_DEBUG_INFO = ".debug_info"

READS = (
    "relocations.applied section.flags section.name section.owner sections.fixed sections.made "
    "symbol.definition symbol.kind symbol.name symbol.other twin.constants.copies "
    "twin.constants.mixed twin.handles.slots twin.object.bound twin.object.placed "
    "twin.relocations.applied twin.relocations.sections twin.section.align twin.section.emitted "
    "twin.section.entsize twin.section.flags twin.section.info_section twin.section.name "
    "twin.section.relocs twin.section.sh_type twin.sections.fixed twin.sections.made "
    "twin.symbol.definition twin.symbol.name twin.symbol.value"
)
WRITES = (
    "section.content section.emitted section.info_section sections.added twin.section.content "
    "twin.sections.twins"
)
FREEZES = "section.content section.emitted section.info_section sections.added"


def run(sass: LinkState) -> None:
    """Make the SASS half what the finalizer makes of the Mercury half.

    Raises:
        UnsupportedLinkError: the halves do not belong together, or a capsule has another form.
    """
    mercury = sass.twin
    assert mercury is not None
    twins = mercury.sections.twins = _twins(sass, mercury)
    _patch_capsules(sass, mercury, twins)
    jumps.fill(mercury, twins)
    if not sass.options.relocatable:
        _drop_stack_loads(sass)
    _keep_empty_relocations(sass, mercury, twins)


def twin_of(twins: Twins, section: OutSection) -> OutSection:
    """The twin of a Mercury section, which must have one."""
    if section not in twins:
        raise UnsupportedLinkError(f"section '{section.name}' of Mercury code has no SASS twin")
    return twins[section]


def sass_name(name: str) -> str:
    """The final name of a section that was made under a Mercury name (rule X7)."""
    for prefix in (".rela", ".rel", ""):
        if name.startswith(prefix):
            target = name[len(prefix) :]
            return prefix + (final_name(target) or target)
    return name


def _twins(sass: LinkState, mercury: LinkState) -> Twins:
    """Pairs the sections by name; several of one name are paired in their order."""
    by_name: dict[str, list[OutSection]] = defaultdict(list)
    for section in (*sass.sections.fixed.values(), *sass.sections.made):
        by_name[section.name].append(section)
    twins: Twins = {}
    seen: dict[str, int] = defaultdict(int)
    for section in (*mercury.sections.fixed.values(), *mercury.sections.made):
        name = sass_name(section.name)
        if seen[name] < len(by_name[name]):
            twins[section] = by_name[name][seen[name]]
        seen[name] += 1
    return twins


def _patch_capsules(sass: LinkState, mercury: LinkState, twins: Twins) -> None:
    """Writes the values of applied relocations into Mercury code."""
    for code, applied in mercury.relocations.applied.items():
        if applied and code.flags & SHF_EXECINSTR:
            in_sass = sass.relocations.applied.get(twin_of(twins, code), [])
            capsules.patch(code, applied, in_sass, mercury.handles.slots)


def _drop_stack_loads(sass: LinkState) -> None:
    """Assigns barriers again in kernels that load a stack pointer for nothing."""
    for section in sass.sections.made:
        owner = section.owner
        if not section.flags & SHF_EXECINSTR or owner is None or not owner.is_entry:
            continue
        # Code for a debugger stays as it is (rule F8).
        source = owner.definition[0] if owner.definition is not None else None
        if source is not None and source.find(SHT_PROGBITS, _DEBUG_INFO) is None:
            code = schedule.without_stack_load(section.content)
            if code is not None:
                section.content = code


def _keep_empty_relocations(sass: LinkState, mercury: LinkState, twins: Twins) -> None:
    """A relocation section of the SASS half stays when its Mercury twin still has rows.

    Rule F9.
    """
    for section in mercury.sections.made:
        if not section.emitted or section.sh_type != SHT_RELA:
            continue
        twin = twins.get(section)
        if twin is None and section.info_section is not None:
            twin = OutSection(
                sass_name(section.name), SHT_RELA, section.flags, section.align, section.entsize
            )
            twin.info_section = twin_of(twins, section.info_section)
            sass.sections.added.append(twin)
            twins[section] = twin
        if twin is not None:
            twin.emitted = True
