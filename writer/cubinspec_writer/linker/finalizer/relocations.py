"""The relocations of the SASS half are those of the Mercury half.

The finalizer makes them anew: nvlink reads no row of the SASS half of an input (rule F16). Every
tool writes the same into both halves, so that most rows are found to be right and stay. A row that
is not what the Mercury half says is made from it: its place is that of the SASS of the Mercury
instruction. It keeps the Mercury type until `passes.relocate` has decided whether the row stays;
`sass_type` tells what becomes of it then.
"""

from __future__ import annotations

from bisect import bisect_right

from cubinspec.format.sections import final_name
from cubinspec_generated import columns
from cubinspec_generated.codes import SHF_EXECINSTR, SHN_UNDEF, STO_CUDA_CONSTANT, STT_SECTION
from cubinspec_generated.codes_relocation import R_CUDA_NONE, R_MERCURY_ABS16, R_MERCURY_ABS32
from cubinspec_generated.codes_sass import SASS_BYTES, SASS_OPERATION_MASK, SASS_PLAIN_NOP
from cubinspec_writer.linker.diagnostics import PAST_END, UnsupportedLinkError
from cubinspec_writer.linker.finalizer.frames import linked_places
from cubinspec_writer.linker.finalizer.offsets import sass_offsets
from cubinspec_writer.linker.library.fields import actions_of
from cubinspec_writer.linker.model import FRAMES, LINE_TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.rows import InReloc, InRelocs
    from cubinspec_writer.linker.model import InputObject, OutSection, Reloc

_WORD = 4
#: Its value is known when ptxas writes SASS, which then has no relocation for it; of other names
#: that begin so an instruction has the whole value.
_KNOWN, _RESERVED = ".nv.reservedSmem.cap", ".nv.reservedSmem."
#: The value of types whose addend is a place in the code that has the relocation.
_OF_PLACES = "abs_prog_rel"
#: Types of values that are known to become the same in SASS when they are applied.
_APPLIED = frozenset((R_MERCURY_ABS16, R_MERCURY_ABS32))
#: Operations at places where no relocation can be: nothing, and what lies behind the end.
_EMPTY = frozenset((SASS_PLAIN_NOP & SASS_OPERATION_MASK, 0))


def follow(sass: list[InputObject], mercury: list[InputObject], diagnostics: Diagnostics) -> None:
    """Let the relocations of all inputs be those of their Mercury halves.

    Args:
        sass, mercury: the halves of the inputs, in the same order.

    Raises:
        LinkError: a place is behind the end of its Mercury code (rule M25).
        UnsupportedLinkError: what the Mercury half says cannot be said of the SASS half.
    """
    for half, code in zip(sass, mercury, strict=True):
        if not code.relocs:
            continue
        both = _Input(half, code)
        half.mercury_debug = both.functions_of_debug_tables()
        # What `ptxas -ewp` wrote has fewer relocations in SASS, which are applied.
        if not half.is_extensible:
            _check_places(code, diagnostics)
            both.run()


def _check_places(mercury: InputObject, diagnostics: Diagnostics) -> None:
    """Refuse places behind the end of Mercury code, which the symbol of a function tells.

    Raises:
        LinkError: there is one (rule M25).
    """
    sizes = {row.shndx: row.size for row in mercury.functions if row.size}
    for relocs in mercury.relocs:
        size = sizes.get(relocs.target)
        if size is not None and any(row[0] >= size for row in relocs.rows):
            raise diagnostics.fatal(PAST_END)


def in_sass(target: OutSection, relocs: list[Reloc], *, applied: bool) -> list[Reloc]:
    """The entries of a linked section with the types of SASS.

    Args:
        applied: the entries do not stay.

    Raises:
        UnsupportedLinkError: it is not known what the finalizer makes of one (rule F16).
    """
    in_code = bool(target.flags & SHF_EXECINSTR)
    found = []
    for reloc in relocs:
        if reloc.r_type >= columns.SASS_END:
            of_kernel = reloc.symbol.is_entry
            r_type = sass_type(reloc.r_type, in_code=in_code, of_kernel=of_kernel)
            if r_type is None or (applied and in_code and reloc.r_type not in _APPLIED):
                what = f"a Mercury relocation of type {reloc.r_type:#x} of '{reloc.symbol.name}'"
                raise UnsupportedLinkError(what)
            reloc = reloc.of_type(r_type)
        found.append(reloc)
    return found


def sass_type(r_type: int, *, in_code: bool, of_kernel: bool = False) -> int | None:
    """What the finalizer makes of a type; None: it applies relocations of the type itself."""
    if in_code and of_kernel and r_type in columns.IN_SASS_OF_KERNEL:
        return columns.IN_SASS_OF_KERNEL[r_type]
    if not in_code and r_type in columns.IN_SASS_DATA:
        return columns.IN_SASS_DATA[r_type]
    return columns.IN_SASS.get(r_type)


class _Input:
    """One input.

    Attributes:
        numbers: number of a Mercury symbol -> number of its twin.
    """

    def __init__(self, sass: InputObject, mercury: InputObject) -> None:
        self.sass = sass
        self.mercury = mercury
        self.numbers = self._twins()
        #: By number of a code section: what `sass_offsets` tells.
        self._offsets: dict[int, dict[int, int]] = {}

    def run(self) -> None:
        """Check the rows of every section, and set those that are not right."""
        tables = {relocs.target: relocs for relocs in self.sass.relocs}
        names = {self.sass.sections[relocs.section].name for relocs in self.sass.relocs}
        if len(tables) < len(self.sass.relocs):
            raise UnsupportedLinkError(
                f"two tables of relocations of a section ('{self.sass.name}')"
            )
        by_name: dict[str, list[int]] = {}
        for section in self.sass.sections:
            by_name.setdefault(section.name, []).append(section.index)
        for relocs in self.mercury.relocs:
            target = self.mercury.sections[relocs.target]
            if target.flags & SHF_EXECINSTR:
                code = int.from_bytes(target.data[:_WORD], "little")
                # A table that says to belong to something else ends the link later (rule M16).
                if code in tables or self.mercury.sections[relocs.section].name not in names:
                    self._in_code(relocs, code, tables.get(code))
                continue
            named = by_name.get(final_name(target.name) or target.name, ())
            twin = tables.get(named[0]) if len(named) == 1 else None
            if twin is not None and target.name not in LINE_TABLES:
                self._in_data(relocs, twin, target.name)

    def functions_of_debug_tables(self) -> dict[str, dict[int, int]]:
        """As `InputObject.mercury_debug`."""
        found: dict[str, dict[int, int]] = {}
        for relocs in self.mercury.relocs:
            name = self.mercury.sections[relocs.target].name
            if name in LINE_TABLES or name == FRAMES:
                numbers = self.numbers
                found[name] = {row[0]: numbers[row[2]] for row in relocs.rows if row[2] in numbers}
        return found

    def _twins(self) -> dict[int, int]:
        """Symbols that are the same in both halves; those of one name in their order."""
        waiting: dict[tuple[str, int, int], list[int]] = {}
        for number, key in enumerate(_keys(self.sass)):
            waiting.setdefault(key, []).append(number)
        found: dict[int, int] = {}
        for number, key in enumerate(_keys(self.mercury)):
            same = waiting.get(key)
            if same:
                found[number] = same.pop(0) if len(same) > 1 else same[0]
        return found

    def _twin(self, number: int) -> int:
        """The symbol of the SASS half that stands for a Mercury symbol."""
        if number not in self.numbers:
            name = self.mercury.symbols[number].name
            raise UnsupportedLinkError(f"a Mercury relocation of '{name}', which SASS has not")
        return self.numbers[number]

    # -- code --------------------------------------------------------------------------------------

    def _in_code(self, relocs: InRelocs, code: int, twin: InRelocs | None) -> None:
        """Set the rows of a function that are not those of its Mercury code."""
        rows = [row for row in relocs.rows if row[1] != R_CUDA_NONE and not self._is_known(row)]
        old = twin.rows if twin is not None else []
        #: Those of code for old virtual targets have no Mercury form.
        others = [row for row in old if not row[2] and columns.APPLY.get(row[1]) == "lockstep"]
        old = [row for row in old if row not in others]
        data = self.sass.sections[code].data
        new: list[InReloc] = []
        for number, place in enumerate(self._places(rows, old, code)):
            _, r_type, symbol, _ = rows[number]
            of_operation = _type_in(r_type, _operation(data, place))
            of_kernel = self.mercury.symbols[symbol].is_entry
            wanted = of_operation or sass_type(r_type, in_code=True, of_kernel=of_kernel)
            before = old[number] if number < len(old) else None
            rest = self._twin(symbol), self._addend(rows[number], before, code)
            if before == (place, wanted, *rest):
                new.append(before)
                continue
            if of_operation is not None and self.mercury.symbols[symbol].space != STO_CUDA_CONSTANT:
                name = self.mercury.symbols[symbol].name
                raise UnsupportedLinkError(f"an instruction with a constant that names '{name}'")
            new.append((place, of_operation or r_type, *rest))
        if new == old:
            return
        if twin is None:
            name = self.sass.sections[code].name
            raise UnsupportedLinkError(f"Mercury relocations of '{name}', of which SASS has none")
        twin.rows = new + others

    def _is_known(self, row: InReloc) -> bool:
        """Whether SASS has the value and no relocation."""
        name = self.mercury.symbols[row[2]].name
        return name == _KNOWN or (row[1] == R_MERCURY_ABS32 and name.startswith(_RESERVED))

    def _places(self, rows: list[InReloc], old: list[InReloc], code: int) -> list[int]:
        """The places of Mercury rows in SASS: those that SASS itself tells, if that can be right.

        Lengths of Mercury instructions are not known of all code, so they do not decide where the
        rows of both halves have one order.
        """
        places = [row[0] - row[0] % SASS_BYTES for row in old]
        data = self.sass.sections[code].data
        taken = {_operation(data, place) for place in places}
        is_known = len(rows) == len(old) and taken.isdisjoint(_EMPTY)
        if is_known and _ranks(places) == _ranks([row[0] for row in rows]):
            return places
        offsets = self._offsets_in(code)
        starts = list(offsets)
        if not starts:
            name = self.sass.sections[code].name
            raise UnsupportedLinkError(f"relocations of '{name}' unlike those of Mercury code")
        return [offsets[starts[max(bisect_right(starts, row[0]) - 1, 0)]] for row in rows]

    def _addend(self, row: InReloc, before: InReloc | None, code: int) -> int:
        """The addend, which some types take for a place in the code itself."""
        _, r_type, _, addend = row
        if all(action.value != _OF_PLACES for action in actions_of(r_type)):
            return addend
        if before is not None and before[2] == self._twin(row[2]):
            return before[3]
        offsets = self._offsets_in(code)
        if addend in offsets:
            return offsets[addend]
        if before is None:
            name = self.sass.sections[code].name
            raise UnsupportedLinkError(f"a Mercury relocation to a place in '{name}'")
        return before[3]

    def _offsets_in(self, code: int) -> dict[int, int]:
        if code not in self._offsets:
            self._offsets[code] = sass_offsets(self.sass, code)
        return self._offsets[code]

    # -- everything else ---------------------------------------------------------------------------

    def _in_data(self, relocs: InRelocs, twin: InRelocs, name: str) -> None:
        """Compare the rows of data or of a debug table, whose places the halves have apart."""
        rows, old_rows = relocs.rows, twin.rows
        if len(rows) != len(old_rows):
            return
        new: list[InReloc] = []
        places = linked_places(self.sass.sections[twin.target].data) if name == FRAMES else []
        for row, old in zip(rows, old_rows, strict=True):
            _, r_type, symbol, _ = row
            place = places[-1 - len(new)] if len(places) == len(rows) else old[0]
            is_type = sass_type(r_type, in_code=False) in (old[1], None)
            named = self.numbers.get(symbol, old[2])
            new.append((place, old[1] if is_type else r_type, named, old[3]))
        twin.rows = new


def _operation(code: bytes, place: int) -> int:
    """The operation of the instruction at a place; 0 behind the end."""
    return int.from_bytes(code[place : place + SASS_BYTES], "little") & SASS_OPERATION_MASK


def _ranks(numbers: list[int]) -> list[int]:
    """The indices of numbers in their order."""
    return sorted(range(len(numbers)), key=numbers.__getitem__)


def _type_in(r_type: int, operation: int) -> int | None:
    """The type of SASS where it depends on the instruction; None: it does not."""
    return dict(columns.IN_SASS_OPERATION.get(r_type, ())).get(operation)


def _keys(obj: InputObject) -> list[tuple[str, int, int]]:
    """What a symbol of either half is known by."""
    found = []
    for row in obj.symbols:
        name = row.name
        if row.kind == STT_SECTION and row.shndx != SHN_UNDEF and row.shndx < len(obj.sections):
            name = obj.sections[row.shndx].name
            name = final_name(name) or name
        found.append((name, row.kind, row.bind))
    return found
