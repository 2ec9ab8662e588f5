"""``cubinspec keep``: only the named kernels stay."""

from __future__ import annotations

from cubinspec.cli.options import Arguments, UsageError
from cubinspec_writer.editor import Edit
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
    """Cut one file down."""
    file, *kernels = arguments.files()
    if not kernels:
        raise UsageError("no KERNEL given")
    arguments.positional = [file]

    def change(edit: Edit) -> None:
        edit.keep(kernels_named(edit, kernels))

    return edit_file(arguments, change)
