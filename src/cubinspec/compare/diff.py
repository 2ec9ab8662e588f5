"""What changed between two builds: per kernel, per image, per file."""

from __future__ import annotations

from dataclasses import dataclass, field

from cubinspec.compare.changes import COSTS, Change, expanded, function_changes
from cubinspec.compare.facts import UNKNOWN
from cubinspec.compare.match import (
    SAME_BUT_HASH,
    SAME_NAME,
    FunctionPair,
    Matches,
    match_functions,
    match_images,
)
from cubinspec.compare.pairs import compare_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from cubinspec.compare.facts import ImageFacts, ImageOutline
    from cubinspec.compare.match import Placed, Read
    from cubinspec.compare.pairs import PairChanges
    from cubinspec.compare.read import OtherFacts
    from cubinspec.errors import CubinError

#: Functions that a notebook shows of a difference.
_SHOWN = 50
#: What a difference can be.
IDENTICAL = "identical"
NOISE = "identical but for noise"
#: Nothing that could be read differs, but not all could.
PARTLY = "identical in what could be read"
DIFFERENT = "different"


@dataclass(slots=True)
class FunctionChange:
    """A function that changed, or whose name did.

    Attributes:
        pair: the function in both files.
        changes: the properties, the costs first.
        worse: whether any property got worse.
    """

    pair: FunctionPair
    changes: list[Change]
    worse: bool = field(init=False)

    def __post_init__(self) -> None:
        self.worse = any(change.worse for change in self.changes)

    @property
    def renamed(self) -> bool:
        """Whether it has another name now; a hash of a source file is not one."""
        return self.pair.how not in (SAME_NAME, SAME_BUT_HASH)

    @property
    def rank(self) -> tuple[Any, ...]:
        """Sorts functions, the worst first."""
        costs: dict[str, int] = {}
        for change in self.changes:
            word = change.name.partition(".")[0]
            if word in COSTS:
                rise = 1 << 32 if change.new == UNKNOWN else change.delta or 0
                costs[word] = costs.get(word, 0) + rise
        order = [-costs.get(word, 0) for word in COSTS]
        return (not self.worse, order, self.pair.new[1].name)


@dataclass(slots=True)
class ImageChange:
    """An image that changed as a whole.

    Attributes:
        old, new: the image in both files.
        changes: properties of the whole image.
        noise: what differs and does not matter: notes, debug sections.
    """

    old: ImageOutline
    new: ImageOutline
    changes: list[Change]
    noise: list[Change]


@dataclass(slots=True)
class Difference:
    """All that differs between two files.

    Attributes:
        matches: what was compared with what.
        functions: functions that changed or have another name, the worst first.
        images: images that changed as a whole, or by noise only.
        others: images that are no cubins: ``new``, ``gone`` or ``changed``, kind and target.
        targets: targets of the old and the new file.
        size: bytes of both files.
        only: the properties that were asked for; ``None``: all.
        compared: functions of both files.
        unread: what could not be read of the old and of the new file; it was not compared.
    """

    matches: Matches
    functions: list[FunctionChange] = field(default_factory=list)
    images: list[ImageChange] = field(default_factory=list)
    others: list[tuple[str, str, str]] = field(default_factory=list)
    targets: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    size: tuple[int, int] = (0, 0)
    only: frozenset[str] | None = None
    compared: int = 0
    unread: tuple[list[CubinError], list[CubinError]] = field(default_factory=lambda: ([], []))

    @property
    def status(self) -> str:
        """One of the words above, by what was asked for."""
        if self.is_different:
            return DIFFERENT
        if any(self.unread):
            return PARTLY
        same = self.same_images == len(self.matches.images)
        lost = self.matches.gone_images or self.matches.new_images
        return IDENTICAL if same and not lost and not self.functions else NOISE

    @property
    def same_images(self) -> int:
        """How many images are the same, byte for byte."""
        return sum(old.body == new.body for old, new in self.matches.images)

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table
        from cubinspec.report.names import readable

        rows = []
        for function in self.functions[:_SHOWN]:
            image, one = function.pair.new
            words = ", ".join(change.name for change in function.changes) or function.pair.how
            rows.append(("worse" if function.worse else "", image.arch, readable(one.name), words))
        head = ("", "arch", "function", "what changed")
        return html_table(f"{self.status}: {len(self.functions)} functions", head, rows)

    @property
    def is_different(self) -> bool:
        """Whether anything that was asked for differs."""
        matches = self.matches
        if matches.gone or matches.new:
            return True
        if self.only is None and (matches.gone_images or matches.new_images or self.others):
            return True
        changed = any(f.changes or f.renamed for f in self.functions)
        return changed or any(image.changes for image in self.images)

    @property
    def is_worse(self) -> bool:
        """Whether any function got worse."""
        return any(function.worse for function in self.functions)


def difference(
    old: Iterable[ImageFacts],
    new: Iterable[ImageFacts],
    *,
    only: frozenset[str] | None = None,
    matches: Callable[[str], bool] | None = None,
) -> Difference:
    """Compare two files whose facts are known.

    Args:
        old, new: the facts of their images.
        only: properties and groups to compare; ``None``: all.
        matches: which functions, by their mangled names; ``None``: all.
    """
    properties, wants = expanded(only), matches or _all
    olds, news = list(old), list(new)
    facts: dict[int, ImageFacts] = {}
    for image in (*olds, *news):
        image.names = [function.name for function in image.functions]
        facts[id(image)] = image
    found = match_images(olds, news)
    pairs = [
        compare_facts(facts[id(one)], facts[id(other)], properties, wants)
        for one, other in found.images
    ]
    functions = [
        [(image, each) for image in images for each in facts[id(image)].functions]
        for images in (found.gone_images, found.new_images)
    ]
    return assembled(found, pairs, functions[0], functions[1], properties, wants, _nothing)


def assembled(
    found: Matches,
    pairs: list[PairChanges],
    gone: list[Placed],
    new: list[Placed],
    properties: frozenset[str] | None,
    wants: Callable[[str], bool],
    read: Read,
) -> Difference:
    """The difference of two files, from that of their images.

    Args:
        found: images that were matched.
        pairs: what differs between each two of them.
        gone, new: functions of images that only one file has.
        properties, wants: see :func:`cubinspec.compare.pairs.compare_facts`.
        read: makes facts whole that are not.
    """
    result = Difference(found, only=properties)
    result.targets = _targets(found, 0), _targets(found, 1)
    left: tuple[list[Placed], list[Placed]] = ([], [])
    likely: dict[tuple[int, int], list[Change]] = {}
    for (before, after), pair in zip(found.images, pairs, strict=True):
        result.compared += pair.compared
        for one, other, changes in pair.changed:
            same = FunctionPair((before, one), (after, other), SAME_NAME)
            result.functions.append(FunctionChange(same, changes))
        for one, other, changes in pair.likely:
            likely[id(one), id(other)] = changes
        left[0].extend((before, each) for each in pair.gone)
        left[1].extend((after, each) for each in pair.new)
        if pair.changes or before.body != after.body:
            result.images.append(ImageChange(before, after, pair.changes, pair.noise))

    def known(pair: FunctionPair) -> bool:
        if not wants(pair.old[1].name) and not wants(pair.new[1].name):
            return True  # nobody asks
        return (id(pair.old[1]), id(pair.new[1])) in likely

    match_functions([*left[0], *gone], [*left[1], *new], found, read, known)
    found.gone = [placed for placed in found.gone if wants(placed[1].name)]
    found.new = [placed for placed in found.new if wants(placed[1].name)]
    found.functions = [p for p in found.functions if wants(p.old[1].name) or wants(p.new[1].name)]
    result.compared += len(found.functions)
    for same in found.functions:
        differ = likely.get((id(same.old[1]), id(same.new[1])))
        if differ is None:
            differ = function_changes(same.old[1], same.new[1], properties)
        change = FunctionChange(same, differ)
        if differ or change.renamed:
            result.functions.append(change)
    result.functions.sort(key=lambda function: function.rank)
    return result


def _nothing(functions: list[tuple[int, Placed]]) -> None:
    """All is known."""


def _all(name: str) -> bool:
    return True


def other_changes(
    old: Iterable[OtherFacts], new: Iterable[OtherFacts]
) -> list[tuple[str, str, str]]:
    """What differs between images that are no cubins; they are compared as a whole."""
    found: list[tuple[str, str, str]] = []
    olds, news = _bodies(old), _bodies(new)
    for key in sorted({*olds, *news}):
        before, after = olds.get(key, []), news.get(key, [])
        both = [body for body in before if body in after]
        gone, fresh = len(before) - len(both), len(after) - len(both)
        changed = min(gone, fresh)
        words = ["changed"] * changed + ["gone"] * (gone - changed) + ["new"] * (fresh - changed)
        found += [(word, *key) for word in words]
    return found


def _bodies(others: Iterable[OtherFacts]) -> dict[tuple[str, str], list[str]]:
    bodies: dict[tuple[str, str], list[str]] = {}
    for other in others:
        bodies.setdefault((other.kind, other.arch), []).append(other.body)
    return bodies


def _targets(found: Matches, side: int) -> tuple[str, ...]:
    single = (found.gone_images, found.new_images)[side]
    images = [*(pair[side] for pair in found.images), *single]
    from cubinspec.report.archs import in_order

    return tuple(in_order(image.arch for image in images))
