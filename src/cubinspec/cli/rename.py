"""``cubinspec rename``: another name for a kernel or symbol, everywhere in the file."""

from __future__ import annotations

from cubinspec.cli.editing import edit_file
from cubinspec.cli.options import Arguments, UsageError
from cubinspec.cli.write import IN_PLACE, NO_CHECK, OUTPUT

SUMMARY = "rename a kernel, function or variable in symbols, sections and references"
USAGE = "FILE OLD NEW (-o OUT | -i)"
OPTIONS = (OUTPUT, IN_PLACE, NO_CHECK)

_WORDS = 3


def run(arguments: Arguments) -> int:
    """Rename one symbol of one file."""
    words = arguments.positional
    if len(words) != _WORDS:
        raise UsageError("FILE, OLD and NEW are needed")
    arguments.positional, old, new = words[:1], words[1], words[2]
    return edit_file(arguments, lambda edit: edit.rename(old, new))
