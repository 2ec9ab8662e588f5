"""Where code waits for barriers that have other numbers than in the input.

What each barrier needs is known from its lifetime. A wait of the input goes on where the same
barriers have its number as before. Where barriers that shared a number have different ones now, the
wait is for those whose registers the instruction names, and the others wait behind it.

Around a loop barriers wait last: an instruction that waits for what the round before has left does
not spare a wait behind it for what was set in front of the loop. What the round before has left is
waited for at the end of the first block of the loop, as it is over by then, or where its number is
set again.
"""

from __future__ import annotations

from cubinspec_generated.codes_sass import SASS_BARRIERS
from cubinspec_writer.linker.finalizer.paths import listed
from cubinspec_writer.linker.finalizer.stops import reached_stops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec_writer.linker.finalizer.lifetimes import Code, Lifetime

    #: The number of every barrier: the instruction that sets it, and whether for its result.
    Given = dict[tuple[int, bool], int]


def waits(
    code: Code,
    before: list[Lifetime],
    after: list[Lifetime],
    given: Given,
    lost: list[Lifetime],
) -> list[int]:
    """The mask of barriers that every instruction waits for.

    An instruction waits for what it needs, unless those in front of it have waited for all of that.

    Args:
        before: the lifetimes with the numbers of the input.
        after: the same with their new numbers.
        lost: lifetimes of the input that have no barrier any more.
    """
    code.explain(before)
    left = _leave(after, code, given)
    dropped = _wait_where_set_again(code, before, after, given)
    dropped |= _part(code, after, given)
    _pass_covered(code, after, given)
    users: list[list[Lifetime]] = [[] for _ in range(SASS_BARRIERS)]
    for life in after:
        users[given[life.at, life.is_result]].append(life)
    wanted = [0] * len(code.instructions)
    for at, number in left - dropped:
        wanted[at] |= 1 << number
    for number, sharing in enumerate(users):
        reached = _reached(code, sharing)
        pending = [at for at in code.collective if _comes_to(code, sharing, at, reached)]
        for at in (*reached, *pending):
            wanted[at] |= 1 << number
    for at in code.collective:
        there = [life for life in before if life.is_there(at)]
        gone = {life.number for life in (*there, *lost) if life.is_there(at)}
        gone -= {one.number for one in there if given.get((one.at, one.is_result)) == one.number}
        wanted[at] |= code.instructions[at].wait & ~sum(1 << number for number in gone)
    for number in range(SASS_BARRIERS):
        _keep_waits(code, number, wanted, given, dropped)
    return wanted


def _reached(code: Code, sharing: list[Lifetime]) -> list[int]:
    """The instructions that wait for a number, those for a round of a loop last."""
    reached = reached_stops(code, sharing)
    rounds: dict[int, list[Lifetime]] = {}
    for life in sharing:
        for at in life.waits:
            if at < life.at and at == code.last[at] and not code.waits_for(at, life.number):
                rounds.setdefault(at, []).append(life)
    stops = listed(reached)
    ended = {
        at
        for at, lives in rounds.items()
        if not any(at in code.walk(life.at, stops)[1] for life in lives)
    }
    return [at for at in reached if at not in ended]


def _comes_to(code: Code, lives: list[Lifetime], at: int, reached: list[int]) -> bool:
    """Whether one of some lifetimes is pending at an instruction, past those that wait for it."""
    stops = listed(sorted({*reached, at}))
    return any(life.is_there(at) and at in code.walk(life.at, stops)[1] for life in lives)


def _leave(lives: list[Lifetime], code: Code, given: Given) -> set[tuple[int, int]]:
    """Leave waits as they are where the same barriers have the same number as in the input.

    Returns:
        instructions behind a wait for the round of a loop before, and barriers that they wait for.
    """
    left: set[tuple[int, int]] = set()
    alike: list[list[Lifetime]] = [[] for _ in range(SASS_BARRIERS)]
    changed: list[list[Lifetime]] = [[] for _ in range(SASS_BARRIERS)]
    for life in lives:
        numbers = {life.number, given[life.at, life.is_result]}
        for number in numbers:
            alike[number].append(life)
            if len(numbers) > 1:
                changed[number].append(life)
    for life in lives:
        number = life.number
        if life.waits == life.input_waits or given[life.at, life.is_result] != number:
            continue
        if not any(_meet(life, other) for other in changed[number]):
            if any(o.at >= at and o.is_there(at) for o in alike[number] for at in life.input_waits):
                left |= {(at, number) for at in life.waits if code.waits_for(at, number)}
            life.waits = code.measure(life, life.input_waits)
    return left


def _meet(life: Lifetime, other: Lifetime) -> bool:
    """Whether two barriers are pending at the same time."""
    return (
        life.meets(other)
        or life.is_pending_at(other.at)
        or (other is not life and other.is_pending_at(life.at))
    )


def _wait_where_set_again(
    code: Code, before: list[Lifetime], lives: list[Lifetime], given: Given
) -> set[tuple[int, int]]:
    """Let what sets a number wait for it, if it is still pending from the round of a loop before.

    In the input such a wait is where the old number was set again.

    Returns:
        instructions and barriers that they do not wait for any more.
    """
    dropped: set[tuple[int, int]] = set()
    setters: list[list[int]] = [[] for _ in range(SASS_BARRIERS)]
    for life in lives:
        setters[given[life.at, life.is_result]].append(life.at)
    known = [frozenset(of_number) for of_number in setters]
    for old, life in zip(before, lives, strict=True):
        number = given[life.at, life.is_result]
        # What nothing behind needs is not waited for.
        has_unknown = life.is_result and code.has_unknown_users(life) and not life.is_unused
        if life.user >= 0 or not life.waits or has_unknown:
            continue
        no_more = {
            at
            for at in life.waits
            if at != life.over_at
            and sets_again(code, old, at)
            and (number != old.number or at not in known[number])
        }
        if no_more:
            code.pass_by(life, no_more)
        again = {
            at
            for at in life.there.chosen(setters[number], life.at)
            if (no_more or number != old.number or not _was_set_again(code, old, at))
        }
        dropped |= {(at, number) for at in no_more - again}
        if no_more or again:
            life.waits = code.measure(life, sorted(again.union(life.waits)))
    return dropped


def _was_set_again(code: Code, life: Lifetime, at: int) -> bool:
    """Whether an instruction sets the number of a lifetime in the input, which is pending there."""
    if not code.instructions[at].sets(life.number):
        return False
    return not code.waits_for_loops or code.walk(life.at, listed(life.input_waits))[0].has(at)


def sets_again(code: Code, life: Lifetime, at: int) -> bool:
    """Whether an instruction waits for a lifetime only because it sets the same number again."""
    is_set = code.instructions[at].sets(life.number)
    return is_set and not code.names(life, at)


def _part(code: Code, lives: list[Lifetime], given: Given) -> set[tuple[int, int]]:
    """Let barriers that shared a wait of the input wait where they are needed.

    Where the barriers for which an instruction waited have other numbers now, it still waits for
    those whose registers it names.

    Returns:
        instructions and barriers that they do not wait for any more.
    """
    dropped: set[tuple[int, int]] = set()
    for life in lives:
        if life.user >= 0 or code.names_nothing(life):
            continue
        if life.is_result and code.has_unknown_users(life):
            continue
        own = given[life.at, life.is_result]
        foreign = {
            at
            for at in life.waits
            if not (code.names(life, at) or code.is_entered(life, at))
            and not (own == life.number and at <= life.at and sets_again(code, life, at))
            and any(
                given.get(s) != own and (at != code.last[at] or _ends_for(code, s, life, at))
                for s in code.explained.get((at, life.number), ())
            )
        }
        if foreign:
            dropped |= {(at, own) for at in foreign}
            code.pass_by(life, foreign, stops=code.ends_of_rounds(life))
    return dropped


def _pass_covered(code: Code, lives: list[Lifetime], given: Given) -> None:
    """Let what the round of a loop before has left wait with what is set in front of the loop."""
    for life in lives:
        if covered := _covered(code, life, lives, given):
            code.pass_by(life, covered)


def _covered(code: Code, life: Lifetime, lives: list[Lifetime], given: Given) -> set[int]:
    """Ends of first blocks of loops where something in front is pending with the same number.

    Those that wait in the input are left out.
    """
    number = given[life.at, life.is_result]
    ends = [at for at in code.ends_of_rounds(life) if at in life.waits]
    ends = [at for at in ends if not code.waits_for(at, life.number)]
    covered: set[int] = set()
    for other in lives if ends else ():
        if given[other.at, other.is_result] != number:
            continue
        behind = [end for end in ends if other.at < code.first[end]]
        region, reached = code.walk(other.at, listed(other.waits))
        covered.update(end for end in behind if region.has(end) and end not in reached)
    return covered


def _ends_for(code: Code, setter: tuple[int, bool], life: Lifetime, end: int) -> bool:
    """Whether an end of a block, that of another block than a lifetime's, waits for its neighbour.

    It waits for what is set in its block, and for results rather than for operands.
    """
    at, is_result = setter
    if code.last[life.at] == end:
        return False
    return code.last[at] == end or (is_result and not life.is_result)


def _keep_waits(
    code: Code, number: int, wanted: list[int], given: Given, dropped: set[tuple[int, int]]
) -> None:
    """Add waits of the input for a number.

    One stays if nothing explains it. It also stays if all barriers that explain it keep their
    number, and one of them can still be pending there. ENDCOLLECTIVE waits again in any case.
    """
    stops = [at for at, mask in enumerate(wanted) if mask >> number & 1]
    for at, one in enumerate(code.instructions):
        if not one.wait >> number & 1 or wanted[at] >> number & 1 or at in code.collective:
            continue
        if (at, number) in dropped:
            continue
        setters = code.explained.get((at, number), ())
        if setters and at == code.last[at]:
            continue
        if any(given.get(setter) != number for setter in setters):
            continue
        if setters and _sets_no_more(code, at, number, given, setters):
            continue
        with_this = sorted([*stops, at])
        is_reached = any(at in code.walk(of, listed(with_this))[1] for of, _ in setters)
        if is_reached or not setters or at in code.ends:
            wanted[at] |= 1 << number
            stops = with_this


def _sets_no_more(
    code: Code, at: int, number: int, given: Given, setters: Sequence[tuple[int, bool]]
) -> bool:
    """Whether an instruction only waited for a number because it set that again."""
    if not code.instructions[at].sets(number) or any(code.names_of(one, at) for one in setters):
        return False
    return number not in (given.get((at, False)), given.get((at, True)))
