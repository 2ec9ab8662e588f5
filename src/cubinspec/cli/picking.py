"""Picking cubins out of libraries, wheels, fatbins, … for commands that read whole cubins."""

from __future__ import annotations

import sys

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.cli.output import for_each_file, printable, report
from cubinspec.errors import CubinError, NotCubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec.cli.walking import Targets
    from cubinspec.containers import Image
    from cubinspec.model.cubin import Cubin
    from cubinspec.reader.elf import Buffer

    #: The way to an image, ready for JSON.
    Steps = list[dict[str, object]]
    #: Gets the bytes of a cubin and the path to it, as text and as data.
    Act = Callable[[Buffer, str, Steps], None]

IMAGE = Option(
    "--image", value="PATH", help="the cubin with this number or part of its path, as 'images' says"
)
ARCH = Option("--arch", value="SM", help="only cubins of this target (sm_90, 90a, …)")
KERNEL = Option("--kernel", value="NAME", help="only cubins with a kernel of this name")
#: What a command takes that calls :func:`for_each_picked`.
PICK = (IMAGE, ARCH, KERNEL)

#: Lines of the list that is shown when several images fit.
_MOST_LISTED = 40
#: Enough bytes to know a cubin by.
_HEAD_BYTES = 64
_ARROW = " → "


def for_each_picked(
    arguments: Arguments,
    files: list[str],
    action: Callable[[Cubin, Steps], None],
    *,
    one: bool = False,
) -> int:
    """Call ``action`` for the cubins in files, folders and archives that the options pick.

    Args:
        one: each file must give one cubin; when several fit, their list is shown instead.

    Returns:
        The exit status: 1 if something could not be read, or nothing or too much fits.
    """

    def act(data: Buffer, name: str, steps: Steps) -> None:
        from cubinspec.model.cubin import Cubin

        with Cubin(data, name) as cubin:
            action(cubin, steps)

    return _for_each(arguments, files, lambda file: _open(file, action), act, one=one)


def for_each_picked_data(
    arguments: Arguments,
    files: list[str],
    action: Act,
    *,
    one: bool = False,
    errors: list[CubinError] | None = None,
) -> int:
    """:func:`for_each_picked` with bytes, which a file that is no container need not be a cubin.

    Args:
        errors: takes why files as a whole cannot be used, beside what is reported.
    """

    def bare(file: str) -> bool:
        return _load(file, action)

    return _for_each(arguments, files, bare, action, one=one, errors=errors)


def _for_each(
    arguments: Arguments,
    files: list[str],
    bare: Callable[[str], bool],
    action: Act,
    *,
    one: bool,
    errors: list[CubinError] | None = None,
) -> int:
    pick = _Pick(arguments)
    faults = 0

    def visit(file: str) -> None:
        nonlocal faults
        pick.met.clear()
        try:
            if not pick.is_open and bare(file):
                return
            faults += _only(file, pick, action) if one else _every(file, pick, action)
        except CubinError as error:
            if errors is not None and error not in errors:
                errors.append(error)
            raise

    status = for_each_file(files, visit) or int(faults > 0)
    pick.say_unmet()
    return status


class _Pick:
    """Tells which cubins the options ask for.

    Attributes:
        is_open: whether anything was asked for.
        met: targets of the cubins of one file.
    """

    __slots__ = ("_accepted", "_kernel", "_number", "_path", "is_open", "met")

    def __init__(self, arguments: Arguments) -> None:
        self._accepted: Targets | None = None
        if arguments.values("--arch"):
            from cubinspec.cli.walking import architecture_filter  # it loads all of `containers`

            self._accepted = architecture_filter(arguments)
        self._kernel = arguments.value("--kernel")
        path = arguments.value("--image")
        if path == "":
            raise UsageError("--image needs a number or a part of a path")
        self._number = int(path) if path is not None and path.isdecimal() else None
        self._path = path
        self.is_open = bool(path or self._accepted or self._kernel is not None)
        self.met: set[str] = set()

    def takes(self, number: int, image: Image) -> bool:
        """Whether this cubin, the ``number``-th of the file, is asked for."""
        self.met.add(image.arch)
        if self._number is not None:
            if number != self._number:
                return False
        elif self._path is not None and not _has_part(str(image), self._path):
            return False
        if self._accepted is not None and not self._accepted(image):
            return False
        return self._kernel is None or _has_kernel(image, self._kernel)

    def say_unmet(self) -> None:
        """Say on stderr which targets no cubin is for, unless there is none for any of them."""
        if self._accepted is not None:
            self._accepted.say_unmet()

    def __str__(self) -> str:
        words = [] if self._path is None else [f"--image {self._path}"]
        words += [] if self._accepted is None else [str(self._accepted)]
        words += [] if self._kernel is None else [f"--kernel {self._kernel}"]
        return " ".join(words)


def _has_part(path: str, part: str) -> bool:
    """Whether a part of a path was meant; ``entry 1`` is no part of ``entry 12``."""
    wanted = part.replace("->", "/")  # as an arrow is printed where the encoding has none
    wanted = wanted.replace(_ARROW.strip(), "/").replace(" /", "/").replace("/ ", "/")
    whole = path.replace(_ARROW, "/")
    at = whole.find(wanted)
    while at >= 0:
        behind = whole[at + len(wanted) : at + len(wanted) + 1]
        if not (wanted[-1].isdigit() and behind.isdigit()):
            return True
        at = whole.find(wanted, at + 1)
    return False


def _has_kernel(image: Image, word: str) -> bool:
    from cubinspec.report.resolve import NoSuchNameError, resolve_all

    try:
        resolve_all(word, [kernel.name for kernel in image.cubin().kernels], "kernel")
    except NoSuchNameError as error:
        return not error.is_unknown
    return True


def _open(file: str, action: Callable[[Cubin, Steps], None]) -> bool:
    """Read a file that is itself a cubin; false when it is something else."""
    import os

    from cubinspec.model.cubin import Cubin

    if os.path.isdir(file):
        return False
    try:
        cubin = Cubin.open(file)
    except NotCubinError:
        if not os.path.isfile(file):
            raise  # a pipe cannot be read a second time to find out what it held
        return False
    with cubin:
        action(cubin, only_step(file, cubin.size))
    return True


def _load(file: str, action: Act) -> bool:
    """Act on the bytes of a file that cannot hold cubins; false when it can."""
    import os

    from cubinspec.files import open_file
    from cubinspec.reader.elf import is_cubin_header

    if os.path.isdir(file):
        return False
    data = open_file(file)
    try:
        # a pipe cannot be read a second time to find out what it held
        can_be_other = os.path.isfile(file) and not is_cubin_header(bytes(data[:_HEAD_BYTES]))
        if can_be_other and _is_other(data):
            return False
        action(data, file, only_step(file, len(data)))
    finally:
        if not isinstance(data, bytes):
            data.close()
    return True


def _is_other(data: Buffer) -> bool:
    """Whether something is not even a broken cubin; cubins may be inside of it."""
    from cubinspec.containers.elf_host import ELF_MAGIC
    from cubinspec.containers.sniff import ARCHIVES, COMPRESSED, HOSTS, SNIFF_BYTES, sniff

    head = bytes(data[:SNIFF_BYTES])
    if not head.startswith(ELF_MAGIC):
        return True
    return sniff(head) in (*HOSTS, *ARCHIVES, *COMPRESSED, "fatbin")


def only_step(file: str, size: int) -> Steps:
    """The way to a cubin that is a file of its own."""
    return [{"kind": "file", "name": file, "offset": 0, "size": size}]


def steps_of(image: Image) -> Steps:
    """The way to an image."""
    return [step.as_dict() for step in image.provenance]


def _cubins(file: str, faults: list[CubinError]) -> Iterator[tuple[int, Image]]:
    """Every cubin in a file with its number, from 1; what cannot be read is a fault."""
    from cubinspec.containers import images

    number = 0
    for image in images(file):
        if image.error is not None:
            faults.append(image.error)
        elif image.kind == "cubin":
            number += 1
            yield number, image


def _every(file: str, pick: _Pick, action: Act) -> int:
    """Act on every cubin that fits; returns how many could not be read."""
    from cubinspec.containers.arena import Arena

    arena = Arena()
    faults: list[CubinError] = []
    reported = fitting = 0
    for number, image in _cubins(file, faults):
        try:
            if pick.takes(number, image):
                fitting += 1
                action(image.view(arena), str(image), steps_of(image))
        except CubinError as error:
            faults.append(error)
        for fault in faults[reported:]:
            report(fault)
        reported = len(faults)
    for fault in faults[reported:]:
        report(fault)
    if not fitting and not faults:
        raise _nothing(file, pick)
    return len(faults)


def _only(file: str, pick: _Pick, action: Act) -> int:
    """Act on the one cubin that fits, or show the list; returns how many faults there were."""
    faults: list[CubinError] = []
    lines: list[str] = []
    data = b""
    name = ""
    steps: Steps = []
    for number, image in _cubins(file, faults):
        try:
            if not pick.takes(number, image):
                continue
            arch = image.arch
            if not lines:
                # a member of an archive can be read only while the walk stands at it
                data, name, steps = image.data, str(image), steps_of(image)
        except CubinError as error:
            faults.append(error)
            continue
        lines.append(f"  {number:>4}  {arch:<8}  {printable(str(image))}")
    if len(lines) == 1:
        action(data, name, steps)
        return 0
    for fault in faults:
        report(fault)
    if not lines:
        if faults:
            return len(faults)
        raise _nothing(file, pick)
    sys.stdout.flush()
    head = f"{printable(file)}: {len(lines)} cubins fit; pick one with --image NUMBER, --arch"
    print(f"cubinspec: {head} or --kernel:", file=sys.stderr)
    print("\n".join(lines[:_MOST_LISTED]), file=sys.stderr)
    if len(lines) > _MOST_LISTED:
        print(f"  … and {len(lines) - _MOST_LISTED} more", file=sys.stderr)
    return 1


def _nothing(file: str, pick: _Pick) -> CubinError:
    from cubinspec.cli.walking import nothing_in
    from cubinspec.report.archs import in_order

    if not pick.is_open:
        return nothing_in(file, "cubin")
    there = " ".join(in_order(filter(None, pick.met)))
    return NotCubinError(f"no cubin in it fits {pick}; there is code for {there}", file=file)
