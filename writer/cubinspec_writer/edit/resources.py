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
from struct import calcsize, pack
from struct import error as StructError
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec.model.info import CODE
from cubinspec_generated.records import FUNCTION_VALUE
from cubinspec_generated.tables import arch, eiattr
from cubinspec_writer.build import attributes
from cubinspec_writer.edit import functions
from cubinspec_writer.edit.notes import ABI_7
from cubinspec_writer.edit.references import SymbolTables, attribute_name
from cubinspec_writer.emit import bodies
from cubinspec_writer.emit.model import Section
from cubinspec_writer.emit.profiles import PROFILES

if TYPE_CHECKING:
    from cubinspec_writer.emit.bodies import InfoRecord
    from cubinspec_writer.emit.model import Description

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


@dataclass(slots=True)
class Resources:
    """New values of one function; ``None`` leaves a value as it is.

    Attributes:
        registers: registers per thread.
        max_threads: threads of a block in x, y, z (``.maxntid``).
        stack: bytes of stack of the whole call tree (``EIATTR_MIN_STACK_SIZE`` in executables,
            ``EIATTR_MAX_STACK_SIZE`` in relocatable files).
        frame: bytes of the function's own stack frame.
        barriers: number of named barriers.
        attributes: name (with or without ``EIATTR_``) or number -> value, see
            :func:`parse_value`; ``None`` takes the attribute out.
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
        self.finalizer = PROFILES[description.profile].mercury_names
        header = description.header
        self.sm = header.e_flags >> 8 & 0xFFFF if header.ei_osabi == 0x41 else header.e_flags & 0xFF
        self.remarks: list[str] = []

    def run(self, new: Resources) -> list[str]:
        if new.registers is not None:
            self._registers(new.registers)
        if new.frame is not None:
            self._keyed((_FRAME_SIZE,), new.frame, "frame")
        if new.stack is not None:
            self._keyed(_STACK, new.stack, "stack")
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
        places = self._set_keyed((_REGCOUNT,), value)
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
            if not any(self._records(half, _NUM_BARRIERS) for half in (False, True)):
                return
        self._put(attributes.byte(_NUM_BARRIERS, value) if value else None, _NUM_BARRIERS)

    def _max_threads(self, shape: tuple[int, int, int]) -> None:
        for axis in shape:
            self._limit("max threads", axis, "max_threads_per_block")
        if min(shape) < 1:
            raise BadStructureError("a block has at least one thread", field=self.name)
        self._limit("max threads", shape[0] * shape[1] * shape[2], "max_threads_per_block")
        self._put(attributes.sized(_MAX_THREADS, pack("<III", *shape)), _MAX_THREADS)

    # -- records keyed by symbol -----------------------------------------------------------------

    def _keyed(self, codes: tuple[int, ...], value: int, what: str) -> None:
        if not 0 <= value <= _U32:
            raise BadStructureError(f"{what} {value} is out of range", field=self.name)
        if not self._set_keyed(codes, value):
            names = " or ".join(attribute_name(code) for code in codes)
            raise BadStructureError(f"no {names} of this function is here", field=self.name)

    def _set_keyed(self, codes: tuple[int, ...], value: int) -> int:
        """Set the word behind the symbol number in all matching records; how many there were."""
        count = 0
        for mercury in (False, True):
            index = self._index(mercury)
            for section in self.description.sections:
                body = section.body
                if section.sh_type != _INFO_TYPE[mercury] or not isinstance(
                    body, bodies.InfoRecords
                ):
                    continue
                for at, (form, code, size, payload) in enumerate(body.records):
                    if code not in codes or len(payload) != FUNCTION_VALUE.size:
                        continue
                    if FUNCTION_VALUE.unpack(payload)[0] == index:
                        body.records[at] = (form, code, size, FUNCTION_VALUE.pack(index, value))
                        count += 1
        return count

    def _index(self, mercury: bool) -> int | None:
        if not mercury:
            return self.tables.index(self.symbol)
        for at, twin in enumerate(self.tables.mercury):
            if twin is not None and twin.name == self.name and twin.st_info & 0xF == 2:
                return at
        return None

    # -- records of the function's own section ---------------------------------------------------

    def _info(self, mercury: bool) -> Section | None:
        code: Section | None = self.code
        if mercury:
            code = functions.capsule(self.description, self.symbol)
        if code is None or not code.name.endswith("." + self.name):
            return None
        return functions.info_section(self.description, code)

    def _records(self, mercury: bool, code: int) -> list[InfoRecord]:
        section = self._info(mercury)
        if section is None or not isinstance(section.body, bodies.InfoRecords):
            return []
        return [record for record in section.body.records if record[1] == code]

    def _put(self, record: InfoRecord | None, code: int, *, mercury: bool = True) -> None:
        """Replace an attribute in both halves, put it in, or take it out."""
        found = False
        for half in (False, True) if mercury else (False,):
            section = self._info(half)
            if section is None:
                continue
            body = section.body
            if not isinstance(body, bodies.InfoRecords):
                raise BadStructureError("its records are malformed", field=section.name)
            found = True
            places = [at for at, existing in enumerate(body.records) if existing[1] == code]
            if len(places) > 1:
                raise BadStructureError(
                    f"{attribute_name(code)} stands there {len(places)} times", field=section.name
                )
            if record is None:
                for at in places:
                    del body.records[at]
            elif places:
                body.records[places[0]] = record
            else:
                attributes.insert(body.records, record, finalizer=self.finalizer)
        if not found:
            raise BadStructureError("the function has no attribute section", field=self.name)

    def _attribute(self, text: str, value: str | None) -> None:
        code = attribute_code(text)
        kind, form, names, references, _ = eiattr.LAYOUTS.get(code, ("unknown", "", (), (), ()))
        if "symbol" in references:
            if kind != "struct" or form != "<II" or value is None:
                raise BadStructureError(
                    f"{attribute_name(code)} refers to symbols; it cannot be set from a text"
                )
            self._keyed((code,), _number(value, attribute_name(code)), names[1])
            return
        record = None if value is None else parse_value(code, value)
        # instruction offsets count in SASS; the Mercury copy counts in its own code
        shared = "code" not in references and kind not in ("records", "list")
        has_copy = self._info(True) is not None
        if code in attributes.SASS_ONLY:
            shared = False
        elif has_copy and not shared:
            self.remarks.append(
                f".nv.merc.nv.info.{self.name}: its {attribute_name(code)} counts in Mercury code"
            )
        self._put(record, code, mercury=shared)


def attribute_code(text: str) -> int:
    """An attribute's code from its name (with or without ``EIATTR_``) or number.

    Raises:
        CubinError: no attribute has that name.
    """
    name = text.upper()
    for candidate in (name, f"EIATTR_{name}"):
        if candidate in CODE:
            return CODE[candidate]
    try:
        code = int(text, 0)
    except ValueError:
        raise BadStructureError(f"no attribute is named {text!r}") from None
    if not 0 <= code <= 0xFF:
        raise BadStructureError(f"attribute {code:#x} is out of range")
    return code


def parse_value(code: int, text: str) -> InfoRecord:
    """An attribute record from its value as text.

    Numbers by the layout of the attribute, separated by commas, such as ``128,1,1`` for
    ``EIATTR_MAX_THREADS``; nothing for a flag; ``hex:`` and the payload's bytes for any other.

    Raises:
        CubinError: the value does not fit the attribute.
    """
    name = attribute_name(code)
    if text.startswith("hex:"):
        try:
            return attributes.sized(code, bytes.fromhex(text[4:]))
        except ValueError:
            raise BadStructureError(f"{text[4:]!r} is no hexadecimal text", field=name) from None
    kind, form, names, _, _ = eiattr.LAYOUTS.get(code, ("unknown", "", (), (), ()))
    numbers = [_number(part, name) for part in text.split(",")] if text else []
    count = len(names)
    try:
        if kind == "none" and not numbers:
            return attributes.flag(code)
        if kind == "inline" and len(numbers) == count:
            value = int.from_bytes(pack(form, *numbers), "little")
            single = calcsize(form) == 1
            return attributes.byte(code, value) if single else attributes.half(code, value)
        if kind == "struct" and len(numbers) == count:
            return attributes.sized(code, pack(form, *numbers))
        if kind == "array" and numbers and len(numbers) % count == 0:
            rows = [numbers[at : at + count] for at in range(0, len(numbers), count)]
            return attributes.sized(code, b"".join([pack(form, *row) for row in rows]))
    except StructError as error:
        raise BadStructureError(f"a value does not fit: {error}", field=name) from None
    raise BadStructureError(f"{text!r} does not fit its layout", field=name, expected=_form(code))


def _form(code: int) -> str:
    kind, _, names, _, _ = eiattr.LAYOUTS.get(code, ("unknown", "", (), (), ()))
    if kind == "none":
        return "no value"
    if kind in ("inline", "struct"):
        return ",".join(names)
    if kind == "array":
        return ",".join(names) + " once or more"
    return "hex:BYTES"


def _number(text: str, name: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise BadStructureError(f"{text!r} is no number", field=name) from None
