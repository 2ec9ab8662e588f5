"""Parses the linker's command line.

Options are spelled, split and refused as nvlink does: no abbreviations, a value after `=` or in the
next word (even one that starts with a hyphen), `-L`, `-l` and `-m` also directly in front of their
value, and a warning when a later value replaces a different one.
"""

from __future__ import annotations

from cubinspec_writer.linker.inputs.option_table import GLUED, LONG, SHORT, Takes
from cubinspec_writer.linker.inputs.sources import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.option_table import LineOption
    from cubinspec_writer.linker.inputs.sources import Input


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
        if option.kind == Takes.NUMBER and value and not _is_number(value):
            raise self.diagnostics.fatal(f"'{value}': expected a number")
        if option.kind == Takes.TRUTH and value not in ("true", "false"):
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
