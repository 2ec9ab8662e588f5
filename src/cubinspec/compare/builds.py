"""Compares two files image by image, so that at most two images are in memory.

Which images belong together is certain only when the names of all functions are known. Images at
the same place in both files are nearly always such a pair, so each is read beside its likely
counterpart and compared at once. The others are read a second time.
"""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from dataclasses import dataclass, field

from cubinspec.compare import tasks
from cubinspec.compare.diff import Difference, assembled, other_changes
from cubinspec.compare.facts import ImageOutline
from cubinspec.compare.likely import (
    beside,
    in_place,
    known_bodies,
    of_like_names,
    outline_of,
    remove,
    shared_targets,
    single,
)
from cubinspec.compare.match import Matches, match_images
from cubinspec.compare.pairs import PairChanges
from cubinspec.compare.read import OtherFacts, file_size
from cubinspec.compare.tasks import Question
from cubinspec.containers import images
from cubinspec.containers.arena import Arena
from cubinspec.errors import CubinError
from cubinspec.report.names import matcher
from cubinspec.scan.parallel import usable_cores, work_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from cubinspec.compare.facts import FunctionFacts
    from cubinspec.compare.likely import Pair
    from cubinspec.compare.match import Placed
    from cubinspec.compare.tasks import Images, Reading
    from cubinspec.containers import Image

    Step = Callable[[str, int], None]

#: Images of fewer bytes, as they are stored, are read by one process.
_MIN_SHARED_BYTES = 16 << 20


@dataclass(slots=True)
class Side:
    """One of the two files.

    Attributes:
        path: as it was given.
        size: bytes of the file; of a folder, those of its images.
        images: its cubins, in the order of the file.
        others: its images of other kinds.
        faults: what could not be read.
        error: why the file could not be opened.
    """

    path: str
    size: int = 0
    images: list[ImageOutline] = field(default_factory=list)
    others: list[OtherFacts] = field(default_factory=list)
    faults: list[CubinError] = field(default_factory=list)
    error: CubinError | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found in it, not even something that cannot be read."""
        return not (self.images or self.others or self.faults or self.error)


class Files:
    """The images of two files, listed when they are asked for; it is sent to other processes.

    Args:
        paths: the old and the new file.
    """

    def __init__(self, *paths: str) -> None:
        self.paths: tuple[str, ...] = paths
        self._listed: dict[str, list[Image]] = {}
        self._process = os.getpid()

    def __getstate__(self) -> tuple[str, ...]:
        return self.paths

    def __setstate__(self, paths: tuple[str, ...]) -> None:
        self.__init__(*paths)  # type: ignore[misc]

    def images(self, path: str) -> list[Image]:
        """All images of a file.

        Raises:
            FileAccessError: it cannot be opened.
        """
        if self._process != os.getpid():  # streams that are open are not shared with a fork
            self._process = os.getpid()
            for name, listed in [*self._listed.items()]:
                if not all(image.is_shareable for image in listed):
                    del self._listed[name]
        if path not in self._listed:
            self._listed[path] = list(images(path))
        return self._listed[path]

    def pairs(self, numbers: list[Pair]) -> Iterator[Images]:
        """Pairs of images, and where to decompress the second."""
        arena = Arena()
        olds, news = map(self.images, self.paths)
        for one, other in numbers:
            yield (
                None if one is None else olds[one],
                None if other is None else news[other],
                arena,
            )

    def some(self, items: list[tuple[int, int, list[int]]]) -> Iterator[tuple[Image, list[int]]]:
        """Images, by file and number, and which of their functions are wanted."""
        for side, number, places in items:
            yield self.images(self.paths[side])[number], places


def compare_files(
    old: str,
    new: str,
    question: Question | None = None,
    *,
    jobs: int | None = None,
    step: Step | None = None,
) -> tuple[Difference, Side, Side]:
    """Compare two files.

    Args:
        question: what is compared; everything without it.
        jobs: processes; by default all cores for large files.
        step: told how many images are done, for progress.

    Returns:
        The difference, and what was found in the old and in the new file. Where a file could not
        be opened, its ``error`` says why, and the difference is empty.
    """
    work = _Work(Files(old, new), question or Question(), jobs, step or _nothing)
    return work.run()


class _Work:
    """The comparison of two files.

    Args:
        files, question, jobs, step: see :func:`compare_files`.
    """

    def __init__(self, files: Files, question: Question, jobs: int | None, step: Step) -> None:
        self._files = files
        self._question = question
        self._jobs = jobs
        self._step = step
        self._sides = [Side(path, file_size(path)) for path in files.paths]
        #: Of both files: number of an image -> the digest of its stored bytes, if both have it.
        self._known: tuple[dict[int, str], dict[int, str]] = ({}, {})
        #: Of both files: number of an image -> what is known of it.
        self._outlines: tuple[dict[int, ImageOutline], ...] = ({}, {})
        self._others: tuple[dict[int, OtherFacts], ...] = ({}, {})
        self._faults: tuple[dict[int, CubinError], ...] = ({}, {})
        #: Each name of a function, once.
        self._names: dict[str, str] = {}
        #: What differs between images that were compared.
        self._changes: dict[Pair, PairChanges] = {}
        #: The functions of images that were read without another.
        self._alone: dict[Pair, list[FunctionFacts]] = {}

    def run(self) -> tuple[Difference, Side, Side]:
        """Compare them."""
        old, new = self._sides
        wanted = self._choose()
        found = Difference(Matches(), only=self._question.properties)
        if old.error is None and new.error is None:
            self._read(wanted)
            found = self._compare()
        for side, outlines, others, faults in zip(
            self._sides, self._outlines, self._others, self._faults, strict=True
        ):
            side.images = [outlines[number] for number in sorted(outlines)]
            side.others = [others[number] for number in sorted(others)]
            side.faults = [faults[number] for number in sorted(faults)]
            if os.path.isdir(side.path):
                side.size = sum(image.size for image in side.images)
        found.size = old.size, new.size
        found.unread = old.faults, new.faults
        found.others = other_changes(old.others, new.others)
        return found, old, new

    def _choose(self) -> list[list[int]]:
        """The images of both files that have to be read, without those that both files have."""
        wanted: list[list[int]] = [[], []]
        for side, numbers, faults in zip(self._sides, wanted, self._faults, strict=True):
            try:
                listed = self._files.images(side.path)
            except CubinError as error:
                side.error = error
                continue
            for number, image in enumerate(listed):
                try:
                    if self._question.wants(image):
                        numbers.append(number)
                except CubinError as error:
                    faults[number] = error
        if any(side.error for side in self._sides):
            return [[], []]
        both = [self._files.images(path) for path in self._files.paths]
        self._known = known_bodies(*both)
        for place, numbers in enumerate(wanted):
            for number in numbers:
                body = self._known[place].get(number)
                image = both[place][number]
                if body is not None and image.kind == "cubin":
                    self._outlines[place][number] = outline_of(
                        image, "", image.stored_size, body, []
                    )
                elif body is not None:
                    self._keep_other(place, number, image, body)
        return wanted

    def _read(self, wanted: list[list[int]]) -> None:
        """Read the names of all images, and compare those that are likely to be pairs.

        The images of one target tell which containers belong together, and so which images of
        other targets in them do.
        """
        listed = [self._files.images(path) for path in self._files.paths]
        left = [
            {number: images[number] for number in numbers if number not in known}
            for images, numbers, known in zip(listed, wanted, self._known, strict=True)
        ]
        pairs: list[Pair] = []
        arena = Arena()
        for target in shared_targets(left):
            alike, empty = of_like_names(left, target, arena)
            remove(left, [*alike, *empty])
            near = beside(alike, listed, left)
            remove(left, near)
            pairs += [*alike, *empty, *near]
        others = in_place(left)
        remove(left, others)
        pairs += others
        self._read_pairs([*pairs, *single(left)], listed)
        self._read_texts(listed)

    def _read_pairs(self, pairs: list[Pair], listed: list[list[Image]]) -> None:
        """Read the names of images, and compare two of a pair if they are alike."""
        for pair, result in self._results(pairs, tasks.read_and_compare):
            readings, found = result
            for side, place in enumerate(pair):
                if place is not None:
                    self._keep(side, place, listed[side][place], readings[side])
            if isinstance(found, PairChanges):
                self._changes[pair] = found
            else:
                self._alone.update(zip(_apart(pair), found, strict=False))

    def _keep(self, side: int, number: int, image: Image, reading: Reading | CubinError) -> None:
        """Keep what was read of an image."""
        if isinstance(reading, CubinError):
            self._faults[side][number] = reading
        elif isinstance(reading, str):
            self._keep_other(side, number, image, reading)
        else:
            word, size, names = reading
            # a library has the same names for each of its targets
            names = [*map(self._names.setdefault, names, names)]
            body = f"{side} {number}"  # no image of the other file has the same
            self._outlines[side][number] = outline_of(image, word, size, body, names)

    def _read_texts(self, listed: list[list[Image]]) -> None:
        """Read PTX and the like whole where images of both files begin and end alike."""
        several = [
            pair
            for olds, news in self._alike_texts()
            if not len(olds) == len(news) == 1
            for pair in [*[(number, None) for number in olds], *[(None, number) for number in news]]
        ]
        self._keep_bodies(several, listed, tasks.digest_of_end)
        pairs: list[Pair] = []
        for olds, news in self._alike_texts():
            if len(olds) == len(news) == 1:
                pairs.append((olds[0], news[0]))
            else:
                pairs += [(number, None) for number in olds]
                pairs += [(None, number) for number in news]
        self._keep_bodies(pairs, listed, tasks.digest_of_text)

    def _alike_texts(self) -> list[tuple[list[int], list[int]]]:
        """Images of both files that are no cubins and that nothing tells apart yet."""
        homes: dict[tuple[str, str, str], tuple[list[int], list[int]]] = {}
        for side, others in enumerate(self._others):
            for number, other in others.items():
                if number not in self._known[side]:
                    key = other.kind, other.arch, other.body
                    homes.setdefault(key, ([], []))[side].append(number)
        return [(olds, news) for olds, news in homes.values() if olds and news]

    def _keep_bodies(
        self, pairs: list[Pair], listed: list[list[Image]], work: Callable[..., object]
    ) -> None:
        """Keep what some work says of images that are no cubins."""
        for pair, bodies in self._results(pairs, work):
            for side, place in enumerate(pair):
                if place is not None:
                    self._keep_other(side, place, listed[side][place], bodies[side])

    def _keep_other(self, side: int, number: int, image: Image, body: str) -> None:
        self._others[side][number] = OtherFacts(image.kind, image.arch, str(image), body)

    def _compare(self) -> Difference:
        """Match the images, and compare those that were not compared yet."""
        while True:
            numbers = [
                {id(outline): number for number, outline in outlines.items()}
                for outlines in self._outlines
            ]
            found = match_images(*(list(outlines.values()) for outlines in self._ordered()))
            pairs: list[Pair] = [
                (numbers[0][id(one)], numbers[1][id(other)]) for one, other in found.images
            ]
            gone: list[Pair] = [(numbers[0][id(image)], None) for image in found.gone_images]
            new: list[Pair] = [(None, numbers[1][id(image)]) for image in found.new_images]
            functions = self._second([*pairs, *gone, *new])
            if functions is None:
                continue
            with suppress(_Broken):
                return assembled(
                    found,
                    [self._changes[pair] for pair in pairs],
                    [
                        (image, each)
                        for image, pair in zip(found.gone_images, gone, strict=True)
                        for each in functions[pair]
                    ],
                    [
                        (image, each)
                        for image, pair in zip(found.new_images, new, strict=True)
                        for each in functions[pair]
                    ],
                    self._question.properties,
                    matcher(self._question.pattern),
                    functools.partial(self._complete, numbers),
                )

    def _complete(self, numbers: list[dict[int, int]], functions: list[tuple[int, Placed]]) -> None:
        """Read functions whole of which only outlines are known.

        Args:
            numbers: of both files: the identity of an outline -> the number of its image.

        Raises:
            _Broken: one of their images is broken, and is one no more.
        """
        wanted: dict[tuple[int, int], dict[int, FunctionFacts]] = {}
        for side, (image, facts) in functions:
            if facts.place is not None and not facts.is_whole:
                homes = wanted.setdefault((side, numbers[side][id(image)]), {})
                homes[facts.place] = facts
        items = [(side, number, [*found]) for (side, number), found in wanted.items()]
        is_broken = False
        listing = functools.partial(self._files.some, items)
        for at, result in self._run(listing, tasks.facts_again, _cost_of_one):
            side, number, places = items[at]
            if isinstance(result, CubinError):
                self._faults[side][number] = result
                del self._outlines[side][number]
                is_broken = True
            else:
                for place, facts in zip(places, result, strict=True):
                    wanted[side, number][place].learn(facts)
        if is_broken:
            raise _Broken

    def _ordered(self) -> list[dict[int, ImageOutline]]:
        return [dict(sorted(outlines.items())) for outlines in self._outlines]

    def _second(self, pairs: list[Pair]) -> dict[Pair, list[FunctionFacts]] | None:
        """Compare the pairs that were not yet, and read all functions of images without one.

        Returns:
            These functions; ``None`` when an image turned out to be broken, which is one no more.
        """
        functions: dict[Pair, list[FunctionFacts]] = {}
        todo: list[Pair] = []
        for pair in pairs:
            one, other = pair
            if one is not None and other is not None and one in self._known[0]:
                self._changes.setdefault(pair, _SAME)
            elif one in self._known[0] or other in self._known[1]:
                functions[pair] = []
            elif pair in self._alone:
                functions[pair] = self._alone[pair]
            elif pair not in self._changes:
                todo.append(pair)
        is_whole = True
        for pair, (faults, result) in self._results(todo, tasks.compare_or_outline):
            for side, fault in enumerate(faults):
                number = pair[side]
                if fault is not None and number is not None:
                    self._faults[side][number] = fault
                    self._outlines[side].pop(number, None)
                    is_whole = False
            if isinstance(result, list):
                functions[pair] = result
            elif result is not None:
                self._changes[pair] = result
        return functions if is_whole else None

    def _results(
        self, pairs: list[Pair], work: Callable[..., object]
    ) -> Iterator[tuple[Pair, Any]]:
        """What some work gives for pairs of images, each behind its pair."""
        listing = functools.partial(self._files.pairs, pairs)
        work = functools.partial(work, self._question)
        for number, result in self._run(listing, work, _cost):
            yield pairs[number], result

    def _run(
        self,
        listing: Callable[[], Iterator[Any]],
        work: Callable[[Any, Arena], object],
        cost: Callable[[Any], int],
    ) -> Iterator[tuple[int, Any]]:
        """What some work gives for some items, each behind its number."""
        jobs = self._jobs
        if jobs is None:
            size = sum(map(cost, listing()))
            jobs = usable_cores() if size >= _MIN_SHARED_BYTES else 1
        for number, result, error in work_on((listing, work, cost), jobs, self._step):
            if error is not None:
                raise error
            yield number, result


class _Broken(Exception):
    """An image turned out to be broken after it was matched."""


#: What differs between two images that are the same byte for byte.
_SAME = PairChanges()


def _nothing(text: str, count: int) -> None:
    """Tell nobody."""


def _apart(pair: Pair) -> list[Pair]:
    """The images of a pair, each without the other."""
    one, other = pair
    return [alone for alone in ((one, None), (None, other)) if alone != (None, None)]


def _cost(pair: Images) -> int:
    return sum(image.stored_size for image in pair[:2] if image is not None)


def _cost_of_one(item: tuple[Image, list[int]]) -> int:
    image, _ = item
    return image.stored_size
