"""Which images of two files are likely to belong together, by what is seen without reading them.

Images that both files have are known by their stored bytes. The others are found by their places,
and where these leave it open by their sizes and by the containers that they are in.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left, bisect_right
from collections import Counter
from math import log

from cubinspec.compare.digest import digest
from cubinspec.containers.arena import Arena
from cubinspec.errors import CubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers import Image

    #: Numbers of an image in the old file and of one in the new file; ``None`` for none.
    Pair = tuple[int | None, int | None]

#: Images of two builds are likely to be a pair when both sizes, as logarithms, differ by less.
_LIKE_SIZE = 0.03


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


def likely_pairs(
    cubins: list[list[tuple[int, Image]]], known: tuple[dict[int, str], dict[int, str]]
) -> list[Pair]:
    """Pairs of images that are likely to belong together.

    Images that both files have cut each file into runs; where two runs of one target are of the
    same length, each image is paired with the one in its place.
    """
    runs: tuple[dict[Any, list[int]], dict[Any, list[int]]] = ({}, {})
    for listed, bodies, found in zip(cubins, known, runs, strict=True):
        before: dict[str, str] = {}
        for number, image in listed:
            if number in bodies:
                before[image.arch] = bodies[number]
            else:
                found.setdefault((image.arch, before.get(image.arch)), []).append(number)
    pairs: list[Pair] = []
    for key, olds in runs[0].items():
        news = runs[1].get(key, [])
        if len(olds) == len(news):
            pairs += zip(olds, news, strict=True)
    return pairs


def single(left: list[dict[int, Image]]) -> list[tuple[Pair, Image]]:
    """All images of both files, each as a pair without another."""
    olds, news = left
    return [
        *[((number, None), image) for number, image in olds.items()],
        *[((None, number), image) for number, image in news.items()],
    ]


def remove(left: list[dict[int, Image]], pairs: list[Pair]) -> None:
    for pair in pairs:
        for numbered, number in zip(left, pair, strict=True):
            if number is not None:
                del numbered[number]


def target_of_most(left: list[dict[int, Image]]) -> str | None:
    """The target for which both files have most cubins; ``None`` if they share none."""
    counts = [
        Counter(image.arch for image in images.values() if image.kind == "cubin") for images in left
    ]
    both = counts[0] & counts[1]
    return max(both, key=both.__getitem__, default=None)


def of_like_size(left: list[dict[int, Image]], target: str | None) -> list[tuple[Image, Image]]:
    """Pairs of compressed cubins for one target of nearly the same two sizes."""
    olds, news = [
        sorted(
            (log(image.size), log(image.stored_size), number)
            for number, image in images.items()
            if (image.kind, image.arch) == ("cubin", target)
            and image.compression != "none"
            and image.size
            and image.stored_size
        )
        for images in left
    ]
    places = [place for place, _, _ in news]
    found = []
    for size, stored, number in olds:
        start = bisect_left(places, size - _LIKE_SIZE)
        stop = bisect_right(places, size + _LIKE_SIZE)
        found += [
            (unlike, number, other)
            for size_too, stored_too, other in news[start:stop]
            if (unlike := abs(size - size_too) + abs(stored - stored_too)) < _LIKE_SIZE
        ]
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, one, other in sorted(found):
        if one not in pairs and other not in taken:
            pairs[one] = other
            taken.add(other)
    return [(left[0][one], left[1][other]) for one, other in pairs.items()]


def beside(matched: list[tuple[Image, Image]], left: list[dict[int, Image]]) -> list[Pair]:
    """Pairs of cubins for one target that are alone for it beside two that belong together."""
    homes = {one.provenance[:-1]: other.provenance[:-1] for one, other in matched}
    places: list[dict[Any, list[int]]] = [{}, {}]
    for side, numbered in enumerate(left):
        for number, image in numbered.items():
            home: Any = image.provenance[:-1]
            if image.kind == "cubin" and (side == 1 or home in homes):
                key = image.arch, homes[home] if side == 0 else home
                places[side].setdefault(key, []).append(number)
    olds, news = places
    return [
        (numbers[0], news[key][0])
        for key, numbers in olds.items()
        if len(numbers) == len(news.get(key, ())) == 1
    ]
