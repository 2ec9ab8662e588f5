"""Pass 1a: the command line -> relocatable cubins of the target, in order.

Host objects, fatbins and archives are opened where they stand on the command line; every member
that holds code for the target is taken, needed or not. What nvlink passes over in silence (empty
files, finished executables, files that are cut or broken) is passed over here too, with a note that
`-v` shows.

Fixed from here on: the list of objects.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from cubinspec.containers.image import Image
from cubinspec.containers.sniff import SNIFF_BYTES, sniff
from cubinspec.containers.walk import images
from cubinspec.errors import CubinError
from cubinspec.reader.elf import ELFCLASS64, Elf
from cubinspec_generated.tables.arch import ARCHES

from .diagnostics import Diagnostics, UnsupportedLinkError
from .options import LinkOptions
from .plain import dataclass
from .profile import profile_for
from .read import ET_REL, has_mercury, open_object

#: Library whose code goes when nothing refers to it (`--keep-system-libraries` keeps it).
SYSTEM_LIBRARY = "libcudadevrt.a"
_CONTAINERS = frozenset(("elf", "fatbin", "wrapper", "ar"))


@dataclass(frozen=True, slots=True)
class Library:
    """A library to search for, as `-l` names it."""

    name: str


@dataclass(frozen=True, slots=True)
class Named:
    """Bytes that stand for a file."""

    name: str
    data: bytes


@dataclass(slots=True)
class Candidate:
    """One relocatable cubin that takes part."""

    elf: Elf
    system: bool = False


Input = str | os.PathLike[str] | bytes | Named | Library


def target_of(options: LinkOptions, diagnostics: Diagnostics) -> tuple[int, str]:
    """(sm number, variant) of the target.

    Raises:
        LinkError: no or an unknown architecture was asked for.
    """
    if not options.arch:
        raise diagnostics.fatal("Unknown arch name '(null)'")
    if options.arch.startswith(("lto_", "compute_")):
        raise UnsupportedLinkError("link-time optimisation")
    if options.arch not in ARCHES or ARCHES[options.arch][0] < _FIRST_TARGET:
        raise diagnostics.fatal(f"Value '{options.arch}' is not defined for option 'arch'")
    return ARCHES[options.arch]


#: Lowest target of nvlink 13.0.
_FIRST_TARGET = 75


def gather(
    inputs: Iterable[Input], options: LinkOptions, diagnostics: Diagnostics
) -> list[Candidate]:
    """All relocatable cubins for the target, in link order."""
    gatherer = _Gatherer(options, diagnostics)
    items = list(inputs)
    if not items:
        raise diagnostics.fatal("No input files specified; use option --help for more information")
    for item in items:
        gatherer.add(item)
    return gatherer.found


class _Gatherer:
    def __init__(self, options: LinkOptions, diagnostics: Diagnostics) -> None:
        self.options = options
        self.diagnostics = diagnostics
        self.target = target_of(options, diagnostics)
        self.found: list[Candidate] = []

    def add(self, item: Input) -> None:
        if isinstance(item, Library):
            self._library(item.name)
        elif isinstance(item, Named):
            self._file(item.name, item.data)
        elif isinstance(item, bytes):
            self._file(f"<input {len(self.found) + 1}>", item)
        else:
            path = os.fspath(item)
            try:
                data = Path(path).read_bytes()
            except OSError:
                raise self.diagnostics.fatal(f"Could not open input file '{path}'") from None
            self._file(path, data)

    def _library(self, name: str) -> None:
        for folder in self.options.library_paths:
            path = Path(folder) / f"lib{name}.a"
            if path.is_file():
                if not self._container(str(path), path.read_bytes()):
                    self.diagnostics.warning(
                        f"Skipping incompatible '{path}' when searching for -l{name}"
                    )
                return
        self.diagnostics.info(f"library '{name}' was not found; ignored")

    def _file(self, name: str, data: bytes) -> None:
        kind = sniff(data[:SNIFF_BYTES])
        if kind == "empty":
            self.diagnostics.info(f"'{name}' is empty; ignored")
        elif kind == "cubin":
            self._cubin(name, data)
        elif kind == "ptx" and self.target[0] < _PTX_FROM:
            self.diagnostics.info(f"'{name}' is PTX; ignored for '{self.options.arch}'")
        elif kind == "ptx":
            self._cubin(name, self._assemble(name, data))
        elif kind in _CONTAINERS:
            if not self._container(name, data) and kind == "fatbin":
                self.diagnostics.warning(f"SM Arch ('{self.options.arch}') not found in '{name}'")
        elif kind == "bitcode":
            raise UnsupportedLinkError(f"link-time optimisation ('{name}' is NVVM bitcode)")
        else:
            raise self.diagnostics.fatal(f"Could not open input file '{name}'")

    def _cubin(self, name: str, data: bytes) -> None:
        if len(data) > _EI_CLASS and data[_EI_CLASS] != ELFCLASS64:
            self.diagnostics.info(f"'{name}' is not a 64-bit file; ignored")
            return
        try:
            elf = open_object(data, name)
            if elf.ehdr[0] != ET_REL:
                self.diagnostics.info(f"'{name}' is not relocatable; ignored")
                return
            elf.section_names  # noqa: B018 - a broken name table has to show here
        except CubinError as error:
            if self.target[0] >= _STRICT_FROM:
                raise self.diagnostics.fatal(str(error)) from error
            self.diagnostics.info(f"ignored: {error}")
            return
        if profile_for(self.target[0]).mercury and not has_mercury(elf):
            self.diagnostics.warning(
                f"Output is limited to run on SM Arch '{self.target[0]}' only due to limitations "
                f"in input file {name}"
            )
        if not self._matches((elf.ehdr[6] >> 8) & 0xFFFF):
            raise self.diagnostics.fatal(
                f"Input file '{name}' arch does not match target '{self.options.arch}'"
            )
        self.found.append(Candidate(elf))

    def _matches(self, sm: int) -> bool:
        """Objects of the same generation run on the target when they are not newer."""
        return sm // 10 == self.target[0] // 10 and sm <= self.target[0]

    def _container(self, name: str, data: bytes) -> bool:
        """Take the best image of every fatbin in a container; False when there was none."""
        system = os.path.basename(name) == SYSTEM_LIBRARY
        groups: dict[tuple[str, ...], list[Image]] = {}
        for image in images(data, name=name):
            if image.entry is None:
                continue
            key = tuple(step.name for step in image.provenance if step.kind != "entry")
            groups.setdefault(key, []).append(image)
        taken = False
        for group in groups.values():
            best = self._best(group)
            if best is None:
                if any(image.kind in ("nvvm", "lto") for image in group):
                    raise UnsupportedLinkError(f"link-time optimisation ('{name}')")
                continue
            elf = open_object(best.data, _member_name(name, best))
            if elf.ehdr[0] == ET_REL:
                self.found.append(Candidate(elf, system))
                taken = True
        return taken

    def _best(self, group: list[Image]) -> Image | None:
        """The image for the target itself, or the newest one that runs on it."""
        usable = []
        for image in group:
            if image.kind != "cubin" or image.arch not in ARCHES:
                continue
            sm, variant = ARCHES[image.arch]
            if self._matches(sm):
                usable.append((sm, variant == self.target[1], image))
        if not usable:
            return None
        return max(usable, key=lambda u: u[:2])[2]

    def _assemble(self, name: str, data: bytes) -> bytes:
        """Assemble PTX with an external `ptxas`."""
        with tempfile.TemporaryDirectory() as folder:
            source, result = Path(folder) / "input.ptx", Path(folder) / "output.cubin"
            source.write_bytes(data)
            command = [self.options.ptxas, f"-arch={self.options.arch}", "-m64", "-c", str(source)]
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


#: First target for which PTX is assembled; nvlink ignores it below (case err_ptx_input).
_PTX_FROM = 90
_EI_CLASS = 4
#: From this target on a broken input is an error (nvlink itself crashes there).
_STRICT_FROM = 100


def _member_name(name: str, image: Image) -> str:
    members = [s.name for s in image.provenance if s.kind == "member"]
    return ":".join([name, *members])
