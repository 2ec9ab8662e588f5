"""Opens the inputs of the command line: the relocatable cubins for the target, in order.

Host objects, fatbins and archives are opened where they stand on the command line, and every member
with code for the target is taken, needed or not (rule V1). PTX is assembled where a fatbin has no
code. Inputs that nvlink ignores without a message (empty files, finished executables, files that
are cut or broken) are ignored here too (rules B5, O3), with a note that `-v` shows.
"""

from __future__ import annotations

import os

from cubinspec.errors import CubinError, NotCubinError
from cubinspec.format.targets import WRITTEN
from cubinspec.limits import READ_WHOLE_BYTES
from cubinspec.reader.elf import Elf
from cubinspec.values import listed
from cubinspec_generated.codes import EI_CLASS, EI_NIDENT, ELFCLASS64, ET_EWP, ET_EXEC
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.inputs.accept import (
    CUBIN_NAMES,
    HEAD_BYTES,
    check_form,
    check_mercury,
    check_name,
    check_program,
    check_toolkit,
    fits,
    holds_nothing,
    is_cubin,
    is_named_otherwise,
    is_specific,
    newest_input,
    target_of,
    too_old,
    toolkit_for,
)
from cubinspec_writer.linker.inputs.read import (
    has_headers,
    has_mercury,
    lacks_symbols,
    open_object,
)
from cubinspec_writer.linker.inputs.sources import (
    HostObject,
    Library,
    Named,
    contents,
    is_archive,
    register_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from cubinspec.files import FileBytes
    from cubinspec.format.targets import Toolkit
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.images import Content
    from cubinspec_writer.linker.inputs.options import LinkOptions
    from cubinspec_writer.linker.inputs.sources import Input

NO_INPUTS: Final = "No input files specified; use option --help for more information"
_CONTAINERS: Final = frozenset(("elf", "fatbin", "wrapper", "ar"))


class Candidate:
    """One relocatable cubin that takes part.

    Attributes:
        elf: the opened file.
        system: whether it comes from the library of the device runtime.
    """

    __slots__ = ("elf", "system")

    def __init__(self, elf: Elf, system: bool = False) -> None:
        self.elf: Elf = elf
        self.system: bool = system


class Gathered:
    """The inputs of a link.

    Attributes:
        candidates: relocatable cubins for the target.
        hosts: all inputs as the host program sees them, also those without code for the target.
        newest: the number of the newest toolkit that made one of them; 0 when none says it.
    """

    __slots__ = ("candidates", "hosts", "newest")

    def __init__(
        self, candidates: list[Candidate], hosts: list[HostObject], newest: int = 0
    ) -> None:
        self.candidates: list[Candidate] = candidates
        self.hosts: list[HostObject] = hosts
        self.newest: int = newest


def gather(
    inputs: Input | Iterable[Input], options: LinkOptions, diagnostics: Diagnostics
) -> Gathered:
    """All relocatable cubins for the target, in link order.

    Raises:
        LinkError: no file is named (libraries alone do not count, rule M11), one cannot be opened
            or has code for another target only.
    """
    gatherer = _Gatherer(options, diagnostics)
    items: list[Input]
    if isinstance(inputs, str | bytes | os.PathLike | Named | Library):
        items = [inputs]  # not the letters of a path
    else:
        items = list(inputs)
    if all(isinstance(item, Library) for item in items):
        raise diagnostics.fatal(NO_INPUTS)
    # All libraries are looked for before a file is read, and are read behind all files (rule V10).
    libraries = [gatherer.search(item.name) for item in items if isinstance(item, Library)]
    for item in items:
        if not isinstance(item, Library):
            gatherer.add(item)
    for path in libraries:
        if path is not None:
            gatherer.add_library(path)
    if gatherer.lacks_symbols:
        raise diagnostics.fatal("Internal error: symsec not found")
    for made_by in gatherer.programs:
        check_program(made_by, gatherer.toolkit(), diagnostics)
    return gatherer.found


def is_relocatable(elf: Elf) -> bool:
    """Whether a cubin is an input of a link, not the output of one (rule O8)."""
    e_type, *_ = elf.ehdr
    return e_type != ET_EXEC


def _sniffed(data: bytes) -> str:
    from cubinspec.containers.sniff import SNIFF_BYTES, sniff

    return sniff(data[:SNIFF_BYTES])


class _Gatherer:
    """Opens one input after the other.

    Attributes:
        found: what was taken so far.
        archives: the archives that were read.
        programs: the numbers of the toolkits that made extensible whole programs, and what comes
            behind the first of them.
        passed: names of device runtimes in front of all code, which no `-l` finds again.
        has_code: whether an input had device code, be it for other targets.
        is_closed: nothing needed the device runtime when it was met, so that no object may follow.
        lacks_symbols: an object has no symbol table, which is told when all inputs are read.
    """

    def __init__(self, options: LinkOptions, diagnostics: Diagnostics) -> None:
        self.options = options
        self.diagnostics = diagnostics
        self.target = target_of(options, diagnostics)
        self.found = Gathered([], [])
        self.limit = newest_input(options)
        #: By the number of the newest toolkit that made an input.
        self._toolkits: dict[int, Toolkit] = {}
        self.archives: set[tuple[int, int]] = set()
        self.programs: set[int] = set()
        self.passed: set[str] = set()
        self.has_code: bool = False
        self.is_closed: bool = False
        self.lacks_symbols: bool = False

    def toolkit(self) -> Toolkit:
        """Whose nvlink the link imitates, by the inputs so far."""
        newest = self.found.newest
        found = self._toolkits.get(newest)
        if found is None:
            found = self._toolkits[newest] = toolkit_for(self.options, newest)
        return found

    def add(self, item: str | bytes | os.PathLike[str] | Named) -> None:
        """Take one input of the command line that is no library."""
        if isinstance(item, Named):
            check_name(item.name, item.data, self.toolkit(), self.diagnostics)
            self._file(item.name, item.data)
        elif isinstance(item, bytes):
            self._file(f"<input {len(self.found.candidates) + 1}>", item)
        else:
            path = os.fspath(item)
            large = self._large(path)
            if large is not None:
                self._cubin(path, large)
                return
            data = self._read(path)
            if not (is_archive(data) and self._is_repeated(path)):
                check_name(path, data, self.toolkit(), self.diagnostics)
                links_ptx = self.target.family.links_ptx
                if self.options.ignore_unlinkable and is_named_otherwise(path, data, links_ptx):
                    self._pass_over(path, f"'{path}' is no name for what the file holds")
                else:
                    self._file(path, data)

    def _is_repeated(self, path: str) -> bool:
        """Whether an archive was read before, by this or by another name (rule V8)."""
        from cubinspec_writer.linker.inputs.archives import identity

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

    def _readable(self, archive: bytes) -> bytes:
        """The part of an archive that nvlink reads."""
        from cubinspec_writer.linker.inputs.archives import readable_part

        return readable_part(archive, self.diagnostics)

    def _large(self, path: str) -> FileBytes | None:
        """A large cubin, of which the sections are read one by one."""
        try:
            if os.path.getsize(path) <= READ_WHOLE_BYTES or not path.endswith(CUBIN_NAMES):
                return None
            from cubinspec.files import open_file

            data = open_file(path)
        except (OSError, CubinError):
            return None
        return None if isinstance(data, bytes) or not is_cubin(data[:HEAD_BYTES]) else data

    def _serves(self, library: bytes) -> bool:
        """Whether a library has objects for the processor of the host."""
        from cubinspec_writer.linker.inputs.archives import serves

        return serves(library, self.options.cpu_arch, self.diagnostics)

    def search(self, name: str) -> str | None:
        """The path of a library; one that is not there is passed over (rule V2)."""
        for folder in listed(self.options.library_paths):
            path = os.path.join(folder, f"lib{name}.a")
            if not os.path.isfile(path):
                continue
            library = self._read(path)
            if self.diagnostics.has_errors():  # rule M27
                raise self.diagnostics.fatal("elfLink internal error")
            if self._serves(library):
                return path
            self.diagnostics.warning(f"Skipping incompatible '{path}' when searching for -l{name}")
        self.diagnostics.note(f"library '{name}' was not found; ignored")
        return None

    def add_library(self, path: str) -> None:
        """Take a library that was found."""
        if path not in self.passed and not self._is_repeated(path):
            self._container(path, self._readable(self._read(path)))

    def _file(self, name: str, data: bytes) -> None:
        """Take a file by its contents."""
        if is_archive(data):
            data = self._readable(data)
        kind = "cubin" if is_cubin(data) else _sniffed(data)
        if kind == "ptx" and self.options.ignore_unlinkable and not name.endswith(".ptx"):
            kind = "unknown"  # the name tells PTX, not the contents (rule T5)
        if kind == "empty":
            self._pass_over(name, f"'{name}' is empty")
        elif kind == "cubin":
            self._cubin(name, data)
        elif kind == "ptx" and not self.target.family.links_ptx:
            self._try_to_assemble(name, data)
            self._pass_over(name, f"'{name}' is PTX, which is not linked for '{self.options.arch}'")
        elif kind == "ptx":
            self._cubin(name, self._assemble(name, data))
        elif kind in _CONTAINERS:
            if kind == "elf":
                from cubinspec_writer.linker.inputs.archives import check_host, is_narrow_object

                if is_narrow_object(data):
                    self._pass_over(name, f"'{name}' is an object of a 32-bit host")
                    return
                check_host(name, data, self.diagnostics)
            content, is_taken = self._container(name, data)
            missing = content.groups and not is_taken and kind != "ar"
            if missing and self.options.arch_warnings:
                # Rule T6.
                self.diagnostics.warning(f"SM Arch ('{self.options.arch}') not found in '{name}'")
        elif kind == "bitcode":
            raise UnsupportedLinkError(f"link-time optimisation ('{name}' is NVVM bitcode)")
        else:
            # Names that promise a kind of file were handled above (rules M12, M21).
            self._pass_over(name, f"'{name}' is no object, fatbin, archive or PTX")

    def _pass_over(self, name: str, reason: str) -> None:
        """Ignore a file that cannot be linked, as nvlink does; or refuse it.

        Raises:
            NotCubinError: `ignore_unlinkable` is not set.
        """
        if not self.options.ignore_unlinkable:
            raise NotCubinError(
                reason,
                file=name,
                expected="a relocatable cubin (nvcc -dc, ptxas -c), or ignore_unlinkable=True",
            )
        self.diagnostics.note(f"{reason}; ignored")

    def _cubin(self, name: str, data: bytes | FileBytes) -> None:
        """Take a cubin that is an input by itself."""
        if len(data) > EI_CLASS and data[:EI_NIDENT][EI_CLASS] != ELFCLASS64:
            self._narrow(name, data)
            return
        try:
            elf = open_object(data, name)
            if not is_relocatable(elf):
                self._pass_over(name, f"'{name}' is not relocatable")
                return
            elf.section_names  # noqa: B018 - a broken name table has to show here
        except CubinError as error:
            if not self.options.ignore_unlinkable:
                raise
            strict = self.target.family.strict_inputs
            if strict and name.endswith(CUBIN_NAMES):  # rule X2
                raise self.diagnostics.fatal(str(error)) from error
            if has_headers(data) and not strict:
                if not lacks_symbols(data):
                    raise
                if self.toolkit().needs_symbols or name.endswith(".ptx"):  # rule K13
                    self._without_symbols(name, data)
                    return
            self._break_off(name)
            self.diagnostics.note(f"ignored: {error}")
            return
        self._check_target(elf, name)
        self._note_toolkit(elf, name)
        self._take(Candidate(elf))
        self.found.hosts.append(HostObject(register_name(name)))

    def _check_target(self, elf: Elf, name: str) -> None:
        """Warn of code without a Mercury half (rule T7), then refuse code for another target.

        Rule K37.
        """
        if self.target.family.capsule and not has_mercury(elf):
            self.diagnostics.warning(
                f"Output is limited to run on SM Arch '{self.target.sm}' only due to limitations "
                f"in input file {name}"
            )
        check_form(elf, name, self.diagnostics)
        is_parted = self.toolkit().parts_variants and not self.target.is_specific
        if is_parted and is_specific(elf):
            raise self.diagnostics.fatal("cannot link accelerated arch to non-accelerated")
        if not fits(self.target, elf):
            raise self.diagnostics.fatal(
                f"Input file '{name}' arch does not match target '{self.options.arch}'"
            )

    def _without_symbols(self, name: str, data: bytes | FileBytes) -> None:
        """Note an object without a symbol table, which ends the link below sm_100 (rule O9).

        Raises:
            LinkError: it is too old, or for another target.
        """
        try:
            elf = Elf(data, name)
            elf.section_names  # noqa: B018 - a broken name table has to show here
        except CubinError:
            if self.target.family.oldest_toolkit:  # no note says what made it
                raise too_old(name, self.target, self.diagnostics) from None
        else:
            self._check_target(elf, name)
            self._note_toolkit(elf, name)
        self.lacks_symbols = True

    def _note_toolkit(self, elf: Elf, name: str) -> None:
        made_by = check_toolkit(elf, name, self.target, self.limit, self.diagnostics)
        self.found.newest = max(self.found.newest, made_by)
        e_type, *_ = elf.ehdr
        if e_type == ET_EWP or self.programs:
            self.programs.add(made_by)
            # Without `--toolkit` a later input may still ask for a newer linker.
            if self.options.toolkit is not None or made_by < WRITTEN.number:
                check_program(made_by, self.toolkit(), self.diagnostics)
        check_mercury(elf, name, self.target, self.diagnostics)

    def _narrow(self, name: str, data: bytes | FileBytes) -> None:
        """Refuse a 32-bit object; a file that only says it is one is ignored (rule O3)."""
        try:
            narrow = Elf(data, name)
            is_object = not narrow.is_64 and is_relocatable(narrow) and bool(narrow.section_names)
        except CubinError:
            is_object = False
        if is_object:
            raise self.diagnostics.fatal(f"Input file '{name}' size does not match target '-m64'")
        self._break_off(name)
        self._pass_over(name, f"'{name}' is not a 64-bit file")

    def _break_off(self, name: str) -> None:
        """End the link for a broken cubin whose name nvlink does not pass over (rule M21)."""
        if not holds_nothing(name):
            from cubinspec_writer.linker.inputs.archives import no_fatbin

            raise no_fatbin(name, self.diagnostics)

    def _container(self, name: str, data: bytes) -> tuple[Content, bool]:
        """Take the best image of every fatbin in a container.

        Returns:
            The content, and whether it has any image for the target.
        """
        from cubinspec_writer.linker.inputs.images import (
            Content,
            best_image,
            member_name,
            needs_optimisation,
            read_container,
        )
        from cubinspec_writer.linker.inputs.system import is_system_library

        is_system = is_archive(data) and is_system_library(name)
        if is_system and not self._needs_system(name):
            return Content(), False
        content = read_container(name, data, self.diagnostics)
        for host in content.hosts if is_system else ():
            host.system = True
        self.found.hosts += content.hosts
        self.has_code |= bool(content.groups)
        if self.diagnostics.has_errors():
            # Warnings that -Werror made errors (rule M27).
            what = "fatbinary" if _sniffed(data) == "fatbin" else "internal"
            raise self.diagnostics.fatal(f"elfLink {what} error")
        is_taken = False
        for group in content.groups:
            parts_variants = self.toolkit().parts_variants
            best = best_image(group, self.target, parts_variants=parts_variants)
            if best is None:
                if needs_optimisation(group):
                    raise UnsupportedLinkError(f"link-time optimisation ('{name}')")
                continue
            member = member_name(name, best)
            is_ptx = best.kind == "ptx"
            code = self._assemble(member, best.data, best.options) if is_ptx else best.data
            is_taken = True
            try:
                elf = open_object(code, member)
            except CubinError:
                if self.target.family.strict_inputs or not self.options.ignore_unlinkable:
                    raise
                self._without_symbols(member, code)  # nvlink does not ask where a cubin ends
                continue
            if is_relocatable(elf):
                self._check_target(elf, member)
                self._note_toolkit(elf, member)
                self._take(Candidate(elf, is_system))
        return content, is_taken

    def _needs_system(self, name: str) -> bool:
        """Whether the device runtime is linked, which also depends on its place (rules V3, V11)."""
        from cubinspec_writer.linker.inputs.system import lack_functions

        files = (candidate.elf for candidate in self.found.candidates)
        if self.has_code and (self.options.keep_system_libraries or lack_functions(files)):
            return True
        self.is_closed = self.has_code
        if not self.has_code:
            from cubinspec_writer.linker.inputs.archives import identity

            found = identity(name)
            if found is not None:
                self.archives.discard(found)
            self.passed.add(name)
        self.diagnostics.note(f"nothing in front of '{name}' needs it; ignored")
        return False

    def _take(self, candidate: Candidate) -> None:
        """Take a relocatable cubin.

        Raises:
            LinkError: it stands behind a device runtime that was not needed.
        """
        if self.is_closed:
            raise self.diagnostics.fatal("unexpected object after cudadevrt")
        self.has_code = True
        self.found.candidates.append(candidate)

    def _try_to_assemble(self, name: str, data: bytes) -> None:
        """Assemble PTX of which nothing is taken, but whose errors end the link (rule T5)."""
        from cubinspec_writer.linker.inputs.assemble import finds_ptxas

        if self.options.ignore_unlinkable and finds_ptxas(self.options):
            self._assemble(name, data)

    def _assemble(self, name: str, data: bytes, own_options: str = "") -> bytes:
        from cubinspec_writer.linker.inputs.assemble import assemble

        words = own_options.split()
        return assemble(name, data, words, self.options, self.toolkit(), self.diagnostics)
