"""The page of ``cubinspec report`` in a browser: sorting, search, links, keys, hostile names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cubinspec.cli import main
from cubinspec.page.document import Document
from cubinspec.page.html import html
from cubinspec.report.names import escaped
from tests.unit.page_kit import HOSTILE, SAMPLES, hostile_cubin, library

pytestmark = pytest.mark.browser

#: More rows than any page could hold at once.
MANY = 30_000
#: Rows that may be in the page at a time.
MOST_SHOWN = 80
#: What the tests wait for.
STATUS = "document.querySelector('[role=status]').textContent"
HEADING = "document.querySelector('h2').textContent"
CRUMBS = "document.querySelectorAll('.crumbs li').length"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    cubins = [SAMPLES / f"{stem}.cubin" for stem in ("calls.sm_90.exe", "cluster_sm90.sm_90.exe")]
    host = folder / "lib.so"
    host.write_bytes(library(hostile_cubin(), *(path.read_bytes() for path in cubins)))
    assert main(["report", str(host), "-o", str(folder / "report.html")]) == 0
    old, new = (
        str(SAMPLES / f"calls.sm_80.exe.{version}.cubin") for version in ("11.8.89", "13.2.86")
    )
    assert main(["diff", old, new, "--html", str(folder / "diff.html")]) == 1
    (folder / "many.html").write_bytes(html(many_kernels()))
    return folder


def many_kernels() -> dict[str, Any]:
    """The data of a page with a name for each of many kernels."""
    document = Document()
    document.add_file(str(SAMPLES / "kernels.sm_90.exe.cubin"))
    data = document.data("many")
    columns: dict[str, list[Any]] = data["functions"]
    names = len(columns["image"])
    for name, column in columns.items():
        columns[name] = [column[row % names] for row in range(MANY)]
    columns["name"] = list(range(MANY))
    columns["registers"] = [row * 7919 % 251 for row in range(MANY)]
    data["names"] = [f"kernel_{row:05}" for row in range(MANY)]
    data["readable"] = [None] * MANY
    for file in data["files"]:
        file["sizes"]["views"]["kernel"] = []
        file["sizes"]["duplicate_code"] = []
    return data


def test_sorting(opened: Any, folder: Path) -> None:
    found = opened(folder / "many.html")
    found.go("#kernels")
    at = found.heads().index("registers")
    button = found.page.locator(".head button", has_text="registers")
    for direction, expected in (("descending", "250"), ("ascending", "0")):
        button.click()
        head = found.page.locator(".head [role=columnheader]").nth(at)
        assert head.get_attribute("aria-sort") == direction
        assert found.rows()[0][at] == expected
    numbers = [int(row[at]) for row in found.rows()]
    assert numbers == sorted(numbers)


def test_only_rows_in_sight_are_there(opened: Any, folder: Path) -> None:
    found = opened(folder / "many.html")
    found.go("#kernels")
    grid = found.page.locator("[role=grid]")
    assert grid.get_attribute("aria-rowcount") == str(MANY + 1)
    assert 5 < len(found.rows()) < MOST_SHOWN
    grid.evaluate("(grid) => { grid.scrollTop = grid.scrollHeight; }")
    found.page.wait_for_selector(f'.line[aria-rowindex="{MANY + 1}"]')
    assert found.rows()[-1][0] == f"kernel_{MANY - 1:05}"
    assert len(found.rows()) < MOST_SHOWN


def test_search(opened: Any, folder: Path) -> None:
    found = opened(folder / "many.html")
    found.go("#kernels")
    page = found.page
    status = page.locator("[role=status]")
    assert status.text_content() == "30,000 of 30,000"
    for query, text in (
        ("KERNEL 123", "160 of 30,000"),
        ("re:_0001[0-4]$", "5 of 30,000"),
        ("nobody", "0 of 30,000"),
        ("re:(", "This is no regular expression."),
        ("", "30,000 of 30,000"),
    ):
        page.fill("input[type=search]", query)
        page.wait_for_function(f"(text) => {STATUS} === text", arg=text)
    page.fill("input[type=search]", "kernel_29999")
    page.wait_for_function("() => document.querySelectorAll('.line').length === 1")
    assert [row[0] for row in found.rows()] == ["kernel_29999"]


def test_keys(opened: Any, folder: Path) -> None:
    found = opened(folder / "many.html")
    found.go("#kernels")
    page = found.page
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "grid"
    active = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
    for key, row in (("ArrowDown", 1), ("End", MANY - 1), ("ArrowUp", MANY - 2), ("Home", 0)):
        page.keyboard.press(key)
        page.wait_for_function(f"(row) => {active}?.ariaRowIndex == row + 2", arg=row)
    page.keyboard.press("PageDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2.function")
    assert page.evaluate("document.activeElement.tagName") == "H2"
    assert page.text_content("h2") != "kernel_00000"
    page.go_back()
    page.wait_for_selector("[role=grid]")
    assert page.text_content("h2") == "Kernels"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement !== document.body")


def test_hostile_names_are_text(opened: Any, folder: Path) -> None:
    found = opened(folder / "report.html")
    for view in ("summary", "kernels", "sizes", "calls", "duplicates", "coverage", "images"):
        found.go(f"#{view}")
        assert found.page.evaluate("window.harm") is None
        assert found.page.locator("main script, main img").count() == 0
    found.go("#kernels")
    names = {row[0] for row in found.rows()}
    assert {escaped(name) for name in HOSTILE} <= names
    for name in HOSTILE:
        found.go("#kernels")
        found.page.locator(".line a").get_by_text(escaped(name), exact=True).click()
        found.page.wait_for_selector("h2.function")
        assert found.page.text_content("h2") == escaped(name)
        assert found.page.evaluate("window.harm") is None


def test_one_kernel(opened: Any, folder: Path) -> None:
    found = opened(folder / "report.html")
    found.go("#kernels")
    page = found.page
    page.fill("input[type=search]", "indirect")
    page.wait_for_function("() => document.querySelectorAll('.line').length === 1")
    page.locator(".line a").first.click()
    page.wait_for_selector("h2.function")
    titles = page.locator("h3").all_text_contents()
    assert titles[:2] == ["Kernel", "Occupancy"]
    assert {"Parameters", "Calls", "Attributes", "Where its bytes go"} <= set(titles)
    assert page.locator("svg.params rect").count() > 0
    assert "EIATTR_EXIT_INSTR_OFFSETS" in page.text_content("main")
    before = page.text_content("h2")
    page.locator(".calls svg a").first.click()
    page.wait_for_function(
        "(name) => document.querySelector('h2').textContent !== name", arg=before
    )
    assert "Device function" in page.text_content("main")
    callers = page.locator("h3:text('What calls it') + ul li").all_text_contents()
    assert [text.partition("  ")[0] for text in callers] == ["lies in indirect"]


def test_boxes_lead_down_and_back(opened: Any, folder: Path) -> None:
    found = opened(folder / "report.html")
    found.go("#sizes")
    page = found.page
    for depth in range(1, 4):
        page.locator(".map a[href]").first.click()
        page.wait_for_function(
            "(n) => document.querySelectorAll('.crumbs li').length === n", arg=depth + 1
        )
    boxes = page.locator(".map a").count()
    address = page.evaluate("location.hash")
    found.go(address)
    assert page.locator(".map a").count() == boxes
    page.locator(".crumbs a").first.click()
    page.wait_for_function(f"() => {CRUMBS} === 1")
    shares = [float(row[-1].split()[0]) for row in found.rows()]
    assert sum(shares) == pytest.approx(100, abs=0.1)


def test_what_changed(opened: Any, folder: Path) -> None:
    found = opened(folder / "diff.html")
    page = found.page
    assert page.text_content("h2") == "Changes"
    assert page.locator("nav a").all_text_contents() == ["Changes"]
    marks = [row[0] for row in found.rows()]
    order = ["worse", "changed", "renamed", "new", "gone", "image"]
    assert marks == sorted(marks, key=order.index)
    page.locator(".line").first.click()
    page.wait_for_selector("section.card:not([hidden]) li")
    page.select_option("select", marks[0])
    assert {row[0] for row in found.rows()} == {marks[0]}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(opened: Any, folder: Path, scheme: str) -> None:
    found = opened(folder / "report.html", color_scheme=scheme)
    page = found.page

    def lightness(name: str) -> float:
        colour = page.evaluate(
            """(name) => {
              const probe = document.createElement("i");
              probe.style.color = `var(${name})`;
              document.body.append(probe);
              const { color } = getComputedStyle(probe);
              probe.remove();
              return color.match(/[\\d.]+/g).slice(0, 3).map(Number);
            }""",
            name,
        )
        parts = [c / 255 for c in colour]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for ground in ("--page", "--card", "--raised"):
        for ink in ("--text", "--dim", "--accent", "--good", "--bad", "--warn"):
            low, high = sorted((lightness(ground), lightness(ink)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)
    dark = lightness("--page") < 0.2
    assert dark == (scheme == "dark")
    while page.text_content("#theme") != f"Theme: {'light' if dark else 'dark'}":
        page.click("#theme")
    assert (lightness("--page") < 0.2) != dark


def test_everything_has_a_name(opened: Any, folder: Path) -> None:
    found = opened(folder / "report.html", viewport={"width": 480, "height": 800})
    for view in ("summary", "kernels", "sizes", "images", "function/0"):
        found.go(f"#{view}")
        nameless = found.page.evaluate(
            """() => [...document.querySelectorAll("a, button, input, select, svg, [role=grid]")]
              .filter((one) => !(one.ariaLabel || one.textContent.trim() || one.title
                || one.labels?.length || one.getAttribute("aria-hidden")))
              .map((one) => one.outerHTML)"""
        )
        assert nameless == []
        width = found.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 480, view
