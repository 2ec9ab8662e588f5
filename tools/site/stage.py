"""The sources of the site: docs/ and what is made, with links that lead somewhere in it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from cubinspec.report.anchors import slug
from tools.gen.packages import dist
from tools.site import commands, languages, specs

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HOME = "index.md"
KNOWN = "cuobjdump.md"
#: The list of the guide; a folder has one index, and that is the home page.
GUIDE = "guide.md"
#: Files of the repository that have a place on the site, by the beginning of their path.
_SOURCES = ("ksy/",)
#: Files that are made, by the place that pages name.
#: What the site has in another form: the folder of the specs is one zip.
_MADE = {"ksy": f"{dist.SPECS}.zip"}
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_FENCE = re.compile(r"(?ms)^ *(```+).*?^ *\1 *$")
#: An anchor that becomes that of the heading below it; Markdown would take a star, or underscores
#: around the name, for emphasis.
_MARKED_HEADING = re.compile(r'(?m)<a id="(?!_[^"]*_")([^"*]+)"></a>\n\n(#+ .*)$')
_COMMENT = re.compile(r"\A<!--.*?-->\s*", re.DOTALL)
_MARK = re.compile(r'<a id="([^"]+)"></a>')
_TERM = re.compile(r"(?m)^- \*\*(.+?)\*\*")
_RULE = re.compile(r"(?m)^\* \*\*([A-Z]\d+)\*\*")
#: Pages that are made of files elsewhere, from whose places their links are told.
_ORIGINS = {
    HOME: "README.md",
    KNOWN: "README.md",
    "changes.md": "CHANGELOG.md",
    GUIDE: "docs/README.md",
}


def sources(*, examples: bool = True) -> dict[str, bytes]:
    """Path -> contents of all that mkdocs reads.

    Args:
        examples: run the examples of commands and show what they print.
    """
    files: dict[str, bytes] = {}
    texts = {
        str(path.relative_to(DOCS)): path.read_text(encoding="utf-8")
        for path in sorted(DOCS.rglob("*.md"))
        if "explorer" not in path.relative_to(DOCS).parts
    }
    texts[GUIDE] = texts.pop("README.md")
    texts["glossary.md"] = _TERM.sub(_term, texts["glossary.md"])
    texts["linking.md"] = _RULE.sub(r'* <a id="\1"></a>**\1**', texts["linking.md"])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    made = {
        **commands.pages(examples=examples),
        **specs.pages(),
        "languages.md": languages.page(),
        HOME: _home(readme),
        KNOWN: _known(readme),
        "changes.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    }
    pages = {**texts, **made}
    for name, text in pages.items():
        files[name] = _finished(name, text, set(pages))
    for path in (*DOCS.glob("*.svg"), *DOCS.glob("*.png"), *DOCS.glob("*.ipynb")):
        files[path.name] = path.read_bytes()
    files[f"{dist.SPECS}.zip"] = dist.packed(dist.SPECS, dist.specs())
    for path in (ROOT / "ksy").rglob("*.*"):
        if path.is_file():
            files[f"source/{path.relative_to(ROOT)}"] = path.read_bytes()
    for path in sorted(languages.PROGRAMS.rglob("*.*")):
        files[str(path.relative_to(DOCS))] = path.read_bytes()
    return files


def anchors(text: str) -> set[str]:
    """The anchors that a page sets by name."""
    headings = re.findall(r"(?m)^#+ .*\{#(.+?)\}$", text)
    return {*_MARK.findall(text), *headings}


def _finished(name: str, text: str, pages: set[str]) -> bytes:
    """A page whose links lead to pages of the site, or are plain text."""

    def link(found: re.Match[str]) -> str:
        label, target = found[1], found[2]
        place = _resolved(target, name, pages)
        return label if place is None else f"[{label}]({place})"

    # a title must be the first line to become the name of the page
    text = _COMMENT.sub("", text, count=1)
    seen: set[str] = set()
    text = _MARK.sub(lambda mark: _once(mark, seen), text)
    text = _outside_code(text, lambda part: _LINK.sub(link, part))
    return _MARKED_HEADING.sub(r"\n\n\2 {#\1}", text).encode()


def _once(mark: re.Match[str], seen: set[str]) -> str:
    """An anchor, unless one of its name stands further up."""
    if mark[1] in seen:
        return ""
    seen.add(mark[1])
    return mark[0]


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts, last = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*parts, change(text[last:])])


def _resolved(target: str, name: str, pages: set[str]) -> str | None:
    """A link of a page, as it is on the site; ``None``: it leads out of the site."""
    if target.startswith(("#", "http:", "https:", "mailto:", "<")):
        return target
    path, mark, anchor = target.partition("#")
    moved = {origin: page for page, origin in _ORIGINS.items() if page != KNOWN}
    whole = os.path.normpath(PurePosixPath(_ORIGINS.get(name, f"docs/{name}")).parent / path)
    if whole == "docs/languages":
        place = "languages.md"
    elif whole in moved:
        place = moved[whole]
    elif whole in _MADE:
        place = _MADE[whole]
    elif whole.startswith("docs/"):
        place = whole.removeprefix("docs/")
        place = f"{place}/README.md" if f"{place}/README.md" in pages else place
    elif whole.startswith(_SOURCES) and (ROOT / whole).is_file():
        place = f"source/{whole}"
    else:
        return None
    return os.path.relpath(place, PurePosixPath(name).parent) + mark + anchor


def _term(found: re.Match[str]) -> str:
    """An anchor for every word of an entry of the glossary."""
    words = found[1].partition(" (")[0].split(" or ")
    return "- " + "".join(f'<a id="{slug(f"term-{w}")}"></a>' for w in words) + f"**{found[1]}**"


def _home(readme: str) -> str:
    """The README, with the ways into the site behind its first words."""
    title, _, rest = readme.partition("\n")
    ways = "\n".join(
        (
            "[Open the explorer](docs/explorer/index.html){ .md-button .md-button--primary }",
            "[Commands](docs/commands/README.md){ .md-button }",
            "[Codes and records](docs/reference/README.md){ .md-button }",
            "[If you know cuobjdump](docs/cuobjdump.md){ .md-button }",
        )
    )
    picture = "\n!["
    first, _, after = rest.partition(picture)
    return f"---\nhide: [navigation]\n---\n{title}\n{first}\n{ways}\n{picture}{after}"


def _known(readme: str) -> str:
    """The README's table for people who know NVIDIA's tools."""
    heading = "## If you know cuobjdump\n"
    section = readme.partition(heading)[2].partition("\n## ")[0]
    linked = re.sub(
        r"`cubinspec ([a-z-]+)([^`|]*)`",
        lambda found: f"[`cubinspec {found[1]}{found[2]}`](docs/commands/{found[1]}.md)",
        section,
    )
    return f"# If you know cuobjdump\n{linked}\n"
