"""Which images of two files are likely to belong together, by what is seen without reading them.

Images that both files have are known by their stored bytes. The others are found by the names that
they begin with and by the containers that they are in, and where these leave it open by their
places.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter

from cubinspec.compare.digest import digest
from cubinspec.compare.facts import ImageOutline
from cubinspec.compare.match import match_images
from cubinspec.compare.names import stable_name
from cubinspec.containers.arena import Arena
from cubinspec.errors import CubinError
from cubinspec.format.strings import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers import Image

    #: Numbers of an image in the old file and of one in the new file; ``None`` for none.
    Pair = tuple[int | None, int | None]

#: Bytes of an image that are looked at: most of them are names of sections.
_START_BYTES = 1 << 15
#: The part of their size in which two images may differ that nothing but their place makes a pair.
_SIZE_PARTS = 8
#: The name of a section with code.
_CODE_NAME = re.compile(rb"\0\.text\.([^\0]+)(?=\0)")


def known_bodies(old: list[Image], new: list[Image]) -> tuple[dict[int, str], dict[int, str]]:
    """The images that two files share: what is in them need not be known to compare the files.

    Args:
        old, new: all images of the files.

    Returns:
        For both files, by the number of the image: the digest of its stored bytes.
    """
    arenas = Arena(), Arena()
    sides = _by_size(old), _by_size(new)
    found: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for key in sides[0].keys() & sides[1].keys():
        olds, news = (
            [(number, listed[number]) for number in side[key]]
            for listed, side in zip((old, new), sides, strict=True)
        )
        if len(olds) == len(news) == 1:
            ((number, image),), ((number_too, image_too),) = olds, news
            with contextlib.suppress(CubinError):
                body = image.stored_view(arenas[0])
                if bytes(body) == bytes(image_too.stored_view(arenas[1])):
                    found[0][number] = found[1][number_too] = f"both {number} {number_too}"
            continue
        homes: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
        for numbered, home in zip((olds, news), homes, strict=True):
            for number, image in numbered:
                with contextlib.suppress(CubinError):
                    body = image.stored_view(arenas[0])
                    home.setdefault(digest(body), []).append(number)
        for word in homes[0].keys() & homes[1].keys():
            count = min(len(home[word]) for home in homes)
            for home, known in zip(homes, found, strict=True):
                known.update(dict.fromkeys(home[word][:count], word))
    return found


def _by_size(listed: list[Image]) -> dict[tuple[str, str, str, int], list[int]]:
    """Images that may be the same as others, by what can be seen without reading them."""
    found: dict[tuple[str, str, str, int], list[int]] = {}
    for number, image in enumerate(listed):
        if image.error is None and image.arch:
            key = image.kind, image.arch, image.compression, image.stored_size
            found.setdefault(key, []).append(number)
    return found


def in_place(left: list[dict[int, Image]]) -> list[Pair]:
    """Pairs of cubins of about one size in the same place of their files."""
    homes: tuple[dict[Any, int], ...] = tuple(
        {
            (image.arch, tuple([step.name for step in image.provenance[1:]])): number
            for number, image in images.items()
            if image.kind == "cubin"
        }
        for images in left
    )
    both = [(number, homes[1][home]) for home, number in homes[0].items() if home in homes[1]]
    return [pair for pair in both if _are_of_a_size(*map(dict.__getitem__, left, pair))]


def _are_of_a_size(one: Image, other: Image) -> bool:
    return abs(one.size - other.size) * _SIZE_PARTS <= min(one.size, other.size)


def single(left: list[dict[int, Image]]) -> list[Pair]:
    """All images of both files, each as a pair without another."""
    olds, news = left
    return [*[(number, None) for number in olds], *[(None, number) for number in news]]


def remove(left: list[dict[int, Image]], pairs: list[Pair]) -> None:
    """Take images that have a counterpart now out of those that have none."""
    for pair in pairs:
        for numbered, number in zip(left, pair, strict=True):
            if number is not None:
                del numbered[number]


def shared_targets(left: list[dict[int, Image]]) -> list[str]:
    """The targets for which both files have cubins, those for which they have most first."""
    counts = [
        Counter(image.arch for image in images.values() if image.kind == "cubin") for images in left
    ]
    return [target for target, _ in (counts[0] & counts[1]).most_common()]


def of_like_names(
    left: list[dict[int, Image]], target: str, arena: Arena
) -> tuple[list[Pair], list[Pair]]:
    """Cubins for one target that are likely to belong together, as far as their beginnings tell.

    Returns:
        Pairs with functions in common, and pairs in the same place of which one has no functions.
    """
    outlines: tuple[list[ImageOutline], list[ImageOutline]] = ([], [])
    numbers: dict[int, int] = {}
    for side, images in enumerate(left):
        for number, image in images.items():
            names = _first_names(image, arena) if image.arch == target else None
            if names is not None:
                outline = outline_of(image, "", image.size, f"{side} {number}", names)
                outlines[side].append(outline)
                numbers[id(outline)] = number
    named: list[Pair] = []
    empty: list[Pair] = []
    for one, other in match_images(*outlines).images:
        pair = numbers[id(one)], numbers[id(other)]
        if not {*one.names}.isdisjoint(other.names):
            named.append(pair)
        elif not one.names or not other.names:
            empty.append(pair)
    return named, empty


def _first_names(image: Image, arena: Arena) -> list[str] | None:
    """Names of sections with code, which stand in the first table of a cubin.

    Returns:
        ``None`` for another image, and for one that cannot be read, which is told later.
    """
    if image.kind != "cubin":
        return None
    try:
        start = image.start(arena, _START_BYTES)
    except CubinError:
        return None
    return [stable_name(decode(name)) for name in _CODE_NAME.findall(start)]


def beside(
    pairs: list[Pair], listed: list[list[Image]], left: list[dict[int, Image]]
) -> list[Pair]:
    """Pairs of cubins for one target that are alone for it beside two that belong together.

    Args:
        pairs: those that belong together.
        listed: all images of both files.
        left: those that have no counterpart yet.
    """
    olds, news = listed
    homes = {
        olds[one].provenance[:-1]: news[other].provenance[:-1]
        for one, other in pairs
        if one is not None and other is not None
    }
    places: list[dict[Any, list[int]]] = [{}, {}]
    for side, numbered in enumerate(left):
        for number, image in numbered.items():
            home: Any = image.provenance[:-1]
            if image.kind == "cubin" and (side == 1 or home in homes):
                key = image.arch, homes[home] if side == 0 else home
                places[side].setdefault(key, []).append(number)
    before, after = places
    return [
        (numbers[0], after[key][0])
        for key, numbers in before.items()
        if len(numbers) == len(after.get(key, ())) == 1
    ]


def outline_of(image: Image, word: str, size: int, body: str, names: list[str]) -> ImageOutline:
    """What tells an image from the others in its file; see there."""
    steps = [step.as_dict() for step in image.provenance]
    return ImageOutline(steps, str(image), image.arch, word, size, body, names)
