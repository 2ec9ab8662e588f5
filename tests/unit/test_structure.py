"""The house: floors, circles, sizes of functions, and the page that draws them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.structure import page
from tools.structure.floors import Floor, arrows, floor_of, floors, upward
from tools.structure.graph import circle, import_graph, modules
from tools.structure.measure import files, functions

MOST_LINES, MOST_BRANCHES = 60, 20


def test_every_import_points_down() -> None:
    assert list(upward(import_graph(), floors())) == []


def test_nothing_is_imported_in_a_circle() -> None:
    assert circle(import_graph()) == []


def test_functions_can_be_read_at_one_sitting() -> None:
    too_large = [
        f"{size.path.name}:{size.line} {size.name}: {size.lines} lines, {size.branches} branches"
        for path in files()
        for size in functions(path)
        if size.lines > MOST_LINES or size.branches > MOST_BRANCHES
    ]
    assert too_large == []


def test_the_page_is_what_the_code_draws() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.render(text) == text, "run python -m tools.structure"
    assert text.count("-->") >= 6


def _write(root: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = root / "src" / "cubinspec" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


ROWS = [
    Floor(0, ("cubinspec.low",), ""),
    Floor(1, ("cubinspec", "cubinspec.high"), ""),
]


@pytest.mark.parametrize(
    "text",
    [
        "import cubinspec.high",
        "from cubinspec.high import thing",
        "from cubinspec import high",
        "from . import high",
        "from .high import thing",
        "def f():\n    from cubinspec import high",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from cubinspec.high import thing",
    ],
)
def test_an_import_that_points_up_is_seen(text: str, tmp_path: Path) -> None:
    root = _write(tmp_path, {"__init__.py": "", "low.py": text, "high.py": "thing = 1"})
    graph = import_graph(root)
    assert list(upward(graph, ROWS)) == ["cubinspec.low imports cubinspec.high, which is above it"]
    assert arrows(graph, ROWS) == {(0, 1): 1}


def test_a_module_without_a_floor_is_seen(tmp_path: Path) -> None:
    root = _write(tmp_path, {"lost.py": ""})
    assert list(upward(import_graph(root), ROWS[:1])) == ["cubinspec.lost is on no floor"]


def test_a_circle_is_seen(tmp_path: Path) -> None:
    root = _write(tmp_path, {"a.py": "import cubinspec.b", "b.py": "from cubinspec import a"})
    assert set(circle(import_graph(root))) == {"cubinspec.a", "cubinspec.b"}


def test_the_longest_prefix_is_the_floor() -> None:
    assert floor_of("cubinspec.low.deep", ROWS) == ROWS[0]
    assert floor_of("cubinspec.lower", ROWS) == ROWS[1]
    assert floor_of("other", ROWS) is None


def test_functions_are_measured_without_their_docstring(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text('def f(x):\n    """Two\n    lines."""\n    if x:\n        return 1\n')
    (size,) = functions(path)
    assert (size.lines, size.branches) == (2, 1)


def test_all_three_packages_are_measured() -> None:
    packages = {name.partition(".")[0] for name in modules()}
    assert packages == {"cubinspec", "cubinspec_writer", "cubinspec_generated"}
