"""A page about files, for a file and for a notebook."""

from __future__ import annotations

import os
from html import escape

from cubinspec.errors import CubinError
from cubinspec.files import write_file
from cubinspec.page.difference import compared, difference_record
from cubinspec.page.document import USUALLY_COVERED, Document
from cubinspec.page.html import html, title_of
from cubinspec.values import ValueObject, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from cubinspec.values import PathName

#: Height of a page among the cells of a notebook.
_HEIGHT = 640


class Page(ValueObject):
    """A page about files. A notebook shows it; :meth:`save` writes it.

    Attributes:
        data: what it shows (``report.schema.json``).
        faults: why something could not be read; the page shows it, too.
    """

    __match_args__ = ("data", "faults")
    __slots__ = __match_args__

    def __init__(self, data: dict[str, Any], faults: list[CubinError]) -> None:
        self.data: dict[str, Any] = data
        self.faults: list[CubinError] = faults

    def __repr__(self) -> str:
        return f"<Page {self.data['title']!r}>"

    def html(self) -> str:
        """The whole page."""
        return html(self.data).decode("utf-8")

    def save(self, path: PathName) -> None:
        """Write the page to a file.

        Raises:
            FileAccessError: it cannot be written.
        """
        write_file(path, html(self.data))

    def _repr_html_(self) -> str:
        # a frame of its own: neither the page nor the notebook reaches the other
        return (
            f'<iframe title="{escape(self.data["title"])}" sandbox="allow-scripts" width="100%" '
            f'height="{_HEIGHT}" srcdoc="{escape(self.html())}"></iframe>'
        )


def make_page(
    files: list[str],
    against: str | None = None,
    *,
    archs: frozenset[str] | None = None,
    relocatable: bool = False,
    covered: int | None = USUALLY_COVERED,
    jobs: int | None = None,
    step: Callable[[str, int], None] = lambda text, count: None,
) -> Page:
    """Read files and make their page.

    Args:
        against: an older build of the only file.
        archs, relocatable, covered, jobs, step: see :class:`cubinspec.page.document.Document`.
    """
    document = Document(archs=archs, relocatable=relocatable, covered=covered, jobs=jobs, step=step)
    for file in files:
        document.add_file(file)
    changes = None
    if against is not None and not document.failed:
        try:
            found, faults = compared(
                against, files[0], archs=archs, relocatable=relocatable, jobs=jobs, step=step
            )
            changes = difference_record(found, against, files[0])
            document.faults += faults
        except CubinError as error:
            document.fail(against, error)
    return Page({**document.data(title_of(files)), "difference": changes}, document.faults)


def show(
    paths: PathName | Iterable[PathName],
    *,
    against: PathName | None = None,
    jobs: int | None = None,
) -> Page:
    """A page about files or folders, as ``cubinspec report`` writes it.

    What cannot be read is a row of the page, and is in :attr:`Page.faults`.

    Args:
        paths: a file or folder, or several.
        against: an older build of the file; what changed is shown, too.
        jobs: processes; by default all cores for a large file.

    Raises:
        ValueError: no file was given, or several and an older build.
    """
    files = listed(paths)
    if not files or (against is not None and len(files) != 1):
        raise ValueError("show takes files, and one file where it takes an older build of it")
    return make_page(files, None if against is None else os.fspath(against), jobs=jobs)
