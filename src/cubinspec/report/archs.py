"""Which GPUs a file runs on, and by which rule.

The facts come from ``ksy/tables/arch.yaml``: the known architectures, which of them are embedded
devices, and which form a family (``link_group``). What is applied here:

* A cubin runs on its own architecture; plain ones also on later ones of the same major number, as
  long as neither is an embedded device; ``f`` ones on later ones of their family.
* PTX is compiled by the driver for its own architecture and every later one; ``a`` PTX only for
  its own, ``f`` PTX for its family.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.containers import Image

#: Rule -> sentence, best first: what a driver prefers when several images would do.
RULES = {
    "native": "a cubin for exactly this architecture",
    "same-major": "a plain cubin of the same major number and a lower minor number",
    "family": "a cubin for this family (f) and a lower architecture of it",
    "ptx": "PTX of this or a lower architecture, compiled when it is loaded",
    "ptx-family": "family-specific PTX (f), compiled when it is loaded",
    "ptx-specific": "architecture-specific PTX (a) of exactly this architecture, compiled when "
    "it is loaded",
}
NO_RULES = {
    "other-major": "cubins of another major number do not run here",
    "later": "code of a later architecture does not run on an earlier one",
    "embedded": "embedded devices run only cubins made for them, and these run nowhere else",
    "specific": "architecture-specific code (a) runs on its own architecture only",
    "other-family": "family-specific code (f) runs in its own family only",
    "nothing": "there is no cubin and no PTX",
}
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


def devices() -> list[Device]:
    """All known architectures, ascending."""
    import json
    import os

    import cubinspec_generated

    path = os.path.join(os.path.dirname(cubinspec_generated.__file__), "json", "arch.json")
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["architectures"]
    return sorted((Device(row) for row in rows), key=lambda device: device.sm)


def split_arch(arch: str) -> tuple[int, str]:
    """Number and variant of ``sm_90a`` or ``compute_90a``; number 0 when there is none."""
    name = arch.rsplit("_", 1)[-1]
    number = name.rstrip("af")
    return (int(number) if number.isdigit() else 0), name[len(number) :]


def major(sm: int) -> int:
    """The major number: 9 for sm_90, 10 for sm_103."""
    return sm // 10


def verdict(kind: str, arch: str, device: Device, known: dict[int, Device]) -> tuple[bool, str]:
    """Whether an image runs on a device, and the id of the rule that decides.

    Args:
        kind: ``cubin`` or ``ptx``.
        arch: target of the image, ``sm_90a`` or ``compute_90a``.
        known: devices by number; an image for a number that is not in it belongs to no family.
    """
    sm, variant = split_arch(arch)
    own = known.get(sm)
    if kind == "ptx":
        if variant == "a":
            return (True, "ptx-specific") if sm == device.sm else (False, "specific")
        if sm > device.sm:
            return False, "later"
        if variant == "f":
            same = sm == device.sm or (own is not None and own.family == device.family)
            return (True, "ptx-family") if same else (False, "other-family")
        return True, "ptx"
    if sm == device.sm:
        return True, "native"
    if variant == "a":
        return False, "specific"
    if device.embedded or (own is not None and own.embedded):
        return False, "embedded"
    if variant == "f" and (own is None or own.family != device.family):
        return False, "other-family"
    if sm > device.sm:
        return False, "later"
    if variant == "f":
        return True, "family"
    return (True, "same-major") if major(sm) == major(device.sm) else (False, "other-major")


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


def device_record(
    device: Device, all_units: list[Unit], known: dict[int, Device]
) -> dict[str, Any]:
    """What can be said about one device, ready for JSON."""
    order = list(RULES)
    ways: dict[tuple[str, str], int] = {}
    reasons: dict[str, int] = {}
    missing: list[str] = []
    for unit in all_units:
        best: tuple[int, int, str] | None = None
        nearest: tuple[bool, int, str] | None = None
        for kind, arch in unit.targets:
            runs, rule = verdict(kind, arch, device, known)
            if runs:
                rank = (order.index(rule), -split_arch(arch)[0], arch)
                best = rank if best is None else min(best, rank)
            else:
                # what is said is why the nearest one does not do, a lower one if there is any
                sm = split_arch(arch)[0]
                near = (sm <= device.sm, -abs(sm - device.sm), rule)
                nearest = near if nearest is None else max(nearest, near)
        if best is None:
            missing.append(unit.name)
            refusal = nearest[2] if nearest else "nothing"
            reasons[refusal] = reasons.get(refusal, 0) + 1
        else:
            way = (order[best[0]], best[2])
            ways[way] = ways.get(way, 0) + 1
    served = len(all_units) - len(missing)
    answer = "no" if not served else "yes" if not missing else "partly"
    return {
        "gpu": device.name,
        "generation": device.generation,
        "runs": answer,
        "units": len(all_units),
        "served": served,
        "by": [
            {"rule": rule, "target": target, "units": count, "because": RULES[rule]}
            for (rule, target), count in sorted(
                ways.items(), key=lambda item: (order.index(item[0][0]), item[0][1])
            )
        ],
        "without": [
            {"rule": rule, "units": count, "because": NO_RULES[rule]}
            for rule, count in sorted(reasons.items())
        ],
        "missing": missing,
        "source": SOURCE,
    }
