"""Curves as a picture: both axes logarithmic, plain SVG, no script, no font of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 420, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 30, 44
_LEGEND = 22
#: Colours that people with any colour vision tell apart, on light and on dark paper.
_COLOURS = ("#0072b2", "#009e73", "#d55e00")
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.grid{stroke:#ddd}.back{fill:#fff}"
    ".line{fill:none;stroke-width:2}.linear{fill:none;stroke:#999;stroke-dasharray:4 4}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.back{fill:#111}}"
)
#: Marks of an axis stand at these numbers and their multiples by ten.
_STEPS = (1, 2, 5)

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: what grows.
        across: what it grows with.
        lines: label and points of each curve.
        show_x, show_y: how a number of an axis is written.
    """

    title: str
    across: str
    lines: Mapping[str, Points]
    show_x: Callable[[float], str]
    show_y: Callable[[float], str]


def svg(panels: Sequence[Panel]) -> str:
    """Panels side by side; curves of one label have one colour, and linear growth is dashed."""
    width, height = _WIDTH * len(panels), _HEIGHT + _LEGEND
    labels = list(dict.fromkeys(label for panel in panels for label in panel.lines))
    colours = dict(zip(labels, _COLOURS, strict=False))
    parts = [
        f'<g transform="translate({_WIDTH * number},{_LEGEND})">{_panel(panel, colours)}</g>'
        for number, panel in enumerate(panels)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img"><style>{_STYLE}</style>\n'
        f'<rect class="back" width="{width}" height="{height}"/>\n{_legend(colours)}'
        f"{''.join(parts)}</svg>\n"
    )


def _legend(colours: Mapping[str, str]) -> str:
    parts, x = [], _LEFT
    for label, colour in colours.items():
        parts.append(
            f'<path class="line" stroke="{colour}" d="M{x} 16H{x + 20}"/>'
            f'<text x="{x + 26}" y="20">{escape(label)}</text>\n'
        )
        x += 50 + 7 * len(label)
    parts.append(
        f'<path class="linear" d="M{x} 16H{x + 20}"/><text x="{x + 26}" y="20">linear</text>\n'
    )
    return "".join(parts)


def _panel(panel: Panel, colours: Mapping[str, str]) -> str:
    points = [point for line in panel.lines.values() for point in line]
    x_of = _scale([x for x, _ in points], _LEFT, _WIDTH - _RIGHT)
    bounds = [y for _, y in points]
    y_of = _scale(bounds, _HEIGHT - _BOTTOM, _TOP)
    parts = [f'<text x="{_LEFT}" y="18">{escape(panel.title)}</text>\n']
    for value in _marks(min(bounds), max(bounds)):
        y = y_of(value)
        parts.append(f'<path class="grid" d="M{_LEFT} {y}H{_WIDTH - _RIGHT}"/>')
        shown = escape(panel.show_y(value))
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{shown}</text>\n')
    for x in sorted({x for x, _ in points}):
        shown = escape(panel.show_x(x))
        parts.append(
            f'<text x="{x_of(x)}" y="{_HEIGHT - 26}" text-anchor="middle">{shown}</text>\n'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(panel.across)}</text>\n'
    )
    for label, line in panel.lines.items():
        parts.append(_line(line, x_of, y_of, f'class="line" stroke="{colours[label]}"'))
    parts.append(_line(_linear(points), x_of, y_of, 'class="linear"'))
    return "".join(parts)


def _scale(values: Sequence[float], start: float, end: float) -> Callable[[float], float]:
    """Where a number stands between two places of the picture."""
    low, high = math.log(min(values)), math.log(max(values))
    room = high - low or 1.0
    return lambda value: round(start + (end - start) * (math.log(value) - low) / room, 1)


def _marks(low: float, high: float) -> list[float]:
    """Round numbers between two others; few of them where there are many decades."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = _STEPS if last - first < 4 else _STEPS[:1]
    every = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    return [value for value in every if low <= value <= high]


def _linear(points: Points) -> Points:
    """What grows as its size does, from the lowest point of the largest size backwards."""
    end = max(x for x, _ in points)
    top = min(y for x, y in points if x == end)
    low = max(min(x for x, _ in points), end * min(y for _, y in points) / top)
    return ((low, top * low / end), (end, top))


def _line(
    points: Points, x_of: Callable[[float], float], y_of: Callable[[float], float], look: str
) -> str:
    places = "L".join(f"{x_of(x)} {y_of(y)}" for x, y in points)
    return f'<path {look} d="M{places}"/>\n'
