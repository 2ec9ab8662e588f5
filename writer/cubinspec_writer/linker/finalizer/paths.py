"""What can run behind an instruction, up to others that stop the walk on every path.

Much of what is walked goes on to the end of a function, so a walk does not go from block to block
there. It passes whole runs of blocks that nothing jumps over, as all of these are reached from the
first one. So the time grows with what is special on the way, not with the length of the way.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from heapq import heappop, heappush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    #: The first stop at or behind an instruction.
    Stops = Callable[[int], int]

#: Cycles after which everything is over.
_LONGEST_WAY = 400  # not a spec number: more than any result takes
#: A stop behind all code.
NOWHERE = 1 << 62  # not a spec number: more than any function has


class Region:
    """Sorted pieces of code that do not touch."""

    __slots__ = ("beyonds", "firsts")

    def __init__(self, pieces: Iterable[tuple[int, int]] = ()) -> None:
        """Join pieces (first, beyond) in any order."""
        self.firsts: list[int] = []
        self.beyonds: list[int] = []
        for first, beyond in sorted(pieces):
            if self.beyonds and first <= self.beyonds[-1]:
                self.beyonds[-1] = max(self.beyonds[-1], beyond)
            else:
                self.firsts.append(first)
                self.beyonds.append(beyond)

    def has(self, at: int) -> bool:
        """Whether an instruction is in it."""
        place = bisect_right(self.firsts, at) - 1
        return place >= 0 and at < self.beyonds[place]

    def gap_behind(self, at: int) -> int:
        """The first instruction at or behind one that is not in it."""
        place = bisect_right(self.firsts, at) - 1
        return self.beyonds[place] if place >= 0 and at < self.beyonds[place] else at

    def pieces(self) -> Iterable[tuple[int, int]]:
        """First instruction and the one behind the last, of every piece."""
        return zip(self.firsts, self.beyonds, strict=True)

    def chosen(self, of: Sequence[int], most: int = NOWHERE) -> list[int]:
        """Those of some sorted instructions that are in it, up to one of them."""
        found: list[int] = []
        for first, beyond in self.pieces():
            if first > most:
                break
            found += of[bisect_left(of, first) : bisect_left(of, min(beyond, most + 1))]
        return found

    def common(self, other: Region) -> Iterable[tuple[int, int]]:
        """The pieces of code that are in both."""
        if not (self.firsts and other.firsts):
            return
        mine = bisect_right(self.beyonds, other.firsts[0])
        theirs = bisect_right(other.beyonds, self.firsts[0])
        while mine < len(self.firsts) and theirs < len(other.firsts):
            first = max(self.firsts[mine], other.firsts[theirs])
            beyond = min(self.beyonds[mine], other.beyonds[theirs])
            if first < beyond:
                yield first, beyond
            if self.beyonds[mine] == beyond:
                mine += 1
            if other.beyonds[theirs] == beyond:
                theirs += 1


def listed(stops: Sequence[int]) -> Stops:
    """Stops at sorted instructions."""

    def find(at: int) -> int:
        place = bisect_left(stops, at)
        return stops[place] if place < len(stops) else NOWHERE

    return find


def first_of(*finders: Stops) -> Stops:
    """Stops at all that any of these finds."""
    return lambda at: min(find(at) for find in finders)


def without(find: Stops, region: Region) -> Stops:
    """Stops that are not in a region."""

    def find_outside(at: int) -> int:
        while True:
            at = find(at)
            gap = region.gap_behind(at)
            if gap == at:
                return at
            at = gap

    return find_outside


class Paths:
    """The ways through a function whose blocks are in reverse postorder."""

    __slots__ = ("_after", "_around", "_cuts", "_last", "_place")

    def __init__(self, after: list[list[int]], last: list[int]) -> None:
        """Find the blocks that nothing jumps over.

        Args:
            after: for every instruction those that can follow.
            last: for every instruction the last one of its block.
        """
        self._after = after
        self._last = last
        #: First instructions of these blocks.
        self._cuts = _cuts(after, last)
        self._place = {head: place for place, head in enumerate(self._cuts)}
        self._around = _around(after, last, self._cuts)

    def walk(self, start: int, stop_behind: Stops) -> tuple[Region, list[int]]:
        """What can run between an instruction and the first stop on every path.

        Returns:
            that code up to and with these stops; the stops that are reached.
        """
        pieces: list[tuple[int, int]] = []
        reached: set[int] = set()
        seen: set[int] = set()
        waiting = list(self._after[start])
        while waiting:
            first = waiting.pop()
            if first in seen:
                continue
            seen.add(first)
            stop = stop_behind(first)
            last = self._last[first]
            if stop <= last:
                pieces.append((first, stop + 1))
                reached.add(stop)
                continue
            beyond = self._run(first, stop, waiting)
            if beyond == first:
                beyond = last + 1
                waiting += self._after[last]
            pieces.append((first, beyond))
        return Region(pieces), sorted(reached)

    def _run(self, first: int, stop: int, waiting: list[int]) -> int:
        """Pass all blocks that nothing jumps over, up to the last such head in front of a stop.

        What the code goes back to from there is left to be walked.

        Returns:
            that head; `first` if it is none, or none is behind it.
        """
        place = self._place.get(first)
        if place is None:
            return first
        beyond = self._cuts[bisect_right(self._cuts, stop) - 1]
        if beyond > first:
            waiting.append(beyond)
            waiting += [to for to, end in self._around[place] if end < beyond]
        return beyond


class Ways:
    """The cycles of the shortest ways from an instruction to the blocks behind it."""

    __slots__ = ("_after", "_clock", "_found", "_last", "_stalls")

    def __init__(
        self, after: list[list[int]], last: list[int], clock: list[int], stalls: list[int]
    ) -> None:
        """Take a function whose blocks are in reverse postorder.

        Args:
            after: for every instruction those that can follow.
            last: for every instruction the last one of its block.
            clock: for every instruction the cycles in front of it; only differences in a block
                count.
            stalls: the cycles that each instruction takes.
        """
        self._after = after
        self._last = last
        self._clock = clock
        self._stalls = stalls
        self._found: dict[int, dict[int, int]] = {}

    def cycles(self, start: int, head: int) -> int:
        """The cycles up to the first instruction of a block; very many if they are."""
        if start not in self._found:
            self._found[start] = self._find(start)
        return self._found[start].get(head, _LONGEST_WAY)

    def _find(self, start: int) -> dict[int, int]:
        found: dict[int, int] = {}
        waiting = [(0, start)]
        while waiting:
            cycles, at = heappop(waiting)
            end = self._last[at]
            cycles += self._clock[end] - self._clock[at] + self._stalls[end]
            for to in self._after[end]:
                if to > end and cycles < found.get(to, _LONGEST_WAY):
                    found[to] = cycles
                    heappush(waiting, (cycles, to))
        return found


def _heads(last: list[int]) -> list[int]:
    """First instructions of all blocks."""
    return [0, *(at + 1 for at, end in enumerate(last[:-1]) if at == end)] if last else []


def _cuts(after: list[list[int]], last: list[int]) -> list[int]:
    """First instructions of blocks over which no way leads forward, up to code that none reaches.

    In reverse postorder a way leads forward to every block that is reached at all. So all blocks
    behind such a head are reached from it.
    """
    found = []
    furthest = 0
    reached = {0}
    for head in _heads(last):
        if head not in reached:
            break
        if furthest <= head:
            found.append(head)
        end = last[head]
        reached.update(after[end])
        furthest = max((furthest, *after[end]))
    return found


def _around(
    after: list[list[int]], last: list[int], cuts: list[int]
) -> list[list[tuple[int, int]]]:
    """For every such head: where code behind goes back to in front of it, and from where first."""
    found: list[list[tuple[int, int]]] = [[] for _ in cuts]
    open_loops: dict[int, int] = {}
    end = len(after)
    for place in range(len(cuts) - 1, -1, -1):
        for at in range(end - 1, cuts[place] - 1, -1):
            if last[at] == at:
                open_loops.update((to, at) for to in after[at] if to <= at)
        end = cuts[place]
        open_loops = {to: at for to, at in open_loops.items() if to < end}
        found[place] = list(open_loops.items())
    return found
