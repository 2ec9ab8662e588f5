"""What a caller can ask of a link; names follow nvlink's options."""

from __future__ import annotations

from cubinspec.values import ValueObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    from cubinspec.values import PathName

    #: Names, or a single one.
    Words = str | Iterable[str]
    #: Folders, or a single one.
    Folders = PathName | Iterable[PathName]

    class LinkSettings(TypedDict, total=False):
        """The fields of `LinkOptions` as keywords of `link`."""

        arch: str
        relocatable: bool
        debug: bool
        preserve_relocs: bool
        kernels_used: Words | None
        variables_used: Words | None
        ignore_host_info: bool
        use_host_info: bool
        warnings_are_errors: bool
        stack_warnings: bool
        warnings: bool
        extra_warnings: bool
        arch_warnings: bool
        report_arch: bool
        tkinfo: bytes | None
        uidx: bytes | None
        cpu_arch: str
        arguments: str
        library_paths: Folders | None
        keep_system_libraries: bool
        ptxas: str
        ptxas_options: Words | None
        toolkit: str | None
        share_constants: bool
        drop_debug: bool
        verbose: bool
        dump_callgraph: bool
        demangle: bool
        ignore_unlinkable: bool
        undefined_globals: bool
        reserve_shared: bool


#: How our own note names the tool that linked a file.
TOOL_VERSION = "cubinspec 0.1.0"


class LinkOptions(ValueObject):
    """Options of one link.

    Attributes:
        arch: target, such as ``sm_90a``.
        relocatable: ``-r``: the output is an input of another link.
        debug: ``-g``: keep functions that nothing uses. Debug sections are linked in any case.
        preserve_relocs: ``--preserve-relocs``: resolved relocations are listed in
            ``.nv.resolvedrela.*`` sections.
        kernels_used: ``--kernels-used``: parts of names (`*` matches any text); a kernel whose name
            contains none of them is removed. None or empty: the host objects decide, and without
            them every kernel stays.
        variables_used: ``--variables-used``: when it is not empty, kernels that `kernels_used` does
            not keep are removed. Variables always stay, as with nvlink.
        ignore_host_info: keep kernels that no host object names.
        use_host_info: remove kernels that no host object names, if every input is a host object
            that lists what it uses. This is the default; nvlink has the option, so we have it, too.
        warnings_are_errors: ``-Werror``.
        stack_warnings: warn when a kernel's stack size is unknown.
        warnings: whether there are warnings at all.
        extra_warnings: ``--extra-warnings``: warn of functions whose address is taken although no
            kernel calls them.
        arch_warnings: warn about inputs without code for the target.
        report_arch: name the target in every message.
        tkinfo: the whole tool note that names the linker; None: a note that names cubinspec.
        uidx: ``--uidx-file``: the bytes of the index of unified functions and data.
        cpu_arch: ``--cpu-arch``: the processor of the host; libraries without an object for it are
            passed over. ``unknown`` is X86_64.
        library_paths: ``-L``: folders in which libraries are searched, in order.
        keep_system_libraries: keep the device runtime's code even when nothing refers to it.
        ptxas: the program that assembles PTX inputs.
        ptxas_options: words for that program.
        toolkit: ``--toolkit``: the version of CUDA whose nvlink is imitated, such as ``13.2``;
            None: the newest toolkit that made an input, at least 13.0.
        share_constants: ``--share-constants``: store equal compiler constants once.
        drop_debug: ``--suppress-debug-info``: leave out names of shared variables, which
            ``debug`` keeps. Debug sections stay, as with nvlink.
        verbose: ``-v``: report the resources of kernels, and inputs that are ignored.
        dump_callgraph: ``--dump-callgraph``: report the call graph.
        demangle: write C++ names in the call graph instead of mangled ones.
        arguments: the command line as recorded in our own tool note.
        ignore_unlinkable: pass over files that are no relocatable cubin (executables, empty and
            broken files), as nvlink and the command line do without a message; otherwise they are
            errors.
        undefined_globals: ``--allow-undefined-globals``: variables may stay undefined.
        reserve_shared: count the shared memory that the hardware keeps for itself;
            ``--disable-smem-reservation`` does not.
    """

    __match_args__ = (
        "arch",
        "relocatable",
        "debug",
        "preserve_relocs",
        "kernels_used",
        "variables_used",
        "ignore_host_info",
        "use_host_info",
        "warnings_are_errors",
        "stack_warnings",
        "warnings",
        "extra_warnings",
        "arch_warnings",
        "report_arch",
        "tkinfo",
        "uidx",
        "cpu_arch",
        "arguments",
        "library_paths",
        "keep_system_libraries",
        "ptxas",
        "ptxas_options",
        "toolkit",
        "share_constants",
        "drop_debug",
        "verbose",
        "dump_callgraph",
        "demangle",
        "ignore_unlinkable",
        "undefined_globals",
        "reserve_shared",
    )
    __slots__ = __match_args__

    def __init__(
        self,
        arch: str,
        relocatable: bool = False,
        debug: bool = False,
        preserve_relocs: bool = False,
        kernels_used: Words | None = None,
        variables_used: Words | None = None,
        ignore_host_info: bool = False,
        use_host_info: bool = False,
        warnings_are_errors: bool = False,
        stack_warnings: bool = True,
        warnings: bool = True,
        extra_warnings: bool = False,
        arch_warnings: bool = True,
        report_arch: bool = False,
        tkinfo: bytes | None = None,
        uidx: bytes | None = None,
        cpu_arch: str = "unknown",
        arguments: str = "",
        library_paths: Folders | None = None,
        keep_system_libraries: bool = False,
        ptxas: str = "ptxas",
        ptxas_options: Words | None = None,
        toolkit: str | None = None,
        share_constants: bool = False,
        drop_debug: bool = False,
        verbose: bool = False,
        dump_callgraph: bool = False,
        demangle: bool = True,
        ignore_unlinkable: bool = False,
        undefined_globals: bool = False,
        reserve_shared: bool = True,
    ) -> None:
        self.arch = arch
        self.relocatable = relocatable
        self.debug = debug
        self.preserve_relocs = preserve_relocs
        self.kernels_used = kernels_used
        self.variables_used = variables_used
        self.ignore_host_info = ignore_host_info
        self.use_host_info = use_host_info
        self.warnings_are_errors = warnings_are_errors
        self.stack_warnings = stack_warnings
        self.warnings = warnings
        self.extra_warnings = extra_warnings
        self.arch_warnings = arch_warnings
        self.report_arch = report_arch
        self.tkinfo = tkinfo
        self.uidx = uidx
        self.cpu_arch = cpu_arch
        self.arguments = arguments
        self.library_paths: Folders = [] if library_paths is None else library_paths
        self.keep_system_libraries = keep_system_libraries
        self.ptxas = ptxas
        self.ptxas_options = ptxas_options
        self.toolkit = toolkit
        self.share_constants = share_constants
        self.drop_debug = drop_debug
        self.verbose = verbose
        self.dump_callgraph = dump_callgraph
        self.demangle = demangle
        self.ignore_unlinkable = ignore_unlinkable
        self.undefined_globals = undefined_globals
        self.reserve_shared = reserve_shared


def debugger_sees(options: LinkOptions) -> bool:
    """Whether names of shared variables stay for a debugger (`-g`)."""
    return options.debug and not options.drop_debug
