"""What a caller can ask of a link; names follow nvlink's options."""

from __future__ import annotations

from cubinspec_writer.plain import dataclass, field


@dataclass(slots=True)
class LinkOptions:
    """Options of one link.

    Attributes:
        arch: target, such as ``sm_90a``.
        relocatable: ``-r``: the output is an input of another link.
        debug: ``-g``: nothing is removed because nothing uses it. Debug sections are linked
            whenever present.
        preserve_relocs: ``--preserve-relocs``: resolved relocations are listed in
            ``.nv.resolvedrela.*`` sections.
        kernels_used: texts; kernels that have none of them in their name are dead (`*` fits
            anything). None or nothing: what host objects say, else all live.
        variables_used: texts; when there are any, kernels that `kernels_used` does not keep are
            dead. Variables stay, as with nvlink.
        ignore_host_info: keep kernels that no host object names.
        use_host_info: what is the default anyway: kernels that no host object names are dead, when
            all inputs are host objects that say what they use.
        warnings_are_errors: ``-Werror``.
        stack_warnings: warn when a kernel's stack size is unknown.
        warnings: whether there are warnings at all.
        arch_warnings: warn about inputs without code for the target.
        report_arch: name the target in every message.
        tkinfo: the linker's own tool note as bytes (a whole note); None makes our own.
        uidx: ``--uidx-file``: the bytes of the index of unified functions and data.
        library_paths: ``-L``: folders in which libraries are searched, in order.
        keep_system_libraries: keep the device runtime's code even when nothing refers to it.
        ptxas: the program that assembles PTX inputs.
        share_constants: equal constants of the compiler take their place once (`share`).
        drop_debug: ``--suppress-debug-info``: leave out names of shared variables, which
            ``debug`` keeps. Debug sections stay, as with nvlink.
        verbose: ``-v``: tell resources of kernels, and inputs that are ignored.
        dump_callgraph: ``--dump-callgraph``: tell who calls whom.
        demangle: write names in the call graph as in C++.
        arguments: text of the options as it stands in our own tool note.
    """

    arch: str
    relocatable: bool = False
    debug: bool = False
    preserve_relocs: bool = False
    kernels_used: list[str] | None = None
    variables_used: list[str] | None = None
    ignore_host_info: bool = False
    use_host_info: bool = False
    warnings_are_errors: bool = False
    stack_warnings: bool = True
    warnings: bool = True
    arch_warnings: bool = True
    report_arch: bool = False
    tkinfo: bytes | None = None
    uidx: bytes | None = None
    arguments: str = ""
    library_paths: list[str] = field(default_factory=list)
    keep_system_libraries: bool = False
    ptxas: str = "ptxas"
    share_constants: bool = False
    drop_debug: bool = False
    verbose: bool = False
    dump_callgraph: bool = False
    demangle: bool = True


def debugger_sees(options: LinkOptions) -> bool:
    """Whether names of shared variables stay for a debugger (`-g`)."""
    return options.debug and not options.drop_debug
