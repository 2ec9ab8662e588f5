"""The scripts of the site: the explorer, and from npm what draws diagrams and helps the search."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from tools.gen.kaitai import CompileError, ensure_npm
from tools.site import explorer
from tools.site.config import SHIM, STYLE

ROOT = Path(__file__).resolve().parents[2]
EXPLORER = ROOT / "docs" / "explorer"
_SAMPLE = ROOT / "tests" / "data" / "cubins" / "calls.sm_100.exe.cubin"
#: Packages that the explorer's script has in it.
_BUNDLED = ("fzstd", "kaitai-struct", "lz4js")
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
        **explorer_files(),
    }


def explorer_files() -> dict[str, bytes]:
    """The explorer's page, style, script and the licences of what is in the script.

    Raises:
        CompileError: node or npm is missing, or a spec or module does not compile.
    """
    ensure_npm(WEB)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name) / "explorer"
        shutil.copytree(EXPLORER, work)
        (work / "spec").mkdir()
        for file, text in explorer.reader().items():
            (work / "spec" / file).write_text(text, encoding="utf-8")
        (work / "knowledge.json").write_text(explorer.explorer_json(), encoding="utf-8")
        shutil.copy(_SAMPLE, work / "sample.cubin")
        script = _bundled(work)
    return {
        "explorer/explorer.js": script,
        "explorer/LICENSES.txt": _licences().encode(),
        **{f"explorer/{n}": (EXPLORER / n).read_bytes() for n in ("index.html", "explorer.css")},
    }


def _bundled(work: Path) -> bytes:
    """All modules as one script: browsers load no modules from a disk."""
    words = [str(MODULES / ".bin" / "esbuild"), str(work / "main.js"), "--bundle", "--minify"]
    words += ["--format=iife", "--target=es2022", "--charset=utf8", "--log-level=warning"]
    # the runtime asks for these where no browser is
    words += [
        "--external:iconv-lite",
        "--external:zlib",
        "--loader:.cubin=binary",
        "--legal-comments=none",
    ]
    environment = {**os.environ, "NODE_PATH": str(MODULES)}
    done = subprocess.run(words, capture_output=True, env=environment)
    if done.returncode:
        raise CompileError(f"esbuild failed:\n{done.stderr.decode()}")
    return done.stdout


def _licences() -> str:
    """The terms of the packages in the script; one of them has no file of its own."""
    parts = []
    for name in _BUNDLED:
        package = json.loads((MODULES / name / "package.json").read_text(encoding="utf-8"))
        file = MODULES / name / "LICENSE"
        text = file.read_text(encoding="utf-8") if file.is_file() else _author(package)
        parts.append(f"{name} {package['version']} ({package['license']})\n\n{text.strip()}\n")
    return "\n\n".join(parts)


def _author(package: dict[str, Any]) -> str:
    return f"Copyright {package['author']}; licence {package['license']}, {package['homepage']}"


def with_diagrams(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files with the script that draws diagrams, which pages without one do not load."""
    script = MODULES / "@mermaid-js" / "tiny" / "dist" / "mermaid.tiny.js"
    files = {**files, _DIAGRAMS: script.read_bytes()}
    for name, text in files.items():
        if name.endswith(".md") and _HAS_DIAGRAM.search(text):
            place = os.path.relpath(_DIAGRAMS, PurePosixPath(name).parent)
            files[name] = text + f'\n<script src="{place}"></script>\n'.encode()
    return files
