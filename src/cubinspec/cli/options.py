"""A small option parser.

``argparse`` imports ``re`` and ``gettext``, which takes longer than a whole small command, and a
short start-up is one of the promises of docs/performance.md.
"""

from __future__ import annotations


class UsageError(Exception):
    """The command line does not fit the command."""


class Option:
    """One option of a command.

    Args:
        names: all spellings; the longest is the one that :class:`Arguments` is asked for.
        value: what its value is called in the help; ``None`` for a flag.
        help: one line.
    """

    __slots__ = ("help", "names", "value")
    names: tuple[str, ...]

    def __init__(self, *names: str, value: str | None = None, help: str) -> None:
        self.names = names
        self.value: str | None = value
        self.help: str = help

    @property
    def key(self) -> str:
        """The spelling that identifies the option."""
        return max(self.names, key=len)


JSON = Option("--json", help="JSON instead of text: an array with a record on each line")
JSONL = Option("--jsonl", help="JSON Lines: the same records, for pipes")
#: What a command takes that prints records.
JSON_OPTIONS = (JSON, JSONL)
#: Options that choose what is printed instead of text; one at a time.
FORMS = ("--json", "--jsonl", "--csv", "--sarif", "--markdown", "--github", "--print")
#: Options that name a file to be written, which may be the standard output.
WRITTEN = ("--output", "--svg", "--dot", "--html", "--sarif-out", "--junit-out")
#: Digits of a limit that count; more of them is no limit at all.
_MAX_DIGITS = 18
WIDE = Option("--wide", help="whole names, also where they do not fit the terminal")


LIMIT = Option(
    "--limit",
    value="NAME=VALUE",
    help="what one file may take at most, however large; see docs/robustness.md",
)
NO_FSYNC = Option("--no-fsync", help="do not wait until the output is on the disk")


def with_common(usage: str, options: tuple[Option, ...]) -> tuple[Option, ...]:
    """The options of a command and those that all commands of its kind have.

    Args:
        usage: tells whether it reads files.
    """
    writes_file = any(o.key == "--output" and o.value != "DIR" for o in options)
    reads = any(word in usage for word in ("FILE", "PATH", "OLD"))
    return (*options, *(LIMIT,) * reads, *(NO_FSYNC,) * writes_file)


class Arguments:
    """A parsed command line."""

    __slots__ = ("_values", "positional")

    def __init__(self, positional: list[str], values: dict[str, list[str]]) -> None:
        self.positional: list[str] = positional
        self._values = values

    def flag(self, key: str) -> bool:
        """Whether the option was given."""
        return key in self._values

    @property
    def wants_json(self) -> bool:
        """Whether ``--json`` or ``--jsonl`` was given."""
        return "--json" in self._values or "--jsonl" in self._values

    @property
    def streams(self) -> list[str]:
        """The options whose output goes to the standard output, in place of the text."""
        return [key for key in WRITTEN if self.value(key) == "-"]

    def check_forms(self) -> None:
        """Refuse to print in two forms at once.

        Raises:
            UsageError: it was asked for.
        """
        given = [key for key in FORMS if key in self._values]
        given += [f"{key} -" for key in self.streams]
        if len(given) > 1:
            raise UsageError(f"{given[0]} and {given[1]} exclude each other")

    def value(self, key: str) -> str | None:
        """The last value given to the option."""
        values = self._values.get(key)
        return values[-1] if values else None

    def values(self, key: str) -> list[str]:
        """All values given to the option, in order."""
        return self._values.get(key, [])

    def integer(self, key: str) -> int | None:
        """The last value as a number (decimal or 0x…).

        Raises:
            UsageError: it is no number.
        """
        text = self.value(key)
        if text is None:
            return None
        try:
            return int(text, 0)
        except ValueError:
            raise UsageError(f"{key} needs a number, not {text!r}") from None

    def limits(self) -> dict[str, int]:
        """What ``--limit`` says.

        Raises:
            UsageError: there is no such limit, or the value is no number.
        """
        texts = self.values("--limit")
        if not texts:
            return {}
        from cubinspec.allowance import LIMITS

        given: dict[str, int] = {}
        for text in texts:
            name, _, value = text.partition("=")
            if name not in LIMITS or not (value.isascii() and value.isdigit()):
                names = ", ".join(LIMITS)
                raise UsageError(f"--limit needs NAME=NUMBER with one of {names}, not {text!r}")
            given[name] = int(value[:_MAX_DIGITS])
        return given

    def files(self) -> list[str]:
        """The positional arguments, at least one; names may be escaped as our outputs show them.

        Raises:
            UsageError: there is none.
        """
        if not self.positional:
            raise UsageError("no FILE given")
        return files_of(self.positional)


def files_of(words: list[str]) -> list[str]:
    """Paths for what was typed: ``-`` is the standard input; names may be escaped as printed."""
    return [_file_named(word) for word in words]


def keep_inputs(arguments: Arguments, options: tuple[str, ...], inputs: list[str]) -> None:
    """Refuse to write what a command made over a file that it reads.

    Raises:
        UsageError: an option names one of the inputs.
    """
    import os

    for option in options:
        out = arguments.value(option)
        if out is None or out == "-" or not os.path.exists(out):
            continue
        if any(os.path.exists(file) and os.path.samefile(out, file) for file in inputs):
            raise UsageError(f"{option} would write over {out!r}, which is read")


def _file_named(word: str) -> str:
    """The file that a word names: as it stands or, if there is no such file, unescaped."""
    if word == "-":
        from cubinspec.cli.stdin import stdin_path

        return stdin_path()
    if "\\" not in word:
        return word
    import os

    from cubinspec.format.escapes import unescaped

    path = unescaped(word)
    return path if not os.path.lexists(word) and os.path.lexists(path) else word


def cubin_targets(arguments: Arguments) -> frozenset[str] | None:
    """The targets of cubins that ``--arch`` asks for; ``None`` for all.

    Raises:
        UsageError: a word is no target.
    """
    names = [name for text in arguments.values("--arch") for name in text.split(",") if name]
    for name in names:
        if not name.removeprefix("sm_").rstrip("af").isdecimal():
            raise UsageError(f"--arch needs a target such as sm_90a, not {name!r}")
    return frozenset("sm_" + name.removeprefix("sm_") for name in names) or None


def pattern_of(arguments: Arguments) -> str | None:
    """The value of ``--match``.

    Raises:
        UsageError: it starts with ``re:``, and what follows is no regular expression.
    """
    pattern = arguments.value("--match")
    if pattern is not None and pattern.startswith("re:"):
        import re

        try:
            re.compile(pattern[3:])
        except re.error as error:
            raise UsageError(f"--match {pattern}: {error}") from None
    return pattern


def parse(options: tuple[Option, ...], words: list[str]) -> Arguments:
    """Split words into options and positional arguments; ``--`` ends the options.

    Raises:
        UsageError: an unknown option, or one whose value is missing or not wanted.
    """
    by_name = {name: option for option in options for name in option.names}
    positional: list[str] = []
    values: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            positional += rest
            break
        if not word.startswith("-") or word == "-":
            positional.append(word)
            continue
        name, equals, text = word.partition("=")
        option = by_name.get(name)
        if option is None:
            from cubinspec.cli.suggest import did_you_mean

            raise UsageError(f"unknown option {name}{did_you_mean(name, [*by_name, '--help'])}")
        found = values.setdefault(option.key, [])
        if option.value is None:
            if equals:
                raise UsageError(f"{name} takes no value")
        elif equals:
            found.append(text)
        else:
            following = next(rest, None)
            if following is None:
                raise UsageError(f"{name} needs a value ({option.value})")
            found.append(following)
    return Arguments(positional, values)
