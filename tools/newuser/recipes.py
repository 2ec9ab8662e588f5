"""The blocks of a page: commands with their output, programs, and files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path

_BLOCK = re.compile(r"^```(console|python|yaml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: A file that a page shows has the name of the first command that reads it.
_READ = re.compile(r"cubinspec from-yaml (\S+)")
SECONDS = 300


@dataclass(frozen=True)
class Recipe:
    """One block of a page.

    Attributes:
        page: name of the page.
        line: of the page, where the block begins.
        kind: ``console``, ``python`` or ``yaml``.
        text: what stands in it.
        file: name of the file that a YAML block is.
    """

    page: str
    line: int
    kind: str
    text: str
    file: str = ""

    def commands(self) -> list[str]:
        """The command lines of a console block."""
        return [line[2:] for line in self.text.splitlines() if line.startswith("$ ")]


def recipes(page: Path) -> list[Recipe]:
    """The blocks of a page that can be tried, in their order; the samples are copied before."""
    text = page.read_text("utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        kind, body = match.groups()
        read = _READ.search(text, match.end()) if kind == "yaml" else None
        if kind != "yaml" or read is not None:
            line = text.count("\n", 0, match.start()) + 1
            found.append(Recipe(page.name, line, kind, body, read[1] if read else ""))
    return [recipe for recipe in found if "spec --copy" not in recipe.text]


def pages(root: Path) -> list[Path]:
    """The pages with recipes: the README and what lies in ``docs``."""
    candidates = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    return [page for page in candidates if recipes(page)]


def bless(page: Path, folder: Path) -> None:
    """Write into a page what its commands print now.

    Args:
        folder: where they run.
    """
    shell = Shell(folder)
    shell.copy_samples()
    text = page.read_text("utf-8")
    for recipe in recipes(page):
        if recipe.kind == "console":
            text = text.replace(f"\n{recipe.text}```", f"\n{shell.console(recipe)}```")
        else:
            shell.run(recipe)
    page.write_text(text, "utf-8")


@dataclass
class Shell:
    """Tries recipes in a folder.

    Attributes:
        folder: where they run.
        python: the interpreter that has the package.
    """

    folder: Path
    python: str = sys.executable
    _programs: dict[str, str] = field(default_factory=dict)

    def run(self, recipe: Recipe) -> str | None:
        """Try one block; what is wrong with it, or ``None``."""
        place = f"{recipe.page}:{recipe.line}"
        if recipe.kind == "yaml":
            (self.folder / recipe.file).write_text(recipe.text, "utf-8")
            return None
        if recipe.kind == "python":
            # a later program of a page goes on where the one before it ended
            program = self._programs.get(recipe.page, "") + recipe.text
            self._programs[recipe.page] = program
            done = self._call([self.python, "-W", "error", "-c", program])
            return f"{place}: {done.stderr}" if done.returncode else None
        shown = self.console(recipe)
        if shown == recipe.text:
            return None
        lines = unified_diff(
            recipe.text.splitlines(), shown.splitlines(), place, "what comes out", lineterm=""
        )
        return "\n".join(lines)

    def copy_samples(self) -> None:
        """Make the folder ``spec``, as the README says."""
        self._call([self.python, "-m", "cubinspec", "spec", "--copy", "spec"])

    def console(self, recipe: Recipe) -> str:
        """A console block as it comes out; complaints stand where the output does."""
        text = ""
        for command in recipe.commands():
            program = f'cubinspec() {{ "$PYTHON" -m cubinspec "$@"; }}\n{command}'
            done = self._call(["bash", "-c", program])
            text += f"$ {command}\n{done.stdout}"
            if done.returncode:
                text += f"{done.stderr}(exit status {done.returncode})\n"
        return text

    def _call(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHON": self.python, "COLUMNS": "120"}
        return subprocess.run(
            words,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
