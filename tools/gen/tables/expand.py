"""What tables leave out because another row says it: families, earlier toolkits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

#: Facts of a family that were facts of its architectures first: `explain` shows them with these.
_OF_ARCHITECTURES = ("rel_sections", "registers_in_sh_info", "compat_section", "capsule")


def number(version: str) -> int:
    """A toolkit's version as files store it: ten times the major plus the minor number."""
    major, minor = version.split(".")
    return 10 * int(major) + int(minor)


def family_of(families: Sequence[Row], sm: int) -> Row:
    """The last family that begins at or before a number; the first one for smaller numbers."""
    return next((f for f in reversed(families) if sm >= f["first"]), families[0])


def expand_architectures(data: Row) -> list[dict[str, Any]]:
    """The architectures with the layout facts of their families behind their own."""
    result = []
    for arch in data["architectures"]:
        family = family_of(data["families"], arch["sm"])
        whole: dict[str, Any] = {}
        for key, value in arch.items():
            whole[key] = value
            if key == "param_base":
                whole.update({name: family[name] for name in _OF_ARCHITECTURES})
        result.append(whole)
    return result


def toolkit_flags(data: Row) -> list[str]:
    """What is true of a toolkit or not: the first row states all of them."""
    return [key for key, value in data["toolkits"][0].items() if isinstance(value, bool)]


def toolkit_rows(data: Row) -> list[dict[str, Any]]:
    """The toolkits with what they leave out filled in from the row before."""
    rows: list[dict[str, Any]] = []
    inherited = ("producers", *toolkit_flags(data))
    for row in data["toolkits"]:
        kept = {key: rows[-1][key] for key in inherited} if rows else {}
        merges = [*(rows[-1]["merges"] if rows else []), *row.get("merges", [])]
        rows.append({"linked": {}, "compat": [], **kept, **row, "merges": merges})
    return rows


def producer_rows(data: Row) -> dict[str, dict[str, Any]]:
    """The producers by name with what they leave out filled in from the one they are like."""
    named = {row["producer"]: row for row in data["producers"]}

    def whole(name: str) -> dict[str, Any]:
        row = named[name]
        return {**(whole(row["like"]) if "like" in row else {}), **row}

    return {name: whole(name) for name in named}
