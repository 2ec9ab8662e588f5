"""How long barriers are in use: from the instruction that sets one to those that wait for it.

What an instruction waits for is read from the input. Where several share a number, a wait is for
those whose registers the instruction names.

The end of a block also waits for what is over by then, as that costs nothing: for results that are
there and operands that are read, though only later blocks use their registers. It does not wait for
a number that something slower has, too, nor for results that take long. The cycles are in
`ksy/tables/sass.yaml`. If the code goes back from there, the barrier is in use up to the head of
the loop.
"""

from __future__ import annotations

from bisect import bisect_left
from types import MappingProxyType

from cubinspec_generated.codes_sass import (
    SASS_BARRIERS,
    SASS_COUNTED_BARRIER_MASK,
    SASS_COUNTED_BARRIER_SHIFT,
    SASS_DEPBAR,
    SASS_EXIT,
    SASS_NO_BARRIER,
    SASS_READ_AFTER,
    SASS_READ_OVER,
    SASS_RESULT_AFTER,
    SASS_STALL_MASK,
    SASS_STALL_SHIFT,
)
from cubinspec_generated.tables.sass import (
    LONG,
    ORDERED,
    OUTSIDE,
    READ_AFTER,
    READ_OVER,
    RESULT_AFTER,
    RESULT_OVER,
    TEXTURE,
    WAITS_FOR_ALL,
)
from cubinspec_writer.linker.finalizer.flow import (
    blocks,
    collectives,
    followers,
    visiting_order,
)
from cubinspec_writer.linker.finalizer.operands import registers, writes_predicate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cubinspec_writer.linker.finalizer.flow import Instruction


class Lifetime:
    """One barrier from being set to being waited for.

    Instructions are bits of a mask whose bit 0 is instruction `base`, as most lifetimes are short.

    Attributes:
        at: number of the instruction that sets it.
        opcode: that of this instruction.
        is_result: whether it stands for the result; otherwise for operands that are read.
        is_long: whether it stands for a result that takes long.
        is_texture: whether it stands for what is read from a texture or a surface.
        number: the barrier.
        passed: mask of the instructions that do not wait for it although it is pending.
        ended: mask of the instructions that wait for it.
        end: number of the instruction behind all of these.
        waits: numbers of the instructions that wait for it, whatever it shares its number with.
        user: the instruction of the same block that waits; -1: none does.
        over_at: the end of its block if that waits for it, as it is over by then; -1: it does not.
        input_waits: those that wait in the input, also for what shares its number.
        shared_stops: those that wait for what shares its new number.
        shares: whether another one has its number at the same time.
    """

    __slots__ = (
        "at",
        "base",
        "end",
        "ended",
        "input_waits",
        "is_long",
        "is_result",
        "is_texture",
        "number",
        "opcode",
        "over_at",
        "passed",
        "shared_stops",
        "shares",
        "user",
        "waits",
    )

    def __init__(self, at: int, opcode: int, number: int, is_result: bool) -> None:
        self.at = at
        self.opcode = opcode
        self.number = number
        self.is_result = is_result
        self.is_long = is_result and opcode in LONG
        self.is_texture = is_result and opcode in TEXTURE
        self.base = self.end = at
        self.passed = 0
        self.ended = 0
        self.waits: list[int] = []
        self.input_waits: list[int] = []
        self.shared_stops: set[int] = set()
        self.user = -1
        self.over_at = -1
        self.shares = False

    def copy(self) -> Lifetime:
        """A copy that can be changed by itself."""
        other = Lifetime(self.at, self.opcode, self.number, self.is_result)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other.shared_stops = set(self.shared_stops)
        return other

    def is_far(self) -> bool:
        """Whether number 5 is for it: other blocks use what takes long, or it is a texture's."""
        return self.is_texture or (self.is_long and self.user < 0)

    def is_pending_at(self, at: int) -> bool:
        """Whether it is pending when an instruction has waited."""
        return self.at == at or (self.base <= at and bool(self.passed >> at - self.base & 1))

    def is_there(self, at: int) -> bool:
        """Whether it is pending in front of an instruction."""
        return self.base <= at and bool((self.passed | self.ended) >> at - self.base & 1)

    def ends_at(self, at: int) -> bool:
        """Whether an instruction waits for it."""
        return self.base <= at and bool(self.ended >> at - self.base & 1)

    def meets(self, other: Lifetime) -> bool:
        """Whether both are pending in front of an instruction that does not wait for both."""
        passed, ended, distance = other.passed, other.ended, self.base - other.base
        if distance > 0:
            passed >>= distance
            ended >>= distance
        else:
            passed <<= -distance
            ended <<= -distance
        return bool(self.passed & (passed | ended) or self.ended & passed)


class Code:
    """A function: its blocks, the registers of its instructions, and when they start.

    Instructions are counted in the order in which the finalizer goes through the blocks.

    Attributes:
        places: for every instruction its number in the code as it is.
        instructions: all of them.
        after: for every instruction those that can follow.
        ends_before: for every first instruction of a block the ends of blocks that lead to it.
        last: for every instruction the last one of its block.
        loops: the instructions that code goes back to.
        waits: for every barrier the instructions that wait for it. For what WARPSYNC.COLLECTIVE
            waits for, ENDCOLLECTIVE or one in front of it waits again; only that counts.
        waits_for_all: the instructions that wait for all barriers.
        collective: every WARPSYNC.COLLECTIVE -> its ENDCOLLECTIVE.
        ends: every ENDCOLLECTIVE.
        registers: for every instruction what it writes and reads.
        counted: every DEPBAR, and the barrier whose pending operations it counts; `assign` leaves
            out those where nothing is pending.
        explained: instruction and barrier that it waits for -> what set it: the instruction, and
            whether for its result.
        clock: for every instruction the cycles in front of it, if code ran straight.
        clock_of_stalls: the same without waits for barriers.
    """

    __slots__ = (
        "after",
        "clock",
        "clock_of_stalls",
        "collective",
        "counted",
        "ends",
        "ends_before",
        "explained",
        "instructions",
        "last",
        "loops",
        "places",
        "registers",
        "waits",
        "waits_for_all",
    )

    def __init__(
        self, instructions: list[Instruction], cycles: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        """Read code.

        Args:
            cycles: number of an instruction -> the cycles that it takes; others say so themselves.
        """
        after = followers(instructions)
        heads = blocks(instructions, after)
        ends = [*heads[1:], len(instructions)]
        order = visiting_order(heads, after)
        self.places = [at for block in order for at in range(heads[block], ends[block])]
        new = [0] * len(instructions)
        for index, at in enumerate(self.places):
            new[at] = index
        self.instructions = instructions = [instructions[at] for at in self.places]
        self.after = [[new[to] for to in after[at]] for at in self.places]
        self.ends_before: dict[int, list[int]] = {}
        for at, found in enumerate(self.after):
            for to in found:
                self.ends_before.setdefault(to, []).append(at)
        self.registers = [registers(instruction) for instruction in instructions]
        self.last = [
            new[ends[block] - 1] for block in order for _ in range(heads[block], ends[block])
        ]
        self.collective = collectives(instructions)
        self.ends = frozenset(self.collective.values())
        self.counted = [
            (at, (one.word & SASS_COUNTED_BARRIER_MASK) >> SASS_COUNTED_BARRIER_SHIFT)
            for at, one in enumerate(instructions)
            if one.opcode == SASS_DEPBAR
        ]
        self.waits: list[list[int]] = [[] for _ in range(SASS_BARRIERS)]
        self.waits_for_all = [at for at, one in enumerate(instructions) if one.waits_for_all]
        self.clock: list[int] = []
        self.loops = frozenset(
            to for at, found in enumerate(self.after) for to in found if to <= at
        )
        self.explained: dict[tuple[int, int], list[tuple[int, bool]]] = {}
        self._run_clock(cycles)
        self.clock_of_stalls = list(self.clock)

    def _run_clock(self, known: Mapping[int, int]) -> None:
        """Find the cycle of every instruction, and who waits for which number."""
        cycles = 0
        for at, instruction in enumerate(self.instructions):
            self.clock.append(cycles)
            stall = (instruction.word & SASS_STALL_MASK) >> SASS_STALL_SHIFT
            cycles += known.get(self.places[at], max(1, stall))
            wait = instruction.wait
            for later in range(at + 1, self.collective.get(at, at) + 1):
                wait &= ~self.instructions[later].wait
            if wait:
                for number in range(SASS_BARRIERS):
                    if wait >> number & 1:
                        self.waits[number].append(at)

    def waits_for(self, at: int, number: int) -> bool:
        """Whether an instruction waits for a barrier in the input."""
        return bool(self.instructions[at].wait >> number & 1)

    def names(self, life: Lifetime, at: int) -> bool:
        """Whether an instruction has to wait for the registers of a lifetime.

        A call, a return and ENDCOLLECTIVE do so for all.
        """
        if at in self.ends or self.instructions[at].opcode in OUTSIDE:
            return True
        written, read = self.registers[at]
        if life.is_result:
            return bool(self.registers[life.at][0] & (written | read))
        return bool(self.registers[life.at][1] & written)

    def is_counted(self, life: Lifetime, number: int) -> bool:
        """Whether an instruction counts a lifetime that has this number: the number has to stay."""
        return any(of == number and life.is_pending_at(at) for at, of in self.counted)

    def overtakes(self, at: int, life: Lifetime) -> bool:
        """Whether an instruction could write registers before a lifetime is over.

        Instructions that run in their order do not overtake operands of each other.
        """
        are_ordered = life.opcode in ORDERED and self.instructions[at].opcode in ORDERED
        return life.is_result or not are_ordered

    def has_unknown_users(self, life: Lifetime) -> bool:
        """Whether something else than registers can need a result."""
        instruction = self.instructions[life.at]
        return not self.registers[life.at][0] or writes_predicate(instruction)

    def names_nothing(self, life: Lifetime) -> bool:
        """Whether a lifetime stands for operands of an instruction that has no registers."""
        return not (life.is_result or self.registers[life.at][1])

    def is_over(self, life: Lifetime, end: int) -> bool:
        """Whether a lifetime is over where a block ends."""
        if life.is_long or life.over_at == end:
            return life.over_at == end
        return self.clock[end] - self.clock[life.at] >= over_after(life)

    def measure(self, life: Lifetime, stops: list[int]) -> list[int]:
        """Set how long a barrier is in use if `stops` wait for it; returns those that are reached.

        One that has to be waited for in every round of a loop is in use up to its head.
        """
        pieces, reached = self.walk(life.at, stops)
        heads = [
            to
            for at in reached
            if at == self.last[at] and not self.names(life, at)
            for to in self.after[at]
            if to <= at
        ]
        base = min((*(first for first, _ in pieces), *heads), default=life.at)
        passed = ended = 0
        for first, beyond in pieces:
            passed |= (1 << beyond - base) - (1 << first - base)
        for at in reached:
            ended |= 1 << at - base
        passed &= ~ended
        for at in heads:
            passed |= 1 << at - base
        life.base, life.passed, life.ended = base, passed, ended
        life.end = base + (passed | ended).bit_length()
        return reached

    def walk(self, start: int, stops: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
        """What can run between an instruction and the first of `stops` on every path.

        Returns:
            pieces of code (first, beyond) up to and with these stops; the stops that are reached.
        """
        pieces = []
        reached = set()
        seen = set()
        waiting = list(self.after[start])
        while waiting:
            first = waiting.pop()
            if first in seen:
                continue
            seen.add(first)
            last = self.last[first]
            place = bisect_left(stops, first)
            if place < len(stops) and stops[place] <= last:
                pieces.append((first, stops[place] + 1))
                reached.add(stops[place])
            else:
                pieces.append((first, last + 1))
                waiting += self.after[last]
        return pieces, sorted(reached)

    def explain(self, lives: list[Lifetime]) -> None:
        """Note which lifetimes explain waits that nothing else does.

        In the input an earlier wait, for what shares their number, has ended them.
        """
        known = set(self.explained)
        for life in lives:
            for at in life.waits:
                if (at, life.number) not in known:
                    self.explained.setdefault((at, life.number), []).append(
                        (life.at, life.is_result)
                    )

    def pass_by(
        self, life: Lifetime, foreign: set[int], loops: frozenset[int] = frozenset()
    ) -> None:
        """Let a lifetime pass instructions; it waits behind them where its registers are named.

        It waits at the end of the first block of a loop, too, if it comes from the round before.

        Args:
            foreign: the instructions.
            loops: heads of loops for which this is done.
        """
        seen, base = life.passed | life.ended, life.base
        stops = set(life.waits) - foreign
        found: set[int] | None = None
        while found is None or found:
            pieces, _ = self.walk(life.at, sorted(stops))
            found = {
                at
                for first, beyond in pieces
                for at in range(first, beyond)
                if self.names(life, at) and self.overtakes(at, life)
            }
            if not life.is_long:
                found |= {
                    beyond - 1
                    for first, beyond in pieces
                    if first in loops and first <= life.at and beyond - 1 == self.last[first]
                }
            found = {at for at in found - stops if not (at >= base and seen >> at - base & 1)}
            stops |= found
        life.waits = self.measure(life, sorted(stops))

    def named_waits(self, life: Lifetime) -> list[int]:
        """The instructions that have to wait for a lifetime as they use its registers."""
        stops: list[int] = []
        while True:
            pieces, reached = self.walk(life.at, stops)
            found = {
                at
                for first, beyond in pieces
                for at in range(first, beyond)
                if at not in reached and self.names(life, at) and self.overtakes(at, life)
            }
            if not found:
                return reached
            stops = sorted(found.union(stops))


def set_barriers(code: Code) -> list[Lifetime]:
    """Every barrier that is set, in the order of the code, with its waits as the input has them.

    Operands of an instruction come before its result.
    """
    found = []
    for at, instruction in enumerate(code.instructions):
        for number, is_result in ((instruction.read, False), (instruction.write, True)):
            if number < SASS_NO_BARRIER:
                life = Lifetime(at, instruction.opcode, number, is_result)
                stops = code.waits[number]
                if code.names_nothing(life):
                    # The fence that sets it belongs to the instruction behind that waits for all.
                    stops = sorted({*stops, *code.waits_for_all})
                life.waits = life.input_waits = code.measure(life, stops)
                for wait in life.waits:
                    code.explained.setdefault((wait, number), []).append((at, is_result))
                found.append(life)
    return found


def lifetimes(code: Code) -> list[Lifetime]:
    """Every barrier that is set, with the waits that it would have with a number of its own."""
    found = set_barriers(code)
    _pass_rounds(code, found)
    _find_sharing(found)
    for life in found:
        _find_user(code, life)
    _let_wait(code, [life for life in found if life.at])
    for life in found:
        if life.user >= 0 or life.is_long:
            continue
        end = code.last[life.at]
        is_late = code.clock[end] - code.clock[life.at] >= over_after(life)
        if is_late or _is_told_over(code, life, end, found):
            life.over_at = end
        elif life.is_result and life.waits == [end] and end not in code.ends:
            # It is not over, so the end needs it, as a branch needs a predicate.
            life.user = end
            continue
        if _is_hidden(code, life, end):
            life.waits = code.measure(life, [end])
        if life.shares and life.is_result and not code.has_unknown_users(life):
            if life.over_at == end:
                life.waits = code.measure(life, [end])
            else:
                _keep_own_waits(code, life)
    _pass_foreign(code, found)
    return found


def _find_user(code: Code, life: Lifetime) -> None:
    """Find the instruction of its block that waits for a lifetime."""
    end = code.last[life.at]
    stop = end + (end not in code.ends)
    inside = [at for at in life.waits if life.at < at < stop]
    is_unknown = life.is_result and code.has_unknown_users(life)
    is_unknown = is_unknown or code.names_nothing(life)
    if life.shares and is_unknown:
        life.user = inside[0] if inside else -1
    elif life.shares:
        life.user = _user(code, life, end)
        if life.user >= 0:
            life.waits = code.measure(life, [life.user])
    elif inside:
        first = inside[0]
        is_needed = (
            code.names(life, first)
            or code.names_nothing(life)
            or code.instructions[first].opcode in WAITS_FOR_ALL
        )
        if is_needed or _is_inside(code, first, end):
            life.user = first


def _pass_foreign(code: Code, lives: list[Lifetime]) -> None:
    """Let lifetimes pass waits inside of blocks that are for what only shares their number."""
    for life in lives:
        if life.user >= 0 or life.shares or code.names_nothing(life):
            continue
        if life.is_result and code.has_unknown_users(life):
            continue
        foreign = {
            at for at in life.waits if at != code.last[at] and _is_foreign(code, life, at, lives)
        }
        if foreign:
            code.pass_by(life, foreign)


def _is_foreign(code: Code, life: Lifetime, at: int, lives: list[Lifetime]) -> bool:
    """Whether an instruction waits for another lifetime that has the same number."""
    return not code.names(life, at) and any(
        other.number == life.number and other.ends_at(at) and code.names(other, at)
        for other in lives
    )


def _is_told_over(code: Code, life: Lifetime, end: int, lives: list[Lifetime]) -> bool:
    """Whether the end of a block waits in the input for what it does not need."""
    if not life.shares or end not in life.input_waits:
        return False
    ending = [o for o in lives if o.number == life.number and end in o.input_waits]
    return not any(code.names(other, end) or code.names_nothing(other) for other in ending)


def _is_hidden(code: Code, life: Lifetime, end: int) -> bool:
    """Whether operands have only waited in their block for a result that shares their number."""
    if life.is_result or not life.shares or life.over_at != end or code.names_nothing(life):
        return False
    return any(life.at < at < end and not code.names(life, at) for at in life.waits)


def _pass_rounds(code: Code, lives: list[Lifetime]) -> None:
    """Let what is set in front of a loop pass waits for what the round before has left.

    A wait behind them that nothing else explains shows that they do not end it. They do not end
    what nothing uses, either.
    """
    for number in range(SASS_BARRIERS):
        later = [at for at in code.waits[number] if (at, number) not in code.explained]
        alike = [life for life in lives if life.number == number]
        for life in alike:
            rounds = {
                at
                for at in life.waits
                if at > life.at
                and not code.names(life, at)
                and any(other.at >= at and other.ends_at(at) for other in alike)
            }
            if not rounds:
                continue
            passes = any(at > life.at and code.names(life, at) for at in later)
            if passes or not code.named_waits(life):
                code.pass_by(life, rounds)


def latency(life: Lifetime) -> int:
    """Cycles until the result is there, or the operands are read."""
    if life.is_result:
        return RESULT_AFTER.get(life.opcode, SASS_RESULT_AFTER)
    return READ_AFTER.get(life.opcode, SASS_READ_AFTER)


def over_after(life: Lifetime) -> int:
    """Cycles from which on the end of its block waits for a lifetime."""
    if life.is_result:
        return RESULT_OVER.get(life.opcode) or latency(life)
    return READ_OVER.get(life.opcode, SASS_READ_OVER)


def _let_wait(code: Code, lives: list[Lifetime]) -> None:
    """Move the clock on where an instruction waits for one of its block that takes longer.

    It counts operands as read when an end of a block does, sooner than the choice of a number.
    """
    waits: dict[int, list[Lifetime]] = {}
    for life in lives:
        end = code.last[life.at]
        at = life.user if life.user >= 0 else next((w for w in life.waits if w > life.at), end)
        if at < end or at == life.user:
            waits.setdefault(at, []).append(life)
    late = 0
    for at, cycles in enumerate(code.clock):
        for life in waits.get(at, ()):
            cycles_taken = latency(life) if life.is_result else over_after(life)
            late = max(late, code.clock[life.at] + cycles_taken - cycles)
        code.clock[at] = cycles + late


def _keep_own_waits(code: Code, life: Lifetime) -> None:
    """Removes waits that are for other barriers, and adds those that these made superfluous."""
    seen = life.passed | life.ended
    base = life.base
    stops = {at for at in code.waits[life.number] if at == code.last[at] or code.names(life, at)}
    found: set[int] | None = None
    while found is None or found:
        pieces, _ = code.walk(life.at, sorted(stops))
        found = {
            at
            for first, beyond in pieces
            for at in range(first, beyond)
            if at not in stops
            and not (at >= base and seen >> at - base & 1)
            and code.names(life, at)
        }
        stops |= found
    life.waits = code.measure(life, sorted(stops))


def _is_inside(code: Code, at: int, end: int) -> bool:
    return at != end and code.instructions[at].opcode != SASS_EXIT


def _find_sharing(found: list[Lifetime]) -> None:
    """Marks barriers whose number another one has at the same time."""
    active: list[list[Lifetime]] = [[] for _ in range(SASS_BARRIERS)]
    for life in found:
        others = [other for other in active[life.number] if other.end > life.at]
        for other in others:
            if other.is_pending_at(life.at):
                other.shares = life.shares = True
        active[life.number] = [*others, life]


def _user(code: Code, life: Lifetime, end: int) -> int:
    """The first instruction of the block that has to wait for a lifetime that shares its number.

    It need not wait when an earlier one has waited for the same number. A fence waits for what has
    set the number last.
    """
    has_waited = False
    is_last = True
    for at in range(life.at + 1, end + (end not in code.ends)):
        instruction = code.instructions[at]
        waits = instruction.wait >> life.number & 1
        if code.names(life, at) and (waits or (has_waited and code.overtakes(at, life))):
            return at
        if waits and is_last and instruction.opcode in WAITS_FOR_ALL:
            return at
        if waits:
            has_waited = True
        if instruction.sets(life.number):
            is_last = False
    return -1
