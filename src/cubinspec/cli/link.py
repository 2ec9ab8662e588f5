"""``cubinspec link``: a linker that stands in nvlink's place; options are spelled as nvlink's."""

from __future__ import annotations

SUMMARY = "link relocatable cubins, host objects, fatbins and libraries as nvlink does"
USAGE = "[OPTION ...] OBJECT ..."
OPTIONS = ()
#: The words go to the linker as they are: the order of inputs and libraries matters.
TAKES_WORDS = True


def run_words(words: list[str]) -> int:
    """Link; the exit status is nvlink's."""
    from cubinspec.cli.write import write_file
    from cubinspec_writer.link.command import run

    return run(words, write_file)
