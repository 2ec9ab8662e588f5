"""Architectures, their families, and toolkits: the only place that compares their numbers.

The facts stand in ``ksy/tables/arch.yaml`` and ``ksy/tables/toolkits.yaml``. Other code asks for a
named fact (``family_of(sm).compat_section``, ``toolkit_of(number).stale_links``), so that a new
architecture or toolkit is a row of a table and no change of code.
"""

from __future__ import annotations

from cubinspec.values import FrozenValue
from cubinspec_generated.targets import (
    ARCHITECTURES,
    COMPAT_OF_VARIANT,
    FAMILIES,
    FINALIZER,
    FIRST_WITH_INDEPENDENT_THREADS,
    TOOLKITS,
    WRITTEN,
    Architecture,
    Family,
    Toolkit,
)

__all__ = [
    "ARCHITECTURES",
    "FINALIZER",
    "TOOLKITS",
    "WRITTEN",
    "Architecture",
    "Family",
    "Target",
    "Toolkit",
    "family_of",
    "has_independent_threads",
    "is_later",
    "is_link_target",
    "is_plausible",
    "limit",
    "link_target_names",
    "linker_toolkits",
    "param_base",
    "relation",
    "target",
    "toolkit_number",
    "toolkit_of",
    "written_targets",
]

#: No architecture has had a larger number; in a file it is damage.
_LARGEST_SM = 0x1FF
#: What the toolkit whose files are written here makes code for.
_WRITTEN = tuple(
    found
    for found in ARCHITECTURES.values()
    if (found.first_toolkit or 0) <= WRITTEN.number <= (found.last_toolkit or WRITTEN.number)
)
_LINKERS = {
    row.version: row for row in TOOLKITS.values() if row.imitated and row.release is not None
}


class Target(FrozenValue):
    """What code can be made for: an architecture and a variant of it.

    Attributes:
        architecture: the facts of the architecture.
        variant: empty, ``a`` (this architecture only) or ``f`` (its family).
    """

    __match_args__ = ("architecture", "variant")
    __slots__ = __match_args__
    architecture: Architecture
    variant: str

    def __init__(self, architecture: Architecture, variant: str) -> None:
        object.__setattr__(self, "architecture", architecture)
        object.__setattr__(self, "variant", variant)

    def __hash__(self) -> int:  # type: ignore[override]  # the facts of a row cannot be hashed
        return hash(self.name)

    @property
    def name(self) -> str:
        """Such as ``sm_90a``."""
        return f"sm_{self.architecture.sm}{self.variant}"

    @property
    def sm(self) -> int:
        """Such as 90."""
        return self.architecture.sm

    @property
    def family(self) -> Family:
        """What its cubins have in common with those of other architectures."""
        return self.architecture.family

    @property
    def is_specific(self) -> bool:
        """Whether code for it runs on this architecture only (variant ``a``)."""
        return self.variant == "a"

    def compat_value(self, code: int) -> int | None:
        """Value of a record of ``.nv.compat`` that the target decides; None: it says nothing."""
        own = COMPAT_OF_VARIANT[self.variant].get(code)
        return self.architecture.compat.get(code) if own is None else own

    def links(self, sm: int, *, specific: bool) -> bool:
        """Whether a link for this target accepts SASS that was made for an architecture.

        Args:
            sm: number of that architecture.
            specific: whether it is code of an ``a`` variant, which no other number accepts.
        """
        own = self.architecture
        if sm == own.sm:
            return True
        other = ARCHITECTURES.get(sm)
        group = sm if other is None else other.link_group
        return not specific and sm < own.sm and group == own.link_group

    def assembles(self, ptx: Target) -> bool:
        """Whether a link for this target accepts PTX that was written for another one."""
        if ptx.is_specific:
            return ptx == self
        return self.links(ptx.sm, specific=False) if ptx.variant else ptx.sm <= self.sm


def target(name: str) -> Target | None:
    """The target of a name such as ``sm_90a``; None: there is no such architecture or variant."""
    number = name.removeprefix("sm_")
    digits = number.rstrip("af")
    found = ARCHITECTURES.get(int(digits)) if digits.isdecimal() else None
    if found is None or f"sm_{found.sm}{number[len(digits) :]}" != name:
        return None
    variant = number[len(digits) :]
    return Target(found, variant) if variant in found.variants else None


def sass_family() -> Family:
    """The last family whose cubins are SASS alone."""
    return next(family for family in reversed(FAMILIES) if not family.capsule)


def family_of(sm: int) -> Family:
    """The family of an architecture, or of a number that no known architecture has."""
    found = FAMILIES[0]
    for family in FAMILIES:
        if sm >= family.first:
            found = family
    return found


def param_base(sm: int) -> int | None:
    """Offset of the first kernel parameter in constant bank 0; None: not known."""
    found = ARCHITECTURES.get(sm)
    return None if found is None else found.param_base


def limit(sm: int, name: str) -> int | None:
    """What an SM has at most, by the name in ``arch.yaml``; None: not known."""
    from cubinspec_generated.tables.arch import LIMITS

    return LIMITS.get(sm, {}).get(name)


def has_independent_threads(sm: int) -> bool:
    """Whether the threads of a warp have their own program counters."""
    return sm >= FIRST_WITH_INDEPENDENT_THREADS


def is_later(sm: int, other: int) -> bool:
    """Whether one architecture is later than another."""
    return sm > other


def is_plausible(sm: int) -> bool:
    """Whether a number in a file can be that of an architecture, known or not."""
    return sm <= _LARGEST_SM


def relation(sm: int, device: int) -> dict[str, str]:
    """How an architecture relates to that of a device, in the words of the rules of running."""
    own, its = ARCHITECTURES.get(sm), ARCHITECTURES.get(device)
    is_family = own is not None and its is not None and own.link_group == its.link_group
    is_embedded = any(found is not None and found.embedded for found in (own, its))
    return {
        "number": "same" if sm == device else "higher" if sm > device else "lower",
        "major": "same" if sm // 10 == device // 10 else "other",
        "family": "same" if sm == device or is_family else "other",
        "embedded": "either" if is_embedded else "neither",
    }


def toolkit_of(number: int) -> Toolkit:
    """The row of a toolkit: the last one that is not later.

    Args:
        number: ten times the major plus the minor number.
    """
    found = next(iter(TOOLKITS.values()))
    for toolkit in TOOLKITS.values():
        if number >= toolkit.number:
            found = toolkit
    return found


def toolkit_number(version: str) -> int | None:
    """``13.0`` as files store it, 130; None: it is no version."""
    major, _, minor = version.partition(".")
    if not (major.isdecimal() and minor.isdecimal() and len(minor) == 1):
        return None
    return 10 * int(major) + int(minor)


def linker_toolkits() -> dict[str, Toolkit]:
    """The toolkits whose nvlink is imitated, by version, ascending."""
    return _LINKERS


def written_targets() -> list[Target]:
    """What the toolkit whose files are written here makes code for."""
    return [Target(found, variant) for found in _WRITTEN for variant in found.variants]


def link_target_names() -> list[str]:
    """What the linker accepts as ``-arch``: from the oldest target of the toolkit on.

    Architectures that the toolkit no longer knows, or not yet, are among them: the rules of their
    families hold for them, too. nvlink itself refuses them.
    """
    oldest = _WRITTEN[0].sm
    return [
        f"sm_{sm}{variant}"
        for sm, found in ARCHITECTURES.items()
        if sm >= oldest
        for variant in found.variants
    ]


def is_link_target(target: Target) -> bool:
    """Whether a target is one of :func:`link_target_names`."""
    return target.sm >= _WRITTEN[0].sm
