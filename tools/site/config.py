"""What mkdocs is told: how the site looks, and the order of its pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cubinspec.cli import COMMANDS

#: Chapters of the guide, with their pages in the order in which one reads them.
_GUIDE = {
    "Read": ("containers", "scan", "report", "occupancy", "callgraph", "debug"),
    "Compare": ("compare", "budget"),
    "Write": ("yaml", "building", "editing", "rules"),
    "Link": (
        "linking",
        "link-parity",
        "link-parity-real",
        "link-coverage",
        "link-crossed",
        "link-real",
    ),
    "The project": (
        "glossary",
        "stability",
        "performance",
        "growth",
        "robustness",
        "architecture",
        "site",
        "changes",
    ),
}
_SPEC = ("spec-guide", "web-ide", "tables", "targets", "languages")
#: What parts words for the search: `REGCOUNT` finds `EIATTR_REGCOUNT`, `sm_90` and `.nv.info` are
#: found in any spelling.
_WORD_ENDS = r"[\s\-_,:;!=\[\]()<>`\"/.]+"
STYLE = "assets/site.css"
#: Lets the search run in a page that was opened from a disk.
SHIM = "assets/iframe-worker.js"


def config(pages: Iterable[str], sources: str, site: str) -> dict[str, Any]:
    """The contents of ``mkdocs.yml``.

    Args:
        pages: paths of all pages.
        sources: folder of the pages.
        site: folder of the result.
    """
    return {
        "site_name": "cubinspec",
        "site_description": "The open, executable specification of NVIDIA's CUDA device binary",
        "docs_dir": sources,
        "site_dir": site,
        "use_directory_urls": False,
        "nav": nav(sorted(pages)),
        "theme": {
            "name": "material",
            "font": False,
            "icon": {"logo": "material/chip"},
            "features": [
                *("navigation.tabs", "navigation.indexes", "navigation.top", "toc.follow"),
                *("search.suggest", "search.highlight", "content.code.copy", "content.tabs.link"),
            ],
            "palette": [
                _palette("default", "light", "material/weather-night", "dark"),
                _palette("slate", "dark", "material/weather-sunny", "light"),
            ],
        },
        "plugins": [{"search": {"separator": _WORD_ENDS}}, "offline"],
        "extra": {"polyfills": [SHIM], "generator": False},
        "extra_css": [STYLE],
        "markdown_extensions": [
            *("attr_list", "md_in_html", "tables", "sane_lists"),
            {"toc": {"permalink": True}},
            {"pymdownx.highlight": {"anchor_linenums": False}},
            {"pymdownx.superfences": {"custom_fences": [_mermaid()]}},
            {"pymdownx.tabbed": {"alternate_style": True}},
        ],
        "validation": {
            "nav": {"omitted_files": "warn", "not_found": "warn"},
            "links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"},
        },
    }


def nav(pages: list[str]) -> list[Any]:
    """The tabs of the site; a page that no chapter names stands in a last chapter of the guide."""
    chapters = {title: [f"{name}.md" for name in names] for title, names in _GUIDE.items()}
    spec = [f"{name}.md" for name in _SPEC]
    placed = {page for group in chapters.values() for page in group} | {
        *spec,
        "index.md",
        "guide.md",
        "cuobjdump.md",
    }
    more = [page for page in pages if "/" not in page and page not in placed]
    chapters["More"] = more
    guide = [
        {title: [p for p in group if p in pages]} for title, group in chapters.items() if group
    ]
    upstream = [p for p in pages if p.startswith("upstream/")]
    return [
        {"Home": "index.md"},
        {"Guide": ["guide.md", "cuobjdump.md", *guide]},
        {"Commands": ["commands/README.md", *(f"commands/{name}.md" for name in COMMANDS)]},
        {"Codes and records": _folder("reference", pages)},
        {"Spec": ["spec/README.md", *spec, {"Files": _folder("spec", pages)[1:]}, *upstream]},
        {"API": _folder("api", pages)},
        {"Explorer": "explorer/index.html"},
    ]


def _folder(name: str, pages: list[str]) -> list[str]:
    index = f"{name}/README.md"
    return [index, *(p for p in pages if p.startswith(f"{name}/") and p != index)]


def _palette(scheme: str, wanted: str, icon: str, other: str) -> Mapping[str, Any]:
    return {
        "scheme": scheme,
        "media": f"(prefers-color-scheme: {wanted})",
        "primary": "black",
        "accent": "green",
        "toggle": {"icon": icon, "name": f"Switch to the {other} colours"},
    }


def _mermaid() -> Mapping[str, Any]:
    return {"name": "mermaid", "class": "mermaid"}
