"""From a path to the kernels in it, each with the way to its image."""

from __future__ import annotations

from cubinspec.containers.identify import identify
from cubinspec.containers.walk import images
from cubinspec.errors import CubinError, NotCubinError
from cubinspec.model.frames import escaped
from cubinspec.model.function import Function
from cubinspec.model.functions import FunctionList, FunctionRows

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from typing import Any, Self

    from cubinspec.containers.image import Image, Step

    #: Gets an image that cannot be read, and why.
    OnFault = Callable[[Image, CubinError], None]


#: Kernels that a notebook shows.
_SHOWN = 50


class FoundKernel(Function):
    """A kernel that was found in a file; it knows its image."""

    __slots__ = ("image",)

    def __init__(self, image: Image, function: Function) -> None:
        super().__init__(function.table, function.symbol_index, function.row)
        #: The image that holds it.
        self.image: Image = image

    def __repr__(self) -> str:
        return f"<kernel {self.name} {self.arch} in {self.path!r}>"

    @property
    def provenance(self) -> tuple[Step, ...]:
        """The steps from the file to the image."""
        return self.image.provenance

    @property
    def arch(self) -> str:
        """The target; what a fatbin says of it comes first, as only it names families (100f)."""
        return self.image.arch

    @property
    def file(self) -> str:
        """The file, with the members of archives on the way."""
        return self.image.file

    @property
    def path(self) -> str:
        """The whole way to the image: file → member → fatbin n → entry m."""
        return str(self.image)

    def as_dict(self) -> dict[str, Any]:
        """Everything known about it, ready for JSON."""
        steps = [step.as_dict() for step in self.provenance]
        return {**super().as_dict(), "demangled": self.demangled, "provenance": steps}


class FoundKernels(FunctionRows):
    """The kernels of a file, one after the other; it can be gone through once."""

    __slots__ = ("_found", "_what")

    def __init__(self, found: Iterator[FoundKernel], what: str) -> None:
        self._found = found
        self._what = what

    def __repr__(self) -> str:
        return f"<kernels of {self._what}>"

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> FoundKernel:
        return next(self._found)

    def _repr_html_(self) -> str:
        from itertools import chain, islice

        # what a notebook shows is not used up by that
        shown: list[FoundKernel] = list(islice(self._found, _SHOWN))
        self._found = chain(shown, self._found)
        table = FunctionList(shown)._repr_html_()
        return f"<p>the first {len(shown)} kernels of {escaped(self._what)}</p>{table}"


def kernels(
    what: str | bytes | os.PathLike[str],
    *,
    arch: str | None = None,
    relocatable: bool = False,
    on_fault: OnFault | None = None,
) -> FoundKernels:
    """The kernels of a file or folder, as the program would launch them.

    A library that was built with separate compilation holds each kernel twice: in the objects that
    were linked and in the linked image. Only the linked ones are given; where nothing was linked
    yet, as in an object file, the relocatable ones are all there is.

    Args:
        what: path of a cubin, library, object, archive, wheel, folder, …; or the bytes of one.
        arch: only images of this target, such as ``sm_90a``.
        relocatable: also the kernels of :attr:`Image.superseded` images.
        on_fault: called for what cannot be read; without it, its error is raised.

    Raises:
        FileAccessError: the path cannot be opened.
        NotCubinError: the file holds no device code.
        CubinError: an image cannot be read, and there is no ``on_fault``.
    """
    name = "<bytes>" if isinstance(what, bytes | bytearray | memoryview) else str(what)
    return FoundKernels(_kernels(what, arch, relocatable, on_fault), name)


def _kernels(
    what: str | bytes | os.PathLike[str],
    arch: str | None,
    relocatable: bool,
    on_fault: OnFault | None,
) -> Iterator[FoundKernel]:
    is_empty = True
    for image in images(what):
        is_empty = False
        try:
            if image.error is not None:
                raise image.error
            if image.kind != "cubin" or (arch is not None and image.arch != arch):
                continue
            if image.superseded and not relocatable:
                continue
            found = [FoundKernel(image, function) for function in image.cubin().kernels]
        except CubinError as error:
            if on_fault is None:
                raise
            on_fault(image, error)
            continue
        yield from found
    if is_empty:
        _refuse_empty(what)


def _refuse_empty(what: str | bytes | os.PathLike[str]) -> None:
    import os

    if isinstance(what, bytes | bytearray | memoryview):
        file = "<bytes>"
    else:
        file = os.fspath(what)
        if os.path.isdir(file):
            return
    raise NotCubinError(
        f"this is {identify(what)}, in which no device code was found",
        file=file,
        expected="a cubin, or a file that holds some",
    )
