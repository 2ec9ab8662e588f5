"""The difference of two builds as a page shows it: a row per function or image, the worst first."""

from __future__ import annotations

from cubinspec.compare.builds import compare_files
from cubinspec.compare.render import (
    brief,
    change_text,
    file_lines,
    function_mark,
    image_sides,
    occupancies,
    summary,
    way_to,
)
from cubinspec.compare.tasks import Question
from cubinspec.errors import NotCubinError
from cubinspec.page.document import SCHEMA
from cubinspec.page.html import html, title_of
from cubinspec.report.names import escaped, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cubinspec.compare.diff import Difference, FunctionChange
    from cubinspec.errors import CubinError

    Record = dict[str, Any]


def compared(
    old: str,
    new: str,
    *,
    archs: frozenset[str] | None = None,
    relocatable: bool = False,
    jobs: int | None = None,
    step: Callable[[str, int], None] | None = None,
) -> tuple[Difference, list[CubinError]]:
    """The difference of two files, and what could not be read of the old one.

    Args:
        archs, relocatable: see :class:`cubinspec.compare.tasks.Question`.
        jobs, step: see :func:`cubinspec.compare.builds.compare_files`.

    Raises:
        CubinError: one of them cannot be opened, or nothing in the old one can be read.
    """
    question = Question(archs=archs, relocatable=relocatable)
    found, before, after = compare_files(old, new, question, jobs=jobs, step=step)
    for side in (before, after):
        if side.error is not None:
            raise side.error
    if not before.images and not before.others:
        raise before.faults[0] if before.faults else NotCubinError("no cubin is in it", file=old)
    return found, before.faults


def difference_page(found: Difference, old: str, new: str) -> bytes:
    """A page that shows a difference and nothing else."""
    return html(
        {
            "schema": SCHEMA,
            "title": title_of([new]),
            "difference": difference_record(found, old, new),
        },
        "diff",
    )


def difference_record(found: Difference, old: str, new: str) -> Record:
    """The difference as the page knows it; all texts are escaped."""
    rows = [_changed(function) for function in found.functions]
    for mark, placed in (("new", found.matches.new), ("gone", found.matches.gone)):
        for image, one in placed:
            rows.append(_row(mark, image.arch, one.name, [brief(one)]))
    for change in found.images:
        words = [change_text(one) for one in change.changes]
        words += [f"noise: {change_text(one)}" for one in change.noise]
        if words:
            rows.append(_row("image", change.new.arch, change.new.path, words))
    for word, images in image_sides(found):
        rows += [_row("image", image.arch, way_to(image), [word]) for image in images]
    return {
        "old": escaped(old),
        "new": escaped(new),
        "status": found.status,
        "summary": summary(found),
        "facts": [escaped(line) for line in file_lines(found)],
        "rows": rows,
    }


def _changed(function: FunctionChange) -> Record:
    image, one = function.pair.new
    row = _row(
        function_mark(function),
        image.arch,
        one.name,
        [change_text(change) for change in function.changes],
    )
    if function.renamed:
        row["how"] = function.pair.how
        row["was"] = escaped(readable(function.pair.old[1].name))
    row["occupancy"] = list(occupancies(function))
    return row


def _row(mark: str, arch: str, name: str, changes: list[str]) -> Record:
    text = readable(name)
    return {
        "mark": mark,
        "arch": arch,
        "name": escaped(text),
        "mangled": None if text == name else escaped(name),
        "how": None,
        "was": None,
        "changes": [escaped(change) for change in changes],
        "occupancy": [None, None],
    }
