"""``cubinspec retarget-note``: change what the notes say about target and toolkit."""

from __future__ import annotations

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.format.targets import toolkit_number
from cubinspec_writer.editor import NoteChange
from cubinspec_writer.editor.commands.editing import IN_PLACE, NO_CHECK, OUTPUT, edit_file

USAGE = "FILE [--virtual-sm N] [--toolkit MAJOR.MINOR] ... (-o OUT | -i)"
OPTIONS = (
    Option("--virtual-sm", value="N", help="architecture of the PTX, 80 for compute_80"),
    Option("--toolkit", value="MAJOR.MINOR", help="toolkit version, such as 13.0"),
    Option("--tool-name", value="TEXT", help="name in the tool note"),
    Option("--tool-version", value="TEXT", help="version line in the tool note"),
    Option("--tool-branch", value="TEXT", help="build line in the tool note"),
    Option("--arguments", value="TEXT", help="command line in the tool note"),
    Option("--object-file", value="TEXT", help="object file in the tool note"),
    OUTPUT,
    IN_PLACE,
    NO_CHECK,
)


def run(arguments: Arguments) -> int:
    """Change the notes of one file."""
    change = NoteChange(
        virtual_sm=arguments.integer("--virtual-sm"),
        toolkit=_toolkit(arguments.value("--toolkit")),
        tool_name=arguments.value("--tool-name"),
        tool_version=arguments.value("--tool-version"),
        tool_branch=arguments.value("--tool-branch"),
        arguments=arguments.value("--arguments"),
        object_file=arguments.value("--object-file"),
    )
    if change == NoteChange():
        raise UsageError("nothing to change was given")
    return edit_file(arguments, lambda edit: edit.retarget_note(change))


def _toolkit(text: str | None) -> int | None:
    """``13.0`` as the files store it, 130."""
    if text is None:
        return None
    number = toolkit_number(text)
    if number is None:
        raise UsageError(f"--toolkit needs MAJOR.MINOR, not {text!r}")
    return number
