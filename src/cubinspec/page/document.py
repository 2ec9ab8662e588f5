"""The data of a page: columns of numbers and tables of what recurs, ready for JSON.

A library has tens of thousands of kernels with few different parameter lists, attributes and
launches. Those stand once and are referred to by number; so is each name. All texts are escaped
here, so that the page shows control characters and marks of direction as what they are.
"""

from __future__ import annotations

import functools
import os

from cubinspec.containers import identify, images
from cubinspec.errors import CubinError, NotCubinError
from cubinspec.page.image import FIGURES, SHAPES, Choice, ImagePart, read_part
from cubinspec.report.archs import Facts, Inventory, archs_record
from cubinspec.report.names import escaped, readable
from cubinspec.report.occupancy import limits_of, occupancy_curve
from cubinspec.report.size import MODULE, Measuring
from cubinspec.scan.parallel import MIN_PARALLEL_BYTES, usable_cores, work_on_images
from cubinspec.scan.schema import COLUMNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from typing import Any

    from cubinspec.containers import Image, Step
    from cubinspec.containers.source import Source
    from cubinspec.page.drawing import Drawing, Drawings
    from cubinspec.page.image import FunctionPart
    from cubinspec.report.occupancy import Occupancy
    from cubinspec.report.size import Copies, SizeReport

    Record = dict[str, Any]
    #: Lists the images of a file; it takes ``visit`` as :func:`cubinspec.images` does.
    Listing = Callable[..., Iterable[Image]]

#: Name and version of what the page is made of.
SCHEMA = "cubinspec.report/1"
#: Bytes of cubins in a file whose coverage is measured; the authoritative reader takes about a
#: second for a million bytes.
USUALLY_COVERED = 4 << 20
#: Rows of a list of which a library can have any number; the largest are kept.
MOST_ROWS = 1000
#: Places that are listed of what occurs several times.
MOST_PLACES = 20
_IMAGE_COLUMNS = (
    *("file", "path", "kind", "arch", "type", "tool", "size", "stored", "superseded"),
    *("coverage", "error"),
)
_LISTS = ("params", "attributes", "occupancies")


class Interned:
    """Values that stand once; others refer to them by number."""

    __slots__ = ("_numbers", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, key: Hashable, make: Callable[[], Any]) -> int:
        """The number of the value that belongs to a key; it is made when the key is new."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.values)
            self.values.append(make())
        return number


class Document:
    """Collects what a page shows.

    Args:
        archs: targets whose functions are shown; ``None``: all.
        relocatable: functions of inputs of a device link, too.
        covered: bytes of cubins in a file whose coverage is measured; ``None``: all.
        jobs: processes for each file; by default all cores for a large one.
        step: told how many images are done, for progress.

    Attributes:
        faults: why something could not be read; each is in the page, too.
    """

    def __init__(
        self,
        *,
        archs: frozenset[str] | None = None,
        relocatable: bool = False,
        covered: int | None = USUALLY_COVERED,
        jobs: int | None = None,
        step: Callable[[str, int], None] = lambda text, count: None,
    ) -> None:
        self.faults: list[CubinError] = []
        self._archs = archs
        self._relocatable = relocatable
        self._most_covered = covered
        self._jobs = jobs
        self._step = step
        self._names = Interned()
        self._records = Interned()
        self._lists = {name: Interned() for name in _LISTS}
        self._files: list[Record] = []
        self._images: dict[str, list[Any]] = {name: [] for name in _IMAGE_COLUMNS}
        columns = ("image", "name", "is_kernel", *FIGURES, *SHAPES, *_LISTS, "open_stack")
        self._functions: dict[str, list[Any]] = {name: [] for name in columns}
        self._own: dict[str, dict[int, int]] = {}
        self._shared: dict[str, dict[int, int]] = {}
        self._calls: list[Record] = []
        self._devices = Facts()

    def add_file(self, path: str) -> None:
        """Read a file or folder; one that cannot be read becomes a row with its error."""
        jobs = self._jobs
        if jobs is None:
            large = os.path.isfile(path) and os.path.getsize(path) >= MIN_PARALLEL_BYTES
            jobs = usable_cores() if large else 1
        try:
            what = "a folder" if os.path.isdir(path) else identify(path).text
            self._files.append(self._file(path, what, functools.partial(images, path), jobs))
        except CubinError as error:
            self.fail(path, error)

    def add_contents(self, name: str, data: bytes) -> None:
        """Read the bytes of a file; ones that cannot be read become a row with the error."""
        try:
            listing = functools.partial(images, data, name=name)
            self._files.append(self._file(name, identify(data).text, listing, 1))
        except CubinError as error:
            self.fail(name, error)

    def fail(self, path: str, error: CubinError) -> None:
        """Note a file that cannot be read at all."""
        self.faults.append(error)
        fault = {"name": escaped(path), "what": "", "size": 0, "error": escaped(str(error))}
        self._files.append({**fault, "sizes": None, "archs": None})

    @property
    def failed(self) -> bool:
        """Whether any file could not be read at all."""
        return any(record["error"] for record in self._files)

    def _file(self, name: str, what: str, listing: Listing, jobs: int) -> Record:
        measuring = Measuring(name, self._relocatable)
        inventory = Inventory()

        def visit(steps: tuple[Step, ...], source: Source, kind: str) -> None:
            measuring.visit(steps, source, kind)
            inventory.visit(steps, source, kind)

        choice = Choice(self._archs, self._relocatable, _covered(listing, self._most_covered))
        results = work_on_images(
            listing, functools.partial(read_part, choice), jobs, step=self._step
        )
        first = len(self._images["file"])
        for image, (_, part, error) in zip(listing(visit=visit), results, strict=True):
            if not isinstance(part, ImagePart):
                part = ImagePart(error or NotCubinError("nothing was read", file=str(image)))
            stored = round(measuring.add(image, part.sizes))
            fault = part.sizes if isinstance(part.sizes, CubinError) else part.error
            if fault is not None:
                self.faults.append(fault)
            elif inventory.wants(image):
                inventory.note(image, part.kernels)
            self._add_image(image, part, stored, fault)
        if len(self._images["file"]) == first:
            raise NotCubinError(f"this is {what}; no device code was found in it", file=name)
        report = measuring.finish()
        return {
            "name": escaped(name),
            "what": what,
            "size": report.total,
            "error": None,
            "sizes": self._sizes_record(report),
            "archs": archs_record(escaped(name), inventory, self._devices),
        }

    def _add_image(
        self, image: Image, part: ImagePart, stored: int, fault: CubinError | None
    ) -> None:
        number = len(self._images["file"])
        sizes = part.sizes
        row = {
            "file": len(self._files),
            "path": escaped(" → ".join(step.name for step in image.provenance[1:])),
            "kind": image.kind,
            "arch": image.arch,
            "type": part.type,
            "tool": escaped(part.tool),
            "size": 0 if isinstance(sizes, CubinError) else sizes.size,
            "stored": stored,
            "superseded": int(image.superseded),
            "coverage": part.coverage and {**part.coverage, "file": None},
            "error": None if fault is None else escaped(str(fault)),
        }
        for name, value in row.items():
            self._images[name].append(value)
        base = len(self._functions["image"])
        for function in part.functions:
            self._add_function(number, function, image.arch)
        if not isinstance(sizes, CubinError):
            self._add_pieces(number, base, part, sizes.pieces)
        if part.drawings is not None:
            self._calls.append(self._calls_record(number, base, part.drawings))

    def _add_function(self, image: int, function: FunctionPart, arch: str) -> None:
        columns = self._functions
        columns["image"].append(image)
        columns["name"].append(self._name(function.name))
        columns["is_kernel"].append(int(function.is_kernel))
        for name, figure in zip(FIGURES, function.figures, strict=True):
            columns[name].append(figure)
        for name, shape in zip(SHAPES, function.shapes, strict=True):
            columns[name].append(shape)
        lists = self._lists
        columns["params"].append(lists["params"].number(function.params, lambda: function.params))
        attributes = function.attributes
        columns["attributes"].append(
            lists["attributes"].number(attributes, lambda: list(map(self._record, attributes)))
        )
        found = function.occupancy
        number = None
        if found is not None:
            key = (arch, found.launch, found.source)
            number = lists["occupancies"].number(key, lambda: _occupancy_record(found))
        columns["occupancies"].append(number)
        columns["open_stack"].append(escaped(function.open_stack))

    def _sizes_record(self, report: SizeReport) -> Record:
        """The views and the duplicates of a file; of long lists the largest rows.

        Kernels are told by the numbers of their names.
        """
        views: dict[str, list[list[Any]]] = {}
        for view in report.views:
            rows = view.table(report.total)[:MOST_ROWS]
            if view is report.by_kernel:
                views[view.title] = [[self._name(name), *sizes] for name, *sizes in rows]
            else:
                views[view.title] = [[escaped(name), *sizes] for name, *sizes in rows]
        return {
            "views": views,
            "duplicate_images": [
                [kind, arch, None, *_copies(copies)]
                for kind, arch, copies in report.duplicate_images[:MOST_ROWS]
            ],
            "duplicate_code": [
                ["code", arch, self._name(name), *_copies(copies)]
                for arch, name, copies in report.duplicate_code[:MOST_ROWS]
            ],
            "duplicates": [len(report.duplicate_images), len(report.duplicate_code)],
            "saving": [
                sum(copies.wasted for _, _, copies in found)
                for found in (report.duplicate_images, report.duplicate_code)
            ],
        }

    def _name(self, name: str) -> int:
        return self._names.number(name, lambda: name)

    def _record(self, record: tuple[str, str]) -> int:
        return self._records.number(record, lambda: record)

    def _add_pieces(
        self, image: int, base: int, part: ImagePart, pieces: Iterable[tuple[str, str, int]]
    ) -> None:
        """The bytes of a cubin by what they are, for its functions and for the rest of it."""
        places: dict[str, int] = {}
        for number, function in enumerate(part.functions):
            places.setdefault(function.name, base + number)
        for kind, owner, size in pieces:
            place = None if owner == MODULE else places.get(owner)
            column, row = (self._shared, image) if place is None else (self._own, place)
            rows = column.setdefault(kind, {})
            rows[row] = rows.get(row, 0) + size

    def _calls_record(self, image: int, base: int, found: Drawings) -> Record:
        return {
            "image": image,
            "names": [self._name(name) for name in found.names],
            "functions": [None if place < 0 else base + place for place in found.functions],
            "kinds": found.kinds,
            "facts": [escaped(text) for text in found.facts],
            "edges": found.edges,
            "drawn": [_drawing_record(drawing) for drawing in found.drawn],
        }

    def data(self, title: str) -> Record:
        """Everything, ready for JSON (``report.schema.json``)."""
        names: list[str] = self._names.values
        records: list[tuple[str, str]] = self._records.values
        return {
            "schema": SCHEMA,
            "title": escaped(title),
            "files": self._files,
            "names": [escaped(name) for name in names],
            "readable": [_other_name(name) for name in names],
            "images": self._images,
            "functions": self._functions,
            **{name: self._lists[name].values for name in _LISTS},
            "records": records,
            "pieces": {"own": _sparse(self._own), "shared": _sparse(self._shared)},
            "calls": self._calls,
            "words": {
                "attributes": attribute_words(name for name, _ in records),
                "columns": {name: meaning for name, _, meaning in COLUMNS},
            },
            "difference": None,
        }


def _covered(listing: Listing, most: int | None) -> frozenset[str]:
    """The cubins whose coverage is measured: as many as there is time for, of each target one.

    Args:
        most: bytes of cubins; ``None`` for all.
    """
    found: set[str] = set()
    archs: set[str] = set()
    room = most
    for image in listing():
        if image.kind != "cubin" or image.error is not None:
            continue
        if room is not None:
            size = image.size
            if size > room or (image.arch in archs and size > room // 2):
                continue
            archs.add(image.arch)
            room -= size
        found.add(str(image))
    return frozenset(found)


def _other_name(name: str) -> str | None:
    """The readable form of a name; ``None`` where that is the name itself."""
    text = readable(name)
    return None if text == name else escaped(text)


def _sparse(columns: dict[str, dict[int, int]]) -> dict[str, list[list[int]]]:
    """Kind -> the numbers of the rows that have such bytes, and the bytes."""
    return {kind: [list(rows), list(rows.values())] for kind, rows in columns.items()}


def _occupancy_record(found: Occupancy) -> Record:
    """The occupancy at one launch, and that at every block size in percent."""
    limits = limits_of(found.arch)
    curve = occupancy_curve(found.launch, limits)
    return {
        **found.as_dict(),
        "warp_size": limits["warp_size"],
        "curve": [round(100 * then.occupancy) for _, then in curve],
    }


def _drawing_record(drawing: Drawing) -> Record:
    return {
        "root": drawing.root,
        "nodes": drawing.nodes,
        "places": drawing.places,
        "lines": drawing.lines,
        "size": [drawing.width, drawing.height],
    }


def _copies(copies: Copies) -> list[Any]:
    """How many, bytes of each, what one copy would save, and where they are."""
    places = [
        escaped(" → ".join(step.name for step in steps[1:]))
        for steps in copies.places[:MOST_PLACES]
    ]
    return [len(copies.places), copies.size, copies.wasted, places]


def attribute_words(names: Iterable[str]) -> dict[str, Record]:
    """What the tables say of some attributes."""
    from cubinspec.report.explain import load_table

    wanted = frozenset(names)
    keys = ("meaning", "category", "note", "evidence")
    return {
        entry["name"]: {key: entry[key] for key in keys if key in entry}
        for entry in load_table("eiattr")["attributes"]
        if entry["name"] in wanted
    }
