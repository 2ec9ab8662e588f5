"""Links of the sweeps whose result is known not to be nvlink's, and why (`exceptions.yaml`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).with_name("exceptions.yaml")


@dataclass(frozen=True)
class SweepException:
    """One reason, and the links that it explains.

    Attributes:
        kind: which sweep.
        targets: without their `sm_`.
        names: names of links; `*` stands for any characters.
        is_unsteady: nvlink reads its memory there, so that it may crash in all of these links.
    """

    kind: str
    targets: tuple[str, ...]
    names: tuple[str, ...]
    reason: str
    is_unsteady: bool

    def covers(self, kind: str, arch: str, name: str) -> bool:
        if kind != self.kind or arch not in self.targets:
            return False
        return any(fnmatchcase(name, pattern) for pattern in self.names)


@cache
def load() -> tuple[SweepException, ...]:
    """All exceptions, in the order of the file."""
    return tuple(map(_read, yaml.safe_load(_FILE.read_text(encoding="utf-8"))))


def _read(entry: dict[str, Any]) -> SweepException:
    targets = tuple(map(str, entry["targets"]))
    return SweepException(
        entry["kind"],
        targets,
        tuple(entry["names"]),
        entry["reason"].strip(),
        entry.get("unsteady", False),
    )


def find(kind: str, arch: str, name: str) -> SweepException | None:
    """The exception that explains a link."""
    return next((e for e in load() if e.covers(kind, arch, name)), None)


def idle_names(kind: str, arch: str, names: Iterable[str]) -> list[str]:
    """Names of exceptions that no link of a sweep has.

    Args:
        names: all links of that sweep.
    """
    known = list(names)
    return [
        pattern
        for entry in load()
        if entry.kind == kind and arch in entry.targets and not entry.is_unsteady
        for pattern in entry.names
        if not any(fnmatchcase(name, pattern) for name in known)
    ]
