"""docs/stability.md lists what is public, and no page shows anything else.

``BLESS=1`` writes the list into the page.
"""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "stability.md"
#: What a program imports from.
PUBLIC = (
    *(
        "cubinspec",
        "cubinspec.containers",
        "cubinspec.errors",
        "cubinspec.reader",
        "cubinspec.scan",
    ),
    *("cubinspec_writer", "cubinspec_writer.builder", "cubinspec_writer.checker"),
    *("cubinspec_writer.editor", "cubinspec_writer.emitter", "cubinspec_writer.linker"),
    *("cubinspec_writer.emitter.bodies", "cubinspec_writer.emitter.model"),
    "cubinspec_writer.yaml_form",
)
#: Pages for who changes this project; what they name need not be public.
INSIDE = ("architecture.md", "glossary.md", "performance.md", "tables.md", "stability.md")
_LIST = re.compile(r"(?<=<!-- drawn: public -->\n).*?(?=<!-- end: public -->)", re.DOTALL)
_IMPORT = re.compile(r"^from (cubinspec[\w.]*) import ([\w, ]+)$", re.MULTILINE)
_NAMED = re.compile(r"`(cubinspec(?:_writer)?(?:\.[a-z_]+)+)(?:\.([A-Za-z_]+))?\b")


def drawn() -> str:
    lines = ["| package | names |", "|---|---|"]
    for package in PUBLIC:
        names = ", ".join(f"`{name}`" for name in importlib.import_module(package).__all__)
        lines.append(f"| `{package}` | {names} |")
    return "\n".join(lines) + "\n"


def guide() -> list[Path]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in pages if page.name not in INSIDE]


def is_public(dotted: str) -> bool:
    if dotted in PUBLIC:
        return True
    package, _, name = dotted.rpartition(".")
    return package in PUBLIC and name in importlib.import_module(package).__all__


def test_the_page_lists_what_is_public() -> None:
    text = PAGE.read_text("utf-8")
    if "BLESS" in os.environ:
        PAGE.write_text(_LIST.sub(drawn(), text), "utf-8")
    found = _LIST.search(PAGE.read_text("utf-8"))
    assert found is not None
    assert found[0] == drawn()


@pytest.mark.parametrize("package", PUBLIC)
def test_public_names_are_there_and_documented(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__doc__
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value):
            assert value.__doc__, name


@pytest.mark.parametrize("page", guide(), ids=lambda page: str(page.name))
def test_pages_show_public_names_only(page: Path) -> None:
    text = page.read_text("utf-8")
    for package, names in _IMPORT.findall(text):
        for name in names.split(", "):
            assert is_public(f"{package}.{name}"), f"{package}.{name}"
    for dotted, name in _NAMED.findall(text):
        assert is_public(f"{dotted}.{name}" if name else dotted) or is_public(dotted), dotted
