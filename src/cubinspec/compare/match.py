"""Which image of an old file is which of a new one, and which kernel.

Images are matched among those of one target: the same bytes first, then the image that shares most
functions, of several the one of the same type and place in the file; what shares none, by type and
place. Functions are matched by name, hashes of source
files left out. What is left over in a target is a renamed function when

1. its code and parameters are those of exactly one other that is left over, or
2. the name without template arguments and parameters is the same, and at least half of the words
   of the demangled names are; the likest pair comes first, then the order of the file.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache

from cubinspec.compare.facts import PLACES
from cubinspec.compare.names import base_name, likeness, stable_name, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from typing import TypeVar

    from cubinspec.compare.facts import FunctionFacts, ImageOutline

    Item = TypeVar("Item")
    #: A function and the image that it is in.
    Placed = tuple[ImageOutline, FunctionFacts]
    #: Reads functions of which only a part is known, each behind the number of its side.
    Read = Callable[[list[tuple[int, Placed]]], None]

#: How two functions were found to be the same.
SAME_NAME = "same name"
SAME_BUT_HASH = "same name but for a hash"
SAME_CODE = "renamed, same code"
LIKE_NAME = "renamed"
#: The least part of the words that two names have in common.
LEAST_LIKENESS = 0.5
#: Leftovers of one base name that are compared each with each.
_MOST_COMPARED = 400
#: Where the size and the digest of code are among the facts of a function.
_CODE_SIZE, _CODE = PLACES["code_size"], PLACES["code"]
#: Groups of such names of which the pairs are kept.
_KEPT_GROUPS = 1 << 12


@dataclass(slots=True)
class FunctionPair:
    """A function of both files.

    Attributes:
        old, new: the image and the function in it.
        how: how it was found, one of the words above.
    """

    old: Placed
    new: Placed
    how: str


@dataclass(slots=True)
class Matches:
    """What was found.

    Attributes:
        images: images of both files.
        gone_images, new_images: images of one file only.
        functions: functions of both files that are not in images of both, or have other names.
        gone, new: functions of one file only.
    """

    images: list[tuple[ImageOutline, ImageOutline]] = field(default_factory=list)
    gone_images: list[ImageOutline] = field(default_factory=list)
    new_images: list[ImageOutline] = field(default_factory=list)
    functions: list[FunctionPair] = field(default_factory=list)
    gone: list[Placed] = field(default_factory=list)
    new: list[Placed] = field(default_factory=list)


def match_images(old: Iterable[ImageOutline], new: Iterable[ImageOutline]) -> Matches:
    """Match the images of two files."""
    found = Matches()
    olds, news = _grouped(old), _grouped(new)
    for key in dict.fromkeys([*olds, *news]):
        _match_images(olds.get(key, []), news.get(key, []), found)
    return found


def match_functions(
    gone: Iterable[Placed],
    new: Iterable[Placed],
    found: Matches,
    read: Read,
    known: Callable[[FunctionPair], bool],
) -> None:
    """Match functions that have no counterpart in the image that theirs was matched with.

    Args:
        read: called for functions whose code has to be known, and for pairs that are found.
        known: whether it is known what differs between two functions.
    """
    archs = [one.arch for one, _ in found.images]
    archs += [image.arch for image in (*found.gone_images, *found.new_images)]
    left: dict[str, tuple[list[Placed], list[Placed]]] = {arch: ([], []) for arch in archs}
    for side, placed in enumerate((gone, new)):
        for image, function in placed:
            left[image.arch][side].append((image, function))
    rests = [match_names(*sides) for sides in left.values()]
    wanted = [each for _, olds, news in rests for each in of_like_code(olds, news)]
    named = [pair for pairs, _, _ in rests for pair in pairs]
    # an image is read again once, for what is known to be needed and what is likely to be
    likely = [pair for _, olds, news in rests for pair in match_renamed(olds, news)[0]]
    read([*wanted, *_unknown([*named, *likely], known)])
    renamed = []
    for pairs, olds, news in rests:
        more, olds, news = match_renamed(olds, news)
        renamed += more
        found.functions += [*pairs, *more]
        found.gone += olds
        found.new += news
    read(_unknown(renamed, known))


def _unknown(
    pairs: list[FunctionPair], known: Callable[[FunctionPair], bool]
) -> list[tuple[int, Placed]]:
    """Both sides of pairs of which it is not known what differs."""
    return [each for pair in pairs if not known(pair) for each in ((0, pair.old), (1, pair.new))]


def _grouped(images: Iterable[ImageOutline]) -> dict[Hashable, list[ImageOutline]]:
    groups: dict[Hashable, list[ImageOutline]] = {}
    for image in images:
        groups.setdefault(image.arch, []).append(image)
    return groups


def _place(image: ImageOutline) -> Hashable:
    """Where it is in its file: members of archives and sections, not the file itself."""
    steps = [(step["kind"], stable_name(str(step["name"]))) for step in image.steps[1:]]
    return image.type, tuple(steps)


def _match_images(olds: list[ImageOutline], news: list[ImageOutline], found: Matches) -> None:
    pairs, olds, news = pair_up(olds, news, lambda image: image.body)
    found.images += pairs
    if olds and news:
        olds, news = _pair_by_kernels(olds, news, found.images)
    pairs, olds, news = pair_up(olds, news, _place)
    found.images += pairs
    found.gone_images += olds
    found.new_images += news


def pair_up(
    olds: list[Item], news: list[Item], key: Callable[[Item], Hashable]
) -> tuple[list[tuple[Item, Item]], list[Item], list[Item]]:
    """Pair what has the same key, in order; what is left of both comes behind the pairs."""
    old_keys, new_keys = list(map(key, olds)), list(map(key, news))
    single = dict(zip(new_keys, news, strict=True))
    if len(single) == len(news) and len({*old_keys}) == len(olds):
        keyed = list(zip(old_keys, olds, strict=True))
        pairs = [(item, single[word]) for word, item in keyed if word in single]
        if len(pairs) == len(olds) == len(news):
            return pairs, [], []
        known = {*old_keys}
        return (
            pairs,
            [item for word, item in keyed if word not in single],
            [item for word, item in single.items() if word not in known],
        )
    waiting: dict[Hashable, deque[Item]] = {}
    for word, item in zip(new_keys, news, strict=True):
        waiting.setdefault(word, deque()).append(item)
    taken: set[int] = set()
    pairs, left = [], []
    for word, item in zip(old_keys, olds, strict=True):
        others = waiting.get(word)
        if others:
            other = others.popleft()
            taken.add(id(other))
            pairs.append((item, other))
        else:
            left.append(item)
    return pairs, left, [item for item in news if id(item) not in taken]


def _pair_by_kernels(
    olds: list[ImageOutline],
    news: list[ImageOutline],
    pairs: list[tuple[ImageOutline, ImageOutline]],
) -> tuple[list[ImageOutline], list[ImageOutline]]:
    """Pair images that share most names: the largest share first, then the same place."""
    homes: dict[str, list[int]] = {}
    for number, image in enumerate(news):
        for name in set(map(stable_name, image.names)):
            homes.setdefault(name, []).append(number)
    shares: list[tuple[float, bool, bool, int, int]] = []
    places = [_place(image) for image in news]
    for number, image in enumerate(olds):
        place = _place(image)
        counts: dict[int, int] = {}
        for name in set(map(stable_name, image.names)):
            for home in homes.get(name, ())[:_MOST_COMPARED]:
                counts[home] = counts.get(home, 0) + 1
        for home, count in counts.items():
            most = max(len(image.names), len(news[home].names), 1)
            other_type = image.type != news[home].type
            shares.append((-count / most, other_type, place != places[home], number, home))
    old_taken: set[int] = set()
    new_taken: set[int] = set()
    for *_, number, home in sorted(shares):
        if number not in old_taken and home not in new_taken:
            old_taken.add(number)
            new_taken.add(home)
            pairs.append((olds[number], news[home]))
    return (
        [image for number, image in enumerate(olds) if number not in old_taken],
        [image for number, image in enumerate(news) if number not in new_taken],
    )


def match_names(
    gone: list[Placed], fresh: list[Placed]
) -> tuple[list[FunctionPair], list[Placed], list[Placed]]:
    """Match functions by their names: the pairs, and what is left of both."""
    found = []
    for key, how in (
        (lambda placed: placed[1].name, SAME_NAME),
        (lambda placed: (placed[1].kind, stable_name(placed[1].name)), SAME_BUT_HASH),
    ):
        pairs, gone, fresh = pair_up(gone, fresh, key)
        found += [FunctionPair(old, new, how) for old, new in pairs]
    return found, gone, fresh


def of_like_code(gone: list[Placed], fresh: list[Placed]) -> list[tuple[int, Placed]]:
    """Functions whose code is not known and begins as that of one on the other side, each behind
    its side."""
    heads = list(map(_head, gone)), list(map(_head, fresh))
    both = {*heads[0]} & {*heads[1]}
    if not both:
        return []
    return [
        (side, placed)
        for side, items in enumerate((gone, fresh))
        for head, placed in zip(heads[side], items, strict=True)
        if head in both and placed[1]["code"] is None
    ]


def match_renamed(
    gone: list[Placed], fresh: list[Placed]
) -> tuple[list[FunctionPair], list[Placed], list[Placed]]:
    """Match functions with other names: the pairs, and what is left of both.

    The code of those that :func:`of_like_code` tells is known.
    """
    found = []
    for pair_renamed, how in ((_pair_single, SAME_CODE), (_pair_like, LIKE_NAME)):
        if gone and fresh:
            pairs: list[tuple[Placed, Placed]] = []
            gone, fresh = pair_renamed(gone, fresh, pairs)
            found += [FunctionPair(old, new, how) for old, new in pairs]
    return found, gone, fresh


def _head(placed: Placed) -> Hashable:
    _, function = placed
    return function.kind, function.read[_CODE_SIZE], function.head


def _code(placed: Placed) -> Hashable:
    """What is known of the code of a function, and tells it from all others."""
    _, function = placed
    read = function.read
    return function.kind, read[_CODE] or function.head, read[_CODE_SIZE]


def _pair_single(
    gone: list[Placed], fresh: list[Placed], pairs: list[tuple[Placed, Placed]]
) -> tuple[list[Placed], list[Placed]]:
    """Pair what has code that no other leftover has."""
    codes = list(map(_code, gone)), list(map(_code, fresh))
    both = {*codes[0]} & {*codes[1]}
    homes: dict[Hashable, tuple[list[Placed], list[Placed]]] = {}
    for side, items in enumerate((gone, fresh)):
        for code, item in zip(codes[side], items, strict=True):
            if code in both:  # taking parameters out of the others would be in vain
                _, function = item
                homes.setdefault((code, function.params), ([], []))[side].append(item)
    taken: set[int] = set()
    for olds, news in homes.values():
        if len(olds) == len(news) == 1:
            pairs.append((olds[0], news[0]))
            taken.update((id(olds[0]), id(news[0])))
    return (
        [item for item in gone if id(item) not in taken],
        [item for item in fresh if id(item) not in taken],
    )


@lru_cache(maxsize=_KEPT_GROUPS)
def _likest(olds: tuple[str, ...], news: tuple[str, ...]) -> list[tuple[int, int]]:
    """The places of names that are most like each other, the likest pair first.

    A library has the same names for each of its targets.
    """
    words = list(map(words_of, olds))
    others = list(map(words_of, news))
    scores = sorted(
        [
            (-score, at, where)
            for at, one in enumerate(words)
            for where, other in enumerate(others)
            if (score := likeness(one, other)) >= LEAST_LIKENESS
        ]
    )
    used_old: set[int] = set()
    used_new: set[int] = set()
    found = []
    for _, at, where in scores:
        if at not in used_old and where not in used_new:
            used_old.add(at)
            used_new.add(where)
            found.append((at, where))
    return found


def _pair_like(
    gone: list[Placed], fresh: list[Placed], pairs: list[tuple[Placed, Placed]]
) -> tuple[list[Placed], list[Placed]]:
    """Pair instances of one template, and overloads of one function, by their names."""
    groups: dict[Hashable, tuple[list[Placed], list[Placed]]] = {}
    for side, items in enumerate((gone, fresh)):
        for item in items:
            _, function = item
            key = function.kind, base_name(function.name)
            groups.setdefault(key, ([], []))[side].append(item)
    taken: set[int] = set()
    for olds, news in groups.values():
        if not olds or not news:
            continue
        olds, news = olds[:_MOST_COMPARED], news[:_MOST_COMPARED]
        names = tuple([function.name for _, function in olds])
        for at, where in _likest(names, tuple([function.name for _, function in news])):
            pairs.append((olds[at], news[where]))
            taken.update((id(olds[at]), id(news[where])))
    return (
        [item for item in gone if id(item) not in taken],
        [item for item in fresh if id(item) not in taken],
    )
