"""``cubinspec diff``: what changed between two builds."""

from __future__ import annotations

import sys
from itertools import islice

from cubinspec.cli.options import (
    JSON,
    JSONL,
    Arguments,
    Option,
    UsageError,
    cubin_targets,
    files_of,
    keep_inputs,
    pattern_of,
)
from cubinspec.cli.output import report, write_output
from cubinspec.cli.walking import MATCH, RELOCATABLE, said_nothing_fits
from cubinspec.compare.builds import Side, compare_files
from cubinspec.compare.changes import expanded, known_words
from cubinspec.compare.diff import Difference
from cubinspec.compare.render import markdown, record, text_lines
from cubinspec.compare.tasks import Question
from cubinspec.errors import FileAccessError
from cubinspec.report.names import matcher, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

USAGE = "OLD NEW [--only WORDS] [--fail-on WORDS] [--match PATTERN] [--arch SM] [--json|--jsonl]"
#: What `--fail-on` takes -> whether a difference is that.
FAIL_ON: dict[str, Callable[[Difference], bool]] = {
    "different": lambda found: found.is_different,
    "worse": lambda found: found.is_worse,
    "new": lambda found: bool(found.matches.new),
    "gone": lambda found: bool(found.matches.gone),
    "renamed": lambda found: any(function.renamed for function in found.functions),
    "never": lambda found: False,
}
OPTIONS = (
    Option(
        "--only",
        value="WORDS",
        help="compare only these: registers,stack,… or resources,launch,params,code,image",
    ),
    Option(
        "--fail-on",
        value="WORDS",
        help=f"what gives exit status 1: {', '.join(FAIL_ON)} (default: different)",
    ),
    Option("--arch", value="SM", help="only images of this target (sm_90, 90a, …)"),
    MATCH,
    RELOCATABLE,
    Option("--markdown", help="a comment for a pull request"),
    Option("--html", value="OUT", help="write a page"),
    Option("--mangled", help="names as they are in the file"),
    Option("-j", "--jobs", value="N", help="processes for a large library (default: all cores)"),
    JSON,
    JSONL,
)
_NOT_USABLE = 2
#: Lines that are printed together.
_LINES = 256
#: 1 says that the files differ.
FAULT_STATUS = _NOT_USABLE


def run(arguments: Arguments) -> int:
    """Print the difference; 0 same, 1 different by what was asked for, 2 an input not usable."""
    if len(arguments.positional) != 2:
        raise UsageError("two files are compared: OLD NEW")
    only, fail_on = _words(arguments)
    pattern = pattern_of(arguments)
    paths = files_of(arguments.positional)
    keep_inputs(arguments, ("--html",), paths)
    question = Question(
        expanded(only),
        pattern,
        cubin_targets(arguments),
        arguments.flag("--relocatable"),
        digests=arguments.wants_json,
    )
    found, old, new = _compared(arguments, paths, question)
    unopened = [side.error for side in (old, new) if side.error is not None]
    for error in unopened:
        report(error)
    if unopened:  # nothing was read of the other file
        return _NOT_USABLE
    usable = [_usable(side, arguments) for side in (old, new)]
    if not all(usable) or said_nothing_fits(pattern, _named(found, question, paths)):
        return _NOT_USABLE
    try:
        _show(arguments, found, *paths)
    except FileAccessError as error:
        report(error)
        return _NOT_USABLE
    if old.faults or new.faults:
        return _NOT_USABLE
    return int(any(FAIL_ON[word](found) for word in fail_on))


def _words(arguments: Arguments) -> tuple[frozenset[str] | None, list[str]]:
    """What is compared, and what makes the exit status 1."""
    only = [word for text in arguments.values("--only") for word in text.split(",") if word]
    fail_on = [word for text in arguments.values("--fail-on") for word in text.split(",") if word]
    for option, words, known in (
        ("--only", only, known_words()),
        ("--fail-on", fail_on, tuple(FAIL_ON)),
    ):
        for word in words:
            if word not in known:
                from cubinspec.cli.suggest import did_you_mean

                hint = did_you_mean(word, [*known]) or f"; it takes {', '.join(known)}"
                raise UsageError(f"{option}: {word!r} is not known{hint}")
    return frozenset(only) if only else None, fail_on or ["different"]


def _compared(
    arguments: Arguments, paths: list[str], question: Question
) -> tuple[Difference, Side, Side]:
    """The difference of both files, and what was found in each."""
    from cubinspec.cli.progress import Progress

    jobs = arguments.integer("--jobs")
    if jobs is not None and jobs < 1:
        raise UsageError("--jobs needs a positive number")
    with Progress("images") as progress:
        old, new = paths
        return compare_files(old, new, question, jobs=jobs, step=progress.step)


def _usable(side: Side, arguments: Arguments) -> bool:
    """Report what is wrong with a file; whether anything of it could be compared."""
    for fault in side.faults:
        report(fault)
    if side.is_empty:
        from cubinspec.cli.walking import nothing_in

        report(nothing_in(side.path, "cubin", chosen=arguments.flag("--arch")))
    return not side.is_empty


def _named(found: Difference, question: Question, paths: list[str]) -> int:
    """How many functions of the asked name there are, at least."""
    matches = found.matches
    count = found.compared + len(matches.new) + len(matches.gone)
    if count or question.pattern is None or any(found.unread):
        return 1
    from cubinspec.containers import images

    # names in images that both files have were not read
    fits = matcher(question.pattern)
    for image in images(paths[0]):
        if image.kind == "cubin" and question.wants(image):
            with image.cubin() as cubin:
                if any(map(fits, cubin.functions.names)):
                    return 1
    return 0


def _show(arguments: Arguments, found: Difference, old: str, new: str) -> None:
    page = arguments.value("--html")
    if page is not None:
        from cubinspec.page.difference import difference_page

        write_output(page, difference_page(found, old, new))
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        with Records("diff", arguments) as out:
            out.add({"old_file": old, "new_file": new, **record(found)})
    elif arguments.flag("--markdown"):
        print(markdown(found, old, new), end="")
    elif not arguments.streams:
        name_of = str if arguments.flag("--mangled") else readable
        _print(text_lines(found, name_of))


def _print(lines: Iterator[str]) -> None:
    """Print lines, many at a time, as an output without a buffer takes each piece by itself."""
    while some := [*islice(lines, _LINES)]:
        some.append("")
        sys.stdout.write("\n".join(some))
