"""The options of the linker's command line, and the parser of its words.

Options are spelled, split and refused as nvlink does: no abbreviations, a value after `=` or in the
next word (even one that starts with a hyphen), `-L`, `-l` and `-m` also directly in front of their
value, and a warning when a later value replaces a different one.
"""

from __future__ import annotations

from cubinspec_generated.tables.arch import ARCHES
from cubinspec_writer.linker.inputs.gather import FIRST_TARGET
from cubinspec_writer.linker.inputs.sources import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.sources import Input


class Kind:
    """What an option takes."""

    FLAG = "nothing"
    TEXT = "one text"
    #: The value may be missing at the end of the line or in front of another option.
    OPTIONAL = "a text or nothing"
    CHOICE = "one of a few texts"
    OPTIONAL_CHOICE = "one of a few texts or nothing"
    LIST = "texts separated by commas, any number of times"
    NUMBER = "a number"
    TRUTH = "true or false"


class Option:
    """One option.

    Attributes:
        name: the long form, without its two hyphens.
        short: the short form, without its hyphen; empty when there is none.
        kind: what it takes, one of `Kind`.
        about: its line in `--help`.
        allowed: the values of a choice.
        glued: whether the short form may stand directly in front of its value.
        ours: whether it is an option that nvlink does not have.
    """

    __slots__ = ("about", "allowed", "glued", "kind", "name", "ours", "short")

    def __init__(
        self,
        name: str,
        short: str,
        kind: str,
        about: str,
        allowed: tuple[str, ...] = (),
        glued: bool = False,
        ours: bool = False,
    ) -> None:
        self.name = name
        self.short = short
        self.kind = kind
        self.about = about
        self.allowed = allowed
        self.glued = glued
        self.ours = ours


def _targets() -> tuple[str, ...]:
    """Names that nvlink 13.0 takes as architecture."""
    names = [n for n, (sm, _) in ARCHES.items() if FIRST_TARGET <= sm < _NEXT_TARGET]
    return tuple(n.replace("sm_", prefix) for prefix in ("sm_", "compute_", "lto_") for n in names)


#: First architecture that nvlink 13.0 does not know.
_NEXT_TARGET = 122
_LTO_ONLY = "for link-time optimisation, which this linker does not do; no effect"
OPTIONS = (
    Option("arch", "arch", Kind.CHOICE, "target, such as sm_90a", _targets()),
    Option("output-file", "o", Kind.TEXT, "the file to write"),
    Option("library-path", "L", Kind.LIST, "folders to search for libraries", glued=True),
    Option("library", "l", Kind.LIST, "libraries: NAME stands for libNAME.a", glued=True),
    Option("machine", "m", Kind.NUMBER, "64", ("64",), glued=True),
    Option("relocatable-link", "r", Kind.FLAG, "the output is an input of another link"),
    Option("debug", "g", Kind.FLAG, "remove nothing, keep names of shared variables"),
    Option("verbose", "v", Kind.FLAG, "print resources of kernels, and inputs that are ignored"),
    Option("disable-warnings", "w", Kind.FLAG,
           "no effect, as with nvlink 13.0; --disable-infos hides warnings"),
    Option("disable-infos", "disable-infos", Kind.FLAG,
           "print no warnings, as nvlink 13.0 does, and no notes"),
    Option("warning-as-error", "Werror", Kind.FLAG, "warnings are errors"),
    Option("extra-warnings", "extrawarn", Kind.FLAG, "accepted; there are no extra warnings"),
    Option("report-arch", "report-arch", Kind.FLAG, "name the target in messages"),
    Option("kernels-used", "kernels-used", Kind.LIST,
           "remove kernels that have none of these texts in their name (* fits anything)"),
    Option("variables-used", "variables-used", Kind.LIST,
           "remove kernels that --kernels-used does not keep; variables stay, as with nvlink"),
    Option("use-host-info", "use-host-info", Kind.FLAG,
           "remove kernels that no host object names; this is the default when all inputs say it"),
    Option("ignore-host-info", "ignore-host-info", Kind.FLAG,
           "keep kernels that no host object names"),
    Option("keep-system-libraries", "keep-system-libraries", Kind.FLAG,
           "keep device runtime code that nothing uses"),
    Option("preserve-relocs", "preserve-relocs", Kind.FLAG, "list applied relocations"),
    Option("suppress-arch-warning", "suppress-arch-warning", Kind.FLAG,
           "do not warn about inputs without code for the target"),
    Option("suppress-stack-size-warning", "suppress-stack-size-warning", Kind.FLAG,
           "do not warn when a stack size is unknown"),
    Option("suppress-debug-info", "suppress-debug-info", Kind.FLAG,
           "leave out names of shared variables (with --debug)"),
    Option("dump-callgraph", "dump-callgraph", Kind.FLAG, "print who calls whom"),
    Option("dump-callgraph-no-demangle", "dump-callgraph-no-demangle", Kind.FLAG,
           "the same; nvlink demangles here, too"),
    Option("register-link-binaries", "", Kind.TEXT,
           "write the names of the register functions of all inputs to this file"),
    Option("gen-host-linker-script", "ghls", Kind.OPTIONAL_CHOICE,
           "write a linker script for host objects", ("lcs-abs", "lcs-aug")),
    Option("options-file", "optf", Kind.LIST, "files with more options"),
    Option("cpu-arch", "cpu-arch", Kind.CHOICE, "processor of the host; no effect",
           ("AARCH64", "ARMv7", "PPC64LE", "X86", "X86_64", "unknown")),
    Option("time", "time", Kind.TEXT, "append a table of times to this file"),
    Option("uidx-file", "uidx", Kind.TEXT, "index of the unified functions and data"),
    Option("device-stack-protector", "device-stack-protector", Kind.TRUTH, _LTO_ONLY),
    Option("dlto", "dlto", Kind.FLAG, "link-time optimisation; not supported"),
    Option("link-time-opt", "lto", Kind.FLAG, "the same"),
    Option("emit-ptx", "emit-ptx", Kind.FLAG, _LTO_ONLY),
    Option("nvvmpath", "nvvmpath", Kind.TEXT, _LTO_ONLY),
    Option("Xnvvm", "Xnvvm", Kind.LIST, _LTO_ONLY),
    Option("Xptxas", "Xptxas", Kind.LIST, _LTO_ONLY),
    Option("maxrregcount", "maxrregcount", Kind.NUMBER, _LTO_ONLY),
    Option("split-compile", "split-compile", Kind.NUMBER, _LTO_ONLY),
    Option("split-compile-extended", "split-compile-extended", Kind.NUMBER, _LTO_ONLY),
    Option("Ofast-compile", "Ofc", Kind.OPTIONAL, _LTO_ONLY),
    Option("host-ccbin", "host-ccbin", Kind.TEXT, "compiler that nvcc uses; no effect"),
    Option("shared", "shared", Kind.FLAG, "nvcc makes a shared library; no effect"),
    Option("verbose-tkinfo", "verbose-tkinfo", Kind.TRUTH, "no effect"),
    Option("help", "h", Kind.FLAG, "print this text"),
    Option("version", "V", Kind.FLAG, "print the version"),
    Option("tkinfo-from", "tkinfo-from", Kind.TEXT,
           "take the linker's own tool note from this cubin", ours=True),
    Option("ptxas", "ptxas", Kind.TEXT, "assembler for PTX (default ptxas)", ours=True),
    Option("map", "map", Kind.TEXT, "write a link map (JSON) to this file", ours=True),
    Option("why", "why", Kind.LIST, "print why these symbols are, or are not, in the output",
           ours=True),
    Option("callgraph-dot", "callgraph-dot", Kind.TEXT,
           "write the call graph to this file, for Graphviz", ours=True),
    Option("callgraph-svg", "callgraph-svg", Kind.TEXT,
           "draw the call graph into this file with Graphviz's dot", ours=True),
    Option("share-constants", "share-constants", Kind.FLAG,
           "equal constants of the compiler take their place once", ours=True),
    # off by default: loading the rules takes longer than a small link
    Option("check-output", "check-output", Kind.FLAG,
           "write no cubin that breaks a rule of `cubinspec check`", ours=True),
)  # fmt: skip
_LONG = {option.name: option for option in OPTIONS}
_SHORT = {option.short: option for option in OPTIONS if option.short}
_GLUED = tuple(option.short for option in OPTIONS if option.glued)


class Line:
    """A parsed command line.

    Attributes:
        flags: long names of the flags that were given.
        values: long name -> values, in order; only lists have more than one.
        inputs: files and libraries, in order.
    """

    __slots__ = ("flags", "inputs", "values")

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.values: dict[str, list[str]] = {}
        self.inputs: list[Input] = []

    def last(self, name: str) -> str | None:
        """The value of an option that takes one value; None when it was not given."""
        found = self.values.get(name)
        return found[-1] if found else None

    def listed(self, name: str) -> list[str]:
        """The values of a list, without empty ones."""
        return [value for value in self.values.get(name, ()) if value]


def read_line(words: Sequence[str], line: Line, diagnostics: Diagnostics) -> None:
    """Parse a command line into `line`, which after an error holds the words in front of it.

    Raises:
        LinkError: an unknown option, a missing, needless or wrong value, an unreadable file of
            options.
    """
    _LineReader(line, diagnostics).read(words)


class _LineReader:
    """Adds the words of a command line, and of files of options, to a `Line`."""

    def __init__(self, line: Line, diagnostics: Diagnostics) -> None:
        self.line = line
        self.diagnostics = diagnostics
        #: How many files of options are open.
        self.depth = 0

    def read(self, words: Sequence[str]) -> None:
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if not word.startswith("-") or word == "-":
                self.line.inputs.append(word)
                continue
            option, value = self._find(word)
            written = word.partition("=")[0]
            if option.kind == Kind.FLAG:
                if value is not None:
                    raise self.diagnostics.fatal(f"no argument expected after '{written}'")
                self.line.flags.add(option.name)
                continue
            if value is None:
                optional = option.kind in (Kind.OPTIONAL, Kind.OPTIONAL_CHOICE)
                if optional and (at == len(words) or words[at].startswith("-")):
                    value = option.allowed[0] if option.allowed else ""
                elif at == len(words):
                    raise self.diagnostics.fatal(f"argument expected after '{written}'")
                else:
                    value = words[at]
                    at += 1
            self._take(option, value)

    def _find(self, word: str) -> tuple[Option, str | None]:
        """The option that a word names, and its value when the word has it."""
        name, equals, value = word[1:].partition("=")
        option = _LONG.get(name[1:]) if name.startswith("-") else _SHORT.get(name)
        if option is not None:
            return option, value if equals else None
        if word[1:2] in _GLUED:
            return _SHORT[word[1]], word[2:]
        raise self.diagnostics.fatal(f"Unknown option '{name}'")

    def _take(self, option: Option, value: str) -> None:
        self._check(option, value)
        line = self.line
        if option.name == "library":
            line.inputs += [Library(name) for name in value.split(",") if name]
        elif option.name == "options-file":
            for path in value.split(","):
                self._options_file(path)
        elif option.kind == Kind.LIST:
            line.values.setdefault(option.name, []).extend(value.split(","))
        else:
            earlier = line.last(option.name)
            if earlier is not None and earlier != value:
                self.diagnostics.warning(
                    f"incompatible redefinition for option '{option.name}', "
                    "the last value of this option was used"
                )
            line.values[option.name] = [value]

    def _check(self, option: Option, value: str) -> None:
        if option.kind == Kind.NUMBER and value and not _is_number(value):
            raise self.diagnostics.fatal(f"'{value}': expected a number")
        if option.kind == Kind.TRUTH and value not in ("true", "false"):
            raise self.diagnostics.fatal(f"'{value}': expected true or false")
        if option.allowed and value not in option.allowed:
            raise self.diagnostics.fatal(
                f"Value '{value}' is not defined for option '{option.name}'"
            )

    def _options_file(self, path: str) -> None:
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read()
        except OSError:
            raise self.diagnostics.fatal(f"Could not open options file '{path}'") from None
        if self.depth >= _MAX_DEPTH:
            raise self.diagnostics.fatal(f"options file '{path}' is {self.depth} files deep")
        words = list(split_options(text))
        if None in words:
            raise self.diagnostics.fatal("Stray '\"' character")
        self.depth += 1
        self.read([word for word in words if word is not None])
        self.depth -= 1


#: Files of options may name others; a file that names itself ends here.
_MAX_DEPTH = 20


def _is_number(text: str) -> bool:
    try:
        int(text, 0)
    except ValueError:
        return False
    return True


def split_options(text: str) -> Iterator[str | None]:
    """The words of a file of options; None for a quotation that does not end.

    Blanks and line ends separate words, double quotation marks group a word, and a backslash
    escapes the next character.
    """
    word: list[str] | None = None
    quoted = False
    characters = iter(text)
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            word = (word or []) + ([following] if following != '"' else [])
        elif character == '"':
            quoted = not quoted
            word = word or []
        elif character.isspace() and not quoted:
            if word is not None:
                yield "".join(word)
            word = None
        else:
            word = [*(word or []), character]
    if quoted:
        yield None
    elif word is not None:
        yield "".join(word)


def usage() -> str:
    """The text of `--help`."""
    lines = ["usage: cubinspec link [options] <objects>", ""]
    lines.append("Links relocatable cubins, host objects, fatbins and libraries as nvlink does.")
    for title, ours in (("Options", False), ("Options that nvlink does not have", True)):
        lines += ["", f"{title}:"]
        for option in OPTIONS:
            if option.ours is ours:
                short = f", -{option.short}" if option.short not in ("", option.name) else ""
                value = "" if option.kind == Kind.FLAG else " VALUE"
                lines.append(f"  --{option.name}{short}{value}")
                lines.append(f"        {option.about}")
    return "\n".join(lines) + "\n"
