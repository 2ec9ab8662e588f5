"""The scripts of the site, from npm: what draws diagrams and lets the search run from a disk."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from tools.gen.kaitai import ensure_npm
from tools.site.config import SHIM, STYLE

WEB = Path(__file__).with_name("web")
MODULES = WEB / "node_modules"
_DIAGRAMS = "assets/mermaid.js"
_HAS_DIAGRAM = re.compile(rb"(?m)^```mermaid$")


def assets() -> dict[str, bytes]:
    """Path -> contents of the style and the scripts that every page has.

    Raises:
        CompileError: npm is missing or fails.
    """
    ensure_npm(WEB)
    return {
        STYLE: (WEB / "site.css").read_bytes(),
        SHIM: (MODULES / "iframe-worker" / "shim" / "index.js").read_bytes(),
    }


def with_diagrams(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files with the script that draws diagrams, which pages without one do not load."""
    script = MODULES / "@mermaid-js" / "tiny" / "dist" / "mermaid.tiny.js"
    files = {**files, _DIAGRAMS: script.read_bytes()}
    for name, text in files.items():
        if name.endswith(".md") and _HAS_DIAGRAM.search(text):
            place = os.path.relpath(_DIAGRAMS, PurePosixPath(name).parent)
            files[name] = text + f'\n<script src="{place}"></script>\n'.encode()
    return files
