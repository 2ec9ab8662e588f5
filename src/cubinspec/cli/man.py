"""``cubinspec man``: manual pages, made from the same tables as ``--help``."""

from __future__ import annotations

from cubinspec.cli import COMMANDS, load
from cubinspec.cli.help import HELP, options_of, spelling, usage_line
from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.cli.output import report, write_output
from cubinspec.cli.suggest import did_you_mean
from cubinspec.errors import CubinError

USAGE = "[COMMAND] [-o DIR]"
OPTIONS = (Option("-o", "--output", value="DIR", help="write every page into this folder"),)
_SECTION = "1"


def run(arguments: Arguments) -> int:
    """Print a page, or write them all."""
    command, *others = arguments.positional or [""]
    folder = arguments.value("--output")
    if others or (folder is not None and command):
        raise UsageError("at most one COMMAND, and none with -o")
    if command and command not in COMMANDS:
        raise UsageError(f"no command {command!r}{did_you_mean(command, list(COMMANDS))}")
    if folder is None:
        print(page(command) if command else overview(), end="")
        return 0
    import os

    try:
        os.makedirs(folder, exist_ok=True)
        for name, text in pages().items():
            write_output(os.path.join(folder, name), text.encode())
    except CubinError as error:
        report(error)
        return 1
    return 0


def pages() -> dict[str, str]:
    """File name -> page, of all commands."""
    return {
        f"cubinspec.{_SECTION}": overview(),
        **{f"cubinspec-{command}.{_SECTION}": page(command) for command in COMMANDS},
    }


def overview() -> str:
    """The page of the program."""
    lines = [
        *_head("cubinspec", "reads, explains, changes and links NVIDIA cubins"),
        ".SH SYNOPSIS",
        ".B cubinspec",
        r"\fICOMMAND\fR [\fIOPTION\fR ...] [\fIARGUMENT\fR ...]",
        ".SH COMMANDS",
    ]
    for command, (_, summary) in COMMANDS.items():
        lines += [".TP", rf"\fB{_text(command)}\fR", _text(summary)]
    lines += [
        ".SH FILES",
        "Every command that reads takes a cubin, an object, a library, an archive, a fatbin, "
        "a wheel or a folder; a hyphen is the standard input.",
    ]
    return "\n".join(lines) + "\n"


def page(command: str) -> str:
    """The page of one command."""
    module = load(command)
    _, summary = COMMANDS[command]
    synopsis = " ".join(usage_line(command, module).removeprefix("usage: ").split())
    lines = [*_head(f"cubinspec-{command}", summary), ".SH SYNOPSIS", _text(synopsis)]
    options = options_of(module)
    if options:
        lines.append(".SH OPTIONS")
        for option in options:
            lines += [".TP", rf"\fB{_text(spelling(option))}\fR", _text(option.help)]
    more = HELP[command]
    if more.columns:
        lines.append(".SH COLUMNS")
        for name, meaning in more.columns.items():
            lines += [".TP", rf"\fB{_text(name)}\fR", _text(meaning)]
    lines += [".SH EXAMPLE", ".nf", _text(f"cubinspec {more.example}"), ".fi", ".SH EXIT STATUS"]
    for line in more.statuses:
        number, meaning = line.split(maxsplit=1)
        lines += [".TP", rf"\fB{number}\fR", _text(meaning)]
    lines += [".SH SEE ALSO", rf"\fBcubinspec\fR({_SECTION})"]
    return "\n".join(lines) + "\n"


def _head(name: str, summary: str) -> list[str]:
    from cubinspec import __version__

    return [
        f'.TH "{name.upper()}" "{_SECTION}" "" "cubinspec {__version__}" "cubinspec"',
        ".SH NAME",
        rf"{_text(name)} \- {_text(summary)}",
    ]


def _text(text: str) -> str:
    r"""Text for roff: a backslash is ``\e``, a hyphen ``\-``, and no line begins with a dot."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{text}" if text.startswith((".", "'")) else text
