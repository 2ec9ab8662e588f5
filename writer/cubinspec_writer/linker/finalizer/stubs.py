"""The table of stubs of unified functions (`.nv.uft`) from sm_100 on.

Up to sm_90 the stubs just follow each other in the order of their slots. From sm_100 on the
finalizer makes the SASS table from a Mercury table in which every slot is two instructions wider.
It removes the padding after each stub, fills the slot up with the stub's last instruction, and
writes the padding once, at the end of the table. The symbols of stubs hold offsets in the table as
it was before it was widened. The finalizer takes them for offsets in the wide table and moves them
to the SASS instruction that lies there (rule U15).
"""

from __future__ import annotations

from struct import Struct

from cubinspec_generated.codes import (
    CAPSULE_COUNT,
    CAPSULE_COUNT_SHIFT,
    CAPSULE_SHORT,
    CAPSULE_UNIT,
)
from cubinspec_generated.codes_sass import (
    SASS_BYTES,
    SASS_STALL_MASK,
    SASS_STALL_SHIFT,
    SASS_STUB_BITMAP,
    SASS_STUB_BYTES,
    SASS_STUB_FIRST_UNITS,
    SASS_STUB_ITEMS,
    SASS_STUB_PADDING,
    SASS_UNSCHEDULED_STALL,
    SASS_UNSCHEDULED_WAIT,
    SASS_WAIT_MASK,
    SASS_WAIT_SHIFT,
    SASS_YIELDS,
)
from cubinspec_generated.tables.sass import STUB_UNITS
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer.flow import encode, words_of
from cubinspec_writer.linker.inputs.options import debugger_sees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.format.targets import Toolkit
    from cubinspec_writer.linker.model import Symbol
    from cubinspec_writer.linker.state import Job

MERCURY_SLOT = sum(STUB_UNITS) * CAPSULE_UNIT
#: Bytes of the padding behind a stub.
_PADDING_BYTES = SASS_STUB_PADDING * SASS_BYTES
#: Instructions of a slot.
_PER_SLOT = SASS_STUB_BYTES // SASS_BYTES

#: Items of the capsule of a stub of ptxas 13.1 and later, and those without a record.
_BARE_ITEMS = SASS_STUB_ITEMS - _PER_SLOT + SASS_STUB_PADDING + 2
_BARE_BITMAP = 2
_SCHEDULE = SASS_STALL_MASK | SASS_YIELDS | SASS_WAIT_MASK
_WAITING = SASS_UNSCHEDULED_STALL << SASS_STALL_SHIFT | SASS_UNSCHEDULED_WAIT << SASS_WAIT_SHIFT

#: The capsule of one stub: index of the SASS section, mark, number of items, a bitmap of one
#: word, a record with 4 bytes of a Mercury instruction, and a record of padding.
_CAPSULE = Struct("<IIII4sH")
_HEAD = Struct("<III")
#: Bytes of a word of the bitmap.
_WORD = 4
#: Record of padding: a count of SASS instructions.
_PADDING = Struct("<H")


def with_room(stub: bytes) -> bytes:
    """The SASS code of a stub of ptxas 13.1 and later as that of 13.0 (rule K26).

    The later one has the loop that ends the padding right behind its jump.
    """
    words = words_of(stub)
    loop, idle = words[_BARE_ITEMS - 1], words[_BARE_ITEMS]
    if any(word != idle for word in words[_BARE_ITEMS:]) or loop == idle:
        return stub
    rest = idle & ~_SCHEDULE | 1 << SASS_STALL_SHIFT | SASS_YIELDS
    between = [rest] * (_PER_SLOT - SASS_STUB_PADDING - _BARE_ITEMS + 1)
    return encode([*words[: _BARE_ITEMS - 1], *between, loop, *[idle] * (SASS_STUB_PADDING - 1)])


def capsule_with_room(stub: bytes) -> bytes:
    """The Mercury code of such a stub."""
    if len(stub) != _CAPSULE.size:
        return stub
    index, mark, num_items, bits, record, _ = _CAPSULE.unpack(stub)
    if (num_items, bits) != (_BARE_ITEMS, _BARE_BITMAP):
        return stub
    return _CAPSULE.pack(
        index, mark, SASS_STUB_ITEMS, SASS_STUB_BITMAP, record, _padding(SASS_STUB_PADDING)
    )


class Slots:
    """How the finalizer lays out the slots of a table.

    Attributes:
        filled: how often the last instruction of a stub is repeated.
        is_padded: whether each slot has its padding; otherwise it stands once, behind all.
    """

    __slots__ = ("filled", "is_padded")

    def __init__(self, filled: int, *, is_padded: bool) -> None:
        self.filled = filled
        self.is_padded = is_padded

    @property
    def mercury_bytes(self) -> int:
        """Bytes of a slot in the Mercury half."""
        return MERCURY_SLOT if self.filled else SASS_STUB_BYTES

    @property
    def sass_bytes(self) -> int:
        """Bytes of a slot in the SASS half."""
        return SASS_BYTES * (self.instructions + self.is_padded * SASS_STUB_PADDING)

    @property
    def instructions(self) -> int:
        """Instructions of a slot in front of padding."""
        return _PER_SLOT - SASS_STUB_PADDING + self.filled

    def padding_behind(self, count: int) -> int:
        """Instructions of padding behind so many slots."""
        return 0 if self.is_padded else _PER_SLOT - count * self.instructions % _PER_SLOT


def slots_of(job: Job) -> Slots:
    """How the nvlink of a toolkit lays out slots (rules U14, U18)."""
    if job.toolkit.widens_stubs:
        return Slots(SASS_STUB_PADDING, is_padded=False)
    return Slots(0, is_padded=not debugger_sees(job.options))


def capsule(stubs: list[bytes], slots: Slots) -> bytes:
    """The Mercury code of a table; its first word is set when the file is written."""
    records: list[bytes] = []
    mark = 0
    per_slot = slots.instructions + slots.is_padded
    for stub in stubs:
        if len(stub) != _CAPSULE.size:
            raise _unknown_form()
        _, mark, num_items, bits, record, padding = _CAPSULE.unpack(stub)
        first = CAPSULE_SHORT | SASS_STUB_FIRST_UNITS
        expected = (SASS_STUB_ITEMS, SASS_STUB_BITMAP, first, _padding(SASS_STUB_PADDING))
        if (num_items, bits, record[0], padding) != expected:
            raise _unknown_form()
        records.append(record)
        if slots.is_padded:
            records.append(_PADDING.pack(padding))
    num_items = per_slot * len(stubs)
    behind = slots.padding_behind(len(stubs))
    if behind:
        num_items += 1
        records.append(_PADDING.pack(_padding(behind)))
    # In every slot only the first instruction has a record; padding has one, too.
    bare = (1 << slots.instructions) - 2
    bits = sum(bare << per_slot * slot for slot in range(len(stubs)))
    num_words = -(-num_items // (8 * _WORD))
    head = _HEAD.pack(0, mark, num_items)
    return b"".join((head, bits.to_bytes(num_words * _WORD, "little"), *records))


def _padding(instructions: int) -> int:
    """The record of so many instructions of padding."""
    return CAPSULE_COUNT | instructions << CAPSULE_COUNT_SHIFT


def finalized(stubs: list[bytes], slots: Slots) -> bytes:
    """The SASS code that the finalizer makes from a table (rule U14)."""
    code: list[bytes] = []
    loop = idle = b""
    for stub in stubs:
        if len(stub) != SASS_STUB_BYTES:
            raise _unknown_form()
        body, padding = stub[:-_PADDING_BYTES], stub[-_PADDING_BYTES:]
        loop, idle = padding[:SASS_BYTES], padding[SASS_BYTES:]
        code += [body, body[-SASS_BYTES:] * slots.filled]
        if slots.is_padded:
            code.append(idle * SASS_STUB_PADDING)
    behind = slots.padding_behind(len(stubs))
    if behind:
        code += [loop, idle * (behind - 1)]
    return b"".join(code)


def unscheduled(stub: bytes, toolkit: Toolkit) -> bytes:
    """The SASS code of a stub in a link for a debugger (rule U18).

    Before CUDA 13.3 each instruction waits, and then none.
    """
    schedule = _WAITING if toolkit.holds_unscheduled else 0
    body, padding = stub[:-_PADDING_BYTES], stub[-_PADDING_BYTES:]
    return encode(word & ~_SCHEDULE | schedule for word in words_of(body)) + padding


def finalize_symbols(stubs: list[Symbol], size: int, slots: Slots) -> int:
    """Give the symbols of stubs the values and sizes that the finalizer gives them.

    Args:
        stubs: symbols in the order of slots; their values are offsets in the table of the inputs.
        size: bytes of the SASS table.

    Returns:
        The code length that the frame of the first stub has.
    """
    starts = {sum(STUB_UNITS[:number]): number for number in range(len(STUB_UNITS))}
    for stub in stubs:
        slot, unit = divmod(stub.value, slots.mercury_bytes)
        stub.value = slot * slots.sass_bytes + SASS_BYTES * starts[unit // CAPSULE_UNIT]
    ends = [*(stub.value for stub in stubs[1:]), size]
    for stub, end in zip(stubs, ends, strict=True):
        # The first symbol of a code section has the size of the whole section.
        stub.size = end - stub.value if stub.value else size
    return ends[0]


def _unknown_form() -> UnsupportedLinkError:
    return UnsupportedLinkError("a stub of a unified function of an unknown form")
