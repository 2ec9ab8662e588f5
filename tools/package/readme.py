"""The README and the addresses as a package index shows them.

The project has no public home yet. ``home`` under ``[tool.hatch.metadata.hooks.custom]`` in
pyproject.toml is the one place that names it: with it the links of the README lead there and the
index shows its pages; without it they become plain text, and no address is made up.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: Page on the index -> where it lies below the home.
_PAGES = {
    "Homepage": "",
    "Documentation": "blob/main/docs/api/README.md",
    "Source": "",
    "Changelog": "blob/main/CHANGELOG.md",
    "Issues": "issues",
}
_PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]*)\)\n*")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)#]*)([^)]*)\)")


def for_index(text: str, home: str = "") -> str:
    """The text without links into the repository.

    Args:
        home: address of the repository. Links and pictures then lead there; otherwise pictures are
            left out, and a link becomes the path that it names.
    """
    if home:
        text = _PICTURE.sub(rf"![\1]({home}/raw/main/\2)\n\n", text)
        return _LINK.sub(rf"[\1]({home}/blob/main/\2\3)", text)

    def path_only(link: re.Match[str]) -> str:
        shown, path, _ = link.groups()
        return f"`{path}`" if shown == path else f"{shown} (`{path}`)"

    return _LINK.sub(path_only, _PICTURE.sub("", text))


def addresses(home: str) -> dict[str, str]:
    """What the index lists beside the description; nothing without a home."""
    return {name: f"{home}/{path}".rstrip("/") for name, path in _PAGES.items()} if home else {}


class ReadmeHook(MetadataHookInterface):
    """Called by hatchling when it writes the metadata of a wheel or a source archive."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set description and addresses."""
        home = str(self.config.get("home", "")).rstrip("/")
        text = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text, home)}
        metadata["urls"] = addresses(home)
