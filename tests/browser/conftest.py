"""A headless Chromium for the tests of pages; without one they are skipped, and say so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium is on this machine")
    with api.sync_playwright() as playwright:
        # a container has no rights for the sandbox
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


class Opened:
    """A page in a browser, and what it tried to load and complained about."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.page.set_default_timeout(20_000)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.url = path.as_uri()
        self.go("")

    def go(self, address: str) -> None:
        """Open a view by its address."""
        self.page.goto("about:blank")
        self.page.goto(self.url + address)
        self.page.wait_for_selector("main h2")

    def rows(self) -> list[list[str]]:
        """The cells of the rows that are in the page, from the top."""
        found: list[list[str]] = self.page.evaluate(
            """() => [...document.querySelectorAll(".line")]
              .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
              .map((line) => [...line.children].map((cell) => cell.textContent))"""
        )
        return found

    def heads(self) -> list[str]:
        """The titles of the columns."""
        found: list[str] = self.page.locator(".head [role=columnheader]").all_text_contents()
        return found


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """Opens pages; afterwards none may have loaded or complained about anything."""
    pages: list[Opened] = []

    def open_page(path: Path, **options: Any) -> Opened:
        pages.append(Opened(browser, path, **options))
        return pages[-1]

    yield open_page
    for each in pages:
        others = [url for url in each.requests if url.partition("#")[0] != each.url]
        assert [url for url in others if url != "about:blank"] == []
        assert each.complaints == []
        each.page.close()
