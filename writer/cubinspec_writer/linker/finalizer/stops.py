"""Which instructions wait for a number that some lifetimes share.

Those are the instructions that one of them comes to past all that wait in front of these. So they
are found in the order of the code. Which lifetimes are pending in front of a block is a mask with a
bit for each; masks go along the ways through the blocks, so one pass tells it for all lifetimes.

A way can also lead around a loop, through code in which no waits are found yet. Then the masks go
through all code; what is reached so is looked at again when all waits are known. Masks are found
again only where that could tell something else, as masks from a time when fewer waits were known
have no bit less.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heapify, heappop, heappush

from cubinspec_writer.linker.finalizer.paths import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.finalizer.lifetimes import Code, Lifetime

    #: First instruction of a block -> mask of lifetimes.
    Masks = dict[int, int]


def reached_stops(code: Code, sharing: list[Lifetime]) -> list[int]:
    """The instructions that have to wait for a number, which some lifetimes share."""
    barred: frozenset[int] = frozenset()
    while True:
        search = _Stops(code, sharing, barred)
        found = search.find()
        ended_before = search.ended_before()
        if not ended_before:
            return found
        barred |= ended_before


class _Stops:
    """The search for these instructions, which goes through the blocks in order."""

    __slots__ = (
        "_all",
        "_around",
        "_code",
        "_found",
        "_is_old",
        "_lives",
        "_passing",
        "_reached_around",
        "_set_at",
        "_there",
        "_to_come",
        "_waiting",
    )

    def __init__(self, code: Code, lives: list[Lifetime], barred: frozenset[int]) -> None:
        """Begin.

        Args:
            barred: instructions that nothing comes to, as was seen.
        """
        self._code = code
        self._lives = lives
        self._all = self._to_come = (1 << len(lives)) - 1
        #: Instruction -> lifetimes that it sets, and numbers of those that could end there.
        self._set_at: dict[int, int] = {}
        self._waiting: dict[int, list[int]] = {}
        for number, life in enumerate(lives):
            self._set_at[life.at] = self._set_at.get(life.at, 0) | 1 << number
            for at in life.waits:
                if at not in barred:
                    self._waiting.setdefault(at, []).append(number)
        self._found: list[int] = []
        #: Those of them that were reached around a loop only.
        self._reached_around: list[int] = []
        #: Lifetimes that no stop in a block ends.
        self._passing: Masks = {}
        #: Lifetimes in front of a block on ways through code that the search has passed.
        self._there: Masks = {}
        #: The same on all ways, and whether stops were found since.
        self._around: Masks | None = None
        self._is_old = False

    def find(self) -> list[int]:
        """The instructions, in order."""
        places = sorted(self._set_at.keys() | self._waiting)
        head = self._code.first[places[0]] if places else 0
        done = 0
        while done < len(places):
            end = self._code.last[head]
            beyond = bisect_right(places, end, done)
            self._pass_block(head, places[done:beyond])
            done = beyond
            head = end + 1
        return self._found

    def _pass_block(self, head: int, places: list[int]) -> None:
        """Find the stops of a block.

        Args:
            places: instructions of it that set or may end lifetimes.
        """
        self._passing[head] = self._all
        pending = self._there.get(head, 0)
        for at in places:
            if at in self._waiting and self._is_reached(head, at, pending):
                passing = self._stop(at)
                pending &= passing
                self._passing[head] &= passing
            begins = self._set_at.get(at, 0)
            pending |= begins
            self._to_come &= ~begins
        if pending:
            self._spread(self._there, {self._code.last[head]: pending}, head)

    def _stop(self, at: int) -> int:
        """Note a stop; returns which lifetimes pass it.

        What waits only for the round of a loop before does not end what is set in front of it.
        """
        self._found.append(at)
        self._is_old = True
        if not self._is_of_round(at):
            return 0
        return sum(1 << number for number, life in enumerate(self._lives) if life.at < at)

    def _is_reached(self, head: int, at: int, pending: int) -> bool:
        """Whether one of the lifetimes that could end at an instruction comes to it.

        Args:
            head: the first instruction of its block.
            pending: those that come to it on a way through code in front of it.
        """
        waiting = sum(1 << number for number in self._waiting[at])
        if pending & waiting:
            return True
        if not (waiting & self._to_come or self._code.returns_to(at)):
            return False
        if self._around is not None:
            if not self._around.get(head, 0) & self._passing[head] & waiting:
                return False
            if not self._is_old or self._is_known_to_reach(at):
                self._reached_around.append(at)
                return True
        self._around = self._go_around(head, pending)
        self._is_old = False
        is_reached = bool(self._around.get(head, 0) & self._passing[head] & waiting)
        if is_reached:
            self._reached_around.append(at)
        return is_reached

    def ended_before(self) -> frozenset[int]:
        """The stops that no lifetime comes to, as stops that were found later end all of them."""
        return frozenset(at for at in self._reached_around if not self._is_still_reached(at))

    def _is_still_reached(self, at: int) -> bool:
        """Whether a lifetime comes to a stop around a loop past all other stops."""
        for number in self._waiting[at]:
            life = self._lives[number]
            stops = [stop for stop in self._found if stop <= life.at or not self._is_of_round(stop)]
            if at in self._code.walk(life.at, listed(stops))[1]:
                return True
        return False

    def _is_of_round(self, stop: int) -> bool:
        """Whether a stop waits only for the round of a loop before."""
        return all(self._lives[number].at >= stop for number in self._waiting[stop])

    def _is_known_to_reach(self, at: int) -> bool:
        """Whether a lifetime came to an instruction past no other stop when it was measured."""
        lives = (self._lives[number] for number in self._waiting[at])
        return any(
            life.ends_at(at) and life.ended.issuperset(life.there.chosen(self._found))
            for life in lives
        )

    def _go_around(self, head: int, pending: int) -> Masks:
        """Lifetimes in front of every block on all ways past the stops that are found.

        Args:
            head, pending: a block, and what passes the last of the stops in it.
        """
        last = self._code.last
        masks = dict(self._there)
        ends = {last[at]: mask for at, mask in masks.items() if at > head}
        ends[last[head]] = pending
        for number, life in enumerate(self._lives):
            if self._to_come >> number & 1:
                ends[last[life.at]] = ends.get(last[life.at], 0) | 1 << number
        self._spread(masks, ends, len(last))
        return masks

    def _spread(self, masks: Masks, ends: Masks, most: int) -> None:
        """Let lifetimes go on from ends of blocks.

        Args:
            masks: gets which come to a block.
            ends: end of a block -> those that come there.
            most: the last block that they go through; they come to those behind it.
        """
        after, last = self._code.after, self._code.last
        waiting = list(ends)
        heapify(waiting)
        while waiting:
            end = heappop(waiting)
            going = ends.pop(end)
            for to in after[end]:
                new = going & ~masks.get(to, 0)
                if not new:
                    continue
                masks[to] = masks.get(to, 0) | new
                new &= self._passing.get(to, self._all)
                if not new or to > most:
                    continue
                beyond = last[to]
                if beyond not in ends:
                    heappush(waiting, beyond)
                ends[beyond] = ends.get(beyond, 0) | new
