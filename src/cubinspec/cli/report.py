"""``cubinspec report``: one page of HTML about files, which needs nothing else."""

from __future__ import annotations

from cubinspec.cli.options import (
    JSON_OPTIONS,
    Arguments,
    Option,
    UsageError,
    cubin_targets,
    keep_inputs,
)
from cubinspec.cli.output import report, write_output
from cubinspec.cli.walking import RELOCATABLE
from cubinspec.errors import CubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.page.report import Page

USAGE = "FILE... -o OUT [--against OLD] [--arch SM] [--json|--jsonl]"
OPTIONS = (
    Option("-o", "--output", value="OUT", help="the page to write"),
    Option("--against", value="OLD", help="an older build of the file; what changed is shown, too"),
    Option("--arch", value="SM", help="only functions of this target (sm_90, 90a, …)"),
    RELOCATABLE,
    Option(
        "--coverage",
        value="MIB",
        help="count the bytes of so many MiB of cubins per file (default: 4), or of all",
    ),
    Option("-j", "--jobs", value="N", help="processes for a large library (default: all cores)"),
    *JSON_OPTIONS,
)


def run(arguments: Arguments) -> int:
    """Write the page, print its data, or both."""
    out, old = arguments.value("--output"), arguments.value("--against")
    files = arguments.files()
    if out is None and not arguments.wants_json:
        raise UsageError("-o says where the page goes (- for the standard output)")
    if old is not None and len(files) != 1:
        raise UsageError("--against compares one file with an older build of it")
    keep_inputs(arguments, ("--output",), files if old is None else [*files, old])
    page = _page(arguments, files, old)
    for fault in page.faults:
        report(fault)
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        with Records("report", arguments) as records:
            records.add({key: value for key, value in page.data.items() if key != "schema"})
    if out is not None:
        from cubinspec.page.html import html

        try:
            write_output(out, html(page.data))
        except CubinError as error:
            report(error)
            return 1
    return 1 if page.faults else 0


def _page(arguments: Arguments, files: list[str], old: str | None) -> Page:
    from cubinspec.cli.progress import Progress
    from cubinspec.page.report import make_page

    jobs = arguments.integer("--jobs")
    if jobs is not None and jobs < 1:
        raise UsageError("--jobs needs a positive number")
    archs = cubin_targets(arguments)
    covered = _covered(arguments)
    with Progress("images") as progress:
        return make_page(
            files,
            old,
            archs=archs,
            relocatable=arguments.flag("--relocatable"),
            covered=covered,
            jobs=jobs,
            step=progress.step,
        )


def _covered(arguments: Arguments) -> int | None:
    """Bytes of cubins whose coverage is measured; ``None`` for all."""
    if arguments.value("--coverage") == "all":
        return None
    size = arguments.integer("--coverage")
    if size is None:
        from cubinspec.page.document import USUALLY_COVERED

        return USUALLY_COVERED
    if size < 0:
        raise UsageError("--coverage needs a number of MiB, or all")
    return size << 20
