"""The README as a package index shows it: no links into the repository, no picture from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*")
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#]*)[^)]*\)")


def for_index(text: str) -> str:
    """The text with pictures left out, and links into the repository as the path they name."""

    def path_only(link: re.Match[str]) -> str:
        shown, path = link.groups()
        return f"`{path}`" if shown == path else f"{shown} (`{path}`)"

    return _LINK.sub(path_only, _PICTURE.sub("", text))


class ReadmeHook(MetadataHookInterface):
    """Called by hatchling when it writes the metadata of a wheel or a source archive."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description."""
        text = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text)}
