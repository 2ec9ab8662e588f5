"""The SASS half of the inputs as the finalizer translates it, before anything is linked.

Functions are translated one by one, and nothing of it depends on what else is linked, but for the
options of the link and whether any input wants errors to be visible at the end. So the inputs are
changed: code, capsules, and all that names places in code. The passes then link what the finalizer
would have made.

What has a form that was never observed keeps ptxas's SASS. `Job.untranslated` names those
functions, with the reason.
"""

from __future__ import annotations

from bisect import bisect_right

from cubinspec.format.attributes import raw_record
from cubinspec.format.sections import UFT_REL, final_name
from cubinspec.format.targets import WRITTEN
from cubinspec_generated.codes import (
    EIATTR_FRAME_SIZE,
    EIATTR_GEN_ERRBAR_AT_EXIT,
    EIFMT_NVAL,
    SHF_EXECINSTR,
    SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_INFO,
    SHT_CUDA_UFT,
    SHT_PROGBITS,
    STT_SECTION,
)
from cubinspec_generated.codes_relocation import R_MERCURY_PROG_REL32, R_MERCURY_PROG_REL64
from cubinspec_generated.codes_sass import SASS_BYTES, SASS_STUB_BYTES
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer.fences import (
    Code,
    calls,
    finalized,
    has_fence,
    may_change,
    may_lose,
    rest_last,
)
from cubinspec_writer.linker.finalizer.flow import NO_TABLES, jumps_through_tables
from cubinspec_writer.linker.finalizer.frames import move_frames
from cubinspec_writer.linker.finalizer.line_tables import move_lines
from cubinspec_writer.linker.finalizer.moved import MovedPart, UnknownCodeError
from cubinspec_writer.linker.finalizer.offsets import sass_offsets
from cubinspec_writer.linker.finalizer.places import attributes_of, jump_tables, move_attributes
from cubinspec_writer.linker.finalizer.registers import move_places
from cubinspec_writer.linker.finalizer.schedule import with_later_ends
from cubinspec_writer.linker.finalizer.stubs import capsule_with_room, unscheduled, with_room
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.library.demands import global_records, word
from cubinspec_writer.linker.model import FRAMES, LINE_TABLES, REGISTER_TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec.format.targets import Toolkit
    from cubinspec_writer.linker.finalizer.moved import Moved
    from cubinspec_writer.linker.inputs.rows import InReloc, InSection
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import Job

_WORD, _ADDRESS = 4, 8


def translate(job: Job, sass: list[InputObject], mercury: list[InputObject]) -> None:
    """Translate the functions of all inputs.

    Args:
        sass, mercury: the halves of the inputs, in the same order.
    """
    seen = debugger_sees(job.options)
    is_final = not (job.options.relocatable or seen)
    has_debug = seen or any(_shows_errors(obj) for obj in mercury)
    for half, code in zip(sass, mercury, strict=True):
        if half.is_extensible:
            _tell_frames(half, code)
            if not is_final:
                _refuse_fences(half)
        _Input(half, code, is_final, has_debug, job.toolkit).run(job.untranslated)
        _give_stubs_room(half, code)
        for section in half.of_type(SHT_CUDA_UFT) if seen else ():
            if section.flags & SHF_EXECINSTR and section.size == SASS_STUB_BYTES:
                section.data = unscheduled(section.data, job.toolkit)


def _give_stubs_room(sass: InputObject, mercury: InputObject) -> None:
    """Let stubs of ptxas 13.1 and later have the form of those of 13.0."""
    for section in sass.of_type(SHT_CUDA_UFT):
        if section.flags & SHF_EXECINSTR and section.size == SASS_STUB_BYTES:
            section.data = with_room(section.data)
    for section in mercury.of_type(SHT_PROGBITS):
        if section.flags & SHF_EXECINSTR and section.name.startswith(UFT_REL):
            section.data = capsule_with_room(section.data)


def _tell_frames(sass: InputObject, mercury: InputObject) -> None:
    """Let all functions of a section have the frame of the one of which Mercury tells first.

    The finalizer finds a function by its section, and the linked records are in reverse (rule A7).
    """
    section_of = {row.index: row.shndx for row in mercury.functions}
    first: dict[int, int] = {}
    for record in global_records(mercury):
        number = word(record, 0)
        if record[1] == EIATTR_FRAME_SIZE and number in section_of:
            first.setdefault(section_of[number], word(record, 1))
    named = {row.name: first[row.shndx] for row in mercury.functions if row.shndx in first}
    sass.told_frames = {row.index: named[row.name] for row in sass.functions if row.name in named}


def _refuse_fences(sass: InputObject) -> None:
    """Refuse fences for which nvlink's finalizer writes more than `ptxas -ewp` did (rule X17).

    Raises:
        UnsupportedLinkError: there is one.
    """
    for section in sass.of_type(SHT_PROGBITS):
        if section.flags & SHF_EXECINSTR and has_fence(section.data):
            raise UnsupportedLinkError(
                f"a fence in an extensible whole program with -r or -g ('{section.name}' in "
                f"'{sass.name}')"
            )


def _shows_errors(mercury: InputObject) -> bool:
    """Whether an input asks that errors are visible at the end of kernels."""
    asked = raw_record(EIFMT_NVAL, EIATTR_GEN_ERRBAR_AT_EXIT, 0)
    return asked in global_records(mercury)


class _Input:
    """One input.

    Attributes:
        moved: number of a code section -> where its places went.
    """

    def __init__(
        self,
        sass: InputObject,
        mercury: InputObject,
        is_final: bool,
        has_debug: bool,
        toolkit: Toolkit,
    ) -> None:
        self._toolkit = toolkit
        self.sass = sass
        self.mercury = mercury
        self._is_final = is_final
        self._has_debug = has_debug
        self.moved: dict[int, Moved] = {}
        #: Number of a code section -> number of its capsule, and its new code.
        self._code: dict[int, tuple[int, Code]] = {}
        #: What the new contents of sections will be; they are set when all is known.
        self._data: dict[int, bytes] = {}
        self._rows: list[tuple[int, list[InReloc]]] = []

    def run(self, untranslated: dict[str, str]) -> None:
        """Translate the functions; adds the reason of those that stay."""
        wanted = []
        is_old = self.sass.toolkit < WRITTEN.number
        for section in self.sass.of_type(SHT_PROGBITS):
            if section.flags & SHF_EXECINSTR:
                if is_old:
                    section.data = rest_last(section.data)
                if may_change(section.data, has_debug=self._has_debug):
                    wanted.append(section)
        if not wanted:
            return
        capsules = {
            int.from_bytes(section.data[:_WORD], "little"): section
            for section in self.mercury.of_type(SHT_PROGBITS)
            if section.flags & SHF_EXECINSTR
        }
        entries = {row.shndx for row in self.sass.functions if row.is_entry}
        for section in wanted:
            capsule = capsules.get(section.index)
            is_final = self._is_final and section.index in entries and not calls(section.data)
            is_wanted = is_final or self._has_debug or may_lose(section.data)
            if capsule is None or not is_wanted:
                continue
            try:
                self._translate(section, capsule, is_final, untranslated)
            except (UnknownCodeError, UnsupportedLinkError) as reason:
                untranslated[section.name] = str(reason)
        if self.moved:
            try:
                self._follow()
            except UnknownCodeError as reason:
                for index in self.moved:
                    untranslated[self.sass.sections[index].name] = str(reason)
            else:
                self._set()

    def _translate(
        self,
        section: InSection,
        capsule: InSection,
        is_final: bool,
        untranslated: dict[str, str],
    ) -> None:
        bound = {
            offset // SASS_BYTES
            for relocs in self.sass.relocs
            if relocs.target == section.index
            for offset, *_ in relocs.rows
        }
        code = Code(section.data, capsule.data, bound, self._numbers(section, capsule))
        found = finalized(code, is_final=is_final, has_debug=self._has_debug)
        if found is None:
            return
        code, moved = found
        self.moved[section.index] = moved
        self._code[section.index] = capsule.index, code
        wants_later = self._toolkit.waits_behind_exits  # rule K25
        if self._has_debug and not is_final and wants_later:
            tables = NO_TABLES
            if jumps_through_tables(code.sass):
                attributes = attributes_of(self.sass, section.index)
                tables = jump_tables(move_attributes(attributes, moved))
            sass, doubt = with_later_ends(code.sass, moved.new_numbers(), tables)
            code.sass = sass or code.sass
            if doubt:
                untranslated[section.name] = doubt

    def _numbers(self, section: InSection, capsule: InSection) -> dict[int, int]:
        """The instructions of an extensible whole program that have the offset of another one.

        Calls return to such offsets. Only the Mercury half has relocations for them (rule A6).

        Raises:
            UnknownCodeError: it is not known where they are.
        """
        rows = [
            (offset, addend + self.mercury.symbols[index].value)
            for relocs in self.mercury.relocs
            if self.sass.is_extensible and relocs.target == capsule.index
            for offset, r_type, index, addend in relocs.rows
            if r_type == R_MERCURY_PROG_REL32 and self.mercury.symbols[index].shndx == capsule.index
        ]
        offsets = sass_offsets(self.sass, section.index) if rows else {}
        starts = list(offsets)
        found = {}
        for offset, place in rows:
            if place not in offsets:
                raise UnknownCodeError("offsets in code of unknown lengths")
            number = offsets[starts[bisect_right(starts, offset) - 1]] // SASS_BYTES
            found[number] = offsets[place] // SASS_BYTES
        return found

    # -- what names places in code -----------------------------------------------------------------

    def _follow(self) -> None:
        """Find the new contents of all tables.

        Raises:
            UnknownCodeError: a table has a form that was never observed.
        """
        for section in self.sass.sections:
            if section.sh_type == SHT_CUDA_INFO and section.info in self.moved:
                self._data[section.index] = move_attributes(section.data, self.moved[section.info])
            elif section.name == FRAMES and section.sh_type == SHT_PROGBITS:
                self._data[section.index] = move_frames(section.data, self._named_in(section))
            elif section.name == REGISTER_TABLE and section.sh_type == SHT_PROGBITS:
                names = {
                    row.name: self.moved[row.shndx]
                    for row in self.sass.functions
                    if row.shndx in self.moved
                }
                self._data[section.index] = move_places(section.data, names.get)
        self._jump_tables()
        self._addresses()
        units = self._lines()
        for number, relocs in enumerate(self.sass.relocs):
            places = self.moved.get(relocs.target)
            offsets = units.get(relocs.target)
            rows: list[InReloc] = []
            for offset, r_type, index, addend in relocs.rows:
                if places is not None:
                    offset = places.place(offset)
                elif offsets is not None:
                    offset = offsets(offset)
                rows.append((offset, r_type, index, self._addend(index, addend, units)))
            self._rows.append((number, rows))

    def _addend(self, index: int, addend: int, units: dict[int, Callable[[int], int]]) -> int:
        """The new addend of a relocation to a symbol."""
        row = self.sass.symbols[index]
        moved = self.moved.get(row.shndx)
        if moved is not None and row.value + addend >= 0:
            return moved.start(row.value + addend) - moved.start(row.value)
        if row.kind == STT_SECTION and row.shndx in units:
            return units[row.shndx](addend)
        return addend

    def _named_in(self, section: InSection) -> Callable[[int], MovedPart | None]:
        """How the functions that a debug table names moved, by the offsets of its relocations."""
        found: dict[int, MovedPart] = {}
        for relocs in self.sass.relocs:
            if relocs.target == section.index:
                for offset, _, index, addend in relocs.rows:
                    row = self.sass.symbols[index]
                    if row.shndx in self.moved:
                        whole = self.moved[row.shndx]
                        found[offset] = MovedPart(whole, row.value + addend)
        return found.get

    def _lines(self) -> dict[int, Callable[[int], int]]:
        """Move line tables; returns where offsets in them went, by number of the section."""
        found: dict[int, Callable[[int], int]] = {}
        for section in self.sass.of_type(SHT_PROGBITS):
            if section.name in LINE_TABLES:
                kept = move_lines(section.data, self._named_in(section))
                self._data[section.index] = bytes(kept.data)

                def new_offset(
                    offset: int, of: Callable[[int], int | None] = kept.new_offset
                ) -> int:
                    new = of(offset)
                    return offset if new is None else new

                found[section.index] = new_offset
        return found

    def _jump_tables(self) -> None:
        """Jump tables hold places in SASS, and the Mercury half tells where they are (rule F3)."""
        sass_of = {capsule: index for index, (capsule, _) in self._code.items()}
        banks = {(s.name, s.info): s.index for s in self.sass.of_type(SHT_CUDA_CONSTANT_B2)}
        for relocs in self.mercury.relocs:
            bank = self.mercury.sections[relocs.target]
            if bank.sh_type != SHT_CUDA_CONSTANT_B2:
                continue
            for offset, r_type, index, _ in relocs.rows:
                code = sass_of.get(self.mercury.symbols[index].shndx)
                is_address = self.sass.is_extensible and r_type == R_MERCURY_PROG_REL64
                if code is None or is_address:
                    continue
                twin = banks.get((final_name(bank.name) or bank.name, code))
                if twin is None:
                    raise UnknownCodeError("a jump table without a twin")
                table = bytearray(self._data.get(twin, self.sass.sections[twin].data))
                old = int.from_bytes(table[offset : offset + _WORD], "little")
                new = self.moved[code].start(old)
                table[offset : offset + _WORD] = new.to_bytes(_WORD, "little")
                self._data[twin] = bytes(table)

    def _addresses(self) -> None:
        """Data of extensible whole programs have offsets of functions in code (rule A6)."""
        names = {section.name: section.index for section in self.sass.sections}
        moved = {capsule: self.moved[index] for index, (capsule, _) in self._code.items()}
        for relocs in self.mercury.relocs if self.sass.is_extensible else ():
            name = self.mercury.sections[relocs.target].name
            for offset, r_type, index, _ in relocs.rows:
                places = moved.get(self.mercury.symbols[index].shndx)
                if r_type != R_MERCURY_PROG_REL64 or places is None:
                    continue
                twin = names.get(final_name(name) or name)
                if twin is None:
                    raise UnknownCodeError("data without a twin")
                data = bytearray(self._data.get(twin, self.sass.sections[twin].data))
                old = int.from_bytes(data[offset : offset + _ADDRESS], "little")
                data[offset : offset + _ADDRESS] = places.start(old).to_bytes(_ADDRESS, "little")
                self._data[twin] = bytes(data)

    def _set(self) -> None:
        """Put the new contents into the input."""
        for index, (capsule, code) in self._code.items():
            self._data[index] = code.sass
            for half in (self.mercury, self.sass):
                into = half.sections[capsule]
                into.data, into.size = code.capsule, len(code.capsule)
        for row in self.sass.symbols:
            moved = self.moved.get(row.shndx)
            if moved is not None and row.kind != STT_SECTION:
                end = moved.start(row.value + row.size)
                row.value = moved.start(row.value)
                row.size = end - row.value
        for index, data in self._data.items():
            section = self.sass.sections[index]
            section.data, section.size = data, len(data)
        for number, rows in self._rows:
            self.sass.relocs[number].rows = rows
