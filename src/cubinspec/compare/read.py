"""The facts of all cubins in a file; a large one is read by several processes."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, field

from cubinspec.compare.digest import digest
from cubinspec.compare.facts import ImageFacts
from cubinspec.compare.image_reader import image_facts
from cubinspec.compare.texts import text_digest
from cubinspec.containers.arena import Arena
from cubinspec.errors import CubinError
from cubinspec.scan.parallel import MIN_PARALLEL_BYTES, usable_cores, work_on_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec.containers import Image


@dataclass(frozen=True, slots=True)
class OtherFacts:
    """An image that is no cubin: PTX, or code of a compiler.

    Attributes:
        kind, arch: such as ``ptx`` and ``compute_90``.
        path: the way to it.
        body: digest of its text without comments and line numbers, or of its bytes.
    """

    kind: str
    arch: str
    path: str
    body: str


@dataclass(slots=True)
class FileFacts:
    """What is compared of a file.

    Attributes:
        path: as it was given.
        size: bytes of the file; of a folder, those of its images.
        images: its cubins, in the order of the file.
        faults: what could not be read.
        others: its images of other kinds.
    """

    path: str
    size: int = 0
    images: list[ImageFacts] = field(default_factory=list)
    faults: list[CubinError] = field(default_factory=list)
    others: list[OtherFacts] = field(default_factory=list)


def read_facts(
    path: str,
    *,
    archs: frozenset[str] | None = None,
    relocatable: bool = False,
    jobs: int | None = None,
    step: Callable[[str, int], None] | None = None,
) -> FileFacts:
    """Read the facts of every cubin in a file or folder.

    Args:
        archs: targets that are wanted; ``None``: all.
        relocatable: inputs of a device link, too, where its result is in the same file.
        jobs: processes; by default all cores for a large file.
        step: told how many images are done, for progress.

    Raises:
        FileAccessError: the file cannot be opened.
    """
    if jobs is None:
        large = not os.path.isdir(path) and file_size(path) >= MIN_PARALLEL_BYTES
        jobs = usable_cores() if large else 1
    found = FileFacts(path, file_size(path))
    work = functools.partial(_work, archs, relocatable)
    for _, result, error in work_on_file(path, work, jobs, _cost, step or _nothing):
        if error is not None:
            found.faults.append(error)
        elif isinstance(result, ImageFacts):
            found.images.append(result)
        elif isinstance(result, OtherFacts):
            found.others.append(result)
    if os.path.isdir(path):
        found.size = sum(image.size for image in found.images)
    return found


def file_size(path: str) -> int:
    """Bytes of a file; 0 for one that cannot be opened, which its reader reports."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _nothing(text: str, count: int) -> None:
    """Tell nobody."""


def _cost(image: Image) -> int:
    return image.stored_size if image.kind == "cubin" else 0


def _work(
    archs: frozenset[str] | None, relocatable: bool, image: Image, arena: Arena
) -> ImageFacts | OtherFacts | None:
    """Facts of an image; ``None`` for one that is not wanted."""
    path = str(image)
    if image.kind != "cubin":
        if archs is not None and image.arch.replace("compute_", "sm_") not in archs:
            return None
        return OtherFacts(image.kind, image.arch, path, text_digest(image, arena))
    if (archs is not None and image.arch not in archs) or (not relocatable and image.superseded):
        return None
    steps = [step.as_dict() for step in image.provenance]
    body = digest(image.stored_view(arena))
    with image.cubin(arena) as cubin:
        return image_facts(cubin, image.arch, steps, path, body)
