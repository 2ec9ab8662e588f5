"""What changed between two functions or images: one row per property that differs.

Each property of :mod:`cubinspec.compare.facts` is compared by itself, so that one change is
reported once. What follows from another change is left out: other code of the same size where the
size changed, Mercury code where the SASS changed, the bytes of a section whose size changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from cubinspec.compare.facts import READ, UNKNOWN
from cubinspec.compare.streams import unlike_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.compare.facts import FunctionFacts

    #: Property -> its values, for those that differ.
    Unlike = dict[str, tuple[Any, Any]]

#: Properties of which more is worse, in the order in which they count.
COSTS = (
    *("stack", "frame", "max_stack", "local", "registers", "shared", "barriers"),
    *("code_size", "constants", "param_size"),
)
_ORDER = {word: number for number, word in enumerate(COSTS)}
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
        if self.name.partition(".")[0] not in _ORDER:
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


def known_words() -> tuple[str, ...]:
    """All words that ``only`` takes."""
    properties = {word for words in GROUPS.values() for word in words}
    return (*GROUPS, *sorted(properties - set(GROUPS)))


def expanded(only: frozenset[str] | None) -> frozenset[str] | None:
    """The properties that ``only`` names, its groups taken apart; ``None``: all."""
    if only is None:
        return None
    return frozenset(word for name in only for word in GROUPS.get(name, (name,)))


def function_changes(
    old: FunctionFacts, new: FunctionFacts, wanted: frozenset[str] | None
) -> list[Change]:
    """The properties of a function that differ, the costs first.

    Args:
        wanted: the properties to compare; ``None``: all.
    """
    unlike: Unlike = {}
    if old.read != new.read:
        for word, before, after in zip(READ, old.read, new.read, strict=True):
            if before != after:
                unlike[word] = before, after
    if old.stream != new.stream:
        params, rest = unlike_parts(old.stream, new.stream)
        if params is not None:
            unlike["params"] = params
        if rest != ({}, {}):
            unlike["attributes"] = rest
    return _changes(unlike, wanted) if unlike else []


def image_changes(
    old: dict[str, Any], new: dict[str, Any], wanted: frozenset[str] | None
) -> list[Change]:
    """The properties of a whole image that differ.

    Args:
        old, new: the values of :class:`cubinspec.compare.facts.ImageFacts`.
        wanted: the properties to compare; ``None``: all.
    """
    return _changes(_unlike(_worded(old), _worded(new)), wanted)


def noise_changes(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """What differs of the noise of two images."""
    return _changes(_unlike(old, new), None)


def _worded(values: dict[str, Any]) -> dict[str, Any]:
    return {_IMAGE_WORDS.get(name, name): value for name, value in values.items()}


def _unlike(old: dict[str, Any], new: dict[str, Any]) -> Unlike:
    words = dict.fromkeys([*old, *new])
    return {
        word: (old.get(word), new.get(word)) for word in words if old.get(word) != new.get(word)
    }


def _changes(unlike: Unlike, wanted: frozenset[str] | None) -> list[Change]:
    """A row for each property that differs, the costs first."""
    found = []
    for name, (before, after) in unlike.items():
        if wanted is not None and name not in wanted:
            continue
        if any(reason in unlike for reason in _IMPLIED.get(name, ())):
            continue
        if isinstance(before, dict) or isinstance(after, dict):
            found += _parts(name, before or {}, after or {}, unlike)
        else:
            found.append(Change(name, before, after))
    found.sort(key=lambda change: _ORDER.get(change.name.partition(".")[0], len(_ORDER)))
    return found


def _parts(
    name: str, before: dict[Any, Any], after: dict[Any, Any], unlike: Unlike
) -> list[Change]:
    parts = [
        part for part in dict.fromkeys([*before, *after]) if before.get(part) != after.get(part)
    ]
    if name in ("data", "image_data"):
        parts = [part for part in parts if not _resized(part, unlike)]
    return [Change(f"{name}.{part}", before.get(part), after.get(part)) for part in parts]


def _resized(section: str, unlike: Unlike) -> bool:
    """Whether the size of a section, which is a property of its own, changed as well."""
    sections, others = unlike.get("image_sections", ({}, {}))
    if sections.get(section) != others.get(section):
        return True
    bank = section.removeprefix(".nv.constant")
    if not bank.isdecimal():
        return False
    sizes, others = unlike.get("constants", ({}, {}))
    return bool(sizes.get(int(bank)) != others.get(int(bank)))


def _plain(value: Any) -> Any:
    """A value as JSON knows it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
