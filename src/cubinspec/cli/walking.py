"""What the commands that take containers share: walking them, filters, faults, CSV."""

from __future__ import annotations

from contextlib import suppress

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.cli.output import complain, csv_cell, printable, report
from cubinspec.cli.progress import Progress
from cubinspec.containers import images
from cubinspec.errors import CubinError, NotCubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from cubinspec.containers import Image
    from cubinspec.containers.walk import Visit

    Wanted = Callable[[Image], bool]
    Parts = Callable[[Iterable[Image]], Iterable[Image]]

ARCH = Option("--arch", value="SM", help="only images of this target (sm_90, 90a, compute_90, …)")
CUBIN_ARCH = Option("--arch", value="SM", help="only images of this target (sm_90, 90a, …)")
MATCH = Option(
    "--match",
    value="PATTERN",
    help="only kernels whose name has PATTERN, fits it (* ? [a-z]) or matches re:EXPRESSION",
)
RELOCATABLE = Option(
    "--relocatable", help="inputs of a device link too, beside the image linked of them"
)
CSV = Option("--csv", help="comma-separated values instead of text")

#: Cells of CSV that are kept, as the next rows are likely to have the same.
_KEPT_TEXTS = 1 << 12
_LINES_AT_ONCE = 1 << 8


class Targets:
    """The filter that ``--arch`` asks for. It remembers which targets it met."""

    __slots__ = ("_asked", "_met")

    def __init__(self, asked: dict[str, tuple[str, ...]]) -> None:
        self._asked = asked
        self._met: set[str] = set()

    def __call__(self, image: Image) -> bool:
        """Whether an image is for one of the targets."""
        arch = image.arch
        self._met.add(arch)
        return any(arch in accepted for accepted in self._asked.values())

    def __str__(self) -> str:
        return " ".join(f"--arch {word}" for word in self._asked)

    def say_unmet(self) -> None:
        """Say on stderr which targets no image is for, unless there is none for any of them."""
        unmet = [word for word, accepted in self._asked.items() if self._met.isdisjoint(accepted)]
        if unmet and len(unmet) < len(self._asked):
            complain(no_image_for(unmet, self._met))


def no_image_for(words: Iterable[str], met: Iterable[str]) -> str:
    """The note about targets that nothing fits.

    Args:
        words: what was asked for in vain.
        met: targets of all images.
    """
    from cubinspec.report.archs import in_order

    there = " ".join(in_order(filter(None, met)))
    return f"no image is for {' or '.join(in_order(words))}; there are {there}"


def architecture_filter(arguments: Arguments) -> Targets | None:
    """The filter that ``--arch`` asks for; ``None`` when it was not given.

    ``sm_90`` takes cubins, ``compute_90`` PTX and IR, a bare ``90`` both. Several are separated
    by commas or given one by one.
    """
    names = [name for text in arguments.values("--arch") for name in text.split(",") if name]
    asked: dict[str, tuple[str, ...]] = {}
    for name in names:
        number = name.removeprefix("sm_").removeprefix("compute_")
        if not number.rstrip("af").isdecimal():
            raise UsageError(f"--arch needs a target such as sm_90a, not {name!r}")
        asked[name] = (name,) if number != name else (f"sm_{number}", f"compute_{number}")
    return Targets(asked) if asked else None


def for_each_image(
    files: Iterable[str],
    action: Callable[[Image], None],
    *,
    wanted: Wanted | None = None,
    targets: Targets | None = None,
    expected: str = "device code",
    on_file: Callable[[str], None] | None = None,
    visit: Visit | None = None,
    parts: Parts | None = None,
) -> int:
    """Call ``action`` for every image in files, folders and archives.

    Faults are reported where they occur and the walk goes on; a summary ends it.

    Args:
        wanted: images that it returns false for are passed over.
        targets: so are those for other targets; a target that no image is for is told at the end.
        expected: what a file without any wanted image is said to lack.
        on_file: called before each file.
        visit: see :func:`cubinspec.images`.
        parts: adds images that are inside of others.

    Returns:
        1 if anything could not be read or a file held nothing wanted, else 0.
    """
    faults = 0
    total = 0
    status = 0
    filters = [fits for fits in (wanted, targets) if fits is not None]
    with Progress("images") as progress:

        def refuse(error: CubinError) -> None:
            nonlocal faults
            progress.clear()
            report(error)
            faults += 1

        for file in files:
            found = 0
            broken = faults
            others: set[str] = set()
            if on_file is not None:
                on_file(file)
            try:
                walked = images(file, visit=visit)
                for image in walked if parts is None else parts(walked):
                    total += 1
                    progress.step(image)
                    if image.error is not None:
                        refuse(image.error)
                        continue
                    try:
                        if filters and not all(fits(image) for fits in filters):
                            if image.error is not None:
                                refuse(image.error)
                            others.add(image.arch)
                            continue
                        found += 1
                        action(image)
                    except CubinError as error:
                        refuse(error)
                if not found and faults == broken:
                    progress.clear()
                    report(nothing_in(file, expected, others, chosen=targets is not None))
                    status = 1
            except CubinError as error:
                refuse(error)
    if faults and total > 1:
        complain(f"{faults} of {total} images could not be read")
    if targets is not None:
        targets.say_unmet()
    return 1 if faults else status


def said_nothing_fits(pattern: str | None, names: int) -> bool:
    """Say on stderr that no name fits ``--match``.

    Args:
        pattern: what was asked for; ``None`` for everything.
        names: how many names fit.
    """
    if pattern is None or names:
        return False
    complain(f"no name has or matches {pattern!r}")
    return True


def require_arch(image: Image) -> None:
    """Raise what keeps the target of an image from being known.

    Raises:
        CubinError: the image is broken.
    """
    if not image.arch and image.error is not None:
        raise image.error


def nothing_in(
    file: str, expected: str, targets: Collection[str] = (), *, chosen: bool = False
) -> CubinError:
    """The complaint about a file without anything that was asked for.

    Args:
        expected: what was asked for.
        targets: of the images that are in it all the same; without, they are looked for.
        chosen: only some targets were asked for.
    """
    from cubinspec.report.archs import in_order

    if chosen and not targets:
        with suppress(CubinError):
            targets = {image.arch for image in images(file)}
    which = f"no {expected} of those asked for" if chosen else f"no {expected}"
    if there := " ".join(in_order(filter(None, targets))):
        return NotCubinError(f"{which} is in it; there is code for {there}", file=file)
    from cubinspec.containers import identify

    return NotCubinError(f"this is {identify(file)}; {which} was found in it", file=file)


def write_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a CSV table with a head; ``None`` is an empty cell, text is safe (:func:`csv_cell`).

    It says what the module ``csv`` would, which looks at each character of each row.
    """
    from functools import lru_cache

    # names, files and targets stand in many rows
    field = lru_cache(_KEPT_TEXTS)(_csv_field)
    lines = [",".join(map(field, head))]
    for row in rows:
        lines.append(",".join([field(v) if isinstance(v, str) else _plain(v) for v in row]))
        if len(lines) >= _LINES_AT_ONCE:
            print("\n".join(lines))
            lines.clear()
    if lines:
        print("\n".join(lines))


def _csv_field(text: str) -> str:
    found = str(csv_cell(text))
    if "," in found or '"' in found:
        return '"' + found.replace('"', '""') + '"'
    return found


def _plain(value: object) -> str:
    return "" if value is None else str(value)


def bytes_text(size: int) -> str:
    """A size with thousands separated."""
    return f"{size:,}"


def shown(text: object) -> str:
    """Any text made safe for a terminal."""
    return printable(str(text))
