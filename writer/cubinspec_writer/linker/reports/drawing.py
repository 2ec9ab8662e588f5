"""The call graph of a link: DOT text for Graphviz, and a picture."""

from __future__ import annotations

from cubinspec.report.callgraph_text import short_name
from cubinspec.report.layered import Arrow, Box, svg
from cubinspec.report.names import readable
from cubinspec_writer.linker.library.demands import FunctionFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import Symbol
    from cubinspec_writer.linker.state import LinkState

_STYLES = {
    "calls": "",
    "may call": " [style=dashed]",
    "takes the address of": " [style=dotted]",
}
_DRAWN = {"calls": "", "may call": "may", "takes the address of": "refers"}


def dot_text(half: LinkState) -> str:
    """The call graph of all linked functions.

    Kernels have a double outline, functions of the driver none. A solid arrow is a call, a dashed
    one a call through a pointer that the signatures allow, a dotted one the use of an address.
    """
    numbers = _numbers(half)
    lines = ["digraph callgraph {", "  node [shape=box, fontname=monospace];"]
    facts = FunctionFacts(half.objects, half.unified, half.attributes)
    for function, number in numbers.items():
        shape = ", peripheries=2" if function.is_entry else ""
        shape += ", shape=plaintext" if not function.is_defined else ""
        label = [readable(function.name), *_needs(function, facts)]
        text = "\\n".join(_escaped(part) for part in label)
        lines.append(f'  f{number} [label="{text}", tooltip="{_escaped(function.name)}"{shape}];')
    for source, kind, target in edges(half):
        lines.append(f"  f{numbers[source]} -> f{numbers[target]}{_STYLES[kind]};")
    return "\n".join([*lines, "}"]) + "\n"


def svg_text(half: LinkState) -> str:
    """The same, drawn as `cubinspec callgraph --svg` draws."""
    numbers = _numbers(half)
    facts = FunctionFacts(half.objects, half.unified, half.attributes)
    boxes = [
        Box(
            short_name(readable(function.name)),
            ", ".join(_needs(function, facts)),
            function.name,
            _kind(function),
        )
        for function in numbers
    ]
    arrows = [
        Arrow(numbers[source], numbers[target], _DRAWN[kind])
        for source, kind, target in edges(half)
    ]
    return svg(boxes, arrows)


def _numbers(half: LinkState) -> dict[Symbol, int]:
    functions = [f for f in half.symbols.functions if f.live]
    return {function: number for number, function in enumerate(functions)}


def _kind(function: Symbol) -> str:
    return "kernel" if function.is_entry else "function" if function.is_defined else "system"


def _needs(function: Symbol, facts: FunctionFacts) -> list[str]:
    """Registers and stack, in words."""
    words = []
    if function in facts.registers:
        words.append(f"{facts.registers[function]} registers")
    if facts.frame.get(function):
        words.append(f"{facts.frame[function]} bytes of stack")
    return words


def edges(half: LinkState) -> list[tuple[Symbol, str, Symbol]]:
    """(caller, how, callee) of every call and use of an address, each once."""
    graph = half.graph
    found: dict[tuple[Symbol, str, Symbol], None] = {}
    for function in half.symbols.functions:
        direct = graph.calls.get(function, [])
        found.update(((function, "calls", c), None) for c in direct)
        through = graph.callees(function)[len(direct) :]
        found.update(((function, "may call", c), None) for c in through)
        named = graph.references.get(function, [])
        found.update(((function, "takes the address of", c), None) for c in named)
    return list(found)


def _escaped(text: str) -> str:
    safe = text.encode("utf-8", "replace").decode("utf-8")
    return safe.replace("\\", "\\\\").replace('"', '\\"')
