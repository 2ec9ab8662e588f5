"""What a launch of a function needs: registers, threads, stack, barriers, any attribute.

One value often stands in several places, which are changed together:

* registers: ``EIATTR_REGCOUNT`` in ``.nv.info``, before sm_90 also bits 24-31 of ``sh_info`` of the
  code section;
* barriers: ``EIATTR_NUM_BARRIERS`` in ``.nv.info.<f>``, in ABI 7 instead bits 20-26 of ``sh_flags``
  of the code section;
* everything in ``.nv.info*`` also in the Mercury copy ``.nv.merc.nv.info*``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import pack
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec.model.info import CODE
from cubinspec_generated.records import FUNCTION_VALUE
from cubinspec_generated.tables import arch, eiattr
from cubinspec_writer.builder import attributes
from cubinspec_writer.editor import functions
from cubinspec_writer.editor.notes import ABI_7
from cubinspec_writer.editor.references import SymbolTables, attribute_name
from cubinspec_writer.editor.values import (
    OF_FUNCTION,
    attribute_code,
    fields_of,
    is_same,
    number,
    parse_value,
    split_index,
)
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.model import Section
from cubinspec_writer.emitter.producers import PRODUCERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec_writer.emitter.bodies import InfoRecord
    from cubinspec_writer.emitter.model import Description

    #: whether it is for the Mercury half -> the record, ``None`` to take it out
    Make = Callable[[bool], InfoRecord | None]

BARRIERS_SHIFT, BARRIERS_MASK = 20, 0x7F
#: From here on the code section's header has no register count.
FIRST_SM_WITHOUT_COUNT = 90
_INFO_TYPE = {False: bodies.SHT_CUDA_INFO, True: bodies.SHT_CUDA_MERC_INFO}
_U32 = (1 << 32) - 1
_REGCOUNT = CODE["EIATTR_REGCOUNT"]
_FRAME_SIZE = CODE["EIATTR_FRAME_SIZE"]
_STACK = (CODE["EIATTR_MIN_STACK_SIZE"], CODE["EIATTR_MAX_STACK_SIZE"])
_NUM_BARRIERS = CODE["EIATTR_NUM_BARRIERS"]
_MAX_THREADS = CODE["EIATTR_MAX_THREADS"]
_REQNTID = CODE["EIATTR_REQNTID"]
#: Kinds of layouts that may hold instruction offsets.
_OWN_NUMBERS = ("records", "list", "tagged")
#: Names of the module's own attribute sections.
_MODULE_INFO = {False: ".nv.info", True: ".nv.merc.nv.info"}


@dataclass(slots=True)
class Resources:
    """New values of one function; ``None`` leaves a value as it is.

    Attributes:
        registers: registers per thread.
        max_threads: threads of a block in x, y, z (``.maxntid``).
        stack: bytes of stack of the whole call tree (``EIATTR_MIN_STACK_SIZE``); in relocatable
            files, which do not know it, the most that it may be (``EIATTR_MAX_STACK_SIZE``, 0 for
            no limit): nvlink refuses to link what needs more, or recursion.
        frame: bytes of the function's own stack frame.
        barriers: number of named barriers.
        attributes: name (with or without ``EIATTR_``) or number -> value, see
            :func:`~cubinspec_writer.editor.values.parse_value`; ``None`` takes the attribute out.
            ``NAME[1]`` is the second record of that name.
    """

    registers: int | None = None
    max_threads: tuple[int, int, int] | None = None
    stack: int | None = None
    frame: int | None = None
    barriers: int | None = None
    attributes: dict[str, str | None] = field(default_factory=dict)


def set_resources(description: Description, name: str, new: Resources) -> list[str]:
    """Change what a launch of function ``name`` needs.

    Returns:
        what is left as it is although it may hold the same value.

    Raises:
        CubinError: there is no such function, a value is out of range, or the file has no place
            for it.
    """
    return _Setter(description, name).run(new)


class _Setter:
    def __init__(self, description: Description, name: str) -> None:
        self.description = description
        self.name = name
        self.symbol = functions.find_function(description, name)
        assert isinstance(self.symbol.section, Section)
        self.code: Section = self.symbol.section
        self.tables = SymbolTables(description)
        self.finalizer = PRODUCERS[description.profile].mercury_names
        header = description.header
        self.sm = header.e_flags >> 8 & 0xFFFF if header.ei_osabi == 0x41 else header.e_flags & 0xFF
        self.remarks: list[str] = []

    def run(self, new: Resources) -> list[str]:
        if new.registers is not None:
            self._registers(new.registers)
        if new.frame is not None:
            self._keyed((_FRAME_SIZE,), new.frame, "frame")
        if new.stack is not None:
            # ptxas before CUDA 12 writes both, the maximum as zero
            has_min = self._count((_STACK[0],))
            self._keyed(_STACK[:1] if has_min else _STACK[1:], new.stack, "stack")
        if new.barriers is not None:
            self._barriers(new.barriers)
        if new.max_threads is not None:
            self._max_threads(new.max_threads)
        for text, value in new.attributes.items():
            self._attribute(text, value)
        return self.remarks

    # -- single values ---------------------------------------------------------------------------

    def _limit(self, what: str, value: int, limit: str) -> None:
        most = arch.LIMITS.get(self.sm, {}).get(limit)
        if value < 0 or (most is not None and value > most):
            raise BadStructureError(
                f"{what} {value} is out of range", field=self.name, expected=f"0 to {most}"
            )

    def _registers(self, value: int) -> None:
        self._limit("registers", value, "max_registers_per_thread")
        places, changes = self._set_keyed((_REGCOUNT,), value)
        if places and not changes:
            return  # nvlink leaves another count in the section header
        owns_code = functions.owner(self.code.name) == self.name
        in_header = self.code.registers or (not places and self.sm < FIRST_SM_WITHOUT_COUNT)
        if owns_code and in_header:
            self.code.registers = value
            places += 1
        if not places:
            raise BadStructureError("no register count of this function is here", field=self.name)
        if functions.capsule(self.description, self.symbol) is not None:
            self.remarks.append(
                f".nv.capmerc.text.{self.name}: opaque; finalizing it may count registers anew"
            )

    def _barriers(self, value: int) -> None:
        self._limit("barriers", value, "max_barriers_per_block")
        if self.description.header.ei_abiversion == ABI_7:
            flags = self.code.sh_flags & ~(BARRIERS_MASK << BARRIERS_SHIFT)
            self.code.sh_flags = flags | value << BARRIERS_SHIFT
            if not any(self._find(half, _NUM_BARRIERS) for half in (False, True)):
                return
        record = attributes.byte(_NUM_BARRIERS, value)
        places = [self._find(half, _NUM_BARRIERS) for half in (False, True)]
        if value or all(is_same(found, record) for found in places if found is not None):
            self._put(_NUM_BARRIERS, lambda _: record, only_replace=not value)
        else:
            self._put(_NUM_BARRIERS, lambda _: None, only_replace=True)

    def _max_threads(self, shape: tuple[int, int, int]) -> None:
        if not functions.is_kernel(self.symbol):
            raise BadStructureError("only a kernel has a largest block", field=self.name)
        if self._find(False, _REQNTID) is not None:
            raise BadStructureError(
                "it requires one shape of blocks, so it has no largest one",
                field=self.name,
                expected="a new value of the attribute REQNTID",
            )
        for axis in shape:
            self._limit("max threads", axis, "max_threads_per_block")
        if min(shape) < 1:
            raise BadStructureError("a block has at least one thread", field=self.name)
        self._limit("max threads", shape[0] * shape[1] * shape[2], "max_threads_per_block")
        record = attributes.sized(_MAX_THREADS, pack("<III", *shape))
        self._put(_MAX_THREADS, lambda _: record)

    # -- records keyed by symbol -----------------------------------------------------------------

    def _keyed(self, codes: tuple[int, ...], value: int, what: str) -> None:
        if not 0 <= value <= _U32:
            raise BadStructureError(f"{what} {value} is out of range", field=self.name)
        if not self._set_keyed(codes, value)[0]:
            names = " or ".join(attribute_name(code) for code in codes)
            raise BadStructureError(f"no {names} of this function is here", field=self.name)

    def _count(self, codes: tuple[int, ...]) -> int:
        return sum(1 for half in (False, True) for _ in self._keyed_records(codes, half))

    def _set_keyed(self, codes: tuple[int, ...], value: int) -> tuple[int, int]:
        """Set the word behind the symbol number in all records of the function.

        Returns:
            how many records there are, and how many were changed. ptxas writes frame sizes into the
            Mercury half that differ from those of SASS: nothing is changed when SASS has the value.
        """
        count = changes = 0
        for mercury in (False, True):
            if mercury and count and not changes:
                break
            for body, at in self._keyed_records(codes, mercury):
                form, code, size, payload = body.records[at]
                index, old = FUNCTION_VALUE.unpack(payload)
                body.records[at] = (form, code, size, FUNCTION_VALUE.pack(index, value))
                count += 1
                changes += old != value
        return count, changes

    def _keyed_records(
        self, codes: tuple[int, ...], mercury: bool
    ) -> Iterator[tuple[bodies.InfoRecords, int]]:
        """Where records of the function with one of the codes stand in one half."""
        index = self._index(mercury)
        for section in self.description.sections:
            body = section.body
            if section.sh_type != _INFO_TYPE[mercury] or not isinstance(body, bodies.InfoRecords):
                continue
            for at, (_, code, _, payload) in enumerate(body.records):
                if code not in codes or len(payload) != FUNCTION_VALUE.size:
                    continue
                if FUNCTION_VALUE.unpack(payload)[0] == index:
                    yield body, at

    def _index(self, mercury: bool) -> int | None:
        if not mercury:
            return self.tables.index(self.symbol)
        for at, twin in enumerate(self.tables.mercury):
            if twin is not None and twin.name == self.name and twin.st_info & 0xF == 2:
                return at
        return None

    # -- records of attribute sections ----------------------------------------------------------

    def _info(self, mercury: bool) -> Section | None:
        """The attribute section of the function."""
        code: Section | None = self.code
        if mercury:
            code = functions.capsule(self.description, self.symbol)
        if code is None or not code.name.endswith("." + self.name):
            return None
        return functions.info_section(self.description, code)

    def _find(self, mercury: bool, code: int) -> InfoRecord | None:
        """The first record of a code in the function's section."""
        section = self._info(mercury)
        if section is None or not isinstance(section.body, bodies.InfoRecords):
            return None
        return next((record for record in section.body.records if record[1] == code), None)

    def _put(
        self,
        code: int,
        make: Make,
        *,
        at: int | None = None,
        module: bool = False,
        halves: tuple[bool, ...] = (False, True),
        only_replace: bool = False,
    ) -> int:
        """Replace a record in some halves, put it in, or take it out.

        Args:
            at: which of several records of the code; one behind the last one adds another.
            module: in ``.nv.info`` instead of the function's section.
            only_replace: do nothing where there is no such record.

        Returns:
            how many records were there before.
        """
        met = found = same = 0
        for half in halves:
            if half and same:
                break  # as it is: the copy may say something else
            section = self.description.section(_MODULE_INFO[half]) if module else self._info(half)
            if section is None:
                continue
            body = section.body
            if not isinstance(body, bodies.InfoRecords):
                raise BadStructureError("its records are malformed", field=section.name)
            met += 1
            record = make(half)
            places = [place for place, old in enumerate(body.records) if old[1] == code]
            if module and record is not None:
                places = [p for p in places if _is_about_the_same(body.records[p], record)]
            found += len(places)
            same += record is not None and any(
                is_same(body.records[place], record) for place in places[at or 0 :][:1]
            )
            self._put_one(section, body, places, at, (code, record, only_replace))
        if not met:
            where = _MODULE_INFO[False] if module else "attribute section of the function"
            raise BadStructureError(f"there is no {where}", field=self.name)
        return found

    def _put_one(
        self,
        section: Section,
        body: bodies.InfoRecords,
        places: list[int],
        at: int | None,
        new: tuple[int, InfoRecord | None, bool],
    ) -> None:
        code, record, only_replace = new
        if at is None and len(places) > 1:
            name = attribute_name(code)
            raise BadStructureError(
                f"{name} stands there {len(places)} times",
                field=section.name,
                expected=f"{name}[0] to {name}[{len(places) - 1}]",
            )
        at = at or 0
        if at > len(places):
            raise BadStructureError(
                f"{attribute_name(code)} stands there {len(places)} times", field=section.name
            )
        if at < len(places):
            if record is None:
                del body.records[places[at]]
            elif not is_same(body.records[places[at]], record):
                body.records[places[at]] = record
        elif record is None or only_replace:
            return
        elif places:
            body.records.insert(places[-1] + 1, record)
        elif section.name in _MODULE_INFO.values():
            body.records.append(record)
        else:
            attributes.insert(body.records, record, finalizer=self.finalizer)

    def _attribute(self, text: str, value: str | None) -> None:
        name, at = split_index(text)
        code = attribute_code(name)
        kind, fields, references = fields_of(code)
        module = eiattr.PLACES.get(code) == ("module",)
        if module and fields[:1] == (OF_FUNCTION,):
            self._of_function(code, value)
            return
        halves = self._halves(code, module)
        # instruction offsets count in SASS; the Mercury copy counts in its own code
        own_numbers = "code" in references or kind in _OWN_NUMBERS
        if value is not None and value.startswith("hex:"):
            own_numbers = True  # bytes may hold numbers of symbols, too
        if value is not None and own_numbers and halves == (False, True):
            if self._find(True, code) is not None:
                self.remarks.append(
                    f".nv.merc.nv.info.{self.name}: its {attribute_name(code)} counts in its own "
                    "half of the file"
                )
            halves = (False,)

        def make(half: bool) -> InfoRecord | None:
            if value is None:
                return None
            return parse_value(code, value, lambda symbol: self._number_of(symbol, half))

        found = self._put(code, make, at=at, module=module, halves=halves)
        if value is None and not found:
            raise BadStructureError(f"no {attribute_name(code)} is here", field=self.name)

    def _of_function(self, code: int, value: str | None) -> None:
        """An attribute of ``.nv.info`` whose record names the function."""
        name = attribute_name(code)
        if value is None:
            raise BadStructureError(f"every function has {name}; it cannot be taken out")
        if code == _REGCOUNT:
            self._registers(number(value, name))
        else:
            self._keyed((code,), number(value, name), name)

    def _halves(self, code: int, module: bool) -> tuple[bool, ...]:
        """In which halves of the file an attribute stands: SASS (``False``), Mercury."""
        half = eiattr.MERCURY.get(code)
        if half == "only":
            return (True,)
        if half == "never":
            return (False,)
        if half == "copied" or module or self._find(True, code) is not None:
            return (False, True)
        return (False,)

    def _number_of(self, name: str, mercury: bool) -> int:
        """Index of the symbol of that name in the symbol table of one half."""
        table = self.tables.mercury if mercury else self.tables.entries
        found = [at for at, entry in enumerate(table) if entry is not None and entry.name == name]
        if len(found) != 1:
            raise BadStructureError(
                f"{len(found)} symbols are named {name!r}" if found else f"no symbol {name!r}",
                field=".nv.merc.symtab" if mercury else ".symtab",
            )
        return found[0]


def _is_about_the_same(old: InfoRecord, new: InfoRecord) -> bool:
    """Whether two records of a module's attribute name the same symbol, if it names one."""
    fields = eiattr.SYMBOL_FIELDS.get(new[1], ())
    return all(old[3][field : field + 4] == new[3][field : field + 4] for field in fields[:1])
