"""The facts of all cubins in a file; a large one is read by several processes."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from dataclasses import dataclass, field

from cubinspec.compare.digest import digest
from cubinspec.compare.facts import ImageFacts, image_facts
from cubinspec.compare.names import stable_name
from cubinspec.containers import images
from cubinspec.errors import CubinError
from cubinspec.scan.parallel import MIN_PARALLEL_BYTES, usable_cores, work_on_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec.containers import Image
    from cubinspec.containers.arena import Arena


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


@dataclass(slots=True)
class Known:
    """Images of a file that the file it is compared with has too, byte for byte.

    Attributes:
        bodies: the way to each image -> the digest of its stored bytes.
        size: their stored bytes.
    """

    bodies: dict[str, str] = field(default_factory=dict)
    size: int = 0


def known_images(old: str, new: str) -> tuple[Known, Known]:
    """The images that two files share: what is in them need not be known to compare the files.

    A file that cannot be opened shares nothing; who reads it gets the error.
    """
    sides = _by_size(old), _by_size(new)
    homes: tuple[dict[str, list[str]], ...] = ({}, {})
    sizes: dict[str, int] = {}
    for key in sides[0].keys() & sides[1].keys():
        for side, home in zip(sides, homes, strict=True):
            for image in side[key]:
                with contextlib.suppress(CubinError):
                    body = _stored(image)
                    home.setdefault(body, []).append(str(image))
                    sizes[body] = image.stored_size
    found = Known(), Known()
    for body, size in sizes.items():
        pairs = [home.get(body, []) for home in homes]
        count = min(map(len, pairs))
        for known, paths in zip(found, pairs, strict=True):
            known.bodies.update(dict.fromkeys(paths[:count], body))
            known.size += count * size
    return found


def _by_size(path: str) -> dict[tuple[str, str, str, int], list[Image]]:
    """Images that may be the same as others, by what can be seen without reading them."""
    found: dict[tuple[str, str, str, int], list[Image]] = {}
    with contextlib.suppress(CubinError):
        for image in images(path):
            if image.error is None and image.arch:
                key = image.kind, image.arch, image.compression, image.stored_size
                found.setdefault(key, []).append(image)
    return found


def _stored(image: Image) -> str:
    return digest(image.stored_bytes())


def read_facts(
    path: str,
    *,
    known: Known | None = None,
    archs: frozenset[str] | None = None,
    relocatable: bool = False,
    jobs: int | None = None,
    step: Callable[[str, int], None] | None = None,
) -> FileFacts:
    """Read the facts of every cubin in a file or folder.

    Args:
        known: images that are not read; their facts are empty.
        archs: targets that are wanted; ``None``: all.
        relocatable: inputs of a device link, too, where its result is in the same file.
        jobs: processes; by default all cores for a large file.
        step: told how many images are done, for progress.

    Raises:
        FileAccessError: the file cannot be opened.
    """
    known = known or Known()
    if jobs is None:
        large = not os.path.isdir(path) and _size(path) - known.size >= MIN_PARALLEL_BYTES
        jobs = usable_cores() if large else 1
    found = FileFacts(path, _size(path))
    work = functools.partial(_work, known.bodies, archs, relocatable)
    cost = functools.partial(_cost, known.bodies)
    for _, result, error in work_on_file(path, work, jobs, cost, step or _nothing):
        if error is not None:
            found.faults.append(error)
        elif isinstance(result, ImageFacts):
            found.images.append(result)
        elif isinstance(result, OtherFacts):
            found.others.append(result)
    if os.path.isdir(path):
        found.size = sum(image.size for image in found.images)
    return found


_COMMENT = re.compile(rb"//[^\n]*")
_LINE = re.compile(rb"\n[ \t]*\.(?:loc|file)\b[^\n]*")


def _without_lines(ptx: bytes) -> bytes:
    """PTX without comments, file names and line numbers, and without the hashes in its names."""
    code = b"\n" + _COMMENT.sub(b"", ptx.rstrip(b"\0")).partition(b".section")[0]
    if b".loc" in code or b".file" in code:
        code = _LINE.sub(b"", code)
    text = b"\n".join(filter(None, map(bytes.strip, code.splitlines())))
    return stable_name(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _nothing(text: str, count: int) -> None:
    """Tell nobody."""


def _cost(known: dict[str, str], image: Image) -> int:
    return image.stored_size if image.kind == "cubin" and str(image) not in known else 0


def _work(
    known: dict[str, str],
    archs: frozenset[str] | None,
    relocatable: bool,
    image: Image,
    arena: Arena,
) -> ImageFacts | OtherFacts | None:
    """Facts of an image; ``None`` for one that is not wanted."""
    path = str(image)
    body = known.get(path)
    if image.kind != "cubin":
        if archs is not None and image.arch.replace("compute_", "sm_") not in archs:
            return None
        return OtherFacts(image.kind, image.arch, path, body or _text_digest(image))
    if (archs is not None and image.arch not in archs) or (not relocatable and image.superseded):
        return None
    steps = [step.as_dict() for step in image.provenance]
    if body is not None:
        return ImageFacts(steps, path, image.arch, "", image.stored_size, body)
    body = _stored(image)
    with image.cubin(arena) as cubin:
        return image_facts(cubin, image.arch, steps, path, body)


def _text_digest(image: Image) -> str:
    """Digest of what matters of an image that is no cubin."""
    # IR that its producer scrambled can be compared, though not be read
    data = image.stored_bytes() if image.scrambled else image.data
    return digest(_without_lines(data) if image.kind == "ptx" else data)
