"""What commands share when they print: tables, JSON, errors per file."""

from __future__ import annotations

import sys

from cubinspec.errors import CubinError, MissingPackageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TextIO

    from cubinspec.cli.options import Arguments

#: Characters of JSON text that are held before they are written.
_PIECE = 1 << 20
#: File and reason of the missing packages that were reported.
_reported: set[tuple[str | None, str]] = set()
#: Lines that were printed on stderr.
_complaints: set[str] = set()
#: Stands between two columns.
SPACE = "  "
#: Names that do not fit beside numbers with so much room stand in lines of their own.
_LEAST_ROOM = 32
_INDENT = "    "
#: With these a formula begins in a spreadsheet.
_FORMULAS = ("=", "+", "-", "@")
#: Width of a terminal that does not say its own.
_USUAL_WIDTH = 80
_BOLD, _NORMAL = "\x1b[1m", "\x1b[0m"


def for_each_file(files: list[str], action: Callable[[str], None]) -> int:
    """Call ``action`` for every file; a failing one is reported and the others go on.

    Returns:
        The exit status: 1 if a file failed, else 0.
    """
    status = 0
    for file in files:
        try:
            action(file)
        except CubinError as error:
            report(error)
            status = 1
    return status


def report(error: CubinError) -> None:
    """Say on stderr what went wrong; that a package is missing, once per file."""
    if isinstance(error, MissingPackageError):
        missing = (error.file, error.reason)
        if missing in _reported:
            return
        _reported.add(missing)
    complain(str(error))


def complain(text: str, command: str = "") -> None:
    """Print a line about a problem on stderr, behind all output so far; the same line only once.

    Args:
        command: whose wrong use is the problem.
    """
    if text in _complaints:
        return
    _complaints.add(text)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop(sys.stdout)
    try:
        program = f"cubinspec {command}" if command else "cubinspec"
        print(f"{program}: {printable(text)}", file=sys.stderr)
    except BrokenPipeError:
        drop(sys.stderr)


def say(text: str) -> None:
    """Print a line about work that goes on when nobody reads the lines any more."""
    try:
        print(text)
    except BrokenPipeError:
        drop(sys.stdout)


def drop(stream: TextIO) -> None:
    """Discard what is buffered for stdout or stderr, and all that follows."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def forget_complaints() -> None:
    """Begin a new command line, in which complaints of earlier ones are printed again."""
    _complaints.clear()
    _reported.clear()


def write_json(value: Any) -> None:
    """Print a JSON document in pieces; its whole text could be many times larger than its data."""
    import json

    parts: list[str] = []
    size = 0
    for part in json.JSONEncoder(indent=2).iterencode(value):
        parts.append(part)
        size += len(part)
        if size > _PIECE:
            sys.stdout.write("".join(parts))
            parts.clear()
            size = 0
    print("".join(parts))


def write_output(path: str, data: bytes) -> None:
    """Write a whole file; ``-`` is the standard output.

    Raises:
        FileAccessError: the file or its folder cannot be written.
    """
    if path != "-":
        from cubinspec.output_files import write_file

        write_file(path, data)
        return
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a caller has put a text stream in the place of the standard output
        sys.stdout.write(data.decode("utf-8", "backslashreplace"))
    else:
        binary.write(data)
        binary.flush()


def printable(text: str) -> str:
    """Text that any UTF-8 terminal can show; control characters and stray bytes are escaped."""
    if text.isprintable():
        return text
    from cubinspec.format.escapes import escaped

    return escaped(text)


def csv_cell(value: object) -> object:
    """A value as CSV has it: text is escaped, and so is a beginning that spreadsheets calculate."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"\\x{ord(text[0]):02x}{text[1:]}" if text[:1] in _FORMULAS else text


def heading(text: str) -> str:
    """A line in bold type on a terminal, as it is elsewhere."""
    return f"{_BOLD}{text}{_NORMAL}" if _is_terminal() else text


def title(text: str, width: int | None, more: str = "") -> str:
    """The line above the table of a file: its name, cut to the terminal, and what follows it."""
    name = printable(text)
    if width is not None:
        from cubinspec.cli.fit import fit

        (name,) = fit([name], width - len(more) - 1)
    return f"{name}:{more}"


def _is_terminal() -> bool:
    import os

    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def table_width(arguments: Arguments) -> int | None:
    """Characters of a line; ``None`` when lines are not to be cut: with ``--wide``, in a pipe."""
    import os

    if arguments.flag("--wide") or not sys.stdout.isatty():
        return None
    # shutil.get_terminal_size does the same, after importing all compression modules
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _USUAL_WIDTH
    except (OSError, ValueError):
        return _USUAL_WIDTH


def print_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: frozenset[int],
    width: int | None = None,
) -> None:
    """Print aligned columns.

    Args:
        left: columns that are aligned to the left; all others, numbers, to the right.
        width: of a line; the last column is cut to it.
    """
    columns = list(zip(*rows, strict=True)) or [()] * len(head)
    sys.stdout.write(table_text(head, columns, left, width))


def table_text(
    head: Sequence[str],
    columns: Sequence[Sequence[str]],
    left: frozenset[int],
    width: int | None = None,
) -> str:
    """The lines of :func:`print_table` as one text, from columns of cells."""
    lines = table_lines(head, columns, left, width)
    lines[0] = heading(lines[0])
    lines.append("")
    return "\n".join(lines)


def table_lines(
    head: Sequence[str],
    columns: Sequence[Sequence[str]],
    left: frozenset[int],
    width: int | None = None,
) -> list[str]:
    """The lines of :func:`print_table`, from columns of cells."""
    last = len(head) - 1
    sizes = []
    shown = []
    for column, (word, cells) in enumerate(zip(head, columns, strict=True)):
        # a last column of text is not padded: lines would end in spaces
        if column == last and column in left:
            sizes.append(0)
            shown.append([word, *cells])
            continue
        distinct = {word, *cells}  # in most columns few
        size = max(map(len, distinct))
        pad = str.ljust if column in left else str.rjust
        padded = {cell: pad(cell, size) for cell in distinct}
        sizes.append(size)
        shown.append([padded[cell] for cell in (word, *cells)])
    split = last + 1
    if width is not None and last in left:
        room = width - sum(sizes) - len(SPACE) * last
        if max(map(len, columns[last]), default=0) > room:
            from cubinspec.cli.fit import fit

            if room < _LEAST_ROOM:
                # the columns of text at the end get a line of their own
                split = last
                while split > 1 and split - 1 in left:
                    split -= 1
                room = width - len(_INDENT) - sum(sizes[split:]) - len(SPACE) * (last - split)
            shown[last] = [head[last], *fit(columns[last], room)]
    lines = list(map(SPACE.join, zip(*shown[:split], strict=True)))
    if split <= last:
        rest = map(SPACE.join, zip(*shown[split:], strict=True))
        lines = [f"{line}\n{_INDENT}{more}" for line, more in zip(lines, rest, strict=True)]
    return lines
