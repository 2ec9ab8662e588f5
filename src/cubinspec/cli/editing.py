"""What the editing commands share: read one cubin, change it, write the whole result."""

from __future__ import annotations

import sys

from cubinspec.cli.options import UsageError
from cubinspec.cli.output import printable, report
from cubinspec.cli.write import target
from cubinspec.errors import CubinError, FileAccessError
from cubinspec.files import write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec.cli.options import Arguments
    from cubinspec_writer.editor import Edit


def edit_file(arguments: Arguments, change: Callable[[Edit], None]) -> int:
    """Apply ``change`` to the one FILE of the command line; returns the exit status.

    Raises:
        UsageError: not exactly one FILE, or no place for the result.
    """
    from cubinspec_writer.editor import Edit

    files = arguments.files()
    if len(files) != 1:
        raise UsageError(f"one FILE is changed at a time, not {len(files)}")
    output = target(arguments, files[0])
    try:
        edit = Edit(_read(files[0]), files[0])
        change(edit)
        write_file(output, edit.to_bytes(checked=not arguments.flag("--no-check")))
    except CubinError as error:
        error.file = error.file or files[0]
        report(error)
        return 1
    for remark in edit.remarks:
        print(f"cubinspec: note: {printable(remark)}", file=sys.stderr)
    return 0


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise FileAccessError(f"cannot be read: {error.strerror or error}", file=path) from error
