"""``cubinspec set``: change what a launch of a function needs."""

from __future__ import annotations

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec_writer.editor import Edit, Resources
from cubinspec_writer.editor.commands.editing import (
    IN_PLACE,
    NO_CHECK,
    OUTPUT,
    edit_file,
    function_named,
)

USAGE = "FILE --kernel NAME [--registers N] [--attribute NAME=VALUE] ... (-o OUT | -i)"
OPTIONS = (
    Option("--kernel", value="NAME", help="the kernel or device function"),
    Option("--registers", value="N", help="registers per thread"),
    Option("--max-threads", value="X[,Y[,Z]]", help="most threads of a block (.maxntid)"),
    Option(
        "--stack",
        value="BYTES",
        help="stack of the whole call tree; before linking the most it may be",
    ),
    Option("--frame", value="BYTES", help="the function's own stack frame (FRAME_SIZE)"),
    Option("--barriers", value="N", help="named barriers"),
    Option(
        "--attribute",
        value="NAME=VALUE",
        help="any attribute: numbers or names of symbols with commas, nothing for a flag, "
        "or hex:BYTES; NAME[1] is the second of that name",
    ),
    Option("--remove-attribute", value="NAME", help="take an attribute out"),
    OUTPUT,
    IN_PLACE,
    NO_CHECK,
)

_AXES = 3


def run(arguments: Arguments) -> int:
    """Change one function of one file."""
    kernel = arguments.value("--kernel")
    if kernel is None:
        raise UsageError("--kernel NAME is missing")
    attributes: dict[str, str | None] = {}
    for text in arguments.values("--attribute"):
        name, _, value = text.partition("=")
        attributes[name] = value
    attributes |= dict.fromkeys(arguments.values("--remove-attribute"))
    new = Resources(
        registers=arguments.integer("--registers"),
        max_threads=_shape(arguments.value("--max-threads")),
        stack=arguments.integer("--stack"),
        frame=arguments.integer("--frame"),
        barriers=arguments.integer("--barriers"),
        attributes=attributes,
    )
    if new == Resources():
        raise UsageError("nothing to change was given")

    def change(edit: Edit) -> None:
        edit.set(function_named(edit, kernel), new)

    return edit_file(arguments, change)


def _shape(text: str | None) -> tuple[int, int, int] | None:
    if text is None:
        return None
    try:
        axes = [int(part, 0) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--max-threads needs numbers, not {text!r}") from None
    if len(axes) > _AXES:
        raise UsageError("--max-threads takes up to three numbers")
    x, y, z = [*axes, 1, 1][:_AXES]
    return x, y, z
