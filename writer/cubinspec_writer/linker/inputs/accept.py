"""What a link accepts: its target, and the cubins that fit it."""

from __future__ import annotations

from cubinspec.format.attributes import immediate, split_records
from cubinspec.format.packing import sm_of
from cubinspec.format.targets import WRITTEN, Target, is_link_target, is_newer_toolkit, target
from cubinspec_generated.codes import (
    EI_CLASS,
    EI_DATA,
    EI_NIDENT,
    EI_OSABI,
    EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET,
    ELFCLASS32,
    ELFCLASS64,
    ELFDATA2LSB,
    EM_CUDA,
    SHT_CUDA_COMPAT_INFO,
)
from cubinspec_writer.linker.library.notes import CUINFO, toolkit_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.reader.elf import Elf
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.options import LinkOptions

#: Class and byte order of a cubin.
_CUBIN_IDENTS = (bytes((ELFCLASS32, ELFDATA2LSB)), bytes((ELFCLASS64, ELFDATA2LSB)))
_MACHINE = slice(EI_NIDENT + 2, EI_NIDENT + 4)
#: How many bytes of a file tell whether it is a cubin.
HEAD_BYTES = _MACHINE.stop


def target_of(options: LinkOptions, diagnostics: Diagnostics) -> Target:
    """The target of the link.

    Raises:
        LinkError: no or an unknown architecture was asked for.
    """
    if not options.arch:
        raise diagnostics.fatal("Unknown arch name '(null)'")
    if options.arch.startswith(("lto_", "compute_")):
        raise diagnostics.fatal(
            f"Link target of '{options.arch}' is virtual target that is not JIT-able; "
            "use 'sm_' target instead"
        )
    found = target(options.arch)
    if found is None or not is_link_target(found):
        raise diagnostics.fatal(f"Value '{options.arch}' is not defined for option 'arch'")
    return found


def is_cubin(data: bytes) -> bool:
    """Whether bytes start like a cubin; so small links need no import of `containers`."""
    return (
        data[:EI_CLASS] == b"\x7fELF"
        and data[EI_CLASS : EI_DATA + 1] in _CUBIN_IDENTS
        and data[_MACHINE] == EM_CUDA.to_bytes(2, "little")
    )


def fits(wanted: Target, elf: Elf) -> bool:
    """Whether a link for a target accepts a cubin (rules T1, T2, T3).

    Code of the same group is accepted, unless it is newer.
    """
    _, _, _, _, _, _, e_flags, *_ = elf.ehdr
    return wanted.links(sm_of(elf.ident[EI_OSABI], e_flags), specific=_is_specific(elf))


def _is_specific(elf: Elf) -> bool:
    """Whether a cubin is for an `a` variant, as its `.nv.compat` says."""
    index = elf.find_section(SHT_CUDA_COMPAT_INFO)
    found = split_records(elf.section_bytes(index)) if index is not None else []
    return any(
        record[1] == EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET and immediate(record) & 0xFF
        for record in found
    )


def check_toolkit(elf: Elf, name: str, diagnostics: Diagnostics) -> None:
    """Refuse a cubin that a newer toolkit made.

    Raises:
        LinkError: its note says so.
    """
    if CUINFO in elf.section_names:
        made_by = toolkit_of(elf.section_bytes(elf.section_names.index(CUINFO)))
        if is_newer_toolkit(made_by):
            raise diagnostics.fatal(
                f"Input file '{name}' newer than toolkit ({made_by} vs {WRITTEN.number})"
            )
