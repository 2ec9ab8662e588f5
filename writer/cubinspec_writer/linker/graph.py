"""The joined call graph of a program, and what every kernel reaches."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Final

    from cubinspec_writer.linker.model import Symbol


#: What a function calls that calls nothing; nobody adds to it.
_NO_CALLEES: Final[list[Symbol]] = []


class Graph:
    """The joined call graph; lists keep input order.

    Attributes:
        calls, references: functions that a function calls, and that it names.
        address_taken: the signature under which the address of a function was last taken; None:
            no input states one.
        indirect: signatures under which a function calls.
        prototypes: external functions of any input's `.nv.prototype`, with their signature.
        callees_of: callees of every function that was asked about.
        by_signature: address-taken functions by signature, made at the first indirect call.
    """

    __slots__ = (
        "address_taken",
        "by_signature",
        "callees_of",
        "calls",
        "indirect",
        "prototypes",
        "references",
    )

    def __init__(self) -> None:
        self.calls: dict[Symbol, list[Symbol]] = {}
        self.references: dict[Symbol, list[Symbol]] = {}
        self.address_taken: dict[Symbol, str | None] = {}
        self.indirect: dict[Symbol, list[str]] = {}
        self.prototypes: dict[Symbol, str] = {}
        self.callees_of: dict[Symbol, list[Symbol]] = {}
        self.by_signature: dict[str | None, list[Symbol]] | None = None

    def callees(self, function: Symbol) -> list[Symbol]:
        """Everything a function may call: direct callees and all address-taken functions of a
        signature that it calls indirectly."""
        found = self.callees_of.get(function)
        if found is None:
            found = self.calls.get(function) or _NO_CALLEES
            wanted = self.indirect.get(function)
            if wanted:
                found = found + self._taken(wanted)
            self.callees_of[function] = found
        return found

    def edges(self, function: Symbol) -> list[Symbol]:
        """As `callees`, but with a function once for each indirect call that may reach it."""
        found = list(self.callees(function))
        wanted = self.indirect.get(function, [])
        if len(wanted) > 1:
            found = list(self.calls.get(function, []))
            for signature in reversed(wanted):  # the last one first (rule M9)
                found += self._taken([signature])
        return found

    def _taken(self, signatures: list[str]) -> list[Symbol]:
        if self.by_signature is None:
            self.by_signature = {}
            for function, text in self.address_taken.items():
                self.by_signature.setdefault(text, []).append(function)
        lists = [self.by_signature.get(text, []) for text in dict.fromkeys(signatures)]
        if len(lists) == 1:
            return lists[0]
        chosen = {function for functions in lists for function in functions}
        return [function for function in self.address_taken if function in chosen]

    def _call(self, functions: list[Symbol]) -> bool:
        """Whether one of the functions calls anything."""
        for function in functions:  # noqa: SIM110 - compiled, a generator is slower
            if self.callees(function):
                return True
        return False

    def reachable(self, function: Symbol) -> list[Symbol]:
        """The function itself and everything below it, each once."""
        seen = {function: None}
        work = [function]
        while work:
            for callee in self.callees(work.pop()):
                if callee not in seen:
                    seen[callee] = None
                    work.append(callee)
        return list(seen)

    def components(self, roots: Iterable[Symbol]) -> tuple[list[Symbol], list[list[Symbol]]]:
        """All functions at and below the roots: those that call nothing; all others, callees first.

        Functions that call each other in a circle are in one list (Tarjan's strongly connected
        components), so whatever a function takes over from those below it needs one look at each.
        """
        leaves: list[Symbol] = []
        found: list[list[Symbol]] = []
        number: dict[Symbol, int] = {}
        low: dict[Symbol, int] = {}
        open_: dict[Symbol, None] = {}
        for root in roots:
            if root in number:
                continue
            callees = self.callees(root)
            if not (callees and self._call(callees)):
                # The most frequent case: what it calls, if anything, calls nothing.
                for callee in callees:
                    if callee not in number:
                        number[callee] = len(number)
                        leaves.append(callee)
                number[root] = len(number)
                if callees:
                    found.append([root])
                else:
                    leaves.append(root)
                continue
            number[root] = low[root] = len(number)
            open_[root] = None
            work = [(root, iter(self.callees(root)))]
            while work:
                node, rest = work[-1]
                for child in rest:
                    if child not in number:
                        number[child] = len(number)
                        callees = self.callees(child)
                        if not callees:
                            leaves.append(child)
                            continue
                        low[child] = number[child]
                        open_[child] = None
                        work.append((child, iter(callees)))
                        break
                    if child in open_:
                        low[node] = min(low[node], number[child])
                else:
                    work.pop()
                    if work:
                        above = work[-1][0]
                        low[above] = min(low[above], low[node])
                    if low[node] == number[node]:
                        members: list[Symbol] = []
                        while not members or members[-1] is not node:
                            members.append(open_.popitem()[0])
                        found.append(members)
        return leaves, found


class Below:
    """What every kernel reaches; found for those kernels that are asked about.

    Kernels that are not wanted but stay are only asked about themselves (rule R5).

    Args:
        functions: the live functions in registration order.
        is_wanted: whether a function is a kernel that the caller wants.
    """

    kernels: list[Symbol]

    def __init__(
        self, graph: Graph, functions: list[Symbol], is_wanted: Callable[[Symbol], bool]
    ) -> None:
        self.graph = graph
        self.kernels = [f for f in functions if f.is_entry and f.section is not None]
        self.is_wanted = is_wanted
        self._found: dict[Symbol, list[Symbol]] = {}
        self._reaching: dict[Symbol, list[Symbol]] | None = None

    def __getitem__(self, kernel: Symbol) -> list[Symbol]:
        """The kernel itself and all functions below it."""
        found = self._found.get(kernel)
        if found is None:
            reached = self.graph.reachable(kernel) if self.is_wanted(kernel) else [kernel]
            found = self._found[kernel] = reached
        return found

    def reaching(self, function: Symbol) -> list[Symbol]:
        """The kernels that reach a function, in their order."""
        if self._reaching is None:
            self._reaching = {}
            for kernel in self.kernels:
                for reached in self[kernel]:
                    self._reaching.setdefault(reached, []).append(kernel)
        return self._reaching.get(function, [])
