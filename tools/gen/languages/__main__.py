"""``python -m tools.gen.languages``: the spec in other languages, held against Python.

Each example of ``docs/languages`` prints the kernels of cubins with their registers and parameters;
each program of ``walks`` the sections, attributes, symbols and relocations of cubins and fatbins.
They are built with freshly generated classes and run on every sample, and on fatbins made of
samples; each line must be that of the Python program.

A language whose tools are not on this machine is skipped, and said so. Runtimes that are on no
package registry are taken from ``RUNTIMES``, a folder with one checkout per target (``rust``,
``cpp_stl``, …). C++11 is written by the command-line compiler alone, which ``KSC`` names.
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec_generated import codes
from tools.gen import kaitai
from tools.gen.languages import page
from tools.gen.languages.builds import (
    EXAMPLES,
    LANGUAGES,
    ROOT,
    WALKS,
    BuildError,
    Language,
    run,
)
from tools.gen.packages import PACKAGES

SAMPLES = ROOT / "tests" / "data" / "cubins"

#: Every whole number up to this one is a double, too.
_EXACT_DOUBLES = 2**53


def make_fatbins(folder: Path, cubins: list[Path]) -> list[Path]:
    """Two fatbins with the same cubins, as they are and compressed."""
    files = []
    for name, compress in (("plain", False), ("compressed", True)):
        entries = [entry_for(file.read_bytes(), compress_all=compress) for file in cubins]
        file = folder / f"{name}.fatbin"
        file.write_bytes(container(entries))
        files.append(file)
    return files


def same(line: str, expected: str) -> bool:
    """Whether two lines say the same, as far as the language can.

    JavaScript rounds numbers above 2^53.
    """
    words, wanted = line.split(" "), expected.split(" ")
    return len(words) == len(wanted) and all(
        word == other or _rounded(word, other) for word, other in zip(words, wanted, strict=True)
    )


def _rounded(word: str, expected: str) -> bool:
    if not (word.isdecimal() and expected.isdecimal()) or int(expected) < _EXACT_DOUBLES:
        return False
    return float(word) == float(expected)


def differences(found: str, expected: str) -> list[str]:
    """The lines that differ, as ``number: found (expected)``."""
    pairs = zip_longest(found.splitlines(), expected.splitlines(), fillvalue="")
    return [
        f"{number}: {line!r} ({wanted!r})"
        for number, (line, wanted) in enumerate(pairs, 1)
        if not same(line, wanted)
    ]


def missing(language: Language, runtimes: Path | None, ksc: str = "") -> str:
    """Why a language cannot be checked here; empty when it can."""
    absent = [tool for tool in language.tools if not shutil.which(tool)]
    if absent:
        return f"{', '.join(absent)} not on this machine"
    if not language.registry and not (runtimes and (runtimes / language.runtime).is_dir()):
        return f"no runtime: RUNTIMES has no folder {language.runtime}"
    if language.needs_ksc and not ksc:
        return "no command-line compiler: KSC names none"
    return ""


def _compile(language: Language, ksc: str) -> dict[str, str]:
    """The classes of a language that has no package in ``generated``: path -> text."""
    target = language.target
    if language.needs_ksc:
        return kaitai.ksc_compile(ksc, ROOT / "ksy", [target])[target]
    return kaitai.npm_compile(ROOT / "ksy", [target])[target]


def _children() -> float:
    """Seconds of CPU of the programs that ended so far; other load does not change them."""
    used = os.times()
    return used.children_user + used.children_system


@dataclass(frozen=True)
class Files:
    """What the programs read.

    Attributes:
        cubins: what examples read.
        fatbins: what walks read, too.
    """

    cubins: list[Path]
    fatbins: list[Path]

    def of(self, program: Path, language: Language) -> tuple[str, ...]:
        """The files that a program of a language reads."""
        if program.parent != EXAMPLES:
            return tuple(map(str, (*self.cubins, *self.fatbins)))
        left = language.leaves_elf32
        return tuple(str(file) for file in self.cubins if not (left and is_elf32(file)))


def is_elf32(file: Path) -> bool:
    """Whether a cubin has 32-bit addresses."""
    return file.read_bytes()[codes.EI_CLASS] == codes.ELFCLASS32


@functools.cache
def expected(folder: Path, files: tuple[str, ...]) -> str:
    """What the program in Python that stands in a folder prints."""
    (python,) = folder.glob("*.py")
    return run([sys.executable, str(python), *files], ROOT)


def check(
    language: Language, files: Files, runtimes: Path | None, ksc: str = ""
) -> tuple[float, int]:
    """Seconds of CPU that the walk of a language takes, and lines that its programs printed.

    Raises:
        BuildError: one does not build, does not run, or prints other lines than Python.
    """
    target = language.target
    lines = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if target in PACKAGES:
            shutil.copytree(ROOT / PACKAGES[target].FOLDER, folder / "spec")
        elif target:
            (folder / "spec").mkdir()
            for file, text in _compile(language, ksc).items():
                (folder / "spec" / Path(file).name).write_text(text, encoding="utf-8")
        runtime = (runtimes or folder) / language.runtime
        for program in (EXAMPLES / language.example, language.walk):
            read = files.of(program, language)
            command = language.build(folder, program, runtime)
            begin = _children()
            found = run([*command, *read], folder)
            seconds = _children() - begin
            faults = differences(found, expected(program.parent, read))
            if faults:
                told = f"{program.name}: {len(faults)} lines differ from Python's"
                raise BuildError("\n".join([told, *faults[:5]]))
            lines += len(found.splitlines())
    return seconds, lines


def main() -> int:
    """Check every language; 0 when none has a fault."""
    parser = argparse.ArgumentParser(prog="python -m tools.gen.languages", description=__doc__)
    parser.add_argument("--only", help="languages, separated by commas")
    parser.add_argument("--page", action="store_true", help="write docs/targets.md")
    options = parser.parse_args()
    given = os.environ.get("RUNTIMES")
    runtimes = Path(given).resolve() if given else None
    ksc = os.environ.get("KSC", "")
    wanted = options.only.split(",") if options.only else list(LANGUAGES)
    cubins = sorted(SAMPLES.glob("*.cubin"))
    results: dict[str, str] = {}
    status = 0
    with tempfile.TemporaryDirectory() as name:
        files = Files(cubins, make_fatbins(Path(name), cubins[::16]))
        for language in wanted:
            reason = missing(LANGUAGES[language], runtimes, ksc)
            if reason:
                print(f"SKIPPED {language}: {reason}")
                continue
            try:
                seconds, lines = check(LANGUAGES[language], files, runtimes, ksc)
            except BuildError as error:
                status = 1
                print(f"FAILED {language}: {error}")
                continue
            results[language] = f"{seconds:.1f} s of CPU"
            print(f"{language}: {lines} lines as in Python, {results[language]}")
        if options.page:
            every = tuple(map(str, (*files.cubins, *files.fatbins)))
            page.write(results, len(cubins), len(expected(WALKS, every).splitlines()))
    return status


if __name__ == "__main__":
    sys.exit(main())
