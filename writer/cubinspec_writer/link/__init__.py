"""Links relocatable cubins as nvlink does: same inputs, same bytes.

The passes run in this order, one file each; `state` is what they share, `model` its parts, and
`profile` what differs between architectures.

    gather      command line -> relocatable cubins of the target
    read        bytes -> rows
    resolve     which definition every name means
    liveness    which functions are in the output
    merge       input sections and symbols -> output sections and symbol lists
    callgraph   one call graph; what every kernel reaches
    place       commons, texture slots, shared memory, compiler constants
    relocate    relocations applied, changed or kept
    number      order of sections, numbers of symbols
    info        registers, barriers, stack, attributes
    notes       tool notes and compatibility
    output      the file, written by `cubinspec_writer.emit`

Targets from sm_100 on carry each program twice, as SASS and as Mercury code: `half` runs the passes
for either, `capsule` and `frames` hold what only one of them needs. Rules that are not in the
specification, each with the program that shows it, are in docs/linking.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cubinspec.reader.elf import Elf

from . import output, usage
from .diagnostics import Diagnostics, LinkError, UnsupportedLinkError
from .gather import Gathered, Input, Library, Named, gather, target_of
from .half import Half, link_half
from .host import HostObject, KernelFilter, named_by_host, named_by_options
from .model import SHN_UNDEF, SHT_SYMTAB, STB_GLOBAL
from .options import LinkOptions
from .plain import dataclass, field
from .profile import MERCURY_HALF, profile_for
from .read import read_half

__all__ = [
    "Library",
    "LinkError",
    "LinkOptions",
    "LinkResult",
    "Named",
    "UnsupportedLinkError",
    "link",
]

#: nvlink warns from this sm number on.
_RELOCS_UNFINISHED_FROM = 90


@dataclass(slots=True)
class LinkResult:
    """The outcome of a link.

    Attributes:
        bytes: the linked cubin.
        messages: (level, text) of infos and warnings, in order.
        hosts: every input as its host program sees it.
    """

    bytes: bytes
    messages: list[tuple[str, str]]
    hosts: list[HostObject] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """Texts of the warnings."""
        return [text for level, text in self.messages if level == "warning"]


def link(
    inputs: Iterable[Input], options: LinkOptions | str | None = None, **settings: Any
) -> LinkResult:
    """Link relocatable cubins, host objects, fatbins and libraries for one target.

    Args:
        inputs: paths, bytes, `Named` bytes or `Library` names, in link order.
        options: a `LinkOptions`; or give its fields as keywords.

    Raises:
        LinkError: the link cannot be done; it holds all messages and the exit code.
        CubinError: an input is broken.
    """
    if not isinstance(options, LinkOptions):
        if options is not None:
            settings["arch"] = options
        options = LinkOptions(**settings)
    diagnostics = Diagnostics(
        options.warnings_are_errors, options.arch if options.report_arch else ""
    )
    if options.preserve_relocs and target_of(options, diagnostics)[0] >= _RELOCS_UNFINISHED_FROM:
        diagnostics.warning(
            "Option '--preserve-relocs' is not fully implemented for gpu archtecture "
            f"'{options.arch}' and may not work as expected"
        )
    gathered = without_idle_system_objects(gather(inputs, options, diagnostics), options)
    kernels = _kernel_filter(gathered, options, diagnostics)
    profile = profile_for(target_of(options, diagnostics)[0])
    plain = [read_half(c.elf, mercury=False) for c in gathered.candidates]
    mercury = None
    if profile.mercury and options.preserve_relocs:
        raise UnsupportedLinkError("--preserve-relocs with Mercury code")
    if profile.mercury:
        code = [read_half(c.elf, mercury=True) for c in gathered.candidates]
        mercury = link_half(code, options, MERCURY_HALF, diagnostics, kernels=kernels)
        _report(mercury, options, diagnostics)
    again = Diagnostics() if mercury else diagnostics
    half = link_half(plain, options, profile, again, mercury, kernels)
    if mercury is None:
        _report(half, options, diagnostics)
    return LinkResult(output.write(half, mercury), diagnostics.messages, gathered.hosts)


def _report(half: Half, options: LinkOptions, diagnostics: Diagnostics) -> None:
    """Tell what options ask for; then end if there were errors."""
    if options.dump_callgraph and not options.relocatable:
        diagnostics.report("text", usage.callgraph_lines(half, demangle=options.demangle))
    if options.verbose:
        diagnostics.report("usage", usage.resource_lines(half))
    diagnostics.stop_on_errors()


def _kernel_filter(
    gathered: Gathered, options: LinkOptions, diagnostics: Diagnostics
) -> KernelFilter | None:
    """Which kernels are wanted: options come before what the host names."""
    texts = [text for text in options.kernels_used or () if text]
    if texts or any(options.variables_used or ()):
        if options.use_host_info:
            diagnostics.info(
                "ignore -use-host-info because -kernels-used or -variables-used is specified"
            )
        return named_by_options(texts)
    return None if options.ignore_host_info else named_by_host(gathered.hosts)


def without_idle_system_objects(gathered: Gathered, options: LinkOptions) -> Gathered:
    """Leave out objects of the device runtime that no other object needs."""
    candidates = gathered.candidates
    if options.keep_system_libraries or not any(c.system for c in candidates):
        return gathered
    wanted: set[str] = set()
    for candidate in candidates:
        if not candidate.system:
            wanted |= _names(candidate.elf, undefined=True)
    kept = [c for c in candidates if not c.system or wanted & _names(c.elf, undefined=False)]
    used = any(c.system for c in kept)
    return Gathered(kept, [host for host in gathered.hosts if used or not host.system])


def _names(elf: Elf, *, undefined: bool) -> set[str]:
    table = elf.find_section(SHT_SYMTAB)
    assert table is not None
    strings = elf.string_table(elf.section_rows[table][6])
    return {
        strings.get(row[0])
        for row in elf.symbol_rows(table)
        if row[1] >> 4 == STB_GLOBAL and (row[3] == SHN_UNDEF) == undefined
    }
