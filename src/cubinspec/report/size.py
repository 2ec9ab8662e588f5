"""Where the bytes of a file go: by member, content, architecture, section and kernel.

Every view sums to the size of the file. ``bytes`` are before compression, ``file bytes`` are what
they take in the file: exact for uncompressed contents, a share of the compressed size for others.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cubinspec.containers import images
from cubinspec.containers.arena import Arena
from cubinspec.containers.sniff import ARCHIVES, COMPRESSED, HOSTS
from cubinspec.errors import CubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cubinspec.containers import Image, Step
    from cubinspec.containers.source import Source
    from cubinspec.model.cubin import Cubin

#: Beginning of a section's name -> what it is; the first that fits counts.
SECTION_KINDS = (
    (".text", "code"),
    (".nv.capmerc", "Mercury capsules"),
    (".nv.merc", "Mercury tables"),
    (".nv.info", "attributes"),
    (".nv.constant", "constants"),
    (".nv.global", "data"),
    (".nv.shared", "data"),
    (".nv.local", "data"),
    (".debug", "debug information"),
    (".nv_debug", "debug information"),
    (".symtab", "symbols and strings"),
    (".strtab", "symbols and strings"),
    (".shstrtab", "symbols and strings"),
    (".rel", "relocations"),
    (".nv.resolvedrela", "relocations"),
)
#: Rows of a view that a notebook shows.
_SHOWN = 20
OTHER_SECTION = "other sections"
GAPS = "cubin headers and padding"
WRAPPING = "fatbin headers and padding"
HOST = "host code and data"
OTHER_FILES = "other files"
STRUCTURE = "archive structure"
MODULE = "(shared by a module)"
NOT_DEVICE = "(not device code)"
NO_CUBIN = "(not in a cubin)"
SUPERSEDED = "(inputs of a device link)"
UNREADABLE = "(unreadable image)"


class View:
    """One breakdown: name -> file bytes and bytes before compression."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.rows: dict[str, tuple[float, float]] = {}

    def add(self, name: str, file_bytes: float, size: float) -> None:
        """Attribute bytes to a name."""
        before = self.rows.get(name)
        if before is None:
            self.rows[name] = file_bytes, size
        else:
            file_bytes_before, size_before = before
            self.rows[name] = file_bytes_before + file_bytes, size_before + size

    def table(self, total: int) -> list[tuple[str, int, int]]:
        """Rows of name, file bytes and bytes, largest first, the file bytes summing to ``total``.

        A share is rounded so that what one row loses the next one gains.
        """

        def largest_first(item: tuple[str, tuple[float, float]]) -> tuple[float, str]:
            name, (file_bytes, _) = item
            return -file_bytes, name

        ordered = sorted(self.rows.items(), key=largest_first)
        result: list[tuple[str, int, int]] = []
        exact = 0.0
        given = 0
        for name, (file_bytes, size) in ordered:
            exact += file_bytes
            # the last row takes what floating-point addition left over
            upto = total if len(result) == len(ordered) - 1 else round(exact)
            result.append((name, upto - given, round(size)))
            given = upto
        return result


class _Leaf:
    """A file or member that is no archive, and what of it has been attributed."""

    __slots__ = ("bare", "containers", "in_containers", "kind", "name", "scale", "size")

    def __init__(self, name: str, kind: str, size: int, scale: float) -> None:
        self.name = name
        self.kind = kind
        self.size = size
        self.scale = scale
        self.containers: dict[str, int] = {}
        self.in_containers = 0
        self.bare = 0


class Copies:
    """Places where the same bytes occur."""

    __slots__ = ("file_bytes", "places", "size")

    def __init__(self, size: int) -> None:
        self.size: int = size
        self.places: list[tuple[Step, ...]] = []
        self.file_bytes: list[float] = []

    def add(self, place: tuple[Step, ...], file_bytes: float) -> None:
        self.places.append(place)
        self.file_bytes.append(file_bytes)

    @property
    def wasted(self) -> int:
        """File bytes of all occurrences but the smallest."""
        return round(sum(self.file_bytes) - min(self.file_bytes))


class SizeReport:
    """The size of a file or folder, taken apart.

    Attributes:
        total: bytes of the file, or of all files of the folder.
        images: images that could be read.
        by_file, by_content, by_arch, by_section, by_kernel: the views.
        duplicate_images: images that occur more than once: kind, arch, copies.
        duplicate_code: code of a kernel or function that occurs more than once for one
            architecture: arch, name, copies.
        broken: the ways to what could not be read, and why; its bytes are attributed to what
            holds it.
        files: name in ``by_file`` -> the way to the file or member.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.total = 0
        self.images = 0
        self.by_file: View = View("file")
        self.by_content: View = View("content")
        self.by_arch: View = View("arch")
        self.by_section: View = View("section")
        self.by_kernel: View = View("kernel")
        self.duplicate_images: list[tuple[str, str, Copies]] = []
        self.duplicate_code: list[tuple[str, str, Copies]] = []
        self.broken: list[tuple[tuple[Step, ...], CubinError]] = []
        self.files: dict[str, tuple[Step, ...]] = {}

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table

        tables = []
        for view in self.views:
            rows = view.table(self.total)
            more = f", the largest {_SHOWN} of {len(rows)}" if len(rows) > _SHOWN else ""
            caption = f"{self.file}: {self.total:,} bytes by {view.title}{more}"
            tables.append(html_table(caption, (view.title, "file bytes", "bytes"), rows[:_SHOWN]))
        return "\n".join(tables)

    @property
    def faults(self) -> list[CubinError]:
        """Why some of it could not be read."""
        return [error for _, error in self.broken]

    @property
    def views(self) -> tuple[View, ...]:
        """All views, in the order in which they are shown."""
        return (self.by_file, self.by_content, self.by_arch, self.by_section, self.by_kernel)


def measure(
    file: str, step: Callable[[str], None] = lambda text: None, *, relocatable: bool = False
) -> SizeReport:
    """Take the size of a file or folder apart.

    Args:
        relocatable: give what the inputs of a device link hold to their kernels, too, and not to
            one row, where the linked image is in the same file.
        step: called with every image, for progress.

    Raises:
        FileAccessError: the file cannot be opened.
    """
    measuring = Measuring(file, relocatable)
    arena = Arena()
    for image in images(file, visit=measuring.visit):
        step(str(image))
        measuring.add(image, image.error or sizes_or_fault(image, arena))
    return measuring.finish()


def sizes_or_fault(image: Image, arena: Arena) -> ImageSizes | CubinError:
    """Where the bytes of an image go, or why they cannot be had."""
    try:
        return read_sizes(image, arena)
    except CubinError as error:
        return error


@dataclass(slots=True)
class ImageSizes:
    """Where the bytes of one image go.

    Attributes:
        size: bytes when decompressed.
        digest: of these bytes; empty for what a producer scrambled.
        pieces: what it is, the function it belongs to, bytes; of a cubin they sum to its size.
        code: function, digest and bytes of each code section.
        error: why its sections are not known.
    """

    size: int
    digest: bytes = b""
    pieces: list[tuple[str, str, int]] = field(default_factory=list)
    code: list[tuple[str, bytes, int]] = field(default_factory=list)
    error: CubinError | None = None


def read_sizes(image: Image, arena: Arena) -> ImageSizes:
    """Where the bytes of an image go.

    Raises:
        CubinError: its bytes cannot be had.
    """
    from hashlib import sha256

    if image.scrambled:
        return ImageSizes(image.size)
    data = image.view(arena)
    found = ImageSizes(len(data), sha256(data).digest())
    if image.kind == "cubin":
        try:
            with image.cubin(arena) as cubin:
                _take_apart(cubin, found)
        except CubinError as error:
            found.error = error
    return found


def _take_apart(cubin: Cubin, found: ImageSizes) -> None:
    """Give every byte of a cubin to a kind of section and a function.

    Everything is read before anything is noted: of a cubin that turns out to be broken nothing is.
    """
    from hashlib import sha256

    size = found.size
    names = {function.name for function in cubin.functions}
    spans = []
    for section in cubin.sections:
        if section.sh_size and section.has_bytes:
            spans.append((section.sh_offset, section.sh_offset + section.sh_size, section))
    spans.sort(key=lambda span: span[:2])
    pieces: list[tuple[str, str, int]] = []
    code: list[tuple[str, bytes, int]] = []
    cursor = attributed = 0
    for start, end, section in spans:
        # A Mercury section may share its bytes with its SASS twin: the first one counts.
        own = min(end, size) - max(start, cursor)
        if own <= 0:
            continue
        cursor = min(end, size)
        attributed += own
        name = section.name
        function = _function_of(name, names)
        pieces.append((section_kind(name), function or MODULE, own))
        if function and name.startswith(".text."):
            code.append((function, sha256(section.data).digest(), own))
    pieces.append((GAPS, MODULE, size - attributed))
    found.pieces, found.code = pieces, code


class Measuring:
    """Attributes bytes while a file is walked.

    Args:
        file: the file or folder.
        relocatable: see :func:`measure`.
    """

    def __init__(self, file: str, relocatable: bool = False) -> None:
        self.report: SizeReport = SizeReport(file)
        self._relocatable = relocatable
        self._files: set[str] = set()
        self._leaves: dict[str, _Leaf] = {}
        self._images: dict[tuple[str, str, bytes], Copies] = {}
        self._code: dict[tuple[str, str, bytes], Copies] = {}

    def visit(self, steps: tuple[Step, ...], source: Source, kind: str) -> None:
        """Note a file or member."""
        outermost = steps[0]
        if outermost.name not in self._files:
            self._files.add(outermost.name)
            self.report.total += outermost.size
        if kind in ARCHIVES or kind in COMPRESSED:
            return
        name = " → ".join(step.name for step in steps)
        self.report.files[name] = steps
        self._leaves[name] = _Leaf(name, kind, source.size, source.scale)

    def add(self, image: Image, sizes: ImageSizes | CubinError) -> float:
        """Attribute an image.

        Args:
            sizes: what :func:`read_sizes` gave or raised.

        Returns:
            what it takes in the file.
        """
        report = self.report
        if image.error is not None:
            report.broken.append((image.provenance, image.error))
            return 0.0
        file_bytes = self._stored(image)
        if isinstance(sizes, CubinError):
            report.broken.append((image.provenance, sizes))
            for view in report.views[1:]:
                view.add(UNREADABLE, file_bytes, image.stored_size)
            return file_bytes
        report.images += 1
        report.by_content.add(image.kind, file_bytes, sizes.size)
        report.by_arch.add(image.arch or image.kind, file_bytes, sizes.size)
        if sizes.digest:
            key = (image.kind, image.arch, sizes.digest)
            self._images.setdefault(key, Copies(sizes.size)).add(image.provenance, file_bytes)
        if sizes.error is not None:
            report.broken.append((image.provenance, sizes.error))
        self._add_pieces(image, sizes, file_bytes)
        return file_bytes

    def _stored(self, image: Image) -> float:
        """What an image takes in the file."""
        leaf = self._leaves[image.file]
        if image.entry is None:
            leaf.bare += image.stored_size
        else:
            container = image.provenance[-2]
            leaf.containers[container.name] = min(container.size, leaf.size - container.offset)
            leaf.in_containers += image.stored_size
        return image.stored_size * leaf.scale

    def _add_pieces(self, image: Image, sizes: ImageSizes, file_bytes: float) -> None:
        report = self.report
        if not sizes.pieces:
            report.by_section.add(NO_CUBIN, file_bytes, sizes.size)
            report.by_kernel.add(NO_CUBIN, file_bytes, sizes.size)
            return
        ratio = file_bytes / sizes.size if sizes.size else 0.0
        superseded = image.superseded and not self._relocatable
        for kind, function, own in sizes.pieces:
            report.by_section.add(kind, own * ratio, own)
            report.by_kernel.add(SUPERSEDED if superseded else function, own * ratio, own)
        for function, digest, own in () if superseded else sizes.code:
            copies = self._code.setdefault((image.arch, function, digest), Copies(own))
            copies.add(image.provenance, own * ratio)

    def finish(self) -> SizeReport:
        """Attribute what is left, and find the duplicates."""
        report = self.report
        left: float = report.total
        for leaf in self._leaves.values():
            report.by_file.add(leaf.name, leaf.size * leaf.scale, leaf.size)
            left -= leaf.size * leaf.scale
            containers = sum(leaf.containers.values())
            wrapping = containers - leaf.in_containers
            rest = leaf.size - containers - leaf.bare
            host = leaf.kind in HOSTS or containers
            for view, name in (
                (report.by_content, HOST if host else OTHER_FILES),
                *((view, NOT_DEVICE) for view in report.views[2:]),
            ):
                if wrapping:
                    view.add(WRAPPING, wrapping * leaf.scale, wrapping)
                if rest:
                    view.add(name, rest * leaf.scale, rest)
        if round(left):
            report.by_file.add(STRUCTURE, left, round(left))
            report.by_content.add(STRUCTURE, left, round(left))
            for view in report.views[2:]:
                view.add(NOT_DEVICE, left, round(left))
        report.duplicate_images = [
            (kind, arch, copies)
            for (kind, arch, _), copies in self._images.items()
            if len(copies.places) > 1
        ]
        report.duplicate_code = [
            (arch, name, copies)
            for (arch, name, _), copies in self._code.items()
            if len(copies.places) > 1
        ]
        for duplicates in (report.duplicate_images, report.duplicate_code):
            duplicates.sort(key=_saving, reverse=True)
        return report


def _saving(duplicate: tuple[str, str, Copies]) -> int:
    _, _, copies = duplicate
    return copies.wasted


def section_kind(name: str) -> str:
    """What a section holds, in the words of ``SECTION_KINDS``."""
    return next((kind for start, kind in SECTION_KINDS if name.startswith(start)), OTHER_SECTION)


def _function_of(name: str, functions: set[str]) -> str | None:
    """The function that a section belongs to: ``.nv.info.f`` and ``.rela.text.f`` end in it."""
    at = name.find(".", 1)
    while at > 0:
        tail = name[at + 1 :]
        if tail in functions:
            return tail
        at = name.find(".", at + 1)
    return None


def size_record(report: SizeReport) -> dict[str, Any]:
    """The report, ready for JSON."""
    return {
        "file": report.file,
        "size": report.total,
        "images": report.images,
        "by_file": [
            {
                "provenance": _way(report.files.get(name, ())),
                "file_bytes": file_bytes,
                "bytes": size,
            }
            for name, file_bytes, size in report.by_file.table(report.total)
        ],
        **{
            f"by_{view.title}": [
                {"name": name, "file_bytes": file_bytes, "bytes": size}
                for name, file_bytes, size in view.table(report.total)
            ]
            for view in report.views[1:]
        },
        "duplicate_images": [
            {
                "kind": kind,
                "arch": arch,
                "copies": len(copies.places),
                "bytes": copies.size,
                "wasted_file_bytes": copies.wasted,
                "images": [_way(steps) for steps in copies.places],
            }
            for kind, arch, copies in report.duplicate_images
        ],
        "duplicate_code": [
            {
                "arch": arch,
                "name": name,
                "copies": len(copies.places),
                "bytes": copies.size,
                "wasted_file_bytes": copies.wasted,
                "images": [_way(steps) for steps in copies.places],
            }
            for arch, name, copies in report.duplicate_code
        ],
        "faults": [
            {"provenance": _way(steps), **error.as_dict()} for steps, error in report.broken
        ],
    }


def _way(steps: tuple[Step, ...]) -> list[dict[str, object]]:
    return [step.as_dict() for step in steps]
