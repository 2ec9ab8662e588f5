"""Looks for links of a built site that lead nowhere, and for what it loads from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that make a browser load something.
_LOADING = {
    "img": "src",
    "script": "src",
    "iframe": "src",
    "source": "src",
    "link": "href",
    "object": "data",
}
#: What a <link> of these kinds names is not loaded.
_NOT_LOADED = frozenset(("canonical", "next", "prev", "alternate"))


class _Page(HTMLParser):
    """The anchors of a page, its links and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {key: value or "" for key, value in attrs}
        self.ids.update(told[key] for key in ("id", "name") if told.get(key))
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        target = told.get(_LOADING.get(tag, ""))
        if target and told.get("rel") not in _NOT_LOADED:
            self.loads.append(target)


def faults(site: Path) -> Iterator[str]:
    """A line for each link, anchor or loaded file that is not there or not on the site.

    Args:
        site: the folder of the built site.
    """
    pages = {
        path.resolve(): _Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
    }
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        for target in page.loads:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https") or parts.netloc:
                yield f"{where}: loads {target}"
            elif parts.scheme != "data" and not _target(path, target).is_file():
                yield f"{where}: loads {target}, which is not there"
        for target in page.links:
            yield from (f"{where}: {fault}" for fault in _link_faults(path, target, pages))


def _link_faults(path: Path, target: str, pages: dict[Path, _Page]) -> Iterator[str]:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return
    file = _target(path, target) if parts.path else path
    if not file.is_file():
        yield f"link to {target}, which is not there"
    elif parts.fragment and file in pages:
        anchor = unquote(parts.fragment)
        # the generator writes some anchors of its own in the form of a link to the top
        if anchor not in pages[file].ids and parts.fragment not in pages[file].ids:
            yield f"link to {target}: the page has no such anchor"


def _target(path: Path, target: str) -> Path:
    return (path.parent / unquote(urlsplit(target).path)).resolve()
