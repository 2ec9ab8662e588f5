"""What commands share that write files: where to."""

from __future__ import annotations

from cubinspec.cli.options import Option, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.cli.options import Arguments

OUTPUT = Option("-o", "--output", value="OUT", help="write the result to OUT")
NO_CHECK = Option("--no-check", help="write the result even if it breaks a rule of the spec")
IN_PLACE = Option("-i", "--in-place", help="replace FILE by the result")


def target(arguments: Arguments, source: str) -> str:
    """The file to be written: ``-o OUT``, or the source itself with ``-i``.

    Raises:
        UsageError: neither or both were given.
    """
    output = arguments.value("--output")
    if (output is None) != arguments.flag("--in-place"):
        raise UsageError("say either -o OUT or -i (replace FILE)")
    return source if output is None else output
