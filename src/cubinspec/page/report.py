"""A page about files, for a file and for a notebook."""

from __future__ import annotations

import os
from html import escape

from cubinspec.containers.image import Image
from cubinspec.errors import CubinError
from cubinspec.model.cubin import Cubin
from cubinspec.output_files import write_file
from cubinspec.page.difference import compared, difference_record
from cubinspec.page.document import USUALLY_COVERED, Document
from cubinspec.page.html import html, title_of
from cubinspec.values import ValueObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from cubinspec.values import PathName

    #: What a page can be made of.
    Shown = PathName | bytes | bytearray | memoryview | Cubin | Image

_BYTES = (bytes, bytearray, memoryview)
_SINGLE = (str, os.PathLike, *_BYTES, Cubin, Image)
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
    return _page(document, files, changes)


def _page(document: Document, names: list[str], changes: dict[str, Any] | None) -> Page:
    return Page({**document.data(title_of(names)), "difference": changes}, document.faults)


def show(
    paths: Shown | Iterable[Shown],
    *,
    against: PathName | None = None,
    jobs: int | None = None,
) -> Page:
    """A page about files, folders, cubins or images, as ``cubinspec report`` writes it.

    What cannot be read is a row of the page, and is in :attr:`Page.faults`.

    Args:
        paths: a file or folder, a :class:`Cubin`, an :class:`Image`, bytes of a file; or several.
        against: an older build of the file; what changed is shown, too.
        jobs: processes; by default all cores for a large file.

    Raises:
        TypeError: something else is to be shown.
        ValueError: nothing was given, or several things or no file and an older build.
    """
    things = _things(paths)
    if not things:
        raise ValueError("show takes a file, a cubin, an image, or several; there is none")
    if against is not None:
        file = things[0]
        if len(things) != 1 or not isinstance(file, str):
            raise ValueError("show takes one file where it takes an older build of it")
        return make_page([file], os.fspath(against), jobs=jobs)
    document = Document(jobs=jobs)
    names = []
    for thing in things:
        if isinstance(thing, str):
            names.append(thing)
            document.add_file(thing)
            continue
        name, read = thing
        names.append(name)
        try:
            document.add_contents(name, read())
        except CubinError as error:
            document.fail(name, error)
    return _page(document, names, None)


def _things(what: Any) -> list[str | tuple[str, Callable[[], bytes]]]:
    """Paths, and of everything else the name and what reads it."""
    if isinstance(what, _SINGLE):
        return [_thing(what)]
    try:
        several = iter(what)
    except TypeError:
        raise TypeError(_refusal(what)) from None
    return [_thing(one) for one in several]


def _thing(what: Any) -> str | tuple[str, Callable[[], bytes]]:
    if isinstance(what, Cubin):
        return what.name, lambda: bytes(memoryview(what.data))
    if isinstance(what, Image):
        return str(what), lambda: what.data
    if isinstance(what, _BYTES):
        return "<bytes>", lambda: bytes(what)
    if isinstance(what, str | os.PathLike):
        return os.fspath(what)
    raise TypeError(_refusal(what))


def _refusal(what: object) -> str:
    return (
        f"show takes paths, cubins, images and the bytes of files, not {type(what).__name__}; "
        "a kernel shows itself in a notebook, and cubinspec.images(path) gives what is in a file"
    )
