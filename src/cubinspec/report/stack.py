"""Why the stack that a function needs is not known.

nvlink sums the frames along all calls. It cannot where functions call each other in a circle.
Before the device link nothing is summed: then calls of functions of other files and calls through
pointers leave it open, too.
"""

from __future__ import annotations

from cubinspec_generated.codes import SHN_UNDEF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function

    #: What it is, and the functions that show it.
    Reason = tuple[str, tuple[str, ...]]

RECURSION = "recursion"
EXTERNAL = "external"
INDIRECT = "indirect call"


class Calls:
    """The calls in a cubin, as its call graph lists them."""

    __slots__ = ("_calls", "_external", "_indirect")

    def __init__(self, cubin: Cubin) -> None:
        graph = cubin.callgraph
        edges = [] if graph is None else graph.calls
        #: caller -> the functions that it calls
        self._calls: dict[str, list[str]] = {}
        self._external: set[str] = set()
        self._indirect = set() if graph is None else {c.name for c in graph.indirect_calls}
        if not edges:
            return
        # All edges are of one symbol table, whose names are read at once.
        symbols = edges[0].symbols
        names, rows, calls = symbols.names, symbols.rows, self._calls
        for edge in edges:
            caller, callee = edge.caller_index, edge.callee_index
            if max(caller, callee) >= len(rows):
                continue
            calls.setdefault(names[caller], []).append(names[callee])
            _, _, _, section, _, _ = rows[callee]
            if section == SHN_UNDEF:
                self._external.add(names[callee])

    def may_be_open(self, *, final: bool) -> bool:
        """Whether the stack of any function is open; asked once before functions are."""
        return bool(self._indirect) or bool(self._external and not final) or self._has_circle()

    def _has_circle(self) -> bool:
        """Whether functions call each other in a circle."""
        closed: set[str] = set()
        for start in self._calls:
            open_: set[str] = set()
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
                    todo += [(callee, True) for callee in self._calls.get(function, ())]
        return False

    def reason(self, name: str, *, final: bool) -> Reason | None:
        """Why the stack of a function is open; ``None`` when the call graph does not tell.

        Args:
            final: the device link is done, which follows pointers and knows all functions.
        """
        path: list[str] = []
        done: set[str] = set()
        external = indirect = ""
        todo: list[tuple[str, bool]] = [(name, True)]
        while todo:
            function, entering = todo.pop()
            if not entering:
                path.pop()
                continue
            if function in path:
                return RECURSION, (*path[path.index(function) :], function)
            if function in done:
                continue
            done.add(function)
            path.append(function)
            todo.append((function, False))
            if function in self._external:
                external = external or function
            if function in self._indirect:
                indirect = indirect or function
            todo += [(callee, True) for callee in reversed(self._calls.get(function, ()))]
        if external and not final:
            return EXTERNAL, (external,)
        return (INDIRECT, (indirect,)) if indirect else None


def reason_of(function: Function, calls: Calls, *, final: bool) -> Reason | None:
    """Why the stack of a function is not known; ``None`` when it is, or when nothing tells.

    Args:
        calls: of its cubin.
        final: whether the device link is done.
    """
    if function.stack is not None and (final or function.min_stack_size is not None):
        return None
    return calls.reason(function.name, final=final)


def reason_text(reason: Reason, *, mangled: bool = False) -> str:
    """``recursion: a → b → a``, ``external f``, ``indirect call``."""
    from cubinspec.report.names import readable

    kind, functions = reason
    names = [name if mangled else readable(name) for name in functions]
    if kind == RECURSION:
        return f"{kind}: {' → '.join(names)}"
    return f"{kind} {names[0]}" if kind == EXTERNAL else f"{kind} in {names[0]}"


def reasons_of(cubin: Cubin, functions: list[Function]) -> list[Reason | None]:
    """For each function of a cubin, why its stack is not known; ``None`` where it is."""
    calls = Calls(cubin)
    final = not cubin.header.is_relocatable
    if not calls.may_be_open(final=final):
        return [None] * len(functions)
    return [reason_of(function, calls, final=final) for function in functions]


def reason_record(reason: Reason | None) -> dict[str, Any] | None:
    """The reason as JSON knows it."""
    if reason is None:
        return None
    kind, functions = reason
    return {"kind": kind, "functions": list(functions)}
