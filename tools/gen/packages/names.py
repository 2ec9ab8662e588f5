"""Enums of the specs with the names that they have in documents and at run time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tools.gen.spec import Spec


@dataclass(frozen=True)
class EnumNames:
    """One enum of a spec.

    Attributes:
        spec: id of the spec that defines it.
        name: its id.
        members: value, id and the name that is printed.
    """

    spec: str
    name: str
    members: tuple[tuple[int, str, str], ...]


def enums(specs: Mapping[str, Spec]) -> Iterator[EnumNames]:
    """The enums of all specs."""
    for spec in specs.values():
        for name, members in spec.enums.items():
            rows = []
            for value, member in members.items():
                original = str(member.get("-orig-id", ""))
                shown = original if original.isidentifier() else str(member["id"]).upper()
                rows.append((value, str(member["id"]), shown))
            yield EnumNames(spec.id, name, tuple(rows))


def camel(name: str) -> str:
    """``rela_table_64`` as ``RelaTable64``."""
    return "".join(part.capitalize() for part in name.split("_"))
