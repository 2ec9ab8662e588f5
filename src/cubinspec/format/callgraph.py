"""The four lists of ``.nv.callgraph``, each behind a pair ``<0, marker>``.

* ``MARKERS``: the second word of the pair that starts each list, in the order of the file
* ``SIGNATURE_MARKERS``: those of the lists whose second words are offsets of signatures
* ``lists_of(firsts, seconds)``: where the pairs behind each marker stand
* ``stacks_are_known(firsts, seconds, symbols)``: whether no call can leave a stack open
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_CALLS,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
    SHN_UNDEF,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    SymbolRow = tuple[int, int, int, int, int, int]

MARKERS = (
    CALLGRAPH_CALLS,
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
)
SIGNATURE_MARKERS = frozenset((CALLGRAPH_ADDRESS_TAKEN, CALLGRAPH_INDIRECT_CALLS))


def lists_of(
    firsts: Sequence[int], seconds: Sequence[int]
) -> Iterator[tuple[int | None, int, int]]:
    """The marker of each list, and where its pairs begin and end, in file order.

    Pairs before any marker, which were not seen in a real file, come first, with ``None``.

    Args:
        firsts, seconds: the words of all pairs.
    """
    marker = None
    start = place = 0
    for _ in range(firsts.count(0)):
        place = firsts.index(0, place)
        if seconds[place] in MARKERS:
            if place or marker:
                yield marker, start, place
            marker, start = seconds[place], place + 1
        place += 1
    if firsts:
        yield marker, start, len(firsts)


def stacks_are_known(
    firsts: Sequence[int], seconds: Sequence[int], symbols: Sequence[SymbolRow]
) -> bool:
    """Whether nothing leaves a stack open: no call through a pointer, of another file, in a circle.

    Circles are not looked for: it is enough that no function is called that calls.

    Args:
        firsts, seconds: the words of all pairs.
        symbols: rows of the symbol table that the call graph refers to.
    """
    for marker, start, stop in lists_of(firsts, seconds):
        if start == stop:
            continue
        if marker == CALLGRAPH_INDIRECT_CALLS:
            return False
        if marker == CALLGRAPH_CALLS:
            callees = seconds[start:stop]
            if not {*firsts[start:stop]}.isdisjoint(callees) or max(callees) >= len(symbols):
                return False
            for callee in callees:
                _, _, _, section, _, _ = symbols[callee]
                if section == SHN_UNDEF:
                    return False
    return True
