"""Which instructions the finalizer makes of fences and of the end of a kernel.

ptxas writes code that is right whatever the rest of the program does. In front of a memory barrier
it puts up to four loads from shared memory that never run (`@!PT LDS RZ, [RZ]`), and a barrier of
the block (`MEMBAR.ALL.CTA`) in front of a wider one. In a kernel that calls nothing the finalizer
knows the whole program, and leaves these out. The loads stay in kernels that copy to shared memory
(`LDGSTS`), the barrier of the block in those that use objects of type mbarrier (rule F11). With
`-g` all of it stays.

Code for a debugger waits for errors of the memory before it ends: `MEMBAR.SC.VC`, `ERRBAR` and
`CGAERRBAR` in front of `EXIT`. ptxas writes them when it is asked for debug data. The finalizer
does it for the whole program when it is asked to, or when any input says that errors are to be
visible at the end; otherwise it leaves out what an earlier link with `-r` added. Where it knows the
whole program, it does without `MEMBAR.SC.VC` (rule F13; `ends` tells when all of these run).

Before CUDA 13 ptxas put a NOP behind WARPSYNC. The finalizer leaves it out, in every function and
with every option (rule F15). Of NOPs that only let time pass, the last one now has the rest of it
(rule F17).

All that is in what the capsule tells: which SASS instructions come from one Mercury instruction.
"""

from __future__ import annotations

from types import MappingProxyType

from cubinspec_generated.codes import CAPSULE_SHORT, CAPSULE_SHORT_BYTES
from cubinspec_generated.codes_sass import (
    SASS_ALWAYS,
    SASS_BYTES,
    SASS_GUARD_MASK,
    SASS_GUARD_SHIFT,
    SASS_LDGSTS,
    SASS_LOAD_NOTHING,
    SASS_LONGEST_YIELD,
    SASS_MEMBAR_OF_BLOCK,
    SASS_MEMBAR_OF_ERRORS,
    SASS_MERCURY_KIND_AT,
    SASS_MERCURY_MBARRIER,
    SASS_NEVER,
    SASS_NO_BARRIER,
    SASS_OPCODE_MASK,
    SASS_OPERATION_MASK,
    SASS_PLAIN_CGAERRBAR,
    SASS_PLAIN_NOP,
    SASS_REGISTER_A_MASK,
    SASS_STALL_MASK,
    SASS_STALL_SHIFT,
    SASS_WAIT_SHIFT,
    SASS_WARPSYNC_OF_ALL,
    SASS_WARPSYNC_OF_MASK,
    SASS_YIELDS,
)
from cubinspec_generated.tables.sass import CALL, STORES_SURFACE
from cubinspec_writer.linker.finalizer import capsules
from cubinspec_writer.linker.finalizer.ends import Ends, is_end, is_waiting_end
from cubinspec_writer.linker.finalizer.flow import (
    MEANING,
    Instruction,
    encode,
    is_unscheduled,
    with_barriers,
    words_of,
)
from cubinspec_writer.linker.finalizer.moved import Moved, UnknownCodeError

#: Opcode, with its form, of all memory barriers.
_MEMBAR = SASS_MEMBAR_OF_BLOCK & SASS_OPERATION_MASK
#: Some of these bits as bytes, by which a search of whole code finds the instructions.
_SIGNS = tuple(
    meaning.to_bytes(SASS_BYTES, "little")[2 : SASS_STALL_SHIFT // 8]
    for meaning in (SASS_LOAD_NOTHING, SASS_MEMBAR_OF_BLOCK, SASS_MEMBAR_OF_ERRORS)
)
#: First bytes of WARPSYNC and NOP, side by side.
_SYNC_AND_NOP = bytes(
    word.to_bytes(SASS_BYTES, "little")[0] for word in (SASS_WARPSYNC_OF_ALL, SASS_PLAIN_NOP)
)
#: NOP that lets as much time pass as one instruction can.
_LONGEST_NOP = with_barriers(
    SASS_PLAIN_NOP | SASS_ALWAYS << SASS_GUARD_SHIFT | SASS_STALL_MASK,
    SASS_NO_BARRIER,
    SASS_NO_BARRIER,
    0,
)
#: Time and hint of an instruction.
_LONGEST = SASS_STALL_MASK | SASS_YIELDS
_CGAERRBAR_BYTE = SASS_PLAIN_CGAERRBAR.to_bytes(SASS_BYTES, "little")[0]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cubinspec_writer.linker.finalizer.capsules import Item


class Code:
    """One function of an input, in both forms.

    Attributes:
        sass, capsule: its code.
        bound: numbers of SASS instructions that have relocations.
        numbers: SASS instructions that have the offset of another one as a number -> that one.
    """

    __slots__ = ("bound", "capsule", "numbers", "sass")

    def __init__(
        self,
        sass: bytes,
        capsule: bytes,
        bound: Collection[int],
        numbers: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.sass = sass
        self.capsule = capsule
        self.bound = bound
        self.numbers = numbers


def may_change(code: bytes, *, has_debug: bool) -> bool:
    """Whether it is worth a look: a quick test of the bytes."""
    return has_debug or any(sign in code for sign in _SIGNS) or may_lose(code)


def may_lose(code: bytes) -> bool:
    """Whether any function may lose something of this code: a quick test of the bytes."""
    return _CGAERRBAR_BYTE in code[::SASS_BYTES] or has_idle_sync(code)


def has_idle_sync(code: bytes) -> bool:
    """Whether SASS code may have a WARPSYNC with a NOP behind it: a quick test of the bytes."""
    return _SYNC_AND_NOP in code[::SASS_BYTES]


def rest_last(code: bytes) -> bytes:
    """Code in which the last of some NOPs that only let time pass has the shortest time.

    Before CUDA 13 that was the first of them, and it could yield (rule F17).
    """
    words = words_of(code)
    for at in range(1, len(words)):
        before, first = words[at - 1], words[at]
        is_first = before & MEANING != SASS_PLAIN_NOP and before & _LONGEST == SASS_STALL_MASK
        if not is_first or not _lets_time_pass(first):
            continue
        last = at
        while last + 1 < len(words) and words[last + 1] == _LONGEST_NOP:
            last += 1
        words[at] = _LONGEST_NOP
        words[last] = first & ~SASS_YIELDS
    return encode(words)


def _lets_time_pass(word: int) -> bool:
    """Whether an instruction is a NOP that takes less than the longest time, and does no more."""
    without_time = SASS_STALL_MASK | SASS_YIELDS
    return (
        word & ~without_time == _LONGEST_NOP & ~without_time
        and word & SASS_STALL_MASK != SASS_STALL_MASK
    )


def calls(code: bytes) -> bool:
    """Whether SASS code calls anything."""
    return any(word & SASS_OPCODE_MASK in CALL for word in words_of(code))


def has_fence(code: bytes) -> bool:
    """Whether SASS code has a barrier of memory that is not one for errors at its end."""
    return any(
        word & SASS_OPERATION_MASK == _MEMBAR and word & MEANING != SASS_MEMBAR_OF_ERRORS
        for word in words_of(code)
    )


def finalized(code: Code, *, is_final: bool, has_debug: bool) -> tuple[Code, Moved] | None:
    """The code that the finalizer makes; None when that is the same.

    Rules F11, F13 and F15.

    Args:
        is_final: whether the finalizer knows all that the function does.
        has_debug: whether the end of a kernel waits for errors.

    Raises:
        UnknownCodeError: the code has a form that was never observed.
    """
    items = capsules.items(code.capsule)
    words = words_of(code.sass)
    last = items[-1]
    if not last.is_padding or last.number + last.count != len(words):
        raise UnknownCodeError("a capsule with another number of instructions")
    kept = _kept(code.capsule, items, words)
    removed: set[int] = set()
    joined: set[int] = set()
    ends = Ends(words)
    new: dict[int, tuple[int, bytes] | None] = {}
    for number, item in enumerate(items[:-1]):
        if not item.count:
            continue
        run = words[item.number : item.number + item.count]
        record = code.capsule[item.start : item.end]
        if is_final and item.count > 1:
            gone = _superfluous(run, kept)
            if gone:
                removed.update(item.number + at for at in gone)
                for at in gone:
                    _forget(words, item.number + at, item.number + item.count)
                new[number] = (item.count - len(gone), record)
        if _is_idle_sync(run):
            joined.add(item.number + 1)
            words[item.number] = _with_time_of(*run)
            new[number] = (1, _shortened(record))
        if not has_debug and item.count > 1 and is_waiting_end(run, record):
            end = item.number + item.count - 1
            removed.update(range(item.number, end))
            ends.remove_waits(item.number, end)
            new[number] = None
        if has_debug and not record and is_end(run[0]):
            is_short = is_final and SASS_MEMBAR_OF_ERRORS not in kept
            record = ends.add_waits(item.number, is_short=is_short)
            new[number] = (1 + len(ends.added[item.number]), record)
    if not new:
        return None
    moved = Moved(len(code.sass), last.number, removed | joined, ends.added, joined)
    sass = moved.code(encode(words), code.bound, code.numbers)
    rest = moved.new_size // SASS_BYTES - moved.start(last.number * SASS_BYTES) // SASS_BYTES
    new[len(items) - 1] = (rest, b"")
    return Code(sass, capsules.rewritten(code.capsule, items, new), ()), moved


def _kept(capsule: bytes, items: list[Item], words: list[int]) -> set[int]:
    """Which instructions a kernel cannot do without."""
    kept = set()
    opcodes = {word & SASS_OPCODE_MASK for word in words}
    if SASS_LDGSTS in opcodes:
        kept.add(SASS_LOAD_NOTHING)
    if not opcodes.isdisjoint(STORES_SURFACE):
        kept.add(SASS_MEMBAR_OF_ERRORS)
    kinds = {capsule[i.start + SASS_MERCURY_KIND_AT] for i in items if i.start < i.end}
    if SASS_MERCURY_MBARRIER in kinds:
        kept.add(SASS_MEMBAR_OF_BLOCK)
    return kept


def _superfluous(run: list[int], kept: set[int]) -> list[int]:
    """Which instructions of a run go where the whole program is known."""
    found = []
    for at, word in enumerate(run):
        meaning = word & MEANING
        if meaning in kept:
            continue
        runs_never = word & SASS_GUARD_MASK == SASS_NEVER << SASS_GUARD_SHIFT
        if meaning == SASS_MEMBAR_OF_ERRORS or (meaning == SASS_LOAD_NOTHING and runs_never):
            found.append(at)
        elif meaning == SASS_MEMBAR_OF_BLOCK and at + 1 < len(run):
            # A wider barrier that follows does the same.
            following = run[at + 1]
            is_membar = following & SASS_OPERATION_MASK == _MEMBAR
            if is_membar and following & MEANING != SASS_MEMBAR_OF_BLOCK:
                found.append(at)
    return found


def _forget(words: list[int], number: int, end: int) -> None:
    """Let nothing wait for the barrier of an instruction that goes.

    From CUDA 13.1 on a barrier of the block sets one, for which the wider one behind it waits
    (rule K28).

    Args:
        number: that of the instruction.
        end: that of the one behind its run.
    """
    gone = Instruction(words[number], number)
    barriers = {gone.write, gone.read} - {SASS_NO_BARRIER}
    for barrier in () if is_unscheduled(gone.word) else barriers:
        wait = 1 << SASS_WAIT_SHIFT + barrier
        waiting = next((at for at in range(number + 1, end) if words[at] & wait), None)
        if waiting is not None:
            words[waiting] &= ~wait


def _is_idle_sync(run: list[int]) -> bool:
    """Whether a run is a WARPSYNC and a NOP (rule F15)."""
    if len(run) != 2 or run[1] & MEANING != SASS_PLAIN_NOP:
        return False
    meaning = run[0] & MEANING
    return (
        meaning == SASS_WARPSYNC_OF_ALL or meaning & ~SASS_REGISTER_A_MASK == SASS_WARPSYNC_OF_MASK
    )


def _with_time_of(word: int, nop: int) -> int:
    """An instruction with the time of a NOP that goes, if that NOP was more than a place."""
    more = (nop & SASS_STALL_MASK) >> SASS_STALL_SHIFT
    if more <= 1:
        return word
    # In code without optimisation both take the longest time.
    stall = ((word & SASS_STALL_MASK) >> SASS_STALL_SHIFT) + more
    word = word & ~SASS_STALL_MASK | min(stall << SASS_STALL_SHIFT, SASS_STALL_MASK)
    return word & ~SASS_YIELDS if stall > SASS_LONGEST_YIELD else word


def _shortened(record: bytes) -> bytes:
    """The short record of a Mercury instruction."""
    return bytes((record[0] | CAPSULE_SHORT,)) + record[1:CAPSULE_SHORT_BYTES]
