"""The options of the linker's command line as a table, the text of `--help`, and the parser.

Options are spelled, split and refused as nvlink does: no abbreviations, a value after `=` or in the
next word (even one that starts with a hyphen), `-L`, `-l` and `-m` also directly in front of their
value, and a warning when a later value replaces a different one.
"""

from __future__ import annotations

from cubinspec.errors import CubinError
from cubinspec.format.strings import decode
from cubinspec.format.targets import link_target_names, linker_toolkits
from cubinspec_writer.linker.inputs.sources import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.sources import Input


class Takes:
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


class LineOption:
    """One option.

    Attributes:
        name: the long form, without its two hyphens.
        short: the short form, without its hyphen; empty when there is none.
        kind: what it takes, one of `Takes`.
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
        self.name: str = name
        self.short: str = short
        self.kind: str = kind
        self.about: str = about
        self.allowed: tuple[str, ...] = allowed
        self.glued: bool = glued
        self.ours: bool = ours


def _targets() -> tuple[str, ...]:
    """Names that the linker takes as architecture."""
    names = link_target_names()
    return tuple(n.replace("sm_", prefix) for prefix in ("sm_", "compute_", "lto_") for n in names)


_LTO_ONLY = "for link-time optimisation, which this linker does not do; no effect"
_FOR_PTXAS = "for ptxas, where it assembles PTX"
OPTIONS = (
    LineOption("arch", "arch", Takes.CHOICE, "target, such as sm_90a", _targets()),
    LineOption("output-file", "o", Takes.TEXT, "the file to write"),
    LineOption("library-path", "L", Takes.LIST, "folders to search for libraries", glued=True),
    LineOption("library", "l", Takes.LIST, "libraries: NAME stands for libNAME.a", glued=True),
    LineOption("machine", "m", Takes.NUMBER, "64", ("64",), glued=True),
    LineOption("relocatable-link", "r", Takes.FLAG, "the output is an input of another link"),
    LineOption("debug", "g", Takes.FLAG, "remove nothing, keep names of shared variables"),
    LineOption("verbose", "v", Takes.FLAG,
               "print resources of kernels, and inputs that are ignored"),
    LineOption("disable-warnings", "w", Takes.FLAG,
               "no effect, as with nvlink 13.0; --disable-infos hides warnings"),
    LineOption("disable-infos", "disable-infos", Takes.FLAG,
               "print no warnings, as nvlink 13.0 does, and no notes"),
    LineOption("warning-as-error", "Werror", Takes.FLAG, "warnings are errors"),
    LineOption("extra-warnings", "extrawarn", Takes.FLAG,
               "warn of functions whose address is taken although no kernel calls them"),
    LineOption("report-arch", "report-arch", Takes.FLAG, "name the target in messages"),
    LineOption("kernels-used", "kernels-used", Takes.LIST,
               "remove kernels that have none of these texts in their name (* fits anything)"),
    LineOption("variables-used", "variables-used", Takes.LIST,
               "remove kernels that --kernels-used does not keep; variables stay, as with nvlink"),
    LineOption("use-host-info", "use-host-info", Takes.FLAG,
               "remove kernels that no host object names; "
               "this is the default when all inputs say it"),
    LineOption("ignore-host-info", "ignore-host-info", Takes.FLAG,
               "keep kernels that no host object names"),
    LineOption("keep-system-libraries", "keep-system-libraries", Takes.FLAG,
               "keep device runtime code that nothing uses"),
    LineOption("preserve-relocs", "preserve-relocs", Takes.FLAG, "list applied relocations"),
    LineOption("suppress-arch-warning", "suppress-arch-warning", Takes.FLAG,
               "do not warn about inputs without code for the target"),
    LineOption("suppress-stack-size-warning", "suppress-stack-size-warning", Takes.FLAG,
               "do not warn when a stack size is unknown"),
    LineOption("suppress-debug-info", "suppress-debug-info", Takes.FLAG,
               "leave out names of shared variables (with --debug)"),
    LineOption("dump-callgraph", "dump-callgraph", Takes.FLAG, "print who calls whom"),
    LineOption("dump-callgraph-no-demangle", "dump-callgraph-no-demangle", Takes.FLAG,
               "the same; nvlink demangles here, too"),
    LineOption("register-link-binaries", "", Takes.TEXT,
               "write the names of the register functions of all inputs to this file"),
    LineOption("gen-host-linker-script", "ghls", Takes.OPTIONAL_CHOICE,
               "write a linker script for host objects", ("lcs-abs", "lcs-aug")),
    LineOption("options-file", "optf", Takes.LIST, "files with more options"),
    LineOption("cpu-arch", "cpu-arch", Takes.CHOICE,
               "processor of the host, whose libraries count (default X86_64)",
               ("AARCH64", "ARMv7", "PPC64LE", "X86", "X86_64", "unknown")),
    LineOption("time", "time", Takes.TEXT, "append a table of times to this file"),
    LineOption("uidx-file", "uidx", Takes.TEXT, "index of the unified functions and data"),
    LineOption("device-stack-protector", "device-stack-protector", Takes.TRUTH, _FOR_PTXAS),
    LineOption("dlto", "dlto", Takes.FLAG, "link-time optimisation; not supported"),
    LineOption("link-time-opt", "lto", Takes.FLAG, "the same"),
    LineOption("emit-ptx", "emit-ptx", Takes.FLAG, _LTO_ONLY),
    LineOption("nvvmpath", "nvvmpath", Takes.TEXT, _LTO_ONLY),
    LineOption("Xnvvm", "Xnvvm", Takes.LIST, _LTO_ONLY),
    LineOption("Xptxas", "Xptxas", Takes.LIST, _FOR_PTXAS),
    LineOption("maxrregcount", "maxrregcount", Takes.NUMBER, _FOR_PTXAS),
    LineOption("split-compile", "split-compile", Takes.NUMBER, _FOR_PTXAS),
    LineOption("split-compile-extended", "split-compile-extended", Takes.NUMBER, _LTO_ONLY),
    LineOption("Ofast-compile", "Ofc", Takes.OPTIONAL, _LTO_ONLY),
    LineOption("host-ccbin", "host-ccbin", Takes.TEXT, "compiler that nvcc uses; no effect"),
    LineOption("shared", "shared", Takes.FLAG, "nvcc makes a shared library; no effect"),
    LineOption("verbose-tkinfo", "verbose-tkinfo", Takes.TRUTH, "no effect"),
    LineOption("dot-file", "dot", Takes.TEXT, "write the call graph to this file, for Graphviz"),
    LineOption("tool-name", "tool-name", Takes.TEXT,
               "name of the linker in nvlink's tool note; no effect"),
    LineOption("allow-undefined-globals", "allow-undefined-globals", Takes.FLAG,
               "variables may stay undefined"),
    LineOption("disable-smem-reservation", "disable-smem-reservation", Takes.TRUTH,
               "shared memory that the hardware keeps does not count"),
    LineOption("enable-extended-smem", "enable-extended-smem", Takes.TRUTH, "no effect"),
    LineOption("syscall-const-offset", "syscall-const-offset", Takes.NUMBER, "no effect"),
    LineOption("uumn", "uumn", Takes.FLAG, "no effect"),
    LineOption("host-linker-options", "Xlinker", Takes.LIST, "no effect"),
    LineOption("force-rela", "force-rela", Takes.FLAG, "not supported"),
    LineOption("reserve-null-pointer", "reserve-null-pointer", Takes.FLAG, "not supported"),
    LineOption("force-partial-lto", "force-partial-lto", Takes.FLAG, _LTO_ONLY),
    LineOption("help", "h", Takes.FLAG, "print this text"),
    LineOption("version", "V", Takes.FLAG, "print the version"),
    LineOption("tkinfo-from", "tkinfo-from", Takes.TEXT,
               "take the linker's own tool note from this cubin", ours=True),
    LineOption("ptxas", "ptxas", Takes.TEXT, "assembler for PTX (default ptxas)", ours=True),
    LineOption("toolkit", "toolkit", Takes.CHOICE,
               "imitate the nvlink of this CUDA version (default: that of the newest input)",
               tuple(linker_toolkits()), ours=True),
    LineOption("summary", "summary", Takes.FLAG,
               "print what was linked, dropped and shared, the sizes, and a table of the kernels",
               ours=True),
    LineOption("map", "map", Takes.TEXT,
               "write a link map (JSON) to this file: what went where and why, who shares memory",
               ours=True),
    LineOption("why", "why", Takes.LIST, "print why these symbols are, or are not, in the output",
               ours=True),
    LineOption("callgraph-dot", "callgraph-dot", Takes.TEXT,
               "write the call graph to this file, for Graphviz", ours=True),
    LineOption("callgraph-svg", "callgraph-svg", Takes.TEXT,
               "draw the call graph into this file, as SVG", ours=True),
    LineOption("share-constants", "share-constants", Takes.FLAG,
               "equal constants of the compiler take their place once", ours=True),
    # off by default, as loading the rules takes longer than a small link
    LineOption("check-output", "check-output", Takes.FLAG,
               "write no cubin that breaks a rule of `cubinspec check`", ours=True),
    LineOption("no-fsync", "no-fsync", Takes.FLAG,
               "do not wait until the output is on the disk", ours=True),
)  # fmt: skip
#: Options by the long form, by the short form, and the short forms that may be glued.
LONG = {option.name: option for option in OPTIONS}
SHORT = {option.short: option for option in OPTIONS if option.short}
GLUED = tuple(option.short for option in OPTIONS if option.glued)
_DIGITS = {8: "01234567", 10: "0123456789", 16: "0123456789abcdefABCDEF"}
#: Numbers are those of 32 bits with a sign.
_BEYOND = 1 << 31
_MAX_DIGITS = 100


def usage() -> str:
    """The text of `--help`."""
    lines = ["usage: cubinspec link [options] <objects>", ""]
    lines.append("Links relocatable cubins, host objects, fatbins and libraries as nvlink does.")
    for title, ours in (("Options", False), ("Options that nvlink does not have", True)):
        lines += ["", f"{title}:"]
        for option in OPTIONS:
            if option.ours is ours:
                short = f", -{option.short}" if option.short not in ("", option.name) else ""
                value = "" if option.kind == Takes.FLAG else " VALUE"
                lines.append(f"  --{option.name}{short}{value}")
                lines.append(f"        {option.about}")
    return "\n".join(lines) + "\n"


class Line:
    """A parsed command line.

    Attributes:
        flags: long names of the flags that were given.
        values: long name -> values, in order; only lists have more than one.
        inputs: files and libraries, in order.
        program: what stands in front of messages, from the link itself on.
    """

    __slots__ = ("flags", "inputs", "program", "values")

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.values: dict[str, list[str]] = {}
        self.inputs: list[Input] = []
        self.program: str = "cubinspec link"

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
    """Adds the words of a command line, and of files of options, to a `Line` (rule M13)."""

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
            if option.kind == Takes.FLAG:
                if value is not None:
                    raise self.diagnostics.fatal(f"no argument expected after '{written}'")
                self.line.flags.add(option.name)
                continue
            if value is None:
                optional = option.kind in (Takes.OPTIONAL, Takes.OPTIONAL_CHOICE)
                if optional and (at == len(words) or words[at].startswith("-")):
                    value = option.allowed[0] if option.allowed else ""
                elif at == len(words):
                    raise self.diagnostics.fatal(f"argument expected after '{written}'")
                else:
                    value = words[at]
                    at += 1
            self._take(option, value)

    def _find(self, word: str) -> tuple[LineOption, str | None]:
        """The option that a word names, and its value when the word has it."""
        name, equals, value = word[1:].partition("=")
        option = LONG.get(name[1:]) if name.startswith("-") else SHORT.get(name)
        if option is not None:
            return option, value if equals else None
        if word[1:2] in GLUED:
            return SHORT[word[1]], word[2:]
        raise self.diagnostics.fatal(f"Unknown option '{name}'")

    def _take(self, option: LineOption, value: str) -> None:
        self._check(option, value)
        line = self.line
        if option.name == "library":
            line.inputs += [Library(name) for name in value.split(",") if name]
        elif option.name == "options-file":
            for path in value.split(","):
                self._options_file(path)
        elif option.kind == Takes.LIST:
            line.values.setdefault(option.name, []).extend(value.split(","))
        else:
            earlier = line.last(option.name)
            if earlier is not None and earlier != value:
                self.diagnostics.warning(
                    f"incompatible redefinition for option '{option.name}', "
                    "the last value of this option was used"
                )
            line.values[option.name] = [value]

    def _check(self, option: LineOption, value: str) -> None:
        if option.kind == Takes.NUMBER and value:
            number = c_number(value)
            if number is None:
                raise self.diagnostics.fatal(f"'{value}': expected a number")
            if not -_BEYOND <= number < _BEYOND:
                raise self.diagnostics.fatal(f"32-bit integer value ({value}) out of range")
            if str(number) in option.allowed:
                return
        if option.kind == Takes.TRUTH and value not in ("true", "false"):
            raise self.diagnostics.fatal(f"'{value}': expected true or false")
        if option.allowed and value not in option.allowed:
            raise self.diagnostics.fatal(
                f"Value '{value}' is not defined for option '{option.name}'"
            )

    def _options_file(self, path: str) -> None:
        from cubinspec.files import read_file

        try:
            text = decode(read_file(path))
        except CubinError:
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


def c_number(text: str) -> int | None:
    """A number as in C: with `0x` in front hexadecimal, with `0` octal; None: it is none."""
    text = text.lstrip()
    digits = text[1:] if text[:1] in ("+", "-") else text
    base = 8 if digits[:1] == "0" else 10
    if digits[:2] in ("0x", "0X"):
        digits, base = digits[2:], 16
    if not digits or digits.strip(_DIGITS[base]):
        return None
    # Python converts no longer texts, and so many digits are more than any option takes
    number = int(digits[:_MAX_DIGITS], base)
    return -number if text[0] == "-" else number


def split_options(text: str) -> Iterator[str | None]:
    """The words of a file of options; None for a quotation that does not end.

    Blanks and line ends separate words, double quotation marks group a word, and a backslash
    escapes the next character.
    """
    word: list[str] = []
    is_word = quoted = False
    characters = iter(text)
    for character in characters:
        if character.isspace() and not quoted:
            if is_word:
                yield "".join(word)
            word, is_word = [], False
            continue
        is_word = True
        if character == "\\":
            following = next(characters, "")
            if following != '"':
                word.append(following)
        elif character == '"':
            quoted = not quoted
        else:
            word.append(character)
    if quoted:
        yield None
    elif is_word:
        yield "".join(word)
