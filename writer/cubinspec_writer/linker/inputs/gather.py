"""The command line -> relocatable cubins of the target, in order.

Host objects, fatbins and archives are opened where they stand on the command line; every member
that holds code for the target is taken, needed or not (rule V1); PTX is assembled where there is no
code. What nvlink passes over in silence (empty files, finished executables, files that are cut or
broken) is passed over here too (rules B5, O3), with a note that `-v` shows.
"""

from __future__ import annotations

import os

from cubinspec.errors import CubinError
from cubinspec.format.targets import WRITTEN, Target, is_link_target, is_newer_toolkit, target
from cubinspec.reader.elf import Elf
from cubinspec_generated.codes import (
    EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET,
    ELFCLASS64,
    EM_CUDA,
    ET_REL,
    SHT_CUDA_COMPAT_INFO,
)
from cubinspec_writer.linker.diagnostics import Diagnostics, UnsupportedLinkError
from cubinspec_writer.linker.inputs.archives import check_host, identity, is_archive, readable_part
from cubinspec_writer.linker.inputs.host import HostObject, read_host_object, register_name
from cubinspec_writer.linker.inputs.options import LinkOptions
from cubinspec_writer.linker.inputs.read import has_mercury, open_object
from cubinspec_writer.linker.inputs.sources import Library, Named, contents
from cubinspec_writer.linker.library.notes import CUINFO, toolkit_of
from cubinspec_writer.linker.model import immediate, info_records
from cubinspec_writer.plain import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterable

    from cubinspec.containers.image import Image, Step
    from cubinspec.containers.source import Source
    from cubinspec_writer.linker.inputs.sources import Input

#: Library whose code goes when nothing refers to it (`--keep-system-libraries` keeps it).
SYSTEM_LIBRARY = "libcudadevrt.a"
_CONTAINERS = frozenset(("elf", "fatbin", "wrapper", "ar"))
#: Steps of an image's way that name a file or a part of one.
_FILES = frozenset(("file", "member", "compressed"))


@dataclass(slots=True)
class Candidate:
    """One relocatable cubin that takes part."""

    elf: Elf
    system: bool = False


@dataclass(slots=True)
class _Content:
    """What was found in a container: host objects, fatbins, code for the target."""

    has_hosts: bool = False
    has_images: bool = False
    is_taken: bool = False


@dataclass(slots=True)
class Gathered:
    """What a command line brings.

    Attributes:
        candidates: relocatable cubins for the target.
        hosts: all inputs as the host sees them, also those without code for the target.
    """

    candidates: list[Candidate] = field(default_factory=list)
    hosts: list[HostObject] = field(default_factory=list)


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


def gather(inputs: Iterable[Input], options: LinkOptions, diagnostics: Diagnostics) -> Gathered:
    """All relocatable cubins for the target, in link order.

    Raises:
        LinkError: no file is named (libraries alone do not count, rule M11), one cannot be opened
        or has
            code for another target only.
    """
    gatherer = _Gatherer(options, diagnostics)
    items = list(inputs)
    if all(isinstance(item, Library) for item in items):
        raise diagnostics.fatal(NO_INPUTS)
    for item in items:
        gatherer.add(item)
    return gatherer.found


NO_INPUTS = "No input files specified; use option --help for more information"


def _is_cubin(data: bytes) -> bool:
    """Whether bytes are a cubin at first sight; spares small links the import of `containers`."""
    return (
        data[:4] == b"\x7fELF"
        and data[_EI_CLASS : _EI_DATA + 1] in (b"\1\1", b"\2\1")
        and data[_E_MACHINE : _E_MACHINE + 2] == EM_CUDA.to_bytes(2, "little")
    )


def _sniffed(data: bytes) -> str:
    from cubinspec.containers.sniff import SNIFF_BYTES, sniff

    return sniff(data[:SNIFF_BYTES])


def _is_specific(elf: Elf) -> bool:
    """Whether a cubin is for an `a` variant, as its `.nv.compat` says."""
    index = elf.find_section(SHT_CUDA_COMPAT_INFO)
    found = info_records(elf.section_bytes(index)) if index is not None else []
    return any(
        record[1] == EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET and immediate(record) & 0xFF
        for record in found
    )


def _arch_of(elf: Elf) -> int:
    """The sm number in `e_flags`: bits 8-23 with EI_OSABI 0x41, bits 0-7 before."""
    flags = elf.ehdr[6]
    return (flags >> 8) & 0xFFFF if elf.ident[_EI_OSABI] == _OSABI_CUDA else flags & 0xFF


class _Gatherer:
    def __init__(self, options: LinkOptions, diagnostics: Diagnostics) -> None:
        self.options = options
        self.diagnostics = diagnostics
        self.target = target_of(options, diagnostics)
        self.found = Gathered()
        #: Archives that were read.
        self.archives: set[tuple[int, int]] = set()

    def add(self, item: Input) -> None:
        if isinstance(item, Library):
            self._library(item.name)
        elif isinstance(item, Named):
            self._file(item.name, item.data)
        elif isinstance(item, bytes):
            self._file(f"<input {len(self.found.candidates) + 1}>", item)
        else:
            path = os.fspath(item)
            mapped = self._mapped(path)
            if mapped is not None:
                self._cubin(path, mapped)
                return
            data = self._read(path)
            if not (is_archive(data) and self._is_repeated(path)):
                self._file(path, data)

    def _is_repeated(self, path: str) -> bool:
        """Whether an archive was read before, by this or by another name (rule V8)."""
        found = identity(path)
        if found is None or found in self.archives:
            return found is not None
        self.archives.add(found)
        return False

    def _read(self, path: str) -> bytes:
        """The bytes of a file; one that cannot be read ends the link (rule M12)."""
        try:
            return contents(path)
        except OSError:
            raise self.diagnostics.fatal(f"Could not open input file '{path}'") from None

    def _mapped(self, path: str) -> mmap.mmap | None:
        """A large cubin without a copy of it: its sections are copied one by one anyway."""
        try:
            if os.path.getsize(path) < _LARGE:
                return None
            with open(path, "rb") as file:
                if not _is_cubin(file.read(_E_MACHINE + 2)):
                    return None
                import mmap

                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError:
            return None

    def _library(self, name: str) -> None:
        """Take a library; one that is not there is passed over (rule V2)."""
        for folder in self.options.library_paths:
            path = os.path.join(folder, f"lib{name}.a")
            if os.path.isfile(path):
                data = self._read(path)
                if is_archive(data):
                    if self._is_repeated(path):
                        return
                    data = readable_part(data, self.diagnostics)
                if not self._container(path, data).has_hosts:
                    self.diagnostics.warning(
                        f"Skipping incompatible '{path}' when searching for -l{name}"
                    )
                return
        self.diagnostics.note(f"library '{name}' was not found; ignored")

    def _file(self, name: str, data: bytes) -> None:
        if is_archive(data):
            data = readable_part(data, self.diagnostics)
        kind = "cubin" if _is_cubin(data) else _sniffed(data)
        if kind == "empty":
            self.diagnostics.note(f"'{name}' is empty; ignored")
        elif kind == "cubin":
            self._cubin(name, data)
        elif kind == "ptx" and not self.target.family.links_ptx:  # rule T5
            self.diagnostics.note(f"'{name}' is PTX; ignored for '{self.options.arch}'")
        elif kind == "ptx":
            self._cubin(name, self._assemble(name, data))
        elif kind in _CONTAINERS:
            if kind == "elf":
                check_host(name, data, self.diagnostics)
            content = self._container(name, data)
            missing = content.has_images and not content.is_taken and kind != "ar"
            if missing and self.options.arch_warnings:
                # Rule T6.
                self.diagnostics.warning(f"SM Arch ('{self.options.arch}') not found in '{name}'")
        elif kind == "bitcode":
            raise UnsupportedLinkError(f"link-time optimisation ('{name}' is NVVM bitcode)")
        else:
            raise self.diagnostics.fatal(f"Could not open input file '{name}'")

    def _cubin(self, name: str, data: bytes | mmap.mmap) -> None:
        if len(data) > _EI_CLASS and data[_EI_CLASS] != ELFCLASS64:
            self._narrow(name, data)
            return
        try:
            elf = open_object(data, name)
            if elf.ehdr[0] != ET_REL:
                self.diagnostics.note(f"'{name}' is not relocatable; ignored")
                return
            elf.section_names  # noqa: B018 - a broken name table has to show here
        except CubinError as error:
            if self.target.family.strict_inputs:  # rule X2
                raise self.diagnostics.fatal(str(error)) from error
            self.diagnostics.note(f"ignored: {error}")
            return
        # The warning comes first (rule T7).
        if self.target.family.capsule and not has_mercury(elf):
            self.diagnostics.warning(
                f"Output is limited to run on SM Arch '{self.target.sm}' only due to limitations "
                f"in input file {name}"
            )
        # Code of the same group is accepted, unless it is newer (rules T1, T2, T3).
        if not self.target.links(_arch_of(elf), specific=_is_specific(elf)):
            raise self.diagnostics.fatal(
                f"Input file '{name}' arch does not match target '{self.options.arch}'"
            )
        self._check_toolkit(elf, name)
        self.found.candidates.append(Candidate(elf))
        self.found.hosts.append(HostObject(register_name(name)))

    def _narrow(self, name: str, data: bytes | mmap.mmap) -> None:
        """Refuse 32-bit objects; pass over what only says that it is one (err_class32)."""
        try:
            narrow = Elf(data, name)
            is_object = not narrow.is_64 and narrow.ehdr[0] == ET_REL and bool(narrow.section_names)
        except CubinError:
            is_object = False
        if is_object:
            raise self.diagnostics.fatal(f"Input file '{name}' size does not match target '-m64'")
        self.diagnostics.note(f"'{name}' is not a 64-bit file; ignored")

    def _check_toolkit(self, elf: Elf, name: str) -> None:
        """Refuse what a newer toolkit made, as nvlink 13.0 does."""
        if CUINFO in elf.section_names:
            made_by = toolkit_of(elf.section_bytes(elf.section_names.index(CUINFO)))
            if is_newer_toolkit(made_by):
                raise self.diagnostics.fatal(
                    f"Input file '{name}' newer than toolkit ({made_by} vs {WRITTEN.number})"
                )

    def _container(self, name: str, data: bytes) -> _Content:
        """Take the best image of every fatbin in a container."""
        system = os.path.basename(name) == SYSTEM_LIBRARY
        content = _Content()
        objects: dict[tuple[str, ...], HostObject] = {}

        def look(steps: tuple[Step, ...], source: Source, kind: str) -> None:
            if kind in ("elf", "fatbin", "wrapper"):
                is_host = kind == "elf"
                host = (
                    read_host_object(source, name) if is_host else HostObject(register_name(name))
                )
                host.system = system
                content.has_hosts |= is_host
                objects[tuple(step.name for step in steps)] = host

        groups: dict[tuple[str, ...], list[Image]] = {}
        with_code: set[tuple[str, ...]] = set()
        from cubinspec.containers.walk import images

        for image in images(data, name=name, visit=look):
            if image.entry is None:
                continue
            with_code.add(tuple(s.name for s in image.provenance if s.kind in _FILES))
            key = tuple(step.name for step in image.provenance if step.kind != "entry")
            groups.setdefault(key, []).append(image)
        for key, host in objects.items():
            if key not in with_code:
                host.register = ""
            self.found.hosts.append(host)
        if not content.has_hosts and not objects:
            self.found.hosts.append(HostObject(""))
        content.has_images = bool(groups)
        for group in groups.values():
            best = self._best(group)
            if best is None:
                if any(image.kind in ("nvvm", "lto") for image in group):
                    raise UnsupportedLinkError(f"link-time optimisation ('{name}')")
                continue
            member = _member_name(name, best)
            code = self._assemble(member, best.data) if best.kind == "ptx" else best.data
            elf = open_object(code, member)
            if elf.ehdr[0] == ET_REL:
                self._check_toolkit(elf, member)
                self.found.candidates.append(Candidate(elf, system))
                content.is_taken = True
        return content

    def _best(self, group: list[Image]) -> Image | None:
        """The image of the highest sm number that the target accepts.

        Of the same number, cubins come before PTX, then `a` variants before `f` before plain ones.

        Rule T4.
        """
        usable = []
        for image in group:
            arch = image.arch.replace("compute_", "sm_")
            own = target(arch) if image.kind in ("cubin", "ptx") else None
            if own is None:
                continue
            is_cubin = image.kind == "cubin"
            if is_cubin:
                accepted = self.target.links(own.sm, specific=own.is_specific)
            else:
                accepted = self.target.assembles(own)
            if accepted:
                usable.append((own.sm, is_cubin, _VARIANT_RANK[own.variant], image))
        if not usable:
            return None
        return max(usable, key=lambda u: u[:3])[3]

    def _assemble(self, name: str, data: bytes) -> bytes:
        """Assemble PTX with an external `ptxas`."""
        import subprocess
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory() as folder:
            source, result = Path(folder) / "input.ptx", Path(folder) / "output.cubin"
            source.write_bytes(data)
            # Family variants are assembled as the plain one (err_ptx_input on sm_100f).
            arch = self.options.arch.removesuffix("f")
            command = [self.options.ptxas, f"-arch={arch}", "-m64", "-c", str(source)]
            try:
                done = subprocess.run(
                    [*command, "-o", str(result)], capture_output=True, text=True, check=False
                )
            except OSError:
                raise UnsupportedLinkError(
                    f"PTX input '{name}' without ptxas (give --ptxas or put it on PATH)"
                ) from None
            if done.returncode:
                first = next(iter(done.stderr.splitlines()), "no message")
                raise self.diagnostics.fatal(f"ptxas failed on '{name}': {first}")
            return result.read_bytes()


_VARIANT_RANK = {"": 0, "f": 1, "a": 2}
_EI_CLASS, _EI_DATA, _EI_OSABI, _E_MACHINE = 4, 5, 7, 18
#: Bytes from which on a file is mapped instead of read.
_LARGE = 1 << 20
_OSABI_CUDA = 0x41


def _member_name(name: str, image: Image) -> str:
    members = [s.name for s in image.provenance if s.kind == "member"]
    return ":".join([name, *members])
