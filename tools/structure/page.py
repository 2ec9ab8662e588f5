"""The drawn parts of docs/architecture.md: the floors from the imports, the link from `PASSES`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path

from cubinspec_writer.linker.pipeline import PACKAGE, PASSES, Pass
from tools.structure.floors import arrows, floors
from tools.structure.graph import ROOT, import_graph

PAGE = ROOT / "docs" / "architecture.md"


def floors_picture() -> Iterator[str]:
    """Mermaid lines: a box for each floor, an arrow to each floor that it imports from.

    An arrow that other arrows imply is left out, so that the picture stays readable.
    """
    rows = floors()
    drawn = set(arrows(import_graph(), rows))
    yield "flowchart BT"
    for row in rows:
        modules = "<br>".join(row.modules)
        yield f'  f{row.level}["<b>{modules}</b><br>{row.holds}"]'
    for here, there in sorted(drawn):
        between = range(there + 1, here)
        if not any((here, via) in drawn and (via, there) in drawn for via in between):
            yield f"  f{there} --> f{here}"


def link_picture() -> Iterator[str]:
    """Mermaid lines: the passes in their order, each with its reason."""
    yield "flowchart TD"
    yield '  inputs(["<b>inputs</b><br>command line, archives, host objects → rows of cubins"])'
    before = "inputs"
    for number, step in enumerate(PASSES):
        name = f"p{number}"
        yield f'  {name}["<b>{step.module}</b><br>{step.why}"]'
        yield f"  {before} --> {name}"
        before = name
    yield '  write(["<b>write</b><br>numbers, offsets, string tables → bytes"])'
    yield f"  {before} --> write"


def pass_table() -> Iterator[str]:
    """Markdown lines: the parts that every pass takes, what it writes, and what it fixes."""
    yield "| pass | takes | writes | fixed from here on |"
    yield "|---|---|---|---|"
    for step in PASSES:
        cells = (_by_part(declared(step, what)) for what in ("WRITES", "FREEZES"))
        yield f"| `{step.module}` | {', '.join(taken(step))} | {' | '.join(cells)} |"


def taken(step: Pass) -> list[str]:
    """The parts that a pass takes: its parameters."""
    return list(signature(import_module(PACKAGE + step.module).run).parameters)


def declared(step: Pass, what: str) -> list[str]:
    """What a pass says that it reads, writes or freezes, as `part.field`."""
    fields: str = getattr(import_module(PACKAGE + step.module), what)
    return fields.split()


def _by_part(fields: list[str]) -> str:
    """The fields with each part named once."""
    parts: dict[str, list[str]] = {}
    for field in fields:
        part, _, name = field.rpartition(".")
        parts.setdefault(part, []).append(name)
    return "; ".join(f"**{part}** {', '.join(names)}" for part, names in parts.items())


def _mermaid(lines: Iterator[str]) -> list[str]:
    return ["```mermaid", *lines, "```"]


def render(text: str) -> str:
    """The page with its drawn parts made anew."""
    parts = {
        "floors": _mermaid(floors_picture()),
        "link": _mermaid(link_picture()),
        "passes": list(pass_table()),
    }
    for name, lines in parts.items():
        start, end = f"<!-- drawn: {name} -->\n", f"<!-- end: {name} -->"
        head, _, rest = text.partition(start)
        _, _, tail = rest.partition(end)
        text = head + start + "\n".join(lines) + "\n" + end + tail
    return text


def write(page: Path = PAGE) -> bool:
    """Bring the page up to date; returns whether it was."""
    text = page.read_text(encoding="utf-8")
    new = render(text)
    if new != text:
        page.write_text(new, encoding="utf-8")
    return new == text
