"""Which option words nvlink knows, found by asking it.

    python -m tools.linkcases.sweep.options [--pairs] [--help-of PROGRAM ...] [--text FILE ...]

nvlink reads its words in order and ends at the first that it does not know ("Unknown option"), so
that one run tells of one word. The words come from the help texts of nvlink, ptxas, nvcc and the
other tools beside them, and from `WORDS`: those of nvJitLink's API, and guesses. With `--pairs` all
words of up to three letters come, too, and all pairs of the parts of known options: 35,000 runs,
which found `-dot` (`--dot-file`).

`--help-of` adds the words in the help text of other programs, such as ptxas and nvlink of other
toolkits or the host's `ld`; `--text` those of a file, such as a header of nvJitLink.
"""

from __future__ import annotations

import argparse
import itertools
import re
import string
from collections.abc import Iterable, Iterator
from pathlib import Path

from cubinspec_writer.linker.diagnostics import Diagnostics, LinkError
from cubinspec_writer.linker.inputs.arguments import GLUED, OPTIONS, Line, read_line
from tools import oracle

_HELPS = ("nvlink", "ptxas", "nvcc", "fatbinary", "cuobjdump", "nvdisasm")
#: Options of nvJitLink's API, and words that were tried.
WORDS = [
    "O",
    "ftz",
    "prec-div",
    "prec-sqrt",
    "fma",
    "lineinfo",
    "ptx",
    "no-cache",
    "optimize-unused-variables",
    "jump-table-density",
    "uumn",
    "dot",
    "dot-file",
    "host-linker-options",
    "Xlinker",
    "tool-name",
    "force-rela",
    "force-rel",
    "reserve-null-pointer",
    "allow-undefined-globals",
    "allow-undefined",
    "disable-smem-reservation",
    "enable-smem-reservation",
    "enable-extended-smem",
    "disable-extended-smem",
    "syscall-const-offset",
    "force-partial-lto",
    "partial-lto",
    "partial-link",
    "whole-program",
    "incremental-link",
    "edit-and-continue",
    "jit",
    "jit-link",
    "finalize",
    "finalizer",
    "no-finalizer",
    "opportunistic-finalization-lvl",
    "binary-kind",
    "self-check",
    "out-sass",
    "sanitize",
    "trap-into-debugger",
    "strip",
    "strip-all",
    "gc-sections",
    "undefined",
    "entry",
    "soname",
    "rpath",
    "static",
    "dynamic",
    "export-dynamic",
    "whole-archive",
    "start-group",
    "end-group",
    "emit-relocs",
    "print-map",
    "trace",
    "cref",
    "stats",
    "max-shared",
    "stack-size",
]


def words() -> list[str]:
    """The words to ask about, without hyphens in front."""
    found = set(WORDS)
    for tool in _HELPS:
        found |= help_words(str(oracle.find(tool).path))
    found |= {name for option in OPTIONS for name in (option.name, option.short) if name}
    return sorted(found)


def help_words(program: str) -> set[str]:
    """The option words in the help text of a program."""
    result = oracle.run([program, "--help"])
    return text_words(result.stdout + result.stderr)


def text_words(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?([A-Za-z][\w-]+)", text))


def pairs() -> Iterator[str]:
    """All words of up to three small letters, and all pairs of parts of known words."""
    for length in (1, 2, 3):
        yield from map("".join, itertools.product(string.ascii_lowercase, repeat=length))
    parts = {part for option in OPTIONS for part in option.name.split("-")}
    yield from map("-".join, itertools.permutations(sorted(parts), 2))


def spellings(found: Iterable[str]) -> Iterator[str]:
    """Every word as a long and as a short option."""
    for word in found:
        yield f"--{word}"
        if not word.startswith(GLUED):
            yield f"-{word}"


def known_to_nvlink(word: str) -> bool:
    result = oracle.find("nvlink").run(word)
    return "Unknown option" not in result.stdout + result.stderr


def known_here(word: str) -> bool:
    try:
        read_line([word], Line(), Diagnostics())
    except LinkError as error:
        return not any("Unknown option" in text for _, text in error.messages)
    return True


def main() -> None:
    """Print every word that nvlink knows and this linker does not."""
    parser = argparse.ArgumentParser(description="Ask nvlink for its option words.")
    parser.add_argument("--pairs", action="store_true", help="35,000 words more")
    parser.add_argument("--help-of", nargs="*", default=[], help="other programs with options")
    parser.add_argument("--text", nargs="*", default=[], type=Path, help="files with options")
    given = parser.parse_args()
    asked = set(words())
    for program in given.help_of:
        asked |= help_words(program)
    for path in given.text:
        asked |= text_words(path.read_text(encoding="utf-8", errors="replace"))
    if given.pairs:
        asked |= set(pairs())
    print(f"{len(asked)} words", flush=True)
    for word in spellings(sorted(asked)):
        if not known_here(word) and known_to_nvlink(word):
            print(word, flush=True)


if __name__ == "__main__":
    main()
