"""What a launch of a function needs: registers, threads, stack, barriers, any attribute.

One value often stands in several places, and all of them are changed:

* registers: ``EIATTR_REGCOUNT`` in ``.nv.info``, before sm_90 also bits 24-31 of ``sh_info`` of the
  code section;
* barriers: ``EIATTR_NUM_BARRIERS`` in ``.nv.info.<f>``, in ABI 7 instead bits 20-26 of ``sh_flags``
  of the code section;
* everything in ``.nv.info*`` also in the Mercury copy ``.nv.merc.nv.info*``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec.format import targets
from cubinspec_generated.codes import (
    ABI_7,
    EF_CUDA_SM_MASK,
    EF_CUDA_V2_SM_MASK,
    EF_CUDA_V2_SM_SHIFT,
    EIATTR_FRAME_SIZE,
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MAX_THREADS,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_NUM_BARRIERS,
    EIATTR_REGCOUNT,
    EIATTR_REQNTID,
    ELFOSABI_CUDA_V2,
    SHF_BARRIERS_MASK,
    SHF_BARRIERS_SHIFT,
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_INFO,
    ST_TYPE_MASK,
    STT_FUNC,
)
from cubinspec_generated.producers import PRODUCERS
from cubinspec_generated.records import DIM3, FUNCTION_VALUE
from cubinspec_generated.tables import eiattr
from cubinspec_writer.builder import attributes
from cubinspec_writer.editor import functions
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec_writer.emitter.bodies import AttributeRecord
    from cubinspec_writer.emitter.model import Description

    #: whether it is for the Mercury half -> the record, ``None`` to take it out
    Make = Callable[[bool], AttributeRecord | None]

#: Largest number of a 32-bit field.
_U32 = (1 << 32) - 1
#: Kinds of layouts that may hold instruction offsets.
_OFFSET_KINDS = ("records", "list", "tagged")
#: Whether it is the Mercury half -> type of its attribute sections.
_INFO_TYPE = {False: SHT_CUDA_INFO, True: SHT_CUDA_MERC_INFO}
#: Whether it is the Mercury half -> name of the module's own attribute section.
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
        if header.ei_osabi == ELFOSABI_CUDA_V2:
            self.sm = (header.e_flags & EF_CUDA_V2_SM_MASK) >> EF_CUDA_V2_SM_SHIFT
        else:
            self.sm = header.e_flags & EF_CUDA_SM_MASK
        self.remarks: list[str] = []

    def run(self, new: Resources) -> list[str]:
        if new.registers is not None:
            self._registers(new.registers)
        if new.frame is not None:
            self._keyed(EIATTR_FRAME_SIZE, new.frame, "frame")
        if new.stack is not None:
            # ptxas before CUDA 12 writes both, the maximum as zero
            has_min = self._count(EIATTR_MIN_STACK_SIZE)
            code = EIATTR_MIN_STACK_SIZE if has_min else EIATTR_MAX_STACK_SIZE
            self._keyed(code, new.stack, "stack")
        if new.barriers is not None:
            self._barriers(new.barriers)
        if new.max_threads is not None:
            self._max_threads(new.max_threads)
        for text, value in new.attributes.items():
            self._attribute(text, value)
        return self.remarks

    # -- single values ---------------------------------------------------------------------------

    def _limit(self, what: str, value: int, limit: str) -> None:
        most = targets.limit(self.sm, limit)
        if value < 0 or (most is not None and value > most):
            raise BadStructureError(
                f"{what} {value} is out of range", field=self.name, expected=f"0 to {most}"
            )

    def _registers(self, value: int) -> None:
        self._limit("registers", value, "max_registers_per_thread")
        places, changes = self._set_keyed(EIATTR_REGCOUNT, value)
        if places and not changes:
            return  # the header stays as it is: nvlink leaves another count there
        owns_code = functions.owner(self.code.name) == self.name
        family = targets.family_of(self.sm)
        in_header = self.code.registers or (not places and family.registers_in_sh_info)
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
            flags = self.code.sh_flags & ~SHF_BARRIERS_MASK
            self.code.sh_flags = flags | value << SHF_BARRIERS_SHIFT
            if not any(self._find(half, EIATTR_NUM_BARRIERS) for half in (False, True)):
                return
        record = attributes.byte(EIATTR_NUM_BARRIERS, value)
        places = [self._find(half, EIATTR_NUM_BARRIERS) for half in (False, True)]
        if value or all(is_same(found, record) for found in places if found is not None):
            self._put(EIATTR_NUM_BARRIERS, lambda _: record, only_replace=not value)
        else:
            self._put(EIATTR_NUM_BARRIERS, lambda _: None, only_replace=True)

    def _max_threads(self, shape: tuple[int, int, int]) -> None:
        if not functions.is_kernel(self.symbol):
            raise BadStructureError("only a kernel has a largest block", field=self.name)
        if self._find(False, EIATTR_REQNTID) is not None:
            raise BadStructureError(
                "it requires one shape of blocks, so it has no largest one",
                field=self.name,
                expected="a new value of the attribute REQNTID",
            )
        for axis in shape:
            self._limit("max threads", axis, "max_threads_per_block")
        if min(shape) < 1:
            raise BadStructureError("a block has at least one thread", field=self.name)
        self._limit("max threads", prod(shape), "max_threads_per_block")
        record = attributes.sized(EIATTR_MAX_THREADS, DIM3.pack(*shape))
        self._put(EIATTR_MAX_THREADS, lambda _: record)

    # -- records keyed by symbol -----------------------------------------------------------------

    def _keyed(self, code: int, value: int, what: str) -> None:
        if not 0 <= value <= _U32:
            raise BadStructureError(f"{what} {value} is out of range", field=self.name)
        count, _ = self._set_keyed(code, value)
        if not count:
            name = attribute_name(code)
            raise BadStructureError(f"no {name} of this function is here", field=self.name)

    def _count(self, code: int) -> int:
        return sum(1 for half in (False, True) for _ in self._keyed_records(code, half))

    def _set_keyed(self, code: int, value: int) -> tuple[int, int]:
        """Set the word behind the symbol number in all records of the function.

        ptxas writes frame sizes into the Mercury half that differ from those of the SASS half. The
        Mercury half is left alone when the SASS half has the value already.

        Returns:
            how many records there are, and how many were changed.
        """
        count = changes = 0
        for mercury in (False, True):
            if mercury and count and not changes:
                break
            for body, at in self._keyed_records(code, mercury):
                form, _, size, payload = body.records[at]
                index, old = FUNCTION_VALUE.unpack(payload)
                body.records[at] = (form, code, size, FUNCTION_VALUE.pack(index, value))
                count += 1
                changes += old != value
        return count, changes

    def _keyed_records(
        self, wanted: int, mercury: bool
    ) -> Iterator[tuple[bodies.InfoRecords, int]]:
        """Where the function's records of an attribute stand in one half."""
        index = self._index(mercury)
        for section in self.description.sections:
            body = section.body
            if section.sh_type != _INFO_TYPE[mercury] or not isinstance(body, bodies.InfoRecords):
                continue
            for at, (_, code, _, payload) in enumerate(body.records):
                if code != wanted or len(payload) != FUNCTION_VALUE.size:
                    continue
                symbol, _ = FUNCTION_VALUE.unpack(payload)
                if symbol == index:
                    yield body, at

    def _index(self, mercury: bool) -> int | None:
        if not mercury:
            return self.tables.index(self.symbol)
        for at, twin in enumerate(self.tables.mercury):
            if twin is None or twin.name != self.name:
                continue
            if twin.st_info & ST_TYPE_MASK == STT_FUNC:
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

    def _find(self, mercury: bool, code: int) -> AttributeRecord | None:
        """The first record of a code in the function's section."""
        section = self._info(mercury)
        if section is None or not isinstance(section.body, bodies.InfoRecords):
            return None
        return next((record for record in section.body.records if _code(record) == code), None)

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
            at: which of several records of the code; their number adds another one.
            module: in ``.nv.info`` instead of the function's section.
            only_replace: do nothing where there is no such record.

        Returns:
            how many records there were before.
        """
        met = found = same = 0
        for half in halves:
            if half and same:
                break  # SASS has the record already; its copy may differ on purpose
            section = self.description.section(_MODULE_INFO[half]) if module else self._info(half)
            if section is None:
                continue
            body = section.body
            if not isinstance(body, bodies.InfoRecords):
                raise BadStructureError("its records are malformed", field=section.name)
            met += 1
            record = make(half)
            places = [place for place, old in enumerate(body.records) if _code(old) == code]
            if module and record is not None:
                places = [p for p in places if _is_about_the_same(body.records[p], record)]
            found += len(places)
            same += record is not None and any(
                is_same(body.records[place], record) for place in places[at or 0 :][:1]
            )
            place = _place(section, code, places, at)
            if place is not None:
                _replace(body.records, place, record)
            elif record is not None and not only_replace:
                self._add(section, body.records, places, record)
        if not met:
            where = _MODULE_INFO[False] if module else "attribute section of the function"
            raise BadStructureError(f"there is no {where}", field=self.name)
        return found

    def _add(
        self,
        section: Section,
        records: list[AttributeRecord],
        places: list[int],
        record: AttributeRecord,
    ) -> None:
        """Add a record: behind the last one of its code, else where ptxas would write it."""
        if places:
            records.insert(places[-1] + 1, record)
        elif section.name in _MODULE_INFO.values():
            records.append(record)
        else:
            attributes.insert(records, record, finalizer=self.finalizer)

    def _attribute(self, text: str, value: str | None) -> None:
        name, at = split_index(text)
        code = attribute_code(name)
        kind, fields, references = fields_of(code)
        module = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN).places == ("module",)
        if module and fields[:1] == (OF_FUNCTION,):
            self._of_function(code, value)
            return
        halves = self._halves(code, module)
        # instruction offsets count in SASS; the Mercury copy counts in its own code
        differs = "code" in references or kind in _OFFSET_KINDS
        if value is not None and value.startswith("hex:"):
            differs = True  # bytes may hold numbers of symbols, which differ too
        if value is not None and differs and halves == (False, True):
            if self._find(True, code) is not None:
                self.remarks.append(
                    f".nv.merc.nv.info.{self.name}: its {attribute_name(code)} counts in its own "
                    "half of the file"
                )
            halves = (False,)

        def make(half: bool) -> AttributeRecord | None:
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
        if code == EIATTR_REGCOUNT:
            self._registers(number(value, name))
        else:
            self._keyed(code, number(value, name), name)

    def _halves(self, code: int, module: bool) -> tuple[bool, ...]:
        """In which halves of the file an attribute stands: SASS (``False``), Mercury."""
        half = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN).mercury
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


def _code(record: AttributeRecord) -> int:
    _, code, _, _ = record
    return code


def _place(section: Section, code: int, places: list[int], at: int | None) -> int | None:
    """Place of the record to be replaced; ``None`` when there is none and one may be added.

    Args:
        places: where the records of the code stand.
        at: which of them; ``None``: the only one.

    Raises:
        CubinError: it is not clear which one, or there are fewer.
    """
    name = attribute_name(code)
    if at is None and len(places) > 1:
        raise BadStructureError(
            f"{name} stands there {len(places)} times",
            field=section.name,
            expected=f"{name}[0] to {name}[{len(places) - 1}]",
        )
    at = at or 0
    if at > len(places):
        raise BadStructureError(f"{name} stands there {len(places)} times", field=section.name)
    return places[at] if at < len(places) else None


def _replace(records: list[AttributeRecord], place: int, record: AttributeRecord | None) -> None:
    """Replace a record, or take it out; one that says the same stays, bit for bit."""
    if record is None:
        del records[place]
    elif not is_same(records[place], record):
        records[place] = record


def _is_about_the_same(old: AttributeRecord, new: AttributeRecord) -> bool:
    """Whether two records of a module's attribute name the same symbol, if it names one."""
    _, _, _, old_payload = old
    _, code, _, new_payload = new
    fields = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN).symbol_fields
    return all(old_payload[at : at + 4] == new_payload[at : at + 4] for at in fields[:1])
