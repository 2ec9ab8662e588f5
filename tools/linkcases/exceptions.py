"""Links whose result is known not to be nvlink's, and why (`exceptions.yaml`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).with_name("exceptions.yaml")


@dataclass(frozen=True)
class NamedException:
    """One cause, and the links that it explains.

    Attributes:
        rule: id of the rule in `rules.yaml` that describes it.
        outcome: a word of `outcomes`.
        links: (case, target) pairs; the target is "" where the exception holds for all targets.
    """

    rule: str
    cause: str
    outcome: str
    links: frozenset[tuple[str, str]]


def seed_name(kind: str, seed: int) -> str:
    """The name under which a random program counts as a case."""
    return f"{kind}_{seed}"


@cache
def load() -> list[NamedException]:
    """All exceptions, in the order of the file."""
    return [_read(entry) for entry in yaml.safe_load(_FILE.read_text(encoding="utf-8"))]


def _read(entry: dict[str, Any]) -> NamedException:
    targets = [str(target) for target in entry.get("targets", [""])]
    links = [(case, target) for case in entry.get("cases", ()) for target in targets]
    for kind, by_target in entry.get("seeds", {}).items():
        for target, seeds in by_target.items():
            links += [(seed_name(kind, seed), str(target)) for seed in seeds]
    return NamedException(entry["rule"], entry["cause"].strip(), entry["outcome"], frozenset(links))


@cache
def _by_link() -> dict[tuple[str, str], NamedException]:
    return {link: exception for exception in load() for link in exception.links}


def find(case: str, arch: str) -> NamedException | None:
    """The exception that explains a case (or `seed_name`) on a target."""
    return _by_link().get((case, arch)) or _by_link().get((case, ""))


def cases() -> list[str]:
    """The cases, without random programs, that some exception names, in the order of the file."""
    named = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return [case for entry in named for case in entry.get("cases", ())]
