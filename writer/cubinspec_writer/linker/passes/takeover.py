"""Pass 9b: attributes that kernels take over from the functions they reach.

A kernel reserves what its functions use: barriers (the highest number), mbarriers (the sum over all
functions), reserved shared memory, tensor memory, code fragments at the entry, masks of sparse
matrix variants, external names. With several kernels each one walks the functions that it reaches,
in the order of their attribute sections, and their records in order; what it has is changed in
place, what it lacks is appended. The only kernel of a program takes from all functions, reached or
not, one attribute after the other, and has no count of virtual resources; masks it takes only when
the inputs name a function without linked code (cases taken_over, taken_over_alone).

Fixed from here on: the attribute records of kernels.
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    EIATTR_AT_ENTRY_FRAGMENTS,
    EIATTR_EXTERNS,
    EIATTR_NUM_BARRIERS,
    EIATTR_NUM_MBARRIERS,
    EIATTR_RESERVED_SMEM_USED,
    EIATTR_SPARSE_MMA_MASK,
    EIATTR_TCGEN05_1CTA_USED,
    EIATTR_TCGEN05_2CTA_USED,
    EIATTR_VRC_CTA_INIT_COUNT,
    EIFMT_SVAL,
    STT_FUNC,
)
from cubinspec_writer.linker.model import InfoRecord, Symbol, immediate, info_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cubinspec_writer.linker.state import LinkState

#: How the number of a function joins that of its kernel.
_JOIN: dict[int, Callable[[int, int], int]] = {
    EIATTR_NUM_BARRIERS: max,
    EIATTR_NUM_MBARRIERS: int.__add__,
    EIATTR_VRC_CTA_INIT_COUNT: max,
    EIATTR_SPARSE_MMA_MASK: int.__or__,
}
_MARKS = frozenset((EIATTR_RESERVED_SMEM_USED, EIATTR_TCGEN05_1CTA_USED, EIATTR_TCGEN05_2CTA_USED))
TAKEN = frozenset((*_JOIN, *_MARKS, EIATTR_EXTERNS, EIATTR_AT_ENTRY_FRAGMENTS))
#: Order in which the only kernel takes what functions have; external names come between.
_ALONE_FIRST = (
    EIATTR_RESERVED_SMEM_USED,
    EIATTR_TCGEN05_1CTA_USED,
    EIATTR_TCGEN05_2CTA_USED,
    EIATTR_NUM_BARRIERS,
    EIATTR_NUM_MBARRIERS,
)
_OTHER_MODE = {
    EIATTR_TCGEN05_1CTA_USED: EIATTR_TCGEN05_2CTA_USED,
    EIATTR_TCGEN05_2CTA_USED: EIATTR_TCGEN05_1CTA_USED,
}

#: Function -> its records that kernels take over, in the order of its input.
Asked = dict[Symbol, list[InfoRecord]]


def is_asking(record: InfoRecord) -> bool:
    """Whether a record of a device function concerns kernels."""
    code = record[1]
    return code in TAKEN and (code not in _JOIN or immediate(record) != 0)


class Taker:
    """One kernel that takes over records.

    Attributes:
        records: the kernel's, which change.
    """

    def __init__(self, state: LinkState, kernel: Symbol, records: list[InfoRecord]) -> None:
        self.state = state
        self.kernel = kernel
        self.records = records
        self.told = False

    def from_below(self, functions: Iterable[Symbol], asked: Asked) -> None:
        """Take from functions in their order; external names only get their place."""
        for function in functions:
            for record in asked.get(function, ()):
                self.take(record)

    def take(self, record: InfoRecord) -> None:
        """Take one record; external names only get their place."""
        if record[1] != EIATTR_EXTERNS:
            self._take(record)
        elif self._find(EIATTR_EXTERNS) is None:
            self.records.append(record)

    def alone(self, functions: Iterable[Symbol], asked: Asked) -> None:
        """Take what stands before external names."""
        rows = [record for function in functions for record in asked.get(function, ())]
        own = {record[1] for record in self.records}
        for code in _ALONE_FIRST:
            for record in rows:
                if record[1] == code:
                    self._take(record, own)
        if any(r[1] == EIATTR_SPARSE_MMA_MASK for r in rows) and _names_code_elsewhere(self.state):
            for record in rows:
                if record[1] == EIATTR_SPARSE_MMA_MASK:
                    self._take(record)

    def fragments(self, functions: Iterable[Symbol], asked: Asked) -> None:
        """Take what stands behind external names."""
        for function in functions:
            for record in asked.get(function, ()):
                if record[1] == EIATTR_AT_ENTRY_FRAGMENTS:
                    self._take(record)

    def _find(self, code: int) -> int | None:
        return next((i for i, record in enumerate(self.records) if record[1] == code), None)

    def _take(self, record: InfoRecord, own: set[int] | None = None) -> None:
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
            self.records.append(record)
        elif code in _JOIN:
            value = _JOIN[code](immediate(self.records[at]), immediate(record))
            self.records[at] = info_record(self.records[at][0], code, value & 0xFFFF)
        elif code == EIATTR_AT_ENTRY_FRAGMENTS:
            payload = self.records[at][4:]
            known = [payload[i : i + 4] for i in range(0, len(payload), 4)]
            words = (record[i : i + 4] for i in range(4, len(record), 4))
            known += [word for word in words if word not in known]
            self.records[at] = info_record(EIFMT_SVAL, code, 0, b"".join(known))

    def _tell_modes(self) -> None:
        if not self.told:
            self.state.diagnostics.error(
                f"Function '{self.kernel.name}' uses single CTA(.cta_group::1) and CTA pair "
                "granularity(.cta_group::2) and that is not allowed."
            )
        self.told = True


def _names_code_elsewhere(state: LinkState) -> bool:
    """Whether the inputs name a function of which no code is linked."""
    return any(
        symbol is not None
        and symbol.kind == STT_FUNC
        and not (symbol.live and symbol.definition is not None)
        for obj in state.objects
        for symbol in obj.bound
    )
