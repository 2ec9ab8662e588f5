"""The built site in a browser, from a disk: every page at two widths, links, search."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.gen.kaitai import CompileError
from tools.site.__main__ import build
from tools.site.links import faults

pytestmark = pytest.mark.browser

#: What reaches beyond the right edge and cannot be scrolled to: it is in no box that scrolls.
_CUT = """() => {
  const scrolls = (element) => {
    for (let box = element; box && box !== document.body; box = box.parentElement) {
      if (/auto|scroll|hidden/.test(getComputedStyle(box).overflowX)) return true;
    }
    return false;
  };
  return [...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().width > 0)
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
    .filter((element) => !scrolls(element) && !element.closest(".md-sidebar, .md-search"))
    .slice(0, 3).map((element) => element.outerHTML.slice(0, 80));
}"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, without what the examples of commands print."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not on this machine")
    try:
        importlib.import_module("material")
    except ImportError:
        pytest.skip("mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    try:
        build(folder, tmp_path_factory.mktemp("work"), examples=False)
    except CompileError as error:
        if "npm ci" in str(error):
            pytest.skip("the packages of npm cannot be had")
        raise
    return folder


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens pages at a width; afterwards none may have complained or asked another machine."""
    seen: list[str] = []
    pages = []

    def page_of(width: int) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("console", lambda message: seen.append(f"{page.url}: {message.text}"))
        page.on("pageerror", lambda error: seen.append(f"{page.url}: {error}"))
        page.on("request", lambda told: seen.append(told.url) if "//" in told.url[6:] else None)
        pages.append(page)
        return page

    yield page_of
    assert [line for line in seen if not line.startswith(("file:///", "data:"))] == []
    assert [line for line in seen if ": " in line] == []
    for page in pages:
        page.close()


def test_every_link_of_the_site_leads_somewhere(built: Path) -> None:
    assert list(faults(built)) == []


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_cut_off(built: Path, visit: Any, width: int) -> None:
    page = visit(width)
    files = sorted(built.rglob("*.html"))
    assert len(files) > 100
    cut = {}
    for file in files:
        page.goto(file.as_uri())
        if found := page.evaluate(_CUT):
            cut[str(file.relative_to(built))] = found
    assert cut == {}


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("EIATTR_REGCOUNT", "reference/eiattr.html#EIATTR_REGCOUNT"),
        ("regcount", "reference/eiattr.html#EIATTR_REGCOUNT"),
        ("R_CUDA_ABS32_20", "reference/relocations.html#R_CUDA_ABS32_20"),
        ("cuobjdump", "cuobjdump.html"),
    ],
)
def test_search_works_from_a_disk(built: Path, visit: Any, words: str, place: str) -> None:
    page = visit(1280)
    page.goto((built / "index.html").as_uri())
    page.click(".md-search__input")
    page.keyboard.type(words)
    page.wait_for_function(
        """(place) => [...document.querySelectorAll(".md-search-result__link")]
          .some((link) => link.href.replace(/[?]h=[^#]*/, "").endsWith(place))""",
        arg=place,
    )


@pytest.mark.parametrize(
    "place",
    ["reference/eiattr.html#EIATTR_REGCOUNT", "reference/symbols.html#__CNPRT_VERSION_NUMBER__"],
)
def test_an_anchor_brings_its_entry_below_the_header(built: Path, visit: Any, place: str) -> None:
    page = visit(1280)
    page.goto((built / place.partition("#")[0]).as_uri() + "#" + place.partition("#")[2])
    page.wait_for_timeout(300)
    top = page.evaluate(
        "(id) => document.getElementById(id).getBoundingClientRect().top", place.partition("#")[2]
    )
    header = page.evaluate("document.querySelector('.md-header').getBoundingClientRect().bottom")
    assert header - 1 <= top < 600
