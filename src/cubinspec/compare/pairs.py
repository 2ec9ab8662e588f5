"""What differs between an image of the old file and one of the new.

Most functions of two builds are the same, bytes and all. These are told by a look at their bytes
where they lie; facts are read of the others only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter

from cubinspec.compare.changes import function_changes, image_changes, noise_changes
from cubinspec.compare.facts import ImageFacts
from cubinspec.compare.image_reader import ImageReader, outlines_of
from cubinspec.compare.looks import Looks
from cubinspec.compare.match import match_names, match_renamed, of_like_code, pair_up
from cubinspec.compare.noise import noise_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cubinspec.compare.changes import Change
    from cubinspec.compare.facts import FunctionFacts
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function

    #: A function of the old image and one of the new.
    Functions = tuple[Function, Function]
    #: Tells by the mangled name whether a function is wanted.
    Wants = Callable[[str], bool]

#: Of a name and a place: the name.
_first = itemgetter(0)


@dataclass(slots=True)
class PairChanges:
    """What was found.

    Attributes:
        compared: how many functions both images have.
        changed: functions of both that differ, old and new, and what differs.
        gone, new: functions that only one of the images has.
        likely: those of both that are likely to be matched with each other, and what differs.
        changes: properties of the whole image that differ.
        noise: what differs and does not matter.
    """

    compared: int = 0
    changed: list[tuple[FunctionFacts, FunctionFacts, list[Change]]] = field(default_factory=list)
    gone: list[FunctionFacts] = field(default_factory=list)
    new: list[FunctionFacts] = field(default_factory=list)
    likely: list[tuple[FunctionFacts, FunctionFacts, list[Change]]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    noise: list[Change] = field(default_factory=list)


def compare_facts(
    old: ImageFacts, new: ImageFacts, properties: frozenset[str] | None, wants: Wants
) -> PairChanges:
    """Compare two images by their facts.

    Args:
        properties: to compare; ``None``: all.
        wants: which functions are compared.
    """
    found = PairChanges()
    pairs, found.gone, found.new = pair_up(old.functions, new.functions, lambda each: each.name)
    for one, other in pairs:
        if wants(one.name):
            found.compared += 1
            changes = function_changes(one, other, properties)
            if changes:
                found.changed.append((one, other, changes))
    found.changes = image_changes(old.values, new.values, properties)
    found.noise = noise_changes(old.noise, new.noise)
    return found


def compare_images(
    old: ImageReader,
    new: ImageReader,
    properties: frozenset[str] | None,
    wants: Wants,
    *,
    digests: bool = True,
) -> PairChanges:
    """As :func:`compare_facts`, with the facts read where they are needed.

    Args:
        digests: give digests of the code that changed; without, a word stands for each.

    Raises:
        CubinError: a table that has to be read is broken.
    """
    found = PairChanges()
    olds = list(zip(old.names, count(), strict=False))
    news = list(zip(new.names, count(), strict=False))
    pairs, gone, fresh = pair_up(olds, news, _first)
    looks = Looks(old, new)
    functions = [
        (old.functions[one], new.functions[other])
        for (name, one), (_, other) in pairs
        if wants(name)
    ]
    found.compared = len(functions)
    compare = _Changes(looks, properties, digests=digests)
    for one, other in looks.unlike(functions):
        before, after, changes = compare(one, other)
        if changes:
            row = before.without_details(), after.without_details(), changes
            found.changed.append(row)
    found.gone = outlines_of(old.cubin, old.names, [place for _, place in gone], old)
    found.new = outlines_of(new.cubin, new.names, [place for _, place in fresh], new)
    if found.gone and found.new:
        found.likely = _likely(found, (old, new), compare, wants)
    settled = looks.settled()
    values = old.values(settled), new.values(settled)
    found.changes = image_changes(*values, properties)
    with_notes = not looks.same_notes()
    found.noise = noise_changes(old.noise(with_notes), new.noise(with_notes))
    return found


class _Changes:
    """Tells what differs between two functions.

    Args:
        looks: at the images that they are in.
        properties, digests: see :func:`compare_images`.
    """

    def __init__(self, looks: Looks, properties: frozenset[str] | None, *, digests: bool) -> None:
        self.looks: Looks = looks
        self._properties = properties
        self._digests = digests

    def __call__(
        self, one: Function, other: Function
    ) -> tuple[FunctionFacts, FunctionFacts, list[Change]]:
        """The facts that had to be read of both, and what differs."""
        # of code of another size, or of the same, nobody asks for a digest
        _, _, _, _, _, size = one.row
        _, _, _, _, _, size_too = other.row
        looks, resized = self.looks, size != size_too
        changed = not resized and not looks.same_code(one, other)
        details = {
            "with_code": changed and self._digests,
            "with_parts": not looks.same_parts(one, other),
            "with_capsule": not changed and not resized,
        }
        words = ("old code", "new code") if changed and not self._digests else (None, None)
        old, new = looks.readers
        before = old.facts_of(one, word=words[0], **details)
        after = new.facts_of(other, word=words[1], **details)
        return before, after, function_changes(before, after, self._properties)


def _likely(
    found: PairChanges, readers: tuple[ImageReader, ImageReader], compare: _Changes, wants: Wants
) -> list[tuple[FunctionFacts, FunctionFacts, list[Change]]]:
    """Functions without a counterpart that are one another's if no other image has a better one."""
    # no image stands beside the functions, as all are of one pair; compiled code checks types
    sides: list[list[Any]] = [[(None, facts) for facts in side] for side in (found.gone, found.new)]
    named: Any = match_names(*sides)
    pairs, *left = named
    alike: Any = of_like_code(*left)
    for side, (_, facts) in alike:
        readers[side].read_code(facts)
    renamed: Any = match_renamed(*left)
    more, _, _ = renamed
    likely = [
        (pair.old[1], pair.new[1])
        for pair in (*pairs, *more)
        if wants(pair.old[1].name) or wants(pair.new[1].name)
    ]
    old, new = readers
    functions = [(old.function_of(one), new.function_of(other)) for one, other in likely]
    unlike = {id(one) for one, _ in compare.looks.unlike(functions, renamed=True)}
    rows = []
    for (before, after), (one, other) in zip(likely, functions, strict=True):
        changes: list[Change] = []
        if id(one) in unlike:
            _, _, changes = compare(one, other)
        old.read_launch(before)
        new.read_launch(after)
        rows.append((before, after, changes))
    return rows


def compare_noise(old: Cubin, new: Cubin, wants: Wants) -> PairChanges:
    """As :func:`compare_images`, for images that :func:`differ_in_noise_only`.

    Raises:
        CubinError: a table that has to be read is broken.
    """
    reader = ImageReader(old)
    reader.values()  # raises
    noise = [noise_of(cubin) for cubin in (old, new)]
    return PairChanges(len([*filter(wants, reader.names)]), noise=noise_changes(*noise))
