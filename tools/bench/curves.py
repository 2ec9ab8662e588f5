"""How cost grows with size: ``python -m tools.bench.curves`` measures it and writes docs/growth.md.

    python -m tools.bench.curves [--seconds S] [--only NAME] [--page]

All sizes of a curve are measured in turn, in the same rounds: ours in each mode, and the peer. What
was found is kept in ``curves.yaml`` beside this module; ``--page`` only writes the page from it.
"""

from __future__ import annotations

import argparse
import compileall
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cubinspec import Cubin, images
from cubinspec.output_files import write_file
from tools.bench import machines, plot
from tools.bench.comparisons import IMAGES, KERNELS, LINK, LIST_ELF, NVLINK, RES_USAGE, Command
from tools.bench.here import NotHere, machine, resolve
from tools.bench.inputs import ROOT
from tools.bench.measure import CommandFailed, Run, Stopwatch
from tools.bench.modes import PACKAGES, PURE, modes

STORED = Path(__file__).with_name("curves.yaml")
TEMPLATE = Path(__file__).with_name("growth.md")
PAGE = ROOT / "docs" / "growth.md"
_HEAD = "# What `python -m tools.bench.curves` measured.\n"
#: Rounds of a curve, however long they take; its largest sizes take seconds.
LEAST_ROUNDS = 3
#: A size counts for an exponent when it costs so many times the start of the process.
ABOVE_START = 1.25
LIMIT = 1.1
FIGURES = ("wall", "cpu", "peak")


@dataclass(frozen=True)
class Curve:
    """A command and its peer on inputs of growing size.

    Attributes:
        name: in the names of files.
        title: heading on the page.
        across: what the size is a number of.
        size_of: the size of an input, from its files.
        start: the input that is next to nothing.
        inputs: all others, the smallest first.
    """

    name: str
    title: str
    across: str
    size_of: Callable[[Sequence[str]], int]
    ours: Command
    theirs: Command
    start: str
    inputs: tuple[str, ...]


def _sections(files: Sequence[str]) -> int:
    return sum(len(Cubin.open(file).sections) for file in files)


def _objects(files: Sequence[str]) -> int:
    return len(files) - 1  # the last one has a single function


def _images(files: Sequence[str]) -> int:
    return sum(1 for file in files for _ in images(file))


_SECTIONS = ("many", "sections_30k", "sections_66k", "sections_200k")
CURVES = (
    Curve(
        *("link-sections", "Linking, by sections", "sections of all inputs", _sections),
        *(LINK, NVLINK, "pair", _SECTIONS),
    ),
    Curve(
        *("link-objects", "Linking, by objects", "objects of 1,000 functions each", _objects),
        *(LINK, NVLINK, "pair", tuple(f"thousands_{1 << power}" for power in range(7))),
    ),
    Curve(
        *("kernels-sections", "Table of kernels, by sections", "sections", _sections),
        *(KERNELS, RES_USAGE, "small_linked", tuple(f"{name}_linked" for name in _SECTIONS)),
    ),
    Curve(
        *("images", "List of images, by images", "images in the file", _images),
        *(IMAGES, LIST_ELF, "images_1"),
        tuple(f"images_{count}" for count in (1000, 3000, 10_000, 30_000, 100_000)),
    ),
)


def measure(stopwatch: Stopwatch, curve: Curve, seconds: float) -> dict[str, Any]:
    """What the file keeps of a curve: sizes, rounds, and figures of each tool.

    Raises:
        NotHere: a tool or an input is not on this machine.
        CommandFailed: a command failed.
    """
    names = (curve.start, *curve.inputs)
    chosen = modes()
    tools = {f"{curve.ours.label}, {mode.name}": (curve.ours, mode) for mode in chosen}
    tools[curve.theirs.label] = (curve.theirs, PURE)
    sizes = [curve.size_of(resolve(Command("", (f"{{{name}}}",)))) for name in names]
    commands = [resolve(tool.on(name), mode) for tool, mode in tools.values() for name in names]
    load = round(os.getloadavg()[0], 1)
    medians, rounds = stopwatch.in_turn(commands, seconds, LEAST_ROUNDS)
    found: dict[str, Any] = {"sizes": sizes, "rounds": rounds, "load": load, "tools": {}}
    for at, label in enumerate(tools):
        runs = medians[at * len(names) : (at + 1) * len(names)]
        found["tools"][label] = {figure: _row(runs, figure) for figure in FIGURES}
    return found


def _row(runs: Sequence[Run], figure: str) -> list[float]:
    """One figure of all sizes; seconds to the tenth of a millisecond, memory in bytes."""
    return [round(getattr(run, figure), 4) for run in runs]


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float | None:
    """The power of the size with which a figure grows, by least squares of logarithms.

    The first value is that of an input that is next to nothing. It is taken off all others, which
    would look flatter than they are.

    Returns:
        ``None``: it hardly grows.
    """
    start = values[0]
    points = [
        (math.log(size), math.log(value - start))
        for size, value in zip(sizes[1:], values[1:], strict=True)
        if value > start * ABOVE_START
    ]
    if len(points) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    over = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return over / sum((x - mean_x) ** 2 for x, _ in points)


def picture(curve: Curve, found: dict[str, Any]) -> str:
    """Wall time and memory as SVG; the smallest input is not drawn."""

    def lines(figure: str) -> dict[str, plot.Points]:
        return {
            label: list(zip(found["sizes"][1:], figures[figure][1:], strict=True))
            for label, figures in found["tools"].items()
        }

    return plot.svg(
        (
            plot.Panel("wall time", curve.across, lines("wall"), _short, _seconds),
            plot.Panel("peak memory", curve.across, lines("peak"), _short, _bytes),
        )
    )


def _short(value: float) -> str:
    return f"{value:g}" if value < 1000 else f"{value / 1000:.0f}k"


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"


def _bytes(value: float) -> str:
    return f"{value / 2**20:.3g} MiB"


def _part(curve: Curve, found: dict[str, Any]) -> Iterator[str]:
    """A heading, the picture, the exponents and the figures of one curve."""
    yield f"## {curve.title}\n"
    yield f"![wall time and peak memory of {curve.title.lower()}](growth-{curve.name}.svg)\n"
    yield f"Rounds: {found['rounds']}; load average when they began: {found['load']}.\n"
    yield "| exponents | wall time | CPU time | peak memory |\n|---|---|---|---|"
    ours = len(found["tools"]) - 1
    for at, (label, figures) in enumerate(found["tools"].items()):
        cells = [_exponent_cell(found["sizes"], figures[name], at < ours) for name in FIGURES]
        yield f"| {label} | {' | '.join(cells)} |"
    sizes = ["next to nothing", *(f"{size:,}" for size in found["sizes"][1:])]
    yield f"\n| {curve.across} | {' | '.join(sizes)} |\n|---|{'---|' * len(sizes)}"
    for label, figures in found["tools"].items():
        rows = zip(*(figures[name] for name in FIGURES), strict=True)
        cells = [f"{_seconds(wall)}, {_seconds(cpu)}, {_bytes(peak)}" for wall, cpu, peak in rows]
        yield f"| {label} | {' | '.join(cells)} |"
    yield ""


def _exponent_cell(sizes: Sequence[int], values: Sequence[float], has_limit: bool) -> str:
    power = exponent(sizes, values)
    if power is None:
        return "hardly grows"
    return f"**{power:.2f}**" if has_limit and power > LIMIT else f"{power:.2f}"


def page(stored: dict[str, Any]) -> str:
    """The text of docs/growth.md."""
    parts = [
        line
        for curve in CURVES
        if curve.name in stored["curves"]
        for line in _part(curve, stored["curves"][curve.name])
    ]
    marks = {
        "{limit}": f"{LIMIT:g}",
        "{above}": f"{ABOVE_START:g}",
        "{machine}": "\n".join(f"- {line}" for line in stored["machine"]),
        "{curves}": "\n".join(parts),
        "{workers}": machines.section(workers)
        if (workers := machines.load())
        else "Not measured.\n",
    }
    text = TEMPLATE.read_text("utf-8")
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def pictures(stored: dict[str, Any]) -> dict[Path, str]:
    """The pictures of the page, by place."""
    return {
        PAGE.with_name(f"growth-{curve.name}.svg"): picture(curve, stored["curves"][curve.name])
        for curve in CURVES
        if curve.name in stored["curves"]
    }


def load() -> dict[str, Any]:
    """What was measured last."""
    stored: dict[str, Any] = yaml.safe_load(STORED.read_text("utf-8"))
    return stored


def write_page(stored: dict[str, Any]) -> None:
    """The page and its pictures."""
    for place, text in {PAGE: page(stored), **pictures(stored)}.items():
        write_file(place, text.encode())


def main() -> int:
    """Measure, keep what was found, write the page."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.curves", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each curve (default 60)")
    parser.add_argument("--only", default="", metavar="NAME", help="curves with NAME in theirs")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    stored = load() if STORED.exists() else {"curves": {}}
    if not options.page:
        for folder in PACKAGES:
            compileall.compile_dir(str(folder), quiet=2)
        stored["machine"] = machine()
        stopwatch = Stopwatch()
        for curve in CURVES:
            if options.only in curve.name:
                try:
                    stored["curves"][curve.name] = measure(stopwatch, curve, options.seconds)
                except (NotHere, CommandFailed) as error:
                    print(f"{curve.name}: not measured: {error}", file=sys.stderr)
        stopwatch.close()
        text = yaml.safe_dump(stored, sort_keys=False, width=100)
        write_file(STORED, (_HEAD + text).encode())
    write_page(stored)
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
