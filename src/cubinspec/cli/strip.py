"""``cubinspec strip``: take out what no launch needs."""

from __future__ import annotations

from cubinspec.cli.editing import edit_file
from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.cli.write import IN_PLACE, NO_CHECK, OUTPUT

SUMMARY = "remove debug data, line tables or the tool note"
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
    from cubinspec_writer.editor import Edit

    debug, lineinfo, tkinfo = (arguments.flag(key) for key in ("--debug", "--lineinfo", "--tkinfo"))
    if not (debug or lineinfo or tkinfo):
        raise UsageError("say what to remove: --debug, --lineinfo or --tkinfo")

    def change(edit: Edit) -> None:
        edit.strip(debug=debug, lineinfo=lineinfo, tkinfo=tkinfo)

    return edit_file(arguments, change)
