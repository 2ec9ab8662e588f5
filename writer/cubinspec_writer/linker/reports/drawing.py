"""The call graph for Graphviz: DOT text, and SVG if its program `dot` is installed."""

from __future__ import annotations

from cubinspec.report.names import readable
from cubinspec_writer.linker.diagnostics import EXIT_FATAL, LinkError
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


def dot_text(half: LinkState) -> str:
    """The call graph of all linked functions.

    Kernels have a double outline, functions of the driver none. A solid arrow is a call, a dashed
    one a call through a pointer that the signatures allow, a dotted one the use of an address.
    """
    facts = FunctionFacts(half.objects, half.unified, half.attributes)
    functions = [f for f in half.symbols.functions if f.live]
    numbers = {function: number for number, function in enumerate(functions)}
    lines = ["digraph callgraph {", "  node [shape=box, fontname=monospace];"]
    for function, number in numbers.items():
        label = [readable(function.name)]
        if function in facts.registers:
            label.append(f"{facts.registers[function]} registers")
        if facts.frame.get(function):
            label.append(f"{facts.frame[function]} bytes of stack")
        shape = ", peripheries=2" if function.is_entry else ""
        shape += ", shape=plaintext" if not function.is_defined else ""
        text = "\\n".join(_escaped(part) for part in label)
        lines.append(f'  f{number} [label="{text}", tooltip="{_escaped(function.name)}"{shape}];')
    for source, kind, target in edges(half):
        lines.append(f"  f{numbers[source]} -> f{numbers[target]}{_STYLES[kind]};")
    return "\n".join([*lines, "}"]) + "\n"


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


def svg_bytes(half: LinkState) -> bytes:
    """The call graph as SVG.

    Raises:
        LinkError: Graphviz is not installed, or cannot draw it.
    """
    import subprocess

    try:
        done = subprocess.run(
            ["dot", "-Tsvg"], input=dot_text(half).encode("utf-8"), capture_output=True, check=False
        )
    except OSError:
        text = "--callgraph-svg needs 'dot' of Graphviz on PATH; --callgraph-dot writes its input"
        raise LinkError([("fatal", text)], EXIT_FATAL) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise LinkError([("fatal", f"dot ended with {done.returncode}: {said}")], EXIT_FATAL)
    return done.stdout
