"""The linker's command line: options as nvlink spells them, one line per message."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from cubinspec.errors import CubinError
from cubinspec.reader.elf import Elf

from . import link, notes
from .diagnostics import EXIT_FATAL, Diagnostics, LinkError, UnsupportedLinkError
from .gather import Input, Library
from .options import LinkOptions

USAGE = """\
usage: cubinspec link [options] <objects>

Links relocatable cubins, host objects, fatbins and libraries as nvlink does.

  -arch, --arch ARCH            target, such as sm_90a
  -o, --output-file FILE        output (default a.out)
  -L, --library-path DIR        folder to search for libraries
  -l, --library NAME            library libNAME.a
  -r, --relocatable-link        the output is an input of another link
  -g, --debug                   recorded in the tool note
  -v, --verbose                 also print infos
  -w, --disable-warnings        print no warnings
  -Werror, --warning-as-error   warnings are errors
  --kernels-used NAME,...       kernels without one of these texts in their name are removed
  --preserve-relocs             list applied relocations in the output
  --keep-system-libraries       keep device runtime code that nothing uses
  --suppress-stack-size-warning do not warn when a stack size is unknown
  --tkinfo-from CUBIN           take the linker's own tool note from this cubin
  --ptxas PROGRAM               assembler for PTX inputs (default ptxas)
"""
#: Spellings of options: key, and whether a value follows.
_VALUES = {
    "arch": ("arch",),
    "output-file": ("output-file", "o"),
    "library-path": ("library-path", "L"),
    "library": ("library", "l"),
    "machine": ("machine", "m"),
    "kernels-used": ("kernels-used",),
    "cpu-arch": ("cpu-arch",),
    "tkinfo-from": ("tkinfo-from",),
    "ptxas": ("ptxas",),
    "options-file": ("options-file", "optf"),
}
_FLAGS = {
    "relocatable-link": ("relocatable-link", "r"),
    "debug": ("debug", "g"),
    "verbose": ("verbose", "v"),
    "disable-warnings": ("disable-warnings", "w"),
    "warning-as-error": ("warning-as-error", "Werror"),
    "preserve-relocs": ("preserve-relocs",),
    "keep-system-libraries": ("keep-system-libraries",),
    "suppress-stack-size-warning": ("suppress-stack-size-warning",),
    "suppress-arch-warning": ("suppress-arch-warning",),
    "disable-infos": ("disable-infos",),
    "extra-warnings": ("extra-warnings", "extrawarn"),
    "ignore-host-info": ("ignore-host-info",),
    "help": ("help", "h"),
}
#: Options of nvlink that change its output in ways this linker does not.
_NOT_LINKED = frozenset(
    ("dlto", "lto", "link-time-opt", "use-host-info", "variables-used", "device-stack-protector",
     "suppress-debug-info", "uidx-file", "uidx", "emit-ptx", "gen-host-linker-script", "ghls",
     "register-link-binaries", "dump-callgraph", "dump-callgraph-no-demangle")
)  # fmt: skip
_VALUE_OF = {name: key for key, names in _VALUES.items() for name in names}
_FLAG_OF = {name: key for key, names in _FLAGS.items() for name in names}
#: Options whose value may follow without a blank.
_GLUED = ("L", "l", "m", "o")
_MACHINE = "64"


class _Line:
    """A command line taken apart; inputs and libraries keep their order."""

    def __init__(self, words: Sequence[str], diagnostics: Diagnostics) -> None:
        self.values: dict[str, list[str]] = {}
        self.flags: set[str] = set()
        self.inputs: list[Input] = []
        self.diagnostics = diagnostics
        self._read(words)

    def _read(self, words: Sequence[str]) -> None:
        rest = iter(words)
        for word in rest:
            if not word.startswith("-") or word == "-":
                self.inputs.append(word)
                continue
            name, equals, text = word.lstrip("-").partition("=")
            if name in _VALUE_OF:
                value = text if equals else next(rest, None)
                if value is None:
                    raise self.diagnostics.fatal(f"Missing value for option '{word}'")
                self._value(_VALUE_OF[name], value)
            elif name in _FLAG_OF:
                self.flags.add(_FLAG_OF[name])
            elif name in _NOT_LINKED:
                raise UnsupportedLinkError(f"option '{word}'")
            elif word[1:2] in _GLUED and not word.startswith("--"):
                self._value(_VALUE_OF[word[1]], word[2:])
            else:
                raise self.diagnostics.fatal(f"Unknown option '{word}'")

    def _value(self, key: str, value: str) -> None:
        if key == "library":
            self.inputs += [Library(name) for name in value.split(",")]
        elif key == "options-file":
            for path in value.split(","):
                self._read(Path(path).read_text(encoding="utf-8").split())
        else:
            self.values.setdefault(key, []).extend(
                value.split(",") if key in ("library-path", "kernels-used") else [value]
            )

    def last(self, key: str) -> str | None:
        """The last value given to an option."""
        found = self.values.get(key)
        return found[-1] if found else None


def run(words: Sequence[str]) -> int:
    """Link as the words say; returns the exit status."""
    diagnostics = Diagnostics()
    try:
        line = _Line(words, diagnostics)
        if "help" in line.flags:
            print(USAGE, end="")
            return 0
        machine = line.last("machine")
        if machine not in (None, _MACHINE):
            raise diagnostics.fatal(f"Value '{machine}' is not defined for option 'machine'")
        result = link(line.inputs, _options(line))
        _report(line, result.messages)
        Path(line.last("output-file") or "a.out").write_bytes(result.bytes)
    except LinkError as error:
        _print(error.messages)
        return error.exit_code
    except (CubinError, OSError) as error:
        _print([("fatal", str(error))])
        return EXIT_FATAL
    return 0


def _options(line: _Line) -> LinkOptions:
    arch = line.last("arch") or ""
    source = line.last("tkinfo-from")
    return LinkOptions(
        arch,
        relocatable="relocatable-link" in line.flags,
        debug="debug" in line.flags,
        preserve_relocs="preserve-relocs" in line.flags,
        kernels_used=line.values.get("kernels-used"),
        warnings_are_errors="warning-as-error" in line.flags,
        stack_warnings="suppress-stack-size-warning" not in line.flags,
        tkinfo=linker_note(Path(source).read_bytes(), source) if source else None,
        arguments=f"-arch {arch}" + "".join(f" --{flag}" for flag in sorted(line.flags)),
        library_paths=line.values.get("library-path", []),
        keep_system_libraries="keep-system-libraries" in line.flags,
        ptxas=line.last("ptxas") or "ptxas",
    )


def linker_note(data: bytes, name: str) -> bytes:
    """The first tool note of a linked cubin: the linker's own.

    Raises:
        CubinError: the file is no cubin or has no tool note.
    """
    elf = Elf(data, name)
    for index, section in enumerate(elf.section_names):
        if section == ".note.nv.tkinfo":
            found = notes.split_notes(elf.section_bytes(index))
            if found:
                return found[0]
    raise CubinError("no tool note", file=name, field=".note.nv.tkinfo")


def _report(line: _Line, messages: list[tuple[str, str]]) -> None:
    shown = {"warning", "error"}
    if "verbose" in line.flags and "disable-infos" not in line.flags:
        shown.add("info")
    if "disable-warnings" in line.flags:
        shown.discard("warning")
    _print([m for m in messages if m[0] in shown])


def _print(messages: list[tuple[str, str]]) -> None:
    for level, text in messages:
        print(f"cubinspec link {level:<7} : {text}", file=sys.stderr)
