"""From inputs and options to a linked program: reading, the passes, writing; and the outcome."""

from __future__ import annotations

import gc

from cubinspec.format.attributes import RecordSplitter
from cubinspec.format.targets import sass_family
from cubinspec.values import ValueObject, listed
from cubinspec_writer.linker.diagnostics import Diagnostics, LinkError
from cubinspec_writer.linker.inputs.accept import check_same_toolkit, target_of, toolkit_for
from cubinspec_writer.linker.inputs.gather import Candidate, Gathered, gather
from cubinspec_writer.linker.inputs.read import has_mercury, read_half
from cubinspec_writer.linker.model import Symbol
from cubinspec_writer.linker.pipeline import run_passes
from cubinspec_writer.linker.state import Job, LinkState
from cubinspec_writer.linker.write import direct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterable, Iterator
    from typing import Any, ClassVar

    from cubinspec_writer.linker.inputs.host import KernelFilter
    from cubinspec_writer.linker.inputs.options import LinkOptions
    from cubinspec_writer.linker.inputs.sources import HostObject, Input
    from cubinspec_writer.linker.inputs.uidx import Index
    from cubinspec_writer.linker.model import InputObject, OutSection


class LinkResult(ValueObject):
    """The outcome of a link.

    Attributes:
        parts: the linked cubin, in parts that follow each other.
        messages: (level, text) of infos and warnings, in order.
        hosts: every input as its host program sees it.
        half: the linked program (of sm_100 and later: its SASS half) as the passes left it.
        mercury: the Mercury half, from sm_100 on.
    """

    __match_args__: ClassVar = ("parts", "messages", "hosts", "half", "mercury")
    __slots__ = __match_args__
    parts: list[bytes | bytearray]

    def __init__(
        self,
        parts: list[builtins.bytes | bytearray],
        messages: list[tuple[str, str]],
        hosts: list[HostObject],
        half: LinkState,
        mercury: LinkState | None,
    ) -> None:
        self.parts = parts
        self.messages = messages
        self.hosts = hosts
        self.half = half
        self.mercury = mercury

    def __repr__(self) -> str:
        size = sum(map(len, self.parts))
        return f"<LinkResult: {size} bytes, {len(self.messages)} messages>"

    @property
    def bytes(self) -> builtins.bytes:
        """The linked cubin."""
        whole = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        self.parts = [whole]
        return bytes(whole)

    @property
    def warnings(self) -> list[str]:
        """Texts of the warnings."""
        return [text for level, text in self.messages if level == "warning"]

    @property
    def map(self) -> dict[str, Any]:
        """Where every input section and symbol went and why (map.schema.json); made anew."""
        from cubinspec_writer.linker.reports.linkmap import link_map

        return link_map(self.bytes, self.messages, self.hosts, self.half, self.mercury)

    @property
    def summary(self) -> dict[str, Any]:
        """What was linked, dropped and shared, and the sizes, in numbers; made anew."""
        from cubinspec_writer.linker.reports.summary import summary

        return summary(self.bytes, self.half)

    def why(self, name: str) -> list[str]:
        """Lines that say whether and why a symbol is in the output."""
        from cubinspec_writer.linker.reports.reasons import explain

        return explain(self.half, name)

    @property
    def callgraph_dot(self) -> str:
        """The call graph as text for Graphviz."""
        from cubinspec_writer.linker.reports.drawing import dot_text

        return dot_text(self.half)

    @property
    def plain_dot(self) -> str:
        """The same as nvlink writes it: who calls whom, and nothing else."""
        from cubinspec_writer.linker.reports import usage

        return usage.plain_dot(self.mercury or self.half)

    @property
    def callgraph_svg(self) -> builtins.bytes:
        """The call graph as a picture, self-contained."""
        from cubinspec_writer.linker.reports.drawing import svg_text

        return svg_text(self.half).encode("utf-8", "backslashreplace")


def link_program(inputs: Input | Iterable[Input], options: LinkOptions) -> LinkResult:
    """Link; see `cubinspec_writer.link`."""
    if not gc.isenabled():  # so it is in the command, which starts faster without that module
        return _link(inputs, options)
    from cubinspec.gc_pause import GcPaused

    with GcPaused():
        return _link(inputs, options)


def _link(inputs: Input | Iterable[Input], options: LinkOptions) -> LinkResult:
    diagnostics = Diagnostics(
        options.warnings_are_errors, options.arch if options.report_arch else "", options.warnings
    )
    tell_of_options(options, diagnostics)
    index = None
    if options.uidx is not None:
        from cubinspec_writer.linker.inputs.uidx import read_index

        index = read_index(options.uidx, diagnostics)
    is_refused = diagnostics.has_errors()
    gathered = gather(inputs, options, diagnostics)
    if is_refused:  # inputs are read, not merged (rule P7)
        diagnostics.stop_on_errors()
    try:
        return _linked(gathered, options, diagnostics, index)
    except LinkError as error:
        error.hosts = gathered.hosts
        raise


def _linked(
    gathered: Gathered, options: LinkOptions, diagnostics: Diagnostics, index: Index | None
) -> LinkResult:
    kernels = _kernel_filter(gathered, options)
    family = target_of(options, diagnostics).family
    toolkit = toolkit_for(options, gathered.newest)
    is_finalized = family.mercury_half is not None
    if is_finalized and not all(map(_is_twofold, gathered.candidates)):
        family = sass_family()  # rule T8
    candidates = gathered.candidates
    splitter = RecordSplitter()
    is_last = family.mercury_half is None
    sass = [
        _read(c, splitter, mercury=False) for c in (_used_up(candidates) if is_last else candidates)
    ]
    if is_finalized:
        check_same_toolkit(sass, toolkit)
    if any(obj.is_extensible for obj in sass):
        from cubinspec_writer.linker.inputs.extensible import check_extensible

        check_extensible(sass, options, family)
    code = []
    if family.mercury_half is not None:
        code = [_read(c, splitter, mercury=True) for c in _used_up(candidates)]
    if family.mercury_half is None:
        half = LinkState(Job(options, family, index, toolkit), sass, diagnostics, kernels)
        run_passes(half)
        _report(half)
        return LinkResult(direct.write(half), diagnostics.messages, gathered.hosts, half, None)
    job = Job(options, family.mercury_half, index, toolkit)
    from cubinspec_writer.linker.finalizer.relocations import follow  # from sm_100 on only
    from cubinspec_writer.linker.finalizer.translate import translate

    whole_job = Job(options, family, index, toolkit)
    follow(sass, code, diagnostics)
    translate(whole_job, sass, code)
    mercury = LinkState(job, code, diagnostics, kernels)
    run_passes(mercury)
    _report(mercury)
    # The SASS half has nothing to say that the Mercury half has not said.
    half = LinkState(whole_job, sass, Diagnostics(), kernels, mercury)
    run_passes(half)
    half.diagnostics.stop_late()
    # Imported here, as it brings the emitter, which links of one half do not need.
    from cubinspec_writer.linker.write import both_halves

    whole = both_halves.write(half, mercury)
    return LinkResult([whole], diagnostics.messages, gathered.hosts, half, mercury)


def tell_of_options(options: LinkOptions, diagnostics: Diagnostics) -> None:
    """Say what is told of options before an input is read."""
    if options.use_host_info and _names_kernels(options):
        diagnostics.info(
            "ignore -use-host-info because -kernels-used or -variables-used is specified"
        )
    if options.preserve_relocs and target_of(options, diagnostics).family.warns_of_preserved_relocs:
        diagnostics.warning(
            "Option '--preserve-relocs' is not fully implemented for gpu archtecture "
            f"'{options.arch}' and may not work as expected"
        )


def _used_up(candidates: list[Candidate]) -> Iterator[Candidate]:
    """All candidates, each of which is let go with its tables before the next one is taken."""
    candidates.reverse()
    while candidates:
        yield candidates.pop()


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
    for name in half.attributes.reserving:
        diagnostics.error(f"Function '{name}' uses reserved shared memory when not allowed.")
    diagnostics.stop_late()
    if options.relocatable and not all(map(_is_placed, half.symbols.numbered)):
        raise diagnostics.fatal("Internal error: reference to deleted section")  # rule R17
    if options.verbose:
        from cubinspec_writer.linker.reports import usage

        diagnostics.report("usage", usage.resource_lines(half))
    try:
        diagnostics.stop_on_errors()
    except LinkError as error:
        from cubinspec_writer.linker.reports import usage

        error.plain_dot = usage.plain_dot(half)
        raise


def _is_placed(item: Symbol | OutSection) -> bool:
    """Whether a symbol does not name a section that is not in the output."""
    section = item.section if isinstance(item, Symbol) else None
    return section is None or section.emitted


def _names_kernels(options: LinkOptions) -> bool:
    """Whether options say which kernels are wanted."""
    return any(listed(options.kernels_used)) or any(listed(options.variables_used))


def _kernel_filter(gathered: Gathered, options: LinkOptions) -> KernelFilter | None:
    """Which kernels are wanted: options come before what the host names (rule V7)."""
    if _names_kernels(options):
        from cubinspec_writer.linker.inputs.host import named_by_options

        return named_by_options(text for text in listed(options.kernels_used) if text)
    if options.ignore_host_info:
        return None
    if any(host.external is None for host in gathered.hosts):
        return None  # an input without such names, as any cubin is (rule V5)
    from cubinspec_writer.linker.inputs.host import named_by_host

    return named_by_host(gathered.hosts)


def _is_twofold(candidate: Candidate) -> bool:
    return has_mercury(candidate.elf)
