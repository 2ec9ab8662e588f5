"""``python -m tools.package.picture``: output of commands as a picture, ``docs/picture.svg``."""

from __future__ import annotations

import tempfile
from html import escape
from pathlib import Path

from tools.newuser.recipes import Recipe, Shell

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "picture.svg"
COMMANDS = (
    "cubinspec kernels spec/samples/cluster_sm90.sm_90.exe.cubin",
    "cubinspec coverage --sum spec/samples/*.cubin",
    "cubinspec explain EIATTR_REGCOUNT",
)
_LINE, _CHARACTER, _MARGIN, _BAR = 18, 8, 16, 28
_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" \
aria-label="cubinspec in a terminal">
<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>
<circle cx="18" cy="15" r="5" fill="#f47067"/><circle cx="36" cy="15" r="5" fill="#e0af68"/>\
<circle cx="54" cy="15" r="5" fill="#57ab5a"/>
<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" \
fill="#d1d7e0" xml:space="preserve">
<style>text {{ white-space: pre }}</style>
"""


def terminal_text() -> str:
    """The commands and what they print."""
    with tempfile.TemporaryDirectory() as name:
        shell = Shell(Path(name))
        shell.copy_samples()
        text = "\n".join(f"$ {command}" for command in COMMANDS)
        return shell.console(Recipe("picture", 1, "console", text))


def draw(text: str) -> str:
    """A terminal with some lines of text."""
    lines = text.rstrip("\n").replace("\n$ ", "\n\n$ ").split("\n")
    width = 2 * _MARGIN + _CHARACTER * max(map(len, lines))
    height = _BAR + 2 * _MARGIN + _LINE * len(lines)
    parts = [_HEAD.format(width=width, height=height)]
    for number, line in enumerate(lines):
        bottom = _BAR + _MARGIN + _LINE * (number + 1) - 5
        look = ' fill="#6cb6ff" font-weight="bold"' if line.startswith("$ ") else ""
        # the length makes columns stand below each other in any font
        size = f' textLength="{_CHARACTER * len(line)}"' if line else ""
        parts.append(f'<text x="{_MARGIN}" y="{bottom}"{size}{look}>{escape(line)}</text>\n')
    parts.append("</g>\n</svg>\n")
    return "".join(parts)


if __name__ == "__main__":
    PICTURE.write_text(draw(terminal_text()), "utf-8")
