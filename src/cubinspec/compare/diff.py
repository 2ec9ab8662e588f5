"""What changed between two builds: per kernel, per image, per file.

Each property of :mod:`cubinspec.compare.facts` is compared by itself, so that one change is
reported once. What follows from another change is left out: other code of the same size where the
size changed, Mercury code where the SASS changed, the bytes of a section whose size changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cubinspec.compare.facts import UNKNOWN
from cubinspec.compare.match import SAME_BUT_HASH, SAME_NAME, FunctionPair, Matches, match

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from cubinspec.compare.facts import ImageFacts
    from cubinspec.compare.read import OtherFacts

#: Properties of which more is worse, in the order in which they count.
COSTS = (
    *("stack", "frame", "max_stack", "local", "registers", "shared", "barriers"),
    *("code_size", "constants", "param_size"),
)
#: Groups that ``--only`` knows beside the properties themselves.
GROUPS = {
    "resources": (
        *("registers", "stack", "frame", "max_stack", "shared", "local", "barriers"),
        *("mbarriers", "constants"),
    ),
    "launch": ("max_ntid", "reqntid", "cluster", "max_cluster_rank", "max_registers"),
    "params": ("param_size", "param_bank", "params"),
    "code": (
        *("code_size", "code", "capsule", "data", "relocations", "symbol", "sections"),
        *("section_registers",),
    ),
    "attributes": ("attributes",),
    "image": (
        *("type", "os_abi", "e_version", "e_flags", "image_sections", "image_data"),
        *("image_attributes", "variables", "calls"),
    ),
}
#: Properties of an image -> their words here, where a function has one of the same word.
_IMAGE_WORDS = {
    "data": "image_data",
    "attributes": "image_attributes",
    "sections": "image_sections",
}
_IMPLIED = {
    "code": ("code_size",),
    "capsule": ("code", "code_size"),
    "section_registers": ("registers",),
}
#: Functions that a notebook shows of a difference.
_SHOWN = 50
#: What a difference can be.
IDENTICAL = "identical"
NOISE = "identical but for noise"
DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Change:
    """One property that changed.

    Attributes:
        name: of the property; a part of one follows a dot, as in ``attributes.EIATTR_EXTERNS``.
        old, new: its values; ``None``: not stated.
    """

    name: str
    old: Any
    new: Any

    @property
    def delta(self) -> int | None:
        """How much more it is now; ``None`` where the values are no numbers."""
        old, new = self.old, self.new
        if self.name.startswith("constants."):  # a bank that is not there takes nothing
            old, new = old or 0, new or 0
        if not isinstance(old, int) or not isinstance(new, int):
            return None
        return new - old

    @property
    def worse(self) -> bool | None:
        """Whether it got worse; ``None`` where more is neither better nor worse."""
        if self.name.partition(".")[0] not in COSTS:
            return None
        if UNKNOWN in (self.old, self.new):
            return bool(self.new == UNKNOWN)
        rise = self.delta
        return None if rise is None else rise > 0

    def as_dict(self) -> dict[str, Any]:
        """The change as JSON knows it."""
        return {
            "property": self.name,
            "old": _plain(self.old),
            "new": _plain(self.new),
            "delta": self.delta,
            "worse": self.worse,
        }


@dataclass(slots=True)
class FunctionChange:
    """A function that changed, or whose name did.

    Attributes:
        pair: the function in both files.
        changes: the properties, the costs first.
    """

    pair: FunctionPair
    changes: list[Change]

    @property
    def renamed(self) -> bool:
        """Whether it has another name now; a hash of a source file is not one."""
        return self.pair.how not in (SAME_NAME, SAME_BUT_HASH)

    @property
    def worse(self) -> bool:
        """Whether any property got worse."""
        return any(change.worse for change in self.changes)

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

    old: ImageFacts
    new: ImageFacts
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
    """

    matches: Matches
    functions: list[FunctionChange] = field(default_factory=list)
    images: list[ImageChange] = field(default_factory=list)
    others: list[tuple[str, str, str]] = field(default_factory=list)
    targets: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    size: tuple[int, int] = (0, 0)
    only: frozenset[str] | None = None

    @property
    def status(self) -> str:
        """``identical``, ``identical but for noise`` or ``different``, by what was asked for."""
        if self.is_different:
            return DIFFERENT
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
    """Compare two files.

    Args:
        old, new: the facts of their images.
        only: properties and groups to compare; ``None``: all.
        matches: which functions, by their mangled names; ``None``: all.
    """
    wanted = None if only is None else _expanded(only)
    olds, news = list(old), list(new)
    found = match(olds, news)
    if matches is not None:
        found.functions = [
            p for p in found.functions if matches(p.old[1].name) or matches(p.new[1].name)
        ]
        found.gone = [placed for placed in found.gone if matches(placed[1].name)]
        found.new = [placed for placed in found.new if matches(placed[1].name)]
    result = Difference(found, only=wanted)
    result.targets = _targets(olds), _targets(news)
    for pair in found.functions:
        changes = _function_changes(pair, wanted)
        change = FunctionChange(pair, changes)
        if changes or change.renamed:
            result.functions.append(change)
    result.functions.sort(key=lambda function: function.rank)
    for before, after in found.images:
        changes = _changes(_worded(before), _worded(after), wanted)
        noise = _changes(before.noise, after.noise, None)
        if changes or before.body != after.body:
            result.images.append(ImageChange(before, after, changes, noise))
    return result


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


def _targets(images: list[ImageFacts]) -> tuple[str, ...]:
    return tuple(sorted({image.arch for image in images}))


def known_words() -> tuple[str, ...]:
    """All words that ``only`` takes."""
    properties = {word for words in GROUPS.values() for word in words}
    return (*GROUPS, *sorted(properties - set(GROUPS)))


def _expanded(only: frozenset[str]) -> frozenset[str]:
    return frozenset(word for name in only for word in GROUPS.get(name, (name,)))


def _function_changes(pair: FunctionPair, wanted: frozenset[str] | None) -> list[Change]:
    old, new = pair.old[1], pair.new[1]
    if old.read == new.read and old.stream == new.stream:
        return []
    return _changes(old.values, new.values, wanted)


def _worded(image: ImageFacts) -> dict[str, Any]:
    return {_IMAGE_WORDS.get(name, name): value for name, value in image.values.items()}


def _changes(
    old: dict[str, Any], new: dict[str, Any], wanted: frozenset[str] | None
) -> list[Change]:
    """The properties that differ, the costs first."""
    if old == new:
        return []
    differing = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    found = []
    for name in differing:
        if wanted is not None and name not in wanted:
            continue
        if any(reason in differing for reason in _IMPLIED.get(name, ())):
            continue
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) or isinstance(after, dict):
            found += _parts(name, before or {}, after or {}, old, new)
        else:
            found.append(Change(name, before, after))
    order = {word: number for number, word in enumerate(COSTS)}
    found.sort(key=lambda change: order.get(change.name.partition(".")[0], len(order)))
    return found


def _parts(
    name: str,
    before: dict[Any, Any],
    after: dict[Any, Any],
    old: dict[str, Any],
    new: dict[str, Any],
) -> list[Change]:
    parts = [
        part for part in dict.fromkeys([*before, *after]) if before.get(part) != after.get(part)
    ]
    if name in ("data", "image_data"):
        parts = [part for part in parts if not _resized(part, old, new)]
    return [Change(f"{name}.{part}", before.get(part), after.get(part)) for part in parts]


def _resized(section: str, old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether the size of a section, which is a property of its own, changed as well."""
    if "image_sections" in old:
        sections, others = old["image_sections"], new["image_sections"]
        return bool(sections.get(section) != others.get(section))
    bank = section.removeprefix(".nv.constant")
    if not bank.isdecimal():
        return False
    sizes, others = old.get("constants") or {}, new.get("constants") or {}
    return bool(sizes.get(int(bank)) != others.get(int(bank)))


def _plain(value: Any) -> Any:
    """A value as JSON knows it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
