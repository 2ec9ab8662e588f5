"""Attributes that kernels take over from the functions they reach.

A kernel reserves what its functions use: barriers (the highest number), mbarriers (the sum over all
functions), the z index of its block, reserved shared memory, tensor memory, code fragments at the
entry, masks of sparse matrix variants, external names. With several kernels each one walks the
functions that it reaches, in the order of their attribute sections, and their records in order;
what it has is changed in place, what it lacks is appended. The only kernel of a program takes from
all functions, reached or not, one attribute after the other; masks it takes only when the inputs
name a function without linked code, or some function says none (rules I3, I5).
"""

from __future__ import annotations

from cubinspec.format.attributes import raw_record
from cubinspec_generated.codes import (
    EIATTR_AT_ENTRY_FRAGMENTS,
    EIATTR_CTAIDZ_USED,
    EIATTR_EXTERNS,
    EIATTR_GRID_ATTRIBUTES,
    EIATTR_LANGUAGE,
    EIATTR_NUM_BARRIERS,
    EIATTR_NUM_MBARRIERS,
    EIATTR_REG_RECONFIG,
    EIATTR_RESERVED_SMEM_USED,
    EIATTR_SPARSE_MMA_MASK,
    EIATTR_TCGEN05_1CTA_USED,
    EIATTR_TCGEN05_2CTA_USED,
    EIATTR_VRC_CTA_INIT_COUNT,
    EIFMT_HVAL,
    EIFMT_NVAL,
    EIFMT_SVAL,
    SHT_CUDA_INFO,
    STT_FUNC,
)
from cubinspec_writer.linker.library.demands import (
    FORMATS,
    JOINED,
    MARKS,
    WORD_LISTS,
    Asked,
    Demands,
    external_record,
    header_value,
    replace_record,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.library.demands import Collected
    from cubinspec_writer.linker.model import InputObject, Symbol
    from cubinspec_writer.linker.state import Attributes, Job

#: Order in which the only kernel takes what functions have; external names come between.
_ALONE_FIRST: Final[tuple[int, ...]] = (
    EIATTR_CTAIDZ_USED,
    EIATTR_RESERVED_SMEM_USED,
    EIATTR_VRC_CTA_INIT_COUNT,
    EIATTR_TCGEN05_1CTA_USED,
    EIATTR_TCGEN05_2CTA_USED,
    EIATTR_REG_RECONFIG,
    EIATTR_NUM_BARRIERS,
    EIATTR_NUM_MBARRIERS,
)
_ALONE_LAST: Final[tuple[int, ...]] = (EIATTR_AT_ENTRY_FRAGMENTS, EIATTR_GRID_ATTRIBUTES)
#: Counts that the only kernel does not get when they are 0.
_COUNTS: Final[tuple[int, ...]] = (EIATTR_NUM_BARRIERS, EIATTR_NUM_MBARRIERS)

_OTHER_MODE: Final = {
    EIATTR_TCGEN05_1CTA_USED: EIATTR_TCGEN05_2CTA_USED,
    EIATTR_TCGEN05_2CTA_USED: EIATTR_TCGEN05_1CTA_USED,
}


def take_over(
    job: Job,
    objects: list[InputObject],
    diagnostics: Diagnostics,
    attributes: Attributes,
    collected: Collected,
    demands: Demands,
    kernels: list[Symbol],
    has_old: bool,
    is_alone: bool,
) -> None:
    """Let all kernels take over what the functions ask for.

    Args:
        has_old: there are functions of which no input says a mask.
        is_alone: there is one kernel, which is wanted.
    """
    externs, asked = collected.externs, collected.asked
    position = {function: at for at, function in enumerate(met_functions(attributes, collected))}
    everyone = _in_input_order(objects) if is_alone else None
    for kernel in kernels:
        own = collected.sections.get(kernel)
        if own is None:
            continue
        taker = Taker(diagnostics, kernel, own.records)
        if everyone is not None:
            # The only kernel of a program gets what any function asks for, reached or not.
            taker.alone(objects, everyone, asked, has_old)
            fill_externs(kernel, own.records, [], externs, everyone, job.toolkit.reverses_externs)
            taker.behind_names(everyone, asked)
        else:
            reached = demands.graph.reachable(kernel)
            below = sorted((f for f in reached if f in position), key=position.__getitem__)
            taker.from_below(below, asked)
            fill_externs(kernel, own.records, below, externs, None)


def met_functions(attributes: Attributes, collected: Collected) -> list[Symbol]:
    """Functions in the order in which the attributes of their linked copies were met."""
    return [function for function in attributes.order if function in collected.sections]


class Taker:
    """One kernel that takes over records.

    Attributes:
        records: the kernel's, which change.
    """

    def __init__(self, diagnostics: Diagnostics, kernel: Symbol, records: list[RawRecord]) -> None:
        self.diagnostics = diagnostics
        self.kernel = kernel
        self.records = records
        self.told: bool = False

    def from_below(self, functions: Iterable[Symbol], asked: Asked) -> None:
        """Take from functions in their order; external names only get their place."""
        for function in functions:
            for record in asked.get(function, ()):
                self.take(record)

    def take(self, record: RawRecord) -> None:
        """Take one record; external names only get their place."""
        if record[1] != EIATTR_EXTERNS:
            self._take(record)
        elif self._find(EIATTR_EXTERNS) is None:
            self.records.append(record)

    def alone(
        self,
        objects: list[InputObject],
        functions: Iterable[Symbol],
        asked: Asked,
        has_old: bool,
    ) -> None:
        """Take what stands before external names."""
        rows = [record for function in functions for record in asked.get(function, ())]
        own = {record[1] for record in self.records}
        for code in _ALONE_FIRST:
            for record in rows:
                if record[1] == code and (code not in _COUNTS or header_value(record)):
                    self._take(record, own)
        masks = any(r[1] == EIATTR_SPARSE_MMA_MASK for r in rows)
        if masks and (has_old or _names_code_elsewhere(objects)):
            for record in rows:
                if record[1] == EIATTR_SPARSE_MMA_MASK:
                    self._take(record)

    def behind_names(self, functions: list[Symbol], asked: Asked) -> None:
        """Take what stands behind external names."""
        rows = [record for function in functions for record in asked.get(function, ())]
        for code in _ALONE_LAST:
            for record in rows:
                if record[1] == code:
                    self._take(record)
        self._join_languages(functions, asked)

    def _join_languages(self, functions: list[Symbol], asked: Asked) -> None:
        """Make the record anew at the end, when it grows, in the order of the inputs (rule K34)."""
        at = self._find(EIATTR_LANGUAGE)
        own = self.records[at] if at is not None else raw_record(EIFMT_SVAL, EIATTR_LANGUAGE, 0)
        joined = raw_record(EIFMT_SVAL, EIATTR_LANGUAGE, 0)
        for function in functions:
            rows = [own] if function is self.kernel else asked.get(function, ())
            for record in rows:
                if record[1] == EIATTR_LANGUAGE:
                    joined = with_words(joined, record)
        if len(joined) > len(own):
            replace_record(self.records, EIATTR_LANGUAGE, None)
            self.records.append(joined)

    def _find(self, code: int) -> int | None:
        return next((i for i, record in enumerate(self.records) if record[1] == code), None)

    def _take(self, record: RawRecord, own: set[int] | None = None) -> None:
        """Join a record with the kernel's of the same code.

        Args:
            own: codes that decide about modes that exclude each other; None: those it has by now.
        """
        code = record[1]
        at = self._find(code)
        if code in _OTHER_MODE and at is None:
            other = _OTHER_MODE[code]
            if (other in own) if own is not None else (self._find(other) is not None):
                self._tell_modes()
        if at is None:
            self.records.append(_natural(record, alone=own is not None))
        elif own is not None and code == EIATTR_VRC_CTA_INIT_COUNT:
            pass  # the only kernel keeps its own
        elif self.records[at][0] == EIFMT_SVAL and code not in WORD_LISTS:
            pass  # nvlink writes the number over the payload's size
        elif code in JOINED:
            old, largest = header_value(self.records[at]), _largest(code)
            value = JOINED[code](old & largest, header_value(record) & largest) & largest
            self.records[at] = raw_record(self.records[at][0], code, value | old & ~largest)
        elif code == EIATTR_REG_RECONFIG and own is None:
            value = header_value(record) & _largest(code)
            self.records[at] = raw_record(self.records[at][0], code, value)
        elif code in WORD_LISTS:
            self.records[at] = with_words(self.records[at], record)

    def _tell_modes(self) -> None:
        """Report modes of tensor memory that exclude each other (rule I4)."""
        if not self.told:
            self.diagnostics.error(
                f"Function '{self.kernel.name}' uses single CTA(.cta_group::1) and CTA pair "
                "granularity(.cta_group::2) and that is not allowed."
            )
        self.told = True


def with_words(record: RawRecord, other: RawRecord) -> RawRecord:
    """A record with the words of another one that it lacks."""
    known = [record[i : i + 4] for i in range(4, len(record), 4)]
    added = (other[i : i + 4] for i in range(4, len(other), 4))
    payload = b"".join(dict.fromkeys((*known, *added)))
    return record[:2] + len(payload).to_bytes(2, "little") + payload


def _natural(record: RawRecord, *, alone: bool) -> RawRecord:
    """A record as a kernel gets it, in the usual format whatever that of the function (rule G3)."""
    code = record[1]
    if code in MARKS or (code == EIATTR_REG_RECONFIG and alone):
        return raw_record(EIFMT_NVAL, code, 0)
    if code not in FORMATS:
        return record
    return raw_record(FORMATS[code], code, header_value(record) & _largest(code))


def _largest(code: int) -> int:
    """The largest number that the usual format of an attribute has room for."""
    return 0xFFFF if FORMATS[code] == EIFMT_HVAL else 0xFF


def _names_code_elsewhere(objects: list[InputObject]) -> bool:
    """Whether the inputs name a function of which no code is linked."""
    return any(
        symbol is not None
        and symbol.kind == STT_FUNC
        and not (symbol.live and symbol.definition is not None)
        for obj in objects
        for symbol in obj.bound
    )


def fill_externs(
    kernel: Symbol,
    records: list[RawRecord],
    reached: list[Symbol],
    externs: dict[Symbol, list[Symbol]],
    everyone: list[Symbol] | None,
    is_reversed: bool = True,
) -> None:
    """Join the external names of a kernel and of what it reaches, its own first.

    Of several kernels each keeps its record, and the rest follows in the order of the functions'
    sections. With one kernel in the program the record is made anew at the end when it grows, from
    all functions and the kernel in the order of the inputs, last name first
    (rules I2, I6, K4).

    Args:
        everyone: for the only kernel of a program, all functions in the order of the inputs.
        is_reversed: whether the last name comes first where the record is made anew.
    """
    own = externs.get(kernel, [])
    lists = [own, *(externs.get(f, []) for f in everyone or reached)]
    needed = list(dict.fromkeys(x for names in lists for x in names))
    if everyone and any(x not in own for x in needed):
        replace_record(records, EIATTR_EXTERNS, None)
        needed = list(dict.fromkeys(x for f in everyone for x in externs.get(f, ())))
        if is_reversed:
            needed.reverse()
    replace_record(records, EIATTR_EXTERNS, external_record(needed) if needed else None)


def _in_input_order(objects: list[InputObject]) -> list[Symbol]:
    """Functions with attributes, in the order of the inputs' sections, by the last copy."""
    places = [
        place[0].owner
        for obj in objects
        for s in obj.sections
        if s.sh_type == SHT_CUDA_INFO and (place := obj.placed[s.index]) is not None
    ]
    met = dict.fromkeys(owner for owner in reversed(places) if owner is not None)
    return list(reversed(met))
