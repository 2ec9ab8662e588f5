"""All passes in order: inputs and options -> a linked program."""

from __future__ import annotations

from cubinspec.values import listed
from cubinspec_generated.codes import SHN_UNDEF, SHT_SYMTAB, STB_GLOBAL
from cubinspec_writer.gc_pause import GcPaused
from cubinspec_writer.linker.diagnostics import Diagnostics
from cubinspec_writer.linker.inputs.accept import target_of
from cubinspec_writer.linker.inputs.gather import Gathered, gather
from cubinspec_writer.linker.inputs.host import KernelFilter, named_by_host, named_by_options
from cubinspec_writer.linker.inputs.read import read_half
from cubinspec_writer.linker.pipeline import run_passes
from cubinspec_writer.linker.result import LinkResult
from cubinspec_writer.linker.state import LinkState
from cubinspec_writer.linker.write import direct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.reader.elf import Elf
    from cubinspec_writer.linker.inputs.options import LinkOptions
    from cubinspec_writer.linker.inputs.sources import Input


def link_program(inputs: Input | Iterable[Input], options: LinkOptions) -> LinkResult:
    """Link; see `cubinspec_writer.link`."""
    with GcPaused():
        return _link(inputs, options)


def _link(inputs: Input | Iterable[Input], options: LinkOptions) -> LinkResult:
    diagnostics = Diagnostics(
        options.warnings_are_errors, options.arch if options.report_arch else "", options.warnings
    )
    if options.preserve_relocs and target_of(options, diagnostics).family.warns_of_preserved_relocs:
        diagnostics.warning(
            "Option '--preserve-relocs' is not fully implemented for gpu archtecture "
            f"'{options.arch}' and may not work as expected"
        )
    index = None
    if options.uidx is not None:
        from cubinspec_writer.linker.inputs.uidx import read_index

        index = read_index(options.uidx, diagnostics)
    gathered = without_idle_system_objects(gather(inputs, options, diagnostics), options)
    kernels = _kernel_filter(gathered, options, diagnostics)
    family = target_of(options, diagnostics).family
    candidates = gathered.candidates
    sass = [read_half(c.elf, mercury=False) for c in candidates]
    code = [read_half(c.elf, mercury=True) for c in candidates] if family.mercury_half else []
    candidates.clear()  # nobody needs the tables of the files any more
    if family.mercury_half is None:
        half = LinkState(options, family, sass, diagnostics, kernels, index)
        run_passes(half)
        _report(half)
        return LinkResult(direct.write(half), diagnostics.messages, gathered.hosts, half, None)
    mercury = LinkState(options, family.mercury_half, code, diagnostics, kernels, index)
    run_passes(mercury)
    _report(mercury)
    # The SASS half has nothing to say that the Mercury half has not said.
    half = LinkState(options, family, sass, Diagnostics(), kernels, index, mercury)
    run_passes(half)
    # With the emitter, for which small links must not wait.
    from cubinspec_writer.linker.write import both_halves

    whole = both_halves.write(half, mercury)
    return LinkResult([whole], diagnostics.messages, gathered.hosts, half, mercury)


def _report(half: LinkState) -> None:
    """Tell what options ask for; then end if there were errors."""
    options, diagnostics = half.options, half.diagnostics
    if options.dump_callgraph and not options.relocatable:
        from cubinspec_writer.linker.reports import usage

        for level, line in usage.callgraph_lines(half, demangle=options.demangle):
            diagnostics.report(level, (line,))
    if options.verbose:
        from cubinspec_writer.linker.reports import usage

        diagnostics.report("usage", usage.resource_lines(half))
    diagnostics.stop_on_errors()


def _kernel_filter(
    gathered: Gathered, options: LinkOptions, diagnostics: Diagnostics
) -> KernelFilter | None:
    """Which kernels are wanted: options come before what the host names (rule V7)."""
    texts = [text for text in listed(options.kernels_used) if text]
    if texts or any(listed(options.variables_used)):
        if options.use_host_info:
            diagnostics.info(
                "ignore -use-host-info because -kernels-used or -variables-used is specified"
            )
        return named_by_options(texts)
    return None if options.ignore_host_info else named_by_host(gathered.hosts)


def without_idle_system_objects(gathered: Gathered, options: LinkOptions) -> Gathered:
    """Leave out objects of the device runtime that no other object needs (rule V3)."""
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
