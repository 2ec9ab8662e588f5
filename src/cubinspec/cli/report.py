"""``cubinspec report``: one page of HTML about files, which needs nothing else."""

from __future__ import annotations

from cubinspec.cli.options import JSON_OPTIONS, Arguments, Option, UsageError, cubin_targets
from cubinspec.cli.output import report, write_output
from cubinspec.cli.walking import RELOCATABLE
from cubinspec.errors import CubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USAGE = "FILE... -o OUT [--against OLD] [--arch SM] [--json|--jsonl]"
OPTIONS = (
    Option("-o", "--output", value="OUT", help="the page to write"),
    Option("--against", value="OLD", help="an older build of the file; what changed is shown, too"),
    Option("--arch", value="SM", help="only functions of this target (sm_90, 90a, …)"),
    RELOCATABLE,
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
    data, faults = _collect(arguments, files, old)
    for fault in faults:
        report(fault)
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        with Records("report", arguments) as records:
            records.add({key: value for key, value in data.items() if key != "schema"})
    if out is not None:
        from cubinspec.page.html import html

        try:
            write_output(out, html(data))
        except CubinError as error:
            report(error)
            return 1
    return 1 if faults else 0


def _collect(
    arguments: Arguments, files: list[str], old: str | None
) -> tuple[dict[str, Any], list[CubinError]]:
    """The data of the page, and what could not be read."""
    from cubinspec.cli.progress import Progress
    from cubinspec.page.difference import compare_files, difference_record
    from cubinspec.page.document import Document
    from cubinspec.page.html import title_of

    jobs = arguments.integer("--jobs")
    if jobs is not None and jobs < 1:
        raise UsageError("--jobs needs a positive number")
    archs = cubin_targets(arguments)
    relocatable = arguments.flag("--relocatable")
    with Progress("images") as progress:
        document = Document(archs=archs, relocatable=relocatable, jobs=jobs, step=progress.step)
        for file in files:
            document.add_file(file)
        changes = None
        if old is not None and not document.failed:
            try:
                found, before, _ = compare_files(
                    old,
                    files[0],
                    archs=archs,
                    relocatable=relocatable,
                    jobs=jobs,
                    step=progress.step,
                )
                changes = difference_record(found, old, files[0])
                document.faults += before.faults
            except CubinError as error:
                document.fail(old, error)
    return {**document.data(title_of(files)), "difference": changes}, document.faults
