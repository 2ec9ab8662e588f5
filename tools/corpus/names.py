"""`python -m tools.corpus.names FILE...`: names that tools give by themselves and no table knows.

Looks at every section of cubins, wherever they are inside of a file, and at the symbols whose name
no source gives: C reserves names with `.` or `$`, and those that begin with two `_` or with `_` and
a capital, for compilers and libraries. So are functions that an executable uses and does not have:
the driver defines them. With `--text` a file is a text that mentions names. The exit status is 1
when there is a name for which `cubinspec explain` has nothing.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import cubinspec
from cubinspec import Cubin
from cubinspec.report import explain as explaining
from cubinspec_generated.codes import ET_EXEC, SHN_UNDEF, STT_FUNC, STT_SECTION

_RESERVED = re.compile(r"[^.$]*[.$]|__|_[A-Z]")
_CXX = ("_Z", "$_Z")
#: A name in a text; `<function>` and the like stand for any name.
_IN_TEXT = re.compile(
    r"(?<![\w.])(?:\.(?:nv|rela?|text|debug|note|sass|shstrtab|strtab|symtab)[\w.<>*%]*"
    r"|__(?:nv|cuda|UFT|UDT)\w*|(?:cnp|cuda)[A-Z]\w+)"
)

_NEXT_CELL = re.compile(r"(?=SHT_|sub_|0x7|(?<=[a-z0-9])[A-Z]|merge_)")


def fixed_names(cubin: Cubin) -> Iterator[str]:
    """Names of a cubin that its source did not give, or not alone."""
    for section in cubin.sections:
        if section.name:
            yield section.name
    is_executable = cubin.header.e_type == ET_EXEC
    for symbols in (cubin.symbols, cubin.mercury_symbols):
        for symbol in symbols:
            name, kind = symbol.name, symbol.st_type
            given_by_driver = is_executable and symbol.st_shndx == SHN_UNDEF and kind == STT_FUNC
            is_reserved = _RESERVED.match(name) and not name.startswith(_CXX)
            if name and (is_reserved or given_by_driver or kind == STT_SECTION):
                yield name


def names_in_text(text: str) -> Iterator[str]:
    """Names that a text mentions.

    In a table that was copied from a page the next cell follows without a space: where it may begin
    (a capital, a number, a name of another sort), a name ends that is not known as it stands.
    """
    words = {match[0].rstrip(".") for match in _IN_TEXT.finditer(text)}
    ends = {
        word: [*(cut.start() for cut in _NEXT_CELL.finditer(word)), len(word)] for word in words
    }
    strange = {*unknown(word[:end] for word in words for end in ends[word])}
    for word in words:
        known = [word[:end] for end in ends[word] if word[:end] not in strange]
        yield known[-1] if known else word


def unknown(names: Iterable[str]) -> list[str]:
    """Those that `explain` has nothing for."""
    load = explaining.load_table
    explaining.load_table = functools.cache(load)
    try:
        return sorted(name for name in set(names) if not explaining.explain(name))
    finally:
        explaining.load_table = load


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.corpus.names", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--text", action="store_true", help="the files are texts")
    options = parser.parse_args()
    names: dict[str, str] = {}
    for file in options.files:
        if options.text:
            names |= dict.fromkeys(names_in_text(file.read_text("utf-8")), file.name)
            continue
        for image in cubinspec.images(file):
            if image.kind == "cubin" and image.error is None:
                with image.cubin() as cubin:
                    names |= dict.fromkeys(fixed_names(cubin), str(image))
    missing = unknown(names)
    for name in missing:
        print(f"{name}: {names[name]}")
    print(f"{len(names)} names, {len(missing)} unknown", file=sys.stderr)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
