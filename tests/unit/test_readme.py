"""What README and docs show is what comes out. ``BLESS=1`` writes what comes out into the pages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.newuser.recipes import Shell, bless, pages, recipes

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", pages(ROOT), ids=lambda page: str(page.name))
def test_what_is_shown_comes_out(page: Path, tmp_path: Path) -> None:
    """All blocks in their order, since later ones use files that earlier ones make."""
    if "BLESS" in os.environ:
        (tmp_path / "bless").mkdir()
        bless(page, tmp_path / "bless")
    shell = Shell(tmp_path)
    shell.copy_samples()
    faults = [fault for recipe in recipes(page) if (fault := shell.run(recipe)) is not None]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("kind", ["console", "python", "yaml"])
def test_there_is_something_to_check(kind: str) -> None:
    assert any(recipe.kind == kind for recipe in recipes(ROOT / "README.md"))


def test_a_recipe_that_prints_something_else_is_a_fault(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ echo one\ntwo\n```\n```console\n$ false\n```\n"
        "```python\nimport sys\n```\n```python\nassert sys is None\n```\n"
    )
    shell = Shell(tmp_path)
    faults = [shell.run(recipe) for recipe in recipes(page)]
    assert faults[0] is not None
    assert "-two\n+one" in faults[0]
    assert faults[1] is not None
    assert "(exit status 1)" in faults[1]
    assert faults[2] is None
    assert faults[3] is not None
    assert "page.md:11: " in faults[3]
    assert "AssertionError" in faults[3]


def test_the_picture_shows_what_comes_out() -> None:
    from tools.package.picture import PICTURE, draw, terminal_text

    if "BLESS" in os.environ:
        PICTURE.write_text(draw(terminal_text()), "utf-8")
    assert PICTURE.read_text("utf-8") == draw(terminal_text())
