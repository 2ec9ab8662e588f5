"""What a link accepts: its target, and the cubins that fit it."""

from __future__ import annotations

from cubinspec.format.attributes import immediate, split_records
from cubinspec.format.notes import CUINFO, toolkit_in
from cubinspec.format.packing import sm_of
from cubinspec.format.targets import (
    WRITTEN,
    Target,
    Toolkit,
    is_link_target,
    linker_toolkits,
    target,
)
from cubinspec_generated.codes import (
    ABI_7,
    ABI_8,
    EF_CUDA_64BIT_ADDRESS,
    EF_CUDA_V2_ACCELERATORS,
    EI_ABIVERSION,
    EI_CLASS,
    EI_DATA,
    EI_NIDENT,
    EI_OSABI,
    EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET,
    EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION,
    ELFCLASS32,
    ELFCLASS64,
    ELFDATA2LSB,
    ELFOSABI_CUDA_V2,
    EM_CUDA,
    ET_EWP,
    ET_REL,
    FATBIN_MAGIC,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_INFO,
    SHT_NOTE,
    SHT_PROGBITS,
)
from cubinspec_generated.targets import ARCHITECTURES
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.inputs.sources import is_archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from cubinspec.reader.elf import Elf
    from cubinspec_writer.linker.diagnostics import Diagnostics, LinkError
    from cubinspec_writer.linker.inputs.options import LinkOptions
    from cubinspec_writer.linker.model import InputObject

#: Class and byte order of a cubin.
_CUBIN_IDENTS: Final = (bytes((ELFCLASS32, ELFDATA2LSB)), bytes((ELFCLASS64, ELFDATA2LSB)))
_MACHINE: Final = EI_NIDENT + 2
#: How many bytes of a file tell whether it is a cubin.
HEAD_BYTES: Final = _MACHINE + 2
_ELF: Final = b"\x7fELF"
_CUDA: Final = EM_CUDA.to_bytes(2, "little")
_FATBIN: Final = FATBIN_MAGIC.to_bytes(4, "little")
#: Of every file nvlink first reads so many bytes; an empty one it passes over.
_LEAST_BYTES: Final = 56  # not a spec number: a buffer of nvlink

#: What is said of a file that is named .ptx and is none (rule K14).
_NOT_PTX = "Binary format for key='0', ident='' is not recognized"
_NO_KNOWN_KIND = "Can't load this binary kind, as it's not recognized"
#: Frames of the Mercury half, and bytes of the number of a section in front of a capsule.
_FRAMES, _WORD = ".nv.merc.debug_frame", 4
#: Names of files that nvlink takes for cubins.
CUBIN_NAMES = (".cubin", ".o")
#: Names of files for link-time optimisation.
_NVVM = "should only see nvvm files when -lto"
_REFUSED = {".ltoir": _NVVM, ".nvvm": _NVVM, ".bc": "should never see bc files"}


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
        data[:EI_CLASS] == _ELF
        and data[EI_CLASS : EI_DATA + 1] in _CUBIN_IDENTS
        and data[_MACHINE:HEAD_BYTES] == _CUDA
    )


def fits(wanted: Target, elf: Elf) -> bool:
    """Whether a link for a target accepts a cubin (rules T1, T2, T3, T11).

    Code of the same group is accepted, unless it is newer.
    """
    _, _, _, _, _, _, e_flags, *_ = elf.ehdr
    sm = sm_of(elf.ident[EI_OSABI], e_flags)
    if sm == wanted.sm:
        return True
    known = ARCHITECTURES.get(sm)
    if known is not None and known.renamed_to == wanted.sm:
        return True
    return wanted.links(sm, specific=is_specific(elf))


def is_specific(elf: Elf) -> bool:
    """Whether a cubin is for an `a` variant: before CUDA 13 a flag says it, later `.nv.compat`."""
    _, _, _, _, _, _, e_flags, *_ = elf.ehdr
    if elf.ident[EI_OSABI] == ELFOSABI_CUDA_V2 and e_flags & EF_CUDA_V2_ACCELERATORS:
        return True
    index = elf.find_section(SHT_CUDA_COMPAT_INFO)
    found = split_records(elf.section_bytes(index)) if index is not None else []
    return any(
        record[1] == EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET and immediate(record) & 0xFF
        for record in found
    )


def check_form(elf: Elf, name: str, diagnostics: Diagnostics) -> None:
    """Refuse another form of cubins than that of CUDA 5 to 12 and that of CUDA 13 (rule T12).

    Raises:
        LinkError: the version of the ABI is another one, or the target has the number 0.
    """
    _, _, _, _, _, _, e_flags, *_ = elf.ehdr
    os_abi = elf.ident[EI_OSABI]
    is_new = os_abi == ELFOSABI_CUDA_V2
    if not is_new and not e_flags & EF_CUDA_64BIT_ADDRESS:
        diagnostics.warning(f"expected 64bit object '{name}' to have EF_CUDA_64BIT_ADDRESS set")
    if elf.ident[EI_ABIVERSION] != (ABI_8 if is_new else ABI_7):
        raise diagnostics.fatal(f"Input file '{name}' abi does not match")
    if not sm_of(os_abi, e_flags):
        raise diagnostics.fatal("Unknown arch name 'sm_0'")


def newest_input(options: LinkOptions) -> int:
    """The number of the newest toolkit whose cubins the link takes.

    Raises:
        UnsupportedLinkError: the nvlink of that toolkit is not imitated, or not for this target or
            with these options.
    """
    known = linker_toolkits()
    found = target(options.arch)
    is_twofold = found is not None and found.family.mercury_half is not None
    if options.toolkit is None:
        return [*known.values()][-1].number
    asked = known.get(options.toolkit)
    if asked is None:
        raise UnsupportedLinkError(f"the nvlink of CUDA {options.toolkit}")
    if is_twofold and asked.number < WRITTEN.number:
        raise UnsupportedLinkError(f"the nvlink of CUDA {options.toolkit} for {options.arch}")
    if not asked.known_with_options:
        for flag, is_given in _unknown_options(options):
            if is_given:
                raise UnsupportedLinkError(f"{flag} of the nvlink of CUDA {options.toolkit}")
    return asked.number


def _unknown_options(options: LinkOptions) -> tuple[tuple[str, bool], ...]:
    """Options that change much, and that nvJitLink does not take or was seen to do otherwise."""
    return (
        ("-r", options.relocatable),
        ("--preserve-relocs", options.preserve_relocs),
        ("-g", options.debug),
    )


def toolkit_for(options: LinkOptions, newest: int) -> Toolkit:
    """Whose nvlink the link imitates.

    Args:
        newest: the number of the newest toolkit that made an input.
    """
    known = linker_toolkits()
    if options.toolkit is not None:
        return known[options.toolkit]
    latest = max(newest, WRITTEN.number)
    return [toolkit for toolkit in known.values() if toolkit.number <= latest][-1]


def check_toolkit(
    elf: Elf, name: str, target: Target, newest: int, diagnostics: Diagnostics
) -> int:
    """The number of the toolkit that made a cubin; 0 when it does not say.

    Before CUDA 13 the version in the ELF header is that of the toolkit. From sm_100 on a later one
    there is refused in any object.

    Args:
        newest: the number of the newest toolkit that may have made it.

    Raises:
        LinkError: a newer toolkit made it, or one that is too old for the target (rule O5).
    """
    _, _, version, *_ = elf.ehdr
    made_by = version
    if elf.ident[EI_OSABI] == ELFOSABI_CUDA_V2:
        made_by = _version_in_note(elf)
    # With a toolkit of its own the input may choose the linker, but with its header it does not.
    of_header = min(newest, max(made_by, WRITTEN.number))
    for number, limit in ((made_by, newest), (version if target.family.capsule else 0, of_header)):
        if number > limit:
            shown = number - (number >> 31 << 32)  # nvlink shows a signed number
            raise diagnostics.fatal(f"Input file '{name}' newer than toolkit ({shown} vs {limit})")
    oldest = target.family.oldest_toolkit
    if made_by < oldest:
        raise too_old(name, target, diagnostics)
    return made_by


def check_same_toolkit(objects: Iterable[InputObject], toolkit: Toolkit) -> None:
    """Refuse inputs of older toolkits where the finalizer is a later one than that of CUDA 13.0.

    It makes other code of theirs, in ways that are not known (rule K25).

    Raises:
        UnsupportedLinkError: there is one.
    """
    if toolkit.number <= WRITTEN.number:
        return
    for obj in objects:
        if obj.toolkit != toolkit.number:
            major, minor = divmod(obj.toolkit, 10)
            raise UnsupportedLinkError(
                f"code of CUDA {major}.{minor} ('{obj.name}') in a link of CUDA {toolkit.version}"
            )


def check_program(made_by: int, toolkit: Toolkit, diagnostics: Diagnostics) -> None:
    """Refuse an extensible whole program of another toolkit than the linker's (rule O10).

    Args:
        made_by: the number of the toolkit that made the program.

    Raises:
        LinkError: they differ.
    """
    if made_by != toolkit.number:
        raise diagnostics.fatal("linking with -ewp objects requires using current toolkit")


def too_old(name: str, target: Target, diagnostics: Diagnostics) -> LinkError:
    """The error about an input that a toolkit made which is too old for the target."""
    oldest = target.family.oldest_toolkit
    return diagnostics.fatal(
        f"Input file '{name}' must be recompiled with toolkit >= Cuda {oldest // 10}.{oldest % 10}"
    )


def _version_in_note(elf: Elf) -> int:
    """The toolkit in the CUDA note; 0 without one."""
    names = elf.section_names
    if CUINFO not in names:
        return 0
    index = names.index(CUINFO)
    _, sh_type, *_ = elf.section_rows[index]
    return toolkit_in(elf.section_bytes(index)) if sh_type == SHT_NOTE else 0


def check_mercury(elf: Elf, name: str, target: Target, diagnostics: Diagnostics) -> None:
    """Refuse what the finalizer does not take (rules M19, M24).

    Raises:
        LinkError: the header has an unknown type, `.nv.compat` a new version, the frames of the
            Mercury half another form of DWARF, or the code of a function is no code.
    """
    e_type, *_ = elf.ehdr
    if not target.family.capsule:
        return
    if e_type not in (ET_REL, ET_EWP):
        raise diagnostics.fatal(f"Internal FNLZR error '{name}'")
    index = elf.find_section(SHT_CUDA_COMPAT_INFO)
    for record in split_records(elf.section_bytes(index)) if index is not None else ():
        is_version = record[1] == EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION
        if is_version and immediate(record) > target.family.mercury_isa:
            raise diagnostics.fatal(f"Internal FNLZR error '{name}'")
    _check_halves(elf, name, diagnostics)


def _check_halves(elf: Elf, name: str, diagnostics: Diagnostics) -> None:
    """Refuse frames and code of the Mercury half that cannot be finalized (rules M24, X2)."""
    from cubinspec_writer.linker.finalizer.frames import is_long_form  # from sm_100 on only

    for number, section in enumerate(elf.section_rows):
        _, sh_type, _, _, at, size, *_ = section
        if at + size > elf.size:
            continue
        if elf.section_names[number] == _FRAMES:
            if not is_long_form(bytes(elf.section_bytes(number))):
                text = "Dwarf version 2 is not supported"
                raise diagnostics.fatal(text, f"Internal FNLZR error '{name}'")
        elif sh_type == SHT_CUDA_CAPMERC and size >= _WORD:
            code = int.from_bytes(elf.section_bytes(number)[:_WORD], "little")
            if code >= len(elf.section_rows):
                which = elf.section_names[number]
                raise UnsupportedLinkError(f"'{which}' in '{name}', whose SASS is no section")
            _, kind, *_ = elf.section_rows[code]
            if kind != SHT_PROGBITS and kind < SHT_CUDA_INFO:
                raise diagnostics.fatal("Internal error: section not mapped")


def check_name(name: str, data: bytes, toolkit: Toolkit, diagnostics: Diagnostics) -> None:
    """Refuse a file whose name promises something else than it holds (rules M21, K14).

    Raises:
        LinkError: nvlink refuses it.
    """
    if not data:
        return
    if len(data) < _LEAST_BYTES and not is_archive(data):
        raise diagnostics.fatal(f"Could not open input file '{name}'")
    kind = name[name.rfind(".") :]
    text = _REFUSED.get(kind)
    if kind == ".cubin" and not data.startswith(_ELF):
        text = "cubin not an elf?"
    elif kind == ".cubin" and data[_MACHINE:HEAD_BYTES] != _CUDA:
        text = "cubin not a device elf?"
    elif kind == ".fatbin" and not data.startswith(_FATBIN):
        text = "fatbin wrong format?"
    elif kind == ".ptx" and not _is_code(data):
        diagnostics.error(_NOT_PTX if toolkit.tells_identity else _NO_KNOWN_KIND)
        text = "elfLink fatbinary error"
    if text is not None:
        raise diagnostics.fatal(text)


def _is_code(data: bytes) -> bool:
    """Whether a file is a cubin, a fatbin or PTX."""
    from cubinspec.containers.sniff import SNIFF_BYTES, sniff

    is_device = data.startswith(_ELF) and data[_MACHINE:HEAD_BYTES] == _CUDA
    return is_device or sniff(data[:SNIFF_BYTES]) in ("fatbin", "ptx")


def holds_nothing(name: str) -> bool:
    """Whether nvlink passes over a broken cubin of this name (rules O3, M21)."""
    base = name[name.rfind("/") + 1 :]
    return "." not in base or base.endswith((".cubin", ".o", ".so"))


def is_named_otherwise(name: str, data: bytes, links_ptx: bool) -> bool:
    """Whether nvlink passes over what a file of this name holds (rule M21).

    Args:
        links_ptx: what a file named `.ptx` holds is linked for the target.
    """
    base = name[name.rfind("/") + 1 :]
    if base.endswith(".ptx"):
        return not links_ptx and (is_cubin(data) or data.startswith(_FATBIN))
    if is_cubin(data):
        return not base.endswith(CUBIN_NAMES) and _is_whole(name, data)
    if data.startswith(_FATBIN):
        return not base.endswith(".fatbin")
    is_object = data.startswith(_ELF)
    return (is_object or is_archive(data)) and (
        "." not in base or (is_object and base.endswith(".so"))
    )


def _is_whole(name: str, data: bytes) -> bool:
    """Whether the tables of a cubin can be read."""
    from cubinspec.errors import CubinError
    from cubinspec.reader.elf import Elf

    try:
        return bool(Elf(data, name).section_names)
    except CubinError:
        return False
