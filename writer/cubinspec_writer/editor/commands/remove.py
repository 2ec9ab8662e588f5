"""``cubinspec remove``: take kernels out."""

from __future__ import annotations

from cubinspec.cli.options import Arguments, UsageError
from cubinspec_writer.editor.commands.editing import (
    IN_PLACE,
    NO_CHECK,
    OUTPUT,
    edit_file,
    kernels_named,
)

USAGE = "FILE KERNEL... (-o OUT | -i)"
OPTIONS = (OUTPUT, IN_PLACE, NO_CHECK)


def run(arguments: Arguments) -> int:
    """Remove kernels of one file."""
    file, *kernels = arguments.files()
    if not kernels:
        raise UsageError("no KERNEL given")
    arguments.positional = [file]
    return edit_file(arguments, lambda edit: edit.remove(kernels_named(edit, kernels)))
