"""Which GPUs a file runs on, and by which rule.

All facts come from ``ksy/tables/arch.yaml``: the known architectures, which of them are embedded
devices, which form a family (``link_group``), and the rules (``running``), of which the first that
fits an image and a device decides.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.containers import Image

SOURCE = "ksy/tables/arch.yaml"


class Device:
    """One architecture as ``arch.yaml`` describes it."""

    __slots__ = ("embedded", "family", "generation", "sm")

    def __init__(self, row: dict[str, Any]) -> None:
        self.sm: int = row["sm"]
        self.generation: str = row["generation"] or ""
        self.embedded: bool = row["embedded"]
        self.family: int = row["link_group"]

    @property
    def name(self) -> str:
        """``sm_90``."""
        return f"sm_{self.sm}"


def split_arch(arch: str) -> tuple[int, str]:
    """Number and variant of ``sm_90a`` or ``compute_90a``; number 0 when there is none."""
    name = arch.rsplit("_", 1)[-1]
    number = name.rstrip("af")
    return (int(number) if number.isdigit() else 0), name[len(number) :]


def major(sm: int) -> int:
    """The major number: 9 for sm_90, 10 for sm_103."""
    return sm // 10


class Rule:
    """One rule of ``arch.yaml``: its conditions, and what it says when they hold.

    Attributes:
        name: its id.
        runs: whether the image runs.
        rank: what a driver prefers comes first; 0 where nothing runs.
        sentence: the rule in words.
    """

    __slots__ = ("_conditions", "_images", "name", "rank", "runs", "sentence")

    def __init__(self, row: dict[str, Any]) -> None:
        self.name: str = row["id"]
        self.runs: bool = row["runs"]
        self.rank: int = row.get("rank", 0)
        self.sentence: str = row["meaning"]
        self._images: list[str] = row["images"]
        keys = ("variants", "number", "major", "family", "embedded")
        self._conditions = {key: row[key] for key in keys if key in row}

    def decides(self, kind: str, sm: int, variant: str, device: Device, own: Device | None) -> bool:
        """Whether all conditions hold for an image of ``kind`` for ``sm`` on a device.

        Args:
            own: what is known of the image's architecture.
        """
        if kind not in self._images:
            return False
        family = sm == device.sm or (own is not None and own.family == device.family)
        number = "same" if sm == device.sm else "higher" if sm > device.sm else "lower"
        embedded = device.embedded or (own is not None and own.embedded)
        is_so = {
            "number": number,
            "major": "same" if major(sm) == major(device.sm) else "other",
            "family": "same" if family else "other",
            "embedded": "either" if embedded else "neither",
        }
        return all(
            variant in wanted if key == "variants" else is_so[key] == wanted
            for key, wanted in self._conditions.items()
        )


class Facts:
    """What ``arch.yaml`` says of running.

    Attributes:
        devices: all known architectures by number, ascending.
        rules: in the order in which they are tried.
    """

    __slots__ = ("devices", "rules")

    def __init__(self) -> None:
        import json
        import os

        import cubinspec_generated

        folder = os.path.dirname(cubinspec_generated.__file__)
        with open(os.path.join(folder, "json", "arch.json"), encoding="utf-8") as file:
            table = json.load(file)
        devices = sorted(map(Device, table["architectures"]), key=lambda device: device.sm)
        self.devices = {device.sm: device for device in devices}
        self.rules = [Rule(row) for row in table["running"]]

    def verdict(self, kind: str, arch: str, device: Device) -> Rule:
        """The rule that decides whether an image runs on a device.

        Args:
            kind: ``cubin`` or ``ptx``.
            arch: target of the image, ``sm_90a`` or ``compute_90a``.
        """
        sm, variant = split_arch(arch)
        own = self.devices.get(sm)
        return next(rule for rule in self.rules if rule.decides(kind, sm, variant, device, own))


#: Section of the inputs of a device link; PE names end after eight characters.
LINK_INPUTS = "__nv_rel"


class Unit:
    """Images of which the driver chooses one: a fatbin, or the bare images of a file.

    Attributes:
        name: where it is.
        targets: kind and target of every image that could run.
    """

    __slots__ = ("linked", "name", "targets")

    def __init__(self, name: str, linked: bool) -> None:
        self.name = name
        self.linked = linked
        self.targets: dict[tuple[str, str], int] = {}


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
    ways: dict[tuple[int, str], list[Any]] = {}
    reasons: dict[str, list[Any]] = {}
    missing: list[str] = []
    for unit in all_units:
        best: tuple[int, int, str, Rule] | None = None
        nearest: tuple[bool, int, str, Rule] | None = None
        for kind, arch in unit.targets:
            rule = facts.verdict(kind, arch, device)
            sm = split_arch(arch)[0]
            if rule.runs:
                way = (rule.rank, -sm, arch, rule)
                best = way if best is None or way[:3] < best[:3] else best
            else:
                # what is said is why the nearest one does not do, a lower one if there is any
                near = (sm <= device.sm, -abs(sm - device.sm), rule.name, rule)
                nearest = near if nearest is None or near[:3] > nearest[:3] else nearest
        if best is not None:
            ways.setdefault((best[0], best[2]), [best[3], 0])[1] += 1
        elif nearest is not None:
            missing.append(unit.name)
            reasons.setdefault(nearest[2], [nearest[3], 0])[1] += 1
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
            for name, (rule, count) in sorted(reasons.items())
        ],
        "missing": missing,
        "source": SOURCE,
    }
