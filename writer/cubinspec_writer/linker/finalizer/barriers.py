"""Assigning barriers as the finalizer does, when the first of them is not set any more.

The finalizer goes through the blocks in an order of its own (`flow.visiting_order`). Each barrier
takes the first of these numbers that applies:

* for operands that are read after the end of their block: that of other such barriers of it, if
  nothing else has it;
* for a result that takes long and is used in another block: 5. Such results share it, and other
  barriers avoid it in all blocks where one of them is pending. Results from textures and surfaces
  take 5, too, and in a function with one of them no other barrier does;
* that of barriers that all end at the same instruction of the block as this one;
* the lowest that no barrier has that is pending here, or in front of the next block on a path that
  was visited before. The search begins at 2 for a result that takes long. For what nothing in the
  block waits for it ends at 4, in a function in which any result takes long;
* for what nothing in the block waits for, one that is pending only on another path that comes
  together with this one;
* the one where sharing costs least. Where two barriers share a number, the first wait is for both,
  so it takes as long as the slower one. What is left over counts as well, so of two waits that come
  late enough the later one is chosen; only for what nothing in the block waits for, it does not. Of
  equal costs, the lowest number.

The clock also moves on where an instruction needs what takes longer. One table of latencies was
fitted to public programs for sm_100, sm_103 and sm_120 (HeCBench and ggml, ptxas and nvlink
13.0.88). Counted before the last change of the clock, costs explain 94,885 of 95,482 choices where
all numbers are taken, and ends of blocks wait as told in 24,995 of 25,490 places.

What another block has set counts with the cycles that the shortest way to this one leaves of it.

That the end of a block will wait for a barrier, as it is over by then, is found when the block is
done, so the choice does not count on it. It also does not count on the end of a loop's first block
for what was set in front of the loop. The end does not wait for a number that something slower has,
too.

A result that takes long and that nothing uses, as that of an atomic operation can be, takes 5 only
in a function in which others take long; else it does not share the wait of another one.

What WARPSYNC.COLLECTIVE has waited for counts as pending behind it: the first instruction that
needs it waits again, or else ENDCOLLECTIVE. What ENDCOLLECTIVE waits for does not take 5. DEPBAR
counts the operations that are pending on a barrier, so these keep their numbers.

Where the same barriers are in use as in the input, the choice is that of the input. All other
choices count as certain only if the same steps find the numbers of the input, too.
"""

from __future__ import annotations

from cubinspec_generated.codes_sass import (
    SASS_BARRIERS,
    SASS_CLOSE_COSTS,
    SASS_FIRST_BARRIER,
    SASS_FIRST_LONG_BARRIER,
    SASS_NO_BARRIER,
    SASS_SHARED_BARRIER,
)
from cubinspec_generated.tables.sass import FIRST_BARRIER, OUTSIDE
from cubinspec_writer.linker.finalizer.flow import ALL_BARRIERS
from cubinspec_writer.linker.finalizer.lifetimes import (
    Code,
    Lifetime,
    latency,
    lifetimes,
    place_waits,
)
from cubinspec_writer.linker.finalizer.paths import Region, listed
from cubinspec_writer.linker.finalizer.stops import reached_stops
from cubinspec_writer.linker.finalizer.waits import sets_again, waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cubinspec_writer.linker.finalizer.flow import Instruction

    #: Barriers that an instruction sets for its result and for its operands, and mask of its waits.
    Assignment = tuple[int, int, int]

#: Barriers of results that take long, and of other operations, beside the shared one.
_FOR_LONG = tuple(range(SASS_FIRST_LONG_BARRIER, SASS_SHARED_BARRIER))
_FOR_OTHERS = tuple(range(SASS_SHARED_BARRIER))
_NEVER = 10**6


def _ends_only_over(code: Code, life: Lifetime, end: int) -> bool:
    """Whether the end of a block waits for a barrier as it is over, which is not known before."""
    if not life.ends_at(end):
        return False
    return life.over_at == end or (code.is_entered(life, end) and not code.names(life, end))


class _Numbers:
    """Which barriers have which number at some place in the code.

    Attributes:
        active: for every number the barriers that may be pending from here on.
        given: the number of each barrier.
    """

    __slots__ = ("_at_loops", "_code", "active", "given")

    def __init__(self, code: Code) -> None:
        self._code = code
        self.active: list[list[Lifetime]] = [[] for _ in range(SASS_BARRIERS)]
        self.given: dict[tuple[int, bool], int] = {}
        #: What was pending with each number at each instruction that code goes back to.
        self._at_loops: dict[tuple[int, int], list[Lifetime]] = {}

    def go_on(self, at: int) -> None:
        """Forget what ends in front of an instruction, unless code goes back to where it was."""
        for number, lives in enumerate(self.active):
            over = [life for life in lives if life.end <= at]
            if over:
                self.active[number] = [life for life in lives if life.end > at]
                for life in over:
                    for to in life.there.chosen(self._code.loops):
                        self._at_loops.setdefault((number, to), []).append(life)

    def is_taken(self, life: Lifetime, number: int) -> bool:
        """Whether a barrier with this number is pending here, or comes together with this one.

        That is where the next block begins and another way leads there.
        """
        # An instruction that waits for a number waits for all that have it.
        has_ended = any(other.ends_at(life.at) for other in self.active[number])
        for other in self.active[number]:
            if _ends_only_over(self._code, other, life.at):
                return True
            if other.is_pending_at(life.at) and (other.at == life.at or not has_ended):
                return True
        return bool(self.behind(life, number))

    def behind(self, life: Lifetime, number: int) -> list[Lifetime]:
        """The barriers with a number that are pending where a next block begins.

        A way that leads there counts once the finalizer has gone it, or if it is that of this
        barrier, or back to where a loop begins.
        """
        code = self._code
        end = code.last[life.at]
        found = []
        for to in code.after[end]:
            # That the end of the block will wait for it is not known yet.
            if life.user >= 0 and not life.is_there(to):
                continue
            seen = [at for at in code.ends_before[to] if at < life.at]
            found += [
                other
                for other in self.active[number]
                if other.is_there(to)
                and (other.is_pending_at(life.at) or any(map(other.is_pending_at, seen)))
            ]
            if to <= life.at:
                found += self._at_loops.get((number, to), ())
        return found

    def sharing(self, life: Lifetime, number: int) -> list[Lifetime]:
        """The barriers with a number that are pending here or on a way that comes together."""
        return [
            other
            for other in self.active[number]
            if other.is_pending_at(life.at)
            or other.meets(life)
            or _ends_only_over(self._code, other, life.at)
        ]

    def put(self, code: Code, life: Lifetime, number: int) -> None:
        """Give a number. Where it is shared, the first wait ends all that are pending."""
        others = self.active[number]
        pending = [other for other in others if other.is_pending_at(life.at)]
        sharing = [*pending, life]
        end = code.last[life.at]
        if any(one.user < 0 and not code.is_over(one, end) for one in sharing):
            for one in sharing:
                if one.waits == [end] and one.over_at == end:
                    one.waits = code.named_waits(one)
                    code.measure(one, one.waits)
        # They may also come together on another way.
        sharing = self.sharing(life, number)
        if any(other.waits != life.waits for other in sharing):
            sharing.append(life)
            stops = set(reached_stops(code, sharing))
            for one in sharing:
                one.shared_stops = one.shared_stops | stops
                # Most stops are behind others, which have ended it.
                if any(map(one.is_there, one.shared_stops.difference(one.stops))):
                    code.measure(one, sorted(one.shared_stops))
                one.stops = one.shared_stops
        # Of barriers that nothing waits for, only the latest is kept.
        self.active[number] = [
            other
            for other in others
            if other.waits or life.waits or other.is_result != life.is_result
        ]
        self.active[number].append(life)
        self.given[life.at, life.is_result] = number


class _Chooser:
    """The finalizer's choices in one function."""

    __slots__ = (
        "_code",
        "_far",
        "_has_groups",
        "_has_long",
        "_has_textures",
        "_kept",
        "is_close",
    )

    def __init__(self, code: Code, lives: list[Lifetime]) -> None:
        self._code = code
        #: Whether two numbers have ever cost nearly the same.
        self.is_close = False
        self._has_long = any(life.is_long for life in lives)
        self._has_textures = any(life.is_texture for life in lives)
        self._has_groups = any(life.opcode in FIRST_BARRIER for life in lives)
        #: The number of what takes long and is used in another block, beside textures.
        self._far = SASS_SHARED_BARRIER - self._has_textures
        #: Last instructions of the blocks in which other barriers avoid this number.
        self._kept: set[int] = set()
        pieces: list[tuple[int, int]] = []
        far = [o for o in lives if o.is_far() and self._shared_number(o) == self._far]
        # A wait for one of them is for all that are pending.
        stops = listed(sorted({at for life in far for at in life.waits}))
        for life in far:
            self._kept.add(code.last[life.at])
            region, _ = code.walk(life.at, stops)
            pieces += region.pieces()
        for first, beyond in Region(pieces).pieces():
            at = first
            while at < beyond:
                self._kept.add(code.last[at])
                at = code.last[at] + 1

    def _shared_number(self, life: Lifetime) -> int:
        return SASS_SHARED_BARRIER if life.is_texture else self._far

    def _avoids(self, life: Lifetime, number: int) -> bool:
        """Whether a number is kept for others in the block of a barrier."""
        if life.is_far() and number == self._shared_number(life):
            return False
        if number == SASS_SHARED_BARRIER and self._has_textures:
            return True
        if number == SASS_FIRST_BARRIER and self._has_groups:
            return True
        return number == self._far and self._code.last[life.at] in self._kept

    def choose(self, life: Lifetime, numbers: _Numbers) -> int:
        """The number that a barrier takes."""
        if life.opcode in FIRST_BARRIER:
            return SASS_FIRST_BARRIER
        leaves = life.user < 0
        pool = _FOR_LONG if life.is_long else _FOR_OTHERS
        if life.is_far():
            shared = self._shared_number(life)
            others = [other for other in numbers.active[shared] if other.meets(life)]
            others += numbers.behind(life, shared)
            if life.is_texture or any(other.is_far() for other in others):
                return shared
            pool = (shared, *pool)
        elif life.is_long or not ((leaves and self._has_long) or life.user in self._code.ends):
            pool = (*pool, SASS_SHARED_BARRIER)
        pool = tuple(number for number in pool if not self._avoids(life, number))
        shared = -1
        if leaves and not life.is_result:
            shared = self._left_together(life, numbers)
        elif not leaves or (
            life.is_long and not life.is_unused and numbers.is_taken(life, SASS_SHARED_BARRIER)
        ):
            shared = self._shared(life, numbers)
        if shared >= 0:
            return shared
        for number in pool:
            if not numbers.is_taken(life, number):
                return number
        # What nothing in the block waits for takes 5 only to share it, where something takes long.
        may_share = leaves and self._has_long and not life.is_long
        if may_share and not self._avoids(life, SASS_SHARED_BARRIER):
            pool = (*pool, SASS_SHARED_BARRIER)
        costs = [self._cost(life, numbers.sharing(life, n), n) for n in pool]
        best = min(costs)
        self.is_close |= any(0 < cost - best < SASS_CLOSE_COSTS for cost in costs)
        return pool[costs.index(best)]

    def _left_together(self, life: Lifetime, numbers: _Numbers) -> int:
        """The lowest number of barriers that all leave their block with this one; -1: none."""
        for number, active in enumerate(numbers.active):
            if self._avoids(life, number):
                continue
            pending = [other for other in active if other.is_pending_at(life.at)]
            if pending and all(self._leaves_together(other, life) for other in pending):
                return number
        return -1

    def _leaves_together(self, other: Lifetime, life: Lifetime) -> bool:
        """Whether both are for operands that are read when their common block has ended.

        Both are pending.
        """
        return (
            not other.is_result
            and other.user < 0
            and self._code.last[other.at] == self._code.last[life.at]
        )

    def _shared(self, life: Lifetime, numbers: _Numbers) -> int:
        """The lowest number of barriers that wait where this one does; -1: there is none."""
        if life.user in self._code.ends or not life.waits:
            return -1
        for number, active in enumerate(numbers.active):
            if self._avoids(life, number):
                continue
            pending = [other for other in active if other.is_pending_at(life.at)]
            alike = sum(self._waits_with(other, life) for other in pending)
            if alike and (alike == len(pending) or self._cost(life, pending) <= 0):
                return number
        return -1

    def _waits_with(self, other: Lifetime, life: Lifetime) -> bool:
        """Whether all that waits for `life` is the next that waits for `other`."""
        if other.waits == [other.over_at]:
            return False
        if life.user < 0:
            if other.waits == life.waits:
                return True
            if not set(life.waits) <= set(other.waits):
                return False
            return self._code.walk(life.at, listed(other.waits))[1] == life.waits
        if not other.ends_at(life.user):
            return False
        if not (other.is_result or self._code.names(other, life.user)):
            return False
        return other.passes_all(max(life.at + 1, other.there.firsts[0]), life.user)

    def _cost(self, life: Lifetime, others: list[Lifetime], number: int = 0) -> int:
        """Cycles that are lost when a barrier shares the number of others.

        Below 0 are cycles that are left over. A number that nothing shares is taken where the next
        block begins.
        """
        if not others:
            return -1 if life.user < 0 and number != SASS_SHARED_BARRIER else _NEVER // 2
        clock = self._code.clock
        now = clock[life.at]
        own = latency(life)
        leaves = life.user < 0
        firsts = [self._first_use(other, life) for other in others]
        first = min((at for at in firsts if at >= 0), default=-1)
        if leaves:
            # What is pending only on another path that comes together with this one costs less.
            if not any(
                o.is_pending_at(life.at) or _ends_only_over(self._code, o, life.at) for o in others
            ):
                return -1
            return max(0, own - (clock[first] - now)) if first >= 0 else 0
        if 0 <= first < life.user:
            return own - (clock[first] - now)
        worst = -_NEVER
        for other, at in zip(others, firsts, strict=True):
            if at < 0 and other.is_long:
                return _NEVER
            if at != life.user:
                worst = max(worst, self._code.over_at(other, life.at) - clock[life.user])
        return worst

    def _first_use(self, other: Lifetime, life: Lifetime) -> int:
        """The first instruction behind one, in its block, that waits for another barrier.

        For what leaves the block, that its end will wait for what is over is not known yet.
        """
        if other.user >= 0:
            return other.user if other.user > life.at else -1
        end = self._code.last[life.at]
        if life.user < 0 and not self._code.names(other, end):
            end -= 1
        return next((wait for wait in other.waits if life.at < wait <= end), -1)


def assign(
    instructions: list[Instruction], *, waits_for_loops: bool
) -> tuple[list[Assignment], str]:
    """The barriers of every instruction when the first instruction sets none.

    Args:
        waits_for_loops: whether code waits in front of loops (rule K36).

    Returns:
        the assignment; why it is not certain to be the finalizer's, empty if it is.
    """
    code = Code(instructions)
    before = lifetimes(code)
    if not (waits_for_loops and code.loops):
        return _assigned(code, before[1:], before[0], is_gone=True)
    return _assigned_in_front_of_loops(instructions, code, before)


def _assigned_in_front_of_loops(
    instructions: list[Instruction], code: Code, before: list[Lifetime]
) -> tuple[list[Assignment], str]:
    """The barriers of a kernel of CUDA 13.1 and later whose first instruction sets none (K36)."""
    other = Code(instructions, waits_for_loops=True)
    lives = lifetimes(other)
    has_rounds = _has_rounds(before) or _has_rounds(lives)
    if has_rounds and _has_unknown_rounds(other, lives):
        return [], "a barrier is waited for in the next round of a loop"
    found, doubt = _assigned(other, lives[1:], lives[0], is_gone=True)
    if not has_rounds:
        # Whether ends of blocks wait for what is over makes no difference where this is certain.
        usual, other_doubt = _assigned(code, before[1:], before[0], is_gone=True)
        doubt = doubt or other_doubt
        if usual != found:
            doubt = doubt or "a barrier may be waited for in front of a loop"
    return found, doubt


def _has_rounds(lives: list[Lifetime]) -> bool:
    """Whether code waits for what the round of a loop before has left."""
    return any(at <= life.at for life in lives for at in life.waits)


def _has_unknown_rounds(code: Code, lives: list[Lifetime]) -> bool:
    """Whether code waits for what the round of a loop before has left, in ways that are not known.

    They are where the round comes to a wait of the input for it, and all numbers are as expected.
    """
    if any(
        at <= life.at and at not in life.input_waits and code.last[at] != code.last[life.at]
        for life in lives
        for at in life.waits
    ):
        return True
    waits = ((at, number) for number, stops in enumerate(code.waits) for at in stops)
    if any(wait not in code.explained for wait in waits):
        return True
    return any(number != life.number for life, number in _chosen(code, lifetimes(code)))


def choices(instructions: list[Instruction]) -> Iterator[tuple[Lifetime, int]]:
    """Every barrier of code as it is, and the number that these steps give it.

    Those in front of it have the numbers of the code.

    Raises:
        WaitsError: it has more waits than are followed here.
    """
    code = Code(instructions)
    yield from _chosen(code, lifetimes(code))


def _chosen(code: Code, lives: list[Lifetime]) -> Iterator[tuple[Lifetime, int]]:
    """Every barrier of code as it is, and the number that these steps give it."""
    _forget_counts(code, lives)
    chooser = _Chooser(code, lives)
    numbers = _Numbers(code)
    for life in lives:
        numbers.go_on(life.at)
        yield life, chooser.choose(life, numbers)
        numbers.put(code, life, life.number)


def assign_more(instructions: list[Instruction]) -> tuple[list[Assignment], str]:
    """The barriers of every instruction when the first instruction sets one, and did not before.

    What leads out of the function waits for it, and for what shares its number.

    Returns:
        the assignment; why it is not certain to be the finalizer's, empty if it is.
    """
    code = Code(instructions)
    before = lifetimes(code)
    has_groups = any(one.opcode in FIRST_BARRIER for one in code.instructions)
    load = Lifetime(0, code.instructions[0].opcode, SASS_FIRST_BARRIER + has_groups, True)
    stops = [at for at, one in enumerate(code.instructions) if one.opcode in OUTSIDE]
    load.waits = load.input_waits = code.measure(load, stops)
    end = code.last[0]
    late = code.cycles(load, end) - latency(load)
    load.outlasts = late == 0
    if code.is_over(load, end):
        load.waits = load.input_waits = code.measure(load, [end])
        load.over_at = end
    found, doubt = _assigned(code, before, load, is_gone=False)
    if late == 1:  # of 24 such ends 23 waited
        doubt = doubt or "the load of the stack pointer is over just where its block ends"
    return found, doubt


def _assigned(
    code: Code, before: list[Lifetime], load: Lifetime, *, is_gone: bool
) -> tuple[list[Assignment], str]:
    """The barriers of every instruction when that of the first one comes or goes.

    Args:
        before: the other barriers, as they are in the input.
        load: that of the first instruction.
    """
    _forget_counts(code, before)
    chooser = _Chooser(code, [load, *before] if is_gone else before)
    after = [life.copy() for life in before]
    old, new = _Numbers(code), _Numbers(code)
    (old if is_gone else new).put(code, load, load.number)
    doubts = []
    for life, again in zip(before, after, strict=True):
        old.go_on(life.at)
        new.go_on(life.at)
        number = life.number
        if not code.is_counted(life, number) and not _is_same(life, again, load, old, new):
            number = chooser.choose(again, new)
            expected = chooser.choose(life, old)
            # What it costs to share with the load is not known exactly; the new code never does.
            is_beside_load = is_gone and life.meets(load)
            is_beside_load = is_beside_load and load.number in (expected, life.number)
            if expected != life.number and not is_beside_load:
                doubts.append("a barrier in the input is not the expected one")
            if _is_unclear(code, life, again, number, old, new):
                doubts.append("operands share the wait of a result")
            if code.is_counted(again, number):
                doubts.append("an instruction would count another barrier")
        if not is_gone and number == load.number and again.meets(load):
            doubts.append("a barrier is that of the load of the stack pointer")
        old.put(code, life, life.number)
        new.put(code, again, number)
    found = _assignment(code, before, after, new.given, [load] if is_gone else [])
    for at in () if is_gone else load.waits:
        write, read, wait = found[code.places[at]]
        found[code.places[at]] = write, read, wait | 1 << load.number
    return found, doubts[0] if doubts else ""


def _forget_counts(code: Code, before: list[Lifetime]) -> None:
    """Forget instructions that count a barrier of which nothing is pending."""
    code.counted = [
        (at, number)
        for at, number in code.counted
        if any(life.number == number and life.is_pending_at(at) for life in before)
    ]


def assign_all(
    instructions: list[Instruction], *, loses_first: bool
) -> tuple[list[Assignment], str]:
    """The barriers of every instruction of code to which an older ptxas gave others.

    Args:
        loses_first: whether the first instruction sets none.

    Returns:
        the assignment; why it is not certain to be the finalizer's, empty if it is.
    """
    code = Code(instructions)
    before = lifetimes(code)
    lost, before = before[:loses_first], before[loses_first:]
    _forget_counts(code, before)
    doubt = _unknown_before(code, before)
    if doubt:
        return [], doubt
    chooser = _Chooser(code, before)
    after = [life.copy() for life in before]
    numbers = _Numbers(code)
    for life in after:
        numbers.go_on(life.at)
        numbers.put(code, life, chooser.choose(life, numbers))
    rounds = [
        (at, numbers.given[life.at, life.is_result])
        for life in before
        for at in life.waits
        if at <= life.at and sets_again(code, life, at)
    ]
    assigned = _assignment(code, before, after, numbers.given, lost)
    if chooser.is_close:
        doubt = "two barriers cost nearly the same"
    elif any(assigned[code.places[at]][2] >> number & 1 for at, number in rounds):
        doubt = "a round of a loop waits where a barrier is set again"
    return assigned, doubt


def assign_later(
    instructions: list[Instruction], added: Iterable[int]
) -> tuple[list[Assignment], str]:
    """The barriers of every instruction when some are new and let blocks end later.

    Each of these counts as one cycle, whatever it says.

    Args:
        added: their numbers.

    Returns:
        the assignment, empty if nothing changes; why it is not certain to be the finalizer's, empty
        if it is.
    """
    early, code = (Code(instructions, dict.fromkeys(added, cycles)) for cycles in (0, 1))
    before = lifetimes(early)
    # The load of the stack pointer may be over only now.
    after = lifetimes(code, frozenset((o.at, o.is_result) for o in before if o.outlasts and o.at))
    if not _end_later(early, code, before, after):
        return [], ""
    _forget_counts(code, before)
    old_chooser, chooser = _Chooser(early, before), _Chooser(code, after)
    old, new = _Numbers(early), _Numbers(code)
    doubt = ""
    for life, again in zip(before, after, strict=True):
        old.go_on(life.at)
        new.go_on(life.at)
        number = life.number
        if not code.is_counted(life, number) and not _is_alike(life, again, old, new):
            number = chooser.choose(again, new)
            if old_chooser.choose(life, old) != life.number:
                doubt = "a barrier in the input is not the expected one"
        old.put(early, life, life.number)
        new.put(code, again, number)
    return _assignment(code, before, after, new.given, []), doubt


def _end_later(early: Code, code: Code, before: list[Lifetime], after: list[Lifetime]) -> bool:
    """Let ends of blocks wait for what is over there only now; whether any does."""
    changes = False
    pairs: list[list[tuple[Lifetime, Lifetime]]] = [[] for _ in range(SASS_BARRIERS)]
    for pair in zip(before, after, strict=True):
        pairs[pair[0].number].append(pair)
    for life, again in zip(before, after, strict=True):
        end = code.last[life.at]
        is_later = code.cycles(again, end) > early.cycles(life, end)
        if not is_later or again.user >= 0 or not code.after[end]:
            continue
        pending = [pair for pair in pairs[life.number] if pair[0].is_pending_at(end)]
        if any(new.is_long for _, new in pending):
            continue
        was = all(_has_ended(early, old, end) for old, _ in pending)
        if not was and all(_has_ended(code, new, end) for _, new in pending):
            changes = True
            for _, other in pending:
                if code.last[other.at] == end:
                    other.over_at = end
                    other.waits = other.input_waits = code.measure(other, [end])
    return changes


def _has_ended(code: Code, life: Lifetime, end: int) -> bool:
    """Whether a barrier of this or of another block is over where a block ends."""
    return not life.outlasts and code.over_at(life, end) <= code.clock[end]


def _unknown_before(code: Code, lives: list[Lifetime]) -> str:
    """What an older ptxas does in another way that is not known; empty: nothing."""
    if code.counted:
        return "an instruction counts a barrier"
    for start in code.collective:
        unnamed = [o for o in lives if o.is_result and not code.registers[o.at][0]]
        if any(o.is_there(start) and (o.is_far() or o.shares) for o in unnamed):
            return "a result without a register in front of code that a warp runs together"
    return ""


def _places(lives: list[Lifetime]) -> set[tuple[int, bool]]:
    """Where barriers are set and whether for results, whatever numbers they have."""
    return {(life.at, life.is_result) for life in lives}


def _is_unclear(
    code: Code, life: Lifetime, again: Lifetime, number: int, old: _Numbers, new: _Numbers
) -> bool:
    """Whether a result shares a new number with others than that of the input, which hides a wait.

    It hides that of operands of another block. With fewer others it hides nothing more, unless all
    of these operands have its number again.
    """
    hidden = [
        other
        for other in old.active[life.number]
        if not other.is_result
        and code.last[other.at] != code.last[life.at]
        and other.is_pending_at(life.at)
        and life.user in other.input_waits
        and not code.names(other, life.user)
    ]
    if life.user < 0 or not hidden or not new.is_taken(again, number):
        return False
    before = _places(old.sharing(life, life.number))
    after = _places(new.sharing(again, number))
    if all(new.given.get((other.at, False)) == number for other in hidden):
        return before != after
    return not after <= before


def _is_same(life: Lifetime, again: Lifetime, gone: Lifetime, old: _Numbers, new: _Numbers) -> bool:
    """Whether the same barriers are in use as in the input, so that the choice is the same."""
    return not life.meets(gone) and _is_alike(life, again, old, new)


def _is_alike(life: Lifetime, again: Lifetime, old: _Numbers, new: _Numbers) -> bool:
    """Whether the same barriers are in use, whatever comes or goes elsewhere."""
    if life.waits != again.waits:
        return False
    for number in range(SASS_BARRIERS):
        if old.is_taken(life, number) != new.is_taken(again, number):
            return False
        for other in new.active[number]:
            if new.given[other.at, other.is_result] != other.number and (
                other.is_pending_at(again.at) or other.meets(again)
            ):
                return False
    return True


def _assignment(
    code: Code,
    before: list[Lifetime],
    after: list[Lifetime],
    given: dict[tuple[int, bool], int],
    lost: list[Lifetime],
) -> list[Assignment]:
    """Numbers and waits of all instructions; the first one sets nothing but for its result."""
    place_waits(code, [*before, *after])
    out: list[Assignment] = [(SASS_NO_BARRIER, SASS_NO_BARRIER, 0)] * len(code.places)
    for at, wait in enumerate(waits(code, before, after, given, lost)):
        result, operands = (
            given.get((at, is_result), SASS_NO_BARRIER) for is_result in (True, False)
        )
        if code.instructions[at].waits_for_all:
            wait = ALL_BARRIERS
        out[code.places[at]] = (result, operands, wait)
    return out
