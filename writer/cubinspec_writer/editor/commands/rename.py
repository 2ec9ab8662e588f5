"""``cubinspec rename``: give a kernel or symbol another name everywhere in the file."""

from __future__ import annotations

from cubinspec.cli.options import Arguments, UsageError
from cubinspec_writer.editor.commands.editing import (
    IN_PLACE,
    NO_CHECK,
    OUTPUT,
    edit_file,
    symbol_named,
)

USAGE = "FILE OLD NEW (-o OUT | -i)"
OPTIONS = (OUTPUT, IN_PLACE, NO_CHECK)

_WORDS = 3


def run(arguments: Arguments) -> int:
    """Rename one symbol of one file."""
    words = arguments.positional
    if len(words) != _WORDS:
        raise UsageError("FILE, OLD and NEW are needed")
    arguments.positional, old, new = words[:1], words[1], words[2]
    return edit_file(arguments, lambda edit: edit.rename(symbol_named(edit, old), new))
