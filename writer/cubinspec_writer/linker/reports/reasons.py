"""Why a function is in the output or not, and where the numbers of a kernel come from."""

from __future__ import annotations

from cubinspec_generated.codes import SHF_ALLOC, SHF_EXECINSTR, STT_FUNC
from cubinspec_writer.linker.library.copies import defined_here, reference_graph
from cubinspec_writer.linker.library.demands import Demands, FunctionFacts
from cubinspec_writer.linker.library.outsymbols import is_linked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import Symbol
    from cubinspec_writer.linker.state import LinkState


class Demand:
    """One number of a kernel and where it comes from.

    Attributes:
        value: the number; None when it is not bounded.
        path: the functions from the kernel to the one that the number comes from.
    """

    __slots__ = ("path", "value")

    def __init__(self, value: int | None, path: list[Symbol]) -> None:
        self.value: int | None = value
        self.path: list[Symbol] = path


class Reasons:
    """Answers questions about one linked program."""

    kernels: list[Symbol]

    def __init__(self, half: LinkState) -> None:
        self.half = half
        self.facts: FunctionFacts = FunctionFacts(half.objects, half.unified, half.attributes)
        self.kernels = [f for f in half.symbols.functions if f.is_entry and f.section is not None]
        self.demands: Demands = Demands(half.graph, self.facts, self.kernels)
        self._parents: dict[Symbol, Symbol | None] | None = None
        self._holders: dict[Symbol, str] = {}

    def chain(self, function: Symbol) -> list[Symbol]:
        """The functions from a kernel (or a function that data names) to a linked function."""
        parents = self._reached()
        if function not in parents:
            return []
        chain = [function]
        above = parents[function]
        while above is not None:
            chain.append(above)
            above = parents[above]
        return chain[::-1]

    def held_by(self, function: Symbol) -> str | None:
        """The data that names a function: section and input."""
        self._reached()
        return self._holders.get(function)

    def _reached(self) -> dict[Symbol, Symbol | None]:
        """Linked function -> the one that it was reached from; None for kernels and the like."""
        if self._parents is None:
            edges, _ = reference_graph(self.half.objects)
            self._find_holders()
            starts = [*self.kernels, *self._holders]
            parents: dict[Symbol, Symbol | None] = dict.fromkeys(starts)
            work = list(parents)
            for function in work:
                for target in edges.get(function, ()):
                    if target.live and target not in parents:
                        parents[target] = function
                        work.append(target)
            self._parents = parents
        return self._parents

    def _find_holders(self) -> None:
        for obj in self.half.objects:
            for relocs in obj.relocs:
                section = obj.sections[relocs.target]
                if section.flags & (SHF_ALLOC | SHF_EXECINSTR) != SHF_ALLOC:
                    continue
                for _, _, index, _ in relocs.rows:
                    target = obj.bound[index]
                    if target is not None and target.kind == STT_FUNC and target.live:
                        self._holders.setdefault(target, f"{section.name} of {obj.name}")

    def registers(self, kernel: Symbol) -> Demand:
        """Registers of a kernel, and the path to the function that needs that many."""
        wanted = self.demands.registers.get(kernel, 0)
        own = self.facts.registers
        if self.half.job.options.relocatable or own.get(kernel, 0) >= wanted:
            return Demand(own.get(kernel, 0), [kernel])
        seen: dict[Symbol, Symbol | None] = {kernel: None}
        work = [kernel]
        for function in work:
            if own.get(function, 0) == wanted:
                return Demand(wanted, _back(seen, function))
            for callee in self.half.graph.callees(function):
                if callee not in seen and self.demands.registers.get(callee, 0) == wanted:
                    seen[callee] = function
                    work.append(callee)
        return Demand(wanted, [kernel])

    def stack(self, kernel: Symbol) -> Demand:
        """The deepest chain of frames below a kernel; with recursion, the path to the cycle."""
        if self.half.job.options.relocatable:
            return Demand(None, [])
        stacks = self.demands.stacks
        path = [kernel]
        depth = stacks.get(kernel)
        passed = {kernel}
        while True:
            callees = self.half.graph.callees(path[-1])
            if depth is None:
                unknown = [c for c in callees if stacks.get(c) is None]
                if not unknown:
                    return Demand(None, path)
                following = next((c for c in unknown if c in passed), unknown[0])
                path.append(following)
                if following in passed:
                    return Demand(None, path)
                passed.add(following)
                continue
            below = depth - self.facts.frame.get(path[-1], 0)
            if not callees or below == 0:
                return Demand(stacks[kernel], path)
            path.append(next(c for c in callees if stacks.get(c) == below))
            depth = below


def _back(parents: dict[Symbol, Symbol | None], function: Symbol) -> list[Symbol]:
    path = [function]
    above = parents[function]
    while above is not None:
        path.append(above)
        above = parents[above]
    return path[::-1]


def explain(half: LinkState, name: str) -> list[str]:
    """The lines of `--why NAME`: every symbol of that name, typed as `resolve` takes names."""
    from cubinspec.report.names import readable
    from cubinspec.report.resolve import NoSuchNameError, near, resolve_all, short

    known = [s.name for obj in half.objects for s in obj.bound if s is not None and s.name]
    if not any(name in (other, readable(other)) for other in known):
        try:
            names = resolve_all(name, known, "symbol")
        except NoSuchNameError as error:
            if not error.is_unknown:
                return [f"{name}: {error.reason} ({error.expected})"]
            similar = ", ".join(short(readable(other)) for other in near(name, known))
            return [f"{name}: no input names it{similar and f'; did you mean {similar}?'}"]
        return [line for found in names for line in explain(half, found)]
    reasons = Reasons(half)
    found: dict[Symbol, None] = {}
    for obj in half.objects:
        for symbol in obj.bound:
            if symbol is not None and name in (symbol.name, readable(symbol.name)):
                found.setdefault(symbol)
    lines: list[str] = []
    for symbol in found:
        lines.append(f"{symbol.name}: {verdict(half, symbol)}")
        lines += [f"  {line}" for line in _details(half, reasons, symbol)]
    return lines


def verdict(half: LinkState, symbol: Symbol) -> str:
    """Whether a symbol is in the output, in a few words."""
    from cubinspec_writer.linker.library.outsymbols import is_dropped

    if not is_linked(half.shared, symbol):
        return "not linked"
    if is_dropped(half.job, half.shared, symbol):
        return "linked, without a symbol" if symbol.section is not None else "not in the output"
    if symbol.definition is None:
        return "left to the driver"
    return "linked"


def _details(half: LinkState, reasons: Reasons, symbol: Symbol) -> list[str]:
    lines = []
    for obj in half.objects:
        for row, bound in zip(obj.symbols, obj.bound, strict=True):
            if bound is symbol and row.shndx:
                used = defined_here(obj, row.index)
                lines.append(
                    f"{'defined' if used else 'defined again, not used,'} in {obj.name} "
                    f"(symbol {row.index})"
                )
            elif bound is symbol:
                lines.append(f"named in {obj.name} (symbol {row.index})")
    if is_linked(half.shared, symbol) and symbol.section is not None:
        index = f", symbol {symbol.index}" if symbol.index else ""
        lines.append(f"at {symbol.section.name} + {symbol.value:#x}{index}")
    if symbol.is_function:
        lines.append(function_reason(reasons, symbol))
    elif symbol.definition is not None:
        lines.append("variables are linked whether something uses them or not")
    return lines


def function_reason(reasons: Reasons, function: Symbol) -> str:
    """Why a function is linked or not."""
    state = reasons.half
    options = state.job.options
    if not function.live:
        if function.is_entry:
            by_host = state.reach.filter is not None and state.reach.filter.by_host
            return (
                "no host object names this kernel" if by_host else "an option removes this kernel"
            )
        return "no kernel that is linked reaches it, and no data names it"
    if function.is_entry and function.is_defined:
        return "a kernel"
    chain = reasons.chain(function)
    holder = reasons.held_by(chain[0]) if chain else None
    way = " -> ".join(f.name for f in chain)
    if holder is not None:
        return f"named by {holder}" + (f": {way}" if len(chain) > 1 else "")
    if len(chain) > 1:
        return f"reached: {way}"
    if options.relocatable or options.debug or options.preserve_relocs:
        return "-r, -g and --preserve-relocs keep every function"
    if function in reasons.half.unified.stubs:
        return "other programs enter a unified function through it"
    return "named by code that is linked"
