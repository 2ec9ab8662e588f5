"""All passes in order: inputs and options -> a linked program."""

from __future__ import annotations

import gc

from cubinspec.format.attributes import RecordSplitter
from cubinspec.format.targets import sass_family
from cubinspec.values import listed
from cubinspec_generated.codes import (
    SHN_UNDEF,
    SHT_CUDA_RESERVED_SHARED,
    STB_LOCAL,
    STO_CUDA_SHARED,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
)
from cubinspec_writer.linker.diagnostics import Diagnostics, LinkError, UnsupportedLinkError
from cubinspec_writer.linker.inputs.accept import target_of, toolkit_for
from cubinspec_writer.linker.inputs.gather import Candidate, Gathered, gather
from cubinspec_writer.linker.inputs.host import KernelFilter, named_by_host, named_by_options
from cubinspec_writer.linker.inputs.read import has_mercury, read_half
from cubinspec_writer.linker.model import HANDLE_KINDS, REGISTER_TABLE
from cubinspec_writer.linker.pipeline import run_passes
from cubinspec_writer.linker.result import LinkResult
from cubinspec_writer.linker.state import Job, LinkState
from cubinspec_writer.linker.write import direct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.format.targets import Family
    from cubinspec_writer.linker.inputs.options import LinkOptions
    from cubinspec_writer.linker.inputs.sources import Input
    from cubinspec_writer.linker.model import InputObject


def link_program(inputs: Input | Iterable[Input], options: LinkOptions) -> LinkResult:
    """Link; see `cubinspec_writer.link`."""
    if not gc.isenabled():  # so it is in the command, which starts faster without that module
        return _link(inputs, options)
    from cubinspec_writer.gc_pause import GcPaused

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
    gathered = gather(inputs, options, diagnostics)
    kernels = _kernel_filter(gathered, options, diagnostics)
    family = target_of(options, diagnostics).family
    toolkit = toolkit_for(options, gathered.newest)
    if family.mercury_half is not None and not all(map(_is_twofold, gathered.candidates)):
        family = sass_family()  # rule T8
    if options.debug and not options.reserve_shared and family.mercury_half is not None:
        raise UnsupportedLinkError("-g with --disable-smem-reservation")
    candidates = gathered.candidates
    splitter = RecordSplitter()
    sass = [_read(c, splitter, mercury=False) for c in candidates]
    if any(obj.is_extensible for obj in sass):
        _check_extensible(sass, options, family)
    code = []
    if family.mercury_half is not None:
        code = [_read(c, splitter, mercury=True) for c in candidates]
    candidates.clear()  # the tables of the files are not needed any more
    if family.mercury_half is None:
        half = LinkState(Job(options, family, index, toolkit), sass, diagnostics, kernels)
        run_passes(half)
        _report(half)
        return LinkResult(direct.write(half), diagnostics.messages, gathered.hosts, half, None)
    job = Job(options, family.mercury_half, index, toolkit)
    from cubinspec_writer.linker.finalizer.translate import translate  # from sm_100 on only

    whole_job = Job(options, family, index, toolkit)
    translate(whole_job, sass, code)
    mercury = LinkState(job, code, diagnostics, kernels)
    run_passes(mercury)
    _report(mercury)
    # The SASS half has nothing to say that the Mercury half has not said.
    half = LinkState(whole_job, sass, Diagnostics(), kernels, mercury)
    run_passes(half)
    # Imported here, as it brings the emitter, which links of one half do not need.
    from cubinspec_writer.linker.write import both_halves

    whole = both_halves.write(half, mercury)
    return LinkResult([whole], diagnostics.messages, gathered.hosts, half, mercury)


def _check_extensible(objects: list[InputObject], options: LinkOptions, family: Family) -> None:
    """Refuse what this linker does not know of extensible whole programs (rules X17, X18).

    Raises:
        UnsupportedLinkError: textures (but for sm_90 without `-r`), names of shared variables, `-r`
            from sm_100 on; from sm_90 on, with `-r` and with debug data, several copies of a
            function; with debug data from sm_100 on functions with two names.
    """
    programs = [obj for obj in objects if obj.is_extensible]
    for obj in programs:
        if family.capsule and options.relocatable:
            raise UnsupportedLinkError(f"-r with an extensible whole program ('{obj.name}')")
        has_slots = not obj.kinds.isdisjoint(HANDLE_KINDS)
        if has_slots and (family.capsule or family.rel_sections or options.relocatable):
            raise UnsupportedLinkError(f"textures in an extensible whole program ('{obj.name}')")
        memory = {section.index for section in obj.of_type(SHT_CUDA_RESERVED_SHARED)}
        for row in obj.named:
            is_shared = row.other & STO_CUDA_SPACE_MASK == STO_CUDA_SHARED << STO_CUDA_SPACE_SHIFT
            if is_shared and row.shndx not in memory:
                raise UnsupportedLinkError(
                    "a shared variable with a name in an extensible whole program "
                    f"('{row.name}' in '{obj.name}')"
                )
    tabled = [obj for obj in programs if any(s.name == REGISTER_TABLE for s in obj.sections)]
    for obj in tabled if family.capsule else ():
        places = [(row.shndx, row.value) for row in obj.functions if row.shndx]
        if len(set(places)) < len(places):
            raise UnsupportedLinkError(
                f"a function with two names in an extensible whole program with debug data "
                f"('{obj.name}')"
            )
    if not family.rel_sections or options.relocatable or tabled:
        _check_copies(objects)


def _check_copies(objects: list[InputObject]) -> None:
    """Refuse several copies of a function when one is in an extensible whole program (rule X18)."""
    owners: dict[str, InputObject] = {}
    for obj in objects:
        for row in obj.functions:
            if row.bind == STB_LOCAL or row.shndx == SHN_UNDEF:
                continue
            first = owners.setdefault(row.name, obj)
            if first is not obj and (first.is_extensible or obj.is_extensible):
                raise UnsupportedLinkError(
                    f"copies of '{row.name}' in '{first.name}' and '{obj.name}', one of which is "
                    "an extensible whole program"
                )


def _read(candidate: Candidate, splitter: RecordSplitter, *, mercury: bool) -> InputObject:
    obj = read_half(candidate.elf, splitter, mercury=mercury)
    obj.is_system = candidate.system
    return obj


def _report(half: LinkState) -> None:
    """Tell what options ask for; then end if there were errors.

    Raises:
        LinkError: there were; it has the call graph, which `-dot` writes even so.
    """
    options, diagnostics = half.job.options, half.diagnostics
    if options.dump_callgraph and not options.relocatable:
        from cubinspec_writer.linker.reports import usage

        for level, line in usage.callgraph_lines(half, demangle=options.demangle):
            diagnostics.report(level, (line,))
    if options.verbose:
        from cubinspec_writer.linker.reports import usage

        diagnostics.report("usage", usage.resource_lines(half))
    try:
        diagnostics.stop_on_errors()
    except LinkError as error:
        from cubinspec_writer.linker.reports import usage

        error.plain_dot = usage.plain_dot(half)
        raise


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
    if options.ignore_host_info:
        return None
    launches = any(candidate.system for candidate in gathered.candidates)
    return named_by_host(gathered.hosts, launches=launches)


def _is_twofold(candidate: Candidate) -> bool:
    return has_mercury(candidate.elf)
