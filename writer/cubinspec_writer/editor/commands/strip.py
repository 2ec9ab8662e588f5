"""``cubinspec strip``: take out what no launch needs."""

from __future__ import annotations

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec_writer.editor import Edit
from cubinspec_writer.editor.commands.editing import IN_PLACE, NO_CHECK, OUTPUT, edit_file

USAGE = "FILE [--debug] [--lineinfo] [--tkinfo] (-o OUT | -i)"
OPTIONS = (
    Option("--debug", help="all debug data but .debug_frame, which every build has"),
    Option("--lineinfo", help="what -lineinfo adds: line tables and the PTX text"),
    Option("--tkinfo", help="the note with the tool's name, version and arguments"),
    OUTPUT,
    IN_PLACE,
    NO_CHECK,
)


def run(arguments: Arguments) -> int:
    """Strip one file; a file without such sections is written as it is."""
    debug, lineinfo, tkinfo = (arguments.flag(key) for key in ("--debug", "--lineinfo", "--tkinfo"))
    if not (debug or lineinfo or tkinfo):
        raise UsageError("say what to remove: --debug, --lineinfo or --tkinfo")

    def change(edit: Edit) -> None:
        edit.strip(debug=debug, lineinfo=lineinfo, tkinfo=tkinfo)

    return edit_file(arguments, change)
