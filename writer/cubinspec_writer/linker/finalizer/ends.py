"""What the finalizer puts in front of EXIT, and when the EXIT runs then.

Code for a debugger waits for errors of the memory before it ends: `MEMBAR.SC.VC`, `ERRBAR` and
`CGAERRBAR` in front of `EXIT`, all with its guard (rule F13). In code without optimization they
wait as all others do there.

An EXIT can ask a second predicate beside its guard, its operand. It asks the operand when it runs
itself, but the guard is needed as soon as the new instructions run. So the instruction in front of
these waits no longer for the operand: it stalls as long as the guard, a barrier of the block or it
itself needs, and CGAERRBAR stalls for what is left (rule F21). A later link that takes the new
instructions away lets it wait again.
"""

from __future__ import annotations

from typing import NamedTuple

from cubinspec_generated.codes import CAPSULE_UNIT
from cubinspec_generated.codes_sass import (
    SASS_ALWAYS,
    SASS_BAR,
    SASS_BEHIND_BLOCK_BARRIER,
    SASS_BEHIND_CGAERRBAR,
    SASS_BEHIND_EXIT,
    SASS_EXIT_OPERAND_MASK,
    SASS_EXIT_OPERAND_NOT,
    SASS_EXIT_OPERAND_SHIFT,
    SASS_GUARD_MASK,
    SASS_GUARD_NOT,
    SASS_GUARD_SHIFT,
    SASS_LONGEST_YIELD,
    SASS_MEMBAR_OF_ERRORS,
    SASS_MERCURY_EXIT,
    SASS_MERCURY_EXIT_GUARD_AT,
    SASS_MERCURY_EXIT_GUARD_SHIFT,
    SASS_MERCURY_EXIT_NOT_AT,
    SASS_MERCURY_EXIT_OPERAND_AT,
    SASS_NO_BARRIER,
    SASS_OF_WAITING,
    SASS_OPCODE_MASK,
    SASS_OPERATION_MASK,
    SASS_PAIR_STALL,
    SASS_PLAIN_CGAERRBAR,
    SASS_PLAIN_ERRBAR,
    SASS_PLAIN_EXIT,
    SASS_SCOREBOARD_MASK,
    SASS_SHORT_YIELD,
    SASS_STALL_MASK,
    SASS_STALL_SHIFT,
    SASS_WAIT_MASK,
    SASS_WAIT_SHIFT,
    SASS_WAITABLE_AFTER,
    SASS_YIELDS,
)
from cubinspec_generated.tables.sass import BY_FORM, CALL, LEAST_STALL
from cubinspec_writer.linker.finalizer.flow import (
    MEANING,
    Instruction,
    is_unscheduled,
    with_barriers,
)
from cubinspec_writer.linker.finalizer.moved import UnknownCodeError
from cubinspec_writer.linker.finalizer.operands import has_pairs, predicate_after, predicates

#: Opcodes, with their forms, of EXIT and of CGAERRBAR.
_EXIT, _CGAERRBAR = (word & SASS_OPERATION_MASK for word in (SASS_PLAIN_EXIT, SASS_PLAIN_CGAERRBAR))
#: `MEMBAR.SC.VC`, `ERRBAR`, `CGAERRBAR` without guard and without the stall of the last one.
_WAITS = tuple(
    with_barriers(word, SASS_NO_BARRIER, SASS_NO_BARRIER, 0)
    for word in (SASS_MEMBAR_OF_ERRORS, SASS_PLAIN_ERRBAR, SASS_PLAIN_CGAERRBAR)
)
_ERRBAR = _WAITS[-2]
_BEHIND_EXIT = SASS_BEHIND_EXIT << SASS_STALL_SHIFT | SASS_YIELDS
#: More cycles than anything takes.
_NEVER = 10**6
_OPERAND = SASS_EXIT_OPERAND_MASK | SASS_EXIT_OPERAND_NOT
#: Bits that say when an instruction runs.
_CONTROL = SASS_STALL_MASK | SASS_SCOREBOARD_MASK


class _Setter(NamedTuple):
    """What writes a predicate that an EXIT asks.

    Attributes:
        distance: cycles from it to the EXIT in the input.
        now: the same to what is put in front of that.
        latency: cycles until the predicate can be asked; 0: a barrier tells it.
        barrier: the barrier that stands for it.
    """

    distance: int
    now: int
    latency: int
    barrier: int


_NOWHERE = _Setter(0, 0, 0, SASS_NO_BARRIER)


def is_end(word: int) -> bool:
    """Whether an instruction is an EXIT."""
    return word & SASS_OPERATION_MASK == _EXIT


def is_waiting_end(run: list[int], record: bytes) -> bool:
    """Whether a run is an EXIT behind what waits for errors, as links with `-r -g` leave it.

    Args:
        record: that of its Mercury instruction.
    """
    *waits, end = run
    if not is_end(end) or waits[-1] & SASS_OPERATION_MASK != _CGAERRBAR:
        return False
    return record == _record(end)


class Ends:
    """The ends of one function.

    Attributes:
        added: number of an EXIT -> what is put in front of it.
    """

    __slots__ = ("_old", "_words", "added")

    def __init__(self, words: list[int]) -> None:
        """From the instructions of the function, which will change."""
        self._words = words
        self._old = tuple(words)
        self.added: dict[int, tuple[int, ...]] = {}

    def add_waits(self, number: int, *, is_short: bool) -> bytes:
        """Put instructions in front of an EXIT; it and the one in front of it change.

        Args:
            number: that of the EXIT.
            is_short: whether the barrier of memory is not needed.

        Returns:
            the record of its Mercury instruction.

        Raises:
            UnknownCodeError: it is not known how they run.
        """
        end = self._words[number]
        if end & MEANING & ~_OPERAND != SASS_PLAIN_EXIT & ~_OPERAND:
            raise UnknownCodeError("an EXIT of another kind")
        waits = list(_WAITS[1:] if is_short else _WAITS)
        if is_unscheduled(end):
            waits[-2:] = _ERRBAR | end & SASS_WAIT_MASK, SASS_PLAIN_CGAERRBAR | end & _CONTROL
        else:
            guard = self._setter(number, _guard(end))
            held = end & 1 << SASS_WAIT_SHIFT + guard.barrier & SASS_WAIT_MASK
            waits[-2] |= held
            self._words[number] = end & ~(SASS_STALL_MASK | held) | _BEHIND_EXIT
            rest = self._ask_later(number, guard, held) if number else 0
            waits[-1] = _with_stall(waits[-1], max(SASS_BEHIND_CGAERRBAR, rest))
        self.added[number] = tuple(wait | end & SASS_GUARD_MASK for wait in waits)
        return _record(end)

    def remove_waits(self, first: int, number: int) -> None:
        """Let an EXIT run as it did, and the instruction in front of what goes.

        Args:
            first: the number of the first instruction that goes.
            number: that of the EXIT.
        """
        words = self._words
        for at in range(first, number):
            words[number] |= words[at] & SASS_WAIT_MASK
        if not first or is_unscheduled(words[number]):
            return
        before = words[first - 1]
        operand = self._setter(first, _operand(words[number]))
        least = operand.latency - operand.distance + _stall(before)
        if _sets(before, words[number] & SASS_WAIT_MASK):
            least = max(least, SASS_WAITABLE_AFTER)
        if least > _stall(before):
            words[first - 1] = _with_stall(before, least)

    def _ask_later(self, number: int, guard: _Setter, held: int) -> int:
        """Let the instruction in front of an EXIT stall for what is needed before the EXIT itself.

        Args:
            held: the wait for the guard, which comes at once.

        Returns:
            the cycles for which CGAERRBAR has to stall.
        """
        before = self._words[number - 1]
        stall = _stall(before)
        operand = self._setter(number, _operand(self._words[number]))
        for setter in (operand, guard) if operand is not _NOWHERE else ():
            if setter.latency > setter.distance:
                raise UnknownCodeError("an EXIT that asks a predicate before it is there")
        needed = stall + guard.latency - guard.now if guard.latency else 1
        if operand.latency and operand.latency == operand.distance:
            barrier = stall + SASS_BEHIND_BLOCK_BARRIER - self._behind_barrier(number)
            least = max(needed, barrier, LEAST_STALL.get(before & SASS_OPCODE_MASK, 1))
            if _sets(before, held):
                least = max(least, SASS_WAITABLE_AFTER)
            least = min(least, stall)
            if least < SASS_PAIR_STALL and has_pairs(Instruction(before, number - 1)):
                # It stalls for two cycles, but of 42 such instructions 9 did not yield.
                raise UnknownCodeError("an EXIT with an operand behind an instruction on pairs")
            # Behind a barrier of the block the finalizer counts one cycle more.
            more = int(least == barrier)
            self._words[number - 1] = _with_stall(before, least, more)
            return operand.latency - (operand.now - stall + least + more + SASS_OF_WAITING)
        waits = self._words[number] & SASS_WAIT_MASK
        if stall == SASS_WAITABLE_AFTER > needed and _sets(before, waits):
            # It stalled for EXIT to wait for its barrier.
            self._words[number - 1] = _with_stall(before, stall - 1)
        return 0

    def _setter(self, end: int, predicate: int) -> _Setter:
        """What writes a predicate last in front of an instruction."""
        if predicate == SASS_ALWAYS:
            return _NOWHERE
        distance = now = waited = 0
        for at in range(end - 1, -1, -1):
            one = Instruction(self._words[at], at)
            distance += _stall(self._old[at])
            now += _stall(one.word)
            if one.opcode in CALL:
                break
            if predicate in predicates(one):
                # What has no other result counts as read when the predicate is known.
                barrier = one.read if one.write == SASS_NO_BARRIER else one.write
                latency = predicate_after(one)
                if waited >> barrier & 1:
                    barrier = SASS_NO_BARRIER
                return _Setter(distance, now, latency, barrier)
            waited |= one.wait
            if at in self.added:
                now += _stall(self.added[at][-1]) + SASS_OF_WAITING
        return _NOWHERE

    def _behind_barrier(self, end: int) -> int:
        """Cycles from the last barrier of the block to an instruction; very many if it is far."""
        distance = 0
        longest = SASS_BEHIND_BLOCK_BARRIER + _stall(self._words[end - 1])
        for at in range(end - 1, -1, -1):
            distance += _stall(self._words[at])
            if distance > longest or at in self.added:
                break
            if self._words[at] & SASS_OPCODE_MASK == SASS_BAR:
                return distance
        return _NEVER


def _guard(end: int) -> int:
    """The predicate that is the guard of an EXIT."""
    return (end & SASS_GUARD_MASK & ~SASS_GUARD_NOT) >> SASS_GUARD_SHIFT


def _operand(end: int) -> int:
    """The predicate that is its operand."""
    return (end & SASS_EXIT_OPERAND_MASK) >> SASS_EXIT_OPERAND_SHIFT


def _stall(word: int) -> int:
    return (word & SASS_STALL_MASK) >> SASS_STALL_SHIFT


def _with_stall(word: int, stall: int, more: int = 0) -> int:
    """An instruction with another stall, and the hint that goes with it.

    Args:
        more: cycles that the finalizer counts beside these.
    """
    one = Instruction(word, 0)
    is_soon = one.write == one.read == SASS_NO_BARRIER and one.opcode in BY_FORM
    longest = SASS_SHORT_YIELD if is_soon else SASS_LONGEST_YIELD
    yields = SASS_YIELDS if stall + more <= longest else 0
    return word & ~(SASS_STALL_MASK | SASS_YIELDS) | stall << SASS_STALL_SHIFT | yields


def _sets(word: int, waits: int) -> bool:
    """Whether an instruction sets one of the barriers of a wait."""
    one = Instruction(word, 0)
    return bool(waits >> SASS_WAIT_SHIFT + one.write & 1 or waits >> SASS_WAIT_SHIFT + one.read & 1)


def _record(end: int) -> bytes:
    """The record of the Mercury instruction EXIT with the guard and the operand of one of SASS."""
    record = bytearray(SASS_MERCURY_EXIT.to_bytes(CAPSULE_UNIT, "little"))
    guard, operand = _guard(end), _operand(end)
    is_negated = end & SASS_GUARD_NOT != 0
    if guard != SASS_ALWAYS or is_negated:
        record[SASS_MERCURY_EXIT_GUARD_AT] = guard << SASS_MERCURY_EXIT_GUARD_SHIFT | is_negated
    if operand != SASS_ALWAYS:
        record[SASS_MERCURY_EXIT_OPERAND_AT] = operand << SASS_MERCURY_EXIT_GUARD_SHIFT
    record[SASS_MERCURY_EXIT_NOT_AT] |= end & SASS_EXIT_OPERAND_NOT != 0
    return bytes(record)
