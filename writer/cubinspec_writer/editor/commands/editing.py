"""What the editing commands share: options, reading one cubin, writing the changed one."""

from __future__ import annotations

import sys

from cubinspec.cli.options import Option, UsageError
from cubinspec.cli.output import printable, report, write_output
from cubinspec.errors import CubinError
from cubinspec.files import read_file
from cubinspec_generated.codes import ST_TYPE_MASK, STT_SECTION
from cubinspec_writer.editor import Edit, functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec.cli.options import Arguments

OUTPUT = Option("-o", "--output", value="OUT", help="write the result to OUT")
NO_CHECK = Option("--no-check", help="write the result even if it breaks a rule of the spec")
IN_PLACE = Option("-i", "--in-place", help="replace FILE by the result")


def edit_file(arguments: Arguments, change: Callable[[Edit], None]) -> int:
    """Apply ``change`` to the one FILE of the command line; returns the exit status.

    Raises:
        UsageError: not exactly one FILE, or no place for the result.
    """
    files = arguments.files()
    if len(files) != 1:
        raise UsageError(f"one FILE is changed at a time, not {len(files)}")
    source = files[0]
    output = _output_path(arguments, source)
    try:
        edit = Edit(read_file(source), source)
        change(edit)
        write_output(output, edit.to_bytes(checked=not arguments.flag("--no-check")))
    except CubinError as error:
        error.file = error.file or source
        report(error)
        return 1
    for remark in edit.remarks:
        print(f"cubinspec: note: {printable(remark)}", file=sys.stderr)
    return 0


def function_named(edit: Edit, word: str) -> str:
    """The function with code in the file that a word from the command line means.

    Raises:
        CubinError: it fits none, or several.
    """
    from cubinspec.report.resolve import resolve

    known = [s.name for s in functions.symbols(edit.description) if functions.is_function(s)]
    return resolve(word, known)


def kernels_named(edit: Edit, words: list[str]) -> list[str]:
    """The kernels that words from the command line mean; a pattern may mean several.

    Raises:
        CubinError: a word fits none, or several without being a pattern.
    """
    from cubinspec.report.names import escaped
    from cubinspec.report.resolve import resolve_all

    known = {escaped(symbol.name): symbol.name for symbol in functions.symbols(edit.description)}
    known |= {name: name for name in known.values()}
    kernels = [symbol.name for symbol in functions.kernels(edit.description)]
    return list(
        dict.fromkeys(
            name
            for word in words
            # a device function's name is passed on, so that the editor says what it is
            for name in ([known[word]] if word in known else resolve_all(word, kernels, "kernel"))
        )
    )


def symbol_named(edit: Edit, word: str) -> str:
    """The symbol that a word from the command line means.

    Raises:
        CubinError: it fits none, or several.
    """
    from cubinspec.report.resolve import resolve

    known = [
        symbol.name
        for symbol in functions.symbols(edit.description)
        if symbol.st_info & ST_TYPE_MASK != STT_SECTION
    ]
    return resolve(word, known, "symbol")


def _output_path(arguments: Arguments, source: str) -> str:
    """The file to be written: ``-o OUT``, or the source itself with ``-i``.

    Raises:
        UsageError: neither or both were given.
    """
    output = arguments.value("--output")
    if (output is None) != arguments.flag("--in-place"):
        raise UsageError("say either -o OUT or -i (replace FILE)")
    if output is None and "-" in arguments.positional:
        raise UsageError("-i replaces a file; the result for the standard input goes to -o OUT")
    return source if output is None else output
