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
    from collections.abc import Collection, Iterable
    from typing import Any

    from cubinspec.containers import Image, Step
    from cubinspec.containers.arena import Arena
    from cubinspec.containers.source import Source

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


def in_order(targets: Iterable[str]) -> list[str]:
    """Targets such as ``sm_90a`` and ``compute_100``, each once, by kind and then by number."""
    return sorted(set(targets), key=lambda target: (target.partition("_")[0], split_arch(target)))


def split_arch(arch: str) -> tuple[int, str]:
    """Number and variant of ``sm_90a`` or ``compute_90a``; number 0 when there is none."""
    name = arch.rsplit("_", 1)[-1]
    number = name.rstrip("af")
    return (int(number) if number.isdecimal() else 0), name[len(number) :]


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


class Item(ValueObject):
    """Something that needs code for a GPU: a kernel, or a fatbin without kernels.

    Attributes:
        kind: ``kernel`` or ``fatbin``.
        name: mangled name of the kernel; ``None`` for a fatbin.
        provenance: the steps to the fatbin or bare image, or to the first image with the kernel.
        targets: (kind, target) of every image that has it.
    """

    __match_args__ = ("kind", "name", "provenance", "targets")
    __slots__ = __match_args__
    kind: str
    name: str | None
    provenance: tuple[Step, ...]
    targets: set[tuple[str, str]]

    def __init__(
        self,
        kind: str,
        name: str | None,
        provenance: tuple[Step, ...],
        targets: set[tuple[str, str]] | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        self.provenance = provenance
        self.targets = set() if targets is None else targets


class Inventory:
    """The kernels of a file, and their targets.

    A kernel is the same wherever its name occurs in one library: a host file, a static library, or
    the archive or folder around bare images. Images are added one by one. Inputs of a device link
    whose result is in the same file are left out: a driver never sees them.

    Attributes:
        fatbins: how many fatbins and bare images there are.
    """

    __slots__ = ("_archives", "_kernels", "_units", "_with_kernels")

    def __init__(self) -> None:
        self._archives: set[str] = set()
        self._kernels: dict[tuple[str, str], Item] = {}
        self._units: dict[str, Item] = {}
        self._with_kernels: set[str] = set()

    def visit(self, steps: tuple[Step, ...], source: Source, kind: str) -> None:
        """Note which files are static libraries, while a file is walked."""
        if kind == "ar":
            self._archives.add(" → ".join(step.name for step in steps))

    def add(self, image: Image, arena: Arena) -> None:
        """Read the names of the kernels in an image.

        Raises:
            CubinError: it cannot be read.
        """
        if self.wants(image):
            self.note(image, kernel_names(image, arena))

    @staticmethod
    def wants(image: Image) -> bool:
        """Whether a driver ever sees an image.

        Raises:
            CubinError: its target cannot be read.
        """
        if image.kind not in ("cubin", "ptx") or image.superseded:
            return False
        if not image.arch and image.error is not None:
            raise image.error
        return True

    def note(self, image: Image, names: Iterable[str]) -> None:
        """Note the kernels of an image.

        Args:
            names: what :func:`kernel_names` gave.
        """
        key = (image.kind, image.arch)
        last = image.provenance[-1]
        inner = image.provenance[:-1] if last.kind in ("entry", "cubin") else image.provenance
        name = " → ".join(step.name for step in inner)
        where = self._library(image)
        unit = self._units.get(name)
        if unit is None:
            unit = self._units[name] = Item("fatbin", None, inner)
        unit.targets.add(key)
        kernels = self._kernels
        for kernel in names:
            self._with_kernels.add(name)
            item = kernels.get((where, kernel))
            if item is None:
                item = kernels[where, kernel] = Item("kernel", kernel, image.provenance)
            item.targets.add(key)

    def _library(self, image: Image) -> str:
        """The way to the library that holds an image."""
        steps = [s.name for s in image.provenance if s.kind in ("file", "member", "compressed")]
        outer = " → ".join(steps[:-1])
        if outer in self._archives:
            return outer
        if len(image.provenance) > len(steps):
            return " → ".join(steps)
        import os

        return outer or os.path.dirname(steps[0])

    @property
    def fatbins(self) -> int:
        """How many fatbins and bare images there are."""
        return len(self._units)

    @property
    def kernels(self) -> list[Item]:
        """The kernels, in the order in which they were met."""
        return list(self._kernels.values())

    @property
    def others(self) -> list[Item]:
        """Fatbins and bare images without kernels."""
        return [unit for name, unit in self._units.items() if name not in self._with_kernels]

    @property
    def targets(self) -> list[str]:
        """Targets of all images, in order."""
        return in_order(target for unit in self._units.values() for _, target in unit.targets)


def kernel_names(image: Image, arena: Arena) -> list[str]:
    """Mangled names of the kernels in a cubin or PTX.

    Raises:
        CubinError: it cannot be read.
    """
    if image.kind == "ptx":
        from cubinspec.containers.ptx import entry_names

        return entry_names(bytes(image.view(arena)))
    with image.cubin(arena) as cubin:
        return [kernel.name for kernel in cubin.kernels]


def archs_record(
    file: str, inventory: Inventory, facts: Facts, named: Collection[str] = ()
) -> dict[str, Any]:
    """On which GPUs a file runs, ready for JSON (schema ``archs.schema.json``).

    Args:
        named: GPUs for which everything is named that has no code.
    """
    kernels, others = inventory.kernels, inventory.others
    alike: dict[frozenset[tuple[str, str]], list[Item]] = {}
    for item in (*kernels, *others):
        alike.setdefault(frozenset(item.targets), []).append(item)
    return {
        "file": file,
        "fatbins": inventory.fatbins,
        "kernels": len(kernels),
        "others": len(others),
        "targets": inventory.targets,
        "gpus": [
            _device_record(device, alike, facts, device.name in named)
            for device in facts.devices.values()
        ],
    }


def _device_record(
    device: Device,
    alike: dict[frozenset[tuple[str, str]], list[Item]],
    facts: Facts,
    named: bool,
) -> dict[str, Any]:
    """What can be said about one device."""
    #: (rank, target) of the best image -> its rule and how many items have it
    ways: dict[tuple[int, str], tuple[Rule, int]] = {}
    #: name of the rule that excludes the nearest image -> the rule and the number of items
    reasons: dict[str, tuple[Rule, int]] = {}
    missing: list[tuple[Item, Rule]] = []
    total = served = 0
    for targets, items in alike.items():
        total += len(items)
        best, nearest = _choose(targets, device, facts)
        if best is not None:
            served += len(items)
            target, rule = best
            rule, count = ways.get((rule.rank, target), (rule, 0))
            ways[rule.rank, target] = rule, count + len(items)
        elif nearest is not None:
            _, count = reasons.get(nearest.name, (nearest, 0))
            reasons[nearest.name] = nearest, count + len(items)
            missing += [(item, nearest) for item in items]
    return {
        "gpu": device.name,
        "generation": device.generation,
        "runs": "no" if not served else "yes" if not missing else "partly",
        "items": total,
        "served": served,
        "by": [
            {"rule": rule.name, "target": target, "items": count, "because": rule.sentence}
            for (_, target), (rule, count) in sorted(ways.items(), key=lambda item: item[0])
        ],
        "without": [
            {"rule": name, "items": count, "because": rule.sentence}
            for name, (rule, count) in sorted(reasons.items(), key=lambda item: item[0])
        ],
        "missing": [
            {
                "kind": item.kind,
                "name": item.name,
                "provenance": [step.as_dict() for step in item.provenance],
                "targets": in_order(target for _, target in item.targets),
                "rule": rule.name,
            }
            for item, rule in (missing if named else ())
        ],
        "source": SOURCE,
    }


def _choose(
    targets: frozenset[tuple[str, str]], device: Device, facts: Facts
) -> tuple[tuple[str, Rule] | None, Rule | None]:
    """What a driver takes of images with these kinds and targets.

    Returns:
        target and rule of the image that runs, if one does; and the rule that excludes the image
        nearest to the device, preferably one for an older device.
    """
    best: tuple[tuple[int, int, str], Rule] | None = None
    nearest: tuple[tuple[bool, int, str], Rule] | None = None
    for kind, target in sorted(targets):
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
