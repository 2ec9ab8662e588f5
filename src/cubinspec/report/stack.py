"""Why the stack that a function needs is not known.

nvlink sums the frames along all calls. It cannot where functions call each other in a circle.
Before the device link nothing is summed: then calls of functions of other files and calls through
pointers leave it open, too.
"""

from __future__ import annotations

from cubinspec.reader.streams import lists_of
from cubinspec_generated.codes import (
    CALLGRAPH_CALLS,
    CALLGRAPH_INDIRECT_CALLS,
    SHN_UNDEF,
    SHT_CUDA_CALLGRAPH,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function
    from cubinspec.model.symbol import SymbolList

    #: The kind of the reason, and the functions that show it.
    Reason = tuple[str, tuple[str, ...]]
    #: The same, with numbers of symbols.
    NumberedReason = tuple[str, tuple[int, ...]]

RECURSION = "recursion"
EXTERNAL = "external"
INDIRECT = "indirect call"


class Calls:
    """Who calls whom in a cubin. Functions are told by the numbers of their symbols.

    Args:
        pairs: caller and callee of each call.
        indirect: functions that call through a pointer.
        external: functions of other files.
    """

    __slots__ = ("_callees", "_external", "_indirect", "_pairs")

    def __init__(
        self, pairs: list[tuple[int, int]], indirect: Iterable[int], external: Iterable[int]
    ) -> None:
        self._pairs = pairs
        self._indirect = frozenset(indirect)
        self._external = frozenset(external)
        #: Made when it is first needed.
        self._callees: dict[int, list[int]] | None = None

    @property
    def callees(self) -> dict[int, list[int]]:
        """Caller -> the functions that it calls."""
        callees = self._callees
        if callees is None:
            callees = self._callees = {}
            for caller, callee in self._pairs:
                callees.setdefault(caller, []).append(callee)
        return callees

    def may_be_open(self, *, final: bool) -> bool:
        """Whether the stack of any function is open; asked once before functions are."""
        return bool(self._indirect) or bool(self._external and not final) or self._has_circle()

    def _has_circle(self) -> bool:
        """Whether functions call each other in a circle."""
        callers = {caller for caller, _ in self._pairs}
        if callers.isdisjoint([callee for _, callee in self._pairs]):
            return False  # no function that is called calls another
        closed: set[int] = set()
        for start in callers:
            open_: set[int] = set()
            todo = [(start, True)]
            while todo:
                function, entering = todo.pop()
                if not entering:
                    open_.discard(function)
                    closed.add(function)
                elif function in open_:
                    return True
                elif function not in closed:
                    open_.add(function)
                    todo.append((function, False))
                    todo += [(callee, True) for callee in self.callees.get(function, ())]
        return False

    def reason(self, number: int, *, final: bool) -> NumberedReason | None:
        """Why the stack of a function is open; ``None`` when the call graph does not tell.

        Args:
            final: the device link is done, which follows pointers and knows all functions.
        """
        path: dict[int, None] = {}
        done: set[int] = set()
        external: int | None = None
        indirect: int | None = None
        todo: list[tuple[int, bool]] = [(number, True)]
        while todo:
            function, entering = todo.pop()
            if not entering:
                path.popitem()
                continue
            if function in path:
                way = [*path]
                return RECURSION, (*way[way.index(function) :], function)
            if function in done:
                continue
            done.add(function)
            path[function] = None
            todo.append((function, False))
            if external is None and function in self._external:
                external = function
            if indirect is None and function in self._indirect:
                indirect = function
            todo += [(callee, True) for callee in reversed(self.callees.get(function, ()))]
        if external is not None and not final:
            return EXTERNAL, (external,)
        return None if indirect is None else (INDIRECT, (indirect,))


def _read_calls(cubin: Cubin, index: int, symbols: SymbolList) -> Calls:
    """The calls that the call graph in section ``index`` lists.

    Args:
        symbols: that it refers to.
    """
    pairs: list[tuple[int, int]] = []
    indirect: list[int] = []
    rows, count = symbols.rows, len(symbols)
    all_pairs = cubin.callgraph_pairs(index)
    firsts, seconds = zip(*all_pairs, strict=True) if all_pairs else ((), ())
    for marker, start, stop in lists_of(firsts, seconds):
        if marker == CALLGRAPH_CALLS:
            # a callee without a symbol calls nothing that is known
            found = all_pairs[start:stop]
            pairs += [(caller, callee) for caller, callee in found if callee < count]
        elif marker == CALLGRAPH_INDIRECT_CALLS:
            indirect += firsts[start:stop]
    external = []
    for _, callee in pairs:
        _, _, _, section, _, _ = rows[callee]
        if section == SHN_UNDEF:
            external.append(callee)
    return Calls(pairs, indirect, external)


def reasons_of(cubin: Cubin, functions: list[Function]) -> dict[int, Reason]:
    """Why stacks of functions are not known, by the places of the functions in the list."""
    index = cubin.elf.find_section(SHT_CUDA_CALLGRAPH)
    if index is None:
        return {}
    final = not cubin.header.is_relocatable
    symbols = cubin.linked_symbols(index)
    calls = _read_calls(cubin, index, symbols)
    if not calls.may_be_open(final=final):
        return {}
    reasons: dict[int, Reason] = {}
    for place, function in enumerate(functions):
        if function.stack is not None and (final or function.min_stack_size is not None):
            continue
        number = _number_in(symbols, function)
        found = None if number is None else calls.reason(number, final=final)
        if found is not None:
            kind, numbers = found
            reasons[place] = kind, tuple([symbols[number].name for number in numbers])
    return reasons


def _number_in(symbols: SymbolList, function: Function) -> int | None:
    """The number of a function's symbol in the table that the call graph refers to."""
    if function.table.symbols is symbols:
        return function.symbol_index
    twin = symbols.get(function.name)  # the function was read from the Mercury half
    return None if twin is None else twin.index


def reason_text(reason: Reason, *, mangled: bool = False) -> str:
    """``recursion: a → b → a``, ``external f``, ``indirect call``."""
    from cubinspec.report.names import readable

    kind, functions = reason
    names = [name if mangled else readable(name) for name in functions]
    if kind == RECURSION:
        return f"{kind}: {' → '.join(names)}"
    return f"{kind} {names[0]}" if kind == EXTERNAL else f"{kind} in {names[0]}"


def reason_record(reason: Reason) -> dict[str, Any]:
    """The reason as JSON knows it."""
    kind, functions = reason
    return {"kind": kind, "functions": list(functions)}
