"""Which GPUs a file runs on, and by which rule.

All facts come from ``ksy/tables/arch.yaml``: the architectures, which of them are embedded devices,
which form a family (``link_group``), and the rules (``running``). The first rule that fits an image
and a device decides.
"""

from __future__ import annotations

from cubinspec.format.targets import is_later, relation
from cubinspec.values import FrozenValue, ValueObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.containers import Image

SOURCE = "ksy/tables/arch.yaml"


class Device(FrozenValue):
    """One architecture as ``arch.yaml`` describes it.

    Attributes:
        sm: its number, 90 for sm_90.
        generation: name of the chips, such as Hopper; empty when it has none.
        embedded: whether it is a device such as Jetson, whose code only runs on its like.
        family: the same number for all architectures of one family.
    """

    sm: int
    generation: str
    embedded: bool
    family: int

    __match_args__ = ("sm", "generation", "embedded", "family")
    __slots__ = __match_args__

    def __init__(self, sm: int, generation: str, embedded: bool, family: int) -> None:
        put = object.__setattr__
        put(self, "sm", sm)
        put(self, "generation", generation)
        put(self, "embedded", embedded)
        put(self, "family", family)

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Device:
        """The architecture of a row of ``arch.yaml``."""
        return cls(row["sm"], row["generation"] or "", row["embedded"], row["link_group"])

    @property
    def name(self) -> str:
        """``sm_90``."""
        return f"sm_{self.sm}"


def split_arch(arch: str) -> tuple[int, str]:
    """Number and variant of ``sm_90a`` or ``compute_90a``; number 0 when there is none."""
    name = arch.rsplit("_", 1)[-1]
    number = name.rstrip("af")
    return (int(number) if number.isdigit() else 0), name[len(number) :]


#: Keys of a rule's row in ``arch.yaml`` that are conditions.
_CONDITIONS = ("variants", "number", "major", "family", "embedded")


class Rule(ValueObject):
    """One rule of ``arch.yaml``: its conditions, and what it says when they hold.

    Attributes:
        name: its id.
        runs: whether the image runs.
        rank: of two rules a driver prefers the one with the lower rank; 0 where nothing runs.
        sentence: the rule in words.
        images: kinds of images that it is about: ``cubin``, ``ptx``.
        conditions: what must hold besides, by the words of ``arch.yaml``.
    """

    __match_args__ = ("name", "runs", "rank", "sentence", "images", "conditions")
    __slots__ = __match_args__

    def __init__(
        self,
        name: str,
        runs: bool,
        rank: int,
        sentence: str,
        images: list[str],
        conditions: dict[str, Any],
    ) -> None:
        self.name = name
        self.runs = runs
        self.rank = rank
        self.sentence = sentence
        self.images = images
        self.conditions = conditions

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Rule:
        """The rule of a row of ``arch.yaml``."""
        conditions = {key: row[key] for key in _CONDITIONS if key in row}
        rank = row.get("rank", 0)
        return cls(row["id"], row["runs"], rank, row["meaning"], row["images"], conditions)

    def decides(self, kind: str, sm: int, variant: str, device: Device) -> bool:
        """Whether all conditions hold for an image of ``kind`` for ``sm`` on a device."""
        if kind not in self.images:
            return False
        is_so = relation(sm, device.sm)
        return all(
            variant in wanted if key == "variants" else is_so[key] == wanted
            for key, wanted in self.conditions.items()
        )


class Facts:
    """What ``arch.yaml`` says about running; read from its JSON form.

    Attributes:
        devices: all architectures of the table by number, ascending.
        rules: in the order in which they are tried.
    """

    __slots__ = ("devices", "rules")
    devices: dict[int, Device]
    rules: list[Rule]

    def __init__(self) -> None:
        import json
        import os

        import cubinspec_generated

        folder = os.path.dirname(cubinspec_generated.__file__)
        with open(os.path.join(folder, "json", "arch.json"), encoding="utf-8") as file:
            table = json.load(file)
        rows = sorted(table["architectures"], key=lambda row: row["sm"])
        self.devices = {row["sm"]: Device.from_row(row) for row in rows}
        self.rules = [Rule.from_row(row) for row in table["running"]]

    def verdict(self, kind: str, arch: str, device: Device) -> Rule:
        """The rule that decides whether an image runs on a device.

        Args:
            kind: ``cubin`` or ``ptx``.
            arch: target of the image, ``sm_90a`` or ``compute_90a``.
        """
        sm, variant = split_arch(arch)
        return next(rule for rule in self.rules if rule.decides(kind, sm, variant, device))


#: Section of the inputs of a device link; PE names end after eight characters.
LINK_INPUTS = "__nv_rel"


class Unit(ValueObject):
    """Images of which the driver chooses one: a fatbin, or the bare images of a file.

    Attributes:
        name: where it is.
        linked: whether the driver sees it; it does not see the inputs of a device link.
        targets: (kind, target) of every image that could run -> how many images have them.
    """

    __match_args__ = ("name", "linked", "targets")
    __slots__ = __match_args__
    targets: dict[tuple[str, str], int]

    def __init__(
        self, name: str, linked: bool, targets: dict[tuple[str, str], int] | None = None
    ) -> None:
        self.name = name
        self.linked = linked
        self.targets = {} if targets is None else targets


def units(images: Iterable[Image]) -> list[Unit]:
    """The units of a walk.

    The inputs of a device link (``__nv_relfatbin``) are left out where the result of the link
    lies in the same file: the driver never sees them.
    """
    found: dict[str, Unit] = {}
    results: set[str] = set()
    origin: dict[str, str] = {}
    for image in images:
        if image.kind not in ("cubin", "ptx"):
            continue
        last = image.provenance[-1]
        inner = image.provenance[:-1] if last.kind in ("entry", "cubin") else image.provenance
        name = " → ".join(step.name for step in inner)
        linked = not image.section.startswith(LINK_INPUTS)
        unit = found.get(name)
        if unit is None:
            unit = found[name] = Unit(name, linked)
            origin[name] = image.file
        if linked and image.entry is not None:
            results.add(image.file)
        key = (image.kind, image.arch)
        unit.targets[key] = unit.targets.get(key, 0) + 1
    return [unit for unit in found.values() if unit.linked or origin[unit.name] not in results]


def device_record(device: Device, all_units: list[Unit], facts: Facts) -> dict[str, Any]:
    """What can be said about one device, ready for JSON (schema ``archs.schema.json``)."""
    #: (rank, target) of the best image -> its rule and how many units have it
    ways: dict[tuple[int, str], tuple[Rule, int]] = {}
    #: name of the rule that excludes the nearest image -> the rule and the number of units
    reasons: dict[str, tuple[Rule, int]] = {}
    missing: list[str] = []
    for unit in all_units:
        best, nearest = _choose(unit, device, facts)
        if best is not None:
            target, rule = best
            rule, count = ways.get((rule.rank, target), (rule, 0))
            ways[rule.rank, target] = rule, count + 1
        elif nearest is not None:
            missing.append(unit.name)
            _, count = reasons.get(nearest.name, (nearest, 0))
            reasons[nearest.name] = nearest, count + 1
    served = len(all_units) - len(missing)
    return {
        "gpu": device.name,
        "generation": device.generation,
        "runs": "no" if not served else "yes" if not missing else "partly",
        "units": len(all_units),
        "served": served,
        "by": [
            {"rule": rule.name, "target": target, "units": count, "because": rule.sentence}
            for (_, target), (rule, count) in sorted(ways.items(), key=lambda item: item[0])
        ],
        "without": [
            {"rule": name, "units": count, "because": rule.sentence}
            for name, (rule, count) in sorted(reasons.items(), key=lambda item: item[0])
        ],
        "missing": missing,
        "source": SOURCE,
    }


def _choose(
    unit: Unit, device: Device, facts: Facts
) -> tuple[tuple[str, Rule] | None, Rule | None]:
    """What a driver takes of a unit.

    Returns:
        target and rule of the image that runs, if one does; and the rule that excludes the image
        nearest to the device, preferably one for an older device.
    """
    best: tuple[tuple[int, int, str], Rule] | None = None
    nearest: tuple[tuple[bool, int, str], Rule] | None = None
    for kind, target in unit.targets:
        rule = facts.verdict(kind, target, device)
        sm, _ = split_arch(target)
        if rule.runs:
            order = (rule.rank, -sm, target)
            if best is None or order < best[0]:
                best = order, rule
        else:
            nearness = (not is_later(sm, device.sm), -abs(sm - device.sm), rule.name)
            if nearest is None or nearness > nearest[0]:
                nearest = nearness, rule
    chosen = None
    if best is not None:
        (_, _, target), rule = best
        chosen = target, rule
    return chosen, None if nearest is None else nearest[1]
