"""What a caller can ask of a link; names follow nvlink's options."""

from __future__ import annotations

from .plain import dataclass, field


@dataclass(slots=True)
class LinkOptions:
    """Options of one link.

    Attributes:
        arch: target, such as ``sm_90a``.
        relocatable: ``-r``: the output is an input of another link.
        debug: ``-g``: recorded in the tool note only; debug sections are linked whenever present.
        preserve_relocs: ``--preserve-relocs``: resolved relocations are listed in
            ``.nv.resolvedrela.*`` sections.
        kernels_used: substrings; entries that contain none of them are dead (None: all live).
        warnings_are_errors: ``-Werror``.
        stack_warnings: warn when a kernel's stack size is unknown.
        tkinfo: the linker's own tool note as bytes (a whole note); None makes our own.
        library_paths: ``-L``: folders in which libraries are searched, in order.
        keep_system_libraries: keep the device runtime's code even when nothing refers to it.
        ptxas: the program that assembles PTX inputs.
        arguments: text of the options as it stands in our own tool note.
    """

    arch: str
    relocatable: bool = False
    debug: bool = False
    preserve_relocs: bool = False
    kernels_used: list[str] | None = None
    warnings_are_errors: bool = False
    stack_warnings: bool = True
    tkinfo: bytes | None = None
    arguments: str = ""
    library_paths: list[str] = field(default_factory=list)
    keep_system_libraries: bool = False
    ptxas: str = "ptxas"
