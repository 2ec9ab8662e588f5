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
    SASS_BAR,
    SASS_BARRIERS,
    SASS_COUNTED_BARRIER_MASK,
    SASS_COUNTED_BARRIER_SHIFT,
    SASS_DEPBAR,
    SASS_EXIT,
    SASS_NO_BARRIER,
    SASS_READ_AFTER,
    SASS_RESULT_AFTER,
    SASS_STALL_MASK,
    SASS_STALL_SHIFT,
    SASS_UNSEEN_WAIT,
    SASS_WAITABLE_AFTER,
)
from cubinspec_generated.tables.sass import (
    LEAST_STALL,
    LONG,
    ORDERED,
    ORDERED_SHARED,
    OUTSIDE,
    READ_AFTER,
    RESULT_AFTER,
    SEEN_WAIT_AFTER,
    TEXTURE,
    WAITS_FOR_ALL,
)
from cubinspec_writer.linker.finalizer.flow import (
    blocks,
    collectives,
    followers,
    visiting_order,
)
from cubinspec_writer.linker.finalizer.operands import (
    FIRST_UNIFORM,
    asked,
    predicate_after,
    registers,
    writes,
    writes_predicate,
)
from cubinspec_writer.linker.finalizer.paths import (
    NOWHERE,
    Paths,
    Region,
    Ways,
    first_of,
    listed,
    without,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cubinspec_writer.linker.finalizer.flow import Instruction
    from cubinspec_writer.linker.finalizer.paths import Stops


#: Kinds of instructions that run in their order.
_ORDERED = (ORDERED, ORDERED_SHARED)
#: Waits that are followed in a function, and as many more for each of its instructions.
_WAITS, _WAITS_OF_ONE = 20_000, 3  # not a spec number: a second or two of work


class Lifetime:
    """One barrier from being set to being waited for.

    Attributes:
        at: number of the instruction that sets it.
        opcode: that of this instruction.
        is_result: whether it stands for the result; otherwise for operands that are read.
        is_long: whether it stands for a result that takes long.
        is_texture: whether it stands for what is read from a texture or a surface.
        is_unused: whether it stands for a result that has no register, in a function in which
            nothing has that takes long.
        number: the barrier.
        outlasts: whether the input shows that it is not over at the end of its block.
        there: the code in front of whose instructions it is pending.
        ended: the instructions that wait for it.
        over: those of them behind which it is not pending, in another round of a loop either.
        end: number of the instruction behind all of these.
        waits: numbers of the instructions that wait for it, whatever it shares its number with.
        user: the instruction of the same block that waits; -1: none does.
        over_at: the end of its block if that waits for it, as it is over by then; -1: it does not.
        input_waits: those that wait in the input, also for what shares its number.
        placed_waits: those that wait once the numbers are known, if these are others.
        stops: those that it was measured with.
        shared_stops: those that wait for what shares its new number.
        shares: whether another one has its number at the same time.
    """

    __slots__ = (
        "at",
        "end",
        "ended",
        "input_waits",
        "is_long",
        "is_result",
        "is_texture",
        "is_unused",
        "number",
        "opcode",
        "outlasts",
        "over",
        "over_at",
        "placed_waits",
        "shared_stops",
        "shares",
        "stops",
        "there",
        "user",
        "waits",
    )

    def __init__(self, at: int, opcode: int, number: int, is_result: bool) -> None:
        self.at: int = at
        self.opcode: int = opcode
        self.number: int = number
        self.is_result: bool = is_result
        self.is_long: bool = is_result and opcode in LONG
        self.is_texture: bool = is_result and opcode in TEXTURE
        self.is_unused = False
        self.outlasts = False
        self.end: int = at
        self.there = Region()
        self.ended: frozenset[int] = frozenset()
        self.over: frozenset[int] = frozenset()
        self.waits: list[int] = []
        self.input_waits: list[int] = []
        self.placed_waits: list[int] = []
        self.stops: Iterable[int] = ()
        self.shared_stops: frozenset[int] = frozenset()
        self.user = -1
        self.over_at = -1
        self.shares = False

    def copy(self) -> Lifetime:
        """A copy that can be changed by itself."""
        other = Lifetime(self.at, self.opcode, self.number, self.is_result)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def is_far(self) -> bool:
        """Whether number 5 is for it: other blocks use what takes long, or it is a texture's."""
        return self.is_texture or (self.is_long and self.user < 0 and not self.is_unused)

    def is_pending_at(self, at: int) -> bool:
        """Whether it is pending when an instruction has waited."""
        return self.at == at or (at not in self.over and self.there.has(at))

    def is_there(self, at: int) -> bool:
        """Whether it is pending in front of an instruction."""
        return self.there.has(at)

    def ends_at(self, at: int) -> bool:
        """Whether an instruction waits for it."""
        return at in self.ended

    def passes_all(self, first: int, beyond: int) -> bool:
        """Whether it is pending behind every instruction of a piece of code."""
        if first >= beyond:
            return True
        is_there = self.there.gap_behind(first) >= beyond
        return is_there and not any(first <= at < beyond for at in self.over)

    def meets(self, other: Lifetime) -> bool:
        """Whether both are pending in front of an instruction that does not wait for both."""
        both = self.over & other.over
        return any(
            not both or any(at not in both for at in range(first, beyond))
            for first, beyond in self.there.common(other.there)
        )


class Code:
    """A function: its blocks, the registers of its instructions, and when they start.

    Instructions are counted in the order in which the finalizer goes through the blocks.

    Attributes:
        places: for every instruction its number in the code as it is.
        instructions: all of them.
        after: for every instruction those that can follow.
        ends_before: for every first instruction of a block the ends of blocks that lead to it.
        first: for every instruction the first one of its block.
        last: for every instruction the last one of its block.
        asking: for every instruction what asks the predicates of the end of its block first: that
            end, or what was put in front of it.
        loops: the instructions that code goes back to, sorted.
        waits: for every barrier the instructions that wait for it. For what WARPSYNC.COLLECTIVE
            waits for, ENDCOLLECTIVE or one in front of it waits again; only that counts.
        waits_for_all: the instructions that wait for all barriers.
        collective: every WARPSYNC.COLLECTIVE -> its ENDCOLLECTIVE.
        ends: every ENDCOLLECTIVE.
        entrances: the ends of blocks in front of loops, which wait for all that others have set.
        registers: for every instruction what it writes and reads.
        counted: every DEPBAR, and the barrier whose pending operations it counts; `assign` leaves
            out those where nothing is pending.
        explained: instruction and barrier that it waits for -> what set it: the instruction, and
            whether for its result.
        clock: for every instruction the cycles in front of it, if code ran straight.
        clock_of_stalls: the same without waits for barriers.
    """

    __slots__ = (
        "_named",
        "_outside",
        "_paths",
        "_returns",
        "_ways",
        "_written",
        "after",
        "asking",
        "clock",
        "clock_of_stalls",
        "collective",
        "counted",
        "ends",
        "ends_before",
        "entrances",
        "explained",
        "first",
        "instructions",
        "last",
        "loops",
        "places",
        "registers",
        "waits",
        "waits_for_all",
        "waits_for_loops",
    )

    def __init__(
        self,
        instructions: list[Instruction],
        cycles: Mapping[int, int] = MappingProxyType({}),
        *,
        waits_for_loops: bool = False,
    ) -> None:
        """Read code.

        Args:
            cycles: number of an instruction -> the cycles that it takes; others say so themselves.
            waits_for_loops: whether code waits in front of loops.
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
        self.ends_before = _in_front(self.after)
        self.registers = [registers(instruction) for instruction in instructions]
        self.last = [
            new[ends[block] - 1] for block in order for _ in range(heads[block], ends[block])
        ]
        self.first = [
            new[heads[block]] for block in order for _ in range(heads[block], ends[block])
        ]
        self.collective = collectives(instructions)
        self.ends = frozenset(self.collective.values())
        self.asking = self._asking({new[at] for at in cycles})
        self.counted = [
            (at, (one.word & SASS_COUNTED_BARRIER_MASK) >> SASS_COUNTED_BARRIER_SHIFT)
            for at, one in enumerate(instructions)
            if one.opcode == SASS_DEPBAR
        ]
        self.waits: list[list[int]] = [[] for _ in range(SASS_BARRIERS)]
        self.waits_for_all = [at for at, one in enumerate(instructions) if one.waits_for_all]
        self.clock: list[int] = []
        stalls: list[int] = []
        self._ways = Ways(self.after, self.last, self.clock, stalls)
        self.loops = sorted({to for at, found in enumerate(self.after) for to in found if to <= at})
        self.entrances: frozenset[int] = (
            self._ends_in_front_of_loops() if waits_for_loops else frozenset()
        )
        self.waits_for_loops: bool = bool(self.entrances)
        self._paths = Paths(self.after, self.last)
        self._returns = _foremost(self.after)
        #: Instructions that wait for all registers, and those of every register.
        self._outside: list[int] = []
        self._named: dict[int, list[int]] = {}
        self._written: dict[int, list[int]] = {}
        self._find_registers()
        self.explained: dict[tuple[int, int], list[tuple[int, bool]]] = {}
        self._run_clock(cycles, stalls)
        self.clock_of_stalls = list(self.clock)

    def _ends_in_front_of_loops(self) -> frozenset[int]:
        """The last instructions of blocks that lead into loops from outside."""
        loops = frozenset(self.loops)
        return frozenset(
            at
            for at, found in enumerate(self.after)
            if at == self.last[at] and any(to > at and to in loops for to in found)
        )

    def _asking(self, added: set[int]) -> list[int]:
        """What `asking` holds, if some instructions have been put in front of ends of blocks."""
        asking = list(self.last)
        for end in {*self.last} if added else ():
            first = end
            while first - 1 in added:
                first -= 1
            for at in range(self.first[end], end + 1):
                asking[at] = first
        return asking

    def _run_clock(self, known: Mapping[int, int], stalls: list[int]) -> None:
        """Find the cycle of every instruction, and who waits for which number.

        Args:
            stalls: gets the cycles that each takes.
        """
        cycles = 0
        for at, instruction in enumerate(self.instructions):
            self.clock.append(cycles)
            stall = (instruction.word & SASS_STALL_MASK) >> SASS_STALL_SHIFT
            stall = known.get(self.places[at], max(1, stall))
            stalls.append(stall)
            cycles += stall
            wait = instruction.wait
            for later in range(at + 1, self.collective.get(at, at) + 1):
                wait &= ~self.instructions[later].wait
            if wait:
                for number in range(SASS_BARRIERS):
                    if wait >> number & 1:
                        self.waits[number].append(at)

    def _find_registers(self) -> None:
        """Find the instructions that name each register, and those that write it."""
        for at, (written, read) in enumerate(self.registers):
            if self._names_all(at):
                self._outside.append(at)
            for register in _bits(written):
                self._written.setdefault(register, []).append(at)
            for register in _bits(written | read):
                self._named.setdefault(register, []).append(at)

    def is_entered(self, life: Lifetime, end: int) -> bool:
        """Whether the end of another block waits for a lifetime as a loop begins behind."""
        return end in self.entrances and self.last[life.at] != end

    def waits_for(self, at: int, number: int) -> bool:
        """Whether an instruction waits for a barrier in the input."""
        return bool(self.instructions[at].wait >> number & 1)

    def names(self, life: Lifetime, at: int) -> bool:
        """Whether an instruction has to wait for the registers of a lifetime."""
        return self._names_all(at) or self.names_of((life.at, life.is_result), at)

    def names_of(self, setter: tuple[int, bool], at: int) -> bool:
        """Whether an instruction names the registers of what set a barrier."""
        by, is_result = setter
        written, read = self.registers[at]
        if is_result:
            return bool(self.registers[by][0] & (written | read))
        return bool(self._held(by) & written)

    def _held(self, at: int) -> int:
        """The registers that must not be written before the operands of an instruction are read.

        Its result replaces some. Uniform ones beside others are read at once, but for textures.
        """
        written, read = self.registers[at]
        held = read & ~written
        others = held & FIRST_UNIFORM - 1
        return others if others and self.instructions[at].opcode not in TEXTURE else held

    def _names_all(self, at: int) -> bool:
        """Whether an instruction is a call, a return or ENDCOLLECTIVE, which wait for all."""
        return at in self.ends or self.instructions[at].opcode in OUTSIDE

    def naming(self, life: Lifetime) -> Stops:
        """Stops at all that `names` a lifetime."""
        is_result = life.is_result
        places = self._named if is_result else self._written
        awaited = self.registers[life.at][0] if is_result else self._held(life.at)
        found = (places[register] for register in _bits(awaited) if register in places)
        return first_of(listed(self._outside), *map(listed, found))

    def overtaking(self, life: Lifetime) -> Stops:
        """Stops at all that names a lifetime and could overtake it."""
        find = self.naming(life)
        if life.is_result or not any(life.opcode in kind for kind in _ORDERED):
            return find

        def find_overtaking(at: int) -> int:
            at = find(at)
            while at != NOWHERE and not self.overtakes(at, life):
                at = find(at + 1)
            return at

        return find_overtaking

    def is_counted(self, life: Lifetime, number: int) -> bool:
        """Whether an instruction counts a lifetime that has this number: the number has to stay."""
        return any(of == number and life.is_pending_at(at) for at, of in self.counted)

    def overtakes(self, at: int, life: Lifetime) -> bool:
        """Whether an instruction could write registers before a lifetime is over.

        Instructions that run in their order do not overtake operands of each other.
        """
        opcode = self.instructions[at].opcode
        are_ordered = any({life.opcode, opcode} <= kind for kind in _ORDERED)
        return life.is_result or not are_ordered

    def has_unknown_users(self, life: Lifetime) -> bool:
        """Whether something else than registers can need a result."""
        instruction = self.instructions[life.at]
        return not self.registers[life.at][0] or writes_predicate(instruction)

    def has_no_users(self, life: Lifetime) -> bool:
        """Whether a result has neither a register nor a predicate."""
        instruction = self.instructions[life.at]
        is_read = self.registers[life.at][0] or writes_predicate(instruction)
        return life.is_result and not is_read

    def ends_for_uniform(self, life: Lifetime, end: int) -> bool:
        """Whether the end of another block waits in the input for a uniform result, not for this.

        It waits for all of those that are pending.
        """
        if end != self.last[end] or self.last[life.at] == end or self.names(life, end):
            return False
        if not life.at or end in self.entrances:
            return False
        if life.is_result and self._is_uniform(life.at):
            return False
        setters = self.explained.get((end, life.number), ())
        return any(is_result and self._is_uniform(at) for at, is_result in setters)

    def _is_uniform(self, at: int) -> bool:
        """Whether the result of an instruction is in uniform registers."""
        return self.registers[at][0] >= FIRST_UNIFORM

    def names_nothing(self, life: Lifetime) -> bool:
        """Whether a lifetime stands for operands of an instruction that has no registers."""
        return not (life.is_result or self.registers[life.at][1])

    def is_over(self, life: Lifetime, end: int) -> bool:
        """Whether a lifetime is over where a block ends."""
        if life.is_long or life.over_at == end:
            return life.over_at == end
        return self.has_passed(life, end)

    def cycles(self, life: Lifetime, at: int) -> int:
        """The cycles between what sets a barrier and an instruction behind it in its block."""
        return self.clock[at] - self.clock[life.at]

    def over_at(self, life: Lifetime, at: int) -> int:
        """The cycle in which a barrier is over for the block of an instruction.

        Of one that another block sets only what the shortest way leaves counts.
        """
        first = self.first[at]
        if first <= life.at:
            return self.clock[life.at] + latency(life)
        return self.clock[first] + max(0, latency(life) - self._ways.cycles(life.at, first))

    def has_passed(self, life: Lifetime, at: int) -> bool:
        """Whether these are the cycles that the barrier takes."""
        return not life.outlasts and self.cycles(life, at) >= latency(life)

    def measure(self, life: Lifetime, stops: list[int]) -> list[int]:
        """Set how long a barrier is in use if `stops` wait for it; returns those that are reached.

        One that has to be waited for in every round of a loop is in use up to its head.
        """
        stops = self._with_entrances(life, stops)
        region, reached = self.walk(life.at, listed(stops))
        is_unknown = life.is_result and self.has_unknown_users(life)
        heads = [
            to
            for at in reached
            if at == self.last[at] and not (is_unknown or self.names(life, at))
            for to in self.after[at]
            if to <= at
        ]
        if heads:
            region = Region((*region.pieces(), *((at, at + 1) for at in heads)))
        life.stops = stops
        life.there = region
        life.ended = frozenset(reached)
        life.over = life.ended.difference(heads)
        life.end = region.beyonds[-1] if region.beyonds else life.at
        return reached

    def _with_entrances(self, life: Lifetime, stops: list[int]) -> list[int]:
        """Stops with the ends of other blocks in front of loops."""
        entered = [at for at in self.entrances if self.last[life.at] != at]
        return sorted({*stops, *entered}) if entered else stops

    def walk(self, start: int, stop_behind: Stops) -> tuple[Region, list[int]]:
        """What can run between an instruction and the first stop on every path.

        Returns:
            that code up to and with these stops; the stops that are reached.
        """
        return self._paths.walk(start, stop_behind)

    def returns_to(self, at: int) -> bool:
        """Whether code behind an instruction goes back to it or in front of it."""
        return self._returns[at] <= at

    def ends_for_others(self, life: Lifetime, end: int) -> bool:
        """Whether the end of another block waits in the input for others than a lifetime.

        They are set in that block, or are results that it needs. What the first instruction loads,
        which nothing needs, is over there.
        """
        if not life.at or self.last[life.at] == end or self.names(life, end):
            return False
        if end in self.entrances:
            return False
        return any(
            self.last[at] == end or (is_result and self.names_of((at, is_result), end))
            for at, is_result in self.explained.get((end, life.number), ())
        )

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
        self,
        life: Lifetime,
        foreign: set[int],
        stops: Sequence[int] = (),
    ) -> None:
        """Let a lifetime pass instructions; it waits behind them where its registers are named.

        Args:
            foreign: the instructions.
            stops: waits behind these instructions, which end it.
        """
        stays = listed(self._with_entrances(life, sorted({*life.waits, *stops} - foreign)))
        behind = without(self.overtaking(life), life.there)
        _, reached = self.walk(life.at, first_of(stays, behind))
        life.waits = self.measure(life, reached)

    def ends_of_rounds(self, life: Lifetime) -> list[int]:
        """Ends of first blocks of loops, where code waits for what the round before has left."""
        return [end for head in self.loops if (end := self.last[head]) < life.at]

    def named_waits(self, life: Lifetime) -> list[int]:
        """The instructions that have to wait for a lifetime as they use its registers."""
        return self.walk(life.at, self.overtaking(life))[1]


def _bits(mask: int) -> list[int]:
    """The bits of a mask."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


class WaitsError(Exception):
    """So many instructions wait for barriers of far away that a link would take minutes."""


def set_barriers(code: Code) -> list[Lifetime]:
    """Every barrier that is set, in the order of the code, with its waits as the input has them.

    Operands of an instruction come before its result.

    Raises:
        WaitsError: they have more waits than are followed here.
    """
    found = []
    left = _WAITS + _WAITS_OF_ONE * len(code.instructions)
    for at, instruction in enumerate(code.instructions):
        for number, is_result in ((instruction.read, False), (instruction.write, True)):
            if number < SASS_NO_BARRIER:
                life = Lifetime(at, instruction.opcode, number, is_result)
                life.is_unused = code.has_no_users(life)
                stops = code.waits[number]
                if code.names_nothing(life):
                    # The fence that sets it belongs to the instruction behind that waits for all.
                    stops = sorted({*stops, *code.waits_for_all})
                life.waits = life.input_waits = code.measure(life, stops)
                left -= len(life.waits)
                if left < 0:
                    raise WaitsError("too many instructions wait for barriers of other blocks")
                for wait in life.waits:
                    code.explained.setdefault((wait, number), []).append((at, is_result))
                found.append(life)
    # Beside others such a result is like them.
    if any(life.is_long and not life.is_unused for life in found):
        for life in found:
            life.is_unused = False
    return found


def lifetimes(code: Code, told: frozenset[tuple[int, bool]] | None = None) -> list[Lifetime]:
    """Every barrier that is set, with the waits that it would have with a number of its own.

    Args:
        told: which the input tells to be pending at the end of their block, where the clock is not
            that of the input: the instruction that sets each, and whether for its result.
    """
    found = set_barriers(code)
    ending = _Ending(found)
    _pass_rounds(code, found, ending)
    _find_sharing(found)
    for life in found:
        _find_user(code, life)
    _let_wait(code, [life for life in found if life.at])
    results = {life.at: life for life in found if life.is_result}
    for life in found:
        if life.user >= 0 or life.is_long:
            continue
        end = code.last[life.at]
        if told is not None:
            life.outlasts = (life.at, life.is_result) in told
        elif not life.at or code.has_passed(life, end):
            life.outlasts = _is_told_pending(code, life, end, found)
        if code.waits_for_loops:
            pass  # then ends of blocks do not wait for what is over
        elif code.has_passed(life, end) or _is_told_over(code, life, end, ending):
            life.over_at = end
        elif life.is_result and life.waits == [end] and end not in code.ends:
            # It is not over, so the end needs it, as a branch needs a predicate.
            life.user = end
            continue
        if _is_hidden(code, life, end) or _outruns(code, life, end, results.get(life.at)):
            life.waits = code.measure(life, [end])
        if life.shares and life.is_result and not code.has_unknown_users(life):
            if life.over_at == end:
                life.waits = code.measure(life, [end])
            else:
                _keep_own_waits(code, life)
    _pass_foreign(code, found)
    _pass_heads(code, found)
    return found


def _pass_heads(code: Code, lives: list[Lifetime]) -> None:
    """Let lifetimes pass ends of blocks that begin a loop behind them, where nothing needs them.

    That these ends wait is found when all numbers are known, but for an EXIT, which waits at once.
    """
    ends = {
        end: head
        for head in code.loops
        if code.instructions[end := code.last[head]].opcode != SASS_EXIT
    }
    for life in lives:
        if life.user >= 0 or life.is_long or code.names_nothing(life):
            continue
        if life.is_result and code.has_unknown_users(life):
            continue
        early = {
            at
            for at in life.waits
            if ends.get(at, -1) > life.at
            and not (code.names(life, at) or code.is_entered(life, at))
        }
        if early:
            waits = life.waits
            code.pass_by(life, early, stops=() if life.shares else code.waits[life.number])
            life.placed_waits = waits


def place_waits(code: Code, lives: list[Lifetime]) -> None:
    """Let lifetimes end where they do once the numbers are known."""
    for life in lives:
        if life.placed_waits:
            life.waits = code.measure(life, life.placed_waits)


def _find_user(code: Code, life: Lifetime) -> None:
    """Find the instruction of its block that waits for a lifetime."""
    end = code.last[life.at]
    stop = end + (end not in code.ends)
    inside = [at for at in life.waits if life.at < at < stop]
    instruction = code.instructions[life.at]
    if code.has_no_users(life) and instruction.read == instruction.write:
        # Waits for this number are for its operands.
        life.waits = code.measure(life, [])
        return
    is_unknown = life.is_result and code.has_unknown_users(life)
    is_unknown = is_unknown or code.names_nothing(life)
    if inside == life.waits == [end] and _is_tested(code, life):
        life.user = end
    elif life.shares and is_unknown:
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


def _is_tested(code: Code, life: Lifetime) -> bool:
    """Whether a lifetime stands for a predicate alone."""
    instruction = code.instructions[life.at]
    return life.is_result and not code.registers[life.at][0] and writes_predicate(instruction)


class _Ending:
    """What an instruction can end, of all lifetimes with one number."""

    __slots__ = ("_found",)

    def __init__(self, lives: list[Lifetime]) -> None:
        self._found: dict[tuple[int, int], list[Lifetime]] = {}
        for life in lives:
            for at in life.ended.union(life.input_waits):
                self._found.setdefault((at, life.number), []).append(life)

    def at(self, at: int, number: int) -> list[Lifetime]:
        """Those for which an instruction waits, or has waited in the input."""
        return self._found.get((at, number), [])

    def add(self, life: Lifetime) -> None:
        """Note where a lifetime ends now."""
        for at in life.ended:
            self._found.setdefault((at, life.number), []).append(life)


def _pass_foreign(code: Code, lives: list[Lifetime]) -> None:
    """Let lifetimes pass waits that are for what only shares their number."""
    ending = _Ending(lives)
    for life in lives:
        if life.user >= 0 or (life.shares and life.is_result) or code.names_nothing(life):
            continue
        if life.is_result and code.has_unknown_users(life):
            continue
        foreign = {
            at
            for at in life.waits
            if (
                _is_foreign(code, life, at, ending)
                if at != code.last[at]
                else code.ends_for_others(life, at) or code.ends_for_uniform(life, at)
            )
        }
        if foreign:
            code.pass_by(life, foreign, stops=code.ends_of_rounds(life))
            ending.add(life)


def _is_foreign(code: Code, life: Lifetime, at: int, ending: _Ending) -> bool:
    """Whether an instruction waits for another lifetime that has the same number."""
    return not code.names(life, at) and any(
        other.ends_at(at) and code.names(other, at) for other in ending.at(at, life.number)
    )


def _is_told_over(code: Code, life: Lifetime, end: int, input_ending: _Ending) -> bool:
    """Whether the end of a block waits in the input for what it does not need."""
    if not life.shares or end not in life.input_waits:
        return False
    return not any(
        end in other.input_waits and (code.names(other, end) or code.names_nothing(other))
        for other in input_ending.at(end, life.number)
    )


def _is_told_pending(code: Code, life: Lifetime, end: int, lives: list[Lifetime]) -> bool:
    """Whether the end of its block shows that what a barrier stands for is not there.

    It does not wait for the number in the input, and nothing slower has that.
    """
    if code.waits_for(end, life.number) or not life.is_pending_at(end):
        return False
    ready = code.clock[life.at] + latency(life)
    return all(
        other.at <= end and code.clock[other.at] + latency(other) <= ready
        for other in lives
        if other.number == life.number and other.is_pending_at(end)
    )


def _outruns(code: Code, life: Lifetime, end: int, result: Lifetime | None) -> bool:
    """Whether operands are over at the end of their block, and a result of their number is not.

    So the end does not wait in the input.

    Args:
        result: that of the same instruction, if it sets a barrier.
    """
    if life.is_result or life.over_at != end or end in life.input_waits:
        return False
    if result is None or result.number != life.number or code.names_nothing(life):
        return False
    return result.is_pending_at(end) and not code.has_passed(result, end)


def _is_hidden(code: Code, life: Lifetime, end: int) -> bool:
    """Whether operands have only waited in their block for a result that shares their number."""
    if life.is_result or not life.shares or life.over_at != end or code.names_nothing(life):
        return False
    return any(life.at < at < end and not code.names(life, at) for at in life.waits)


def _pass_rounds(code: Code, lives: list[Lifetime], ending: _Ending) -> None:
    """Let what is set in front of a loop pass waits for what the round before has left.

    A wait behind them that nothing else explains shows that they do not end it. They do not end
    what nothing uses, either. Another wait for its number ends it, unless that is for a round, too.
    """
    for number in range(SASS_BARRIERS):
        later = [at for at in code.waits[number] if (at, number) not in code.explained]
        alike = [life for life in lives if life.number == number]
        for life in alike:
            passed: set[int] = set()
            while rounds := _rounds(code, life, ending) - passed:
                passes = any(at > life.at and code.names(life, at) for at in later)
                if not passes and code.named_waits(life):
                    break
                passed |= rounds
                code.pass_by(life, passed, stops=code.waits[number])
                ending.add(life)


def _rounds(code: Code, life: Lifetime, ending: _Ending) -> set[int]:
    """Waits that are for what the round of a loop before has left with the same number."""
    return {
        at
        for at in life.waits
        if at > life.at
        and not code.names(life, at)
        and any(o.at >= at and o.ends_at(at) for o in ending.at(at, life.number))
    }


def latency(life: Lifetime) -> int:
    """Cycles until the result is there, or the operands are read."""
    if life.is_result:
        return RESULT_AFTER.get(life.opcode, SASS_RESULT_AFTER)
    return READ_AFTER.get(life.opcode, SASS_READ_AFTER)


def _let_wait(code: Code, lives: list[Lifetime]) -> None:
    """Move the clock on where an instruction needs one of its block that takes longer."""
    waits: dict[int, list[Lifetime]] = {}
    for life in lives:
        if life.user >= 0:
            waits.setdefault(life.user, []).append(life)
    late, has_waited = 0, False
    for at, cycles in enumerate(code.clock):
        if at == code.first[at]:
            has_waited = False
        elif at == code.asking[at]:
            late -= _spared(code, at, late, has_waited=has_waited)
            # Behind a barrier of the block the finalizer counts one cycle more.
            late += not has_waited and code.instructions[at - 1].opcode == SASS_BAR
        found = waits.get(at, ())
        has_waited |= any(code.clock[o.at] + _seen_wait(o) > cycles + late for o in found)
        for life in found:
            late = max(late, code.clock[life.at] + latency(life) - cycles)
        code.clock[at] = cycles + late


def _seen_wait(life: Lifetime) -> int:
    """Cycles from which on a wait is not seen: the end of a block behind BAR stays where it is."""
    if not life.is_result:
        return latency(life)
    return SEEN_WAIT_AFTER.get(life.opcode, latency(life) - SASS_UNSEEN_WAIT)


def _spared(code: Code, end: int, late: int, *, has_waited: bool) -> int:
    """Cycles that a block need not stall in front of its end, as it has waited since.

    The stall is there for a predicate that the end asks, which now is written long before, or
    behind a barrier of the block.

    Args:
        end: what asks the predicates of the end first.
        late: cycles that the instruction in front of it runs later than its stalls say.
        has_waited: whether its block has waited.
    """
    before, clock, stalls = code.instructions[end - 1], code.clock, code.clock_of_stalls
    least = LEAST_STALL.get(before.opcode, 1)
    if not before.read == before.write == SASS_NO_BARRIER:
        least = max(least, SASS_WAITABLE_AFTER)
    earliest, is_needed = clock[end - 1] + least, has_waited and before.opcode == SASS_BAR
    for predicate, is_uniform in asked(code.instructions[end]):
        for at in range(end - 1, code.first[end] - 1, -1):
            one = code.instructions[at]
            if writes(one, predicate, is_uniform=is_uniform):
                after = predicate_after(one, is_uniform=is_uniform)
                is_needed |= stalls[end] - stalls[at] == after
                earliest = max(earliest, clock[at] + after)
                break
    return max(0, stalls[end] + late - earliest) if is_needed else 0


def _keep_own_waits(code: Code, life: Lifetime) -> None:
    """Removes waits that are for other barriers, and adds those that these made superfluous."""
    waits = code.waits[life.number]

    def own(at: int) -> int:
        for place in range(bisect_left(waits, at), len(waits)):
            stop = waits[place]
            if code.names(life, stop):
                return stop
            is_end = stop == code.last[stop] and not code.ends_for_others(life, stop)
            if is_end and not code.ends_for_uniform(life, stop):
                return stop
        return NOWHERE

    behind = without(code.naming(life), life.there)
    _, reached = code.walk(life.at, first_of(own, behind))
    life.waits = code.measure(life, reached)


def _is_inside(code: Code, at: int, end: int) -> bool:
    return at != end and code.instructions[at].opcode != SASS_EXIT


def _find_sharing(found: list[Lifetime]) -> None:
    """Marks barriers whose number another one has at the same time."""
    alone: list[list[Lifetime]] = [[] for _ in range(SASS_BARRIERS)]
    shared: list[list[Lifetime]] = [[] for _ in range(SASS_BARRIERS)]
    for life in found:
        others, known = alone[life.number], shared[life.number]
        while known and known[-1].end <= life.at:
            known.pop()
        pending = [other for other in others if other.is_pending_at(life.at)]
        for other in pending:
            other.shares = True
        life.shares = bool(pending) or any(o.is_pending_at(life.at) for o in reversed(known))
        known += pending
        alone[life.number] = [o for o in others if o.end > life.at and not o.shares]
        (known if life.shares else alone[life.number]).append(life)


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


def _in_front(after: list[list[int]]) -> dict[int, list[int]]:
    """Instruction -> those that go on there."""
    found: dict[int, list[int]] = {}
    for at, places in enumerate(after):
        for to in places:
            found.setdefault(to, []).append(at)
    return found


def _foremost(after: list[list[int]]) -> list[int]:
    """Where code behind each instruction goes back to, the foremost."""
    found = [NOWHERE] * len(after)
    for at in range(len(after) - 2, -1, -1):
        found[at] = min((found[at + 1], *after[at + 1]))
    return found
