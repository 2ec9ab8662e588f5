"""What the editing commands share: options, reading one cubin, writing the changed one."""

from __future__ import annotations

import sys

from cubinspec.cli.options import Option, UsageError
from cubinspec.cli.output import printable, report
from cubinspec.errors import CubinError
from cubinspec.files import read_file, write_file
from cubinspec_writer.editor import Edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec.cli.options import Arguments

OUTPUT = Option("-o", "--output", value="OUT", help="write the result to OUT")
NO_CHECK = Option("--no-check", help="write the result even if it breaks a rule of the spec")
IN_PLACE = Option("-i", "--in-place", help="replace FILE by the result")


def edit_file(arguments: Arguments, change: Callable[[Edit], None]) -> int:
    """Apply ``change`` to the one FILE of the command line; returns the exit status.

    Raises:
        UsageError: not exactly one FILE, or no place for the result.
    """
    files = arguments.files()
    if len(files) != 1:
        raise UsageError(f"one FILE is changed at a time, not {len(files)}")
    source = files[0]
    output = _output_path(arguments, source)
    try:
        edit = Edit(read_file(source), source)
        change(edit)
        write_file(output, edit.to_bytes(checked=not arguments.flag("--no-check")))
    except CubinError as error:
        error.file = error.file or source
        report(error)
        return 1
    for remark in edit.remarks:
        print(f"cubinspec: note: {printable(remark)}", file=sys.stderr)
    return 0


def _output_path(arguments: Arguments, source: str) -> str:
    """The file to be written: ``-o OUT``, or the source itself with ``-i``.

    Raises:
        UsageError: neither or both were given.
    """
    output = arguments.value("--output")
    if (output is None) != arguments.flag("--in-place"):
        raise UsageError("say either -o OUT or -i (replace FILE)")
    return source if output is None else output
