"""Occupancy over block sizes as a picture: plain SVG, no script, no font of its own."""

from __future__ import annotations

from html import escape

from cubinspec.format.escapes import escaped
from cubinspec.report.occupancy import limits_of, occupancy_curve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.report.occupancy import Occupancy, Residency

_WIDTH, _HEIGHT = 640, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 28, 34
_LONGEST_NAME = 80
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.axis{stroke:#999}.grid{stroke:#ddd}"
    ".curve{fill:none;stroke:#1f6feb;stroke-width:2}.now{fill:#d1242f}.back{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.back{fill:#111}}"
)


def svg(curves: list[tuple[str, Occupancy]]) -> str:
    """One panel per kernel, below each other.

    Args:
        curves: name and result of each kernel.
    """
    height = _HEIGHT * max(1, len(curves))
    panels = [
        f'<g transform="translate(0,{_HEIGHT * number})">{_panel(name, found)}</g>'
        for number, (name, found) in enumerate(curves)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img"><style>{_STYLE}</style>'
        f'<rect class="back" width="{_WIDTH}" height="{height}"/>{"".join(panels)}</svg>\n'
    )


def _panel(name: str, found: Occupancy) -> str:
    points = occupancy_curve(found.launch, limits_of(found.arch))
    most = points[-1][0]
    parts = [f'<text x="{_LEFT}" y="18">{escape(_short(escaped(name)))} ({found.arch})</text>']
    for percent in (0, 25, 50, 75, 100):
        y = _y(percent / 100)
        parts.append(f'<path class="grid" d="M{_LEFT} {y}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{percent}</text>')
    for size in range(0, most + 1, most // 4):
        parts.append(
            f'<text x="{_x(size, most)}" y="{_HEIGHT - 16}" text-anchor="middle">{size}</text>'
        )
    parts.append(f'<path class="curve" d="{_path(points, most)}"/>')
    x, y = _x(found.launch.block, most), _y(found.residency.occupancy)
    label = f"{found.launch.block} threads: {100 * found.residency.occupancy:.0f} %"
    parts.append(f'<circle class="now" cx="{x}" cy="{y}" r="4"><title>{label}</title></circle>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{_HEIGHT - 2}" text-anchor="middle">'
        "threads per block; occupancy in %</text>"
    )
    return "".join(parts)


def _path(points: list[tuple[int, Residency]], most: int) -> str:
    return "M" + "L".join(f"{_x(size, most)} {_y(r.occupancy)}" for size, r in points)


def _x(size: int, most: int) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * size / most, 1)


def _y(part: float) -> float:
    return round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - part), 1)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
